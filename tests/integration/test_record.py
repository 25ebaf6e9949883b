"""`fathom record`: targets, processes that it follows, files and messages."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from recording import Recording
from support import (FATHOM, SECONDS, Case, NobodyCase, fathom, need, need_perf_events, perf_refusal, report,
                     rounds, run, workload)

KERNEL = 1  # kind of frame


class Record(Case):
    def setUp(self):
        super().setUp()
        self.out = self.dir / "p.fathom"

    def start(self, *args, **more):
        return self.start_session(FATHOM, "record", "-o", self.out, *args, **more)

    def child_of(self, pid):
        path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
        self.until(lambda: path.read_text().split(), "the command to start")
        child = int(path.read_text().split()[0])
        self.until(lambda: "fathom" not in os.readlink(f"/proc/{child}/exe"), "exec")
        return child

    def test_the_exit_status_passes_through(self):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)):
            fathom("record", "-o", self.out, "--", "sh", "-c", script, status=status)
            self.assertEqual(Recording(self.out).meta["exit_status"], str(status))

    def test_samples_of_user_space_alone_are_not_called_those_of_the_kernel(self):
        need_perf_events()
        fathom("record", "-e", "cpu-clock:u", "-o", self.out, "--", "true")
        meta = Recording(self.out).meta
        self.assertEqual(meta["rung"], "user")
        self.assertNotIn("rate_achieved", meta)

    def test_the_older_file_is_kept(self):
        fathom("record", "-o", self.out, "true")
        first = self.out.read_bytes()
        fathom("record", "-o", self.out, "true")
        self.assertEqual(pathlib.Path(str(self.out) + ".old").read_bytes(), first)

    def test_a_missing_command_leaves_the_old_file(self):
        fathom("record", "-o", self.out, "true")
        first = self.out.read_bytes()
        done = fathom("record", "-o", self.out, "--", "/no/such/program", status=127)
        self.assertIn("/no/such/program", done.stderr)
        self.assertEqual(self.out.read_bytes(), first)
        self.assertEqual(os.listdir(self.dir), [n for n in os.listdir(self.dir) if n != "p.fathom.old"])

    def test_a_command_that_cannot_run_exits_with_the_status_that_shells_use(self):
        plain = self.dir / "plain"
        plain.write_text("not a program")
        for verb in (["record", "-o", self.out], ["stat"]):
            for program, status in (("/no/such/program", 127), ("no-such-program-at-all", 127), (plain, 126),
                                    (self.dir, 126)):
                done = fathom(*verb, "--", program, status=status)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(f"cannot run {program}", done.stderr)

    def test_the_end_of_the_duration_ends_all_that_the_command_started(self):
        mark = f"fathom-mark-{os.getpid()}"
        # One child ignores SIGTERM, one has its own session, and one lost its parent.
        script = ("(trap '' TERM; while :; do sleep 0.1; done) & setsid sleep 1000 & "
                  "(setsid sh -c 'sleep 1000; :' &) ; wait")
        done = fathom("record", "-d", "1", "-o", self.out, "--", "env", f"MARK={mark}", "sh", "-c", script,
                      status=None)
        self.assertIn("recorded", done.stderr)
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                left = f"MARK={mark}".encode() in (proc / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            self.assertFalse(left, proc)

    def test_a_recorder_killed_at_once_leaves_a_readable_file(self):
        p = self.start("--", "sh", "-c", "sleep 1000")
        self.until(lambda: self.out.exists() and fathom("dump", self.out, status=None).returncode == 0,
                   "a file that can be read")
        os.killpg(p.pid, signal.SIGKILL)
        p.wait(SECONDS)
        self.assertTrue(Recording(self.out).meta["command"].startswith("sh -c"))
        fathom("report", self.out)

    def zone_folders(self):
        return list(self.dir.glob("fathom-zones-*"))

    def test_a_killed_recorder_leaves_no_folder(self):
        for kill in (os.kill, os.killpg):
            p = self.start("--", "sleep", "1000", env=dict(os.environ, TMPDIR=str(self.dir)))
            self.child_of(p.pid)
            self.assertEqual(len(self.zone_folders()), 1)
            kill(p.pid, signal.SIGKILL)
            p.wait(SECONDS)
            self.until(lambda: not self.zone_folders(), "the guard")

    def test_a_recorder_waits_for_no_guard_and_leaves_none(self):
        env = dict(os.environ, TMPDIR=str(self.dir))
        done = fathom("record", "-d", "0.2", "-o", self.out, "--", "sleep", "1000", env=env,
                      status=None)
        self.assertIn("recorded", done.stderr)
        self.assertEqual(self.zone_folders(), [])
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                guard = (proc / "comm").read_text() == "fathom-guard\n"
                ours = f"TMPDIR={self.dir}".encode() in (proc / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            self.assertFalse(guard and ours, proc)

    def test_the_file_is_new_and_private_also_where_a_link_leads(self):
        self.out.write_text("old")
        self.out.chmod(0o644)
        fathom("record", "-o", self.out, "true")
        self.assertEqual(self.out.stat().st_mode & 0o777, 0o600)
        self.out.unlink()
        self.out.symlink_to(self.dir / "elsewhere")
        fathom("record", "-o", self.out, "true")
        self.assertTrue(self.out.is_symlink())
        self.assertEqual((self.dir / "elsewhere").stat().st_mode & 0o777, 0o600)

    def test_the_default_name_is_profile_fathom(self):
        fathom("record", "true", cwd=self.dir)
        self.assertTrue((self.dir / "profile.fathom").exists())

    def test_standard_output_carries_a_profile(self):
        done = run(FATHOM, "record", "-o", "-", "--", "echo", "not a record", text=False)
        self.assertIn(b"not a record", done.stderr)
        self.out.write_bytes(done.stdout)
        self.assertEqual(Recording(self.out).meta["exit_status"], "0")

    def test_the_summary_names_the_next_command(self):
        done = fathom("record", "-o", self.out, "true")
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 3, done.stderr)
        self.assertIn("0 lost", lines[0])
        self.assertIn(f"fathom report {self.out}", lines[2])
        self.assertEqual(fathom("record", "-q", "-o", self.out, "true").stderr, "")

    def test_the_quality_of_the_recording_is_in_the_file(self):
        r = Recording(self.record(workload("split"), "20"))
        keys = ["samples", "lost", "throttled", "stacks", "complete", "truncated", "joined", "unreadable",
                "recorder_cpu_ns", "target_cpu_ns"]
        for key in keys + ([] if perf_refusal() else ["records_lost", "ring_bytes"]):
            self.assertTrue(r.meta["quality." + key].isdigit(), key)
        for key in ("producer", "command", "host", "kernel", "arch", "cpus", "clock", "date", "events",
                    "rate_asked", "rung", "call_graph", "duration_ns", "start_ns", "stack_bytes"):
            self.assertTrue(r.meta[key], key)
        samples = [s for s in r.samples if s["count"]]  # CPU time that was not sampled has none
        self.assertEqual(int(r.meta["quality.samples"]), len(samples))
        self.assertEqual(r.meta["rate_asked"], "999")

    def test_times_lie_within_the_recording(self):
        r = Recording(self.record(workload("split"), "20"))
        start, duration = r.number("start_ns"), r.number("duration_ns")
        for s in r.samples:
            self.assertGreaterEqual(s["start_ns"], start)
            self.assertLessEqual(s["start_ns"] + s["duration_ns"], start + duration)

    def test_several_events_are_several_metrics(self):
        need_perf_events()
        r = Recording(self.record(workload("split"), "20", options=["-e", "cpu-clock,page-faults"]))
        self.assertEqual([r.text(m["name"]) for m in r.table["metric"].values()], ["cpu", "page-faults"])
        self.assertTrue(r.of("cpu"))

    def test_an_event_that_does_not_exist_is_refused(self):
        done = fathom("record", "-o", self.out, "-e", "no-such-event", "true", status=2)
        self.assertIn("no-such-event", done.stderr)
        self.assertFalse(self.out.exists())

    def test_wrong_command_lines_are_refused(self):
        for args in (["-gfoo", "true"], ["-gdwarf,99999999", "true"], ["-p", "x"], [], ["--pin", "x", "true"],
                     ["-a", "-p", "1"], ["-a", "-t", "1"], ["-a", "--cgroup", "x"],
                     ["--wall", "--cgroup", "x"], ["-t", "1", "true"], ["-t", "x"], ["-p", "1,-2"],
                     ["-t", "99999999999"], ["-g", "fp", "true"], ["-F", "1000000", "true"]):
            done = fathom("record", "-o", self.out, *args, status=2)
            self.assertTrue(done.stderr, args)
            self.assertFalse(self.out.exists(), args)

    def test_last_branch_records_work_or_are_refused_with_a_message(self):
        need_perf_events()
        done = fathom("record", "-o", self.out, "-glbr", "true", status=None)
        if done.returncode:
            self.assertEqual(done.returncode, 1)
            self.assertIn("last-branch", done.stderr)

    def test_without_a_graph_only_the_place_is_kept(self):
        need_perf_events()
        r = Recording(self.record(workload("split"), "20", options=["--call-graph", "none"]))
        user = [r.frames(s["stack"]) for s in r.samples]
        self.assertTrue(all(len(s) <= 1 for s in user))

    def test_a_pinned_recorder_still_sees_its_target(self):
        need_perf_events()
        need("taskset")
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("one CPU")
        run("taskset", "-c", cpus[0], FATHOM, "record", "-o", self.out, "--pin", cpus[1], "--",
            workload("split"), "20")
        r = Recording(self.out)
        r.need_samples(20)
        self.assertEqual({s["cpu"] for s in r.samples}, {cpus[1]})

    def test_the_command_keeps_no_descriptor_or_signal_mask_of_ours(self):
        script = "ls -l /proc/self/fd; grep -E 'SigBlk|SigIgn' /proc/self/status"
        plain = run("sh", "-c", script).stdout
        under = run(FATHOM, "record", "-q", "-o", self.out, "--", "sh", "-c", script).stdout
        self.assertEqual(len(plain.splitlines()), len(under.splitlines()))
        self.assertEqual(plain.splitlines()[-2:], under.splitlines()[-2:])

    def test_children_are_left_out_when_asked(self):
        command = ["sh", "-c", f"'{workload('split')}' 20; true"]
        r = Recording(self.record(*command, options=["--no-children"]))
        self.assertEqual(len(self.pids(r)), 1)
        r = Recording(self.record(*command))
        self.assertEqual(r.number("quality.records_lost"), 0)
        self.assertEqual(len(self.pids(r)), 2)

    @staticmethod
    def pids(r):
        """The processes of R.  One that was sampled before exec is two commands."""
        return {p["pid"] for p in r.table["process"].values()}

    def test_a_running_process_is_attached_to(self):
        need_perf_events()
        target = subprocess.Popen([workload("deep"), "100000000"], stdout=subprocess.DEVNULL)
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)

        p = self.start("-p", target.pid)
        self.until(lambda: p.poll() is not None or self.samples_on_disk() >= 50, "samples on disk")
        p.send_signal(signal.SIGINT)
        p.wait(SECONDS)
        r = Recording(self.out)
        self.assertGreater(r.share_with("f1"), 90)
        self.assertEqual([p["pid"] for p in r.table["process"].values()], [target.pid])

    def test_all_threads_of_a_running_process_are_seen(self):
        need_perf_events()
        target = subprocess.Popen([workload("threads"), "20", "100000000000"], stdout=subprocess.DEVNULL)
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        tasks = pathlib.Path(f"/proc/{target.pid}/task")
        self.until(lambda: len(list(tasks.iterdir())) == 21, "its threads")
        fathom("record", "-o", self.out, "-p", target.pid, "-d", "1")
        r = Recording(self.out)
        self.assertEqual(len(r.table["thread"]), 21)

    def test_a_process_that_ends_ends_the_recording(self):
        need_perf_events()
        target = subprocess.Popen(["sleep", "2"])
        self.addCleanup(target.wait)
        fathom("record", "-o", self.out, "-p", target.pid)
        self.assertIn("quality.samples", Recording(self.out).meta)

    def test_a_missing_process_is_refused(self):
        need_perf_events()
        done = fathom("record", "-o", self.out, "-p", "4194303", status=1)
        self.assertIn("4194303", done.stderr)

    def busy_threads(self, n):
        """Start a process whose N threads compute for ever, and return it with their ids."""
        target = subprocess.Popen([workload("threads"), str(n), "100000000000"], stdout=subprocess.DEVNULL)
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        tasks = pathlib.Path(f"/proc/{target.pid}/task")
        self.until(lambda: len(list(tasks.iterdir())) == n + 1, "its threads")
        return target, sorted({int(t.name) for t in tasks.iterdir()} - {target.pid})

    def record_until(self, n, *args):
        """Record until the file has N samples."""
        self.out.unlink(missing_ok=True)
        p = self.start(*args)
        self.until(lambda: p.poll() is not None or self.samples_on_disk() >= n, "samples on disk")
        p.send_signal(signal.SIGINT)
        p.wait(SECONDS)
        return Recording(self.out)

    @staticmethod
    def cpu_ns(*tids):
        """CPU time of threads.  The kernel updates it at least at each tick."""
        return sum(int(pathlib.Path(f"/proc/{t}/schedstat").read_text().split()[0]) for t in tids)

    def test_only_the_chosen_thread_is_recorded(self):
        need_perf_events()
        target, (one, other) = self.busy_threads(2)
        for more in ([], ["--wall"]):
            before = self.cpu_ns(one)
            r = self.record_until(100, *more, "-t", one, "--tid", f"{one},{one}")
            used = self.cpu_ns(one) - before
            self.assertEqual([t["tid"] for t in r.table["thread"].values()], [one])
            self.assertEqual([p["pid"] for p in r.table["process"].values()], [target.pid])
            self.assertEqual(r.meta["command"], f"thread {one} (threads)")
            # Twice as much if the thread were recorded twice, or the other one counted too.
            self.assertLess(r.number("quality.target_cpu_ns"), 1.1 * used + 20e6)
        r = self.record_until(100, "-t", one, "-t", other)
        self.assertEqual({t["tid"] for t in r.table["thread"].values()}, {one, other})

    def test_threads_and_processes_can_be_recorded_together(self):
        need_perf_events()
        _, (_, other) = self.busy_threads(2)
        whole, (third,) = self.busy_threads(1)
        before = self.cpu_ns(whole.pid, third, other)
        r = self.record_until(100, "-p", whole.pid, "-t", third, "-t", other)
        used = self.cpu_ns(whole.pid, third, other) - before
        self.assertEqual(sorted(t["tid"] for t in r.table["thread"].values()), sorted([whole.pid, third, other]))
        self.assertLess(r.number("quality.target_cpu_ns"), 1.1 * used + 60e6)

    def test_a_missing_thread_is_refused(self):
        need_perf_events()
        _, (one, _) = self.busy_threads(2)
        for given in (["4194303"], [one, "4194303"]):
            done = fathom("record", "-o", self.out, *[x for t in given for x in ("-t", t)], status=1)
            self.assertIn("no thread 4194303", done.stderr)
            self.assertFalse(self.out.exists())

    SCRIPT = """
import ctypes, sys, threading
go, loaded = threading.Event(), []
def spin():
    go.wait()
    loaded[0](ctypes.c_long(int(sys.argv[2])))
chosen = threading.Thread(target=spin)
chosen.start()
print(chosen.native_id, flush=True)
sys.stdin.readline()
threading.Thread(target=lambda: loaded.append(ctypes.CDLL(sys.argv[1]).plugin_a)).start()
while not loaded: pass
go.set()
sys.stdin.readline()
"""

    def python_thread(self, rounds):
        """A process with a thread that calls plugin_a of a library, which others load after a line of input."""
        target = subprocess.Popen([sys.executable, "-c", self.SCRIPT, workload("libdl-a.so"), str(rounds)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(target.communicate)
        self.addCleanup(target.kill)
        return target, int(target.stdout.readline())

    def test_the_end_of_the_chosen_thread_ends_the_recording(self):
        need_perf_events()
        for more in ([], ["--wall"]):
            target, tid = self.python_thread(10**7)
            p = self.start(*more, "-t", tid)
            self.until(lambda: p.poll() is not None or self.out.exists() and self.out.stat().st_size > 8,
                       "the recorder to run")
            target.stdin.write("\n")
            target.stdin.flush()
            self.assertEqual(p.wait(SECONDS), 0)
            self.assertIsNone(target.poll(), "the other threads live on")
            r = Recording(self.out)
            self.assertEqual([t["tid"] for t in r.table["thread"].values()], [tid])
            # Another thread, which is not recorded, has mapped the library.
            r.need_samples(20)
            self.assertGreater(r.share_with("plugin_a"), 50)
            self.out.unlink()

    def test_a_duration_ends_command_and_recording(self):
        fathom("record", "-o", self.out, "-d", "0.5", "--", workload("deep"), "100000000",
               status=128 + signal.SIGTERM)
        self.assertGreaterEqual(Recording(self.out).number("duration_ns"), 0.5e9)

    def test_a_duration_begins_after_the_delay(self):
        fathom("record", "-o", self.out, "--delay", "0.3", "-d", "0.2", "--", workload("deep"), "100000000",
               status=128 + signal.SIGTERM)
        self.assertGreaterEqual(Recording(self.out).number("duration_ns"), 0.5e9)

    def test_a_program_that_is_deleted_while_it_runs_keeps_its_names(self):
        gone = self.dir / "gone"
        shutil.copy(workload("split"), gone)
        runs = f"[ \"$(readlink /proc/$!/exe)\" = '{gone}' ]"
        r = Recording(self.record("sh", "-c", f"'{gone}' 400 & until {runs}; do sleep 0.05; done; rm '{gone}'; wait"))
        r.need_samples(100)
        self.assertGreater(r.share_with("spin"), 80)

    def test_a_delay_leaves_the_beginning_out(self):
        need_perf_events()
        r = Recording(self.record(workload("deep"), "30000", options=["--delay", "0.2"]))
        for s in r.samples:
            self.assertGreaterEqual(s["start_ns"], r.number("start_ns") + 0.2e9)

    def test_interrupting_finishes_the_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            p = self.start("--", workload("deep"), "100000000")
            self.child_of(p.pid)
            p.send_signal(number)
            self.assertEqual(p.wait(SECONDS), 128 + number)
            self.assertEqual(Recording(self.out).meta["exit_status"], str(128 + number))

    def full_pipe(self):
        """A pipe that nobody reads and that takes no byte."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        return reader, writer

    def start_on_pipe(self, pipe):
        p = self.start_session(FATHOM, "record", "-o", "-", "--", "sleep", "100000", stdout=pipe,
                               stderr=subprocess.PIPE, text=True)
        return p, self.child_of(p.pid)

    def has_ended(self, pid):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"

    def test_the_second_signal_ends_a_recorder_whose_output_nobody_reads(self):
        _, pipe = self.full_pipe()
        p, child = self.start_on_pipe(pipe)
        p.terminate()
        self.until(lambda: self.has_ended(child), "the first signal to reach the command")
        self.assertIsNone(p.poll())
        p.terminate()
        _, errors = p.communicate(timeout=SECONDS)
        self.assertEqual(p.returncode, 1, errors)
        self.assertIn("the reader of the pipe did not read", errors)

    def test_one_signal_leaves_a_complete_profile_to_a_slow_reader(self):
        reader, pipe = self.full_pipe()
        p, child = self.start_on_pipe(pipe)
        p.terminate()
        self.until(lambda: self.has_ended(child), "the first signal to reach the command")
        left = os.dup(reader)
        os.set_blocking(left, False)
        data = bytearray()
        while True:
            ended = p.poll() is not None
            try:
                data += os.read(left, 1 << 16)
            except BlockingIOError:
                if ended:
                    break
                time.sleep(0.01)
        os.close(left)
        self.out.write_bytes(bytes(data[data.index(b"FATHOM"):]))
        self.assertEqual(Recording(self.out).meta["exit_status"], str(128 + signal.SIGTERM))

    def samples_on_disk(self):
        """The number of samples in complete chunks of the file so far."""
        if not self.out.exists() or self.out.stat().st_size <= 8:
            return 0
        return len(fathom("dump", "--only", "sample", self.out).stdout.splitlines())

    def test_a_killed_recorder_leaves_a_readable_file(self):
        p = self.start("--", workload("split"), "100000000")
        self.child_of(p.pid)
        self.until(lambda: p.poll() is not None or self.samples_on_disk(), "samples on disk")
        self.assertIsNone(p.poll(), "the recorder ended by itself")
        p.kill()
        p.wait(SECONDS)
        self.end_session(p)
        # The last chunk may be incomplete.  Names are written last and are missing.
        shown = report(self.out)
        self.assertRegex(shown["damage"], "unfinished|truncated|missing")
        self.assertGreater(shown["samples"], 0)
        self.assertIn("split", shown["meta"]["command"])
        self.assertIn("damaged: " + shown["damage"], fathom("report", self.out).stdout)

    def test_a_recorder_killed_at_any_moment_leaves_a_harmless_file(self):
        """The moment is random.  The file must open, or be refused with a message."""
        for _ in range(rounds(3, 300)):
            p = self.start("-F", "9999", "--", workload("split"), "100000000")
            time.sleep(random.uniform(0, 1))
            self.end_session(p)
            if self.out.exists():
                done = fathom("report", self.out, status=None)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertTrue(done.stdout or done.stderr)

    def test_the_whole_machine_is_recorded(self):
        need_perf_events(system_wide=True)
        cpu = min(os.sched_getaffinity(0))
        other = subprocess.Popen([workload("split-fp"), "100000000"], stdout=subprocess.DEVNULL)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        os.sched_setaffinity(other.pid, [cpu])  # shares the CPU of the command
        fathom("record", "-o", self.out, "-a", "--pin", cpu, "--", workload("split"), "100")
        r = Recording(self.out)
        self.assertEqual(r.meta["command"], workload("split") + " 100, whole machine")
        spinning = {s["process"] for s in self.with_process(r) if "spin" in r.stack(s["stack"])}
        self.assertIn(other.pid, spinning)
        self.assertGreater(len(spinning), 1)

    def new_cgroup(self):
        """The folder of a new cgroup in the hierarchy that has the controller `perf_event`."""
        table = pathlib.Path("/proc/cgroups")  # name, hierarchy, cgroups, enabled
        rows = [line.split() for line in table.read_text().splitlines()] if table.exists() else []
        controller = next((row for row in rows if row[0] == "perf_event"), ["", "0", "", "1"])
        if controller[3] == "0":
            self.skipTest("the controller is disabled")
        for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
            _, at, kind, options, *_ = line.split(" ")
            path = pathlib.Path(at) / f"fathom-test-{os.getpid()}"
            if kind != "cgroup2" if controller[1] == "0" else kind != "cgroup" or "perf_event" not in options:
                continue
            try:
                path.mkdir()
            except OSError:
                continue
            self.addCleanup(path.rmdir)
            return path
        self.skipTest("no cgroup can be made")

    def test_only_the_processes_of_a_cgroup_are_recorded(self):
        need_perf_events(system_wide=True)
        path = self.new_cgroup()
        inside, outside = [subprocess.Popen([workload("split"), "100000000"], stdout=subprocess.DEVNULL)
                           for _ in range(2)]
        for p in (inside, outside):
            self.addCleanup(p.wait)
            self.addCleanup(p.kill)
        try:
            (path / "cgroup.procs").write_text(str(inside.pid))
        except OSError as e:
            self.skipTest(f"no process can join a cgroup: {e}")
        names = [path]
        if str(path.parent) in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/perf_event"):
            names.append(path.name)
        for name in names:
            r = self.record_until(50, "--cgroup", name)
            r.need_samples(50)
            self.assertEqual({s["process"] for s in self.with_process(r)}, {inside.pid})
            self.assertGreater(r.share_with("spin"), 50)
            self.assertEqual(r.meta["command"], f"cgroup {name}")

    def test_a_wrong_cgroup_is_refused(self):
        need_perf_events(system_wide=True)
        plain = self.dir / "plain"
        plain.touch()
        for path, why in ((self.dir, "not a cgroup"), (plain, "Not a directory"), ("no/such/group", "No such file")):
            done = fathom("record", "-o", self.out, "--cgroup", path, "-d", "0.1", status=None)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)
            self.assertIn(str(path), done.stderr)
            self.assertFalse(self.out.exists())

    def test_a_cgroup_of_another_hierarchy_is_refused(self):
        need_perf_events(system_wide=True)
        found = [line.split(" ")[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
                 if line.split(" ")[2] == "cgroup" and "perf_event" not in line]
        if not found:
            self.skipTest("no cgroups of version 1")
        done = fathom("record", "-o", self.out, "--cgroup", found[0], "-d", "0.1", status=1)
        self.assertIn("perf_event", done.stderr)

    @staticmethod
    def with_process(r):
        """The samples of R, each with the pid of its process."""
        thread, process = r.table["thread"], r.table["process"]
        return [{**s, "process": process[thread[s["thread"]]["process"]]["pid"]} for s in r.samples]

    def test_only_code_of_the_kernel_is_sampled_with_kernel(self):
        need_perf_events(kernel=True)
        fathom("record", "--kernel", "-o", self.out, "--",
               "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=40000")
        r = Recording(self.out)
        self.assertEqual(r.meta["rung"], "kernel")
        r.need_samples(20)
        leaves = [r.table["frame"][r.table["stack"][s["stack"]]["frame"]] for s in r.samples]
        self.assertEqual({f["kind"] for f in leaves}, {KERNEL})

    def test_only_code_of_the_program_is_sampled_with_user(self):
        need_perf_events()
        r = Recording(self.record("dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=40000",
                                  options=["--user"]))
        self.assertEqual(r.meta["rung"], "user")
        self.assertNotIn("rung_why", r.meta)
        self.assertNotIn(KERNEL, {f["kind"] for f in r.table["frame"].values()})

    def test_reading_commands_record_a_command_first(self):
        done = fathom("report", "--", workload("split"), "20")
        self.assertIn("spin", done.stdout)


class Unprivileged(NobodyCase):
    def setUp(self):
        super().setUp()
        self.copy(FATHOM, workload("split"))

    def record_as_nobody(self, *args, **more):
        return self.as_nobody("./fathom", "record", "-o", "u.fathom", *args, **more)

    def test_user_space_is_recorded_and_the_summary_shows_it(self):
        need_perf_events(nobody=True)
        self.record_as_nobody("--", "./split", "20")
        r = Recording(self.dir / "u.fathom")
        if perf_refusal(nobody=True, kernel=True):
            self.assertEqual(r.meta["rung"], "user")
            self.assertIn("paranoid", r.meta["rung_why"])
            self.assertIn("sysctl", r.meta["remedy"])
            self.assertFalse([f for f in r.table["frame"].values() if f["kind"] == KERNEL])
        else:
            self.assertEqual(r.meta["rung"], "kernel+user")
        r.need_samples(50)
        self.assertGreater(r.share_with("spin"), 90)

    def test_the_time_of_a_program_that_may_not_be_sampled_is_shown_as_such(self):
        need_perf_events(nobody=True)
        os.chmod(self.dir / "split", 0o711)  # the kernel ends its events, as those of setuid programs
        self.record_as_nobody("--", "./split", "20")
        r = Recording(self.dir / "u.fathom")
        used = r.number("quality.target_cpu_ns")
        self.assertGreater(sum(s["weight"] for s in r.of("cpu")), 0.95 * used)
        self.assertGreater(r.number("quality.unsampled_ns"), 0.5 * used)

    def test_a_refusal_says_what_to_do(self):
        for how, options in (({"system_wide": True}, ["-a", "-d", "0.2"]), ({"kernel": True}, ["--kernel", "true"])):
            if not perf_refusal(nobody=True, **how):
                self.skipTest("this machine lets ordinary users record everything")
            done = self.record_as_nobody(*options, status=1)
            self.assertRegex(done.stderr, "paranoid|container")


if __name__ == "__main__":
    unittest.main()
