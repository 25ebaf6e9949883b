"""Imports of object files: code inside programs uses only libc, the core never exits."""
import collections
import re
import subprocess
import unittest

from support import BUILD, SOURCE, need, run

ENDING = re.compile(r"_?exit|_Exit|quick_exit|abort|v?errx?|error|__assert_fail|raise|kill|tgkill|psignal")
PRINTING = re.compile(r"perror|puts|putchar|v?printf|__v?printf_chk|stdout")


def words(name):
    """The lines of an allow-list, without comments."""
    for line in (SOURCE / "tests" / "imports" / name).read_text().splitlines():
        if re.sub(r"#.*", "", line).split():
            yield re.sub(r"#.*", "", line).split()


class Core(unittest.TestCase):
    def setUp(self):
        need("nm")
        if "build-san" in str(BUILD):
            self.skipTest("a sanitizer adds its own")
        text = subprocess.run(["nm", "-u", "-A", BUILD / "libcore.a"], capture_output=True,
                              text=True, check=True).stdout
        self.needed = collections.defaultdict(set)
        for line in text.splitlines():
            found = re.search(r"src_([\w]+)\.c\.o: +[Uw] (\S+)", line)
            if found:
                self.needed[found[1] + ".c"].add(found[2])
        self.assertGreater(len(self.needed), 100)

    def test_what_runs_inside_programs_imports_only_what_its_list_allows(self):
        self.assertEqual(run(SOURCE / "tools" / "imports", BUILD).stdout, "")
        allowed = {word for line in words("signal.allow") for word in line}
        self.assertFalse(allowed & {"malloc", "printf", "pthread_mutex_lock", "nanosleep", "syscall"})

    def test_nothing_in_the_core_ends_the_process_or_prints(self):
        allowed = {tuple(line) for line in words("core.allow")}
        found = {(name.split("_", 1)[1], n) for name, needed in self.needed.items() for n in needed
                 if ENDING.fullmatch(n) or PRINTING.fullmatch(n)}
        self.assertEqual(found - allowed, set())
        self.assertEqual(allowed - found, set(), "core.allow lists what is not there")

    def test_out_of_memory_is_left_to_the_host(self):
        defined = subprocess.run(["nm", "--defined-only", BUILD / "libcore.a"], capture_output=True,
                                 text=True, check=True).stdout
        self.assertNotRegex(defined, r" T mem_failed\b")
        self.assertIn("mem_failed", self.needed["base_mem.c"])


if __name__ == "__main__":
    unittest.main()
