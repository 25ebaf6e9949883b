"""Recordings of programs with a known profile must agree with it."""
import gzip
import json
import math
import os
import re
import subprocess
import unittest

from recording import JOINED, TRUNCATED, Recording
from support import Case, fathom, need, need_perf_events, report, run, workload

START_UP = 1  # percent points for the dynamic linker and the exit of a program


class Truth(Case):
    def measure(self, name, *args, options=("-F", "1999"), samples=400):
        r = Recording(self.record(workload(name), *args, options=options))
        r.need_samples(samples)
        return r

    def near(self, r, name, want):
        """On a busy machine, time may be without samples from inside, and weights are unequal."""
        sampled = [s for s in r.samples if "[not sampled]" not in r.stack(s["stack"])]
        weights = [s["weight"] for s in sampled]
        self.near_share(r.share_with(name, sampled), want, sum(weights) ** 2 / sum(w * w for w in weights))

    def near_share(self, got, want, n):
        """GOT percent of N samples is WANT, within four standard deviations and START_UP."""
        points = START_UP + 4 * math.sqrt(want * (100 - want) / n)
        self.assertLessEqual(abs(got - want), points, f"{got:.1f} % is not {want} % ± {points:.1f}")

    def split(self, name, *options):
        r = self.measure(name, "240", options=("-F", "1999", *options))
        self.near(r, "one", 70)
        self.near(r, "two", 30)

    def test_two_functions_share_seventy_to_thirty(self):
        self.split("split")

    def test_frame_pointers_lead_to_the_root_of_a_program_that_keeps_them(self):
        need_perf_events()
        # a leaf has no frame, so its caller f30 may be missing
        r = self.measure("deep-fp", "30000", options=("-F", "1999", "-gfp"))
        chain = ("main", *(f"f{i}" for i in range(1, 30)))
        leaves = [r.stack(s["stack"]) for s in r.samples if "leaf" in r.stack(s["stack"])]
        right = [s for s in leaves if s[s.index("main") if "main" in s else 0:][:30] == chain]
        self.assertGreater(len(right), 0.95 * len(leaves))
        self.assertGreater(len(leaves), 0.4 * len(r.samples))

    def test_the_shares_hold_with_unwind_tables_alone(self):
        self.split("split", "-gdwarf")

    def test_the_shares_hold_in_a_static_program(self):
        self.split("split-static")

    def test_the_shares_hold_in_user_space_alone(self):
        self.split("split", "--user")

    def test_a_stripped_program_keeps_its_functions_apart(self):
        r = self.measure("split-stripped", "240")
        by_pair = {}
        for s in r.samples:
            pair = r.stack(s["stack"])[-2:]
            by_pair[pair] = by_pair.get(pair, 0) + s["weight"]
        first, second = sorted(by_pair.values())[-1:-3:-1]
        whole = sum(by_pair.values())
        self.near_share(100 * first / whole, 70, len(r.samples))
        self.near_share(100 * second / whole, 30, len(r.samples))

    def test_inlined_functions_are_seen(self):
        r = self.measure("inlining", "400")
        self.near(r, "inner_a", 70)
        self.near(r, "inner_b", 30)
        self.near_share(r.share(lambda s: s[-3:] == ("outer", "middle", "inner_b")), 30, len(r.samples))

    def test_recursion_counts_each_sample_once(self):
        r = self.measure("recurse", "1500")
        self.near(r, "recurse", 100)
        self.near(r, "at_the_bottom", 60)
        self.near(r, "on_the_way", 40)
        bottom = [r.stack(s["stack"]) for s in r.samples if "at_the_bottom" in r.stack(s["stack"])]
        whole = [s for s in bottom if s.count("recurse") == 41]
        self.assertGreater(len(whole), 0.9 * len(bottom))

    def test_stacks_of_thirty_frames_without_frame_pointers_are_complete(self):
        r = self.measure("deep", "30000")
        chain = ("main", *(f"f{i}" for i in range(1, 31)), "leaf")
        leaves = [r.stack(s["stack"]) for s in r.samples if "leaf" in r.stack(s["stack"])]
        right = [s for s in leaves if s[s.index("main") if "main" in s else 0:][:32] == chain]
        self.assertGreater(len(leaves), 0.4 * len(r.samples))
        self.assertGreater(len(right), 0.95 * len(leaves))
        self.assertGreater(r.number("quality.complete"), 0.95 * r.number("quality.stacks"))

    def test_a_stack_larger_than_a_copy_is_joined_correctly(self):
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

    def test_a_signal_handler_is_seen_below_what_it_interrupted(self):
        r = self.measure("handler", "300")
        self.near(r, "on_signal", 50)
        inside = [s for s in r.samples if "on_signal" in r.stack(s["stack"])]
        below = r.share(lambda s: "busy" in s and s.index("busy") < s.index("on_signal"), inside)
        self.near_share(below, 100, len(inside))

    def test_libraries_that_come_and_go_at_one_address_are_kept_apart(self):
        r = self.measure("dl", "200")
        self.near(r, "plugin_a", 60)
        self.near(r, "plugin_b", 40)

    def test_code_made_at_run_time_has_the_names_of_its_map(self):
        r = self.measure("jit", "400")
        for process in r.table["process"].values():
            self.addCleanup(lambda p=process["pid"]: os.path.exists(f"/tmp/perf-{p}.map")
                            and os.unlink(f"/tmp/perf-{p}.map"))
        self.near(r, "jit_hot", 70)
        self.near(r, "jit_cold", 30)
        self.near(r, "main", 100)

    def test_two_hundred_threads_are_all_there(self):
        r = self.measure("threads", "200", "3000000", samples=200)
        sampled = [s for s in r.samples if "[not sampled]" not in r.stack(s["stack"])]
        self.assertGreater(r.share_with("work", sampled), 50)
        self.assertEqual(r.number("quality.records_lost"), 0)
        if r.meta["rung"] != "in-process":  # which finds threads that live for more than a few milliseconds
            self.assertEqual(len(r.table["thread"]), 201)
        self.assertEqual(len(r.table["process"]), 1)

    def test_five_hundred_started_programs_are_followed(self):
        r = self.measure("forkexec", "500", samples=100)
        self.assertGreater(r.share_with("child_work"), 30)
        self.assertEqual(r.number("quality.records_lost"), 0)
        # a child that was sampled before exec is two commands
        processes = r.table["process"].values()
        self.assertEqual(len({p["pid"] for p in processes}), 501)
        ended = len([p for p in processes if p["end_ns"]])
        # from inside, the end of one that was found when it had executed a program may be unknown
        self.assertGreaterEqual(ended, len(processes) * (0.99 if r.meta["rung"] == "in-process" else 1))


class Commands(Case):
    """A process that executes another program is two commands, each with the CPU time it used."""

    ROUNDS = ("200000000", "100000000")

    def setUp(self):
        super().setUp()
        # names that no other process of the machine has
        self.first, self.other = self.dir / f"one{os.getpid()}", self.dir / f"two{os.getpid()}"
        os.symlink(workload("execs"), self.first)
        os.symlink(workload("execs"), self.other)

    def command(self, how):
        return [str(self.first), how, self.ROUNDS[0], str(self.other), "end", self.ROUNDS[1]]

    def record(self, command, *options):
        path = self.dir / "x.fathom"
        done = fathom("record", "-q", "-F", "1999", "-o", path, *options, "--", *command)
        return path, done.stdout

    def check(self, path, said, *filters):
        """The shares of the commands are those of the CPU times that the program printed."""
        used = {}
        for line in said.splitlines():
            name, ms = line.split()
            used[name] = used.get(name, 0) + float(ms)
        groups = {g["name"]: g for g in report(path, "-b", "command", *filters)["groups"]}
        self.assertEqual(set(groups), set(used))
        whole, n = sum(used.values()), sum(g["samples"] for g in groups.values())
        weight = sum(g["weight"] for g in groups.values())
        facts = report(path)["meta"]  # the distribution of what was not sampled is an estimate
        unsampled = 100 * int(facts.get("quality.unsampled_ns", 0)) / weight
        for name, ms in used.items():
            want, got = 100 * ms / whole, 100 * groups[name]["weight"] / weight
            points = START_UP + unsampled + 4 * math.sqrt(want * (100 - want) / n)
            self.assertLessEqual(abs(got - want), points, f"{name}: {got:.1f} %, not {want:.1f} %")
            alone = report(path, "--command", name)
            self.assertEqual(alone["total"], groups[name]["weight"], name)
        return groups

    def test_exec_keeps_the_command_of_earlier_samples(self):
        path, said = self.record(self.command("exec"))
        self.check(path, said)
        profile = json.loads(fathom("export", path, "--format", "json").stdout)
        self.assertEqual([p["name"] for p in profile["processes"]], [self.first.name, self.other.name])
        self.assertEqual(len({p["pid"] for p in profile["processes"]}), 1)
        self.assertEqual([t["name"] for t in profile["threads"]],
                         [self.first.name, self.other.name])

    def test_exec_in_a_second_thread_keeps_the_command_of_earlier_samples(self):
        self.check(*self.record(self.command("thread")))

    def test_a_child_that_works_before_exec_has_the_command_of_its_parent(self):
        self.check(*self.record(self.command("fork")))

    def test_a_script_is_a_command_of_its_own_name(self):
        script = self.dir / "script"
        script.write_text(f"#!{workload('execs')}\n")
        script.chmod(0o755)
        path, said = self.record([str(self.first), "exec", self.ROUNDS[0], str(script), "end",
                                  self.ROUNDS[1]])
        self.assertIn("script", self.check(path, said))

    def test_a_new_name_of_a_process_leaves_earlier_samples_their_command(self):
        self.check(*self.record([str(self.first), "name", self.ROUNDS[0], "title",
                                 self.ROUNDS[1]]))

    def test_exec_on_the_whole_machine(self):
        need_perf_events(kernel=True, system_wide=True)
        path, said = self.record(self.command("exec"), "-a")
        self.check(path, said, "--command", self.first.name, "--command", self.other.name)

    def test_exec_in_a_perf_data_file(self):
        need("perf")
        need_perf_events()
        path = self.dir / "perf.data"
        done = run("perf", "record", "-q", "-B", "-N", "-F", "1999", "-e", "cpu-clock", "-o", path,
                   *self.command("exec"))
        self.check(path, done.stdout)

    def test_exec_in_the_text_of_perf_script(self):
        need("perf")
        need_perf_events()
        path, text = self.dir / "perf.data", self.dir / "script.txt"
        done = run("perf", "record", "-q", "-B", "-N", "-F", "1999", "-e", "cpu-clock", "-o", path,
                   *self.command("exec"))
        text.write_text(run("perf", "script", "-i", path).stdout)
        self.check(text, done.stdout)

    def test_exports_keep_both_commands(self):
        path, said = self.record(self.command("exec"))
        for form in ("pprof", "firefox", "chrome", "perfetto", "csv"):
            with self.subTest(form):
                out = self.dir / f"x.{form}"
                fathom("export", path, "--format", form, "-o", out)
                content = out.read_bytes()
                content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
                self.assertIn(self.first.name.encode(), content)
                self.assertIn(self.other.name.encode(), content)
        names = [e["args"]["name"] for e in json.loads((self.dir / "x.chrome").read_text())["traceEvents"]
                 if e["ph"] == "M" and e["name"] == "process_name"]
        self.assertEqual(set(names), {f"{self.first.name}, {self.other.name}"})
        self.check(self.dir / "x.pprof", said)


class Accounts(Case):
    """The CPU time of a recording is what the kernel charged to the program."""

    def record_brief(self, *args, options=()):
        need_perf_events(kernel=True)
        path = self.dir / "x.fathom"
        done = fathom("record", "-q", "-o", path, *options, "--", workload("brief"), *args)
        return Recording(path), 1e6 * float(done.stdout), path

    def check_sum(self, r, said_ns):
        """Samples and what was not sampled add up to the time that the program printed."""
        whole = sum(s["weight"] for s in r.of("cpu")) + r.lost_ns()
        # the program does not see its own end; the recorder sees the start of the command, too
        self.assertLess(abs(whole - said_ns), 0.03 * said_ns + 20e6,
                        f"{whole / 1e6:.1f} ms, not {said_ns / 1e6:.1f} ms")
        missed = [s for s in r.of("cpu") if "[not sampled]" in r.stack(s["stack"])]
        self.assertLessEqual(sum(s["weight"] for s in missed), r.number("quality.unsampled_ns"))
        return missed

    def check_rate(self, r, least):
        """LEAST is a share of the requested rate."""
        self.assertLessEqual(r.number("rate_achieved"), r.number("rate_asked"))
        self.assertGreaterEqual(r.number("rate_achieved"), least * r.number("rate_asked"))

    def test_the_cpu_time_of_short_threads_is_complete(self):
        r, said_ns, path = self.record_brief("threads", "3000", "50000")
        missed = self.check_sum(r, said_ns)
        self.assertGreater(len({s["thread"] for s in missed}), 1000)
        self.assertIn("of CPU time was not sampled", fathom("report", path).stdout)

    def test_the_cpu_time_of_short_processes_is_complete(self):
        r, said_ns, path = self.record_brief("forks", "1000", "50000")
        missed = self.check_sum(r, said_ns)
        self.assertGreater(len({s["thread"] for s in missed}), 300)
        self.assertEqual([g["name"] for g in report(path, "-b", "command")["groups"]], ["brief"])

    def test_samples_of_user_space_alone_are_compared_with_user_time(self):
        r, said_ns, _ = self.record_brief("threads", "3000", "200000", options=("--user", "-F", "99"))
        self.assertNotIn("rate_achieved", r.meta)
        # the user time is an estimate of the kernel, for 600,000,000 rounds
        self.assertGreater(r.number("quality.unsampled_ns"), 0.2 * said_ns)
        self.assertLess(r.number("quality.unsampled_ns"), 1.05 * said_ns)

    def test_the_rate_counts_children_that_outlive_the_command(self):
        r, _, _ = self.record_brief("outlive", "100000000")
        self.check_rate(r, 0.5)

    def test_the_rate_counts_children_that_d_ended(self):
        need_perf_events(kernel=True)
        path = self.dir / "x.fathom"
        fathom("record", "-q", "-d", "1", "-o", path, "--", "sh", "-c",
               f"{workload('split')} 1000000 & wait", status=None)
        self.check_rate(Recording(path), 0.5)

    def test_the_rate_leaves_out_children_that_are_not_recorded(self):
        need_perf_events(kernel=True)
        path = self.dir / "x.fathom"
        fathom("record", "-q", "--no-children", "-o", path, "--", "sh", "-c",
               f"{workload('split')} 300; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
        r = Recording(path)
        self.check_rate(r, 0.5)
        self.assertEqual(len(r.table["process"]), 1)

    def test_the_rate_of_a_running_process_is_known(self):
        need_perf_events(kernel=True)
        path = self.dir / "x.fathom"
        with subprocess.Popen([workload("split"), "2000"], stdout=subprocess.DEVNULL) as program:
            fathom("record", "-q", "-p", program.pid, "-o", path)
        self.check_rate(Recording(path), 0.5)

    def test_the_rate_of_the_whole_machine_is_not_claimed(self):
        need_perf_events(kernel=True, system_wide=True)
        path = self.dir / "x.fathom"
        fathom("record", "-q", "-a", "-o", path, "--", workload("split"), "100")
        self.assertNotIn("rate_achieved", Recording(path).meta)
        fathom("flame", path, "-o", self.dir / "x.svg")
        self.assertIn(" 999 Hz", (self.dir / "x.svg").read_text())


if __name__ == "__main__":
    unittest.main()
