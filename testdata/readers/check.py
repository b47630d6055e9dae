#!/usr/bin/env python3
"""Reads every table of a warehouse with several Parquet readers and compares what they see.

usage: check.py WAREHOUSE [--spark]

Readers: DuckDB, Polars, PyArrow datasets, the warehouse's own gander.duckdb where there is one, and with --spark
Spark 3.4 or newer (needs Java; pip install -r requirements-spark.txt). Compared per table: rows, and per column type,
NULLs and a digest of the values that does not depend on the order of the rows; besides a digest of whole rows, which
ties the values together. Exit code: 0 all agree, 1 a difference, 2 wrong use.

The time zone of the process is set to one with daylight saving: a reader that takes the times for local ones or shifts
them is found out.
"""
import argparse
import datetime as dt
import hashlib
import os
import shutil
import struct
import sys
import time
from pathlib import Path

KEY = "home_id"
ZONE = "America/New_York"
EPOCH = dt.datetime(1970, 1, 1)
BATCH = 10_000


def canonical(value):
    """The bytes that stand for a value, the same from every reader."""
    if value is None:
        return b"0"
    if isinstance(value, bool):
        return b"b1" if value else b"b0"
    if isinstance(value, int):
        return b"i%d" % value
    if isinstance(value, float):
        return b"f" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            raise TypeError(f"a time with a zone: {value!r}")
        return b"t%d" % ((value - EPOCH) // dt.timedelta(microseconds=1))
    if isinstance(value, (list, tuple)):
        parts = [canonical(v) for v in value]
        return b"l%d:" % len(parts) + b"".join(b"%d:" % len(p) + p for p in parts)
    raise TypeError(f"no column of a warehouse holds a {type(value).__name__}: {value!r}")


def digest(data):
    return int.from_bytes(hashlib.blake2b(data, digest_size=16).digest(), "big")


class Summary:
    """What one reader sees of one table. Rows come in any order: digests are added up."""

    def __init__(self, types):
        self.types = dict(sorted(types.items()))
        self.rows = 0
        self.nulls = dict.fromkeys(self.types, 0)
        self.sums = dict.fromkeys(self.types, 0)
        self.row_sum = 0

    def add(self, names, rows):
        order = [names.index(c) for c in self.types]
        for row in rows:
            self.rows += 1
            whole = []
            for name, at in zip(self.types, order):
                data = canonical(row[at])
                self.nulls[name] += row[at] is None
                self.sums[name] = (self.sums[name] + digest(data)) % 2**128
                whole.append(b"%d:" % len(data) + data)
            self.row_sum = (self.row_sum + digest(b"".join(whole))) % 2**128
        return self


def rename(types, names):
    """Maps a reader's type names to those of the warehouse; an unknown one stays and so shows up as a difference."""
    return {column: names.get(str(t), str(t)) for column, t in types.items()}


DUCKDB_TYPES = {"VARCHAR": "text", "JSON": "text", "BIGINT": "int64", "DOUBLE": "float64", "BOOLEAN": "bool",
                "TIMESTAMP": "time", "INTEGER[]": "int32[]"}


def from_duckdb(cursor, relation, parquet):
    types = {r[0]: r[1] for r in cursor.execute(f"DESCRIBE {relation}").fetchall()}
    if parquet and "JSON" in types.values():
        raise TypeError("a column of the Parquet files says it is JSON: other readers do not know that")
    summary = Summary(rename(types, DUCKDB_TYPES))
    cursor.execute(relation)
    names = [c[0] for c in cursor.description]
    while rows := cursor.fetchmany(BATCH):
        summary.add(names, rows)
    return summary


def read_duckdb(folder):
    import duckdb
    pattern = f"{folder}/*/*.parquet".replace("'", "''")
    with duckdb.connect() as db:
        return from_duckdb(db, f"FROM read_parquet('{pattern}', hive_partitioning = true, hive_types = {{'{KEY}': VARCHAR}})", True)


def read_database(folder):
    import duckdb
    with duckdb.connect(str(folder.parent.parent / "gander.duckdb"), read_only=True) as db:
        return from_duckdb(db, f'FROM "{folder.name}"', False)


POLARS_TYPES = {"String": "text", "Int64": "int64", "Float64": "float64", "Boolean": "bool",
                "Datetime(time_unit='us', time_zone=None)": "time", "List(Int32)": "int32[]"}


def read_polars(folder):
    import polars
    frame = polars.scan_parquet(f"{folder}/*/*.parquet", hive_partitioning=True, hive_schema={KEY: polars.String}).collect()
    summary = Summary(rename(frame.schema, POLARS_TYPES))
    return summary.add(frame.columns, frame.iter_rows(buffer_size=BATCH))


PYARROW_TYPES = {"string": "text", "large_string": "text", "int64": "int64", "double": "float64", "bool": "bool", "timestamp[us]": "time"}


def arrow_type(t):
    import pyarrow
    if pyarrow.types.is_list(t):
        return f"{t.value_type}[]"
    return t


def read_pyarrow(folder):
    import pyarrow
    import pyarrow.dataset
    partitioning = pyarrow.dataset.partitioning(pyarrow.schema([(KEY, pyarrow.string())]), flavor="hive")
    data = pyarrow.dataset.dataset(folder, format="parquet", partitioning=partitioning)
    summary = Summary(rename({f.name: arrow_type(f.type) for f in data.schema}, PYARROW_TYPES))
    for batch in data.to_batches(batch_size=BATCH):
        summary.add(batch.schema.names, zip(*(column.to_pylist() for column in batch.columns)))
    return summary


SPARK_TYPES = {"string": "text", "bigint": "int64", "double": "float64", "boolean": "bool", "timestamp_ntz": "time", "array<int>": "int32[]"}


class Spark:
    """A Spark that runs in this process's Java, in ZONE."""

    def __init__(self):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession
        self.session = (SparkSession.builder.master("local[1]").appName("check")
                        .config("spark.ui.enabled", "false")
                        .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
                        .config("spark.sql.session.timeZone", ZONE)
                        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
                        .config("spark.driver.extraJavaOptions", f"-Duser.timezone={ZONE}")
                        .getOrCreate())
        self.session.sparkContext.setLogLevel("ERROR")

    def __call__(self, folder):
        frame = self.session.read.parquet(str(folder))
        summary = Summary(rename(dict(frame.dtypes), SPARK_TYPES))
        return summary.add(frame.columns, frame.toLocalIterator())


def compare(first, first_name, other, other_name):
    """What differs between two summaries, a line each."""
    found = []

    def check(what, a, b):
        if a != b:
            found.append(f"{what}: {first_name} {a}, {other_name} {b}")

    check("rows", first.rows, other.rows)
    check("columns", list(first.types), list(other.types))
    for column in first.types:
        if column in other.types:
            check(f"type of {column}", first.types[column], other.types[column])
            check(f"NULLs of {column}", first.nulls[column], other.nulls[column])
            check(f"values of {column}", f"{first.sums[column]:032x}", f"{other.sums[column]:032x}")
    if not found:
        check("rows as a whole", f"{first.row_sum:032x}", f"{other.row_sum:032x}")
    return found


def check(warehouse, readers, out=sys.stdout):
    """Compares all readers table by table; returns the number of differences."""
    tables = sorted(p for p in (warehouse / "parquet").iterdir() if p.is_dir())
    differences = 0
    print(f"{'table':24} {'rows':>12} {'columns':>8} {'NULLs':>12}  readers that agree", file=out)
    for folder in tables:
        names, summaries, problems = [], [], []
        for name, read in readers.items():
            try:
                summary = read(folder)
            except Exception as e:  # whatever a reader raises is a difference
                problems.append(f"{name} cannot read it: {type(e).__name__}: {e}")
                continue
            if summaries and (found := compare(summaries[0], names[0], summary, name)):
                problems += found
                continue
            if summary.types.get(KEY) != "text" or summary.nulls.get(KEY):
                problems.append(f"{name}: {KEY} is {summary.types.get(KEY)} with {summary.nulls.get(KEY)} NULLs")
                continue
            names.append(name)
            summaries.append(summary)
        if summaries:
            s = summaries[0]
            print(f"{folder.name:24} {s.rows:12,} {len(s.types):8} {sum(s.nulls.values()):12,}  {', '.join(names)}", file=out)
        for p in problems:
            print(f"  DIFFERENCE in {folder.name}: {p}", file=out)
        differences += len(problems)
    return differences


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("--spark", action="store_true", help="read with Spark too")
    args = parser.parse_args(argv)
    if not (args.warehouse / "parquet").is_dir():
        parser.error(f"{args.warehouse} is no warehouse: it has no folder parquet")
    os.environ["TZ"] = ZONE
    time.tzset()

    readers = {"duckdb": read_duckdb, "polars": read_polars, "pyarrow": read_pyarrow}
    if (args.warehouse / "gander.duckdb").exists():
        readers["gander.duckdb"] = read_database
    skipped = None
    if not args.spark:
        skipped = "not asked for with --spark"
    elif shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        skipped = "there is no Java"
    else:
        try:
            readers["spark"] = Spark()
        except ImportError:
            skipped = "pyspark is not installed (requirements-spark.txt)"

    differences = check(args.warehouse, readers)
    if skipped:
        print(f"*** SPARK WAS NOT CHECKED: {skipped} ***", file=sys.stderr)
    print(f"{differences} differences between {', '.join(readers)}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
