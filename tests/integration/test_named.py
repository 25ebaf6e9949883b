"""What a recorded program names: source files, debug files, symbol maps.  They are opened as its
user, are believed only from the right owner, and cannot delay the recorder."""
import ctypes
import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import stat
import struct
import subprocess
import time
import unittest

from support import (AS_NOBODY, BUILD, FATHOM, NOBODY, SECONDS, Case, NobodyCase, fathom, need,
                     built, need_perf_events, run, workload)

SECRET = "int the_text_of_the_secret_file;"
PROGRAM = """
#include <stdio.h>
static volatile unsigned long n;
#line 1 "{source}"
static __attribute__((noinline)) void named_elsewhere(void)
{{ for (unsigned long i = 0; i < 100000000; i++) n += i; }}
int main(int argc, char **argv) {{ if (argc > 1) getchar(); named_elsewhere(); return 0; }}
"""
# Its slots, which the recorder reads, are in a page that a handler of page faults must provide.
WAITING_MEMORY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    void *(*map)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
    int (*control)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
    struct uffdio_api api = { .api = UFFD_API };
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    unsigned long size = (unsigned long)sysconf(_SC_PAGESIZE);
    unsigned long page = strtoul(argv[argc - 1], NULL, 16) & ~(size - 1);
    struct uffdio_register all = { .range = { page, size }, .mode = UFFDIO_REGISTER_MODE_MISSING };
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0)
        return 77;
    if (argc < 3 || strcmp(argv[1], "go") != 0)
        return 0;
    map((void *)page, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (control(fd, UFFDIO_REGISTER, &all) < 0)
        *(volatile int *)8 = 0; /* no table of functions any more */
    for (volatile unsigned long n = 0;; n++)
        ;
}
"""
# It waits with a stack in memory that a handler of page faults must provide.
WAITING_STACK = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct uffdio_api api = { .api = UFFD_API };
    struct uffdio_register all = { .range = { 0, 1 << 20 }, .mode = UFFDIO_REGISTER_MODE_MISSING };
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    char *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    all.range.start = (unsigned long)p;
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &all) < 0)
        return 77;
#ifdef __x86_64__
    if (argc > 1)
        __asm__ volatile("mov %0, %%rsp; 0: mov %1, %%eax; syscall; jmp 0b"
                         : : "r"(p + (1 << 19)), "i"(SYS_pause) : "rax", "rcx", "r11", "memory");
    return 0;
#else
    return 77;
#endif
}
"""
SOMEBODY = 4321  # neither root nor nobody


class Named(Case):
    """Programs whose debug information names what the test wants."""

    def setUp(self):
        super().setUp()
        need("gcc", "objcopy")
        self.out = self.dir / "p.fathom"
        self.source = self.dir / "source.c"

    def program(self, *options):
        (self.dir / "program.c").write_text(PROGRAM.format(source=self.source))
        run("gcc", "-O1", "-g", *options, "-o", "program", "program.c", cwd=self.dir)
        return self.dir / "program"

    def record(self, *command, options=(), **more):
        fathom("record", "-o", self.out, *options, "--", *command, **more)
        return fathom("dump", "--json", self.out).stdout

    def stripped(self, debug):
        """The program without names; it links to the file DEBUG, which has them."""
        program = self.program("-Wl,--build-id=none")
        run("objcopy", "--only-keep-debug", program, debug)
        run("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program)
        return program

    def sharing(self):
        """A program whose functions have their names in another file, as dwz makes them."""
        build_id = bytes(range(20))
        program, shared = self.program(f"-Wl,--build-id=0x{build_id.hex()}"), self.dir / "shared"
        shutil.copy(program, shared)
        (self.dir / "link").write_bytes(bytes(shared) + b"\0" + build_id)
        run("objcopy", "--strip-symbol=named_elsewhere",
            f"--add-section=.gnu_debugaltlink={self.dir / 'link'}", program)
        run("objcopy", "-O", "binary", "--only-section=.debug_abbrev", "--set-section-flags",
            ".debug_abbrev=alloc", program, self.dir / "abbrev")
        abbrev, data = (self.dir / "abbrev").read_bytes(), program.read_bytes()
        self.assertEqual(data.count(abbrev), 1)
        # DW_AT_name: DW_FORM_strp, a text of this file, becomes DW_FORM_strp_sup, one of the other
        program.write_bytes(data.replace(abbrev, abbrev.replace(b"\x03\x0e", b"\x03\x1d")))
        return program, shared

    def assert_names(self, dump, *, known=True):
        names = [r["text"] for r in map(json.loads, dump.splitlines())
                 if r["record"] == "string" and "named_elsewhere" in r["text"]]
        self.assertEqual(bool(names), known, names)

    def assert_samples(self):
        self.assertGreater(int(fathom("report", self.out, "--json").stdout.split('"samples":')[1]
                               .split(",")[0]), 0)


class Fifos(Named):
    """Opening a FIFO to read it blocks until somebody opens it to write: nobody does."""

    def test_a_fifo_as_source_file_does_not_delay_the_recorder(self):
        os.mkfifo(self.source)
        self.record(self.program())
        self.assert_samples()

    def test_a_fifo_as_debug_file_does_not_delay_the_recorder(self):
        debug = self.dir / "program.debug"
        program = self.stripped(debug)
        self.assert_names(self.record(program))
        debug.unlink()
        os.mkfifo(debug)
        self.assert_names(self.record(program), known=False)
        self.assert_samples()

    def test_a_fifo_as_file_of_a_split_unit_does_not_delay_the_recorder(self):
        program = self.program("-gsplit-dwarf")
        run("objcopy", "--strip-symbol=named_elsewhere", program)
        split, = self.dir.glob("*.dwo")
        self.assert_names(self.record(program))
        split.unlink()
        os.mkfifo(split)
        self.record(program)
        self.assert_samples()
        fathom("doctor", program)

    def test_a_fifo_as_shared_debug_file_does_not_delay_the_recorder(self):
        program, shared = self.sharing()
        self.assert_names(self.record(program))
        shared.unlink()
        os.mkfifo(shared)
        self.assert_names(self.record(program), known=False)
        self.assert_samples()
        fathom("doctor", program)

    def test_a_fifo_among_the_zone_files_does_not_delay_the_recorder(self):
        self.record("sh", "-c", 'mkfifo "$FATHOM_RECORD_DIR/1.live" && exec "$0"', self.program())
        self.assert_samples()

    def test_memory_that_nobody_provides_does_not_delay_the_recorder(self):
        need("readelf")
        (self.dir / "program.c").write_text(WAITING_MEMORY)
        run("gcc", "-O1", "-no-pie", "-fno-pie", "-Wl,-z,norelro", "-o", "program", "program.c", cwd=self.dir)
        program = self.dir / "program"
        slot, = [line.split()[0] for line in run("readelf", "-rW", program).stdout.splitlines() if " strcmp@" in line]
        if run(program, slot, status=None).returncode == 77:
            self.skipTest("userfaultfd is not permitted")
        fathom("record", "-o", self.out, "-d", "2", "--", program, "go", slot, status=128 + signal.SIGTERM)
        self.assert_samples()

    def test_a_stack_that_nobody_provides_does_not_delay_the_recorder(self):
        (self.dir / "program.c").write_text(WAITING_STACK)
        run("gcc", "-O1", "-o", "program", "program.c", cwd=self.dir)
        if run(self.dir / "program", status=None).returncode == 77:
            self.skipTest("userfaultfd is not permitted")
        for how in ("--user", "--in-process"):
            fathom("record", "-o", self.out, how, "--wall", "-d", "2", "--", self.dir / "program", "go",
                   status=128 + signal.SIGTERM)
            self.assertTrue(fathom("report", self.out).stdout)

    def test_a_fifo_as_program_is_refused(self):
        os.mkfifo(self.dir / "fifo")
        done = fathom("doctor", self.dir / "fifo", status=1)
        self.assertIn("not a regular file", done.stderr)


class Modes(Named):
    def test_everything_that_is_written_is_private_whatever_the_umask(self):
        os.environ["FATHOM_CACHE"] = str(self.dir / "cache" / "below")
        self.source.write_text(SECRET)
        self.record(self.program(), umask=0)
        found = [self.out, *(self.dir / "cache").rglob("*")]
        self.assertGreater(len(found), 2)
        for path in found:
            mode = stat.S_IMODE(path.lstat().st_mode)
            self.assertEqual(mode, 0o700 if path.is_dir() else 0o600, path)


class Users(Named):
    """A root recorder reads for a program of nobody what nobody may read, and no more."""

    def setUp(self):
        super().setUp()
        need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("not root: the kernel checks the permissions")
        os.chmod(self.dir, 0o755)
        if run(*AS_NOBODY, "test", "-x", self.dir, status=None).returncode:
            self.skipTest("nobody cannot enter the temporary directory")

    def test_source_text_is_stored_if_the_user_of_the_program_may_read_it(self):
        need_perf_events()
        self.source.write_text(SECRET)
        program = self.program()
        os.chmod(program, 0o755)
        os.chmod(self.source, 0o600)
        self.assertIn(SECRET, self.record(program))
        self.assertNotIn(SECRET, self.record(*AS_NOBODY, program))
        self.assert_names(self.record(*AS_NOBODY, program))
        os.chmod(self.source, 0o644)
        self.assertIn(SECRET, self.record(*AS_NOBODY, program))

    def attached(self, program):
        """What is recorded of a running program of nobody, from its wait to its end."""
        p = subprocess.Popen([*AS_NOBODY, program, "wait"], stdin=subprocess.PIPE)
        try:
            while pathlib.Path(os.readlink(f"/proc/{p.pid}/exe")) != program:
                time.sleep(0.01)
            self.out.unlink(missing_ok=True)
            recorder = subprocess.Popen([FATHOM, "record", "-q", "-o", self.out, "-p", str(p.pid)])
            while recorder.poll() is None and not (self.out.exists() and self.out.stat().st_size):
                time.sleep(0.01) # it writes when it has attached
            p.communicate(b"\n", timeout=SECONDS)
            self.assertEqual(recorder.wait(SECONDS), 0)
        finally:
            p.kill()
            p.wait()
        return fathom("dump", "--json", self.out).stdout

    def test_source_text_of_a_program_that_is_attached_to_is_stored_likewise(self):
        need_perf_events()
        self.source.write_text(SECRET)
        program = self.program()
        os.chmod(program, 0o755)
        os.chmod(self.source, 0o600)
        self.assertNotIn(SECRET, self.attached(program))
        os.chmod(self.source, 0o644)
        self.assertIn(SECRET, self.attached(program))

    def test_a_library_of_several_users_is_read_as_the_one_who_may_read_least(self):
        need_perf_events()
        self.source.write_text(SECRET)
        os.chmod(self.source, 0o600)
        program = self.program()
        os.chmod(program, 0o755)
        script = f"{program}; exec {' '.join(AS_NOBODY)} {program}"
        self.assertNotIn(SECRET, self.record("sh", "-c", script))

    def test_a_debug_file_is_read_if_the_user_of_the_program_may_read_it(self):
        need_perf_events()
        debug = self.dir / "program.debug"
        program = self.stripped(debug)
        os.chmod(program, 0o755)
        os.chmod(debug, 0o600)
        self.assert_names(self.record(program))
        self.assert_names(self.record(*AS_NOBODY, program), known=False)
        os.chmod(debug, 0o644)
        self.assert_names(self.record(*AS_NOBODY, program))

    def test_a_split_unit_is_read_if_the_user_of_the_program_may_read_it(self):
        need_perf_events()
        program = self.program("-gsplit-dwarf")
        run("objcopy", "--strip-symbol=named_elsewhere", program) # its name is in the .dwo file only
        split, = self.dir.glob("*.dwo")
        os.chmod(program, 0o755)
        os.chmod(split, 0o600)
        self.assert_names(self.record(program))
        self.assert_names(self.record(*AS_NOBODY, program), known=False)
        os.chmod(split, 0o644)
        self.assert_names(self.record(*AS_NOBODY, program))

    def test_a_shared_debug_file_is_read_if_the_user_of_the_program_may_read_it(self):
        need_perf_events()
        program, shared = self.sharing()
        os.chmod(program, 0o755)
        os.chmod(shared, 0o600)
        self.assert_names(self.record(program))
        self.assert_names(self.record(*AS_NOBODY, program), known=False)
        os.chmod(shared, 0o644)
        self.assert_names(self.record(*AS_NOBODY, program))


class Temporary(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root: a directory of another user cannot be made")

    def test_zones_do_not_pass_through_a_directory_of_another_user(self):
        tmp = self.dir / "tmp"
        moved = tmp / "fathom-zones-moved" / "file" # its owner gave this name to a directory of ours
        moved.parent.mkdir(parents=True)
        moved.write_text("kept")
        os.chown(tmp, SOMEBODY, SOMEBODY)
        done = fathom("record", "-q", "-o", self.dir / "p.fathom", "--", "sh", "-c", "echo $FATHOM_RECORD_DIR",
                      env={**os.environ, "TMPDIR": str(tmp)})
        self.assertRegex(done.stdout, "^/tmp/fathom-zones-")
        self.assertEqual(moved.read_text(), "kept")

    def test_zones_do_not_pass_below_a_directory_of_another_user(self):
        tmp = self.dir / "his" / "tmp"
        tmp.mkdir(parents=True)
        os.chown(tmp.parent, SOMEBODY, SOMEBODY)
        done = fathom("record", "-q", "-o", self.dir / "p.fathom", "--", "sh", "-c", "echo $FATHOM_RECORD_DIR",
                      env={**os.environ, "TMPDIR": str(tmp)})
        self.assertRegex(done.stdout, "^/tmp/fathom-zones-")

    def test_a_library_of_another_user_beside_the_tool_is_not_preloaded(self):
        os.chmod(self.dir, 0o1777)
        agent = self.dir / "src" / "agent" / "libfathom-agent.so"
        agent.parent.mkdir(parents=True)
        shutil.copy(built(BUILD / "src/agent/libfathom-agent.so"), agent)
        tool = shutil.copy(FATHOM, self.dir / "fathom")
        command = [tool, "record", "-q", "--in-process", "-o", self.dir / "p.fathom", "--", "true"]
        run(*command)
        os.chown(self.dir / "src", SOMEBODY, SOMEBODY)
        done = run(*command, status=1)
        self.assertIn("another user can exchange", done.stderr)


class Jit(Case):
    """Symbol maps and jitdump files lie in /tmp, where everybody can put one."""

    def setUp(self):
        super().setUp()
        self.out = self.dir / "p.fathom"
        os.chmod(self.dir, 0o755)

    def record(self, make, *before):
        """Record the JIT compiler; MAKE gets the path of its map and the address of its code."""
        p = subprocess.Popen([FATHOM, "record", "-o", self.out, "--", *before, workload("jit"),
                              "60", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        path, page = p.stdout.readline().split()
        self.map, self.jit_dump = pathlib.Path(path), path.replace("perf-", "jit-").replace(
            ".map", ".dump")
        try:
            make(self.map, f"{page} 10 jit_hot\n")
            p.communicate("\n", timeout=SECONDS)
        finally:
            for old in (path, self.jit_dump):
                if os.path.lexists(old):
                    os.unlink(old)
        self.assertEqual(p.returncode, 0)
        return fathom("report", self.out).stdout

    def assert_ignored(self, text, why):
        self.assertNotIn("jit_hot", text)
        self.assertIn(f"{self.map} is ignored: {why}", text)

    def test_a_map_of_the_program_is_believed(self):
        def make(path, text):
            path.write_text(text)
            os.chmod(path, 0o644)
        self.assertIn("jit_hot", self.record(make))

    def test_a_map_with_holes_takes_no_memory(self):
        def make(path, text):
            path.write_text(text)
            os.chmod(path, 0o644)
            os.truncate(path, 500 << 20)
        self.assertIn("jit_hot", self.record(make))
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 300 << 10)

    def test_a_map_that_is_a_link_is_ignored(self):
        def make(path, text):
            (self.dir / "map").write_text(text)
            path.symlink_to(self.dir / "map")
        self.assert_ignored(self.record(make), "it is a symbolic link")

    def test_a_map_that_is_a_fifo_is_ignored(self):
        self.assert_ignored(self.record(lambda path, text: os.mkfifo(path)),
                            "it is not a regular file")

    def test_a_map_that_every_user_can_write_is_ignored(self):
        def make(path, text):
            path.write_text(text)
            os.chmod(path, 0o666)
        self.assert_ignored(self.record(make), "every user can write to it")

    def need_users(self):
        need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("not root: files of other users cannot be made")
        if run(*AS_NOBODY, "test", "-x", workload("jit"), status=None).returncode:
            self.skipTest("nobody cannot run the workloads")

    def owned(self, user):
        def make(path, text):
            path.write_text(text)
            os.chmod(path, 0o644)
            os.chown(path, user, user)
        return make

    def test_a_map_of_the_user_of_the_program_is_believed(self):
        need_perf_events()
        self.need_users()
        self.assertIn("jit_hot", self.record(self.owned(NOBODY), *AS_NOBODY))

    def test_a_map_of_somebody_else_is_ignored(self):
        need_perf_events()
        self.need_users()
        self.assert_ignored(self.record(self.owned(SOMEBODY)), f"it belongs to user {SOMEBODY}")
        self.assert_ignored(self.record(self.owned(SOMEBODY), *AS_NOBODY),
                            f"it belongs to user {SOMEBODY}")

    def dump(self, user):
        """A jitdump with one function."""
        def make(path, text):
            name, code = b"jit_dumped\0", bytes(16)
            page = int(text.split()[0], 16)
            body = struct.pack("<IIQQQQ", 1, 1, page, page, len(code), 1) + name + code
            pathlib.Path(self.jit_dump).write_bytes(
                struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, 1, 0, 0) +
                struct.pack("<IIQ", 0, 16 + len(body), 0) + body)
            os.chmod(self.jit_dump, 0o644)
            os.chown(self.jit_dump, user, -1)
        return make

    def test_a_jitdump_of_the_program_is_believed(self):
        self.assertIn("jit_dumped", self.record(self.dump(os.geteuid())))

    def test_a_jitdump_of_somebody_else_is_ignored(self):
        self.need_users()
        text = self.record(self.dump(SOMEBODY))
        self.assertNotIn("jit_dumped", text)
        self.assertIn(f"{self.jit_dump} is ignored: it belongs to user {SOMEBODY}", text)


class Traced:
    """A process that the test stops at each of its system calls, like a debugger."""
    DETACH, SYSCALL, SEIZE, INTERRUPT, CALL_INFO = 17, 24, 0x4206, 0x4207, 0x420e
    OPENAT2, ALL = 437, 0x40000000

    def __init__(self, pid):
        self.pid = pid
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.libc.ptrace.restype = ctypes.c_long
        if self.ask(self.SEIZE, 0, 1) < 0:  # PTRACE_O_TRACESYSGOOD
            raise unittest.SkipTest(f"cannot trace: {os.strerror(ctypes.get_errno())}")
        self.ask(self.INTERRUPT, 0, 0)

    def ask(self, what, address, data):
        return self.libc.ptrace(what, self.pid, address, data)

    def leave(self):
        self.ask(self.DETACH, 0, 0)

    def next_stop(self):
        """Wait for a stop.  Returns ("call", None), ("signal", number) or ("end", status)."""
        status = os.waitpid(self.pid, self.ALL)[1]
        if not os.WIFSTOPPED(status):
            return "end", status
        if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
            return "call", None
        return "signal", 0 if status >> 16 else os.WSTOPSIG(status)

    def go_on(self, with_signal):
        self.ask(self.SYSCALL, 0, with_signal)

    def opens(self, path):
        """Whether it is about to open PATH."""
        info = (ctypes.c_uint64 * 11)()
        self.ask(self.CALL_INFO, ctypes.sizeof(info), info)
        if info[0] & 0xff != 1 or info[3] != self.OPENAT2:
            return False
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as mem:
            mem.seek(info[5])
            return mem.read(len(path) + 1) == path + b"\0"


class Waiting(Case):
    """The kernel delays whoever opens a file until the holder of a lease on it gives way."""
    SETLEASE, GETLEASE = 1024, 1025

    def test_a_second_interrupt_ends_a_recorder_that_waits_for_the_program_to_start(self):
        program = self.dir / "program"
        shutil.copy(workload("brief"), program)
        self.addCleanup(signal.signal, signal.SIGIO, signal.signal(signal.SIGIO, signal.SIG_IGN))
        fd = os.open(program, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        try:
            fcntl.fcntl(fd, self.SETLEASE, fcntl.F_WRLCK)
        except OSError as e:
            self.skipTest(f"no leases: {e}")
        p = subprocess.Popen([FATHOM, "record", "-o", self.dir / "p.fathom", "--", program])
        while fcntl.fcntl(fd, self.GETLEASE) == fcntl.F_WRLCK and p.poll() is None:
            time.sleep(0.01)
        while p.poll() is None: # in vain, the kernel would let the program start after 45 seconds
            p.send_signal(signal.SIGINT)
            time.sleep(0.1)
        self.assertEqual(p.returncode, -signal.SIGINT)


class Naming(Named):
    """While names are looked up, the samples are on disk, and the user can end the recorder."""

    def until_naming(self):
        """A traced recorder that is about to open the source file."""
        self.source.write_text(SECRET)
        (self.dir / "tmp").mkdir()
        env = dict(os.environ, TMPDIR=str(self.dir / "tmp"))
        p = subprocess.Popen([FATHOM, "record", "-q", "-o", self.out, "--", self.program()], env=env,
                             stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, p)
        traced = Traced(p.pid)
        while True:
            what, value = traced.next_stop()
            self.assertNotEqual(what, "end", "the recorder ended without opening the source file")
            if what == "call" and traced.opens(bytes(self.source)):
                return p, traced
            traced.go_on(value or 0)

    def end(self, p):
        if p.returncode is None:
            try:
                p.kill()
                os.waitpid(p.pid, Traced.ALL)
            except (ProcessLookupError, ChildProcessError):
                pass
            p.returncode = -9

    def until_handled(self, traced, number):
        """Send a signal, and wait until the recorder has handled it or ended."""
        os.kill(traced.pid, number)
        delivered = False
        while True:
            traced.go_on(number if delivered == "now" else 0)
            if delivered == "now":
                delivered = True
            what, value = traced.next_stop()
            if what == "end":
                return value
            if what == "signal" and value == number:
                delivered = "now"
            elif what == "call" and delivered is True:
                return None

    def until_end(self, traced):
        what, value = "", 0
        while what != "end":
            traced.go_on(value or 0)
            what, value = traced.next_stop()
        return value

    def test_samples_are_on_disk_and_temporary_files_are_gone_before_names_are_looked_up(self):
        self.until_naming()
        self.assert_samples()
        self.assertEqual(os.listdir(self.dir / "tmp"), [])

    def test_the_second_interrupt_ends_the_recorder_while_it_looks_names_up(self):
        p, traced = self.until_naming()
        self.assertIsNone(self.until_handled(traced, signal.SIGINT))
        status = self.until_handled(traced, signal.SIGINT) or self.until_end(traced)
        self.assertTrue(os.WIFSIGNALED(status), os.waitstatus_to_exitcode(status))
        self.assertEqual(os.WTERMSIG(status), signal.SIGINT)
        p.returncode = -signal.SIGINT
        self.assert_samples()

    def test_one_interrupt_while_names_are_looked_up_leaves_a_complete_file(self):
        p, traced = self.until_naming()
        self.assertIsNone(self.until_handled(traced, signal.SIGINT))
        traced.leave() # the leak checker of a build with sanitizers also traces, at the end
        self.assertEqual(p.wait(SECONDS), 0)
        self.assertIn(SECRET, fathom("dump", "--json", self.out).stdout)


if __name__ == "__main__":
    unittest.main()
