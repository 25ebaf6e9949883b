"""Output files: their permissions, and that links planted next to them are not followed."""
import json
import os
import pathlib
import pwd
import stat
import subprocess
import tempfile
import unittest

from support import (FATHOM, GOLDEN, NOBODY, SECONDS, Case, fathom, perf_refusal, run,
                     workload)
from test_runtime import program

SAMPLE = str(GOLDEN / "good" / "v1-every-record.fathom")


class OutputCase(unittest.TestCase):
    """An output file and another file, the victim, in a directory."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.victim = pathlib.Path(self.folder.name) / "victim"
        self.victim.write_text("precious")
        self.out = pathlib.Path(self.folder.name) / "out"


class Saved(OutputCase):
    def run_beside_a_planted_link(self, *command, env=None):
        """Run COMMAND with links at the temporary names that contain its process id."""
        script = f'ln -s victim "{self.out}.$$.tmp"; ln -s victim "{self.out}.tmp"; exec "$@"'
        subprocess.run(["sh", "-c", script, "sh", *command], check=True, cwd=self.folder.name,
                       env={**os.environ, **(env or {})}, capture_output=True)
        self.assertEqual(self.victim.read_text(), "precious")
        self.assertTrue(self.out.is_file() and not self.out.is_symlink())
        self.assertGreater(self.out.stat().st_size, 0)

    def test_the_tool_follows_no_planted_link(self):
        self.run_beside_a_planted_link(FATHOM, "export", SAMPLE, "-f", "collapsed", "-o", str(self.out))

    def test_the_library_follows_no_planted_link(self):
        self.run_beside_a_planted_link(program("rt-env"), env={"FATHOM_PROFILE": f"json:{self.out}"})

    def test_a_recording_through_a_link_keeps_the_link_and_the_old_file(self):
        self.out.symlink_to("victim")
        fathom("record", "-q", "-o", str(self.out), "--", "true")
        self.assertTrue(self.out.is_symlink())
        self.assertEqual(self.victim.read_bytes()[:6], b"FATHOM")
        self.assertEqual((self.victim.parent / "victim.old").read_text(), "precious")

    def test_a_recording_to_a_descriptor_does_not_rename_it(self):
        with open(self.victim, "wb") as out:
            subprocess.run([FATHOM, "record", "-q", "-o", f"/dev/fd/{out.fileno()}", "--", "true"],
                           check=True, pass_fds=[out.fileno()], timeout=SECONDS)
        self.assertEqual(os.listdir(self.folder.name), ["victim"])
        self.assertEqual(self.victim.read_bytes()[:6], b"FATHOM")

    def mode(self):
        return stat.S_IMODE(self.out.stat().st_mode)

    def test_profiles_are_private_and_exports_are_not(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        fathom("import", SAMPLE, "-o", str(self.out))
        self.assertEqual(self.mode(), 0o600)
        fathom("export", SAMPLE, "-f", "collapsed", "-o", str(self.out))
        self.assertEqual(self.mode(), 0o644)
        subprocess.run([program("rt-env")], check=True, capture_output=True,
                       env={**os.environ, "FATHOM_PROFILE": f"fathom:{self.out}"})
        self.assertEqual(self.mode(), 0o600)

    def test_recordings_are_private(self):
        fathom("record", "-o", str(self.out), "--", "true")
        self.assertEqual(self.mode(), 0o600)


class SharedFolder(OutputCase):
    """A folder like /tmp, in which the user nobody has planted something at the name of the output."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root: nothing can belong to another user")
        os.chmod(self.folder.name, 0o1777)

    def plant(self, kind):
        self.out.unlink(missing_ok=True)
        if kind == "link":
            self.out.symlink_to("victim")
        else:
            os.mkfifo(self.out)
        os.chown(self.out, NOBODY, NOBODY, follow_symlinks=False)

    def check_victim(self):
        self.assertEqual(self.victim.read_text(), "precious")
        self.assertFalse(self.out.is_file() and not self.out.is_symlink())

    def test_the_tool_refuses_what_another_user_planted(self):
        commands = [("export", SAMPLE, "-f", "collapsed"), ("import", SAMPLE), ("merge", SAMPLE, SAMPLE)]
        if not perf_refusal():
            commands.append(("record", "--", "true"))
        for kind in ("link", "fifo"):
            for command in commands:
                self.plant(kind)
                done = fathom(*command[:1], "-o", str(self.out), *command[1:], status=1)
                self.assertIn("will not write through the link, FIFO or device of another user", done.stderr)
                self.check_victim()

    def test_the_library_refuses_what_another_user_planted(self):
        for kind in ("link", "fifo"):
            for variable in ("FATHOM_LIVE", "FATHOM_PROFILE"):
                self.plant(kind)
                value = f"json:{self.out}" if variable == "FATHOM_PROFILE" else str(self.out)
                run(program("rt-env"), env={**os.environ, "FATHOM_PROFILE": "1", variable: value})
                self.check_victim()


class CacheOfAnotherUser(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root: nothing can belong to another user")
        self.home = self.dir / "home"
        self.home.mkdir()
        os.chown(self.home, NOBODY, NOBODY)

    def cache_row(self, **env):
        clean = {k: v for k, v in os.environ.items() if k not in ("FATHOM_CACHE", "XDG_CACHE_HOME")}
        facts = json.loads(fathom("doctor", "--json", env={**clean, **env}).stdout)["machine"]
        return next(f for f in facts if f["key"] == "cache")

    def test_sudo_that_keeps_home_uses_the_cache_of_root(self):
        own = pwd.getpwuid(0).pw_dir + "/.cache/fathom"
        self.assertEqual(self.cache_row(HOME=str(self.home))["value"], own)
        self.assertEqual(self.cache_row(HOME=str(self.home), XDG_CACHE_HOME=str(self.home))["value"], own)
        self.assertEqual(self.cache_row(HOME=str(self.dir))["value"], f"{self.dir}/.cache/fathom")

    def test_doctor_says_why_a_cache_is_not_used(self):
        row = self.cache_row(FATHOM_CACHE=str(self.home))
        self.assertEqual(row["value"], f"not used: home belongs to user {NOBODY}, not to user 0")
        self.assertTrue(row["advice"])

    def test_a_recording_leaves_nothing_in_the_cache_of_another_user(self):
        for folder in (self.home, self.home / "new"):
            os.environ["FATHOM_CACHE"] = str(folder)
            fathom("record", "-q", "-o", self.dir / "p.fathom", "--", workload("split"), "5")
            self.assertEqual(os.listdir(self.home), [])
        os.environ["FATHOM_CACHE"] = str(self.dir / "cache")
        fathom("record", "-q", "-o", self.dir / "p.fathom", "--", workload("split"), "5")
        self.assertIn("unwind", os.listdir(self.dir / "cache"))


if __name__ == "__main__":
    unittest.main()
