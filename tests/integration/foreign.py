"""Check exported files against the specifications of their formats, for test_export.py."""
import json
import re


def speedscope(data):
    """Violations of speedscope's file format schema (version 1.25), as sentences."""
    wrong = []

    def need(what, condition):
        if not condition:
            wrong.append(what)

    need("$schema", data.get("$schema") == "https://www.speedscope.app/file-format-schema.json")
    frames = data["shared"]["frames"]
    for f in frames:
        need("frame name", isinstance(f.get("name"), str))
        need("frame file", isinstance(f.get("file", ""), str))
        need("frame line", isinstance(f.get("line", 0), (int, float)))
        need("frame members", set(f) <= {"name", "file", "line", "col"})
    for p in data["profiles"]:
        need("type", p["type"] in ("sampled", "evented"))
        need("unit", p["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds",
                                   "seconds", "bytes"))
        need("start", isinstance(p["startValue"], (int, float)))
        need("end", isinstance(p["endValue"], (int, float)))
        need("name", isinstance(p["name"], str))
        need("weights", len(p["samples"]) == len(p["weights"]))
        need("indexes", all(isinstance(i, int) and 0 <= i < len(frames)
                            for s in p["samples"] for i in s))
        need("end is the sum", p["endValue"] - p["startValue"] == sum(p["weights"]))
    need("active", 0 <= data.get("activeProfileIndex", 0) < max(1, len(data["profiles"])))
    return wrong


def firefox(data):
    """Violations of the processed profile format, version 54."""
    wrong = []

    def need(what, condition):
        if not condition:
            wrong.append(what)

    meta = data["meta"]
    need("version", meta["preprocessedProfileVersion"] == 54)
    need("gray", any(c["color"] == "gray" for c in meta["categories"]))
    for thread in data["threads"]:
        strings = len(thread["stringArray"])
        tables = {k: thread[k] for k in ("samples", "markers", "stackTable", "frameTable",
                                         "funcTable", "resourceTable", "nativeSymbols")}
        for name, table in tables.items():
            for key, column in table.items():
                if isinstance(column, list):
                    need(f"{name}.{key} length", len(column) == table["length"])
        stack, frame, func = (tables[k] for k in ("stackTable", "frameTable", "funcTable"))
        need("prefixes come first", all(p is None or 0 <= p < i
                                        for i, p in enumerate(stack["prefix"])))
        need("stack frames", all(0 <= f < frame["length"] for f in stack["frame"]))
        need("frame functions", all(0 <= f < func["length"] for f in frame["func"]))
        need("categories", all(0 <= c < len(meta["categories"]) for c in frame["category"]))
        need("names", all(0 <= n < strings for n in func["name"]))
        need("files", all(n is None or 0 <= n < strings for n in func["fileName"]))
        need("resources", all(-1 <= r < tables["resourceTable"]["length"]
                              for r in func["resource"]))
        need("libraries", all(0 <= i < len(data["libs"]) for i in tables["resourceTable"]["lib"]))
        need("sample stacks", all(s is None or 0 <= s < stack["length"]
                                  for s in tables["samples"]["stack"]))
        times = tables["samples"]["time"]
        need("times ascend", all(a <= b for a, b in zip(times, times[1:])))
        need("pid is text", isinstance(thread["pid"], str))
    return wrong


def firefox_self(data):
    """Self weight by function name."""
    found = {}
    for thread in data["threads"]:
        samples = thread["samples"]
        for stack, weight in zip(samples["stack"], samples["weight"]):
            if stack is None:
                continue
            func = thread["frameTable"]["func"][thread["stackTable"]["frame"][stack]]
            name = thread["stringArray"][thread["funcTable"]["name"][func]]
            found[name] = found.get(name, 0) + weight
    return found


def pprof_raw_self(text, metric):
    """{function: self cost} from `pprof -raw`; older versions print no column numbers."""
    samples, locations = text.split("Samples:\n")[1].split("Locations\n")
    names = dict(re.findall(r"^ +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*?) \S*:\d+(?::\d+)? s=",
                            locations, re.M))
    types, *lines = samples.splitlines()
    column = [t.split("/")[0] for t in types.split()].index(metric)
    out = {}
    for found in filter(None, (re.match(r"\s*([-\d ]+): (\d+)", line) for line in lines)):
        weight = int(found.group(1).split()[column])
        if weight:
            name = names[found.group(2)]
            out[name] = out.get(name, 0) + weight
    return out


def pprof_top(text):
    """{function: (self share, total share)} in percent, from `pprof -top`."""
    out = {}
    for line in text.split("cum%\n")[1].splitlines():
        _, flat, _, _, cum, name = line.split(None, 5)
        out[name.removesuffix(" (inline)")] = (float(flat.rstrip("%")), float(cum.rstrip("%")))
    return out


def chrome(data):
    """Calls that do not nest, and missing members."""
    wrong, open_calls = [], {}
    for e in data["traceEvents"]:
        if not {"ph", "name", "pid"} <= set(e):
            wrong.append(f"members of {e}")
        if e["ph"] != "X":
            continue
        start, end = round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)
        stack = open_calls.setdefault((e["pid"], e["tid"]), [])
        while stack and stack[-1] <= start:
            stack.pop()
        if stack and end > stack[-1] + 1:
            wrong.append(f"{e} ends after its caller")
        stack.append(end)
    return wrong


def chrome_totals(data):
    """{function: ns} of its outermost calls, in a trace whose calls nest."""
    out, open_calls = {}, {}
    for e in (e for e in data["traceEvents"] if e["ph"] == "X"):
        start, duration = round(e["ts"] * 1000), round(e["dur"] * 1000)
        stack = open_calls.setdefault((e["pid"], e["tid"]), [])
        while stack and stack[-1][0] <= start:
            stack.pop()
        if e["name"] not in (name for _, name in stack):
            out[e["name"]] = out.get(e["name"], 0) + duration
        stack.append((start + duration, e["name"]))
    return out


def decoded(lines):
    """`protoc --decode_raw` text as nested lists of (field, value)."""
    stack = [[]]
    for line in lines:
        line = line.strip()
        if line.endswith("{"):
            child = []
            stack[-1].append((int(line.split()[0]), child))
            stack.append(child)
        elif line == "}":
            stack.pop()
        elif ": " in line:
            field, _, value = line.partition(": ")
            stack[-1].append((int(field), json.loads(value) if value.isdigit() else value))
    return stack[0]
