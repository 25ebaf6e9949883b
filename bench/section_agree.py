"""The same programs sampled by perf events and from inside, interleaved: how far the shares of their
ten most expensive functions differ.  Kernel time counts for the function that called the kernel."""
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import section_compile
from recorders import BUILD, Verdict, budget

TITLE = "agree: perf events and samples from inside"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
TOP = 10
QUERY = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000000)
SELECT count(*), sum(length(hex(i))), max(i % 977) FROM n;"""
SCRIPT = """import json, re
words = {}
for i in range(300000):
    text = json.dumps({'a': i, 'b': [i] * 5, 'c': str(i)})
    for word in re.findall('[0-9]+', text):
        words[word] = words.get(word, 0) + 1
print(len(json.loads(text)), sum(sorted(words.values())[-10:]))
"""
REDIS = """redis-server --port 0 --unixsocket ./socket --save '' --appendonly no >/dev/null &
while ! redis-cli -s ./socket ping >/dev/null 2>&1; do sleep 0.05; done
redis-benchmark -s ./socket -q -n 60000 -t set,get,lpush,lrange_100 >/dev/null
redis-cli -s ./socket shutdown nosave; wait"""


def programs(folder):
    """(name, program it needs, command)"""
    data = folder / "data"
    data.write_bytes(b"".join(b"%d %d\n" % (i, i * i % 1000003) for i in range(200000)))
    (folder / "heavy.cc").write_text(section_compile.SOURCE)
    yield "sqlite3", "sqlite3", ["sqlite3", ":memory:", QUERY]
    yield "xz", "xz", ["xz", "-6", "-T1", "-k", "-c", data]
    yield "redis-server", "redis-server", ["sh", "-c", REDIS]
    yield "python3", "/usr/bin/python3", ["/usr/bin/python3", "-c", SCRIPT]
    yield "clang++", "clang++", section_compile.COMMAND


def add_self_times(fathom, path, process, into):
    """Add the samples of each user function in the recording at PATH, of PROCESS if it is given."""
    only = ["--command", process] if process else []
    text = subprocess.run([fathom, "export", "-f", "collapsed", *only, path], capture_output=True,
                          text=True, errors="replace", check=True).stdout
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        user = [f for f in stack.split(";") if not f.endswith("_[k]")]
        if user:
            into[user[-1]] += float(count)


def compare(fathom, name, command, folder):
    """Differences in points of the most expensive functions, and the number of samples by events."""
    events, inside = collections.Counter(), collections.Counter()
    out = folder / "x.fathom"
    for _ in range(ROUNDS):
        for into, way in ((events, []), (inside, ["--in-process"])):
            subprocess.run([fathom, "record", "-q", *way, "-o", out, "--", *command], cwd=folder, check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            add_self_times(fathom, out, name if name == "redis-server" else None, into)
    n, k = sum(events.values()), sum(inside.values())
    return {f: 100 * (inside[f] / k - events[f] / n) for f, _ in events.most_common(TOP)}, n


def main(fathom):
    verdict = Verdict()
    budget("agree.points")
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as name:
        folder = pathlib.Path(name)
        for title, needs, command in programs(folder):
            if not shutil.which(needs):
                print(f"  skipped: {title} not found")
                continue
            points, n = compare(fathom, title, [str(c) for c in command], folder)
            worst = max(points, key=lambda f: abs(points[f]))
            print(f"  {title}: {n:,.0f} samples by events; largest difference: {worst} {points[worst]:+.2f} points")
            verdict.line(f"{title}: largest difference", abs(points[worst]), "agree.points", "pt")
    return verdict.broken


if __name__ == "__main__":
    sys.exit(main(os.environ.get("FATHOM", str(BUILD / "fathom"))))
