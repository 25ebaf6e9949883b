"""Thirty frames without frame pointers: the CPU time of target and recorder, and lost samples,
next to perf in the same interleaved run."""
import os
import pathlib
import sys
import tempfile

from recorders import BUILD, Target, Verdict, has_perf, meta, perf, perf_counts

TITLE = "deep: 30 frames, no frame pointers, about 2 s"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
COMMAND = [str(BUILD / "workloads" / "deep"), "150000"]


def one_rate(fathom, hz, folder, verdict):
    target = Target(COMMAND, folder)
    mine, theirs = folder / "x.fathom", folder / "x.data"
    lost, peer_lost, samples = [], [], []
    for _ in range(ROUNDS):
        target.under("plain", [])
        target.under("fathom", [fathom, "record", "-q", "-F", str(hz), "-o", mine, "--"], mine)
        facts = meta(fathom, mine)
        lost.append(int(facts["quality.lost"]))
        samples.append(int(facts["quality.samples"]))
        if has_perf():
            target.under("perf", perf(hz, theirs), theirs)
            peer_lost.append(perf_counts(theirs)[1])
            theirs.unlink()
    print(f"  {hz} Hz: target {target.median('plain', 'target'):.2f} s plain; "
          f"x{target.ratio('fathom'):.3f} under fathom, " +
          (f"x{target.ratio('perf'):.3f} under perf dwarf,16384" if has_perf() else "no perf here"))
    print(f"    own CPU {target.median('fathom', 'own'):.3f} s"
          + (f", perf {target.median('perf', 'own'):.3f} s; lost {lost}, perf {peer_lost}" if has_perf() else
             f"; lost {lost}"))
    verdict.line(f"own CPU at {hz} Hz", target.median("fathom", "own"), f"deep.own_{hz}", "s")
    if has_perf():
        verdict.line(f"target's CPU at {hz} Hz to perf's", target.ratio("fathom", "perf"),
                     f"deep.target_{hz}", "x")
    if hz == 9999:
        verdict.line("lost", min(lost), "deep.lost_9999")
    return target.median("fathom", "bytes"), sorted(samples)[len(samples) // 2]


def main(fathom):
    verdict = Verdict()
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as name:
        folder = pathlib.Path(name)
        few, n_few = one_rate(fathom, 999, folder, verdict)
        many, n_many = one_rate(fathom, 9999, folder, verdict)
    each = (many - few) / (n_many - n_few)
    verdict.line("on disk per sample", each, "deep.bytes", "B")
    verdict.line("fixed part", max(0, few - each * n_few), "deep.fixed", "B")
    return verdict.broken


if __name__ == "__main__":
    sys.exit(main(os.environ.get("FATHOM", str(BUILD / "fathom"))))
