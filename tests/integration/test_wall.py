"""`fathom record --wall`: waiting, against a program that knows how long it waited."""
import collections
import os
import pathlib
import shutil
import subprocess
import unittest

from recording import Recording
from support import FATHOM, Case, fathom, need, need_perf_events, run, workload

POINTS = 6


class Waits(Case):
    """What both ways of recording are measured by."""

    def setUp(self):
        super().setUp()
        need_perf_events()
        self.out = self.dir / "w.fathom"
        self.record = [FATHOM]

    def measure(self, *args):
        """The recording, and what the program says of its main thread: sleep, lock, compute."""
        done = run(*self.record, "record", "-q", "--wall", "-o", self.out, "--", *args)
        return Recording(self.out), [int(x) for x in done.stdout.split()]

    def main_thread(self, r):
        first = min(r.table["process"])
        pid = r.table["process"][first]["pid"]
        return next(n for n, t in r.table["thread"].items() if t["tid"] == pid)

    def times(self, r):
        """Nanoseconds of the main thread by note, "cpu" for running."""
        main, found = self.main_thread(r), collections.Counter()
        for s in r.of("wait"):
            if s["thread"] == main:
                found[r.stack(s["stack"])[-1]] += s["weight"]
        found["cpu"] = sum(s["weight"] for s in r.of("cpu") if s["thread"] == main)
        return found

    def near(self, got, want, whole, what):
        self.assertLessEqual(abs(got - want) * 100 / whole, POINTS, f"{what}: {got} ns, not {want} ns")

    def check_shares(self):
        def check():
            r, truth = self.measure(workload("waits"), "30")
            if not r.nothing_lost():
                self.skipTest("the machine lost records")
            got, whole = self.times(r), sum(truth)
            unknown = got["[waiting]"]
            self.near(got["cpu"], truth[2], whole, "computing")
            self.near(got["[sleep]"] + min(unknown, max(0, truth[0] - got["[sleep]"])), truth[0], whole, "sleeping")
            self.near(got["[futex]"] + min(unknown, max(0, truth[1] - got["[futex]"])), truth[1], whole, "locking")
            self.near(got["[sleep]"] + got["[futex]"] + unknown, truth[0] + truth[1], whole, "waiting")
        self.eventually(check)

    def check_stacks(self):
        def check():
            r, _ = self.measure(workload("waits"), "30")
            main = self.main_thread(r)
            for note, function in (("[sleep]", "do_sleep"), ("[futex]", "do_lock")):
                waits = [s for s in r.of("wait")
                         if s["thread"] == main and r.stack(s["stack"])[-1] == note]
                self.assertTrue(waits, note)
                self.assertGreater(r.share_with(function, waits), 70)
        self.eventually(check)


class Wall(Waits):
    def test_sleeping_locking_and_computing_have_their_shares(self):
        self.check_shares()

    def test_a_wait_has_the_stack_of_where_it_waits(self):
        self.check_stacks()

    def test_waiting_is_a_metric_of_its_own(self):
        r, _ = self.measure(workload("waits"), "5")
        found = {r.text(m["name"]): m for m in r.table["metric"].values()}
        self.assertEqual(set(found), {"cpu", "wait"})
        self.assertEqual(found["wait"]["flags"] & 3, 3)
        self.assertEqual(int(r.meta["quality.waits"]), len(r.of("wait")))

    def test_threads_that_only_wait_are_seen_when_attached_to(self):
        target = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        fathom("record", "--wall", "-o", self.out, "-p", target.pid, "-d", "1")
        r = Recording(self.out)
        waited = sum(s["weight"] for s in r.of("wait"))
        self.assertGreater(waited, 0.5 * r.number("duration_ns"))
        self.assertLessEqual(waited, r.number("duration_ns") * 1.01)


class Unprivileged(Waits):
    """The same without privilege: no samples at switches, so waiting threads are looked at."""

    def setUp(self):
        super().setUp()
        need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("not root, so the other tests were this one")
        os.chmod(self.dir, 0o777)
        for p in (FATHOM, workload("waits")):
            shutil.copy(p, self.dir)
            os.chmod(self.dir / pathlib.Path(p).name, 0o755)
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                "--inh-caps=-all", "--bounding-set=-all"]
        self.record = ["env", f"FATHOM_CACHE={self.dir}/nobody", *user, str(self.dir / "fathom")]
        done = run(*self.record, "record", "-o", self.dir / "t.fathom", "true", status=None, cwd=self.dir)
        if done.returncode:
            self.skipTest("nobody cannot record here")

    def measure(self, *args):
        return super().measure(self.dir / "waits", *args[1:])

    def test_without_privilege_the_shares_are_the_same(self):
        self.check_shares()

    def test_without_privilege_a_wait_has_its_stack_too(self):
        self.check_stacks()


if __name__ == "__main__":
    unittest.main()
