"""Recording `true`: the cost of starting and stopping the recorder."""
import os
import pathlib
import statistics
import sys
import tempfile

from recorders import BUILD, Verdict, cpu_of, has_perf, perf

TITLE = "start: recording `true`"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5")) * 2


def main(fathom):
    verdict = Verdict()
    rows = {"plain": [], "fathom": [], "perf": []}
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as name:
        folder = pathlib.Path(name)
        for _ in range(ROUNDS):
            rows["plain"].append(cpu_of(["true"]))
            rows["fathom"].append(cpu_of([fathom, "record", "-q", "-o", folder / "x", "--", "true"]))
            if has_perf():
                rows["perf"].append(cpu_of([*perf(999, folder / "y"), "true"]))
    middle = {k: [statistics.median(column) for column in zip(*v)] for k, v in rows.items() if v}
    if has_perf():
        print(f"  perf: {middle['perf'][0]:.3f} s CPU, {middle['perf'][1]:.3f} s wall")
    verdict.line("CPU beyond true", middle["fathom"][0] - middle["plain"][0], "start.cpu", "s")
    verdict.line("wall beyond true", middle["fathom"][1] - middle["plain"][1], "start.wall", "s")
    return verdict.broken


if __name__ == "__main__":
    sys.exit(main(os.environ.get("FATHOM", str(BUILD / "fathom"))))
