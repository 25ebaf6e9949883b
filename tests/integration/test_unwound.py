"""Programs without call-frame information: every stack has its first function, and no caller is
invented."""
import collections
import math
import pathlib
import unittest

from recording import Recording
from support import WORKLOADS, Case, run, workload

NATIVE, RETURN = 0, 4

# Who calls the functions of tests/workloads/nocfi.c.  An optimizing compiler makes the call at the
# end of by_tail a jump, so that burn seems to be called by rounds.
BURNERS = ["by_array", "by_large", "by_tail", "by_stack", "called", "recursive", "finish", "rounds",
           *(f"case_{n}" for n in range(8))]
CALLERS = {
    "burn": BURNERS, "called": ["by_pointer"], "recursive": ["recursive", "rounds"],
    **{f"case_{n}": ["by_switch"] for n in range(8)},
    **{name: ["rounds"] for name in ("by_array", "by_large", "by_switch", "by_tail", "by_pointer",
                                     "by_stack")},
    "finish": ["last"], "last": ["main"], "rounds": ["main", "in_thread"],
}
SHARES = {"by_array": 20, "by_large": 10, "by_switch": 20, "by_pointer": 10, "by_stack": 10,
          "recursive": 10, "finish": 10}


def functions(path):
    """(start, name) of the functions of the program at PATH, sorted."""
    found = []
    for line in run("nm", path).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tT":
            found.append((int(words[0], 16), words[2]))
    return sorted(found)


class Unwound(Case):
    def load(self, name, twin):
        """Record workload NAME, and name its functions as in TWIN, the same before stripping."""
        if not pathlib.Path(workload(name)).stat().st_size:
            self.skipTest(f"{name} was not built: no musl-gcc")
        self.r = Recording(self.record(workload(name), "160", options=("-F", "1999")))
        self.r.need_samples(800)
        self.known = functions(workload(twin))

    def name(self, frame):
        """The function of the program at FRAME; None for a library or the kernel."""
        module = self.r.table["module"][frame["module"]]
        if not self.r.text(module["path"]).startswith(f"{WORKLOADS}/"):
            return None
        address = frame["address"] - (frame["flags"] & RETURN)
        return max((f for f in self.known if f[0] <= address), default=(0, "?"))[1]

    def stacks(self):
        """Names of the program's functions in each stack, leaf first, and the number of samples."""
        found = collections.Counter()
        for s in self.r.samples:
            frames = [self.r.table["frame"][f] for f in self.r.frames(s["stack"])]
            user = [f for f in frames if f["kind"] == NATIVE]
            self.assertTrue(all(f["module"] for f in user), "a frame outside mapped code")
            found[tuple(self.name(f) for f in reversed(user))] += 1
        return found

    def check(self, name, twin=None):
        self.load(name, twin or name)
        self.assertGreaterEqual(self.r.number("quality.complete"),
                                0.995 * self.r.number("quality.stacks"))
        inclusive = collections.Counter()
        n = 0
        for stack, count in self.stacks().items():
            n += count
            for callee, caller in zip(stack, stack[1:]):
                if callee in CALLERS:
                    self.assertIn(caller, CALLERS[callee], f"{callee} in {stack}")
            for function in set(stack):
                inclusive[function] += count
        for function, want in SHARES.items():
            points = 1 + 4 * math.sqrt(want * (100 - want) / n)
            self.assertLessEqual(abs(100 * inclusive[function] / n - want), points, function)

    def test_every_stack_of_an_unoptimized_program_is_whole(self):
        self.check("nocfi-O0")

    def test_every_stack_of_an_optimized_program_is_whole(self):
        self.check("nocfi-O2")

    def test_every_stack_of_a_program_with_frame_pointers_is_whole(self):
        self.check("nocfi-fp")

    def test_every_stack_of_a_static_program_is_whole(self):
        self.check("nocfi-static")

    def test_every_stack_of_a_stripped_static_program_is_whole(self):
        self.check("nocfi-stripped", "nocfi-static")

    def test_every_stack_of_a_stripped_program_without_padding_is_whole(self):
        self.check("nocfi-Os-stripped", "nocfi-Os")

    def test_every_stack_of_a_static_program_with_musl_is_whole(self):
        self.check("nocfi-musl")

    def test_every_stack_of_a_stripped_static_program_with_musl_is_whole(self):
        self.check("nocfi-musl-stripped", "nocfi-musl")


if __name__ == "__main__":
    unittest.main()
