"""Tests of check.py: readers agree on the trial warehouse, and each kind of difference is found.

Run with `python -m unittest` in this folder; SPARK=1 takes Spark in."""
import io
import os
import tempfile
import unittest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import check
import trial


class CheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        cls.dir = Path(cls.temp.name)
        trial.main(cls.dir)
        cls.readers = {"duckdb": check.read_duckdb, "polars": check.read_polars, "pyarrow": check.read_pyarrow}
        if os.environ.get("SPARK"):
            cls.readers["spark"] = check.Spark()

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    def run_check(self, readers):
        out = io.StringIO()
        n = check.check(self.dir, readers, out)
        return n, out.getvalue()

    def test_all_agree(self):
        n, out = self.run_check(self.readers)
        self.assertEqual(n, 0, out)
        self.assertIn(f"{len(trial.HOMES) * 400:,}", out)
        self.assertEqual(out.count(", ".join(self.readers)), 2, out)

    def altered(self, change):
        """A reader that sees the tables of PyArrow with one change."""
        def read(folder):
            import pyarrow.dataset
            part = pyarrow.dataset.partitioning(pa.schema([(check.KEY, pa.string())]), flavor="hive")
            table = change(pyarrow.dataset.dataset(folder, format="parquet", partitioning=part).to_table())
            types = {f.name: check.arrow_type(f.type) for f in table.schema}
            summary = check.Summary(check.rename(types, check.PYARROW_TYPES))
            return summary.add(table.schema.names, zip(*(c.to_pylist() for c in table.columns)))
        return {"pyarrow": check.read_pyarrow, "altered": read}

    def column(self, name, fn):
        def change(t):
            at = t.schema.get_field_index(name)
            values = fn(t.column(name).to_pylist())
            return t.set_column(at, name, pa.array(values, pa.infer_type(values) if fn is self.retype else t.schema.field(name).type))
        return change

    @staticmethod
    def retype(values):
        return [None if v is None else str(v) for v in values]

    def test_differences_are_found(self):
        def swapped(values):
            return values[1:] + values[:1]

        def replaced(old, new):
            return lambda values: [new if v == old else v for v in values]

        cases = {
            "no change": (lambda t: t, None),
            "other order": (lambda t: t.take(list(range(t.num_rows))[::-1]), None),
            "a row less": (lambda t: t.slice(1), "rows:"),
            "a column less": (lambda t: t.drop_columns(["flag"]), "columns:"),
            "another type": (self.column("n", self.retype), "type of n"),
            "NULL for ''": (self.column("text", replaced("", None)), "NULLs of text"),
            "NUL cut": (self.column("text", replaced("a\0b", "a")), "values of text"),
            "-0.0 for 0.0": (self.column("x", lambda v: [-0.0 if x == 0 else x for x in v]), "values of x"),
            "an hour off": (self.column("occurred_at", lambda v: [x and x + trial.dt.timedelta(hours=1) for x in v]), "values of occurred_at"),
            "empty list for NULL": (self.column("error_codes", replaced(None, [])), "NULLs of error_codes"),
            "values in other rows": (self.column("n", swapped), "rows as a whole"),
        }
        for name, (change, want) in cases.items():
            with self.subTest(name):
                n, out = self.run_check(self.altered(lambda t, c=change: c(t) if t.num_rows else t))
                if want is None:
                    self.assertEqual(n, 0, out)
                else:
                    self.assertGreater(n, 0, out)
                    self.assertIn(want, out)

    def test_a_reader_that_fails(self):
        def fails(folder):
            raise OSError("broken")
        n, out = self.run_check({**self.readers, "bad": fails})
        self.assertEqual(n, 2)
        self.assertIn("bad cannot read it: OSError: broken", out)

    def test_exit_codes(self):
        self.assertEqual(check.main([str(self.dir)]), 0)
        with self.assertRaises(SystemExit) as e:
            check.main([str(self.dir / "parquet" / "events")])
        self.assertEqual(e.exception.code, 2)
        with tempfile.TemporaryDirectory() as other:
            path = Path(other) / "parquet" / "t" / "home_id=1"
            path.mkdir(parents=True)
            # A type that no table has, and a file that is no Parquet.
            pq.write_table(pa.table({"a": pa.array([1], pa.int16())}), path / "a.parquet")
            (path / "b.parquet").write_bytes(b"no Parquet")
            self.assertEqual(check.main([other]), 1)


if __name__ == "__main__":
    unittest.main()
