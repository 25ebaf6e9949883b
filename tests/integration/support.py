"""Shared by the integration tests: the tool under test, its workloads, a directory per test."""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["FATHOM_SOURCE"])
BUILD = pathlib.Path(os.environ["FATHOM_BUILD"])
FATHOM = os.environ["FATHOM"]
WORKLOADS = pathlib.Path(os.environ["FATHOM_WORKLOADS"])
GOLDEN = SOURCE / "tests" / "golden"
# Long enough for a slow machine, so that a time-out always means a hang.
SECONDS = 300


def workload(name):
    """Path of a workload; skips the test if this machine could not build it."""
    path = WORKLOADS / name
    if not path.exists():
        raise unittest.SkipTest(f"workload {name} was not built here")
    return str(path)


def rounds(short, long):
    """The number of repetitions: SHORT in `make test`, LONG in `make soak`."""
    return long if os.environ.get("FATHOM_SOAK") else short


def repeated(long):
    """Run each test of a class LONG times in `make soak`; setUp runs once for all repetitions."""
    def wrap(test):
        @functools.wraps(test)
        def again(self):
            for _ in range(rounds(1, long)):
                test(self)
        return again

    def decorate(cls):
        for name, test in list(vars(cls).items()):
            if name.startswith("test_"):
                setattr(cls, name, wrap(test))
        return cls
    return decorate


def need(*tools):
    """Skip the test unless every tool is found."""
    for tool in tools:
        if not shutil.which(tool):
            raise unittest.SkipTest(f"no {tool}")


def run(*command, status=0, **more):
    """Run a command to its end and return its text output.  STATUS None accepts any exit status."""
    more.setdefault("stdin", subprocess.DEVNULL)
    if more.get("input") is not None:
        more.pop("stdin")
    more.setdefault("text", True)
    if more["text"]:
        more.setdefault("errors", "replace")
    done = subprocess.run([str(c) for c in command], capture_output=True, timeout=SECONDS,
                          check=False, **more)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, command))} exited with {done.returncode}, "
                             f"not {status}\n{done.stdout}\n{done.stderr}")
    return done


def fathom(*args, status=0, **more):
    return run(FATHOM, *args, status=status, **more)


def report(path, *args):
    """The output of `fathom report --json` as Python objects."""
    return json.loads(fathom("report", path, "--json", *args).stdout)


_can_record = None


def need_perf_events():
    """Skip the test if the kernel refuses every way of recording."""
    global _can_record
    if _can_record is None:
        with tempfile.TemporaryDirectory() as folder:
            done = fathom("record", "-o", folder + "/p", "--", "true", status=None)
            _can_record = (done.returncode == 0, done.stderr.strip().splitlines()[:1])
    if not _can_record[0]:
        raise unittest.SkipTest(f"cannot record here: {_can_record[1]}")


class Case(unittest.TestCase):
    """A test with its own directory, self.dir, which also contains the tool's cache."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="fathom-")
        self.addCleanup(self._folder.cleanup)
        self.dir = pathlib.Path(self._folder.name)
        os.environ["FATHOM_CACHE"] = str(self.dir / "cache")

    def record(self, *command, options=(), name="p.fathom", status=0):
        """Record COMMAND and return the file's path."""
        need_perf_events()
        path = self.dir / name
        fathom("record", "-o", path, *options, "--", *command, status=status)
        return path
