"""libfathom in programs: small programs in tests/runtime print what they measured."""
import csv
import json
import unittest

from support import BUILD, built, run


def program(name):
    """Path of a program of libfathom's tests; the thread sanitizer is optional."""
    path = BUILD / "src" / "runtime" / name
    if name.endswith("-tsan") and not path.exists():
        raise unittest.SkipTest(f"{name} was not built here")
    return built(path)


def case(name, which, program_name="rt-basic", **more):
    """The standard output of one case, and its `key value` lines."""
    text = run(program(program_name), which, **more).stdout
    found = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 2:
            try:
                found[parts[0]] = float(parts[1])
            except ValueError:
                pass
    return found if name is None else (found, text)


def need_tsan(name):
    """Skip the test if the sanitizer cannot map its memory (vm.mmap_rnd_bits, no personality())."""
    done = run(program(name), "counts", status=None)
    if "ThreadSanitizer" in done.stderr and "memory" in done.stderr and "branch" not in done.stdout:
        raise unittest.SkipTest("the thread sanitizer does not start here")


class Zones(unittest.TestCase):
    binary = "rt-basic"

    def said(self, which):
        return case(None, which, self.binary)

    def test_zones_count_by_call_path(self):
        said = self.said("counts")
        self.assertEqual(said["branch"], 100)
        self.assertEqual(said["branch/leaf"], 1000)
        self.assertEqual(said["leaf"], 1)
        self.assertEqual(said["self_fits"], 1)

    def test_nothing_is_measured_while_off(self):
        said = self.said("off")
        self.assertEqual(said["before"], 0)
        self.assertEqual(said["leaf"], 2)

    def test_clear_forgets_and_goes_on(self):
        said = self.said("clear")
        self.assertEqual(said["after"], 0)
        self.assertEqual(said["again"], 5)

    def test_modes_switch_while_running(self):
        said = self.said("modes")
        self.assertEqual(said["matched"], 0 if self.binary.endswith("cxx") else 1)
        self.assertEqual(said["off"], 0)
        self.assertEqual(said["counted"], 4)
        self.assertEqual(said["timed"], 0)
        self.assertEqual(said["precise"], 8)
        self.assertEqual(said["group_off"], 8)

    def test_sampling_counts_every_call(self):
        said = self.said("sampling")
        self.assertEqual(said["count"], 16000)
        self.assertGreater(said["timed"], 500)
        self.assertLess(said["timed"], 2000)

    def test_laps_follow_each_other(self):
        self.assertEqual(self.said("lap"), {"one": 1, "two": 1, "three": 1, "leaf": 1})

    def test_contexts_nest_and_filter(self):
        said = self.said("contexts")
        self.assertEqual(said["request"], 8)
        self.assertEqual(said["query"], 6)
        self.assertEqual(said["all"], 9)
        self.assertEqual(said["none_left"], 0)

    def test_operations_have_backend_label_and_late_size(self):
        _, text = case("text", "ops", self.binary)
        lines = sorted(line for line in text.splitlines() if line.startswith("line"))
        self.assertEqual(lines, ['line gemm avx2 worker="7" 1 10', "line gemm cpu - 2 6000",
                                 "line gemm gpu - 2 2000"])

    def test_counters_gauges_pools_and_bounded_labels(self):
        said = self.said("values")
        self.assertEqual(said["items"], 45)
        self.assertEqual(said["depth"], 1)
        self.assertEqual(said["tick"], 10)
        self.assertEqual(said["frames"], 9)
        self.assertEqual(said["pool"], 600)
        self.assertEqual(said["labelled"], 100)
        self.assertEqual(said["lost_labels"], 36)

    def test_reports_have_the_figures_of_each_kind(self):
        text = run(program("rt-basic"), "figures").stdout
        said, _, rest = text.partition("{")
        report, _, table = ("{" + rest).partition("CSV\n")
        self.assertIn("cut 39", said)
        report = json.loads(report)
        lines = {line["name"]: line for line in report["operations"] if not line["label"]}
        self.assertEqual((lines["depth"]["last"], lines["depth"]["low"], lines["depth"]["high"]), (1, 1, 10))
        self.assertEqual(lines["pool"]["last"], 600)
        self.assertEqual(lines["items"]["sum"], 45)
        self.assertEqual(lines["sampled"]["depth"], 0)
        self.assertEqual(lines["sampled"]["count"], 1000)
        self.assertTrue(0 < lines["sampled"]["timed"] < 500, lines["sampled"])
        self.assertEqual((report["lost"]["label"], report["lost"]["trace"]), (36, 0))
        rows = list(csv.DictReader(table.splitlines()))
        self.assertEqual([float(r["value"]) for r in rows if r["name"] == "items"], [45])
        self.assertEqual([float(r["value"]) for r in rows if r["name"] == "depth"], [1])

    def test_locks_have_wait_and_hold(self):
        said = self.said("locks")
        self.assertEqual(said["queue"], 6)
        self.assertEqual(said["leaf"], 3)

    def test_a_schedule_skips_waits_warms_up_and_repeats(self):
        said = self.said("schedule")
        self.assertEqual(said["ready"], 2)
        self.assertEqual(said["leaves"], 6)
        self.assertEqual(said["on_at_end"], 0)

    def test_an_open_zone_is_shown_as_open(self):
        said = self.said("open")
        self.assertEqual(said["open"], 1)
        self.assertEqual(said["has_time"], 1)

    def test_zones_in_one_block_nest(self):
        self.assertEqual(self.said("deep")["deep"], 3)

    def test_statistics_are_in_order(self):
        said = self.said("statistics")
        self.assertEqual(said["ordered"], 1)
        self.assertEqual(said["sum_fits"], 1)
        self.assertGreaterEqual(said["min_ns"], 9900)

    def test_reports_come_in_every_format(self):
        _, text = case("text", "formats", self.binary)
        self.assertEqual(text.count("length 1\n"), 4)
        self.assertIn("bad_format -2", text)
        data = json.loads(text[text.index("{"):])
        paths = {op["path"]: op["count"] for op in data["operations"]}
        self.assertEqual(paths, {"branch": 1, "branch/leaf": 2})


class ZonesInCxx(Zones):
    binary = "rt-basic-cxx"

    def test_templates_inline_functions_and_exceptions(self):
        said = self.said("cxx")
        self.assertEqual(said, {"twice": 2, "in_header": 1, "throws": 3, "leaf": 1})


if "build-san" not in str(BUILD):  # sanitizers cannot be combined
    class ZonesUnderTheThreadSanitizer(Zones):
        binary = "rt-basic-tsan"

        def setUp(self):
            need_tsan(self.binary)


class ZonesWithTheSlowClock(Zones):
    def said(self, which):
        import os
        return case(None, which, self.binary, env={**os.environ, "FATHOM_CLOCK": "monotonic"})


if __name__ == "__main__":
    unittest.main()
