"""The data in the viewer's page, read as docs/internals/viewer.md describes."""
import base64
import gzip
import json
import re
import unittest

from support import Case, fathom


def lebs(data):
    out, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(value)
            value = shift = 0
    return out


def read_page(path):
    """(facts, {metric: {stack as a tuple of names: weight}}, kinds by name)."""
    text = path.read_text()
    facts = json.loads(re.search(r'<script id="facts"[^>]*>(.*?)</script>', text, re.S).group(1))
    data = gzip.decompress(base64.b64decode(re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.S).group(1)))
    columns, at = {}, 0
    for name, size in facts["columns"].items():
        columns[name] = data[at:at + size]
        at += size
    assert at == len(data)
    strings = columns["strings"].decode().split("\n")
    nodes, path_, stacks = facts["nodes"], [0], [()]
    planes = columns["node.symbol"]
    symbols = [sum(planes[k * nodes + i] << 8 * k for k in range(facts["symbolBytes"])) for i in range(nodes)]
    for i, up in enumerate(lebs(columns["node.up"]), 1):
        path_ = path_[:len(path_) - up]
        stacks.append(stacks[path_[-1]] + (strings[symbols[i] + 1],))
        path_.append(i)
    steps, values, counts = (lebs(columns["weight." + c]) for c in ("node", "value", "count"))
    weights, k = {}, 0
    for metric, _, n, _ in facts["groups"]:
        node, to = 0, weights.setdefault(facts["metrics"][metric - 1]["name"], {})
        for _ in range(n):
            node += steps[k]
            value = values[k] // 2 if values[k] % 2 == 0 else -(values[k] + 1) // 2
            assert counts[k] == value
            to[stacks[node]] = to.get(stacks[node], 0) + value
            k += 1
    kinds = {strings[i + 1]: kind for i, kind in enumerate(columns["symbol.kind"])}
    return facts, weights, kinds


class ViewData(Case):
    def page(self, text, *options):
        source, out = self.dir / "x.txt", self.dir / "x.html"
        source.write_text(text)
        fathom("flame", source, "-o", out, *options)
        return read_page(out)

    def test_every_stack_is_in_the_page_with_its_weight(self):
        stacks = {tuple(f"f{(i * k) % 97}" for k in range(1, 3 + i % 40)): i * i + 1 for i in range(1, 400)}
        text = "".join(f"{';'.join(s)} {n}\n" for s, n in stacks.items())
        facts, weights, _ = self.page(text)
        self.assertEqual(facts["version"], 1)
        self.assertEqual(weights, {"samples": stacks})

    def test_more_symbols_than_a_byte_holds_keep_their_names(self):
        stacks = {("main", f"function_{i}"): i + 1 for i in range(700)}
        facts, weights, _ = self.page("".join(f"{';'.join(s)} {n}\n" for s, n in stacks.items()))
        self.assertEqual(facts["symbolBytes"], 2)
        self.assertEqual(weights["samples"], stacks)

    def test_the_symbol_of_most_nodes_has_the_smallest_number(self):
        _, _, kinds = self.page("main;a;x 1\nmain;b;x 1\nmain;c;x 1\nmain;c;a 1\n")
        self.assertEqual(list(kinds)[:2], ["x", "a"])

    def test_kinds_and_inlining_are_kept(self):
        _, weights, kinds = self.page("main;a_[i];b_[k];c_[j];d (x.py:1) 3\n")
        self.assertEqual(weights["samples"], {("main", "a", "b", "c", "d (x.py:1)"): 3})
        self.assertEqual([kinds[n] for n in ("main", "a", "b", "c", "d (x.py:1)")], [0, 128, 1, 2, 3])

    def test_both_metrics_of_a_difference_are_in_the_page(self):
        facts, weights, _ = self.page("main;a 10 5\nmain;b 0 7\n")
        self.assertEqual([m["name"] for m in facts["metrics"]], ["before", "after"])
        self.assertEqual(weights, {"before": {("main", "a"): 10},
                                   "after": {("main", "a"): 5, ("main", "b"): 7}})

    def test_a_filter_leaves_out_the_frames_of_other_samples(self):
        facts, weights, kinds = self.page("main;a;x 10\nmain;b 7\n", "--function", "^b$")
        self.assertEqual(weights["samples"], {("main", "b"): 7})
        self.assertNotIn("x", kinds)
        self.assertEqual(facts["nodes"], 3)


if __name__ == "__main__":
    unittest.main()
