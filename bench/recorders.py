"""Shared by the sections about recording: run a target with and without a recorder, interleaved,
so that other load on the machine affects all runs alike."""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent / "build"


COMPARED = set()  # budgets that a figure was compared with


def budgets():
    """{name: figure}; a line that is neither a comment nor a budget is an error."""
    out = {}
    for number, line in enumerate((HERE / "budgets.txt").read_text().splitlines(), 1):
        found = re.fullmatch(r"(\w+\.\w+)\s+([\d.]+)\s+\S.*", line)
        if found:
            out[found[1]] = float(found[2])
        elif line and not line.startswith("#"):
            raise SystemExit(f"budgets.txt:{number}: not a budget: {line}")
    return out


def budget(name):
    """The figure of NAME in budgets.txt."""
    COMPARED.add(name)
    if name not in budgets():
        raise SystemExit(f"budgets.txt: no budget {name}")
    return budgets()[name]


def cpu_of(command, **more):
    """CPU seconds of COMMAND with its children, and wall seconds."""
    start = time.monotonic()
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} exited with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start


def meta(fathom, path):
    """The meta facts of a recording, as text."""
    out = subprocess.run([fathom, "dump", "--json", "--only", "meta", path], capture_output=True,
                         text=True, check=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    return {r["key"]: r["value"] for r in rows if r.get("record") == "meta"}


class Target:
    """A program that runs bare or under a recorder.  Collects figures by recorder and round."""

    def __init__(self, command, folder, cwd=None):
        self.command, self.folder, self.cwd = command, folder, cwd
        self.rounds = {}

    def under(self, name, recorder, out=None):
        """Run the target once under RECORDER (a command line without the target)."""
        note = self.folder / "cpu"
        all_cpu, wall = cpu_of([*recorder, BUILD / "bench" / "bench-cputime", note, *self.command],
                               cwd=self.cwd)
        target = float(note.read_text())
        row = {"target": target, "own": all_cpu - target, "wall": wall}
        if out:
            row["bytes"] = out.stat().st_size
        self.rounds.setdefault(name, []).append(row)
        return row

    def median(self, name, figure):
        return statistics.median(r[figure] for r in self.rounds[name])

    def ratio(self, name, base="plain"):
        return self.median(name, "target") / self.median(base, "target")


def has_perf():
    return shutil.which("perf") is not None


def perf(hz, out):
    return ["perf", "record", "-N", "-q", "-e", "cpu-clock", "-F", str(hz), "--call-graph",
            "dwarf,16384", "-o", out, "--"]


def perf_counts(path):
    """Samples and lost events of a perf.data file."""
    text = subprocess.run(["perf", "report", "-i", path, "--stats"], capture_output=True, text=True,
                          check=False).stdout
    def count(what):
        found = re.search(rf"^\s*{what} events:\s+(\d+)", text, re.M)
        return int(found.group(1)) if found else 0
    return count("SAMPLE"), count("LOST_SAMPLES") + count("LOST")


class Verdict:
    """Print figures with their budgets, and keep whether one was exceeded."""

    def __init__(self):
        self.broken = False

    def line(self, text, got, name, unit=""):
        most = budget(name)
        ok = got <= most
        self.broken |= not ok
        print(f"  {text:46} {got:9.3f} {unit:4} budget {most:g}{'' if ok else '   OVER'}")

    def least(self, text, got, name, unit=""):
        least = budget(name)
        ok = got >= least
        self.broken |= not ok
        print(f"  {text:46} {got:9.3f} {unit:4} at least {least:g}{'' if ok else '   UNDER'}")
