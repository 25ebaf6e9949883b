"""Names of the variants that the dynamic linker chose, read from the recorded process."""
import os
import signal
import subprocess

from recording import Recording
from support import (AS_NOBODY, FATHOM, NOBODY, SECONDS, Case, NobodyCase, need_perf_events, run, workload)

# The function in the full library -> its name in the stripped one; None: by its start address.
WANT = {"work_two": "work [ifunc]", "step_two": "step [ifunc]", "work_one": None, "step_one": None, "victim": None}
ROUNDS = 1200  # over a second: a busy recorder may lose all samples of a shorter time


def addresses_of_functions():
    """{function of WANT: range of its code}."""
    lines = [line.split() for line in run("nm", "-S", workload("libifunc-full.so")).stdout.splitlines()]
    return {f[3]: range(int(f[0], 16), int(f[0], 16) + int(f[1], 16))
            for f in lines if len(f) == 4 and f[3] in WANT}


def names_of_functions(path, addresses):
    """{function of WANT: names of the leaves in it}."""
    r, found = Recording(path), {}
    for s in r.samples:
        frame = r.frames(s["stack"])[-1] if s["stack"] else 0
        leaf = r.table["frame"].get(frame, {"module": 0})
        module = r.table["module"].get(leaf["module"])
        if module and r.text(module["path"]).endswith("/libifunc.so"):
            for function, code in addresses.items():
                if leaf["address"] in code:
                    found.setdefault(function, set()).update(r.names(frame))
    return found


class Recorder:
    """Mixed into cases: record a program that does its work and then waits."""

    def popen(self, *command, **more):
        p = self.start_session(*command, stdout=subprocess.PIPE, **more)
        self.addCleanup(p.stdout.close)
        return p

    def until_recording(self):
        """The recorder writes a file as soon as it records."""
        self.until(self.out.exists, "the recorder to start")

    def stop(self, recorder, target):
        """End the recording after the work and before the program."""
        self.assertTrue(target.stdout.readline())
        recorder.send_signal(signal.SIGINT)
        recorder.wait(SECONDS)

    def record_and_stop(self, *command, **more):
        recorder = self.popen(*command, **more)
        self.stop(recorder, recorder)

    def check(self, path):
        addresses = addresses_of_functions()
        self.assertEqual(names_of_functions(path, addresses),
                         {f: {want or f"fn_{addresses[f].start:x} [libifunc.so]"} for f, want in WANT.items()})


class Ifunc(Recorder, Case):
    def setUp(self):
        super().setUp()
        self.out = self.dir / "p.fathom"

    def test_variants_of_a_command_are_named_and_nothing_else_is(self):
        self.record_and_stop(FATHOM, "record", "-o", self.out, "--", workload("ifunc"), ROUNDS)
        self.check(self.out)

    def test_variants_of_a_running_process_are_named(self):
        need_perf_events()
        target = self.popen(workload("ifunc"), ROUNDS, stdin=subprocess.PIPE)
        recorder = self.popen(FATHOM, "record", "-o", self.out, "-p", target.pid)
        self.until_recording()
        target.stdin.close()
        self.stop(recorder, target)
        self.check(self.out)


class IfuncOfNobody(Recorder, NobodyCase):
    def setUp(self):
        super().setUp()
        self.out = self.dir / "u.fathom"
        self.copy(FATHOM, workload("ifunc"), workload("libifunc.so"))

    def test_an_ordinary_user_gets_names_of_variants(self):
        need_perf_events(nobody=True)
        self.record_and_stop(*AS_NOBODY, self.dir / "fathom", "record", "-o", self.out, "--", self.dir / "ifunc", ROUNDS,
                             env=dict(os.environ, FATHOM_CACHE=str(self.dir / "nobody")))
        self.check(self.out)

    def test_root_names_the_variants_of_another_user(self):
        need_perf_events()
        self.record_and_stop(FATHOM, "record", "-o", self.out, "--", "setpriv", "--reuid", NOBODY, "--clear-groups",
                             self.dir / "ifunc", ROUNDS)
        self.check(self.out)
