"""Names of the variants that the dynamic linker chose, read from the recorded process."""
import os
import signal
import subprocess

from recording import Recording
from support import (AS_NOBODY, FATHOM, NOBODY, SECONDS, Case, NobodyCase, need_perf_events, run, workload)

# The function in the full library -> its name in the stripped one; None: by its start address.
WANT = {"work_two": "work [ifunc]", "step_two": "step [ifunc]", "work_one": None, "step_one": None, "victim": None}
ROUNDS = 300


def starts_of_functions():
    lines = [line.split() for line in run("nm", workload("libifunc-full.so")).stdout.splitlines()]
    return {f[2]: int(f[0], 16) for f in lines if len(f) == 3 and f[2] in WANT}


def names_of_functions(path, starts):
    """{function of WANT: names of the leaves in it}."""
    r, found = Recording(path), {}
    for s in r.samples:
        frame = r.frames(s["stack"])[-1] if s["stack"] else 0
        leaf = r.table["frame"].get(frame, {"module": 0})
        module = r.table["module"].get(leaf["module"])
        if module and r.text(module["path"]).endswith("/libifunc.so"):
            inside = [f for f, at in starts.items() if at <= leaf["address"]]
            found.setdefault(max(inside, key=starts.get), set()).update(r.names(frame))
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
        starts = starts_of_functions()
        self.assertEqual(names_of_functions(path, starts),
                         {f: {want or f"fn_{starts[f]:x} [libifunc.so]"} for f, want in WANT.items()})


class Ifunc(Recorder, Case):
    def setUp(self):
        super().setUp()
        need_perf_events()
        self.out = self.dir / "p.fathom"

    def test_variants_of_a_command_are_named_and_nothing_else_is(self):
        self.record_and_stop(FATHOM, "record", "-o", self.out, "--", workload("ifunc"), ROUNDS)
        self.check(self.out)

    def test_variants_of_a_running_process_are_named(self):
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
