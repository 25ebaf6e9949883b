#!/usr/bin/env python3
"""gen_stacks.py OUT [STACKS]: write STACKS (200,000) unique collapsed stacks, about 145 MB.

The stacks come from a random call tree of 5,000 functions with depths of 8 to 45.  An existing
child is reused with probability 0.93 in the upper twelve levels and 0.80 below.  Counts follow a
Pareto distribution.  The output depends only on STACKS, so that tools can be compared.
"""
import random
import sys

PARTS = ("parse read write build merge hash scan visit lower emit select fold insert lookup flush "
         "decode encode verify commit split").split()
SPACES = ("core::io net::http db::index ui::layout gfx::mesh ml::tensor llvm::opt std::detail "
          "app::model rpc::wire").split()


def names(rng, n=5000):
    return [f"{rng.choice(SPACES)}::{rng.choice(PARTS)}_{rng.choice(PARTS)}{i}" for i in range(n)]


def stacks(n, seed=42):
    rng = random.Random(seed)
    name, tree, made = names(rng), {}, 0
    used = set()
    uniform, below = rng.random, rng.randrange
    while made < n:
        node, path, key = tree, ["main"], []
        for depth in range(rng.randint(8, 45)):
            children = node.get("kids")
            if children is None:
                children = node["kids"] = []
                node["by"] = {}
            if children and uniform() < (0.93 if depth < 12 else 0.80):
                symbol = children[below(len(children))]
            else:
                symbol = below(5000)
                if symbol not in node["by"]:
                    node["by"][symbol] = {}
                    children.append(symbol)
            node = node["by"][symbol]
            path.append(name[symbol])
            key.append(symbol)
        if tuple(key) in used:
            continue
        used.add(tuple(key))
        made += 1
        yield ";".join(path), int(rng.paretovariate(1.1))


def main():
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    with open(sys.argv[1], "w") as out:
        for path, count in stacks(n):
            out.write(f"{path} {count}\n")


if __name__ == "__main__":
    main()
