"""200,000 unique stacks (145 MB of collapsed text) to one page with every frame, next to
inferno-flamegraph if it is installed."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from recorders import BUILD, HERE, Verdict

TITLE = "flame: 200,000 unique stacks"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))


def measure(command, stdout=subprocess.DEVNULL):
    """CPU seconds, wall seconds and peak memory in MB of one run."""
    start = time.monotonic()
    process = subprocess.Popen([str(c) for c in command], stdout=stdout)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} exited with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1024


def rows(fathom, stacks, folder):
    """(tool, its run with the least CPU, size of its output) of each tool."""
    for what, out in (("fathom, page with all", folder / "x.html"), ("fathom, picture", folder / "x.svg")):
        yield what, min(measure([fathom, "flame", "-o", out, stacks]) for _ in range(ROUNDS)), out
    if shutil.which("inferno-flamegraph"):
        for what, options in (("inferno, pruned", []), ("inferno, all", ["--minwidth", "0"])):
            path = folder / "peer.svg"
            with open(path, "wb") as out:
                yield what, measure(["inferno-flamegraph", *options, stacks], out), path


def main(fathom):
    verdict, figures = Verdict(), None
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as name:
        folder = pathlib.Path(name)
        stacks = folder / "stacks.txt"
        subprocess.run([sys.executable, HERE / "gen_stacks.py", stacks], check=True)
        print(f"  input {stacks.stat().st_size / 1e6:.0f} MB")
        for what, (cpu, wall, rss), out in rows(fathom, stacks, folder):
            size = out.stat().st_size / 1e6
            figures = figures or (cpu, rss, size)
            print(f"  {what:24} {cpu:6.2f} s CPU {wall:6.2f} s {rss:6.0f} MB RSS {size:7.1f} MB out")
    for text, got, unit in zip(("cpu", "rss", "page"), figures, ("s", "MB", "MB")):
        verdict.line({"cpu": "CPU", "rss": "peak memory", "page": "size of the page"}[text], got, f"flame.{text}", unit)
    return verdict.broken


if __name__ == "__main__":
    sys.exit(main(os.environ.get("FATHOM", str(BUILD / "fathom"))))
