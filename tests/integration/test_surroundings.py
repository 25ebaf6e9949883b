"""What slows a program from outside: limits of cgroups, CPUs allowed, pressure, steal."""
import json
import os
import pathlib
import re
import time
import unittest

from support import FATHOM, SECONDS, Case, fathom, need, need_perf_events, report, run, workload

CPU_MAX = 0.05  # of a CPU: less than a busy machine gives the program
FIGURES = ["stall.steal_ns", "stall.busy_ns", "stall.wall_ns"]


def cpu_hierarchy():
    """The folder in which cgroups with a CPU limit can be created, and its version."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        point, (kind, _, options) = pathlib.Path(before.split()[4]), after.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            return point, 1
        if kind == "cgroup2":
            below = point / "cgroup.subtree_control"
            if "cpu" in below.read_text().split():
                return point, 2
    raise unittest.SkipTest("no cgroup hierarchy limits CPU time here")


class Limited(Case):
    """Programs in a cgroup that may use little CPU time."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root: an ordinary user cannot create cgroups here")
        top, version = cpu_hierarchy()
        self.group = top / f"fathom-test-{os.getpid()}"
        try:
            self.group.mkdir()
        except OSError as e:
            self.skipTest(f"cannot create a cgroup: {e.strerror}")
        self.addCleanup(self.remove)
        try:
            if version == 2:
                (self.group / "cpu.max").write_text(f"{int(CPU_MAX * 100000)} 100000")
            else:
                (self.group / "cpu.cfs_quota_us").write_text(str(int(CPU_MAX * 100000)))
        except OSError as e:
            self.skipTest(f"cannot limit a cgroup: {e.strerror}")

    def remove(self):
        """The cgroup can be removed when helpers of the recorder have ended too."""
        end = time.monotonic() + SECONDS
        while (self.group / "cgroup.procs").read_text() and time.monotonic() < end:
            time.sleep(0.01)
        self.group.rmdir()

    def inside(self, *command):
        """Run a command in the cgroup, until it and its children have ended."""
        return run("sh", "-c", 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"', "sh", self.group,
                   *command)

    def check(self, meta):
        self.assertEqual(float(meta["limit.cpu_max"]), CPU_MAX)
        self.assertTrue(meta["limit.cgroup"].endswith(self.group.name))
        self.assertGreater(int(meta["stall.throttled"]), 0)
        self.assertGreaterEqual(int(meta["stall.periods"]), int(meta["stall.throttled"]))
        self.assertGreater(int(meta["stall.throttled_ns"]), 0)

    def test_a_recording_has_the_limit_and_how_often_it_stopped_the_program(self):
        path = self.dir / "p.fathom"
        self.inside(FATHOM, "record", "-o", path, "--", workload("split"), "20")
        meta = report(path)["meta"]
        self.check(meta)
        self.printed(fathom("report", path).stdout, meta)

    def test_stat_has_the_same_figures_as_text_and_json(self):
        path = self.dir / "stat.json"
        self.inside(FATHOM, "stat", "--json", "-o", path, "--", workload("split"), "20")
        self.check(json.loads(path.read_text())["meta"])
        done = self.inside(FATHOM, "stat", "--", workload("split"), "20")
        self.assertRegex(done.stderr, r"(?m)^note: throttled in \d+ % of the periods, for \S+ m?s: "
                                      r"cpu\.max gives its cgroup 0\.05 CPUs$")

    def printed(self, text, meta):
        pct = 100 * int(meta["stall.throttled"]) / int(meta["stall.periods"])
        found = re.search(r"(?m)^note: throttled in (\d+) % of the periods, for \S+ m?s: cpu\.max "
                          r"gives its cgroup 0\.05 CPUs$", text)
        self.assertAlmostEqual(float(found.group(1)), pct, delta=0.51)


class Everywhere(Case):
    def test_a_recording_has_the_figures_of_the_machine(self):
        meta = report(self.record("true"))["meta"]
        for key in FIGURES:
            self.assertTrue(meta[key].isdigit(), key)
        self.assertGreater(int(meta["stall.wall_ns"]), 0)
        if os.path.exists("/proc/pressure/cpu"):
            self.assertIn(meta["pressure_of"], ("cgroup", "machine"))
            self.assertTrue(meta["stall.cpu_some_ns"].isdigit())

    def test_stat_has_the_figures_of_the_machine(self):
        meta = json.loads(fathom("stat", "--json", "--", "true").stdout)["meta"]
        for key in FIGURES + ["cpus", "limit.cpus_allowed"]:
            self.assertTrue(meta[key].isdigit(), key)

    def test_allowed_cpus_are_those_of_the_target(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("only one CPU")
        one = str(max(os.sched_getaffinity(0)))
        done = fathom("stat", "--json", "--pin", one, "--", "true")
        meta = json.loads(done.stdout)["meta"]
        self.assertEqual((meta["limit.cpus_allowed"], meta["limit.cpus_list"]), ("1", one))
        text = fathom("stat", "--pin", one, "--", "true").stderr
        self.assertIn(f"note: it could use only 1 of {meta['cpus']} CPUs ({one})\n", text)
        path = self.record("true", options=["--pin", one])
        self.assertIn(f"note: it could use only 1 of {meta['cpus']} CPUs ({one})\n",
                      fathom("report", path).stdout)

    def test_an_attached_process_is_described_not_the_recorder(self):
        need("taskset", "sleep")
        need_perf_events()
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("only one CPU")
        one = str(max(os.sched_getaffinity(0)))
        path = self.dir / "p.fathom"
        run("sh", "-c", 'taskset -c "$1" sleep 600 & p=$!; until grep -q sleep /proc/$p/comm; do :; done; '
            '"$2" record -o "$3" -d 0.1 -p $p; kill $p', "sh", one, FATHOM, path)
        self.assertEqual(report(path)["meta"]["limit.cpus_list"], one)


if __name__ == "__main__":
    unittest.main()
