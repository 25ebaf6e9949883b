"""Every route from a region of libfathom gives equal counts, self and total times of each zone.

The program (tests/runtime/rt_routes.c) measures, stops measuring and writes its region in every
format.  The tool reads the same region from the files of the program, of a recording, and of a
program ended by SIGKILL.  Different runs are not compared, so the tests do not depend on timing.
The clock is CLOCK_MONOTONIC, whose rate needs no calibration."""
import collections
import csv
import json
import os
import signal
import struct
import subprocess

from support import FATHOM, Case, fathom, report, run
from test_runtime import program

NESTED = ("zone", "op", "lock wait")
ZONES = {"step", "branch", "leaf", "operation", "queue", "sampled"}


def by_name(rows):
    """{name: [calls, self ns, total ns]} from rows (name, calls, self, total)."""
    out = collections.defaultdict(lambda: [0, 0, 0])
    for name, *figures in rows:
        for i, x in enumerate(figures):
            out[name][i] += x
    return dict(out)


def by_path(lines):
    """{path: ns} of collapsed stacks."""
    out = collections.Counter()
    for line in lines.splitlines():
        path, _, weight = line.rpartition(" ")
        out[path] += int(weight)
    return out


def of_json(path):
    return [op for op in json.loads(path.read_text())["operations"]]


def of_tool(path, *options):
    return by_name((f["name"], f["samples"], f["self"], f["total"])
                   for f in report(path, "-n", "0", *options)["functions"])


def of_speedscope(path):
    data = json.loads(path.read_text())
    frames, out = data["shared"]["frames"], collections.Counter()
    for p in data["profiles"]:
        for stack, weight in zip(p["samples"], p["weights"]):
            out[";".join(frames[i]["name"] for i in stack)] += weight
    return out


def calls_of_chrome(path):
    """{name: [calls, ns]}, and the number of each instant by name and flow number."""
    calls, points = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    for e in json.loads(path.read_text())["traceEvents"]:
        if e["ph"] == "X" and e["dur"]:
            calls[e["name"]][0] += 1
            calls[e["name"]][1] += round(e["dur"] * 1000)
        elif e["ph"] in "Xi":
            points[e["name"], e.get("args", {}).get("flow")] += 1
    return dict(calls), points


def args_of_chrome(path):
    """How many events of each name have the same arguments and, for counters, the same id."""
    return collections.Counter((e["name"], *([e["id"]] if "id" in e else []),
                                tuple(sorted(e.get("args", {}).items())))
                               for e in json.loads(path.read_text())["traceEvents"]
                               if e["ph"] in "XiC")


class Routes(Case):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "FATHOM_CLOCK": "monotonic", "FATHOM_MODE": "trace"}

    def truth(self):
        """The rows of the program's own JSON report."""
        rows = [op for op in of_json(self.dir / "in.json") if op["kind"] in NESTED]
        truth = by_name((op["name"], op["count"] + op["open"], op["self_ns"], op["total_ns"])
                        for op in rows)
        self.assertEqual(set(truth), ZONES)
        self.assertEqual(truth["step"][0], 5 * 20)
        self.assertEqual(truth["sampled"][0], 5 * 100)
        for name, (_, own, total) in truth.items():
            self.assertGreater(total, 0, name)
            self.assertEqual(own, int(own), name)
        return truth

    def run_to_the_end(self):
        run(program("rt-routes"), self.dir,
            env={**self.env, "FATHOM_PROFILE": f"fathom:{self.dir}/at-exit.fathom"})

    def test_formats_written_by_the_program_agree(self):
        self.run_to_the_end()
        truth = self.truth()
        rows = [row for row in csv.DictReader((self.dir / "in.csv").open()) if row["kind"] in NESTED]
        self.assertEqual(by_name((row["name"], int(row["count"]), float(row["self_ns"]),
                                  float(row["total_ns"])) for row in rows), truth)
        folded = by_path((self.dir / "in.folded").read_text())
        self.assertEqual(sum(folded.values()), sum(own for _, own, _ in truth.values()))
        for name, (_, own, total) in truth.items():
            self.assertEqual(sum(w for p, w in folded.items() if p.split(";")[-1] == name), own)
            self.assertEqual(sum(w for p, w in folded.items() if name in p.split(";")), total)

    def test_the_file_of_the_program_is_its_report(self):
        self.run_to_the_end()
        truth = self.truth()
        for name in ("in.fathom", "at-exit.fathom"):
            self.assertEqual(of_tool(self.dir / name), truth, name)
        self.assertEqual(by_path(fathom("export", self.dir / "in.fathom", "-f", "collapsed").stdout),
                         by_path((self.dir / "in.folded").read_text()))

    def test_a_recording_is_the_report_of_the_program(self):
        run(FATHOM, "record", "-o", self.dir / "rec.fathom", "--", program("rt-routes"), self.dir,
            env=self.env)
        self.assertEqual(of_tool(self.dir / "rec.fathom", "-m", "zones"), self.truth())

    def test_zones_belong_to_the_program_before_exec(self):
        path = self.dir / "exec.fathom"
        for rounds in ("1", "2000"):  # without and with samples
            run(FATHOM, "record", "-o", path, "--", program("rt-env"), rounds, "exec", program("rt-env"), "3", "exec",
                "true", env=self.env)
            groups = report(path, "-m", "zones", "-b", "process,thread,function")["groups"]
            steps = [g["samples"] for g in groups if g["name"] == "load"]
            self.assertEqual(sorted(steps), sorted([int(rounds), 3]), groups)
            self.assertEqual({g["name"].split(" (")[0] for g in groups if g["by"] != "function"}, {"rt-env"})

    def test_the_file_of_a_killed_program_is_its_report(self):
        done = subprocess.run([program("rt-routes"), self.dir, "kill"], check=False,
                              env={**self.env, "FATHOM_LIVE": str(self.dir / "live")})
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(of_tool(self.dir / "live"), self.truth())
        self.assertEqual(self.events(self.dir / "live"), self.events(self.dir / "in.fathom"))

    def tags_of(self, data, tag_set):
        """The pairs of a tag set, outermost last."""
        pairs = []
        while tag_set:
            tag = data["tags"][tag_set - 1]
            pairs.append((tag["key"], tag["value"]))
            tag_set = tag["parent"]
        return pairs

    def leaves(self, data):
        """The innermost zone of each stack, by stack id."""
        frames = [data["functions"][f["locations"][0][0] - 1]["name"] for f in data["frames"]]
        return [None] + [frames[f - 1] for f in data["stacks"]["frame"]]

    def events(self, path):
        """Spans and counters, with ids replaced by names."""
        data = json.loads(fathom("export", path, "-f", "json").stdout)
        spans, counters = data["spans"], data["counters"]
        tags = [self.tags_of(data, n) for n in spans["tags"]]
        return (sorted(zip(spans["start_ns"], spans["duration_ns"], spans["name"], spans["detail"],
                           tags)),
                sorted(zip(counters["time_ns"], counters["name"], counters["value"])))

    def test_samples_have_the_context_and_backend_of_their_zone(self):
        self.run_to_the_end()
        rows = [op for op in of_json(self.dir / "in.json") if op["kind"] in NESTED]
        want = by_name(((op["name"], op["context"], op["backend"]), op["count"], op["self_ns"])
                       for op in rows)
        data = json.loads(fathom("export", self.dir / "in.fathom", "-f", "json").stdout)
        samples, names = data["samples"], self.leaves(data)
        tags = [dict(self.tags_of(data, n)) for n in samples["tags"]]
        got = by_name(((names[stack], tag.get("context", ""), tag.get("backend", "")), n, weight)
                      for stack, tag, n, weight in zip(samples["stack"], tags, samples["count"],
                                                       samples["weight"]))
        self.assertEqual(got, want)
        self.assertIn(("operation", "", "gpu"), got)
        self.assertIn(("branch", "request", ""), got)

    def test_traces_have_every_call_as_the_clock_read_it(self):
        self.run_to_the_end()
        fathom("export", self.dir / "in.fathom", "-f", "chrome", "-o", self.dir / "tool.json")
        calls, points = calls_of_chrome(self.dir / "in.trace.json")
        again, points_again = calls_of_chrome(self.dir / "tool.json")
        self.assertEqual(again, calls)
        self.assertEqual(points_again, points)
        self.assertEqual(points["tick", None], 100)
        for i in range(20):
            self.assertEqual(points["handed", 100 + i], 5)
        timed = [op for op in of_json(self.dir / "in.json") if "total_ns" in op]
        raw = by_name((op["name"], op["timed"], op["raw_total_ns"]) for op in timed
                      if op["name"] != "sampled" and op["kind"] != "lock hold" and op["timed"])
        queue = [op for op in timed if op["kind"] == "lock hold"][0]
        raw["queue"][0] += queue["timed"]
        raw["queue"][1] += queue["raw_total_ns"]
        del calls["sampled"]
        self.assertEqual({name: figures[:2] for name, figures in raw.items()}, calls)

    def test_chrome_traces_of_program_and_tool_have_the_same_arguments(self):
        self.run_to_the_end()
        fathom("export", self.dir / "in.fathom", "-f", "chrome", "-o", self.dir / "tool.json")
        own = args_of_chrome(self.dir / "in.trace.json")
        self.assertEqual(own, args_of_chrome(self.dir / "tool.json"))
        self.assertIn(("branch", (("context", "request"),)), own)
        self.assertIn(("handed", (("flow", 107),)), own)
        self.assertEqual(own["depth", 'worker="1"', (("value", 1000),)], 100)
        self.assertIn(("operation", (("backend", "gpu"), ("detail", "gpu"),
                                     ("label", 'worker="0"'))), own)

    def test_perfetto_has_the_numbers_of_flows(self):
        self.run_to_the_end()
        fathom("export", self.dir / "in.fathom", "-f", "perfetto", "-o", self.dir / "perfetto")
        data = (self.dir / "perfetto").read_bytes()
        for i in range(20):  # TrackEvent.flow_ids is field 47, fixed64
            self.assertEqual(data.count(b"\xf9\x02" + struct.pack("<Q", 100 + i)), 5)

    def test_formats_made_by_the_tool_agree(self):
        self.run_to_the_end()
        truth = self.truth()
        for form in ("pprof", "speedscope"):
            fathom("export", self.dir / "in.fathom", "-f", form, "-o", self.dir / form)
        self.assertEqual(of_tool(self.dir / "pprof"), truth)
        self.assertEqual(of_speedscope(self.dir / "speedscope"),
                         by_path((self.dir / "in.folded").read_text()))


if __name__ == "__main__":
    import unittest
    unittest.main()
