"""The cost of a zone of libfathom next to two clock reads, and next to a pair of LTTng-UST
tracepoints in a running session if lttng-sessiond is installed."""
import os
import shutil
import subprocess
import tempfile
import time

from recorders import BUILD, Verdict

TITLE = "zones: begin and end"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
ZONES = "100000000"


class Session:
    """An LTTng session that records the tracepoints of the benchmark; empty without LTTng."""

    def __init__(self, folder):
        self.env = {**os.environ, "LTTNG_HOME": folder, "HOME": folder}
        self.daemon = None
        if not (shutil.which("lttng-sessiond") and shutil.which("lttng")):
            return
        self.daemon = subprocess.Popen(["lttng-sessiond"], env=self.env, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        time.sleep(1)
        for words in (["create", "fathom", f"--output={folder}/trace"],
                      ["enable-event", "-u", "fathom_bench:*"], ["start"]):
            self.lttng(words)

    def lttng(self, words):
        subprocess.run(["lttng", *words], env=self.env, check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def end(self):
        if self.daemon:
            self.lttng(["destroy", "fathom"])
            self.daemon.terminate()
            self.daemon.wait()


def figures(env, zones):
    text = subprocess.run([BUILD / "bench" / "bench-zone", zones], env=env, check=True,
                          capture_output=True, text=True).stdout
    return {name: float(value) for name, value, _ in (line.split() for line in text.splitlines())}


def best(rounds, name):
    return min(r[name] for r in rounds if name in r)


def measure():
    """Rounds without and with percentiles; only the first runs a hundred million zones."""
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as folder:
        session = Session(folder)
        try:
            plain = [figures(session.env, ZONES if i == 0 else "1000000") for i in range(ROUNDS)]
            more = {**session.env, "BENCH_PERCENTILES": "1"}
            return plain, [figures(more, "1000000") for _ in range(ROUNDS)]
        finally:
            session.end()


def main(fathom):
    verdict = Verdict()
    plain, percentiles = measure()
    for threads in ("1t", "2t"):
        print(f"  two_rdtsc_{threads} {best(plain, 'two_rdtsc_' + threads):.2f} ns")
        for kind in ("aggregate", "aggregate_nested", "trace"):
            name = f"zone_{kind}_{threads}_ratio"
            verdict.line(f"zone, {kind}, {threads}", best(plain, name), "zones.pair", "x")
        verdict.line(f"zone, percentiles, {threads}",
                     best(percentiles, f"zone_percentiles_{threads}_ratio"), "zones.percentiles", "x")
        for name in (f"zone_precise_{threads}", f"zone_sampled_64_{threads}", f"zone_count_{threads}",
                     f"lttng_pair_{threads}", f"lttng_off_{threads}"):
            if name in plain[0]:
                ratio = best(plain, name) / best(plain, "two_rdtsc_" + threads)
                print(f"  {name} {best(plain, name):.2f} ns, x{ratio:.1f} of two clock reads")
    # Subtract the loop: it is not part of the zone and can take two cycles itself.
    off = max(0, best(plain, "zone_off") - best(plain, "empty_loop"))
    verdict.line("zone, off, beyond an empty loop", off, "zones.off", "ns")
    verdict.line("start-up", best(plain, "start_up"), "zones.start", "ms")
    verdict.line("pipeline of 50 us to 5 ms", best(plain, "pipeline_overhead"), "zones.pipeline", "%")
    verdict.line("report of 100 million", plain[0]["trace_report"], "zones.report", "ms")
    for kind in ("aggregate", "trace"):
        print(f"  {kind}: {plain[0][kind + '_zones_counted']:.0f} of {ZONES} counted, "
              f"{plain[0][kind + '_lost_trace']:.0f} trace records dropped, "
              f"{plain[0][kind + '_amortized']:.2f} ns of CPU each, {plain[0][kind + '_memory']:.1f} MiB")
        verdict.broken |= plain[0][kind + "_zones_counted"] != float(ZONES)
    for length in ("1us", "10us", "100us", "1ms", "10ms"):
        error = min((r[f"accuracy_{length}_error_pct"] for r in plain), key=abs)
        verdict.line(f"accuracy at {length}", abs(error), "zones.accuracy", "%")
    return verdict.broken
