"""Samples by brief stops, of programs that the agent cannot sample: true, and the program does not notice."""
import functools
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import time
import unittest

import test_truth
from recording import Recording
from support import (FATHOM, SECONDS, Case, NobodyCase, fathom, need, need_seccomp, need_setuid, refuse_perf_events, rounds, run,
                     workload)

PTRACE = {"x86_64": 101, "aarch64": 117}[platform.machine()]
READV = {"x86_64": 310, "aarch64": 270}[platform.machine()]


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def own_filters():
    """Filters of system calls beyond those of a recorder: the agent is not loaded into such a program."""
    refuse_perf_events()
    refuse_perf_events()


class Halted(Case):
    def start_session(self, *command, **more):
        if command[0] != FATHOM and os.path.exists("/proc/sys/kernel/seccomp"):
            more["preexec_fn"] = own_filters
        return super().start_session(*command, **more)


class Stops(Halted):
    """Programs with a known profile."""

    near, near_share = test_truth.Truth.near, test_truth.Truth.near_share

    def setUp(self):
        super().setUp()
        if pathlib.Path("/proc/sys/kernel/yama/ptrace_scope").exists():
            scope = int(pathlib.Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
            if scope == 3 or (scope and os.geteuid()):
                self.skipTest(f"kernel.yama.ptrace_scope is {scope}")

    def record(self, *command, options=(), name="p.fathom", status=0):
        path = self.dir / name
        self.said = fathom("record", "--in-process", "-o", path, *options, "--", *command, status=status)
        return path

    def measure(self, name, *args, options=(), samples=20):
        r = Recording(self.record(workload(name), *args, options=options))
        r.need_samples(samples)
        self.assertEqual(r.meta["rung"], "stops")
        self.assertGreater(r.number("quality.stops"), 0)
        return r

    def attach(self, *command, options=()):
        """Record a running program until it ends."""
        p = self.start_session(*command, stdout=subprocess.PIPE)
        path = self.dir / "p.fathom"
        self.said = fathom("record", "-o", path, *options, "-p", str(p.pid), preexec_fn=refuse_perf_events)
        self.assertEqual(p.wait(SECONDS), 0)
        return Recording(path)

    def check_sum(self, r, said_ns):
        whole = sum(s["weight"] for s in r.of("cpu"))
        self.assertLess(abs(whole - said_ns), 0.03 * said_ns + 50e6,
                        f"{whole / 1e6:.1f} ms, not {said_ns / 1e6:.1f} ms")

    def test_the_shares_hold_in_a_static_program(self):
        r = self.measure("split-static", "480")
        self.near(r, "one", 70)
        self.near(r, "two", 30)
        why = "split-static cannot be sampled from inside: it is statically linked"
        self.assertIn(f"by brief stops: {why}", self.said.stderr)
        self.assertEqual(r.meta["rung_why"], why)
        self.assertIn(f"note: sampled by brief stops: {why}", fathom("report", self.dir / "p.fathom").stdout)
        self.assertGreater(r.number("quality.complete"), 0.95 * r.number("quality.stacks"))

    def test_the_shares_hold_with_a_sanitizer(self):
        r = self.measure("split-asan", "480")
        self.assertIn("it is built with a sanitizer", r.meta["rung_why"])
        self.near(r, "one", 70)

    def test_the_shares_hold_with_musl(self):
        program = workload("split-musl")
        if not os.path.getsize(program) or subprocess.run([program, "1"], check=False).returncode:
            self.skipTest("no musl")
        r = self.measure("split-musl", "480")
        self.assertIn("it uses another C library than glibc", r.meta["rung_why"])
        self.near(r, "one", 70)

    def test_a_program_of_another_word_size_runs_unharmed(self):
        program = self.dir / "small"
        program.write_bytes(small_program())
        program.chmod(0o755)
        try:
            plain = subprocess.run([program], check=False).returncode
        except OSError as e:
            self.skipTest(f"no 32-bit programs here: {e}")
        r = Recording(self.record(program, status=plain))
        self.assertIn("it is for another CPU or a 32-bit program", r.meta["rung_why"])
        self.assertGreater(len(r.samples), 0)

    def test_threads_are_all_followed(self):
        r = self.measure("threads-static", "20", "100000000")
        # while one waits for a CPU, no other is stopped
        self.assertGreater(r.share_with("work"), 50)
        self.assertGreater(r.share_with("work") + r.share_with("[not sampled]"), 95)
        self.assertEqual(len(r.table["process"]), 1)
        self.assertGreater(len({s["thread"] for s in r.samples}), 15)

    def test_started_programs_are_followed(self):
        work = f"{workload('unnoticed-static')} work 150"
        r = self.measure("unnoticed-static", "run", "/bin/sh", "-c", f"{work}; {work} & {work}; exec {work}")
        self.assertGreater(r.share_with("work"), 80)
        worked = {s["thread"] for s in r.samples if "work" in r.stack(s["stack"])}
        self.assertEqual(len({r.table["thread"][t]["process"] for t in worked}), 4)

    def test_libraries_that_come_and_go_at_one_address_are_kept_apart(self):
        r = self.attach(workload("dl"), "600")
        self.near(r, "plugin_a", 60)
        self.near(r, "plugin_b", 40)

    def test_the_stacks_of_a_running_program_are_complete(self):
        r = self.attach(workload("deep"), "60000")
        r.need_samples(20)
        self.assertEqual(r.meta["rung"], "stops")
        self.assertGreater(r.number("quality.complete"), 0.95 * r.number("quality.stacks"))
        chain = ("main", *(f"f{i}" for i in range(1, 31)), "leaf")
        leaves = [r.stack(s["stack"]) for s in r.samples if "leaf" in r.stack(s["stack"])]
        right = [s for s in leaves if s[s.index("main") if "main" in s else 0:][:32] == chain]
        self.assertGreater(len(right), 0.9 * len(leaves))

    def test_stacks_are_complete_if_process_vm_readv_is_refused_too(self):
        path = self.dir / "p.fathom"
        fathom("record", "-q", "--in-process", "-o", path, "--", workload("split-static"), "240",
               preexec_fn=functools.partial(refuse_perf_events, call=READV))
        r = Recording(path)
        r.need_samples(10)
        self.assertGreater(r.number("quality.complete"), 0.95 * r.number("quality.stacks"))

    def test_the_cpu_time_is_complete(self):
        # its threads share 500 ms, so that none has more than a few weights
        path = self.record(workload("unnoticed-static"), "work", "500")
        self.check_sum(Recording(path), 500e6)

    def test_the_time_before_the_recording_does_not_count(self):
        p = self.start_session(workload("unnoticed"), "work", "60000")
        self.until(lambda: self.cpu_ms(p.pid) > 700, "CPU time of the program")
        path = self.dir / "p.fathom"
        before = self.cpu_ms(p.pid)
        fathom("record", "-q", "--in-process", "-o", path, "-d", "0.5", "-p", str(p.pid))
        used = self.cpu_ms(p.pid) - before
        self.assertLess(sum(s["weight"] for s in Recording(path).samples), (used + 60) * 1e6)
        self.assertIsNone(p.poll())

    def cpu_ms(self, pid):
        return time.clock_gettime(~pid << 3 | 2) * 1e3

    def test_one_thread_is_recorded_alone(self):
        p = self.start_session(workload("threads"), "4", "3000000000")
        tasks = pathlib.Path(f"/proc/{p.pid}/task")
        self.until(lambda: len(list(tasks.iterdir())) == 5, "threads")
        tid = max(int(t.name) for t in tasks.iterdir())
        path = self.dir / "p.fathom"
        fathom("record", "-q", "-o", path, "-d", "1", "-t", str(tid), preexec_fn=refuse_perf_events)
        r = Recording(path)
        r.need_samples(3)
        self.assertEqual({r.table["thread"][s["thread"]]["tid"] for s in r.samples}, {tid})
        self.assertGreater(r.share_with("work"), 90)

    def test_a_higher_rate_is_capped(self):
        for hz, want in (("1999", "100"), ("20", "20")):
            r = self.measure("split-static", "60", options=("-F", hz), samples=1)
            self.assertEqual(r.meta["rate_asked"], want)

    def test_children_are_left_alone_on_request(self):
        command = ("sh", "-c", f"{workload('unnoticed-static')} work 200; exec {workload('unnoticed-static')} work 200")
        r = Recording(self.record(*command, options=("--no-children",)))
        self.assertEqual(len({p["pid"] for p in r.table["process"].values()}), 1)
        self.assertGreater(r.share_with("work"), 50)
        r = Recording(self.record(*command))
        self.assertEqual(len({p["pid"] for p in r.table["process"].values()}), 2)


def small_program():
    """A program for i386: count to 1.5 billion, then exit with status 7."""
    code = bytes.fromhex("b9002f6859" "4975fd" "bb07000000" "b801000000" "cd80")
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    words = (3 << 16 | 2, 1, 0x8048054, 52, 0, 0)
    head += b"".join(w.to_bytes(4, "little") for w in words)
    head += b"".join(w.to_bytes(2, "little") for w in (52, 32, 1, 40, 0, 0))
    segment = (1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096)
    return head + b"".join(w.to_bytes(4, "little") for w in segment) + code


class Unharmed(Halted):
    """The program runs as without the recorder."""

    def setUp(self):
        super().setUp()
        self.path = self.dir / "p.fathom"

    def start_recorder(self, pid, *options):
        p = self.start_session(FATHOM, "record", "-q", "--in-process", "-o", self.path, *options, "-p", str(pid))
        self.until(lambda: self.has_samples(p), "samples")
        return p

    def has_samples(self, recorder):
        if recorder.poll() is not None:
            self.skipTest("ptrace is refused here")
        done = subprocess.run([FATHOM, "report", "--json", self.path], capture_output=True, text=True, check=False)
        return done.returncode == 0 and json.loads(done.stdout)["samples"] > 0

    def compare(self, *args):
        command = [workload("unnoticed-static"), *args]
        plain = subprocess.run(command, capture_output=True, text=True, check=False)
        done = run(FATHOM, "record", "-q", "--in-process", "-o", self.path, "--", *command, status=plain.returncode)
        self.assertEqual(done.stdout, plain.stdout)
        self.assertEqual(done.stderr, plain.stderr)
        return Recording(self.path)

    def test_environment_signals_and_files_are_as_before(self):
        self.compare("state")

    def test_no_system_call_is_interrupted(self):
        r = self.compare("calls", str(rounds(300, 100000)))
        self.assertEqual(r.number("quality.calls_interrupted"), 0)

    def test_the_signals_of_the_program_arrive_and_no_others(self):
        self.compare("handler")
        self.compare("signalfd")

    def test_all_signals_arrive(self):
        p = self.start_session(workload("signals"), stdout=subprocess.PIPE, text=True)
        self.assertEqual(p.stdout.readline(), "ready\n")
        recorder = self.start_recorder(p.pid)
        n = rounds(2000, 100000)
        for _ in range(n):
            os.kill(p.pid, signal.SIGRTMIN)
            time.sleep(0.0002)
        os.kill(p.pid, signal.SIGTERM)
        self.assertEqual(p.stdout.read(), f"{n}\n")
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.assertGreater(Recording(self.path).share_with("work"), 50)

    def test_a_stopped_program_stays_stopped(self):
        p = self.start_session(workload("signals"), stdout=subprocess.PIPE, text=True)
        self.assertEqual(p.stdout.readline(), "ready\n")
        recorder = self.start_recorder(p.pid)
        for _ in range(rounds(20, 1000)):
            os.kill(p.pid, signal.SIGSTOP)
            self.until(lambda: state_of(p.pid) == "T", "the stop")
            for _ in range(30):
                time.sleep(0.001)
                self.assertEqual(state_of(p.pid), "T")
            os.kill(p.pid, signal.SIGCONT)
            self.until(lambda: state_of(p.pid) in "Rt", "the program to go on")
        os.kill(p.pid, signal.SIGTERM)
        self.assertEqual(p.stdout.read(), "0\n")
        self.assertEqual(recorder.wait(SECONDS), 0)

    def test_a_killed_recorder_leaves_the_program_running(self):
        p = self.start_session(workload("signals"), stdout=subprocess.PIPE, text=True)
        self.assertEqual(p.stdout.readline(), "ready\n")
        n = rounds(10, 100)
        for _ in range(n):
            recorder = self.start_recorder(p.pid)
            recorder.kill()
            recorder.wait()
            self.path.unlink()
            os.kill(p.pid, signal.SIGRTMIN)
        os.kill(p.pid, signal.SIGTERM)
        self.assertEqual(p.stdout.read(), f"{n}\n")
        self.assertEqual(p.wait(SECONDS), 0)

    def test_a_killed_program_leaves_its_samples(self):
        p = self.start_session(workload("unnoticed"), "work", "60000")
        recorder = self.start_recorder(p.pid)
        p.kill()
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.assertGreater(Recording(self.path).share_with("work"), 50)
        self.path.unlink()
        recorder = self.start_session(FATHOM, "record", "-q", "--in-process", "-o", self.path, "--",
                                      workload("unnoticed-static"), "work", "60000")
        self.until(lambda: self.has_samples(recorder), "samples")
        for child in pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split():
            if pathlib.Path(f"/proc/{child}/comm").read_text().startswith("unnoticed"):
                os.kill(int(child), signal.SIGKILL)
        self.assertEqual(recorder.wait(SECONDS), 137)
        self.assertGreater(Recording(self.path).share_with("work"), 50)

    def test_a_recording_ends_with_its_duration_or_a_signal(self):
        p = self.start_session(workload("unnoticed"), "work", "60000")
        fathom("record", "-q", "--in-process", "-o", self.path, "-d", "0.3", "--delay", "0.1", "-p", str(p.pid))
        recorder = self.start_recorder(p.pid)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(SECONDS), 0)
        self.assertIsNone(p.poll())
        fathom("record", "-q", "--in-process", "-o", self.path, "-d", "0.3", "--", workload("unnoticed-static"), "work",
               "60000", status=143)

    def test_a_program_under_strace_is_not_touched(self):
        need("strace")
        trace = self.dir / "trace"
        p = self.start_session("strace", "-f", "-o", trace, workload("unnoticed-static"), "work", "60000")
        children = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children")
        self.until(lambda: trace.exists() and trace.stat().st_size > 500, "strace")
        child = children.read_text().split()[0]
        done = fathom("record", "--in-process", "-o", self.path, "-p", child, status=1)
        self.assertIn("it is traced by strace", done.stderr)
        done = fathom("record", "--in-process", "-o", self.path, "--", "strace", "-o", trace,
                      workload("unnoticed-static"), "work", "300")
        self.assertIn("not sampled: it is traced by strace", done.stderr)
        self.assertIn("not sampled: it is traced by strace", Recording(self.path).meta["quality.without_agent"])
        self.assertNotIn("PTRACE", trace.read_text())


class Beside(Case):
    """Programs without the agent below a program that has it."""

    def record(self, script, *options):
        path = self.dir / "p.fathom"
        self.said = fathom("record", "--in-process", "-o", path, *options, "--", "sh", "-c", script)
        return Recording(path)

    def test_a_static_program_has_its_share(self):
        r = self.record(f"{workload('unnoticed-static')} work 400; {workload('unnoticed')} work 400")
        self.assertEqual(r.meta["rung"], "in-process")
        ns = {}
        for s in r.samples:
            name = r.text(r.table["process"][r.table["thread"][s["thread"]]["process"]]["name"])
            ns[name] = ns.get(name, 0) + s["weight"]
        share = 100 * ns["unnoticed-stati"] / (ns["unnoticed-stati"] + ns["unnoticed"])
        self.assertLess(abs(share - 50), 8, ns)
        words = "CPU time, it is statically linked"
        self.assertIn("without the agent: unnoticed-stati: ", self.said.stderr)
        self.assertIn(words, self.said.stderr)
        self.assertIn(words, r.meta["quality.without_agent"])
        self.assertIn("note: ran without the agent: unnoticed-stati: ",
                      fathom("report", self.dir / "p.fathom").stdout)

    def test_a_program_that_a_static_one_starts_is_sampled_too(self):
        r = self.record(f"{workload('unnoticed-static')} run {workload('unnoticed')} work 400")
        self.assertGreater(r.share_with("work"), 50)
        self.assertIn("it was started without the agent", r.meta["quality.without_agent"])

    def test_a_shell_that_executes_a_static_program_is_followed(self):
        r = self.record(f"exec {workload('unnoticed-static')} work 400")
        self.assertGreater(r.share_with("work"), 80)
        self.assertIn("it is statically linked", r.meta["quality.without_agent"])

    def test_an_empty_environment_does_not_remove_the_agent(self):
        r = self.record(f"env -i {workload('unnoticed')} work 200")
        self.assertNotIn("quality.without_agent", r.meta)
        self.assertGreater(r.share_with("work"), 80)


class Refused(Case):
    """Where ptrace is refused, fathom says so and what to do."""

    def setUp(self):
        super().setUp()
        need_seccomp()
        self.path = self.dir / "p.fathom"

    def test_a_filter_that_refuses_ptrace_is_named(self):
        refuse = functools.partial(refuse_perf_events, call=PTRACE)
        p = self.start_session("sleep", "1000")
        for target in (["-p", str(p.pid)], ["--", workload("split-static")]):
            done = fathom("record", "--in-process", "-o", self.path, *target, status=1, preexec_fn=refuse)
            self.assertIn("a seccomp filter refuses ptrace", done.stderr)
            self.assertIn("--cap-add SYS_PTRACE", done.stderr)
            self.assertFalse(self.path.exists())

    def test_programs_without_the_agent_are_listed_if_they_cannot_be_stopped(self):
        script = f"{workload('unnoticed-static')} work 300; {workload('unnoticed')} work 300"
        done = fathom("record", "--in-process", "-o", self.path, "--", "sh", "-c", script,
                      preexec_fn=functools.partial(refuse_perf_events, call=PTRACE))
        self.assertIn("not sampled: a seccomp filter refuses ptrace", done.stderr)
        r = Recording(self.path)
        share = r.share_with("[not sampled]")
        self.assertLess(abs(share - 50), 8)

    def test_a_process_that_has_ended_is_missing(self):
        done = fathom("record", "--in-process", "-o", self.path, "-p", "4194300", status=1)
        self.assertIn("process 4194300", done.stderr)


class Others(NobodyCase):
    def test_processes_of_other_users_are_refused_with_the_reason(self):
        self.copy(FATHOM)
        p = self.start_session("sleep", "1000")
        done = self.as_nobody("./fathom", "record", "--in-process", "-o", "p.fathom", "-p", str(p.pid), status=1)
        self.assertIn("it belongs to another user", done.stderr)
        self.assertIn("run fathom as that user, or as root", done.stderr)

    def test_a_program_with_the_rights_of_another_user_is_listed(self):
        need_setuid()
        if os.statvfs(self.dir).f_flag & os.ST_NOSUID:
            self.skipTest("setuid programs get no rights in the temporary folder")
        self.copy(FATHOM, workload("unnoticed-static"))
        shutil.copy(workload("unnoticed-static"), self.dir / "elevated")
        os.chmod(self.dir / "elevated", 0o4755)
        done = self.as_nobody("./fathom", "record", "--in-process", "-o", "p.fathom", "--", "./unnoticed-static", "run",
                              "./elevated", "work", "300")
        self.assertRegex(done.stderr, "without the agent: elevated: .* not sampled: it has more rights than its user")
        r = Recording(self.dir / "p.fathom")
        self.assertGreater(r.share_with("[not sampled]"), 80)


if __name__ == "__main__":
    unittest.main()
