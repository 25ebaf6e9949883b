"""Limits of the shell and full disks: one message with what to do, and what was written can be read."""
import os
import resource
import signal
import subprocess
import unittest

from support import FATHOM, GOLDEN, SECONDS, Case, fathom, need_perf_events, run, workload
from test_runtime import program

SAMPLE = GOLDEN / "good" / "v1-every-record.fathom"
FILE_SIZE = "raise the limit on file sizes, now {}: ulimit -f unlimited"


def limited(which, value, then=lambda: None):
    def apply():
        resource.setrlimit(which, (value, value))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and children inherit that
        then()
    return {"preexec_fn": apply}


class FileSize(Case):
    def output(self, *args, bytes_=1024, status=1, **more):
        return fathom(*args, status=status, **limited(resource.RLIMIT_FSIZE, bytes_), **more)

    def check_message(self, done, what):
        lines = done.stderr.splitlines()
        self.assertRegex(lines[-2], rf"^fathom {what}( the profile)?: File too large$")
        self.assertEqual(lines[-1], "  " + FILE_SIZE.format("1.00 KiB"))

    def test_a_recording_can_be_read_up_to_the_limit(self):
        need_perf_events()
        path = self.dir / "p.fathom"
        done = self.output("record", "-q", "-o", path, "--", workload("split"), "20")
        self.assertEqual(done.stderr.splitlines(), [
            f"fathom record: {path}: cannot write the profile: File too large",
            f"  the profile can be read up to that point: fathom report {path}", "  " + FILE_SIZE.format("1.00 KiB")])
        self.assertEqual(path.stat().st_size, 1024)
        self.assertIn("unfinished=1", fathom("dump", path).stdout)
        fathom("report", path)

    def test_a_recording_without_a_single_byte_restores_the_old_file(self):
        path = self.dir / "p.fathom"
        path.write_text("old")
        done = self.output("record", "-q", "-o", path, "--", "true", bytes_=0)
        self.assertIn("File too large", done.stderr)
        self.assertNotIn("up to that point", done.stderr)
        self.assertEqual((os.listdir(self.dir), path.read_text()), (["p.fathom"], "old"))

    def test_other_output_leaves_the_old_file(self):
        for command, name in ((["export", "-f", "json"], "x.json"), (["import"], "x.fathom"), (["flame"], "x.html"),
                              (["flame"], "x.svg")):
            path = self.dir / name
            path.write_text("old")
            self.check_message(self.output(*command, SAMPLE, "-o", path), f"{command[0]}: {path}: cannot write")
            self.assertEqual(path.read_text(), "old")
            path.unlink()
            self.assertEqual(os.listdir(self.dir), [])

    def test_standard_output_is_readable_up_to_the_limit(self):
        path = self.dir / "out"
        with open(path, "wb") as out:
            done = subprocess.run([FATHOM, "dump", SAMPLE], stdout=out, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=SECONDS, **limited(resource.RLIMIT_FSIZE, 1024))
        self.assertEqual(done.returncode, 1)
        self.check_message(done, "dump: cannot write")
        self.assertEqual(path.read_text(), fathom("dump", SAMPLE).stdout[:1024])

    def test_a_recorded_command_keeps_the_disposition_of_the_signal(self):
        need_perf_events()
        write = "head -c 2000 /dev/zero > big; echo $?"
        for ignored, status in ((False, 128 + signal.SIGXFSZ), (True, 1)):
            def then(ignored=ignored):
                if ignored:
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            done = run(FATHOM, "record", "-q", "-o", "-", "--", "sh", "-c", write, status=None, text=False,
                       cwd=self.dir, **limited(resource.RLIMIT_FSIZE, 1024, then))
            self.assertEqual(done.stderr.splitlines()[-1], str(status).encode())


class Library(Case):
    """A program that uses libfathom lives on, with its own disposition of the signal."""

    def run_program(self, profile, bytes_=1000, **env):
        return run(program("rt-env"), env={**os.environ, "FATHOM_PROFILE": profile, **env}, cwd=self.dir,
                   **limited(resource.RLIMIT_FSIZE, bytes_))

    def test_a_program_survives_a_report_that_exceeds_the_limit(self):
        for form in ("json", "fathom", "trace", "chrome", "csv"):
            out = self.dir / "out"
            done = self.run_program(f"{form}:{out}", bytes_=100)
            self.assertIn(f"fathom: FATHOM_PROFILE: cannot write {out}", done.stderr)
            self.assertEqual(os.listdir(self.dir), [])

    def test_a_program_survives_a_report_to_a_full_standard_error(self):
        path = self.dir / "err"
        with open(path, "wb") as err:
            subprocess.run([program("rt-env")], stderr=err, check=True, timeout=SECONDS,
                           env={**os.environ, "FATHOM_PROFILE": "table"}, **limited(resource.RLIMIT_FSIZE, 100))
        self.assertLessEqual(path.stat().st_size, 100)

    def test_a_live_file_beyond_the_limit_is_not_created(self):
        self.run_program("1", FATHOM_LIVE=str(self.dir / "live"))
        self.assertEqual(os.listdir(self.dir), [])


class Other(Case):
    def test_too_few_open_files_give_a_message(self):
        path = self.dir / "p.fathom"
        for n in range(4, 9):
            done = fathom("record", "-q", "-o", path, "--", "true", status=1, **limited(resource.RLIMIT_NOFILE, n))
            lines = done.stderr.splitlines()
            self.assertTrue(lines[0].endswith("Too many open files"), lines)
            self.assertEqual(lines[1:], [f"  raise the limit on open files, now {n}: ulimit -n 65536"])
            self.assertEqual(os.listdir(self.dir), [])

    def test_libraries_that_cannot_be_opened_are_counted(self):
        path = self.dir / "p.fathom"
        for n in range(16, 64):  # as many as the recorder needs, but not for the files of the program
            done = run(FATHOM, "record", "-q", "-o", path, "--", workload("split"), "20", status=None,
                       **limited(resource.RLIMIT_NOFILE, n))
            if done.returncode == 0:
                break
        self.assertIn("libraries not read for lack of file descriptors: ",
                      fathom("report", path).stdout)

    def test_a_message_about_the_whole_machine_names_no_thread(self):
        need_perf_events(kernel=True, system_wide=True)
        found = set()
        for n in range(4, 16):
            done = fathom("record", "-q", "-a", "-d", "0.1", "-o", self.dir / "p.fathom", status=None,
                          **limited(resource.RLIMIT_NOFILE, n))
            found.update(done.stderr.splitlines())
            self.assertNotIn("thread", done.stderr)
        self.assertIn("fathom record: cannot open an event on CPU 0: Too many open files", found)

    def test_a_full_disk_gives_a_message(self):
        for command in (["report", SAMPLE], ["export", "-f", "json", SAMPLE], ["dump", SAMPLE], ["doctor", "/bin/sh"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([FATHOM, *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                      timeout=SECONDS)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, f"fathom {command[0]}: cannot write: No space left on device\n"
                                          "  free some space, or write to another file system\n")

    def test_a_full_disk_gives_a_message_for_files(self):
        for command in (["record", "-q", "-o", "/dev/full", "--", "true"], ["import", SAMPLE, "-o", "/dev/full"],
                        ["export", "-f", "svg", SAMPLE, "-o", "/dev/full"]):
            done = fathom(*command, status=1)
            self.assertIn("No space left on device\n", done.stderr)
            self.assertIn("\n  free some space, or write to another file system\n", done.stderr)

    def test_too_little_memory_gives_a_message(self):
        big = self.dir / "x.collapsed"
        big.write_text("".join(f"main;f{i};g{i} 1\n" for i in range(400000)))
        limit = 96 << 20
        done = fathom("report", big, status=1, **limited(resource.RLIMIT_AS, limit))
        lines = done.stderr.splitlines()
        self.assertRegex(lines[0], r"^fathom: out of memory \(allocating \d+ bytes\)$")
        self.assertEqual(lines[1], "  raise the limit on memory, now 96.0 MiB: ulimit -v unlimited")


if __name__ == "__main__":
    unittest.main()
