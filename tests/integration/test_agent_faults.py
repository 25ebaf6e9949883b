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
from support import FATHOM, SECONDS, Case, need_seccomp, rounds, run, workload


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
            self.assertGreater(r.share_with("confined_work"), 80)

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


if __name__ == "__main__":
    unittest.main()
