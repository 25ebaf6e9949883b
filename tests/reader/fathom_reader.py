"""A second reader of .fathom files, in the terms of docs/format.md.

    fathom_reader.py FILE    prints every record, as `fathom dump --json FILE` does

It shares no code with fathom, but was written with knowledge of it: it proves that page and
readers agree, not that the page suffices alone.  A test compares what both read from a file.
"""
import json
import struct
import sys
import zlib

import zstandard

MAGIC = b"FATHOM\x01\n"
SYNC = b"\x89FCH"
HEAD = struct.Struct("<4sBBBBIIIIII")
MAX_RECORDS = 1 << 20
MAX_RAW = 64 << 20

# Type -> (name, defines ids, columns as (name, encoding)), as listed under "Chunk types".
CHUNKS = {
    1: ("meta", False, [("key", "text"), ("value", "text")]),
    2: ("string", True, [("text", "text")]),
    3: ("metric", True, [("name", "ref"), ("unit", "ref"), ("about", "ref"), ("flags", "uint"),
                         ("period", "uint")]),
    4: ("process", True, [("pid", "delta"), ("parent_pid", "delta"), ("name", "ref"),
                          ("command", "ref"), ("start_ns", "delta"), ("end_ns", "delta")]),
    5: ("thread", True, [("process", "ref"), ("name", "ref"), ("tid", "delta"),
                         ("start_ns", "delta"), ("end_ns", "delta")]),
    6: ("process_update", False, [("id", "id"), ("pid", "delta"), ("parent_pid", "delta"),
                                  ("name", "ref"), ("command", "ref"), ("start_ns", "delta"),
                                  ("end_ns", "delta")]),
    7: ("thread_update", False, [("id", "id"), ("process", "ref"), ("name", "ref"),
                                 ("tid", "delta"), ("start_ns", "delta"), ("end_ns", "delta")]),
    8: ("module", True, [("path", "ref"), ("kind", "uint"), ("build_id", "bytes")]),
    9: ("frame", True, [("kind", "uint"), ("flags", "uint"), ("module", "ref"),
                        ("address", "delta")]),
    10: ("function", True, [("name", "ref"), ("linkage_name", "ref"), ("file", "ref"),
                            ("line", "uint"), ("module", "ref")]),
    11: ("location", False, [("frame", "id"), ("function", "id"), ("line", "delta"),
                             ("inlined", "uint")]),
    12: ("stack", True, [("parent", "parent"), ("frame", "id")]),
    13: ("sample", False, [("time_ns", "delta"), ("thread", "ref"), ("stack", "ref"),
                           ("metric", "id"), ("cpu", "int"), ("weight", "int"),
                           ("count", "uint")]),
    14: ("span", False, [("start_ns", "delta"), ("duration_ns", "uint"), ("thread", "ref"),
                         ("name", "ref"), ("stack", "ref"), ("detail", "ref")]),
    15: ("counter", False, [("time_ns", "delta"), ("process", "ref"), ("name", "ref"),
                            ("unit", "ref"), ("value", "real")]),
    16: ("source", False, [("file", "id"), ("text", "text")]),
    17: ("code", False, [("module", "id"), ("address", "delta"), ("bytes", "bytes")]),
    18: ("end", False, [("type", "uint"), ("records", "uint")]),
}
SIGNED = {"pid", "parent_pid", "tid", "cpu", "weight"}
WIDE = {"period", "pid", "parent_pid", "tid", "start_ns", "end_ns", "time_ns", "duration_ns",
        "address", "weight", "count", "records"}


class Bad(Exception):
    """A chunk or file that does not follow the page."""


class Bytes:
    """Reads on through some bytes; Bad at their end."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Bad("too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def uint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value & (2 ** 64 - 1)
            if shift > 70:
                raise Bad("endless number")

    def int(self):
        value = self.uint()
        return -(value >> 1) - 1 if value & 1 else value >> 1


def fit(name, value):
    """A number modulo 2^64 as its column has it: signed or not, 64 bits wide or 32."""
    if name in SIGNED and value >= 2 ** 63:
        value -= 2 ** 64
    if name not in WIDE and not (-2 ** 31 if name in SIGNED else 0) <= value < (
            2 ** 31 if name in SIGNED else 2 ** 32):
        raise Bad("too large a number")
    return value


def column(data, name, encoding, records, first):
    """The values of one column."""
    source, values, value = Bytes(data), [], 0
    if encoding in ("text", "bytes"):
        lengths = [source.uint() for _ in range(records)]
        values = [source.take(n) for n in lengths]
        return [v.decode("utf-8", "replace") if encoding == "text" else v.hex() for v in values]
    for i in range(records):
        if encoding == "uint":
            value = source.uint()
        elif encoding == "int":
            value = source.int() % 2 ** 64
        elif encoding == "real":
            values.append(struct.unpack("<d", source.take(8))[0])
            continue
        elif encoding == "parent":
            back = source.uint()
            value = (first + i - back) % 2 ** 64 if back else 0
        else:  # delta, ref, id
            value = (value + source.int()) % 2 ** 64
        values.append(fit(name, value))
    return values


def contents(head, stored, so_far, end):
    """The records of a chunk as dictionaries."""
    _, kind, flags, columns, _, records, first, raw_size, stored_size, _, _ = head
    name, defines, known = CHUNKS[kind]
    if raw_size > MAX_RAW or so_far + raw_size > (8 << 20) + 64 * end:
        raise Bad("too large")
    if records > MAX_RECORDS or columns < len(known):
        raise Bad("too many records or too few columns")
    raw = stored
    if flags & 1:
        try:
            raw = zstandard.ZstdDecompressor().decompress(stored, max_output_size=raw_size)
        except zstandard.ZstdError as why:
            raise Bad("zstd") from why
    if len(raw) != raw_size:
        raise Bad("size")
    source, table = Bytes(raw), {}
    for column_name, encoding in known:
        data = source.take(source.uint())
        table[column_name] = column(data, column_name, encoding, records, first)
    out = []
    for i in range(records):
        record = {"record": name}
        if defines:
            record["number"] = first + i
        for column_name, _ in known:
            record[column_name] = table[column_name][i]
        out.append(record)
    return out


def head_at(data, at):
    """The chunk head at a position, or None when there is no good one."""
    if len(data) - at < HEAD.size or data[at:at + 4] != SYNC:
        return None
    head = HEAD.unpack_from(data, at)
    return head if zlib.crc32(data[at:at + 28]) == head[10] else None


def read(data):
    """(records, damage): damage counts bad chunks and says whether the end is missing."""
    if data[:6] != MAGIC[:6] or len(data) < 8 or data[7] != 10:
        raise Bad("no .fathom file")
    if data[6] != MAGIC[6]:
        raise Bad(f"version {data[6]}")
    at, so_far, records, ended = len(MAGIC), 0, [], False
    damage = {"bad_chunks": 0, "missing_bytes": 0}
    while at < len(data) and not ended:
        if len(data) - at < HEAD.size:
            damage["missing_bytes"] = len(data) - at
            break
        head = head_at(data, at)
        if not head:
            damage["bad_chunks"] += 1
            at = data.find(SYNC, at + 1)
            while at >= 0 and not head_at(data, at):
                at = data.find(SYNC, at + 1)
            if at < 0:
                break
            continue
        kind, raw_size, stored_size = head[1], head[7], head[8]
        start, at = at + HEAD.size, at + HEAD.size + stored_size
        if at > len(data):
            damage["missing_bytes"] = HEAD.size + stored_size
            break
        stored = data[start:at]
        if zlib.crc32(stored) != head[9]:
            damage["bad_chunks"] += 1
            continue
        ended = kind == 18
        if kind in CHUNKS:
            try:
                records += contents(head, stored, so_far, at)
            except Bad:
                damage["bad_chunks"] += 1
            so_far += raw_size
    if ended and at < len(data):
        damage["bad_chunks"] += 1
    damage["unfinished"] = not ended
    return records, damage


def main():
    with open(sys.argv[1], "rb") as file:
        records, damage = read(file.read())
    for record in records + [dict({"record": "damage"}, **damage)]:
        print(json.dumps(record, ensure_ascii=False))


if __name__ == "__main__":
    main()
