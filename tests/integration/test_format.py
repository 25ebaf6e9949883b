"""The .fathom format: fathom's reader, the independent reader and docs/format.md agree."""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

from support import FATHOM, GOLDEN, SOURCE, fathom

sys.path.insert(0, str(SOURCE / "tests" / "reader"))
sys.path.append("/usr/lib/python3/dist-packages")
try:
    import fathom_reader
except ImportError:
    fathom_reader = None

GOOD = sorted((GOLDEN / "good").glob("*.fathom"))
SAMPLE = GOLDEN / "good" / "v1-every-record.fathom"


def dump(path, *options, **more):
    done = fathom("dump", "--json", *options, path, **more)
    return [json.loads(line) for line in done.stdout.splitlines()]


def independent(data):
    if fathom_reader is None:
        raise unittest.SkipTest("no python3-zstandard")
    records, damage = fathom_reader.read(data)
    return records + [dict({"record": "damage"}, **damage)]


def damaged(data):
    """A few dozen variants of a file: truncated, flipped bytes, a gap, extra bytes."""
    step = max(1, len(data) // 24)
    for at in range(9, len(data), step):
        yield data[:at]
        yield data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:]
    yield data[:100] + data[140:]
    yield data + b"something behind the end"


def chunks_of(path):
    """The chunks of a complete file as bytes, in order."""
    data, at = path.read_bytes(), 8
    for head in dump(path, "--chunks")[:-1]:
        yield data[at:at + 32 + head["stored_size"]]
        at += 32 + head["stored_size"]


def with_head(chunk, offset, number):
    """A chunk with another 32-bit number in its head, and a matching checksum."""
    head = chunk[:offset] + struct.pack("<I", number) + chunk[offset + 4:28]
    return head + struct.pack("<I", zlib.crc32(head)) + chunk[32:]


def table_in_source():
    """store.def as {(type, name, defines): [(column, encoding, refers)]}."""
    text, table, columns = (SOURCE / "src/store/store.def").read_text(), {}, None
    for line in text.splitlines():
        chunk = re.match(r"CHUNK\((\d+), (\w+), \w+, (\d)\)", line)
        column = re.match(r"COLUMN\(\w+, (\w+), (\w+), (\w+)\)", line)
        if chunk:
            columns = table[(int(chunk[1]), chunk[2], chunk[3] == "1")] = []
        elif column:
            columns.append((column[1], column[2].lower(),
                            "" if column[3] == "none" else column[3]))
    return table


def table_in_page():
    text, table = (SOURCE / "docs/format.md").read_text(), {}
    text = text.split("## Chunk types")[1].split("## Reading a damaged file")[0]
    for part in text.split("\n### ")[1:]:
        title = re.match(r"(\d+) (\w+)( \(defines\))?\n", part)
        rows = re.findall(r"^\| (\w+) \| (\w+) ?(\w*) \|", part, re.M)
        table[(int(title[1]), title[2], bool(title[3]))] = [r for r in rows if r[0] != "column"]
    return table


class Format(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, data):
        path = self.folder / "file.fathom"
        path.write_bytes(data)
        return path

    def test_the_page_lists_the_chunks_of_the_source(self):
        self.assertEqual(table_in_page(), table_in_source())

    def test_the_independent_reader_lists_the_chunks_of_the_page(self):
        if fathom_reader is None:
            self.skipTest("no python3-zstandard")
        read = {(kind, name, defines): columns
                for kind, (name, defines, columns) in fathom_reader.CHUNKS.items()}
        page = {key: [(name, encoding) for name, encoding, _ in columns]
                for key, columns in table_in_page().items()}
        self.assertEqual(read, page)

    def test_golden_files_are_read_as_before(self):
        self.assertGreaterEqual(len(GOOD), 2)
        for path in GOOD:
            known = [json.loads(line) for line in
                     path.with_suffix(".jsonl").read_text().splitlines()]
            self.assertEqual(dump(path), known, path.name)

    def test_both_readers_agree_on_every_record(self):
        for path in GOOD:
            self.assertEqual(dump(path), independent(path.read_bytes()), path.name)

    def test_both_readers_agree_on_damaged_files(self):
        for data in damaged(SAMPLE.read_bytes()):
            self.assertEqual(dump(self.write(data)), independent(data))

    def assert_one_bad_chunk(self, chunks, known):
        """Both readers skip one chunk of the file made of CHUNKS and show the KNOWN records."""
        data = SAMPLE.read_bytes()[:8] + b"".join(chunks)
        shown = dump(self.write(data))
        self.assertEqual(shown[-1], {"record": "damage", "bad_chunks": 1, "missing_bytes": 0,
                                     "unfinished": False})
        self.assertEqual(shown[:-1], known)
        self.assertEqual(shown, independent(data))

    def test_a_chunk_that_defines_ids_again_is_skipped(self):
        chunks, known = list(chunks_of(SAMPLE)), dump(SAMPLE)[:-1]
        defining = [c for c in chunks if struct.unpack_from("<I", c, 12)[0]]
        self.assertGreaterEqual(len(defining), 8)
        for chunk in defining:
            self.assert_one_bad_chunk(chunks[:-1] + [chunk, chunks[-1]], known)

    def test_a_chunk_with_an_impossible_size_damages_no_other(self):
        chunks, records = list(chunks_of(SAMPLE)), dump(SAMPLE)[:-1]
        at = next(i for i, chunk in enumerate(chunks) if chunk[4] == 15)
        known = [r for r in records if r["record"] != "sample"]
        for offset in (8, 16):
            chunk = with_head(chunks[at], offset, 0xFFFFFFFF)
            self.assert_one_bad_chunk(chunks[:at] + [chunk] + chunks[at + 1:], known)

    def test_a_truncated_file_opens_with_its_complete_chunks(self):
        data = SAMPLE.read_bytes()
        whole = dump(SAMPLE)
        cut = dump(self.write(data[:-1]))
        self.assertEqual(cut[-1]["unfinished"], True)
        self.assertGreater(cut[-1]["missing_bytes"], 0)
        self.assertEqual(cut[:-1], [r for r in whole[:-1] if r["record"] != "end"])

    def test_the_end_chunk_counts_the_records(self):
        records = dump(SAMPLE)
        totals = {r["type"]: r["records"] for r in records if r["record"] == "end"}
        for kind, name, _ in table_in_source():
            if name != "end":
                self.assertEqual(totals.get(kind, 0),
                                 sum(r["record"] == name for r in records), name)

    def test_text_and_json_show_the_same_records(self):
        kinds = [line.split()[0] for line in fathom("dump", SAMPLE).stdout.splitlines()]
        self.assertEqual(kinds, [r["record"] for r in dump(SAMPLE)])

    def test_only_prints_one_kind(self):
        self.assertEqual({r["record"] for r in dump(SAMPLE, "--only", "stack")}, {"stack"})
        refused = fathom("dump", "--only", "nonsense", SAMPLE, status=2)
        self.assertIn("nonsense", refused.stderr)

    def test_chunks_add_up_to_the_file(self):
        heads = dump(SAMPLE, "--chunks")[:-1]
        self.assertEqual(8 + sum(32 + h["stored_size"] for h in heads), SAMPLE.stat().st_size)

    def test_other_files_are_refused_with_a_message(self):
        for data, why in ((b"", "not a .fathom file"), (b"hello, world", "not a .fathom file"),
                          (b"FATHOM\x02\n", "version 2")):
            refused = fathom("dump", self.write(data), status=1)
            self.assertIn(why, refused.stderr)
            self.assertEqual(refused.stdout, "")

    def test_a_closed_pipe_does_not_crash(self):
        with subprocess.Popen([FATHOM, "dump", str(SAMPLE)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as shown:
            shown.stdout.close()
            shown.wait(300)
        self.assertIn(shown.returncode, (0, 1, -13))


if __name__ == "__main__":
    unittest.main()
