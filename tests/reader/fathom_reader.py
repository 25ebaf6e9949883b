"""An independent reader of .fathom files, written from docs/format.md alone.

It shares no code with fathom: if both agree on a file, the page is complete.  Import it for
read(), or run it on a file to print the output of `fathom dump --json`.
"""
import codecs
import json
import math
import struct
import sys
import zlib

import zstandard

MAGIC = b"FATHOM\x01\n"
SYNC = bytes.fromhex("89464348")
HEAD = struct.Struct("<4sBBBBIIIIII")
END = 21
MOST_RECORDS = 1 << 20
MOST_RAW = 1 << 26
FREE_RAW, RAW_PER_BYTE = 8 << 20, 64
WIDE = {"period", "pid", "parent_pid", "tid", "start_ns", "end_ns", "time_ns", "duration_ns",
        "address", "weight", "count", "value", "records"}
SIGNED = {"pid", "parent_pid", "tid", "cpu", "weight", "value"}

# The page's tables: a name, then column:encoding; a star where the records have ids.
TABLES = r"""
1 meta key:text value:text
2 string* text:text
3 metric* name:ref unit:ref about:ref flags:uint period:uint
4 process* pid:delta parent_pid:delta name:ref command:ref start_ns:delta end_ns:delta
5 thread* process:ref name:ref tid:delta start_ns:delta end_ns:delta
6 process_update id:id pid:delta parent_pid:delta name:ref command:ref start_ns:delta end_ns:delta
7 thread_update id:id process:ref name:ref tid:delta start_ns:delta end_ns:delta
8 module* path:ref kind:uint build_id:bytes
9 module_update id:id symbols:ref problem:ref advice:ref
10 frame* kind:uint flags:uint module:ref address:delta
11 function* name:ref linkage_name:ref file:ref line:uint module:ref
12 location frame:id function:id line:delta inlined:uint
13 stack* parent:parent frame:id
14 tag* parent:parent key:id text:ref value:int unit:ref
15 sample start_ns:delta thread:ref stack:ref metric:id cpu:int weight:int count:uint \
   duration_ns:duration tags:ref
16 span start_ns:delta duration_ns:uint thread:ref name:ref stack:ref detail:ref tags:ref
17 counter time_ns:delta process:ref name:ref unit:ref value:real tags:ref
18 line module:id address:delta function:id line:delta inlined:uint
19 source file:id text:text
20 code module:id address:delta bytes:bytes
21 end type:uint records:uint
"""


def chunk_types():
    types = {}
    for line in TABLES.replace("\\\n", "").split("\n")[1:-1]:
        number, name, *columns = line.split()
        types[int(number)] = (name.rstrip("*"), name.endswith("*"),
                              [tuple(column.split(":")) for column in columns])
    return types


CHUNKS = chunk_types()


codecs.register_error("each_byte", lambda bad: ("\ufffd" * (bad.end - bad.start), bad.end))


class Malformed(Exception):
    """The contents of a chunk contradict its head or the page."""


def demand(condition, what):
    if not condition:
        raise Malformed(what)


class Bytes:
    """Reads forward through a part of the file, never past its end."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        demand(size <= len(self.data) - self.at, "ends early")
        self.at += size
        return self.data[self.at - size:self.at]

    def uint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            demand(value < 1 << 64 and shift < 70, "a number of more than 64 bits")
            if byte < 0x80:
                return value
            shift += 7

    def int(self):
        value = self.uint()
        return value >> 1 ^ -(value & 1)


def deltas(source, count):
    value = 0
    for _ in range(count):
        value = (value + source.int()) % (1 << 64)
        yield value


def parents(source, count, first):
    for own in range(first, first + count):
        back = source.uint()
        demand(back <= own, "a parent before the first id")
        yield own - back if back else 0


def blobs(source, count):
    sizes = [source.uint() for _ in range(count)]
    return [source.take(size) for size in sizes]


def fit(name, value):
    """A number with the width and sign of its column."""
    bits = 64 if name in WIDE else 32
    if name not in SIGNED:
        demand(0 <= value < 1 << bits, name + " does not fit")
        return value
    if value >= 1 << 63:
        value -= 1 << 64
    demand(-1 << bits - 1 <= value < 1 << bits - 1, name + " does not fit")
    return value


def durations(source, weights):
    return [(source.uint() or weight % (1 << 64) + 1) - 1 for weight in weights]


def reals(source, count):
    for _ in range(count):
        value, = struct.unpack("<d", source.take(8))
        yield value if math.isfinite(value) else None


def column_values(name, encoding, source, count, first):
    if encoding == "text":
        return [text.decode("utf-8", "each_byte") for text in blobs(source, count)]
    if encoding == "bytes":
        return [blob.hex() for blob in blobs(source, count)]
    if encoding == "real":
        return list(reals(source, count))
    if encoding == "uint":
        values = [source.uint() for _ in range(count)]
    elif encoding == "int":
        values = [source.int() for _ in range(count)]
    elif encoding == "parent":
        values = list(parents(source, count, first))
    else:
        values = list(deltas(source, count))
    return [fit(name, value) for value in values]


class Head:
    """The 32 bytes before a chunk's contents."""

    def __init__(self, data, at):
        (self.sync, self.type, self.flags, self.columns, self.zero, self.records, self.first,
         self.raw_size, self.stored_size, self.crc, head_crc) = HEAD.unpack_from(data, at)
        self.good = self.sync == SYNC and zlib.crc32(data[at:at + 28]) == head_crc


def unpack(head, stored):
    """The raw contents of a chunk."""
    if not head.flags & 1:
        demand(head.raw_size == head.stored_size, "two sizes")
        return stored
    decoder = zstandard.ZstdDecompressor().decompressobj()
    try:
        raw = decoder.decompress(stored)
    except zstandard.ZstdError as error:
        raise Malformed(str(error)) from error
    demand(decoder.eof and not decoder.unused_data, "not one zstd frame")
    demand(len(raw) == head.raw_size, "raw size")
    return raw


def contents(head, raw):
    """The records of a chunk, as dictionaries."""
    name, defines, columns = CHUNKS[head.type]
    demand(head.columns >= len(columns), "a column is missing")
    demand(head.records <= MOST_RECORDS, "too many records")
    source = Bytes(raw)
    pieces = [Bytes(source.take(source.uint())) for _ in columns]
    table = {}
    if defines:
        table["number"] = range(head.first, head.first + head.records)
    for (column, encoding), piece in zip(columns, pieces):
        if encoding == "duration":
            table[column] = durations(piece, table["weight"])
        else:
            table[column] = column_values(column, encoding, piece, head.records, head.first)
    return [dict(zip(("record", *table), (name, *row))) for row in zip(*table.values())]


class File:
    """Walks through the chunks of a file that may be damaged anywhere."""

    def __init__(self, data):
        if data[:8] != MAGIC:
            raise ValueError("not a .fathom file of version 1")
        self.data, self.at = data, 8
        self.records, self.bad, self.missing, self.ended = [], 0, 0, False
        self.raw_total = 0
        self.next_id = dict.fromkeys(CHUNKS, 1)

    def walk(self):
        while not self.ended and self.left() >= HEAD.size:
            head = Head(self.data, self.at)
            if not head.good:
                self.bad += 1
                self.resume()
            elif self.left() < HEAD.size + head.stored_size:
                self.missing = HEAD.size + head.stored_size
                return
            else:
                self.chunk(head)
        if self.ended:
            self.bad += self.left() > 0
        else:
            self.missing = self.left()

    def left(self):
        return len(self.data) - self.at

    def resume(self):
        """Skip to the next valid head, or to the end of the file."""
        at = self.data.find(SYNC, self.at + 1)
        while at >= 0 and at + HEAD.size <= len(self.data):
            if Head(self.data, at).good:
                self.at = at
                return
            at = self.data.find(SYNC, at + 1)
        self.at = len(self.data)

    def chunk(self, head):
        start = self.at + HEAD.size
        self.at = start + head.stored_size
        stored = self.data[start:self.at]
        if zlib.crc32(stored) != head.crc:
            self.bad += 1
            return
        self.ended = head.type == END
        if head.type not in CHUNKS:
            return
        try:
            self.budget(head)
            records = contents(head, unpack(head, stored))
            self.define(head)
            self.records += records
        except Malformed:
            self.bad += 1

    def budget(self, head):
        total = self.raw_total + head.raw_size
        demand(head.raw_size <= MOST_RAW, "too large")
        demand(total <= FREE_RAW + RAW_PER_BYTE * self.at, "too much for such a small file")
        self.raw_total = total

    def define(self, head):
        if CHUNKS[head.type][1]:
            demand(head.first >= self.next_id[head.type], "defines ids again")
            demand(head.first + head.records < 1 << 32, "ids beyond 32 bits")
            self.next_id[head.type] = head.first + head.records


def read(data):
    """Every record of a file in order, and the damage."""
    file = File(data)
    file.walk()
    return file.records, {"bad_chunks": file.bad, "missing_bytes": file.missing,
                          "unfinished": not file.ended}


def main():
    with open(sys.argv[1], "rb") as file:
        records, damage = read(file.read())
    for record in records + [dict({"record": "damage"}, **damage)]:
        print(json.dumps(record, separators=(",", ":"), ensure_ascii=False))


if __name__ == "__main__":
    main()
