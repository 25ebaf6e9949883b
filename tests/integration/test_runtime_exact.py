"""Figures of libfathom to the nanosecond: tests/runtime/rt_exact.c has a clock of its own."""
import json
import os
import unittest

from support import run
from test_runtime import case, program

ENV = {**os.environ, "FATHOM_CLOCK": "monotonic"}


def said(which):
    return case(None, which, "rt-exact", env=ENV)


def report(which):
    return json.loads(run(program("rt-exact"), which, env=ENV).stdout)


class Exact(unittest.TestCase):
    def test_percentiles_count_the_calls_of_all_pages(self):
        """1 call of 40 ns, 49 of 14, 150 of 12, 800 of 10.  Buckets this small are 1 ns wide."""
        work = report("percentiles")["operations"][0]
        self.assertEqual(work["count"], 1000)
        self.assertEqual(work["total_ns"], 40 + 49 * 14 + 150 * 12 + 800 * 10)
        self.assertEqual((work["min_ns"], work["max_ns"], work["first_ns"]), (10, 40, 40))
        for key, want in (("p50_ns", 10 + 500 / 800), ("p90_ns", 12 + 100 / 150),
                          ("p99_ns", 14 + 40 / 49), ("p999_ns", 15)):
            self.assertAlmostEqual(work[key], want, 3, key)

    def test_without_percentiles_there_are_none(self):
        work = report("without-percentiles")["operations"][0]
        self.assertEqual((work["count"], work["total_ns"]), (1000, 10000))
        self.assertEqual((work["p50_ns"], work["p99_ns"]), (0, 0))

    def test_a_lock_is_held_from_the_end_of_its_wait(self):
        self.assertEqual(said("locks"), {"wait": 3000, "hold": 700})

    def test_the_fit_of_time_over_size_is_the_line_the_calls_lie_on(self):
        advice = {a["rule"]: a for a in report("fit")["recommendations"]}
        self.assertIn("fit over 100 calls: 5.00 us fixed + 2 ns per byte",
                      advice["batch"]["evidence"])

    def test_a_context_has_a_number_for_each_parent(self):
        self.assertEqual(said("contexts"), {"differ": 1, "stay": 1})

    def test_calls_that_find_no_memory_are_counted_as_lost(self):
        seen = said("lost-nodes")
        self.assertGreater(seen["lost"], 0)
        self.assertEqual(seen["counted"] + seen["lost"], 9000)


if __name__ == "__main__":
    unittest.main()
