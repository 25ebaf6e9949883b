"""`fathom record --wall`: compare waiting with the times that the program measured itself."""
import collections
import os
import pathlib
import subprocess
import unittest

from recording import Recording
from support import (AS_NOBODY, FATHOM, Case, NobodyCase, fathom, need_perf_events, report, run,
                     workload)

POINTS = 6
WAITS = ("6", "50")  # six rounds of 200 ms sleeping, 150 ms waiting for a lock and 150 ms computing
KERNEL = 1  # kind of frame


class Waits(Case):
    """Checks for all ways of recording; from inside where perf events are refused."""

    OPTIONS = []

    def setUp(self):
        super().setUp()
        self.out = self.dir / "w.fathom"
        self.command = [FATHOM]
        self.unsure = 0

    def measure(self, *args):
        """The recording, and the times that the program printed; "waits": sleep, lock, compute."""
        done = run(*self.command, "record", "-q", "--wall", *self.OPTIONS, "-o", self.out, "--", *args)
        r = Recording(self.out)
        # From inside, the division of this time is an estimate.
        self.unsure = r.number("quality.waits_unsure_ns") if "quality.waits_unsure_ns" in r.meta else 0
        return r, [int(x) for x in done.stdout.split()]

    def main_thread(self, r):
        first = min(r.table["process"])
        pid = r.table["process"][first]["pid"]
        return next(n for n, t in r.table["thread"].items() if t["tid"] == pid)

    def times(self, r):
        """Nanoseconds of the main thread by wait kind; "cpu" for running."""
        main, found = self.main_thread(r), collections.Counter()
        for s in r.of("wait"):
            if s["thread"] == main:
                found[r.waits_for(s)] += s["weight"]
        found["cpu"] = sum(s["weight"] for s in r.of("cpu") if s["thread"] == main)
        return found

    def queue(self, r):
        """Time of the main thread in the run queue outside do_compute.  The program measures it
        as sleeping or locking; the recording separates it."""
        main = self.main_thread(r)
        return sum(s["weight"] for s in r.of("wait") if s["thread"] == main and
                   r.waits_for(s) == "run queue" and "do_compute" not in r.stack(s["stack"]))

    def near(self, got, want, whole, what, slack=0):
        """GOT is WANT within POINTS percent of WHOLE, or below it by up to SLACK more."""
        points = POINTS * whole / 100 + self.unsure
        self.assertTrue(want - points - slack <= got <= want + points, f"{what}: {got} ns, not {want} ns")

    def check_kinds(self, r, truth, kinds, running):
        """Compare the waits of the main thread by kind, and its running time."""
        whole, queue = sum(truth), self.queue(r)
        self.near(running, truth[2], whole, "computing", r.lost_ns())
        self.near(kinds.get("sleep", 0), truth[0], whole, "sleeping", queue)
        self.near(kinds.get("futex", 0), truth[1], whole, "locking", queue)
        self.near(kinds.get("unknown", 0), 0, whole, "waiting for something unknown")

    def check_shares(self):
        r, truth = self.measure(workload("waits"), *WAITS)
        got = self.times(r)
        self.check_kinds(r, truth, got, got["cpu"])

    def check_stacks(self):
        r, _ = self.measure(workload("waits"), *WAITS)
        main = self.main_thread(r)
        for kind, function in (("sleep", "do_sleep"), ("futex", "do_lock")):
            waits = [s for s in r.of("wait") if s["thread"] == main and r.waits_for(s) == kind]
            self.assertTrue(waits, kind)
            seen = [s for s in waits if r.tags(s["tags"]).get("stack") != "guessed"]
            self.assertTrue(seen, kind)
            self.assertGreater(r.share_with(function, seen), 90)
            if not self.unsure:
                self.assertGreater(r.share_with(function, waits), 90)


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

    def test_the_report_shows_running_and_waiting_by_kind_and_thread(self):
        recording, truth = self.measure(workload("waits"), *WAITS)
        r = report(self.out)
        self.assertEqual(r["metric"]["name"], "wall")
        self.assertEqual(r["running"] + r["waiting"], r["total"])
        self.assertEqual(sum(r["waits_for"].values()), r["waiting"])
        main = max(r["threads"], key=lambda t: t["running"])
        self.check_kinds(recording, truth, main["waits_for"], main["running"])
        rows, whole = {f["name"]: f for f in r["functions"]}, sum(truth)
        for name, want in (("do_sleep", truth[0]), ("do_lock", truth[1])):
            got = rows[name]["total_waiting"] - rows[name]["waits_for"].get("run queue", 0)
            self.near(got, want, whole, name, self.queue(recording))
        # A thread that is preempted before its first sample or wait has no known stack.
        nameless = {kind for name, f in rows.items() if name.startswith("[") for kind in f["waits_for"]}
        self.assertLessEqual(nameless, {"run queue", "unknown"})

    def test_a_wait_has_no_functions_of_the_kernel(self):
        r, _ = self.measure(workload("waits"), "10")
        for s in r.of("wait"):
            kernel = [r.table["frame"][f]["kind"] == KERNEL for f in r.frames(s["stack"])]
            if r.waits_for(s) == "unknown" or all(kernel):
                continue  # unknown, or before the first instruction of the program
            self.assertFalse(any(kernel), r.stack(s["stack"]))

    def hardly_runs(self, t):
        wants = ("run queue", "disk", "page fault", "write")
        busy = t["running"] + sum(t["waits_for"].get(kind, 0) for kind in wants)
        return busy * 50 <= t["running"] + t["waiting"]

    def test_idle_threads_are_set_aside(self):
        """A pool thread that had to wait for a CPU may count as busy, so check each one."""
        self.measure(workload("pool"), "20")
        r, counted = report(self.out), report(self.out, "--idle")
        idle = [t for t in r["threads"] if self.hardly_runs(t)]
        n = len(idle)
        self.assertGreater(n, 10)
        self.assertEqual([t["idle"] for t in r["threads"]], [self.hardly_runs(t) for t in r["threads"]])
        self.assertEqual(counted["total"] - r["total"], sum(t["waiting"] for t in idle))
        rows = {f["name"]: f["total"] for f in r["functions"]}
        all_rows = {f["name"]: f["total"] for f in counted["functions"]}
        self.assertIn("compute", rows)
        self.assertIn("wait_for_work", all_rows)
        if n == 20:  # what these threads ran, if a sample fell into it, counts
            self.assertLessEqual(rows.get("wait_for_work", 0), sum(t["running"] for t in idle))
        self.assertIn(f"{n} idle threads not counted (--idle): {n} in wait_for_work (futex)",
                      fathom("report", self.out).stdout)
        groups = report(self.out, "-b", "thread")["groups"]
        self.assertEqual([bool(g.get("idle")) for g in groups], [False] * (21 - n) + [True] * n)


class Forms(Waits):
    """What reads a recording of waits."""

    def test_every_form_of_the_report_has_both_times(self):
        self.measure(workload("waits"), "5")
        tree = report(self.out, "-t")["tree"]
        self.assertTrue([line for line in tree if line["total_waiting"] and line["waits_for"]])
        for args in ((), ("-t",), ("-i",), ("-b", "thread"), ("--callers", "do_lock")):
            head = fathom("report", self.out, *args).stdout
            self.assertIn("running", head)
            self.assertIn("waiting", head)
            titles = fathom("report", "--csv", self.out, *args).stdout.splitlines()[0]
            self.assertIn("waiting", titles)
        for metric in ("cpu", "wait", "wall"):
            self.assertEqual(report(self.out, "-m", metric)["metric"]["name"], metric)

    def test_pictures_and_exports_take_both_together(self):
        r, _ = self.measure(workload("waits"), "5")
        whole = sum(s["weight"] for s in r.samples)
        lines = fathom("export", self.out, "-f", "collapsed", "-m", "wall").stdout.splitlines()
        # A wait without a stack is exported with its kind; a running sample without one is not.
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines),
                         whole - sum(s["weight"] for s in r.of("cpu") if not s["stack"]))
        page = self.dir / "f.html"
        fathom("flame", "-o", page, self.out)
        self.assertIn('"name":"wall"', page.read_text())
        svg = self.dir / "f.svg"
        fathom("flame", "-o", svg, self.out)
        self.assertIn("[sleep]", svg.read_text())
        self.assertIn("do_lock", fathom("annotate", self.out, "do_lock", "-m", "wall").stdout)

    def test_threads_that_only_wait_are_seen_when_attached_to(self):
        need_perf_events()
        target = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        fathom("record", "--wall", "-o", self.out, "-p", target.pid, "-d", "1")
        r = Recording(self.out)
        waited = sum(s["weight"] for s in r.of("wait"))
        self.assertGreater(waited, 0.5 * r.number("duration_ns"))
        self.assertLessEqual(waited, r.number("duration_ns") * 1.01)


class Inside(Wall):
    """The same with samples from inside the program."""

    OPTIONS = ["--in-process"]

    def test_the_report_says_how_waits_were_found(self):
        self.measure(workload("waits"), "1")
        self.assertIn("note: waits were found by looking at each thread every 1.00 ms or more rarely",
                      fathom("report", self.out).stdout)


class Kinds(Waits):
    """Waits of every kind."""

    def waits_in(self, r, function):
        """Time of waits with FUNCTION in their stack, by kind."""
        found = collections.Counter()
        for s in r.of("wait"):
            if function in r.stack(s["stack"]):
                found[r.waits_for(s)] += s["weight"]
        return found

    def check(self, r, function, kind, want, whole):
        """FUNCTION waits for KIND, or after that for a CPU."""
        found = self.waits_in(r, function)
        self.near(found[kind], want, whole, function, found["run queue"])

    def check_each(self, program):
        r, truth = self.measure(program, "kinds", "20")
        functions = ("sleep_here", "sleep_there", "read_pipe", "poll_pipe", "wait_for_child")
        for i, kind in enumerate(("sleep", "sleep", "read", "poll", "child")):
            self.check(r, functions[i], kind, truth[i], sum(truth))

    def test_each_kind_of_wait_has_its_time_and_place(self):
        self.check_each(workload("waiting"))

    def test_each_place_is_found_in_a_program_with_frame_pointers(self):
        """The frame pointer of a waiting thread is unknown."""
        self.check_each(workload("waiting-fp"))

    def test_two_places_that_take_turns_keep_their_times(self):
        r, truth = self.measure(workload("waiting"), "places", "100")
        for function, want in zip(("sleep_here", "sleep_there"), truth):
            self.check(r, function, "sleep", want, sum(truth))

    def test_threads_without_a_cpu_are_in_the_run_queue(self):
        n = 4 * len(os.sched_getaffinity(0))
        r, (lived, cpu) = self.measure(workload("waiting"), "busy", str(n), "100")
        threads = {t for t, x in r.table["thread"].items() if t != self.main_thread(r)}
        found = collections.Counter()
        for s in r.of("wait"):
            if s["thread"] in threads:
                found[r.waits_for(s)] += s["weight"]
        self.near(found["run queue"], lived - cpu, lived, "the run queue")
        self.near(sum(found.values()) - found["run queue"], 0, lived, "other waits")

    def test_a_thread_runs_or_waits_all_its_life(self):
        r, truth = self.measure(workload("waits"), *WAITS)
        main = self.main_thread(r)
        both = sum(s["weight"] for m in ("cpu", "wait") for s in r.of(m) if s["thread"] == main)
        whole = r.number("duration_ns")  # a busy machine starts a program, and notices its end, late
        self.assertLess(both, 1.02 * whole, f"{both} ns of {whole}")
        self.assertGreater(both, sum(truth) - 0.02 * whole)

    def test_threads_that_live_for_milliseconds_are_seen_waiting(self):
        r, (slept,) = self.measure(workload("waiting"), "brief", "60")
        found = self.waits_in(r, "sleep_here")
        self.assertGreater(found["sleep"] + self.unsure, 0.3 * slept)
        self.assertLess(found["sleep"], 1.1 * slept + self.unsure)


class KindsInside(Kinds):
    OPTIONS = ["--in-process"]

    def test_waits_of_a_running_process_are_seen_without_perf_events(self):
        """It is looked at every 10 ms, so the two places of 10 ms each are told apart by chance."""
        target = subprocess.Popen([workload("waiting"), "places", "100000"], stdout=subprocess.DEVNULL)
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        fathom("record", "-q", "--in-process", "--wall", "-o", self.out, "-p", target.pid, "-d", "1.5")
        r = Recording(self.out)
        self.assertIn(r.meta["rung"], ("in-process", "stops"))
        found = self.waits_in(r, "main")
        self.assertGreater(sum(found.values()), 0.5 * r.number("duration_ns"))
        self.assertGreater(found["sleep"] + found["run queue"], 0.9 * sum(found.values()))


class Unprivileged(NobodyCase, Waits):
    """The same without privileges: the kernel allows no samples at switches."""

    def setUp(self):
        super().setUp()
        need_perf_events(nobody=True)
        self.copy(FATHOM, workload("waits"), workload("waiting-fp"))
        self.command = ["env", f"FATHOM_CACHE={self.dir}/nobody", *AS_NOBODY, str(self.dir / "fathom")]

    def measure(self, *args):
        return super().measure(self.dir / pathlib.Path(args[0]).name, *args[1:])

    def test_without_privilege_the_shares_are_the_same(self):
        self.check_shares()

    def test_without_privilege_a_wait_has_its_stack_too(self):
        self.check_stacks()

    def test_without_privilege_a_wait_has_its_stack_in_a_program_with_frame_pointers(self):
        r, truth = self.measure(workload("waiting-fp"), "places", "20")
        found = sum(s["weight"] for s in r.of("wait")
                    if {"sleep_here", "sleep_there"} & set(r.stack(s["stack"])))
        self.assertGreater(found, 0.9 * sum(truth))


if __name__ == "__main__":
    unittest.main()
