"""The agent is loaded into running processes, which do not notice."""
import ctypes
import math
import os
import pathlib
import platform
import random
import shutil
import signal
import subprocess
import time
import unittest

from recording import Recording
from support import (AS_NOBODY, FATHOM, NOBODY, SECONDS, Case, fathom, need, need_seccomp, refuse_perf_events, rounds,
                     run, workload)

# Newer C libraries do not have the number of a system call before the instruction.
REPEATS = platform.libc_ver()[0] == "glibc" and tuple(map(int, platform.libc_ver()[1].split("."))) < (2, 41)


@unittest.skipUnless(platform.machine() == "x86_64", "the agent is loaded into running processes only on x86-64")
class Running(Case):
    def start(self, *args, **more):
        more.setdefault("stdin", subprocess.PIPE)
        more.setdefault("stdout", subprocess.PIPE)
        return self.start_session(workload(args[0]), *map(str, args[1:]), text=True, **more)

    def end(self, p, line=None, status=0):
        """Let P end.  Returns its output."""
        out, _ = p.communicate(line, timeout=SECONDS)
        self.assertEqual(p.returncode, status, out)
        return out

    def status(self, pid, key):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return line.split(":")[1].strip()
        return ""

    def waits(self, p):
        """P has started and waits, with all its threads."""
        def found():
            calls = [t.joinpath("syscall").read_text().split()[0]
                     for t in pathlib.Path(f"/proc/{p.pid}/task").iterdir()]
            return "running" not in calls and self.runs(p) and calls
        self.until(found, "a program to wait")

    def runs(self, p):
        """P has executed its program, and used some CPU time in it."""
        return pathlib.Path(f"/proc/{p.pid}/comm").read_text().strip() in os.listdir(os.environ["FATHOM_WORKLOADS"])

    def works(self, p):
        self.until(lambda: self.runs(p) and self.cpu_ns(p.pid) > 20e6, "a program to work")

    def cpu_ns(self, pid):
        """CPU time of all threads."""
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:13])) * 10**9 // os.sysconf("SC_CLK_TCK")

    def attach(self, p, *options, name="p.fathom", status=0, **more):
        """Record the running program P to its end, or as OPTIONS say."""
        path = self.dir / name
        done = fathom("record", "--in-process", "-o", path, *options, "-p", p.pid, status=status, **more)
        return done.stderr if status else Recording(path)

    def attach_beside(self, p, *options):
        """Start recording P and return when its agent has joined and the recording has begun."""
        before = self.memory(p)
        (self.dir / "p.fathom").unlink(missing_ok=True)
        recorder = self.start_session(FATHOM, "record", "-q", "--in-process", "-o", self.dir / "p.fathom", *options,
                                      "-p", p.pid, stderr=subprocess.PIPE, text=True)
        self.until(lambda: self.memory(p) - before or recorder.poll() is not None, "the agent")
        file = self.dir / "p.fathom"
        self.until(lambda: recorder.poll() is not None or (file.exists() and file.stat().st_size > 0), "the recording")
        if recorder.poll() is not None:
            self.fail(recorder.stderr.read())
        return recorder

    def memory(self, p):
        """The memory that P shares with a recorder: inodes."""
        maps = pathlib.Path(f"/proc/{p.pid}/maps").read_text().splitlines()
        return {m.split()[4] for m in maps if "memfd:fathom-agent" in m}

    def finish(self, recorder):
        _, text = recorder.communicate(timeout=SECONDS)
        self.assertEqual(recorder.returncode, 0, text)
        return Recording(self.dir / "p.fathom")


class Truth(Running):
    def test_the_shares_of_a_running_program_hold(self):
        p = self.start("split", 1500)
        self.works(p)
        r = self.attach(p)
        self.end(p)
        r.need_samples(50)
        self.assertLess(abs(r.share_with("one") - 70), 2 + 4 * math.sqrt(70 * 30 / len(r.samples)))
        self.assertGreater(r.number("quality.complete"), 0.99 * r.number("quality.stacks"))
        self.assertEqual(r.meta["rung"], "in-process")

    def test_all_threads_are_sampled(self):
        p = self.start("entered", "threads", 600)
        self.works(p)
        recorder = self.attach_beside(p)
        self.assertEqual(self.end(p), "done\n")
        r = self.finish(recorder)
        r.need_samples(50)
        self.assertGreater(r.share_with("work_three"), r.share_with("work_one"))
        self.assertGreater(r.share_with("work_one"), 5)

    def test_cpu_time_before_the_recording_does_not_count(self):
        p = self.start("unnoticed", "work", 3000)
        self.until(lambda: self.runs(p) and self.cpu_ns(p.pid) > 1e9, "one second of CPU time")
        before = self.cpu_ns(p.pid)
        r = self.attach(p)
        self.end(p)
        used = 3e9 - before
        whole = sum(s["weight"] for s in r.of("cpu"))
        self.assertLess(whole, used + 50e6)
        self.assertGreater(whole, 0.5 * used)

    def test_a_thread_that_blocks_the_signals_is_not_sampled_and_said_to_be(self):
        p = self.start("entered", "blocked", 1500, 1000)
        self.works(p)
        r = self.attach(p)
        self.assertEqual(self.end(p), "blocked\n")
        self.assertEqual(r.number("quality.unanswered"), 1)
        self.assertGreater(r.number("quality.unsampled_ns"), 0.5e9)
        self.assertIn("note: 1 threads did not answer", fathom("report", self.dir / "p.fathom").stdout)

    def test_programs_that_it_executes_are_stopped(self):
        p = self.start_session("sh", "-c", f"read line; {workload('unnoticed')} work 500; echo done",
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.until(lambda: self.status(p.pid, "Name") == "sh" and self.status(p.pid, "State")[0] == "S", "the shell")
        recorder = self.attach_beside(p)
        self.assertEqual(self.end(p, "go\n"), "done\n")
        r = self.finish(recorder)
        self.assertGreater(r.share_with("work"), 50)
        self.assertGreater(r.number("quality.stops"), 0)

    def test_children_are_left_alone_if_asked(self):
        p = self.start("entered", "forks", 300)
        self.waits(p)
        recorder = self.attach_beside(p, "--no-children")
        self.assertEqual(self.end(p, "go\n"), "0\n")
        r = self.finish(recorder)
        self.assertEqual([s for s in r.samples if "work_in_child" in r.stack(s["stack"])], [])


class Unnoticed(Running):
    def test_waits_continue(self):
        for kind in ("read", "poll", "ppoll", "select", "epoll", "futex", "timed", "sigwait", "pause", "sleep"):
            with self.subTest(kind):
                p = self.start("entered", kind)
                self.waits(p)
                recorder = self.attach_beside(p)
                self.assertEqual(self.end(p, None if kind == "sleep" else "go\n"), "done\n")
                self.finish(recorder)

    def test_registers_flags_and_errno_are_as_before(self):
        p = self.start("entered", "registers", rounds(4000, 60000))
        self.works(p)
        for _ in range(rounds(8, 200)):
            self.attach(p, "-d", "0.05")
        self.assertEqual(self.end(p), "registers are the same\n")

    def test_no_call_is_interrupted_unnoticed(self):
        p = self.start("unnoticed", "calls", rounds(3000, 100000))
        self.until(lambda: self.runs(p), "a program")
        r = self.attach(p, "-F", "4999")
        failed = int(self.end(p, status=None).split()[-2])
        self.assertLessEqual(failed, r.number("quality.calls_interrupted"))
        if REPEATS:
            self.assertEqual((failed, r.number("quality.calls_interrupted")), (0, 0))

    def end(self, p, line=None, status=0):
        out, _ = p.communicate(line, timeout=SECONDS)
        if status is not None:
            self.assertEqual(p.returncode, status, out)
        return out

    def test_a_handler_of_the_program_stays(self):
        p = self.start("entered", "signals", 1500)
        self.works(p)
        r = self.attach(p)
        self.assertEqual(self.end(p), "as before\n")
        self.assertGreater(r.share_with("work"), 80)

    def test_a_signal_that_the_program_blocks_is_not_used(self):
        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
        p = self.start("entered", "read", preexec_fn=block)
        self.waits(p)
        recorder = self.attach_beside(p)
        self.until(lambda: int(self.status(p.pid, "SigCgt"), 16), "the handler")
        self.assertEqual(int(self.status(p.pid, "SigCgt"), 16), 1 << signal.SIGWINCH - 1)
        self.end(p, "go\n")
        self.finish(recorder)

    def test_the_handler_and_the_memory_are_gone_afterwards(self):
        p = self.start("entered", "read")
        self.waits(p)
        before = self.status(p.pid, "SigCgt")
        recorder = self.attach_beside(p)
        self.until(lambda: self.status(p.pid, "SigCgt") != before, "the handler")
        recorder.send_signal(signal.SIGINT)
        self.finish(recorder)
        self.assertEqual(self.status(p.pid, "SigCgt"), before)
        self.assertEqual(self.memory(p), set())
        self.end(p, "go\n")

    def test_a_second_and_a_third_recording_work(self):
        p = self.start("split", 100000)
        self.works(p)
        for i in range(3):
            r = self.attach(p, "-d", "0.5", name=f"{i}.fathom")
            r.need_samples(10)
            self.assertGreater(r.share_with("one"), 20)
        maps = pathlib.Path(f"/proc/{p.pid}/maps").read_text().splitlines()
        self.assertEqual(len([m for m in maps if "libfathom-agent" in m and " r-xp " in m]), 1)


class Killed(Running):
    def test_the_program_survives_recorders_that_are_killed_at_any_moment(self):
        p = self.start("entered", "registers", rounds(3000, 60000))
        self.works(p)
        for _ in range(rounds(15, 300)):
            recorder = self.start_session(FATHOM, "record", "-q", "--in-process", "-o", self.dir / "p.fathom", "-p",
                                          p.pid)
            time.sleep(random.uniform(0, 0.08))
            recorder.kill()
            recorder.wait(SECONDS)
        r = self.attach(p, "-d", "0.2")
        self.assertEqual(self.end(p), "registers are the same\n")
        self.assertEqual(r.meta["rung"], "in-process")

    def test_a_recording_follows_one_whose_recorder_was_killed(self):
        p = self.start("entered", "read")
        self.waits(p)
        recorder = self.attach_beside(p)
        recorder.kill()
        recorder.wait(SECONDS)
        second = self.attach_beside(p)
        self.assertEqual(self.end(p, "go\n"), "done\n")
        self.finish(second)

    def test_an_agent_that_was_preloaded_joins_another_recording(self):
        recorder = self.start_session(FATHOM, "record", "-q", "--in-process", "-o", self.dir / "a.fathom", "--",
                                      workload("split"), "100000")
        children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children")

        def command():
            return [int(c) for c in children.read_text().split()
                    if pathlib.Path(f"/proc/{c}/comm").read_text() == "split\n"]
        self.until(command, "the command")
        pid = command()[0]
        self.until(lambda: "memfd:fathom-agent" in pathlib.Path(f"/proc/{pid}/maps").read_text(), "the agent")
        recorder.kill()
        recorder.wait(SECONDS)
        path = self.dir / "p.fathom"
        fathom("record", "-q", "--in-process", "-d", "0.5", "-o", path, "-p", pid)
        self.assertGreater(Recording(path).share_with("one"), 20)


class Refused(Running):
    """Where the agent cannot be loaded, brief stops take the samples."""

    def check(self, p, sentence):
        r = self.attach(p, "-d", "0.5")
        self.assertEqual(r.meta["rung"], "stops")
        self.assertIn(f"process {p.pid} cannot be sampled from inside: {sentence}", r.meta["rung_why"])
        self.assertNotIn("libfathom-agent", pathlib.Path(f"/proc/{p.pid}/maps").read_text())

    def sleeper(self, **more):
        p = self.start("entered", "read", **more)
        self.waits(p)
        return p

    def test_a_static_program(self):
        p = self.start("split-static", 100000)
        self.works(p)
        self.check(p, "it is statically linked")

    def test_a_stopped_program(self):
        p = self.sleeper()
        os.kill(p.pid, signal.SIGSTOP)
        self.until(lambda: self.status(p.pid, "State")[0] == "T", "the stop")
        self.check(p, "it is stopped by a signal")

    def test_a_traced_program(self):
        p = self.sleeper()
        libc = ctypes.CDLL(None, use_errno=True)
        seize = 0x4206
        if libc.ptrace(seize, p.pid, 0, 0) != 0:
            self.skipTest(f"ptrace is refused here: {os.strerror(ctypes.get_errno())}")
        text = self.attach(p, "-d", "1", status=1)
        self.assertIn(f"process {p.pid} cannot be sampled from inside: process {os.getpid()} traces it", text)

    def test_a_program_with_its_own_filter_of_system_calls(self):
        need_seccomp()
        self.check(self.sleeper(preexec_fn=refuse_perf_events), "it has a filter of system calls (seccomp) of its own")

    def test_a_program_of_another_user(self):
        need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("only root can start one")
        os.chmod(self.dir, 0o755)
        shutil.copy(workload("entered"), self.dir)
        p = self.start_session(*AS_NOBODY, self.dir / "entered", "read", stdin=subprocess.PIPE)
        self.until(lambda: self.status(p.pid, "Uid").split()[0] == str(NOBODY), "the other user")
        self.check(p, "it belongs to another user: run fathom as that user")

    def test_a_program_in_another_mount_namespace(self):
        need("unshare")
        if run("unshare", "-m", "true", status=None).returncode:
            self.skipTest("mount namespaces are refused here")
        p = self.start_session("unshare", "-m", workload("entered"), "read", stdin=subprocess.PIPE)
        self.waits(p)
        self.check(p, "it runs in another container or root directory")

    def test_a_program_that_handles_both_signals(self):
        p = self.start_session("bash", "-c", "trap : URG WINCH; echo ready; while read line; do :; done",
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(p.stdout.readline(), "ready\n")
        r = self.attach(p, "-d", "0.5")
        self.assertEqual(r.meta["rung"], "stops")
        self.assertIn("it handles both SIGURG and SIGWINCH", r.meta["rung_why"])

    def test_a_program_whose_busy_threads_block_the_signals(self):
        p = self.start("entered", "blocked", 0, 60000)
        self.until(lambda: self.runs(p) and self.cpu_ns(p.pid) > 1e9, "a program to work")
        self.check(p, "the threads that use most of its CPU time block SIGURG and SIGWINCH")

    def test_a_program_that_another_recorder_samples(self):
        p = self.sleeper()
        recorder = self.attach_beside(p)
        os.environ["TMPDIR"] = str(self.dir)
        self.addCleanup(os.environ.pop, "TMPDIR")
        r = self.attach(p, "-d", "0.2", name="q.fathom")
        self.assertIn("another recorder samples it", r.meta["rung_why"])
        self.end(p, "go\n")
        self.finish(recorder)

    def test_a_program_is_left_if_another_one_cannot_be_sampled_at_all(self):
        p, other = self.sleeper(), self.sleeper()
        before = self.status(p.pid, "SigCgt")
        if ctypes.CDLL(None).ptrace(0x4206, other.pid, 0, 0) != 0:
            self.skipTest("ptrace is refused here")
        self.attach(p, "-p", other.pid, status=1)
        self.assertEqual(self.status(p.pid, "SigCgt"), before)
        self.assertEqual(self.memory(p), set())
        self.assertIn("libfathom-agent", pathlib.Path(f"/proc/{p.pid}/maps").read_text())

    def test_a_program_on_a_small_stack_of_its_own(self):
        p = self.start("entered", "coroutine", 60000)
        self.works(p)
        self.check(p, "no thread of it could be used: the last one has a stack that is small or not its own")


class Chosen(Running):
    def setUp(self):
        super().setUp()
        need_seccomp()

    def test_it_is_chosen_where_perf_events_are_refused(self):
        p = self.start("split", 100000)
        self.works(p)
        path = self.dir / "p.fathom"
        done = fathom("record", "-d", "0.5", "-o", path, "-p", p.pid, preexec_fn=refuse_perf_events)
        self.assertIn("no perf events: a seccomp filter refuses perf_event_open", done.stderr)
        self.assertGreater(Recording(path).share_with("one"), 20)

    def test_of_two_processes_one_is_entered_and_one_is_stopped(self):
        first, second = self.start("split", 100000), self.start("split-static", 100000)
        self.works(first)
        self.works(second)
        path = self.dir / "p.fathom"
        fathom("record", "-d", "1", "-o", path, "-p", first.pid, "-p", second.pid, preexec_fn=refuse_perf_events)
        r = Recording(path)
        self.assertEqual(r.meta["rung"], "in-process")
        self.assertGreater(r.number("quality.stops"), 0)
        self.assertIn("it is statically linked", r.meta["quality.without_agent"])
        pids = {r.table["process"][r.table["thread"][x["thread"]]["process"]]["pid"] for x in r.of("cpu") if x["stack"]}
        self.assertEqual(pids, {first.pid, second.pid})


if __name__ == "__main__":
    unittest.main()
