"""Exports: check each format with an independent reader."""
import csv
import gzip
import io
import json
import os
import pathlib
import pstats
import re
import shutil
import subprocess
import unittest
import xml.dom.minidom

import foreign
from support import GOLDEN, SOURCE, Case, fathom, need, report, run, workload

GOOD = GOLDEN / "good"
NOTHING = SOURCE / "fuzz/corpus/dhat/no-points"  # a profile without a single sample
# Profiles to export: samples with times, several metrics, spans and counters, exact costs.
INPUTS = ["perf.data/events-three-both-file.data", "perf-script/fp.txt",
          "speedscope/sampled.speedscope.json", "chrome/object.trace.json", "dhat/ht.json",
          "callgrind/fg.callgrind", "pstats/w.prof", "cpuprofile/w.cpuprofile",
          "v1-every-record.fathom"]

CALL_GRAPHS = ("callgrind", "pstats")


def written():
    """(name, extension) of each format that `fathom export` lists."""
    for line in fathom("export", "--list").stdout.splitlines():
        words = line.split()
        yield words[0], words[1] if words[1].startswith(".") else ""


class Export(Case):
    def export(self, source, name, *options):
        out = self.dir / f"out-{name}"
        fathom("export", source, "--format", name, "-o", out, *options)
        return out

    def figures(self, source, *options):
        found = report(source, "-n", "0", *options)
        return found, {f["name"]: f["self"] for f in found["functions"] if f["self"]}


class Table(Export):
    def test_every_format_writes_every_profile(self):
        for name, _ in written():
            for source in INPUTS:
                with self.subTest(format=name, source=source):
                    self.assertGreater(self.export(GOOD / source, name).stat().st_size, 0)

    def test_the_format_follows_from_the_extension(self):
        for name, extension in written():
            if not extension:
                continue
            by_name = self.export(GOOD / "collapsed/split.txt", name).read_bytes()
            out = self.dir / ("x" + extension)
            fathom("export", GOOD / "collapsed/split.txt", "-o", out)
            self.assertEqual(out.read_bytes(), by_name, name)

    def both_ways(self):
        """(name, source, once, twice): an export, and an export of its import."""
        read = {line.split()[0] for line in fathom("import", "--list").stdout.splitlines()}
        for name, _ in written():
            for source in INPUTS if name in read else ():
                once = shutil.copy(self.export(GOOD / source, name), self.dir / "once")
                yield name, source, once, self.export(once, name)

    def test_a_round_trip_loses_nothing(self):
        """Import and export of our own files changes nothing.  Call graphs contain less than
        stacks; for them, the self cost of every function stays the same."""
        for name, source, once, twice in self.both_ways():
            if name == "speedscope" and source.startswith("v1"):
                continue  # weights have 64 bits, JSON numbers 53
            with self.subTest(format=name, source=source):
                if name not in CALL_GRAPHS:
                    self.assertEqual(twice.read_bytes(), once.read_bytes())
                    continue
                self.assertEqual(self.figures(twice)[1], self.figures(once)[1])
                a, b = ({f["name"]: f["total_pct"] for f in report(x, "-n", "0")["functions"]}
                        for x in (once, twice))
                for function in a:
                    self.assertAlmostEqual(a[function], b[function], delta=0.5, msg=function)

    def test_a_format_that_is_not_written_is_refused(self):
        done = fathom("export", GOOD / "dhat/ht.json", "--format", "dhat", status=2)
        self.assertIn("fathom can read", done.stderr)
        done = fathom("export", GOOD / "dhat/ht.json", "--format", "nonsense", status=2)
        self.assertIn("unknown format", done.stderr)

    def test_a_failed_export_keeps_the_old_file(self):
        out = self.dir / "kept"
        out.write_text("kept")
        fathom("export", NOTHING, "--format", "pstats", "-o", out, status=1)
        self.assertEqual(out.read_text(), "kept")
        self.assertEqual([p.name for p in self.dir.iterdir()], ["kept"])

    def test_a_device_is_neither_removed_nor_replaced(self):
        link = self.dir / "device"
        link.symlink_to("/dev/null")
        fathom("export", NOTHING, "--format", "pstats", "-o", link, status=1)
        fathom("export", GOOD / "collapsed/split.txt", "--format", "csv", "-o", link)
        fathom("import", GOOD / "collapsed/split.txt", "-o", link)
        fathom("stat", "-o", link, "true")
        self.assertTrue(link.is_symlink() and link.is_char_device())
        self.assertEqual([p.name for p in self.dir.iterdir()], ["device"])

    def test_collapsed_stacks_count_samples_that_were_taken_evenly(self):
        even = self.export(GOOD / "pprof/cpu.pb.gz", "collapsed", "-m", "cpu").read_text()
        figures = [int(line.split()[-1]) for line in even.splitlines()]
        self.assertEqual(sum(figures), report(GOOD / "pprof/cpu.pb.gz")["samples"])
        uneven = self.export(GOOD / "cpuprofile/w.cpuprofile", "collapsed")
        self.assertEqual(report(uneven)["total"], report(GOOD / "cpuprofile/w.cpuprofile")["total"])
        exact = self.export(GOOD / "dhat/ht.json", "collapsed", "-m", "alloc")
        self.assertEqual(report(exact)["total"], report(GOOD / "dhat/ht.json", "-m", "alloc")["total"])

    def test_filters_apply(self):
        out = self.export(GOOD / "collapsed/split.txt", "collapsed", "--function", "one")
        self.assertEqual(out.read_text(), "main;one;spin 70\n")


class Pprof(Export):
    SOURCES = ["perf-script/fp.txt", "speedscope/sampled.speedscope.json", "dhat/ht.json",
               "callgrind/fg.callgrind", "cpuprofile/w.cpuprofile", "pprof/cpu.pb.gz"]

    def setUp(self):
        super().setUp()
        self.env = dict(os.environ, PPROF_TMPDIR=str(self.dir))

    def go(self, output, found, path):
        """Run pprof for one OUTPUT; it accepts only one per call."""
        return run("go", "tool", "pprof", output, "-nodefraction=0", "-nodecount=100000",
                   "-sample_index=" + found["metric"]["name"], path, env=self.env).stdout

    def test_go_finds_the_same_self_costs(self):
        need("go")
        for source in self.SOURCES:
            found, mine = self.figures(GOOD / source)
            raw = self.go("-raw", found, self.export(GOOD / source, "pprof"))
            theirs = foreign.pprof_raw_self(raw, found["metric"]["name"])
            self.assertEqual(theirs, mine, source)

    def test_go_ranks_functions_alike(self):
        need("go")
        for source in self.SOURCES:
            found, _ = self.figures(GOOD / source)
            top = self.go("-top", found, self.export(GOOD / source, "pprof"))
            theirs = foreign.pprof_top(top)
            names = [f["name"] for f in found["functions"]]
            self.assertEqual(theirs.keys(), set(names), source)
            for f in found["functions"]:
                if names.count(f["name"]) > 1:
                    continue  # pprof merges functions of the same name
                # pprof rounds shares, and prints 100 from 99.95 on
                for a, b in zip(theirs[f["name"]], (f["self_pct"], f["total_pct"])):
                    self.assertAlmostEqual(a, b, delta=0.06, msg=f"{source}: {f['name']}")

    def test_protoc_can_decode_it(self):
        need("protoc")
        out = self.export(GOOD / "v1-every-record.fathom", "pprof")
        done = subprocess.run(["protoc", "--decode_raw"], input=gzip.decompress(out.read_bytes()),
                              capture_output=True, check=True, timeout=300)
        fields = [f for f, _ in foreign.decoded(done.stdout.decode(errors="replace").splitlines())]
        self.assertLessEqual(set(fields), set(range(1, 16)))
        self.assertIn(2, fields)


class Speedscope(Export):
    def test_it_keeps_the_rules_of_the_schema(self):
        for source in INPUTS:
            data = json.loads(self.export(GOOD / source, "speedscope").read_text())
            self.assertEqual(foreign.speedscope(data), [], source)

    def test_weights_agree_with_the_report(self):
        for source in INPUTS[:4]:
            found, mine = self.figures(GOOD / source)
            data = json.loads(self.export(GOOD / source, "speedscope").read_text())
            frames, theirs = data["shared"]["frames"], {}
            for p in data["profiles"]:
                if p["name"].split(": ")[0] != found["metric"]["name"]:
                    continue
                for stack, weight in zip(p["samples"], p["weights"]):
                    name = frames[stack[-1]]["name"]
                    theirs[name] = theirs.get(name, 0) + weight
            self.assertEqual(theirs, mine, source)


class Json(Export):
    def test_the_firefox_profile_keeps_the_rules(self):
        for source in INPUTS:
            data = json.loads(self.export(GOOD / source, "firefox").read_text())
            self.assertEqual(foreign.firefox(data), [], source)

    def test_the_firefox_profile_has_the_same_weights(self):
        for source in INPUTS[:3]:
            found, mine = self.figures(GOOD / source)
            theirs = foreign.firefox_self(
                json.loads(self.export(GOOD / source, "firefox").read_text()))
            scale = 1e6 if found["metric"]["unit"] == "ns" else 1
            self.assertEqual({n: round(w * scale) for n, w in theirs.items()}, mine, source)

    def test_calls_of_the_chrome_trace_nest(self):
        for source in INPUTS:
            data = json.loads(self.export(GOOD / source, "chrome").read_text())
            self.assertEqual(foreign.chrome(data), [], source)

    def test_the_chrome_trace_lasts_as_long_as_the_samples(self):
        source = GOOD / "speedscope/sampled.speedscope.json"
        data = json.loads(self.export(source, "chrome", "-m", "time").read_text())
        spin = sum(e["dur"] for e in data["traceEvents"] if e["ph"] == "X" and e["name"] == "main")
        self.assertAlmostEqual(spin, 10000, delta=1)

    def test_the_json_tables_hold_everything(self):
        for source in INPUTS:
            p = json.loads(self.export(GOOD / source, "json").read_text())
            found = report(GOOD / source)
            number = [m["name"] for m in p["metrics"]].index(found["metric"]["name"]) + 1
            weights = [w for w, m in zip(p["samples"]["weight"], p["samples"]["metric"])
                       if m == number]
            self.assertEqual(sum(weights), found["total"], source)
            lengths = {len(c) for c in p["samples"].values()}
            self.assertEqual(len(lengths), 1)

    def test_csv_adds_up(self):
        for source in INPUTS:
            text = self.export(GOOD / source, "csv").read_bytes().decode()
            rows = list(csv.reader(io.StringIO(text, newline="")))
            found = report(GOOD / source)
            column = next(i for i, title in enumerate(rows[0]) if i > 4 and
                          title.split(" (")[0] == found["metric"]["name"])
            self.assertEqual(sum(int(r[column]) for r in rows[1:]), found["total"], source)
            self.assertEqual({len(r) for r in rows}, {len(rows[0])})


class Recorded(Export):
    def totals(self, path, metric):
        """{function: ns} of all samples, including notes of waits."""
        p, out = json.loads(self.export(path, "json").read_text()), {}
        wanted = [m["name"] for m in p["metrics"]].index(metric) + 1
        samples = p["samples"]
        for number, stack, weight in zip(samples["metric"], samples["stack"], samples["weight"]):
            names = set()
            while stack and number == wanted:
                frame = p["frames"][p["stacks"]["frame"][stack - 1] - 1]
                names |= {p["functions"][f - 1]["name"] for f, _ in frame["locations"]}
                stack = p["stacks"]["parent"][stack - 1]
            for name in names:
                out[name] = out.get(name, 0) + weight
        return out

    def test_calls_last_as_long_as_the_report_says(self):
        path = self.record(workload("waits"), options=["--wall"])
        found = {f["name"]: f["total"] for f in report(path, "-n", "0", "-m", "cpu")["functions"]}
        self.assertEqual(self.totals(path, "cpu").get("do_compute"), found.get("do_compute"))
        cpu, wait = (self.totals(path, metric) for metric in ("cpu", "wait"))
        both = {name: cpu.get(name, 0) + wait.get(name, 0) for name in {*cpu, *wait}}
        for mine, options in ((cpu, ["-m", "cpu"]), (wait, ["-m", "wait"]), (both, [])):
            theirs = foreign.chrome_totals(
                json.loads(self.export(path, "chrome", *options).read_text()))
            # frames without a name are named after their address there
            self.assertEqual({name: theirs.get(name) for name in mine}, mine, options)


class Difficult(Export):
    """Difficult profiles in every format, read by Python's own readers."""
    NAMES = ['a"b', "new\nline", "semi;colon", "nul\0x", "</script>", "tab\there", "\u2028", "\ud800", "", "x" * 5000,
             " before", "after ", "(cycle)", "a,b", "fn=(1)", "k_[k]", "=1+1", "end 12", "\uffff"]

    def sources(self):
        shared = {"frames": [{"name": n} for n in self.NAMES]}

        def speedscope(name, unit, weights):
            path, n = self.dir / name, len(self.NAMES)
            profile = {"type": "sampled", "name": 'n;"', "unit": unit, "startValue": 0,
                       "endValue": sum(weights), "weights": weights,
                       "samples": [[i % n, (i + 1) % n] for i in range(len(weights))]}
            path.write_text(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
                                        "shared": shared, "profiles": [profile]}))
            return path
        yield speedscope("names", "nanoseconds", [1000] * len(self.NAMES))
        yield speedscope("negative", "bytes", [50, -30, -10])
        for name, data in (("huge", b"main;a %d\nmain;b;c %d\n" % (2**60, 2**53 + 1)),
                           ("largest", b"main;a %d\nmain;b %d\nmain;c 5\n" % (2**63 - 1, 2**63 - 1)),
                           ("bytes", b"ma\xffin;a\xc3;b\xed\xa0\x80 5\nmain;x\x01y 3\nm;\xef\xbf\xbf\xf4\x90 3\n"),
                           ("none", b"main;a 0\n")):
            (self.dir / name).write_bytes(data)
            yield self.dir / name

    def read(self, name, path):
        """Read an export in format NAME with a strict reader."""
        data = path.read_bytes()
        if name == "pstats":
            pstats.Stats(str(path))
        elif name == "svg":
            xml.dom.minidom.parseString(data)
        elif name in ("speedscope", "chrome", "json", "firefox"):
            found = json.loads(data.decode(), parse_constant=self.fail)
            if name == "speedscope":  # speedscope fails on negative weights
                self.assertTrue(all(w > 0 for p in found["profiles"] for w in p["weights"]))
        elif name == "csv":
            rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
            self.assertEqual({len(r) for r in rows}, {len(rows[0])})
        elif name in ("html", "collapsed", "callgrind"):
            data.decode()

    def test_every_format_can_be_read(self):
        for source in self.sources():
            for name, _ in written():
                with self.subTest(source=source.name, format=name):
                    out = self.dir / "out"
                    done = fathom("export", source, "--format", name, "-o", out, status=None)
                    if done.returncode:  # Python's pstats refuses an empty file
                        self.assertEqual((name, source.name), ("pstats", "none"), done.stderr)
                        continue
                    self.read(name, out)

    def test_totals_survive_where_the_format_is_read_back(self):
        for source in self.sources():
            for name in ("fathom", "pprof"):
                out = self.export(source, name)
                if source.name != "none":
                    self.assertEqual(report(out)["total"], report(source)["total"], (source.name, name))


class Firefox(Export):
    """The command-line version of the Firefox Profiler reads our exports.

    FATHOM_FIREFOX names the directory of the npm package @firefox-devtools/profiler-cli.  It needs
    node 24 or later, from the neighboring node_modules/.bin or from PATH."""

    def setUp(self):
        super().setUp()
        folder = pathlib.Path(os.environ.get("FATHOM_FIREFOX", "/nonexistent"))
        program = folder / "dist/profiler-cli.js"
        if not program.exists():
            raise unittest.SkipTest("FATHOM_FIREFOX does not name the profiler's command line")
        beside = folder.parent.parent / ".bin/node"
        node = str(beside) if beside.exists() else shutil.which("node")
        if not node or int(run(node, "--version").stdout.lstrip("v").split(".")[0]) < 24:
            raise unittest.SkipTest("the profiler's command line needs node 24")
        self.command = [node, program]
        self.env = dict(os.environ, HOME=str(self.dir), PROFILER_CLI_SESSION_DIR=str(self.dir / "s"),
                        PROFILER_CLI_NO_SYMBOLICATE="1", PROFILER_CLI_LOAD_TIMEOUT_MS="240000")

    def ask(self, *words):
        return run(*self.command, *words, "--session", "x", env=self.env).stdout

    def load(self, path):
        """{thread: handle} after the profiler has upgraded and opened PATH."""
        self.ask("load", path)
        self.addCleanup(run, *self.command, "stop", "x", env=self.env, status=None)
        found = json.loads(self.ask("thread", "list", "--json", "--limit", "0"))
        return [t["threadHandle"] for t in found["threads"]]

    def functions(self, path, key):
        """{function: milliseconds or weight}, summed over threads."""
        out = {}
        for thread in self.load(path):
            found = json.loads(self.ask("thread", "functions", "--json", "--limit", "0",
                                        "--include-idle", "--thread", thread))
            for f in found["functions"]:
                out[f["name"]] = out.get(f["name"], 0) + f[key]
        run(*self.command, "stop", "x", env=self.env)
        return {name: x for name, x in out.items() if x}

    def compare(self, source, key, ours, *options):
        found = report(source, "-n", "0", *options)
        scale = 1e-6 if found["metric"]["unit"] == "ns" else 1
        mine = {}
        for f in found["functions"]:
            if f[ours]:
                mine[f["name"]] = mine.get(f["name"], 0) + f[ours] * scale
        theirs = self.functions(self.export(source, "firefox", *options), key)
        self.assertEqual(theirs.keys(), mine.keys(), source)
        for name, x in mine.items():
            self.assertAlmostEqual(theirs[name], x, delta=1e-6 * abs(x) + 2e-6, msg=f"{source}: {name}")

    def test_the_profiler_finds_the_same_self_costs(self):
        for source in ("perf.data/events-three-both-file.data", "perf-script/fp.txt", "dhat/ht.json",
                       "cpuprofile/w.cpuprofile", "pprof/cpu.pb.gz"):
            self.compare(GOOD / source, "selfSamples", "self")

    def test_the_profiler_finds_the_same_totals(self):
        self.compare(GOOD / "speedscope/sampled.speedscope.json", "totalSamples", "total")

    def test_the_profiler_finds_zones_as_markers(self):
        threads = self.load(self.export(GOOD / "chrome/object.trace.json", "firefox"))
        self.assertEqual(len(threads), 2)
        found = json.loads(self.ask("profile", "markers", "--json", "--limit", "100"))
        self.assertEqual(sorted((m["name"], round(m["duration"] * 1e6)) for m in found["markers"]),
                         [("draw", 20250), ("frame", 50000), ("load", 20000), ("read", 8000), ("tick", 0)])
        counter, = json.loads(self.ask("counter", "list", "--json"))["counters"]
        self.assertEqual((counter["name"], counter["unit"], counter["stats"][0]["value"]),
                         ("memory", "bytes", 4096))


class Perfetto(Export):
    def slices(self, path):
        """[(name, ns)] of track events, as decoded by protoc."""
        need("protoc")
        done = subprocess.run(["protoc", "--decode_raw"], input=path.read_bytes(),
                              capture_output=True, check=True, timeout=300)
        open_calls, out, names = {}, [], {}
        for field, packet in foreign.decoded(done.stdout.decode(errors="replace").splitlines()):
            self.assertEqual(field, 1)
            packet = dict(packet)
            if 11 not in packet:
                continue
            event = dict(packet[11])
            if 12 in packet:  # a new name and its number
                entry = dict(dict(packet[12])[2])
                # protoc prints text as a message if it happens to parse as one
                names[entry[1]] = entry[2].strip('"') if isinstance(entry[2], str) else "?"
            calls = open_calls.setdefault(event[11], [])
            if event[9] == 1:
                calls.append((names[event[10]], packet[8]))
            elif event[9] == 2:
                name, start = calls.pop()
                out.append((name, packet[8] - start))
        self.assertFalse(any(open_calls.values()))
        return out

    def test_begins_and_ends_balance_and_last_as_long(self):
        path = self.export(GOOD / "chrome/object.trace.json", "perfetto")
        self.assertEqual(sorted(self.slices(path)),
                         [("draw", 20250), ("frame", 50000), ("load", 20000), ("read", 8000),
                          ("tick", 0)])
        source = GOOD / "speedscope/sampled.speedscope.json"
        slices = self.slices(self.export(source, "perfetto", "-m", "time"))
        self.assertEqual(sum(ns for name, ns in slices if name == "main"), 10000000)

    def test_every_profile_balances(self):
        for source in INPUTS:
            self.slices(self.export(GOOD / source, "perfetto"))


class Callgrind(Export):
    def test_callgrind_annotate_finds_the_same_costs(self):
        need("callgrind_annotate")
        for source in ("perf-script/fp.txt", "callgrind/fg.callgrind", "dhat/ht.json"):
            found, mine = self.figures(GOOD / source)
            out = self.export(GOOD / source, "callgrind")
            done = run("callgrind_annotate", "--threshold=100", "--auto=no", out)
            self.assertRegex(done.stdout, rf"{found['total']:,}.* PROGRAM TOTALS")
            for name, cost in mine.items():
                self.assertRegex(done.stdout, rf"{cost:,}\b.*:{re.escape(name)}")


class Pstats(Export):
    def test_python_finds_the_same_times(self):
        for source in ("perf-script/fp.txt", "speedscope/sampled.speedscope.json",
                       "cpuprofile/w.cpuprofile"):
            found, mine = self.figures(GOOD / source)
            out = self.export(GOOD / source, "pstats")
            stats = pstats.Stats(str(out))
            theirs = {}
            for (_, _, name), (_, _, tt, _, _) in stats.stats.items():
                theirs[name] = theirs.get(name, 0) + round(tt * 1e9)
            self.assertEqual({n: t for n, t in theirs.items() if t}, mine, source)
            self.assertAlmostEqual(stats.total_tt, found["total"] / 1e9, places=6)

    def test_it_survives_pstats_own_merge_and_dump(self):
        out = self.export(GOOD / "pstats/w.prof", "pstats")
        stats = pstats.Stats(str(out))
        stats.add(str(GOOD / "pstats/w.prof"))
        stats.dump_stats(str(self.dir / "sum.prof"))
        once, twice = report(out), report(self.dir / "sum.prof")
        self.assertAlmostEqual(twice["total"], 2 * once["total"], delta=once["total"] / 100)


if __name__ == "__main__":
    unittest.main()
