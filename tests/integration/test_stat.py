"""`fathom stat`: figures that are certain on any machine, even a busy one."""
import json
import os
import re
import unittest

from support import SOURCE, Case, fathom, need_perf_events
from test_report import documented


def measures(result):
    return {m["name"]: m for m in result["measures"]}


class Stat(Case):
    def stat(self, *args, status=0):
        return json.loads(fathom("stat", "--json", *args, status=status).stdout)

    def test_members_match_the_page(self):
        result = self.stat("-r", "2", "--", "true")
        self.assertEqual(set(result), set(documented("## `fathom stat --json`")))
        known = documented("### `measures`")
        names = re.search(r"^\| `name` \| string \| (.*) \|$", (SOURCE / "docs/json.md").read_text().split(
            "### `measures`")[1], re.M).group(1)
        for measure in result["measures"]:
            self.assertLessEqual(set(measure), set(known))
            self.assertLessEqual(set(known) - {"running_pct"}, set(measure))
            if "running_pct" not in measure:
                self.assertIn(f"`{measure['name']}`", names)

    def test_time_that_is_slept_is_not_used(self):
        found = measures(self.stat("--", "sleep", "0.5"))
        self.assertGreaterEqual(found["wall"]["median"], 0.5e9)
        self.assertLess(found["user"]["median"] + found["system"]["median"], found["wall"]["median"])

    def test_bytes_written_are_counted_with_those_of_children(self):
        if not os.path.exists("/proc/self/io"):
            self.skipTest("the kernel has no I/O accounting")
        out = self.dir / "x"
        found = measures(self.stat("--", "sh", "-c", f"head -c 3000000 /dev/zero > '{out}'; true"))
        self.assertGreaterEqual(found["written"]["median"], 3000000)
        self.assertLess(found["written"]["median"], 4000000)

    def test_processes_are_counted_exactly(self):
        need_perf_events()
        found = measures(self.stat("--", "sh", "-c", "/bin/true; /bin/true; (exit 0); exit 0"))
        self.assertEqual(found["processes"]["median"], 4)
        self.assertEqual(found["threads"]["median"], 4)

    def test_memory_of_a_large_process_is_seen(self):
        found = measures(self.stat("--", "/usr/bin/python3", "-c", "x = bytearray(100_000_000)"))
        self.assertGreaterEqual(found["max RSS"]["median"], 100e6)
        self.assertLess(found["max RSS"]["median"], 200e6)
        self.assertGreater(found["minor faults"]["median"], 1000)

    def test_repeats_give_an_interval(self):
        result = self.stat("-r", "7", "--", "true")
        wall = measures(result)["wall"]
        self.assertEqual(len(wall["values"]), 7)
        self.assertEqual(result["exit_status"], [0] * 7)
        self.assertGreaterEqual(wall["confidence"], 0.95)
        self.assertTrue(wall["min"] <= wall["low"] <= wall["median"] <= wall["high"] <= wall["max"])

    def test_software_events_are_counted_where_allowed(self):
        need_perf_events()
        found = measures(self.stat("-e", "page-faults:u", "--", "true"))
        self.assertGreater(found["page-faults:u"]["median"], 0)

    def test_the_exit_status_of_the_command_is_passed_on(self):
        self.assertEqual(self.stat("--", "sh", "-c", "exit 7", status=7)["exit_status"], [7])
        self.assertEqual(self.stat("--", "sh", "-c", "kill -TERM $$", status=143)["exit_status"], [143])

    def test_output_of_the_command_stays_apart_from_the_json(self):
        done = fathom("stat", "--json", "--", "echo", "hello")
        json.loads(done.stdout)
        self.assertIn("hello", done.stderr)
        path = self.dir / "out.json"
        done = fathom("stat", "--json", "-o", path, "--", "echo", "hello")
        self.assertEqual(done.stdout, "hello\n")
        json.loads(path.read_text())

    def test_text_goes_to_standard_error(self):
        done = fathom("stat", "-r", "2", "echo", "hello")
        self.assertEqual(done.stdout, "hello\nhello\n")
        self.assertRegex(done.stderr, r"(?m)^echo hello: 2 runs, medians with their 50\.0 % interval$")
        self.assertRegex(done.stderr, r"(?m)^wall +\S+ [mun]?s")

    def test_an_unknown_event_is_refused_before_the_command_runs(self):
        mark = self.dir / "ran"
        done = fathom("stat", "-e", "cycles", "--", "touch", mark, status=None)
        if done.returncode == 0:
            self.skipTest("this machine counts cycles")
        self.assertEqual(done.returncode, 1)
        self.assertIn('"cycles"', done.stderr)
        self.assertFalse(mark.exists())

    def test_the_end_of_a_command_is_reported(self):
        killed = fathom("stat", "--", "sh", "-c", "kill -9 $$", status=137)
        self.assertIn("exit status 137 (SIGKILL)", killed.stderr)
        often = fathom("stat", "-r", "3", "--", "sh", "-c", "exit 3", status=3)
        self.assertIn("3 of them failed, exit status 3", often.stderr)


if __name__ == "__main__":
    unittest.main()
