"""clang++ -O2 on a template-heavy file, with stripped libraries and stacks larger than 32 KB."""
import os
import pathlib
import shutil
import sys
import tempfile

from recorders import BUILD, Target, Verdict, cpu_of, has_perf, meta, perf

TITLE = "compile: clang++ -O2"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
COMMAND = ["clang++", "-std=c++17", "-O2", "-c", "heavy.cc", "-o", "/dev/null"]
SOURCE = r"""
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
using value = std::variant<int, double, std::string>;
std::map<std::string, value> table;
bool match(const std::string &s) {
  static std::regex r("([a-z]+)-([0-9]+)(\\.[a-f]*)?");
  std::smatch m;
  return std::regex_match(s, m, r);
}
int main(int c, char **v) {
  std::unordered_map<std::string, std::function<int(int)>> f;
  f["a"] = [](int x) { return x + 1; };
  std::vector<std::string> w(v, v + c);
  std::sort(w.begin(), w.end(), [](auto &a, auto &b) { return a.size() < b.size(); });
  for (auto &s : w) {
    table[s] = match(s) ? value(f["a"](3)) : value(s);
    std::cout << s << "\n";
  }
}
"""


def main(fathom):
    verdict = Verdict()
    if not shutil.which("clang++"):
        print("  skipped: clang++ not found")
        return False
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as name:
        folder = pathlib.Path(name)
        (folder / "heavy.cc").write_text(SOURCE)
        mine, theirs, page = folder / "x.fathom", folder / "x.data", folder / "x.html"
        target = Target(COMMAND, folder, cwd=folder)
        facts = []
        for _ in range(ROUNDS):
            target.under("plain", [])
            target.under("fathom", [fathom, "record", "-q", "-o", mine, "--"], mine)
            facts.append(meta(fathom, mine))
            if has_perf():
                target.under("perf", perf(999, theirs), theirs)
        print(f"  target {target.median('plain', 'target'):.2f} s plain; x{target.ratio('fathom'):.3f} under fathom" +
              (f", x{target.ratio('perf'):.3f} under perf; perf's own CPU {target.median('perf', 'own'):.3f} s, "
               f"file {target.median('perf', 'bytes') / 1e6:.0f} MB" if has_perf() else ""))
        samples = sum(int(f["quality.samples"]) for f in facts)
        stacks = sum(int(f["quality.stacks"]) for f in facts)
        complete = sum(int(f["quality.complete"]) for f in facts)
        verdict.least("stacks complete", 100 * complete / stacks, "compile.complete", "%")
        verdict.line("on disk per sample", sum(r["bytes"] for r in target.rounds["fathom"]) / samples,
                     "compile.bytes", "B")
        verdict.line("own CPU", target.median("fathom", "own"), "compile.own", "s")
        cpu, _ = cpu_of([fathom, "flame", mine, "-o", page])
        print(f"  file to page: {cpu:.3f} s CPU")
    return verdict.broken


if __name__ == "__main__":
    sys.exit(main(os.environ.get("FATHOM", str(BUILD / "fathom"))))
