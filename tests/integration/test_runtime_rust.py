"""The Rust binding, where cargo is found; it is built in a folder of the test's own."""
import os
import tempfile
import unittest

from support import SOURCE, need, run
from test_runtime import program


class Rust(unittest.TestCase):
    def cargo(self, folder, *words):
        need("cargo")
        library = program("libfathom.so").parent
        if "build-san" in str(library):
            self.skipTest("rust programs are not built with the sanitizers")
        with tempfile.TemporaryDirectory() as target:
            env = {**os.environ, "FATHOM_LIB_DIR": str(library), "CARGO_TARGET_DIR": target,
                   "LD_LIBRARY_PATH": str(library), "CARGO_NET_OFFLINE": "true"}
            for name in ("FATHOM_PROFILE", "FATHOM_RECORD_DIR"):
                env.pop(name, None)
            return run("cargo", *words, "--offline", "--manifest-path",
                       SOURCE / "bindings" / "rust" / folder / "Cargo.toml",
                       env=env, cwd=target, status=None)

    def test_zones_operations_and_counters_arrive(self):
        done = self.cargo(".", "test", "--test", "zones")
        text = done.stdout + done.stderr
        if done.returncode != 0 and "test result" not in text:
            self.skipTest("cargo cannot build here: " + text.strip()[-200:])
        self.assertIn("test result: ok. 1 passed", text)

    def test_the_tracing_layer_builds_where_its_crates_are(self):
        done = self.cargo("tracing", "check")
        if done.returncode != 0 and ("no matching package" in done.stderr
                                     or "offline" in done.stderr):
            self.skipTest("the crates tracing and tracing-subscriber are not here")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
