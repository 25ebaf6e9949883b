"""A profile from `fathom export --format json`, in the terms of make_perfdata.py."""
import json

from support import fathom


def everything(path):
    return json.loads(fathom("export", path, "--format", "json").stdout)


def samples_of(path):
    """The contents of a file, sorted by time where known."""
    p = everything(path)
    stacks = {0: []}
    for i, (parent, frame) in enumerate(zip(p["stacks"]["parent"], p["stacks"]["frame"]), 1):
        f = p["frames"][frame - 1]
        module = p["modules"][f["module"] - 1]["path"] if f["module"] else ""
        stacks[i] = stacks[parent] + [(module, f["address"], f["return"])]
    columns = p["samples"]
    found = []
    for i, metric in enumerate(columns["metric"]):
        thread = p["threads"][columns["thread"][i] - 1]
        found.append({
            "event": p["metrics"][metric - 1]["name"], "weight": columns["weight"][i],
            "pid": p["processes"][thread["process"] - 1]["pid"], "tid": thread["tid"],
            "comm": thread["name"], "cpu": columns["cpu"][i],
            "time": columns["start_ns"][i] + columns["duration_ns"][i],
            "stack": stacks[columns["stack"][i]]})
    return sorted(found, key=lambda s: s["time"])
