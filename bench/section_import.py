"""Import: text formats into memory, and the perf.data of a compile to a page with names, lines
and inlined calls, next to peers that read the same file."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from recorders import BUILD, Verdict
from section_flame import measure

TITLE = "import: foreign files into memory; perf.data to a page"
ROUNDS = os.environ.get("BENCH_ROUNDS", "3")
MEGABYTES = 60


def tree(rng, functions=4000):
    """A call tree to draw stacks from, because real stacks share callers."""
    callees = {f: [rng.randrange(functions) for _ in range(3)] for f in range(functions)}

    def stack():
        at, out = rng.randrange(3), []
        for _ in range(rng.randint(8, 40)):
            out.append(at)
            at = callees[at][0 if rng.random() < 0.8 else rng.randrange(3)]
        return out
    return [stack() for _ in range(3000)]


def fill(path, head, piece, tail=""):
    """Write HEAD, then PIECE(number) until the file is large enough, then TAIL."""
    with open(path, "w") as out:
        size, number = out.write(head), 0
        while size < MEGABYTES * 1e6:
            size += out.write(piece(number))
            number += 1
        out.write(tail)


def costs(rng, head, plain):
    """callgrind or cachegrind: a hundred lines per function; most misses are zero."""
    def piece(n):
        name = f"fl=f{n % 500}.c\nfn=function_{n}\n" if plain else \
            f"fl=({n % 500 + 1}) f{n % 500}.c\nfn=({n + 1}) function_{n}\n"
        lines = "".join(f"{i + 1 if plain else '+1'} {rng.randint(1, 99999)} "
                        f"{rng.randint(0, 9) * (i % 7 == 0)} {rng.randint(0, 9) * (i % 11 == 0)}\n"
                        for i in range(100))
        call = "" if plain or n == 0 else \
            f"cfn=({rng.randint(1, n)})\ncalls=5 1\n* {rng.randint(1, 10**7)} 1 1\n"
        return name + lines + call
    return head, piece


def dhat(rng, stacks):
    head = '{"dhatFileVersion":2\n,"mode":"heap","cmd":"./x"\n,"pps":\n [{"tb":1,"tbk":1,"fs":[1]}\n'
    keys = ("tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "rb", "wb")

    def piece(_):
        figures = "".join(f',"{k}":{rng.randint(0, 10**6)}' for k in keys)[1:]
        access = ',"acc":[' + ",".join(str(rng.randint(-99, 99)) for _ in range(64)) + "]"
        frames = ",".join(str(f + 1) for f in reversed(rng.choice(stacks)[:14]))
        return f' ,{{{figures}\n  {access if rng.random() < 0.3 else ""},"fs":[{frames}]\n  }}\n'
    table = "".join(f' ,"0x{i:X}: function_{i} (f{i % 300}.c:{i % 999})"\n' for i in range(4001))
    return head, piece, ' ]\n,"ftbl":\n ["[root]"\n' + table + " ]\n}\n"


def script(rng, stacks):
    def piece(n):
        at = 1000 * n
        frames = "".join(f"\t    {0x7F0000000000 + f * 64:x} ns::function_{f}(int, char const*)"
                         f"+0x{f % 64:x} (/usr/lib/lib{f % 30}.so)\n"
                         for f in reversed(rng.choice(stacks)))
        return (f"my prog 1234/{1234 + n % 8} [{n % 4:03d}] {at // 10**6}.{at % 10**6:06d}:    "
                f"1001001 cpu-clock: \n{frames}\n")
    return "", piece


def trace(rng):
    def piece(n):
        return "".join(f'{"" if n == 0 and d == 0 else ","}\n{{"ph":"X","name":"function_'
                       f'{rng.randint(0, 999)}","cat":"app","pid":1,"tid":{n % 4},'
                       f'"ts":{n * 10 + d}.{d:03d},"dur":{9 - 2 * d}.5,"args":{{"x":{d}}}}}'
                       for d in range(4))
    return '{"traceEvents":[', piece, "]}\n"


def heaptrack(rng):
    head = "v 10400 3\nX ./x\nI 1000 5e27ec\ns 3 /ab\n" + "".join(
        f"s 5 fn{i:03x}\ni {0x1000 + i:x} 1 {i + 1:x} 1 {i % 99:x}\nt {i:x} {i // 2:x}\n"
        f"a {rng.randint(8, 9999):x} {i:x}\n" for i in range(1, 5001))

    def piece(n):
        kinds = [rng.randrange(5000) for _ in range(500)]
        return "".join(f"+ {k:x}\n" for k in kinds) + "".join(f"- {k:x}\n" for k in kinds) + \
            f"c {n:x}\n"
    return head, piece


def inputs(folder):
    rng = random.Random(42)
    stacks = tree(rng)
    made = {
        "callgrind": costs(rng, "# callgrind format\nevents: Ir Dr Dw\n", False),
        "cachegrind": costs(rng, "desc: x\ncmd: x\nevents: Ir I1mr ILmr\n", True),
        "dhat": dhat(rng, stacks), "perf-script": script(rng, stacks), "chrome": trace(rng),
        "heaptrack": heaptrack(rng),
    }
    for name, parts in made.items():
        fill(folder / name, *parts)
        yield name, folder / name
        (folder / name).unlink()


def texts(folder):
    """(name, MB per CPU second) of each text format."""
    for name, path in inputs(folder):
        done = subprocess.run([BUILD / "bench" / "bench-import", path, str(3 * int(ROUNDS))], check=True,
                              capture_output=True, text=True)
        print(f"  {name:14} {done.stdout.strip()}", flush=True)
        yield name, float(done.stdout.split()[2])


def perf_data(folder):
    """Record a large compile with perf; None if that is not possible."""
    source, data = folder / "heavy.cpp", folder / "perf.data"
    source.write_text("#include <map>\n#include <regex>\n#include <string>\n"
                      "bool f(const std::map<std::string, std::string> &m) {\n"
                      "  for (auto &x : m)\n"
                      "    if (std::regex_match(x.first, std::regex(x.second))) return true;\n"
                      "  return false;\n}\n")
    if not shutil.which("perf") or not shutil.which("clang++"):
        print("  perf.data skipped: perf or clang++ not found")
        return None
    done = subprocess.run(["perf", "record", "-N", "-q", "-e", "cpu-clock", "-F", "4999",
                           "--call-graph", "dwarf,16384", "-o", data, "--", "clang++",
                           "-std=c++17", "-O2", "-c", source, "-o", folder / "heavy.o"],
                          env=dict(os.environ, HOME=str(folder)), capture_output=True, check=False)
    if done.returncode:
        print("  perf.data skipped: perf cannot record")
        return None
    return data


def to_page(fathom, data, folder):
    """CPU seconds per 136 MB of perf.data to a page, next to peers that do less."""
    size = data.stat().st_size / 1e6
    page = [fathom, "flame", "-o", folder / "x.html", data]
    measure(page)  # fills the cache of unwind tables
    cpu, _, rss = min(measure(page) for _ in range(int(ROUNDS)))
    print(f"  perf.data, {size:.0f} MB, to a page    {cpu:6.2f} s CPU {rss:6.0f} MB RSS")
    for peer in (["perf", "script", "--no-inline", "-i"],
                 ["samply", "import", "--save-only", "-o", folder / "s.json"]):
        if shutil.which(peer[0]):
            peer_cpu, _, rss = measure([*peer, data])
            print(f"  {' '.join(peer[:2]):28} {peer_cpu:6.2f} s CPU {rss:6.0f} MB RSS")
    return cpu * 136 / max(size, 136)


def main(fathom):
    verdict, slow = Verdict(), (None, 1e9)
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as name:
        folder = pathlib.Path(name)
        os.environ["FATHOM_CACHE"] = str(folder / "cache")
        for what, rate in texts(folder):
            slow = min(slow, (what, rate), key=lambda x: x[1])
        data = perf_data(folder)
        if data:
            verdict.line("perf.data to a page, 136 MB", to_page(fathom, data, folder),
                         "import.perfdata", "s")
    verdict.line(f"slowest text format ({slow[0]}), 100 MB", 100 / slow[1], "import.text", "s")
    return verdict.broken


if __name__ == "__main__":
    sys.exit(main(os.environ.get("FATHOM", str(BUILD / "fathom"))))
