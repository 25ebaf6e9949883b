"""Shared by the integration tests: the tool under test, its workloads, a directory per test."""
import ctypes
import errno
import functools
import json
import os
import pathlib
import platform
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["FATHOM_SOURCE"])
BUILD = pathlib.Path(os.environ["FATHOM_BUILD"])
FATHOM = os.environ["FATHOM"]
WORKLOADS = pathlib.Path(os.environ["FATHOM_WORKLOADS"])
GOLDEN = SOURCE / "tests" / "golden"
# Long enough for a slow machine, so that a time-out always means a hang.
SECONDS = 300


def built(path):
    """PATH, which the build makes: a missing file is a failure."""
    if not path.exists():
        raise AssertionError(f"{path} was not built")
    return path


def workload(name):
    return str(built(WORKLOADS / name))


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


NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
             "--inh-caps=-all", "--bounding-set=-all"]
REFUSED = {errno.EACCES, errno.EPERM, errno.ENOSYS}
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[platform.machine()]


def perf_event_errno(kernel, system_wide):
    """The errno of perf_event_open for a disabled cpu-clock event, 0 if the kernel permits it."""
    # type, size, config, sample_period, sample_type, read_format, flags; the rest is 0
    disabled, exclude_kernel, exclude_hv = 1 << 0, 1 << 5, 1 << 6
    attr = struct.pack("=IIQQQQQ", 1, 64, 0, 1000000, 1, 0,
                       disabled | (0 if kernel else exclude_kernel | exclude_hv)).ljust(64, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    pid, cpu = (-1, 0) if system_wide else (0, -1)
    fd = libc.syscall(ctypes.c_long(PERF_EVENT_OPEN), attr, pid, cpu, -1, ctypes.c_ulong(0))
    if fd < 0:
        return ctypes.get_errno()
    os.close(fd)
    return 0


def refuse_perf_events(number=errno.EPERM, call=PERF_EVENT_OPEN):
    """Install a seccomp filter that answers a system call with the error NUMBER, as containers do.

    For run(..., preexec_fn=refuse_perf_events): it stays with the process and its children.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # load the number of the system call; if it is CALL, return the error, else allow
    code = struct.pack("=" + "HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, call,
                       0x06, 0, 0, 0x00050000 | number, 0x06, 0, 0, 0x7fff0000)
    text = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", 4, ctypes.addressof(text))
    no_new_privs, set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privs, 1, 0, 0, 0) or libc.prctl(set_seccomp, filter_mode, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


def need_seccomp():
    """Skip the test if this kernel has no seccomp filters."""
    if not os.path.exists("/proc/sys/kernel/seccomp"):
        raise unittest.SkipTest("the kernel has no seccomp filters")


@functools.cache
def perf_refusal(kernel=False, system_wide=False, nobody=False):
    """The text of the error with which the kernel refuses perf events, "" if it does not.

    Asks the kernel, not the tool: a recorder that fails where events are permitted is broken.
    """
    child = os.fork()
    if child == 0:
        number = 255
        try:
            if nobody:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            number = perf_event_errno(kernel, system_wide)
        finally:
            os._exit(number)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return os.strerror(number) if number in REFUSED else ""


def need_perf_events(**how):
    """Skip the test if the kernel refuses these events; see perf_refusal."""
    why = perf_refusal(**how)
    if why:
        raise unittest.SkipTest(f"the kernel refuses perf events: {why}")


def need_setuid():
    """Skip the test if setuid programs get no rights here, as in containers."""
    if "NoNewPrivs:\t1" in pathlib.Path("/proc/self/status").read_text():
        raise unittest.SkipTest("setuid programs get no rights here (no_new_privs)")


class Case(unittest.TestCase):
    """A test with its own directory, self.dir, which also contains the tool's cache."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="fathom-")
        self.addCleanup(self._folder.cleanup)
        self.dir = pathlib.Path(self._folder.name)
        os.environ["FATHOM_CACHE"] = str(self.dir / "cache")

    def record(self, *command, options=(), name="p.fathom", status=0):
        """Record COMMAND, from inside where perf events are refused, and return the file's path."""
        path = self.dir / name
        fathom("record", "-o", path, *options, "--", *command, status=status)
        return path

    def start_session(self, *command, **more):
        """Start a program in its own session, so that none of its processes outlives the test."""
        for stream in ("stdin", "stdout", "stderr"):
            more.setdefault(stream, subprocess.DEVNULL)
        p = subprocess.Popen([str(c) for c in command], start_new_session=True, **more)
        self.addCleanup(self.end_session, p)
        return p

    def end_session(self, p):
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait(SECONDS)

    def until(self, true, what):
        for _ in range(SECONDS * 100):
            if true():
                return
            time.sleep(0.01)
        self.fail(f"waited too long for {what}")


class NobodyCase(Case):
    """A test that runs copies of programs as `nobody` without capabilities, like an ordinary user."""

    def setUp(self):
        super().setUp()
        need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("not root: the other tests cover this")
        os.chmod(self.dir, 0o777)
        done = run(*AS_NOBODY, "test", "-x", self.dir, status=None)
        if done.returncode:
            self.skipTest(f"nobody cannot enter {self.dir}: {done.stderr.strip()}")

    def copy(self, *programs):
        for p in programs:
            shutil.copy(p, self.dir)
            os.chmod(self.dir / pathlib.Path(p).name, 0o755)

    def as_nobody(self, *command, **more):
        """Run a command in the test's directory."""
        env = dict(os.environ, FATHOM_CACHE=str(self.dir / "nobody"))
        return run(*AS_NOBODY, *command, env=env, cwd=self.dir, **more)
