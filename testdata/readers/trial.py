#!/usr/bin/env python3
"""Writes a small warehouse whose values are hard to read alike. usage: trial.py DIR"""
import datetime as dt
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema([
    ("text", pa.string()), ("extra", pa.string()), ("n", pa.int64()), ("x", pa.float64()),
    ("flag", pa.bool_()), ("occurred_at", pa.timestamp("us")), ("error_codes", pa.list_(pa.int32())),
])

TEXTS = [None, "", " ", "a\0b", "\0", "\U0001F468\u200D\U0001F469", "e\u0301", "\uFFFD", "\u2028\r\n\t", "NULL", "None", "x" * 100_000]
JSONS = [None, '{"a":1,"a":2}', '{"n":' + "9" * 400 + "}", '"\\u0000"', "[" * 1000 + "]" * 1000, "[]", "null"]
NUMBERS = [None, 0, -1, 2**53 + 1, 2**63 - 1, -2**63]
FLOATS = [None, 0.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, float("inf"), float("nan")]
TIMES = [None] + [dt.datetime.fromisoformat(t) for t in (
    "2000-01-01 00:00:00", "2099-12-31 23:59:59.999999", "2026-10-03 16:55:31.123456",
    # around the changes of New York's clocks: the hour that is not, the hour that is twice
    "2025-03-09 01:59:59.999999", "2025-03-09 02:30:00.000001", "2025-03-09 03:00:00",
    "2025-11-02 01:30:00", "2025-11-02 05:30:00", "2025-11-02 06:30:00")]
LISTS = [None, [], [-32603], [None], [2**31 - 1, -2**31, None]]

# Home ids that a reader may take for a number, a date or a truth value. (DuckDB takes a bare "null" for NULL: no home_id is that.)
HOMES = ["007-1e5-00000000", "2024-01-01-x", "12345678", "1e5", "2024-01-01", "true", "host.example-a_b-0a1b2c3d"]


def rows(start, count):
    columns = [TEXTS, JSONS, NUMBERS, FLOATS, [None, True, False], TIMES, LISTS]
    return pa.table([[c[i % len(c)] for i in range(start, start + count)] for c in columns], schema=SCHEMA)


def write(folder, table):
    for home in [*HOMES, "none"]:
        path = folder / "parquet" / table / f"home_id={home}"
        path.mkdir(parents=True)
        data = SCHEMA.empty_table() if home == "none" else rows(HOMES.index(home) * 17, 400)
        pq.write_table(data, path / "part-00000.parquet", compression="zstd", row_group_size=150)


def main(folder):
    write(folder, "events")
    empty = folder / "parquet" / "issues" / "home_id=none"
    empty.mkdir(parents=True)
    pq.write_table(SCHEMA.empty_table(), empty / "part-00000.parquet", compression="zstd")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
