"""Output files: their permissions, and that links planted next to them are not followed."""
import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

from support import FATHOM, GOLDEN, fathom, need_perf_events
from test_runtime import program

SAMPLE = str(GOLDEN / "good" / "v1-every-record.fathom")


class Saved(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.victim = pathlib.Path(self.folder.name) / "victim"
        self.victim.write_text("precious")
        self.out = pathlib.Path(self.folder.name) / "out"

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
        need_perf_events()
        fathom("record", "-o", str(self.out), "--", "true")
        self.assertEqual(self.mode(), 0o600)


if __name__ == "__main__":
    unittest.main()
