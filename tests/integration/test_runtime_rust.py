"""The Rust binding, if cargo is installed; built in the directory of the test."""
import os
import pathlib
import tempfile
import unittest

from support import SOURCE, need, run
from test_runtime import program

CRATES = pathlib.Path("/usr/share/cargo/registry")


class Rust(unittest.TestCase):
    def cargo(self, folder, *words):
        need("cargo")
        library = program("libfathom.so").parent
        if "build-san" in str(library):
            self.skipTest("Rust programs are not built with the sanitizers")
        with tempfile.TemporaryDirectory() as target:
            env = {**os.environ, "FATHOM_LIB_DIR": str(library), "CARGO_TARGET_DIR": target,
                   "LD_LIBRARY_PATH": str(library), "CARGO_NET_OFFLINE": "true"}
            for name in ("FATHOM_PROFILE", "FATHOM_RECORD_DIR"):
                env.pop(name, None)
            # Crates from Debian packages, if installed.
            crates = ["--config", 'source.crates-io.replace-with="debian"',
                      "--config", f'source.debian.directory="{CRATES}"'] if CRATES.exists() else []
            return run("cargo", *words, *crates, "--offline", "--manifest-path",
                       SOURCE / "bindings" / "rust" / folder / "Cargo.toml",
                       env=env, cwd=target, status=None)

    def passes(self, folder, test):
        done = self.cargo(folder, "test", "--test", test)
        text = done.stdout + done.stderr
        if "no matching package" in text:
            self.skipTest("crates are missing: " + " ".join(text.split())[:200])
        self.assertIn("test result: ok. 1 passed", text)

    def test_zones_operations_and_counters_arrive(self):
        self.passes(".", "zones")

    def test_spans_of_tracing_become_zones(self):
        self.passes("tracing", "layer")


if __name__ == "__main__":
    unittest.main()
