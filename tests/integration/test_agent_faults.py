"""What might disturb a program that is sampled from inside: its output and status stay the same.

Each workload prints what it sees; the same command runs with and without a recorder.
"""
import os
import pathlib
import signal
import subprocess
import time
import unittest

from recording import Recording
from support import FATHOM, SECONDS, Case, need, need_seccomp, rounds, run, workload


class Compared(Case):
    """A command with and without a recorder."""

    def compare(self, *command, recorded=None, **more):
        """Run COMMAND both ways and return the recording.  RECORDED replaces it in the second run."""
        plain = run(*command, status=None, **more)
        path = self.dir / "p.fathom"
        done = run(FATHOM, "record", "-q", "--in-process", "-o", path, "--", *(recorded or command),
                   status=None, **more)
        # A shell, and record, report a signal as 128 and its number.
        status = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
        self.assertEqual((done.stdout, done.stderr, done.returncode), (plain.stdout, plain.stderr, status))
        return Recording(path)


class Confined(Compared):
    """Programs that install filters of system calls."""

    def setUp(self):
        super().setUp()
        need_seccomp()

    def sandbox(self, kind, how, samples=0):
        r = self.compare(workload("sandbox"), kind, how, str(rounds(60, 2000)))
        if samples:
            r.need_samples(samples)
            self.assertGreater(r.share_with("confined_work"), 0)

    def test_a_filter_that_forbids_handlers_ends_the_sampling_not_the_program(self):
        for how in ("prctl", "syscall", "threads"):
            self.sandbox("few", how)

    def test_a_filter_that_forbids_what_a_handler_calls_is_obeyed(self):
        for how in ("prctl", "syscall", "threads"):
            self.sandbox("handlers", how, samples=20)

    def test_the_strict_mode_is_obeyed(self):
        for how in ("prctl", "syscall"):
            self.sandbox("strict", how, samples=20)

    def test_a_filter_against_samplers_is_obeyed(self):
        for how in ("prctl", "syscall", "threads"):
            self.sandbox("most", how, samples=20)

    def test_what_a_confined_program_starts_is_left_alone(self):
        for how in ("prctl", "syscall"):
            self.sandbox("execs", how)


class Interrupted(Compared):
    """Programs for which EINTR, or a part of a transfer, is fatal."""

    def test_no_call_fails_because_of_our_signal(self):
        # 20 calls a round: 10 million in the long form
        for name in ("eintr", "eintr-fortified"):
            r = self.compare(workload(name), "calls", str(rounds(300, 500000)))
            self.assertEqual(r.number("quality.calls_interrupted"), 0)

    def test_transfers_are_complete(self):
        for name in ("eintr", "eintr-fortified"):
            self.compare(workload(name), "partial", str(rounds(10, 5000)))

    def test_signals_of_the_program_end_its_waits(self):
        self.compare(workload("eintr"), "own", str(rounds(5, 2000)))


class Stacks(Compared):
    """Threads on small stacks, and alternate stacks."""

    def test_programs_see_the_alternate_stacks_that_they_set(self):
        self.compare(workload("stacks"), "view")

    def test_an_alternate_stack_that_is_too_small_for_a_handler_is_harmless(self):
        r = self.compare(workload("stacks"), "alternate", str(rounds(60, 5000)))
        self.assertGreater(r.share_with("stack_work"), 50)

    def test_threads_may_use_all_of_the_smallest_stacks(self):
        self.compare(workload("stacks"), "threads", str(rounds(30, 10000)))

    def test_coroutines_may_have_tiny_stacks(self):
        r = self.compare(workload("stacks"), "contexts", str(rounds(500, 100000)))
        self.assertGreater(r.share_with("run_coroutine"), 50)

    def test_a_stack_overflow_ends_as_without_us(self):
        self.compare(workload("stacks"), "overflow")
        self.compare(workload("stacks"), "overflows")


class Signals(Compared):
    """The program's own use of signals."""

    def test_a_signal_that_both_use_reaches_the_program_once(self):
        for how in ("restart", "plain", "nothing"):
            self.compare(workload("ownsignals"), "shared", how)

    def test_functions_that_set_handlers_answer_as_before(self):
        self.compare(workload("ownsignals"), "functions")

    def test_no_signal_to_a_thread_merges_with_ours(self):
        self.compare(workload("ownsignals"), "threads", str(rounds(500, 200000)))

    def test_ignored_signals_are_inherited_in_each_way(self):
        self.compare(workload("ownsignals"), "ignored")

    def test_handlers_may_be_left_by_a_jump(self):
        self.compare(workload("ownsignals"), "jumps", str(rounds(100, 20000)))

    def test_a_stopped_program_continues(self):
        self.compare(workload("ownsignals"), "stop")


class Starts(Compared):
    """How programs, processes and threads start and end."""

    def starts(self, *args):
        return self.compare(workload("starts"), *map(str, args))

    def test_exec_storms_end_no_program(self):
        r = self.starts("execs", rounds(40, 5000))
        self.assertGreater(r.share_with("start_work"), 10)

    def test_programs_see_what_they_saw_however_they_are_started(self):
        self.starts("ways")

    def test_forks_of_programs_with_threads_succeed(self):
        self.starts("forks", rounds(60, 20000))

    def test_ten_thousand_short_threads_run(self):
        self.starts("threads", rounds(10000, 1000000))

    def test_threads_can_be_cancelled_in_our_hooks(self):
        self.starts("cancel", rounds(25, 5000))

    def test_libraries_come_and_go(self):
        self.starts("libraries", rounds(100, 50000))

    def test_closed_files_limits_and_other_roots_disturb_nothing(self):
        self.starts("surroundings")

    def test_each_way_to_end_stays_the_same(self):
        for how in ("exit", "_exit", "quick_exit", "abort", "thread", "main", 9, 11, 15):
            self.starts("ends", how)


class Hostile(Case):
    """Programs that write what they want into the memory that they share with the recorder."""

    MOST_KB = 400000

    def scribble(self, kind, seed):
        """Record it and return the recording, and the seconds it took."""
        path, start = self.dir / "p.fathom", time.monotonic()
        recorder = subprocess.Popen([FATHOM, "record", "-q", "--in-process", "-o", path, "--", workload("scribble"),
                                     str(rounds(400, 10000)), str(seed), kind], stdout=subprocess.PIPE)
        said = recorder.stdout.read()
        recorder.stdout.close()
        status, used = os.wait4(recorder.pid, 0)[1:]
        recorder.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual((said, recorder.returncode), (b"shared\n", 0))
        self.assertLess(used.ru_maxrss, self.MOST_KB)
        return Recording(path), time.monotonic() - start

    def test_random_words_harm_no_recorder(self):
        for seed in range(rounds(1, 30)):
            for kind in ("all", "tables"):
                self.scribble(kind, seed)

    def test_processes_that_never_were_fill_no_memory(self):
        self.scribble("processes", 1)

    def test_a_program_adds_no_samples_that_were_not_asked_for(self):
        r, seconds = self.scribble("samples", 1)
        # At most one at each wake-up, of each of two threads, and they come a quarter period early.
        self.assertLess(len(r.of("cpu")), 4 * 999 * seconds + 100)


class Killed(Compared):
    """Recorder and program end at any moment."""

    def start(self, *command):
        path = self.dir / "k.fathom"
        path.unlink(missing_ok=True)
        return path, self.start_session(FATHOM, "record", "-q", "--in-process", "-o", path, "--", *command)

    def test_a_recorder_may_be_killed_at_any_moment(self):
        out = self.dir / "out"
        for i in range(rounds(4, 100)):
            out.write_text("")
            recorder = self.start("sh", "-c", f"{workload('eintr')} calls 60 >>{out} 2>&1; "
                                  f"{workload('starts')} forks 8 >>{out} 2>&1; echo end $? >>{out}")[1]
            time.sleep(i % 25 * 0.013)
            recorder.kill()
            recorder.wait(SECONDS)
            self.until(lambda: not self.has_processes(recorder.pid), "the program")
            # Empty: the recorder was killed before it started the command.
            self.assertIn(out.read_text(), ("", "60 rounds\n8 processes, 0 failed\nend 0\n"))

    def has_processes(self, session):
        for p in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(p.read_text().rpartition(")")[2].split()[3]) == session:
                    return True
            except (OSError, IndexError):
                pass
        return False

    def test_a_program_may_be_killed_at_any_moment(self):
        for i in range(rounds(4, 100)):
            seen = self.dir / "pid"
            seen.unlink(missing_ok=True)
            path, recorder = self.start("sh", "-c", f"echo $$ >{seen}.new; mv {seen}.new {seen}; "
                                        f"exec {workload('starts')} work 60000")
            self.until(seen.exists, "the program")
            time.sleep(i % 25 * 0.013)
            os.kill(int(seen.read_text()), signal.SIGKILL)
            self.assertEqual(recorder.wait(SECONDS), 137)
            self.assertEqual(Recording(path).meta["rung"], "in-process")

    def test_a_program_under_strace_is_left_alone(self):
        need("strace")
        command = ["strace", "-f", "-qq", "-o", "/dev/null", workload("eintr"), "own", "2"]
        if run(*command, status=None).returncode:
            self.skipTest("strace is refused here")
        r = self.compare(*command)
        self.assertEqual(r.share_with("on_alarm"), 0)


if __name__ == "__main__":
    unittest.main()
