"""Sampling from inside the program, without perf events: the CPU time of target and recorder, next
to perf in the same interleaved run, and next to a loop that only wakes at the same rate."""
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import section_compile
from recorders import BUILD, Target, Verdict, cpu_of, has_perf, meta, perf

TITLE = "inside: 999 Hz without perf events"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
WAKE = [BUILD / "bench" / "bench-wake", "999", "2"]
DEEP = [str(BUILD / "workloads" / "deep"), "150000"]
POOL = [str(BUILD / "workloads" / "pool")]
POOL_MS = "6000"
ONE_CPU = ["taskset", "-c", "0"]


def percent_awake():
    """CPU time of the loop that only wakes, in percent of a CPU."""
    cpu, wall = cpu_of(WAKE)
    return 100 * cpu / wall


def recorder_percent(target, name):
    return statistics.median(100 * r["own"] / r["wall"] for r in target.rounds[name])


class Run:
    """A target under fathom from inside, under perf, and alone."""

    def __init__(self, fathom, command, folder, cwd=None):
        self.target = Target(command, folder, cwd)
        self.mine, self.theirs = folder / "x.fathom", folder / "x.data"
        self.record = [fathom, "record", "--in-process", "-q", "-o", self.mine, "--"]
        self.rates, self.complete, self.awake = [], [], []

    def one(self, prefix=()):
        self.awake.append(percent_awake())
        self.target.under("plain", list(prefix))
        self.target.under("fathom", [*prefix, *self.record], self.mine)
        facts = meta(self.record[0], self.mine)
        self.rates.append(float(facts["rate_achieved"]) / float(facts["rate_asked"]))
        self.complete.append(int(facts["quality.complete"]) / int(facts["quality.stacks"]))
        if has_perf():
            self.target.under("perf", [*prefix, *perf(999, self.theirs)], self.theirs)
            self.theirs.unlink()

    def show(self, name):
        own = recorder_percent(self.target, "fathom")
        print(f"  {name}: target {self.target.median('plain', 'target'):.2f} s plain; "
              f"x{self.target.ratio('fathom'):.3f} under fathom"
              + (f", x{self.target.ratio('perf'):.3f} under perf dwarf,16384" if has_perf() else "")
              + f"; {100 * statistics.median(self.complete):.1f} % of stacks complete")
        print(f"    recorder {own:.1f} % of a CPU, waking alone {statistics.median(self.awake):.1f} %"
              + (f", perf {recorder_percent(self.target, 'perf'):.1f} %" if has_perf() else "")
              + f"; rate {100 * statistics.median(self.rates):.1f} % of that asked")

    def beyond_waking(self):
        return recorder_percent(self.target, "fathom") - statistics.median(self.awake)


def deep(fathom, folder, verdict):
    run, shared = Run(fathom, DEEP, folder), Run(fathom, DEEP, folder)
    for _ in range(ROUNDS):
        run.one()
        shared.one(ONE_CPU)
    run.show("deep")
    verdict.line("target's CPU, deep", run.target.ratio("fathom"), "inside.deep", "x")
    verdict.line("recorder beyond waking, deep", run.beyond_waking(), "inside.own", "%")
    verdict.least("rate achieved, deep", 100 * statistics.median(run.rates), "inside.rate", "%")
    shared.show("deep, recorder and target on one CPU")


def compiling(fathom, folder, verdict):
    if not shutil.which("clang++"):
        print("  skipped: clang++ not found")
        return
    (folder / "heavy.cc").write_text(section_compile.SOURCE)
    run = Run(fathom, section_compile.COMMAND, folder, cwd=folder)
    for _ in range(ROUNDS):
        run.one()
    run.show("clang++ -O2")
    verdict.line("target's CPU, clang++", run.target.ratio("fathom"), "inside.compile", "x")


def sleepers(fathom, folder, verdict):
    """What 1,000 sleeping threads cost beside one that computes."""
    busy, crowd = Target([*POOL, "0", POOL_MS], folder), Target([*POOL, "1000", POOL_MS], folder)
    record = [fathom, "record", "--in-process", "-q", "-o", folder / "x.fathom", "--"]
    for _ in range(ROUNDS):
        busy.under("fathom", record)
        crowd.under("fathom", record)
    one, many = recorder_percent(busy, "fathom"), recorder_percent(crowd, "fathom")
    print(f"  one busy thread: recorder {one:.1f} % of a CPU; with 1,000 sleeping ones {many:.1f} %")
    verdict.line("1,000 sleeping threads", many - one, "inside.sleepers", "%")


def main(fathom):
    verdict = Verdict()
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as name:
        for part in (deep, compiling, sleepers):
            part(fathom, pathlib.Path(name), verdict)
    return verdict.broken


if __name__ == "__main__":
    sys.exit(main(os.environ.get("FATHOM", str(BUILD / "fathom"))))
