"""Import files of other tools: golden samples of each format, and errors of invalid ones."""
import collections
import fractions
import gzip
import json
import math
import os
import pstats
import random
import re
import subprocess
import sys
import unittest

from perfdata_case import everything, samples_of
from support import FATHOM, GOLDEN, Case, fathom, need, need_perf_events, report, rounds, run, workload

sys.path.insert(0, str(GOLDEN))
import make_perfdata  # noqa: E402

GOOD, BAD = GOLDEN / "good", GOLDEN / "bad"


def formats():
    """Names of the formats that `fathom import` lists."""
    return [line.split()[0] for line in fathom("import", "--list").stdout.splitlines()]


def good(name):
    return sorted((GOOD / name).glob("*")) if name != "fathom" else sorted(GOOD.glob("*.fathom"))


def self_by_name(path, *options):
    return {f["name"]: f["self"] for f in report(path, "-n", "0", *options)["functions"]}


def total_by_name(path, *options):
    return {f["name"]: f["total"] for f in report(path, "-n", "0", *options)["functions"]}


class Table(Case):
    def test_every_format_that_is_read_has_good_and_bad_samples(self):
        for name in formats():
            self.assertTrue(good(name), f"no good sample of {name}")
            self.assertTrue(list((BAD / name).glob("*")), f"no bad sample of {name}")

    def test_every_good_sample_has_some_cost(self):
        for name in formats():
            for path in good(name):
                with self.subTest(path=path.name):
                    found = everything(path)
                    self.assertTrue(found["metrics"])
                    self.assertTrue(found["samples"]["weight"])

    def test_every_bad_sample_is_refused_with_a_message(self):
        for path in sorted(BAD.glob("*/*")):
            with self.subTest(path=str(path.relative_to(BAD))):
                done = fathom("report", path, status=1)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.startswith("fathom report: "), done.stderr)
                self.assertLessEqual(len(done.stderr.splitlines()), 2)

    def test_messages_say_where_and_what(self):
        for name, words in (
                ("callgrind/word.callgrind", "line 6: costs that are not numbers"),
                ("callgrind/two-costs.callgrind", "line 5: more costs than there are events"),
                ("callgrind/huge.callgrind", "line 5: a cost that is too large"),
                ("cachegrind/negative.cachegrind", "line 6: costs that are not numbers"),
                ("massif/huge.massif", "line 13: not a node of a massif tree"),
                ("heaptrack/wild.txt", "line [0-9]+: an event refers to an undefined allocation"),
                ("dhat/negative.json", "line 2, at byte 51: a count is negative"),
                ("dhat/word.json", "line 2, at byte [0-9]+: expected a number"),
                ("cpuprofile/number.cpuprofile", "line 2, at byte [0-9]+: expected an object"),
                ("cpuprofile/no-node.cpuprofile", "sample 2 .* missing node 7"),
                ("chrome/negative.json", "line 1, .* invalid time"),
                ("chrome/two.json", "line 2, .* text after the value"),
                ("pstats/cut.prof", "at byte [0-9]+"),
                ("collapsed/utf16.txt", "UTF-16 text"),
                ("collapsed/cut.gz", "the compressed file is truncated")):
            with self.subTest(name):
                self.assertRegex(fathom("report", BAD / name, status=1).stderr, words)

    def test_a_byte_order_mark_and_line_ends_of_windows_change_nothing(self):
        for name in ("callgrind/fg.callgrind", "cachegrind/fg.cachegrind", "dhat/ht.json",
                     "massif/ht.massif", "perf-script/fp.txt", "collapsed/split.txt",
                     "chrome/object.trace.json", "cpuprofile/w.cpuprofile",
                     "speedscope/sampled.speedscope.json"):
            with self.subTest(name):
                path = self.dir / "x"
                text = (GOOD / name).read_bytes()
                path.write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
                self.assertEqual(report(path)["functions"], report(GOOD / name)["functions"])

    def test_truncated_text_is_reported(self):
        for name in ("callgrind/fg.callgrind", "cachegrind/fg.cachegrind", "heaptrack/ht.gz"):
            with self.subTest(name):
                text = (GOOD / name).read_bytes()
                text = gzip.decompress(text) if name.endswith(".gz") else text
                (self.dir / "x").write_bytes(text[:len(text) * 2 // 3])
                self.assertFalse(report(GOOD / name)["damage"])
                self.assertTrue(report(self.dir / "x")["damage"])

    def test_truncated_and_flipped_samples_do_not_crash(self):
        for name in formats():
            for path in good(name)[:1]:
                data = path.read_bytes()
                step = max(1, len(data) // rounds(8, 2000))
                for at in range(0, len(data), step):
                    for variant in (data[:at], data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1:]):
                        bad = self.dir / "bad"
                        bad.write_bytes(variant)
                        done = fathom("report", bad, status=None)
                        self.assertIn(done.returncode, (0, 1), f"{path.name} at {at}")

    def test_an_imported_file_has_the_figures_of_its_source(self):
        for name in formats():
            for path in good(name)[:1]:
                with self.subTest(path=path.name):
                    out = self.dir / "x.fathom"
                    fathom("import", path, "-o", out)
                    a, b = report(path, "-n", "0"), report(out, "-n", "0")
                    self.assertEqual(a["functions"], b["functions"])
                    self.assertEqual(a["total"], b["total"])

    def test_standard_input_is_read_too(self):
        data = (GOOD / "dhat/ht.json").read_bytes()
        with open(GOOD / "dhat/ht.json", "rb") as source:
            done = subprocess.run([FATHOM, "report", "-", "--json"], stdin=source,
                                  capture_output=True, timeout=300, check=True)
        self.assertEqual(json.loads(done.stdout)["total"], 2104096)
        self.assertTrue(data)


class PerfData(Case):
    def test_every_variant_gives_exactly_its_samples(self):
        n = 0
        for name, data, samples in make_perfdata.variants():
            with self.subTest(variant=name):
                path = self.dir / "x.data"
                path.write_bytes(data)
                want = [dict(s, stack=[tuple(x) for x in s["stack"]]) for s in samples]
                self.assertEqual(samples_of(path), want)
            n += 1
        self.assertGreaterEqual(n, 100)

    def test_a_truncated_file_is_reported(self):
        for name, data, _ in make_perfdata.by_damage():
            if not name.startswith("damage-cut") and name != "damage-unfinished":
                continue
            path = self.dir / "x.data"
            path.write_bytes(data)
            self.assertTrue(report(path)["damage"], name)

    def check_metrics(self, r, want):
        path = self.dir / "x.data"
        squeezed = make_perfdata.packed(r.stream(), 81, 137) or r.stream()
        for form, data in (("file", r.file()), ("pipe", r.pipe()), ("packed", r.file(squeezed))):
            path.write_bytes(data)
            with self.subTest(form=form):
                self.assertEqual([m["name"] for m in everything(path)["metrics"]], want)

    def test_metrics_have_the_order_of_the_events(self):
        m = make_perfdata
        r = m.Recording((m.CPU_CLOCK, m.CYCLES, m.FAULTS, m.TRACE), m.BASE | m.CALLCHAIN | m.ID)
        r.name("prog")
        r.map()
        r.add(14, b"", 1 << 13, time=5)
        r.add(14, b"", 0, time=7)
        for i, event in enumerate((3, 2, 0, 2)):  # none of event 1
            r.sample([m.LEAF, m.ROOT], event, time=10 + i)
            r.round()
        self.check_metrics(r, ["cpu", "page-faults", "sched:sched_switch", "wait"])

    def test_metrics_of_a_group_have_the_order_of_the_events(self):
        m = make_perfdata
        r = m.Recording((m.CYCLES, m.FAULTS, m.TRACE), m.BASE | m.CALLCHAIN | m.READ | m.IDENTIFIER,
                        read_format=12)
        r.name("prog")
        r.map()
        for i, values in enumerate(((0, 0, 3), (0, 0, 4), (5, 0, 4))):
            r.sample([m.LEAF, m.ROOT], time=10 + i,
                     values=[(r.id_of(k), v) for k, v in enumerate(values)])
            r.round()
        self.check_metrics(r, ["cycles", "sched:sched_switch"])

    def test_losses_are_reported(self):
        data = {n: d for n, d, _ in make_perfdata.by_records()}["records-others-file"]
        path = self.dir / "x.data"
        path.write_bytes(data)
        meta = everything(path)["meta"]
        self.assertEqual(meta["quality.lost"], "13")
        self.assertEqual(meta["quality.throttled"], "1")
        self.assertEqual(meta["command"], "perf record")

    def test_losses_that_perf_repeats_at_the_end_count_once(self):
        """A full ring reports its losses under the id of any event; perf adds them up per event."""
        path = self.dir / "x.data"
        for totals, lost in (((), 15), ((11, 6), 20), ((11,), 14)):
            r = make_perfdata.usual(make_perfdata.Recording())
            r.add(2, make_perfdata.u64(100, 7), time=30)
            r.add(2, make_perfdata.u64(100, 5), time=31)
            r.add(13, make_perfdata.u64(3), time=32)         # lost by the hardware
            for n in totals:
                r.add(13, make_perfdata.u64(n))
            r.add(13, make_perfdata.u64(1000), misc=1 << 15)  # rejected by a filter
            for form in ("file", "pipe"):
                path.write_bytes(getattr(r, form)())
                self.assertEqual(everything(path)["meta"]["quality.lost"], str(lost), (totals, form))

    def test_the_machine_type_is_recorded(self):
        """Without it, code of another machine would be disassembled as code of this one."""
        path = self.dir / "x.data"
        for machine in ("x86_64", "aarch64"):
            for form in ("file", "pipe"):
                r = make_perfdata.usual(make_perfdata.Recording())
                r.machine = machine
                path.write_bytes(getattr(r, form)())
                self.assertEqual(everything(path)["meta"]["arch"], machine)

    def test_switch_records_become_waiting_time(self):
        path = self.dir / "x.data"
        path.write_bytes(make_perfdata.with_a_wait().file())
        found = everything(path)
        off = [i for i, m in enumerate(found["metrics"], 1) if m["name"] == "wait"]
        self.assertEqual(len(off), 1)
        weights = [w for w, m in zip(found["samples"]["weight"], found["samples"]["metric"])
                   if m == off[0]]
        self.assertEqual(weights, [5000])

    def perf(self, *options, program="split-fp", rounds="300"):
        """Record a workload with perf, only to create the file."""
        need("perf")
        need_perf_events()
        path = self.dir / "perf.data"
        env = {"HOME": str(self.dir), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
        done = run("perf", "record", "-N", "-q", "-e", "cpu-clock:u", "-F", "999", *options,
                   "-o", path, workload(program), rounds, env=env, status=None)
        if done.returncode < 0:  # perf 6.12 overruns its stack now and then (build_id__init)
            self.skipTest(f"perf itself crashed: {done.stderr.strip()}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def check_split(self, path):
        """70 % of split is in one() and its callees, 30 % in two()."""
        found = report(path, "-n", "0")
        self.assertGreater(found["samples"], 100)
        total = {f["name"]: f["total_pct"] for f in found["functions"]}
        points = 1 + 4 * math.sqrt(70 * 30 / found["samples"])  # start-up, four standard deviations
        self.assertAlmostEqual(total.get("one", 0), 70, delta=points)
        self.assertAlmostEqual(total.get("two", 0), 30, delta=points)
        return found

    def test_a_recording_with_frame_pointers(self):
        found = report(self.perf("--call-graph", "fp"), "-n", "0")
        total = {f["name"]: f["total_pct"] for f in found["functions"]}
        # spin() is a leaf without a frame, so frame pointers skip its caller.
        self.assertGreater(total.get("spin", 0), 90)
        self.assertGreater(total.get("main", 0), 90)

    def test_a_recording_with_stack_copies_is_unwound(self):
        found = self.check_split(self.perf("--call-graph", "dwarf,8192", program="split"))
        complete = float(found["meta"]["quality.complete"])
        self.assertGreater(complete, 0.9 * found["samples"])

    def test_a_compressed_recording(self):
        need("perf")
        if not re.search(r"zstd: \[ *on", run("perf", "version", "--build-options").stdout):
            self.skipTest("perf was built without zstd")
        self.check_split(self.perf("-z", "--call-graph", "dwarf,4096", program="split"))

    def test_text_of_perf_script(self):
        path = self.perf("--call-graph", "fp")
        env = {"HOME": str(self.dir), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
        text = self.dir / "script.txt"
        text.write_text(run("perf", "script", "--no-inline", "-i", path, env=env).stdout)
        self.assertIn("spin+0x", text.read_text())
        ours, theirs = report(path, "-n", "0"), report(text, "-n", "0")
        self.assertEqual(ours["total"], theirs["total"])
        self.assertEqual(ours["samples"], theirs["samples"])


class Texts(Case):
    def test_perf_script_lines(self):
        path = GOOD / "perf-script/fp.txt"
        p = everything(path)
        self.assertEqual([m["name"] for m in p["metrics"]], ["cpu", "cycles:u"])
        self.assertEqual([t["name"] for t in p["threads"]], ["demo prog", "demo prog"])
        self.assertEqual([t["tid"] for t in p["threads"]], [1235, 1236])
        self.assertEqual(p["samples"]["start_ns"],
                         [100000001000 - 1001001, 100001002000 - 1001001, 100002003000])
        self.assertEqual(p["samples"]["duration_ns"], [1001001, 1001001, 0])
        self.assertEqual(p["samples"]["cpu"], [1, 0, 0])
        self.assertIn("/usr/lib/libx (odd name).so", [m["path"] for m in p["modules"]])
        self.assertEqual(total_by_name(path, "-m", "cycles:u"),
                         {"hash": 2, "spin(int, char const*)": 2, "main": 2})


class Valgrind(Case):
    def test_dhat_sums_agree_with_its_json(self):
        path = GOOD / "dhat/ht.json"
        points = json.loads(path.read_text())["pps"]
        for metric, key in (("alloc", "tb"), ("allocs", "tbk"), ("peak", "gb"), ("live", "eb"),
                            ("lifetime", "tl")):
            self.assertEqual(report(path, "-m", metric)["total"], sum(p[key] for p in points))
        self.assertEqual(total_by_name(path, "-m", "live")["leak"], 100000)

    def test_massif_gives_the_peak_and_the_heap_over_time(self):
        path = GOOD / "massif/ht.massif"
        text = path.read_text()
        heap = [int(line[11:]) for line in text.splitlines() if line.startswith("mem_heap_B=")]
        p = everything(path)
        values = [v for v, n in zip(p["counters"]["value"], p["counters"]["name"]) if n == "heap"]
        self.assertEqual(values, heap)
        self.assertEqual(self_by_name(path), {"main": 1000000, "leak": 100000})
        self.assertEqual(total_by_name(path)["main"], 1100000)

    def test_callgrind_costs_are_exact(self):
        for name in ("fg.callgrind", "fg-instr.callgrind"):
            path = GOOD / "callgrind" / name
            mine, total = self_by_name(path), total_by_name(path)
            self.assertEqual(sum(mine.values()), 60345)
            self.assertEqual(mine["spin"], 60120)
            self.assertEqual(total["main"], 60345)
            # one() calls spin for seven units of work, two() for three
            self.assertAlmostEqual(total["one"] / 60345, 0.70, delta=0.01)
            self.assertAlmostEqual(total["two"] / 60345, 0.30, delta=0.01)

    def test_callgrind_annotate_agrees(self):
        need("callgrind_annotate")
        path = GOOD / "callgrind/fg.callgrind"
        done = run("callgrind_annotate", "--threshold=100", "--auto=no", path)
        for name, cost in self_by_name(path).items():
            if cost and name in ("spin", "one", "two", "main"):
                self.assertIn(f"{cost:,}", done.stdout)

    def test_callgrind_keeps_the_lines_of_inlined_code(self):
        path = self.dir / "inlined.callgrind"
        path.write_text("events: Ir\nfl=(1) a.c\nfn=(1) main\n5 10\nfi=(2) b.h\n7 20\n+1 30\n"
                        "cfn=(2) leaf\ncalls=1 1\n8 100\nfe=(1)\n6 40\n\nfl=(2)\nfn=(2)\n1 100\n")
        rows = report(path, "-n", "0", "--by", "line")["functions"]
        self.assertEqual({(f["name"], f["file"], f["line"]): f["self"] for f in rows if f["self"]},
                         {("main", "a.c", 5): 10, ("main", "a.c", 6): 40, ("main", "b.h", 7): 20,
                          ("main", "b.h", 8): 30, ("leaf", "b.h", 1): 100})
        total = {(f["name"], f["file"]): f["total"] for f in report(path, "-n", "0")["functions"]}
        self.assertEqual(total, {("main", "a.c"): 200, ("main", "b.h"): 150, ("leaf", "b.h"): 100})

    def test_totals_of_functions_and_calls_agree_with_callgrind(self):
        """A graph with more paths than the importer separates, and without recursion."""
        rng = random.Random(7)
        n, whole, text = 400, {}, []
        for f in reversed(range(n)):
            own = rng.randint(0, 999)
            calls = [rng.randrange(f + 1, n) for _ in range(6)] if f < n - 1 else []
            text.append((f, own, calls))
        times = collections.Counter({0: 1000})
        share = {}
        for f, own, calls in reversed(text):  # callers first: the number of calls
            share[f] = [(c, rng.randint(0, times[f])) for c in calls] if times[f] else []
            for c, k in share[f]:
                times[c] += k
        for f, own, _ in text:  # callees first: the total cost of one call, as a fraction
            whole[f] = fractions.Fraction(own)
            if times[f]:
                whole[f] += sum(whole[c] * k for c, k in share[f]) / times[f]
        scale = 10**9 / whole[0] / 1000
        lines = ["events: Ir"]
        for f, own, _ in text:
            lines += [f"fn=f{f}", f"1 {round(own * times[f] * scale)}"]
            for i, (c, k) in enumerate(share[f]):
                lines += [f"cfn=f{c}", f"calls={k} 1", f"{i + 2} {round(whole[c] * k * scale)}"]
        path = self.dir / "ways.callgrind"
        path.write_text("\n".join(lines) + "\n")
        total = total_by_name(path)
        for f in range(n):
            self.assertAlmostEqual(total.get(f"f{f}", 0) / 1e9,
                                   float(whole[f] * times[f] * scale) / 1e9, delta=1e-5)

    def test_cachegrind_costs_agree_with_its_summary(self):
        path = GOOD / "cachegrind/fg.cachegrind"
        lines = path.read_text().splitlines()
        events = next(line for line in lines if line.startswith("events: ")).split()[1:]
        sums = [int(x) for x in lines[-1].split()[1:]]
        for event, value in zip(events, sums):
            if value:
                self.assertEqual(report(path, "-m", event)["total"], value)


class PerfScript(Case):
    def test_every_choice_of_fields_gives_the_same_stacks(self):
        frames = "\t    401136 leaf+0x6 (/bin/x)\n\t    401200 main+0x10 (/bin/x)\n\n"
        for head in ("my prog  10/11 [001] 5.000001:     250000 cpu-clock: ",
                     "my prog    11 5.000001:  cpu-clock: ", "my prog  10/11  5.000001: ",
                     "my prog    11     250000 cpu-clock: ", "my prog    11 cpu-clock: ",
                     "my prog  10/11 ", "my prog "):
            with self.subTest(head=head):
                path = self.dir / "x.txt"
                path.write_text("# a comment\n" + (head + "\n" + frames) * 3)
                found = report(path, "-n", "0")
                self.assertEqual(found["samples"], 3)
                self.assertEqual(found["metric"]["unit"],
                                 "ns" if "250000" in head else "samples")
                self.assertEqual({f["name"]: f["self_pct"] for f in found["functions"]},
                                 {"leaf": 100, "main": 0})

    def test_samples_without_frames_count(self):
        frames = "\t    401136 leaf\n\t    401200 main\n"
        for head in ("my prog  10/11  5.000001: ", "my prog    11 cpu-clock: ", "my prog  10/11 ",
                     "my prog    11 ", "my prog "):
            for end in ("\n", "\r\n"):
                with self.subTest(head=head, end=end):
                    path = self.dir / "x.txt"
                    text = f"{head}\n\n{head}\n{frames}\n{head}\n\n{head}\n{frames}\n"
                    if ":" in head:  # one of these lines is enough to recognize the format
                        text += "a remark \n\n"
                    path.write_bytes(text.replace("\n", end).encode())
                    self.assertEqual(report(path)["samples"], 4)
                    self.assertEqual(self_by_name(path).get("leaf"), 2)

    def test_only_inlined_lines_of_the_same_address_belong_to_a_frame(self):
        """perf names code by an inlined function alone if that is its symbol."""
        path = self.dir / "x.txt"
        path.write_text("x 1 5.000001:     100 cycles: \n"
                        "\t  1190 memcpy+0x8 (inlined)\n"
                        "\t  1198 inner+0x28 (inlined)\n\t  1198 mid+0x28 (inlined)\n"
                        "\t  1198 outer+0x28 (/bin/x)\n"
                        "\t 27310 start_in+0x84 (inlined)\n\t 27310 start+0x84 (inlined)\n\n")
        p = everything(path)
        name = [f["name"] for f in p["functions"]]
        chains = [[name[function - 1] for function, _ in f["locations"]] for f in p["frames"]]
        modules = [p["modules"][f["module"] - 1]["path"] if f["module"] else "" for f in p["frames"]]
        self.assertEqual(chains, [["memcpy"], ["outer", "mid", "inner"], ["start", "start_in"]])
        self.assertEqual(modules, ["", "/bin/x", ""])

    def test_samples_of_one_line_and_other_records(self):
        path = self.dir / "x.txt"
        path.write_text("x     0 [000]     0.000000: PERF_RECORD_COMM: x:1/1\n"
                        "x    11     0.000000: PERF_RECORD_SWITCH OUT\n"
                        "    x    11  5.000001:     250000 cpu-clock:   401136 leaf (/bin/x)\n"
                        "   dd    12  5.000002:     250000 cpu-clock:  0  0  401136 add (/bin/x)  0\n")
        self.assertEqual(self_by_name(path), {"leaf": 250000, "add": 250000})


class Others(Case):
    def test_dhat_names_what_its_mode_counts(self):
        path = self.dir / "dhat.json"
        for mode, names in (("heap", ("alloc", "allocs")), ("copy", ("copied", "copies")),
                            ("ad-hoc", ("units", "events"))):
            path.write_text(json.dumps({"dhatFileVersion": 2, "mode": mode, "pps": [
                {"tb": 30, "tbk": 3, "fs": [1]}], "ftbl": ["[root]", "0x1: f (a.c:3)"]}))
            for name, total in zip(names, (30, 3)):
                self.assertEqual(report(path, "-m", name)["total"], total)

    def heaptrack(self):
        """(calls, leaked bytes, peak bytes) counted from the events."""
        text = gzip.decompress((GOOD / "heaptrack/ht.gz").read_bytes()).decode()
        sizes, live, peak, calls = [], 0, 0, 0
        for line in text.splitlines():
            word = line.split()
            if line.startswith("a "):
                sizes.append(int(word[1], 16))
            elif line.startswith("+ "):
                calls += 1
                live += sizes[int(word[1], 16)]
                peak = max(peak, live)
            elif line.startswith("- "):
                live -= sizes[int(word[1], 16)]
        return calls, live, peak

    def test_heaptrack_counts_agree_with_its_events(self):
        calls, live, peak = self.heaptrack()
        for name in ("ht.gz", "ht.zst"):
            path = GOOD / "heaptrack" / name
            self.assertEqual(report(path, "-m", "allocs")["total"], calls)
            self.assertEqual(report(path, "-m", "live")["total"], live)
            self.assertEqual(report(path, "-m", "peak")["total"], peak)
            self.assertEqual(self_by_name(path, "-m", "live")["leak"], 100000)

    def test_pstats_agrees_with_python(self):
        path = GOOD / "pstats/w.prof"
        stats = pstats.Stats(str(path)).stats
        mine, calls = self_by_name(path), self_by_name(path, "-m", "calls")
        want, count = collections.Counter(), collections.Counter()
        for (_, _, name), (_, nc, tt, _, _) in stats.items():
            want[name] += round(tt * 1e9)
            count[name] += nc
        for name, ns in want.items():
            self.assertEqual(mine.get(name, 0), ns, name)
            self.assertEqual(calls.get(name, 0), count[name], name)
        total = total_by_name(path)
        ct = {name: v[3] for (_, _, name), v in stats.items()}
        for name in ("one", "two", "main"):
            self.assertAlmostEqual(total[name] / 1e9, ct[name], delta=ct["main"] * 0.002)

    def test_cpuprofile_times_agree_with_its_deltas(self):
        path = GOOD / "cpuprofile/w.cpuprofile"
        p = json.loads(path.read_text())
        found = report(path, "-n", "0")
        whole = (p["endTime"] - p["startTime"] - p["timeDeltas"][0]) * 1000
        self.assertAlmostEqual(found["total"], whole, delta=whole * 0.05)
        total = {f["name"]: f["total_pct"] for f in found["functions"]}
        self.assertGreater(total["spin"], 50)

    def test_pprof_of_go(self):
        found = report(GOOD / "pprof/cpu.pb.gz", "-n", "0")
        self.assertEqual((found["metric"]["name"], found["total"]), ("cpu", 200000000))
        self.assertEqual(found["samples"], 20)
        heap = everything(GOOD / "pprof/heap.pb.gz")
        self.assertEqual([m["name"] for m in heap["metrics"]],
                         ["inuse_space", "alloc_objects", "alloc_space", "inuse_objects"])

    def test_go_reads_the_same_figures_from_pprof(self):
        need("go")
        path = GOOD / "pprof/cpu.pb.gz"
        done = run("go", "tool", "pprof", "-top", "-unit=ns", path,
                   env=dict(os.environ, PPROF_TMPDIR=str(self.dir)))
        for name, ns in self_by_name(path).items():
            if ns:
                self.assertRegex(done.stdout, rf"\b{ns}ns .*{name}")

    def test_speedscope_samples_and_events(self):
        path = GOOD / "speedscope/sampled.speedscope.json"
        self.assertEqual(self_by_name(path), {"spin": 9500000, "main": 500000, "one": 0, "two": 0})
        self.assertEqual(self_by_name(path, "-m", "memory")["one"], 100)
        evented = GOOD / "speedscope/evented.speedscope.json"
        self.assertEqual(self_by_name(evented), {"main": 15000, "work": 15000})

    def test_traces_become_spans_and_self_times(self):
        for name in ("object.trace.json", "open-array.trace.json"):
            path = GOOD / "chrome" / name
            self.assertEqual({n: v for n, v in self_by_name(path).items() if v},
                             {"frame": 29750, "draw": 20250, "load": 12000, "read": 8000})
            p = everything(path)
            self.assertEqual(len(p["spans"]["name"]), 5)
            self.assertEqual(p["counters"]["value"], [4096, 8192])
            self.assertIn("pass 1", p["spans"]["detail"])
            self.assertEqual([t["name"] for t in p["threads"]], ["main", ""])


if __name__ == "__main__":
    unittest.main()
