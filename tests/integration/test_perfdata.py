"""perf.data files made to cost time or memory out of proportion to their size.

The limits are far above what the tool needs, so that no test depends on the speed of a machine: a
tool whose work grows with the square of the file exceeds them by far, or does not end.
"""
import json
import pathlib
import resource
import struct
import sys

from perfdata_case import everything
from support import BUILD, FATHOM, SOURCE, Case, fathom, run

sys.path.insert(0, str(SOURCE / "tests/golden"))
import make_perfdata as m  # noqa: E402

BYTES = 1536 << 20
KERNEL_SYMBOL = 17
DEFERRED = 22
NO_PID = 0xFFFFFFFF


class Hostile(m.Recording):
    """Records of one process, each later than the last."""

    def __init__(self, layout=m.BASE | m.CALLCHAIN, **more):
        super().__init__(layout=layout, **more)
        self.time = 1
        self.put(3, struct.pack("<II", 500, 500) + m.text("prog"), 1 << 13)

    def put(self, kind, body, misc=2, pid=500):
        self.time += 1
        self.add(kind, body, misc, pid, pid, self.time)

    def map_one(self, start, path="/nonexistent/x", pid=500, size=0x1000):
        self.put(1, struct.pack("<IIQQQ", pid, pid, start, size, 0) + m.text(path), pid=pid)

    def fork(self, pid, tid):
        self.put(7, struct.pack("<IIIIQ", pid, 500, tid, 500, self.time))

    def chain(self, *words):
        self.time += 1
        body = struct.pack("<QIIQQ", words[-1] & (1 << 64) - 1, 500, 500, self.time, 1000)
        self.raw(m.record(9, 1 if words[0] == m.KERNEL else 2, body + m.u64(len(words), *words)))


    def calls(self, *addresses):
        """A sample with open calls, the innermost first."""
        self.time += 1
        body = struct.pack("<QIIQQ", addresses[0] + 1, 500, 500, self.time, 1000)
        body += m.u64(len(addresses)) + b"".join(m.u64(a, 0x400000, 0) for a in addresses)
        self.raw(m.record(9, 2, body))


def has_sanitizers():
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    return any(o["name"] == "b_sanitize" and o["value"] not in ("none", []) for o in options)


def limit():
    """The tool needs 2 s at most, its build with sanitizers ten times as many."""
    seconds = 100 if has_sanitizers() else 20
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if not has_sanitizers():  # their shadow memory needs all addresses
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


class Bounds(Case):
    def write(self, data):
        path = self.dir / "x.data"
        path.write_bytes(data.file() if isinstance(data, Hostile) else data)
        return path

    def limited(self, data, status=0):
        """The standard output and error of a report on DATA, within the limits."""
        done = run(FATHOM, "report", self.write(data), status=status, preexec_fn=limit)
        return done.stdout + done.stderr

    def test_the_kernel_is_looked_up_once(self):
        """Reading /proc/kallsyms takes a tenth of a second."""
        r = Hostile()
        for i in range(4000):
            body = struct.pack("<IIQQQ", NO_PID, NO_PID, m.KERNEL_TEXT, 1 << 24, m.KERNEL_TEXT)
            r.put(1, body + m.text(f"[kernel.kallsyms]{['_text', '_stext', 'none%d' % i][i % 3]}"),
                  1, NO_PID)
        r.chain(m.KERNEL, m.KERNEL_TEXT)
        self.limited(r)

    def test_overlapping_id_tables_are_refused(self):
        r = Hostile()
        r.chain(m.USER, 0x400000)
        whole = r.file()
        ids, attr, data = m.u64(*range(1000)), r.attr(0), r.stream()
        attrs_at = 104 + len(ids)
        for n, refused in ((1, False), (1000, True)):
            attrs = (attr + m.u64(104, len(ids))) * n
            head = m.u64(104, len(attr) + 16, attrs_at, len(attrs), attrs_at + len(attrs),
                         len(data), 0, 0)
            text = self.limited(whole[:8] + head + bytes(32) + ids + attrs + data,
                                1 if refused else 0)
            self.assertEqual("id tables of its events overlap" in text, refused)

    def test_records_that_expand_too_much_are_refused(self):
        one = Hostile()
        one.chain(m.USER, 0x400000)
        frame = m.compress(one.records[1] * (1 << 20))
        if frame is None:
            self.skipTest("no libzstd.so.1")
        r = Hostile()
        for at in range(0, 64 * len(frame), 60000):
            part = (frame * 64)[at:at + 60000]
            r.raw(struct.pack("<IHH", 81, 0, len(part) + 8) + part)
        self.assertIn("expand to more than", self.limited(r, 1))

    def test_kernel_code_that_appears_costs_no_more_than_the_frames_since(self):
        r = Hostile()
        for i in range(100):
            r.chain(m.KERNEL, *range(m.KERNEL_TEXT + (i << 20), m.KERNEL_TEXT + (i << 20) + 8000))
        for i in range(30000):
            r.put(KERNEL_SYMBOL, struct.pack("<QIHH", 0xFFFFFFFFA0000000 + 64 * i, 32, 1, 0) +
                  m.text(f"bpf{i}"))
        r.chain(m.KERNEL, 0xFFFFFFFFA0000001)
        self.assertIn("bpf0", self.limited(r))

    def test_a_mapping_costs_no_more_than_the_frames_since(self):
        r = Hostile()
        r.map_one(0x400000, size=0x1000000)
        for i in range(200):
            r.chain(m.USER, *range(0x400000 + (i << 12), 0x400000 + (i << 12) + 4000))
        for i in range(30000):
            r.map_one(0x8000000 + 0x2000 * i)
        r.chain(m.USER, 0x400000)
        self.limited(r)

    def test_many_mappings_below_each_other_are_ignored_with_a_note(self):
        r = Hostile()
        for i in range(30000):
            r.map_one(0x7F0000000000 - 0x2000 * i)
        r.chain(m.USER, 0x7F0000000000)
        self.assertIn("mappings were ignored", self.limited(r))
        self.assertGreater(int(everything(self.dir / "x.data")["meta"]["quality.mappings_ignored"]),
                           1000)

    def test_address_spaces_of_forked_processes_are_bounded(self):
        r = Hostile()
        for i in range(9000):
            r.map_one(0x400000 + 0x2000 * i)
        for i in range(9000):
            r.fork(1000 + i, 1000 + i)
            r.map_one(0x1000, pid=1000 + i)
        r.chain(m.USER, 0x400000)
        self.assertIn("mappings were ignored", self.limited(r))

    def test_exec_ends_only_threads_of_its_process(self):
        r = Hostile()
        for i in range(100000):
            r.fork(500, 1000 + i)
        for i in range(100000):
            r.fork(500, 1000000 + i)
            r.put(3, struct.pack("<II", 500, 500) + m.text("prog"), 1 << 13)
        r.chain(m.USER, 0x400000)
        self.limited(r)

    def test_an_ordinary_number_of_mappings_and_forks_is_complete(self):
        r = Hostile()
        for i in range(2000):
            r.map_one(0x7F0000000000 - 0x2000 * i)
        for i in range(2000):
            r.fork(1000 + i, 1000 + i)
            r.map_one(0x1000, pid=1000 + i)
        r.chain(m.USER, 0x7F0000000000 - 0x2000 * 1999)
        self.assertNotIn("mappings were ignored", self.limited(r))

    def test_stacks_continued_from_earlier_ones_are_bounded(self):
        r = Hostile(m.BASE | m.BRANCH, branch=1 << 11)
        for i in range(1019):
            r.calls(*(0x400000 + 8 * (i + k) for k in (2, 1, 0)))
        for i in range(20000):
            r.map_one(0x400000, f"/nonexistent/{i}")
            r.calls(*(0x400000 + 8 * k for k in (1020, 1019, 1018)))
        self.assertIn("truncated", self.limited(r))

    def test_samples_that_wait_for_their_user_part_are_found_at_once(self):
        r = Hostile()
        for i in range(65000):
            r.chain(m.KERNEL, m.KERNEL_TEXT, m.USER_DEFERRED, i + 1)
        for i in range(250000):
            r.put(DEFERRED, m.u64(10**9 + i, 1, 0x400000))
        self.assertIn("65,000 samples", self.limited(r))

    def test_names_of_one_file_are_read_a_few_times(self):
        """Reading symbols and lines of the tool takes megabytes."""
        r = Hostile()
        folder, name = str(pathlib.Path(FATHOM).resolve().parent), pathlib.Path(FATHOM).name
        for i in range(1500):
            r.map_one(0x400000, f"{folder}{'/.' * i}/{name}", size=0x10000000)
            r.chain(m.USER, 0x480000 + 64 * i)
        self.limited(r)


class Names(Case):
    def test_callgrind_keeps_the_letters_of_event_names(self):
        r = m.usual(m.Recording((("größe in\tbytes", 2, 311),)))
        (self.dir / "x.data").write_bytes(r.file())
        text = fathom("export", self.dir / "x.data", "--format", "callgrind").stdout
        self.assertIn("\nevents: größe_in_bytes\n", text)
