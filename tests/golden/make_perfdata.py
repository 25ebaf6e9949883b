#!/usr/bin/python3
"""make_perfdata.py FOLDER: write perf.data files of every kind, each beside the samples it holds.

Written from the layout of include/uapi/linux/perf_event.h and of perf's own headers, with no code
shared with the importer.  `variants()` yields (name, bytes, samples); a sample is a dictionary of
event, weight, pid, tid, comm, time, cpu and stack, the stack a list of (module, address,
is a return address) from the root to the leaf.
"""
import ctypes
import json
import pathlib
import struct
import sys

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH, REGS, STACK = (
    1 << i for i in range(14))
WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION = 1 << 14, 1 << 15, 1 << 16, 1 << 17
PHYS_ADDR, CGROUP, DATA_PAGE, CODE_PAGE, WEIGHT_STRUCT = 1 << 19, 1 << 21, 1 << 22, 1 << 23, 1 << 24
BASE = IP | TID | TIME | PERIOD
KERNEL, USER = -128, -512
USER_DEFERRED = -640
PROG, LIB = "/nonexistent/prog", "/nonexistent/lib/libwork.so"
PROG_START, LIB_START = 0x400000, 0x7F1200000000
SIZE, PROG_OFFSET = 0x100000, 0x1000
KERNEL_TEXT = 0xFFFFFFFF81000000
CPU_CLOCK, CYCLES, FAULTS = ("cpu-clock", 1, 0), ("cycles", 0, 0), ("page-faults", 1, 2)
TRACE = ("sched:sched_switch", 2, 311)
FREQ, SAMPLE_ID_ALL = 1 << 10, 1 << 18


def metric_name(event):
    """The metric of a clock is called cpu."""
    return "cpu" if event is CPU_CLOCK else event[0]


def u64(*values):
    return b"".join(struct.pack("<Q", v & (1 << 64) - 1) for v in values)


def text(name, room=0):
    data = name.encode() + b"\0"
    data += b"\0" * (-len(data) % 8)
    return data + b"\0" * max(0, room - len(data))


def record(kind, misc, body):
    assert len(body) % 8 == 0 and len(body) < 65528, (kind, len(body))
    return struct.pack("<IHH", kind, misc, len(body) + 8) + body


def place(address, is_return):
    """Where the importer must find ADDRESS."""
    if address >= KERNEL_TEXT:
        return ("[kernel]", address, is_return)
    if PROG_START <= address < PROG_START + SIZE:
        return (PROG, address - PROG_START + PROG_OFFSET, is_return)
    if LIB_START <= address < LIB_START + SIZE:
        return (LIB, address - LIB_START, is_return)
    return ("", address, is_return)


class Recording:
    """A recording to be: its events, the layout of their samples, and records as they come."""

    def __init__(self, events=(CPU_CLOCK,), layout=BASE | CALLCHAIN | CPU, attr_size=128,
                 trailer=True, frequency=True, read_format=0, branch=0, described=True,
                 period=1001001):
        self.events, self.layout, self.attr_size = events, layout, attr_size
        self.trailer, self.frequency, self.read_format = trailer, frequency, read_format
        self.branch, self.described, self.period = branch, described, period
        self.records, self.samples, self.comm = [], [], {}
        self.sort, self.machine = True, "x86_64"

    def id_of(self, event):
        return 100 + 10 * event

    def attr(self, event):
        _, kind, config = self.events[event]
        flags = (FREQ if self.frequency else 0) | (SAMPLE_ID_ALL if self.trailer else 0)
        data = struct.pack("<IIQQQQQIIQQ", kind, self.attr_size, config,
                           999 if self.frequency else self.period, self.layout, self.read_format,
                           flags, 0, 0, 0, 0)
        if self.attr_size > 72:
            data += u64(self.branch)
        if self.attr_size > 80:
            data += u64((1 << 17) - 1 if self.layout & REGS else 0)
        # What newer kernels added is not zero, and must not matter.
        return (data + b"\x5a" * self.attr_size)[:self.attr_size]

    def tail(self, event, pid, tid, time, cpu):
        if not self.trailer:
            return b""
        data = b""
        data += struct.pack("<II", pid, tid) if self.layout & TID else b""
        data += u64(time) if self.layout & TIME else b""
        data += u64(self.id_of(event)) if self.layout & ID else b""
        data += u64(77) if self.layout & STREAM_ID else b""
        data += struct.pack("<II", cpu, 0) if self.layout & CPU else b""
        return data + (u64(self.id_of(event)) if self.layout & IDENTIFIER else b"")

    def add(self, kind, body, misc=0, pid=500, tid=500, time=0, cpu=0):
        self.records.append(record(kind, misc, body + self.tail(0, pid, tid, time, cpu)))

    def raw(self, data):
        self.records.append(data)

    def round(self):
        self.raw(record(68, 0, b""))

    def name(self, name, pid=500, tid=500, time=1, execs=True):
        self.add(3, struct.pack("<II", pid, tid) + text(name, 16), 1 << 13 if execs else 0,
                 pid, tid, time)
        self.comm[tid] = name

    def map(self, pid=500, time=2, kind=10, build_id=b"", more_misc=0):
        for path, start, offset in ((PROG, PROG_START, PROG_OFFSET), (LIB, LIB_START, 0)):
            body = struct.pack("<IIQQQ", pid, pid, start, SIZE, offset)
            misc = 2 | more_misc
            if kind == 10 and build_id:
                misc |= 1 << 14
                body += struct.pack("<BBH20s", len(build_id), 0, 0, build_id)
                body += struct.pack("<II", 5, 2)
            elif kind == 10:
                body += struct.pack("<IIQQII", 254, 1, 4711, 0, 5, 2)
            self.add(kind, body + text(path), misc, pid, pid, time)

    def read_values(self, values):
        extra = [b"\x07\0\0\0\0\0\0\0"] * bin(self.read_format & 3).count("1")
        if not self.read_format & 8:
            data = u64(values[0][1]) + b"".join(extra)
            data += u64(values[0][0]) if self.read_format & 4 else b""
            return data + (u64(0) if self.read_format & 16 else b"")
        data = u64(len(values)) + b"".join(extra)
        for number, value in values:
            data += u64(value) + (u64(number) if self.read_format & 4 else b"")
            data += u64(0) if self.read_format & 16 else b""
        return data

    def sample(self, chain, event=0, pid=500, tid=500, time=10, cpu=0, weight=None, kernel=False,
               values=None, deferred=None, expect=True):
        """CHAIN: addresses leaf first, the kernel's before the program's."""
        weight = weight if weight is not None else self.period
        ip = chain[0] if chain else 0
        full = []
        for i, address in enumerate(chain):
            mark = KERNEL if address >= KERNEL_TEXT else USER
            if i == 0 or mark != (KERNEL if chain[i - 1] >= KERNEL_TEXT else USER):
                full.append(mark)
            full.append(address)
        if deferred:
            full += [USER_DEFERRED, deferred]
        lay = self.layout
        body = u64(self.id_of(event)) if lay & IDENTIFIER else b""
        body += u64(ip) if lay & IP else b""
        body += struct.pack("<II", pid, tid) if lay & TID else b""
        body += u64(time) if lay & TIME else b""
        body += u64(0xABCD) if lay & ADDR else b""
        body += u64(self.id_of(event)) if lay & ID else b""
        body += u64(77) if lay & STREAM_ID else b""
        body += struct.pack("<II", cpu, 0) if lay & CPU else b""
        body += u64(weight) if lay & PERIOD else b""
        body += self.read_values(values or [(self.id_of(event), 5)]) if lay & READ else b""
        body += u64(len(full), *full) if lay & CALLCHAIN else b""
        body += struct.pack("<I", 12) + b"\x11" * 12 if lay & RAW else b""
        if lay & BRANCH:
            body += u64(2) + (u64(0) if self.branch & 1 << 17 else b"") + b"\x33" * 48
            body += u64(1, 2) if self.branch & 1 << 19 else b""
        if lay & REGS:
            body += u64(0)  # no registers: the thread was in the kernel
        if lay & STACK:
            body += u64(0)
        for bit in (WEIGHT, WEIGHT_STRUCT, DATA_SRC, TRANSACTION, PHYS_ADDR, CGROUP, DATA_PAGE,
                    CODE_PAGE):
            body += u64(0x99) if lay & bit else b""
        self.raw(record(9, 1 if kernel or ip >= KERNEL_TEXT else 2, body))
        if not expect:
            return
        seen = chain if lay & CALLCHAIN else chain[:1]
        self.expect(seen, event, pid, tid, time, cpu, weight if lay & PERIOD or not self.frequency
                    else 1)

    def expect(self, chain, event, pid, tid, time, cpu, weight):
        stack, last = [], None
        for address in chain:
            side = address >= KERNEL_TEXT
            stack.append(place(address, side == last))
            last = side
        self.samples.append({
            "event": metric_name(self.events[event]), "weight": weight, "pid": pid, "tid": tid,
            "comm": self.comm.get(tid, self.comm.get(pid, "")),
            "time": time if self.layout & TIME else 0,
            "cpu": cpu if self.layout & CPU else -1, "stack": stack[::-1]})

    def feature_sections(self):
        out = {2: b"", 3: self.string("host"), 6: self.string(self.machine),
               11: struct.pack("<I", 2) + self.string("perf") + self.string("record")}
        if self.described:
            out[12] = struct.pack("<II", len(self.events), self.attr_size)
            for i, event in enumerate(self.events):
                out[12] += self.attr(i) + struct.pack("<I", 1) + self.string(event[0])
                out[12] += u64(self.id_of(i))
        return out

    @staticmethod
    def string(value):
        data = value.encode() + b"\0"
        data += b"\0" * (-len(data) % 64)
        return struct.pack("<I", len(data)) + data

    def stream(self):
        return b"".join(self.records)

    def file(self, data=None, finished=True, lie=0):
        """The whole as perf writes it to a file."""
        data = self.stream() if data is None else data
        entry = self.attr_size + 16
        ids_at = 104
        ids = u64(*[self.id_of(i) for i in range(len(self.events))])
        attrs_at = ids_at + len(ids)
        attrs = b"".join(self.attr(i) + u64(ids_at + 8 * i, 8) for i in range(len(self.events)))
        data_at = attrs_at + len(attrs)
        sections = self.feature_sections()
        bits = sum(1 << bit for bit in sections)
        head = b"PERFILE2" + u64(104, entry, attrs_at, len(attrs), data_at,
                                 (len(data) + lie) if finished else 0, 0, 0)
        head += bits.to_bytes(32, "little")
        if not finished:
            return head + ids + attrs + data
        at = data_at + len(data) + 16 * len(sections)
        table, body = b"", b""
        for bit in sorted(sections):
            table += u64(at + len(body), len(sections[bit]))
            body += sections[bit]
        return head + ids + attrs + data + table + body

    def pipe(self, names=True, data=None):
        """The whole as perf writes it to a pipe: everything is a record."""
        out = b"PERFILE2" + u64(16)
        for i, event in enumerate(self.events):
            out += record(64, 0, self.attr(i) + u64(self.id_of(i)))
            if names:
                out += record(78, 0, u64(2, self.id_of(i)) + text(event[0]))
        out += record(80, 0, u64(6) + self.string(self.machine) + b"\0\0\0\0")
        return out + (self.stream() if data is None else data)


def compress(data):
    """One zstd frame, by the library itself; None where it is missing."""
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    zstd.ZSTD_compressBound.restype = zstd.ZSTD_compress.restype = ctypes.c_size_t
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    n = zstd.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 1)
    return out.raw[:n]


def packed(data, kind, piece):
    """DATA as records of KIND (81 or 83), cut anywhere."""
    squeezed, out = compress(data), b""
    if squeezed is None:
        return None
    for at in range(0, len(squeezed), piece):
        part = squeezed[at:at + piece]
        if kind == 83:
            body = u64(len(part)) + part + b"\0" * (-len(part) % 8)
            out += struct.pack("<IHH", kind, 0, len(body) + 8) + body
        else:  # not padded: the records that follow are where they happen to be
            out += struct.pack("<IHH", kind, 0, len(part) + 8) + part
    return out


LEAF, MIDDLE, ROOT = PROG_START + 0x1234, LIB_START + 0x777, PROG_START + 0x88
SYSCALL = [KERNEL_TEXT + 0x500, KERNEL_TEXT + 0x4000]


def usual(r, n=12, pid=500, tid=500, start=10):
    """Names, maps and a few samples of all shapes."""
    r.name("prog", pid, tid)
    r.map(pid)
    for i in range(n):
        chain = [[LEAF, MIDDLE, ROOT], SYSCALL + [MIDDLE, ROOT], [LEAF + 16 * i, ROOT]][i % 3]
        r.sample(chain, event=i % len(r.events), pid=pid, tid=tid, time=start + i, cpu=i % 4,
                 weight=1000 + i)
    return r


def with_a_wait():
    """One sample, then 5,000 ns off the processor."""
    r = Recording()
    r.name("prog")
    r.map()
    r.sample([LEAF, ROOT], time=1000)
    r.add(14, b"", 1 << 13, time=2000)
    r.add(14, b"", 0, time=7000)
    return r


def with_an_idle_thread():
    """One thread runs for 1 ms; another runs for 1,000 ns and then waits for 1 ms."""
    r = Recording()
    r.name("prog")
    r.map()
    r.add(7, struct.pack("<IIIIQ", 500, 500, 501, 500, 5), tid=501, time=5)
    r.sample([MIDDLE, ROOT], tid=501, time=10000, weight=1000)
    r.add(14, b"", 1 << 13, tid=501, time=11000)
    for i in range(1, 11):
        r.sample([LEAF, ROOT], time=100000 * i, weight=100000)
    r.add(14, b"", 0, tid=501, time=1011000)
    return r


def by_layout():
    """Every field that may stand before or behind those we read."""
    for bits, name in ((0, "plain"), (ADDR, "addr"), (STREAM_ID, "stream"), (RAW, "raw"),
                       (CPU, "cpu"), (ID, "id"), (IDENTIFIER, "identifier"),
                       (ID | IDENTIFIER | STREAM_ID | CPU | ADDR, "all-ids"), (WEIGHT, "weight"),
                       (WEIGHT_STRUCT | DATA_SRC, "mem"), (TRANSACTION | PHYS_ADDR, "tsx"),
                       (CGROUP | DATA_PAGE | CODE_PAGE, "new"), (REGS | STACK, "no-stack"),
                       (BRANCH, "branches"), (BRANCH | RAW | CPU, "branches-raw")):
        for trailer in (True, False):
            r = usual(Recording(layout=BASE | CALLCHAIN | bits, trailer=trailer))
            yield f"layout-{name}-{'tail' if trailer else 'bare'}", r.file(), r
    for branch in (1 << 17, 1 << 19, 1 << 17 | 1 << 19):
        r = usual(Recording(layout=BASE | CALLCHAIN | BRANCH, branch=branch))
        yield f"branches-{branch:x}", r.file(), r
    for layout, name in ((IP | TID, "ip-tid"), (IP | TID | TIME, "no-period"), (BASE, "no-chain"),
                         (BASE | CPU, "no-chain-cpu"), (TID | TIME | CALLCHAIN, "no-ip")):
        for frequency in (True, False):
            r = usual(Recording(layout=layout, frequency=frequency, period=4000))
            if not layout & PERIOD and not frequency:
                for s in r.samples:
                    s["weight"] = 4000
            yield f"short-{name}-{'freq' if frequency else 'count'}", r.file(), r


def by_attr_size():
    for size in (64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 192, 256):
        r = usual(Recording(attr_size=size))
        yield f"attr-{size}-file", r.file(), r
        r = usual(Recording(attr_size=size))
        yield f"attr-{size}-pipe", r.pipe(), r


def by_events():
    sets = {"one": (CPU_CLOCK,), "cycles": (CYCLES,), "two": (CPU_CLOCK, FAULTS),
            "three": (CYCLES, FAULTS, TRACE), "trace": (TRACE,)}
    for name, events in sets.items():
        for where, bit in (("identifier", IDENTIFIER), ("id", ID), ("both", ID | IDENTIFIER)):
            for mode in ("file", "pipe"):
                r = usual(Recording(events, BASE | CALLCHAIN | CPU | bit))
                yield f"events-{name}-{where}-{mode}", r.file() if mode == "file" else r.pipe(), r
    r = usual(Recording((CYCLES, FAULTS), BASE | CALLCHAIN | IDENTIFIER, described=False))
    yield "events-undescribed-file", r.file(), r
    r = usual(Recording((CYCLES, FAULTS), BASE | CALLCHAIN | IDENTIFIER))
    yield "events-undescribed-pipe", r.pipe(names=False), r


def by_reading():
    for form in (0, 1, 2, 3, 4, 5, 7, 16, 20, 23):
        r = usual(Recording(layout=BASE | CALLCHAIN | READ | IDENTIFIER, read_format=form))
        yield f"read-{form}", r.file(), r
    for form in (12, 13, 15, 28):
        r = Recording((CYCLES, FAULTS), BASE | CALLCHAIN | READ | IDENTIFIER, read_format=form)
        r.name("prog")
        r.map()
        totals = [0, 0]
        for i in range(6):
            grown = [100 + i, i % 2]
            totals = [totals[0] + grown[0], totals[1] + grown[1]]
            r.sample([LEAF, ROOT], time=10 + i, expect=False,
                     values=[(r.id_of(k), totals[k]) for k in (0, 1)])
            for k in (0, 1):
                if grown[k]:
                    r.expect([LEAF, ROOT], k, 500, 500, 10 + i, 0, grown[k])
                    r.samples[-1]["cpu"] = -1
        yield f"read-group-{form}", r.file(), r


def by_packing():
    for kind in (81, 83):
        for piece in (1 << 15, 1000, 137, 64):
            for mode in ("file", "pipe"):
                r = usual(Recording(), 60)
                data = packed(r.stream(), kind, piece)
                if data is None:
                    continue
                yield (f"packed-{kind}-{piece}-{mode}",
                       r.file(data) if mode == "file" else r.pipe(data=data), r)


def by_order():
    for rounds in (True, False):
        r = Recording(layout=BASE | CALLCHAIN | CPU)
        r.name("prog")
        r.map()
        made = []
        for cpu in (0, 1, 2):  # each CPU's buffer in turn, as perf drains them
            for i in range(5):
                made.append((20 + 3 * i + cpu, cpu))
        for time, cpu in made:
            r.sample([LEAF, ROOT], time=time, cpu=cpu, weight=time)
        if rounds:
            r.round()
        for i in range(5):
            r.sample([MIDDLE, ROOT], time=100 + i, weight=7)
        r.round()
        yield f"order-{'rounds' if rounds else 'none'}", r.file(), r
    # A map that comes later in the file than the samples it belongs to, but earlier in time.
    r = Recording(layout=BASE | CALLCHAIN | CPU)
    r.name("prog", time=1)
    r.sample([LEAF, ROOT], time=50)
    r.map(time=2)
    r.round()
    yield "order-late-map", r.file(), r
    r = Recording(layout=IP | TID | PERIOD | CALLCHAIN, trailer=False)
    yield "order-no-time", usual(r).file(), r


def by_records():
    r = Recording()
    r.name("prog")
    r.map(kind=1)
    r.sample([LEAF, ROOT])
    yield "records-mmap1", r.file(), r
    for size in (20, 16, 8):
        r = Recording()
        r.name("prog")
        r.map(build_id=bytes(range(1, size + 1)))
        r.sample([LEAF, MIDDLE, ROOT])
        yield f"records-build-id-{size}", r.file(), r
    r = Recording()
    r.name("prog")
    r.map(more_misc=1 << 14)  # of another recorder's event; there is no build id
    r.sample([LEAF, MIDDLE, ROOT])
    yield "records-no-build-id", r.file(), r
    r = Recording()
    r.name("prog")
    r.map()
    r.add(7, struct.pack("<IIIIQ", 600, 500, 600, 500, 5), pid=600, tid=600, time=5)
    r.comm[600] = "prog"
    r.sample([LEAF, MIDDLE, ROOT], pid=600, tid=600, time=6)   # inherits the maps
    r.add(7, struct.pack("<IIIIQ", 600, 600, 601, 600, 7), pid=600, tid=601, time=7)
    r.name("worker", 600, 601, 8, execs=False)
    r.sample([MIDDLE, ROOT], pid=600, tid=601, time=9)
    r.add(4, struct.pack("<IIIIQ", 600, 600, 601, 600, 20), pid=600, tid=601, time=20)
    r.sample([LEAF], time=30)
    yield "records-fork", r.file(), r
    r = Recording()
    r.name("shell")
    r.map()
    r.name("prog", time=5)                                     # exec: the old maps are gone
    r.sample([LEAF], time=6, expect=False)
    r.samples.append({"event": metric_name(CPU_CLOCK), "weight": r.period, "pid": 500, "tid": 500,
                      "comm": "prog", "time": 6, "cpu": 0, "stack": [("", LEAF, False)]})
    yield "records-exec", r.file(), r
    r = Recording()
    r.name("prog")
    r.map()
    others = ((2, u64(100, 9)), (13, u64(4)), (5, u64(1, 2, 3)), (6, u64(1, 2, 3)),
              (8, u64(1, 2)), (11, u64(0, 64, 0)), (12, u64(5)), (16, u64(1, 1, 3, 4)),
              (18, u64(1, 2)), (19, u64(3) + text("/cg")), (20, u64(1, 2, 3)), (21, u64(1)),
              (40, u64(1)))
    for kind, body in others:
        r.add(kind, body, time=9)
    for kind in (65, 69, 70, 74, 75, 79, 82, 84, 99):
        r.raw(record(kind, 0, u64(1, 2, 3)))
    r.raw(record(66, 0, struct.pack("<II", 13, 0)) + b"tracing data\0\0\0\0")
    r.raw(record(71, 0, u64(24, 0, 0, 0, 0)) + b"\x77" * 24)
    r.raw(record(73, 0, u64(1, 500) + text("prog", 16)))
    r.sample([LEAF, ROOT], time=10)
    yield "records-others-file", r.file(), r
    yield "records-others-pipe", r.pipe(), r
    r = Recording()
    r.name("prog")
    r.map()
    r.sample(SYSCALL, time=10, deferred=42, expect=False)
    r.sample([LEAF], time=11)
    r.add(22, u64(42, 2, MIDDLE, ROOT), time=12)
    r.expect(SYSCALL + [MIDDLE, ROOT], 0, 500, 500, 10, 0, r.period)
    yield "records-deferred", r.file(), r
    r = Recording()
    r.name("prog")
    r.map()
    r.sample([LEAF, 0x10, ROOT], time=10, expect=False)        # an address nobody mapped
    r.expect([LEAF], 0, 500, 500, 10, 0, r.period)             # is no return address
    yield "records-unmapped", r.file(), r


def by_damage():
    r = usual(Recording())
    yield "damage-unfinished", r.file(finished=False), r
    r = usual(Recording())
    data = r.stream()
    r.samples.pop()
    yield "damage-cut-file", r.file(data, finished=False)[:-9], r
    r = usual(Recording())
    whole = r.pipe()
    r.samples.pop()
    yield "damage-cut-pipe", whole[:-5], r
    r = usual(Recording())
    yield "damage-tail", r.pipe() + b"\0" * 8, r


def variants():
    for family in (by_layout, by_attr_size, by_events, by_reading, by_packing, by_order,
                   by_records, by_damage):
        for name, data, r in family():
            yield name, data, sorted(r.samples, key=lambda s: s["time"]) if r.layout & TIME \
                else r.samples


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    n = 0
    for name, data, samples in variants():
        (folder / (name + ".data")).write_bytes(data)
        (folder / (name + ".json")).write_text(json.dumps(samples))
        n += 1
    print(f"{n} files in {folder}")


if __name__ == "__main__":
    main(sys.argv[1])
