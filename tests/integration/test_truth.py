"""Programs whose profile is known: what is recorded must agree with it."""
import os
import re
import unittest

from recording import JOINED, TRUNCATED, Recording
from support import Case, workload

POINTS = 5


class Truth(Case):
    def measure(self, name, *args, options=("-F", "1999"), samples=400):
        r = Recording(self.record(workload(name), *args, options=options))
        r.need_samples(samples)
        return r

    def near(self, got, want, points=POINTS):
        self.assertLessEqual(abs(got - want), points, f"{got:.1f} % is not {want} % ± {points}")

    def split(self, name, *options):
        def check():
            r = self.measure(name, "80", options=("-F", "1999", *options))
            self.near(r.share_with("one"), 70)
            self.near(r.share_with("two"), 30)
        self.eventually(check)

    def test_two_functions_share_seventy_to_thirty(self):
        self.split("split")

    def test_frame_pointers_lead_to_the_root_of_a_program_that_keeps_them(self):
        def check():  # a leaf has no frame of its own, so that its caller f30 may be missing
            r = self.measure("deep-fp", "30000", options=("-F", "1999", "-gfp"))
            chain = ("main", *(f"f{i}" for i in range(1, 30)))
            leaves = [r.stack(s["stack"]) for s in r.samples if "leaf" in r.stack(s["stack"])]
            right = [s for s in leaves if s[s.index("main") if "main" in s else 0:][:30] == chain]
            self.assertGreater(len(right), 0.95 * len(leaves))
            self.assertGreater(len(leaves), 0.4 * len(r.samples))
        self.eventually(check)

    def test_the_shares_hold_with_unwind_tables_alone(self):
        self.split("split", "-gdwarf")

    def test_the_shares_hold_in_a_static_program(self):
        self.split("split-static")

    def test_the_shares_hold_in_user_space_alone(self):
        self.split("split", "--user")

    def test_a_stripped_program_keeps_its_functions_apart(self):
        def check():
            r = self.measure("split-stripped", "80")
            by_pair = {}
            for s in r.samples:
                pair = r.stack(s["stack"])[-2:]
                by_pair[pair] = by_pair.get(pair, 0) + s["weight"]
            first, second = sorted(by_pair.values())[-1:-3:-1]
            whole = sum(by_pair.values())
            self.near(100 * first / whole, 70)
            self.near(100 * second / whole, 30)
        self.eventually(check)

    def test_inlined_functions_are_seen(self):
        def check():
            r = self.measure("inlining", "200")
            self.near(r.share_with("inner_a"), 70)
            self.near(r.share_with("inner_b"), 30)
            self.near(r.share(lambda s: s[-3:] == ("outer", "middle", "inner_b")), 30)
        self.eventually(check)

    def test_recursion_counts_each_sample_once(self):
        def check():
            r = self.measure("recurse", "600")
            self.near(r.share_with("recurse"), 100)
            self.near(r.share_with("at_the_bottom"), 60)
            self.near(r.share_with("on_the_way"), 40)
            bottom = [r.stack(s["stack"]) for s in r.samples if "at_the_bottom" in r.stack(s["stack"])]
            whole = [s for s in bottom if s.count("recurse") == 41]
            self.assertGreater(len(whole), 0.9 * len(bottom))
        self.eventually(check)

    def test_stacks_of_thirty_frames_without_frame_pointers_are_whole(self):
        def check():
            r = self.measure("deep", "30000")
            chain = ("main", *(f"f{i}" for i in range(1, 31)), "leaf")
            leaves = [r.stack(s["stack"]) for s in r.samples if "leaf" in r.stack(s["stack"])]
            right = [s for s in leaves if s[s.index("main") if "main" in s else 0:][:32] == chain]
            self.assertGreater(len(leaves), 0.4 * len(r.samples))
            self.assertGreater(len(right), 0.95 * len(leaves))
            self.assertGreater(r.number("quality.rooted"), 0.95 * r.number("quality.stacks"))
        self.eventually(check)

    def test_a_stack_larger_than_any_copy_is_joined_rightly(self):
        def check():
            r = self.measure("deep-big", "30000")
            self.assertGreater(r.number("quality.joined"), 0)
            marked = 0
            for s in r.samples:
                flags = [r.table["frame"][f]["flags"] for f in r.frames(s["stack"])]
                stack = r.stack(s["stack"])
                if flags and flags[0] & TRUNCATED:
                    continue
                marked += any(f & JOINED for f in flags)
                steps = [int(n[1:]) for n in stack if re.fullmatch(r"f\d+", n)]
                self.assertEqual(steps, list(range(1, len(steps) + 1)), stack)
            self.assertGreater(marked, 0)
        self.eventually(check)

    def test_a_signal_handler_is_seen_below_what_it_interrupted(self):
        def check():
            r = self.measure("handler", "200")
            self.near(r.share_with("on_signal"), 50)
            inside = [s for s in r.samples if "on_signal" in r.stack(s["stack"])]
            self.near(r.share(lambda s: "busy" in s and s.index("busy") < s.index("on_signal"), inside), 100)
        self.eventually(check)

    def test_libraries_that_come_and_go_at_one_address_are_kept_apart(self):
        def check():
            r = self.measure("dl", "100")
            self.near(r.share_with("plugin_a"), 60)
            self.near(r.share_with("plugin_b"), 40)
        self.eventually(check)

    def test_code_made_at_run_time_has_the_names_of_its_map(self):
        def check():
            r = self.measure("jit", "200")
            for process in r.table["process"].values():
                self.addCleanup(lambda p=process["pid"]: os.path.exists(f"/tmp/perf-{p}.map")
                                and os.unlink(f"/tmp/perf-{p}.map"))
            self.near(r.share_with("jit_hot"), 70)
            self.near(r.share_with("jit_cold"), 30)
            self.near(r.share_with("main"), 100)
        self.eventually(check)

    def test_two_hundred_threads_are_all_there(self):
        def check():
            r = self.measure("threads", "200", "3000000", samples=200)
            self.assertGreater(r.share_with("work"), 50)
            if not r.all_seen():
                self.skipTest("the machine lost records")
            self.assertEqual(len(r.table["thread"]), 201)
            self.assertEqual(len(r.table["process"]), 1)
        self.eventually(check)

    def test_five_hundred_started_programs_are_followed(self):
        def check():
            r = self.measure("forkexec", "500", samples=100)
            self.assertGreater(r.share_with("child_work"), 30)
            if not r.all_seen():
                self.skipTest("the machine lost records")
            self.assertGreaterEqual(len(r.table["process"]), 496)
            ended = [p for p in r.table["process"].values() if p["end_ns"]]
            self.assertGreaterEqual(len(ended), 495)
        self.eventually(check)


if __name__ == "__main__":
    unittest.main()
