"""Test suites of other projects give the same results with the agent as without (make soak)."""
import os
import re
import subprocess
import unittest

from support import BUILD, FATHOM, Case, built, need, rounds

PYTHON = "/usr/bin/python3"
LONG_SECONDS = 3600


class Suites(Case):
    """Each suite runs twice."""

    def both(self, command, results):
        """The RESULTS that are in the output of COMMAND, without and with a recorder."""
        found = []
        for prefix in ([], [FATHOM, "record", "-q", "--in-process", "-o", self.dir / "p.fathom", "--"]):
            done = subprocess.run([str(c) for c in [*prefix, *command]], cwd=self.dir, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=LONG_SECONDS, check=False)
            found.append((done.returncode, sorted(re.findall(results, done.stdout, re.M))))
        self.assertEqual(found[0], found[1])
        self.assertTrue(found[0][1])

    def python(self, name):
        have = subprocess.run([PYTHON, "-c", f"import test.{name}"], capture_output=True, check=False)
        if have.returncode:
            self.skipTest("libpython3-testsuite is not installed")
        if not rounds(0, 1):
            self.skipTest("runs in make soak")
        # test_4_daemon_threads of Python 3.11 sometimes never ends, also alone.
        self.both([PYTHON, "-m", "test", "-v", "-i", "test_4_daemon_threads", name],
                  r"^(?:\[.*\] )?(test\S+ .*\.\.\. (?:ok|FAIL|ERROR|skipped|expected failure))")

    def test_python_threads(self):
        self.python("test_threading")

    def test_python_processes(self):
        self.python("test_subprocess")

    def test_python_signals(self):
        self.python("test_signal")
        self.python("test_faulthandler")
        self.python("test_eintr")

    def test_python_system_calls(self):
        self.python("test_os")

    def test_python_event_loops(self):
        self.python("test_asyncio")

    def test_our_own_unit_tests(self):
        self.both([built(BUILD / "tests/unit-tests"), *(["path"] if not rounds(0, 1) else [])], r"^(?:not )?ok .*")


class Redis(Case):
    """A server under load."""

    def serve(self, *prefix):
        path = self.dir / "s"
        server = self.start_session(*prefix, "redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                                    "--dir", self.dir)
        self.until(path.exists, "the server")
        said = [subprocess.run(["redis-cli", "-s", path, *words], capture_output=True, text=True, check=False).stdout
                for words in (["ping"], ["eval", "local s=0 for i=1,1000000 do s=s+i end return s", "0"])]
        bench = subprocess.run(["redis-benchmark", "-q", "-s", path, "-n", str(rounds(2000, 1000000)),
                                "-t", "set,get,lpush,mset"], capture_output=True, text=True, check=False)
        said.append(bench.returncode)
        said += re.findall(r"(\w+)[^\r\n]*requests per second", bench.stdout)
        subprocess.run(["redis-cli", "-s", path, "shutdown", "nosave"], capture_output=True, check=False)
        said.append(server.wait())
        path.unlink(missing_ok=True)
        return said

    def test_redis_answers_the_same(self):
        need("redis-server", "redis-benchmark", "redis-cli")
        plain = self.serve()
        self.assertEqual(self.serve(FATHOM, "record", "-q", "--in-process", "-o", self.dir / "p.fathom", "--"), plain)
        self.assertTrue(os.path.exists(self.dir / "p.fathom"))


if __name__ == "__main__":
    unittest.main()
