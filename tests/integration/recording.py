"""A recording as Python objects, from `fathom dump`, for tests that compare it with the truth."""
import collections
import json

from support import fathom

TRUNCATED, JOINED = 1, 2


class Recording:
    def __init__(self, path):
        self.meta, self.table = {}, collections.defaultdict(dict)
        self.chains, self.samples = collections.defaultdict(list), []
        self._stacks = {0: ()}
        for line in fathom("dump", "--json", path).stdout.split("\n"):
            if line:  # names may contain other separators that splitlines() knows
                self._take(json.loads(line))

    def _take(self, r):
        kind = r.pop("record")
        if kind == "meta":
            self.meta[r["key"]] = r["value"]
        elif kind == "location":
            self.chains[r["frame"]].append(r["function"])
        elif kind == "sample":
            self.samples.append(r)
        elif kind in ("process_update", "thread_update", "module_update"):
            self.table[kind.split("_")[0]][r.pop("id")].update(r)
        elif "number" in r:
            self.table[kind][r.pop("number")] = r

    def text(self, string):
        return self.table["string"][string]["text"] if string else ""

    def number(self, key):
        return float(self.meta.get(key, 0))

    def lost_ns(self):
        """CPU time that lost samples stand for."""
        return self.number("quality.lost") * 1e9 / self.number("rate_asked")

    def names(self, frame):
        """Functions of a frame, outermost first, including inlined ones."""
        return [self.text(self.table["function"][f]["name"]) for f in self.chains[frame]] or ["?"]

    def frames(self, stack):
        """Frame ids of a stack, outermost first."""
        found = []
        while stack:
            node = self.table["stack"][stack]
            found.append(node["frame"])
            stack = node["parent"]
        return found[::-1]

    def stack(self, stack):
        """Function names of a stack, outermost first."""
        if stack not in self._stacks:
            self._stacks[stack] = tuple(n for f in self.frames(stack) for n in self.names(f))
        return self._stacks[stack]

    def tags(self, tags):
        """The tag set TAGS as {key: value}."""
        found = {}
        while tags:
            tag = self.table["tag"][tags]
            found.setdefault(self.text(tag["key"]), self.text(tag["text"]) or tag["value"])
            tags = tag["parent"]
        return found

    def waits_for(self, sample):
        return self.tags(sample["tags"])["wait"]

    def of(self, metric):
        for number, m in self.table["metric"].items():
            if self.text(m["name"]) == metric:
                return [s for s in self.samples if s["metric"] == number]
        return []

    def share(self, is_in, samples=None):
        """Percent of the weight whose stack (names, outermost first) satisfies IS_IN."""
        samples = self.samples if samples is None else samples
        whole = sum(s["weight"] for s in samples)
        if not whole:
            raise AssertionError("no samples")
        return 100 * sum(s["weight"] for s in samples if is_in(self.stack(s["stack"]))) / whole

    def share_with(self, name, samples=None):
        return self.share(lambda stack: name in stack, samples)

    def need_samples(self, n):
        """Fail if there are too few samples to compare shares.  Brief stops take a tenth or less, and
        on a busy machine, there are fewer from inside."""
        if self.meta["rung"] == "in-process":
            n = min(n, max(50, n // 4))
        if self.meta["rung"] == "stops":
            n = min(n, max(20, n // 20))
        if len(self.samples) < n:
            raise AssertionError(f"only {len(self.samples)} samples, {self.number('quality.lost'):.0f} lost, "
                                 f"{self.number('quality.throttled'):.0f} throttled")
