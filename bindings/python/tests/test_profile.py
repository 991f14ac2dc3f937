# SPDX-License-Identifier: MIT
"""tessera.profile: records, labels, the table and the HTML report."""
import os
import tempfile
import unittest

import tessera as ts


def work():
    x = ts.ones((64, 64))
    with ts.label("outer"), ts.label("inner"):
        y = ts.tanh(x @ x + 1)
    return float(y.sum())


class Profiles(unittest.TestCase):
    def test_what_ran_is_recorded_with_its_label(self):
        with ts.profile() as p:
            work()
        self.assertEqual(p.summary["record_count"], len(p.records))
        self.assertTrue(any("matmul" in record["operators"] + record["name"] for record in p.records), p.records)
        self.assertIn("outer/inner", {record["label"] for record in p.records})
        self.assertTrue(all(record["duration_ns"] >= 0 for record in p.records))
        self.assertEqual(p.devices[0]["backend"], str(ts.device()).split(":", maxsplit=1)[0])

    def test_reports_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            page, trace = os.path.join(folder, "report.html"), os.path.join(folder, "trace.json")
            with ts.profile(page) as p:
                work()
            p.write(trace)
            with open(page, encoding="utf-8") as file:
                self.assertIn("<html", file.read().lower())
            self.assertGreater(os.path.getsize(trace), 100)
        self.assertIn("matmul", str(p))
        self.assertTrue(p._repr_html_().startswith("<iframe"))

    def test_exceptions_end_a_profile_and_one_is_open_at_a_time(self):
        with self.assertRaises(ZeroDivisionError):
            with ts.profile():
                1 / 0
        with ts.profile() as p:
            with self.assertRaises(ValueError):
                ts.profile().__enter__()
            with self.assertRaises(RuntimeError):
                p.records
        self.assertEqual(p.summary["lost_count"], 0)


if __name__ == "__main__":
    unittest.main()
