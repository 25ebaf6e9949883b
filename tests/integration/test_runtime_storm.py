"""libfathom with threads, signals, forks, crashes and unloading; and with the thread sanitizer.

Every program prints expected and measured counts; the tests do not depend on timing."""
import collections
import json
import os
import pathlib
import re
import tempfile
import unittest

from support import BUILD, fathom, repeated, run
from test_runtime import case, need_tsan, program


def spans_of(path):
    """The number of spans in a file."""
    chunks = fathom("dump", "--chunks", path).stdout
    return sum(int(n) for n in re.findall(r"name=span .*records=(\d+)", chunks))


def names_of_spans(path):
    """The number of spans of each name in a file."""
    data = json.loads(fathom("export", path, "-f", "json").stdout)
    return collections.Counter(data["spans"]["name"])


@repeated(200)
class Storm(unittest.TestCase):
    binary = "rt-storm"

    def said(self, which, **env):
        return case(None, which, self.binary, env={**os.environ, **env})

    def test_threads_are_counted_exactly(self):
        said = self.said("threads")
        self.assertEqual(said["branch"], said["wanted_branch"])
        self.assertEqual(said["leaf"], said["wanted_leaf"])
        self.assertEqual(said["under_cap"], 1)

    def test_a_full_trace_drops_records_and_counts_all_zones(self):
        said = self.said("traced")
        self.assertEqual(said["leaf"], said["wanted_leaf"])
        self.assertEqual(said["under_cap"], 1)
        self.assertEqual(said["nodes_lost"], 0)

    def test_a_trace_larger_than_memory_goes_to_the_live_file(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.fathom"
            said = self.said("traced_to_disk", RT_OUT=str(out), RT_LIVE=folder + "/live")
            self.assertEqual(said["leaf"], 0.9 * said["zones"])
            self.assertEqual(said["exported"], 0)
            self.assertEqual(spans_of(out) + said["lost"], said["zones"])
            # Only a full disk may stop it below its limit.
            if os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize > 1 << 30:
                self.assertEqual(said["lost"], 0)

    def test_keeping_the_last_records_counts_what_was_overwritten(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.fathom"
            said = self.said("keep_last", RT_OUT=str(out))
            spans = names_of_spans(out)
        self.assertEqual(said["exported"], 0)
        self.assertEqual(said["leaf"], 2 * 20000 * 9)
        self.assertGreater(said["lost"], 0)
        self.assertEqual(sum(spans.values()) + said["lost"], said["zones"])
        self.assertEqual((spans["first"], spans["last"]), (0, 2))

    def test_ten_thousand_short_threads_do_not_leak(self):
        said = self.said("churn")
        self.assertEqual(said["branch"], said["threads"])
        self.assertEqual(said["leaf"], 9 * said["threads"])
        self.assertEqual(said["lost"], 0)
        self.assertLess(said["memory_mib"], 2)

    def test_short_threads_keep_their_trace(self):
        said = self.said("churn_traced")
        self.assertEqual(said["branch"], said["threads"])
        self.assertEqual(said["leaf"], 9 * said["threads"])
        self.assertEqual(said["lost"], 0)

    def test_reports_clears_and_modes_while_threads_run(self):
        self.assertEqual(self.said("control")["branch"], 10)

    def test_handlers_may_have_zones(self):
        said = self.said("signals")
        self.assertEqual(said["branch"], said["rounds"])
        self.assertEqual(said["leaf"], 20 * said["rounds"])
        self.assertEqual(said["in_handler"], said["handled"])
        self.assertEqual(said["leaf_in_handler"], said["handled"])
        self.assertEqual(said["events"], said["rounds"] + said["handled"])
        self.assertEqual(said["lost"], 0)

    def test_clears_and_reports_under_handlers(self):
        self.assertEqual(self.said("signals_cleared"), {"branch": 10, "leaf": 10, "handler": 0})

    def test_every_zone_is_traced_or_counted_as_dropped(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.fathom"
            said = self.said("signals_traced", RT_OUT=str(out))
            self.assertEqual(said["lost"], 0)
            spans = spans_of(out)
        self.assertEqual(spans + said["dropped"], said["zones"])

    def test_forked_children_count_for_themselves(self):
        said = self.said("forks")
        self.assertEqual(said["good"], said["forks"])
        self.assertEqual(said["branch"], said["forks"] + 1)

    def test_a_fork_inside_a_zone_with_other_threads(self):
        said = self.said("fork_inside")
        self.assertEqual(said["status"], 0)
        self.assertEqual(said["around"], 1)

    def test_a_context_goes_to_another_thread(self):
        self.assertEqual(self.said("context")["request"], 2)

    def test_threads_of_one_name_are_added_up(self):
        said = self.said("per_thread")
        self.assertEqual(said["thread_reader"], 2)
        self.assertEqual(said["thread_writer"], 1)

    def test_a_budget_demotes_hot_sites_and_counts_on(self):
        said = self.said("budget")
        self.assertEqual(said["count"], 100000)
        self.assertEqual(said["demoted"], 1)


if "build-san" not in str(BUILD):  # sanitizers cannot be combined
    class StormUnderTheThreadSanitizer(Storm):
        binary = "rt-storm-tsan"

        def setUp(self):
            need_tsan("rt-basic-tsan")


@repeated(200)
class Loading(unittest.TestCase):
    def test_a_library_is_unloaded_and_loaded_again(self):
        for plugin in ("rt-plugin.so", "rt-plugin-cxx.so"):
            with self.subTest(plugin):
                said = case(None, "unload", "rt-storm",
                            env={**os.environ, "RT_PLUGIN": str(program(plugin))})
                self.assertEqual(said, {"plugin": 5, "inner": 50, "branch": 5})


@repeated(500)
class Dying(unittest.TestCase):
    def counts(self, how):
        """The number of calls of each zone; times may all be 0 after calibration."""
        with tempfile.TemporaryDirectory() as folder:
            live = pathlib.Path(folder) / "zones.live"
            run(program("rt-storm"), how, status=None,
                env={**os.environ, "RT_LIVE": str(live), "ASAN_OPTIONS": "detect_leaks=0"})
            rows = json.loads(fathom("report", live, "--json", "-n", "0").stdout)["functions"]
            return {row["name"]: row["samples"] for row in rows}

    def test_nothing_recorded_is_lost_when_killed(self):
        for how in ("kill", "segv", "abort"):
            with self.subTest(how):
                self.assertEqual(self.counts(how), {"branch": 1000, "leaf": 9000, "dying": 1})


if __name__ == "__main__":
    unittest.main()
