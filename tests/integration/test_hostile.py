"""Names from programs and files never reach the output raw: every command, in every form of output."""
import csv
import io
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import unittest
import xml.etree.ElementTree
import zlib

from support import FATHOM, GOLDEN, SECONDS, SOURCE, Case, fathom, perf_refusal, run
from test_format import chunks_of, dump
from test_runtime import program

SAMPLE = GOLDEN / "good" / "v1-every-record.fathom"
# ESC, BEL, CR, a line end, C1, DEL, marks of direction, separators of lines, markup, separators of formats
EVIL = ("\x1b]0;t\x07\x1b[2J\r\nINJECTED\x1b[31m\x08\x0b\t\x7f\x9b2J\x85\u202e\u2066\u200f\u061c\u2028\u2029"
        "</script><script>alert(1)</script><img src=x onerror=alert(1)>]]>--><b>\"&;,|'\\\0")
TAG = "+lock\x1b[2J\x07\r\nINJECTED\x9b\u202e"  # --by splits at commas and limits the length
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
COLOR = re.compile("\x1b\\[[0-9;]*[mK]")
BINARY = {"fathom", "pprof", "perfetto", "pstats"}


def uint(x):
    out = bytearray()
    while x > 0x7f:
        out.append(x & 0x7f | 0x80)
        x >>= 7
    return bytes(out + bytes([x]))


def text_column(texts):
    data = b"".join(uint(len(t)) for t in texts) + b"".join(texts)
    return uint(len(data)) + data


def chunk(kind, records, columns, first=0):
    data = b"".join(columns)
    head = struct.pack("<4sBBBBIIIII", bytes.fromhex("89464348"), kind, 0, len(columns), 0, records, first,
                       len(data), len(data), zlib.crc32(data))
    return head + struct.pack("<I", zlib.crc32(head)) + data


def hostile(text, start="="):
    """TEXT with characters that must not be printed; in the file, also a byte that is not UTF-8."""
    return (start + text + EVIL).encode() + b"\xff\xc2"


def hostile_file(path):
    """A profile with every kind of record, in which every text is hostile."""
    records = dump(SAMPLE)
    strings = [hostile(r["text"], "=+-@"[i % 4]) for i, r in enumerate(r for r in records if r["record"] == "string")]
    strings = [TAG.encode() if s.startswith(b"+lock") else s for s in strings]
    keys = re.findall(r"^\| `([\w.]+)` \|", (SOURCE / "docs/meta.md").read_text(), re.M)
    metas = [(k.encode(), hostile("v")) for k in keys if k != "clock"] + [(hostile("key"), hostile("value"))]
    data = b"FATHOM\x01\n"
    for c in chunks_of(SAMPLE):
        if c[4] == 1:
            c = chunk(1, len(metas), [text_column(part) for part in zip(*metas)])
        elif c[4] == 2:
            c = chunk(2, len(strings), [text_column(strings)], first=1)
        data += c
    path.write_bytes(data)
    return len(keys)


class HostileCase(Case):
    def check(self, data, what, lines=True):
        """DATA is valid UTF-8 without control characters, and no name started a line."""
        text = data if isinstance(data, str) else data.decode()
        bad = CONTROL.search(text)
        self.assertIsNone(bad, f"{what}: {bad and ascii(text[max(0, bad.start() - 60):bad.end() + 20])}")
        if lines:
            self.assertNotIn("\nINJECTED", text, what)
        return text

    def fathom(self, *args, status=0, **more):
        """The standard output of a command, which is checked with its messages."""
        done = fathom(*args, status=status, text=False, **more)
        self.check(done.stderr, args)
        return done.stdout

    def check_form(self, data, form, args):
        if form in BINARY:
            return
        if form == "csv":  # RFC 4180 ends lines with CR LF
            self.assertFalse(re.search(rb"\r(?!\n)", data))
            data = data.replace(b"\r\n", b"\n")
        text = self.check(data, args, lines=form not in ("--csv", "csv"))
        if form in ("--json", "json", "speedscope", "chrome", "firefox") and args[0] != "dump":
            json.loads(text)
        if form in ("--csv", "csv"):
            for row in csv.reader(io.StringIO(text, newline="")):
                for cell in row:
                    self.assertFalse(re.match(r"[=+@\t\r]|-(?![\d.]+$)", cell), f"{args}: {cell!a}")
        if form == "svg":
            self.check_picture(text)

    def check_picture(self, text):
        """The only script and handlers are those of the picture of a harmless profile."""
        plain = fathom("export", "-f", "svg", "-o", "-", SAMPLE).stdout
        found = []
        for source in (plain, text):
            tree = xml.etree.ElementTree.fromstring(source)
            found.append({(e.tag, k) for e in tree.iter() for k in e.keys()})
            scripts = [e for e in tree.iter() if e.tag.endswith("}script")]
            found.append([e.text for e in scripts])
        self.assertEqual(found[0], found[2])
        self.assertEqual(found[1], found[3])


class HostileNames(HostileCase):
    def setUp(self):
        super().setUp()
        self.file = self.dir / "x.fathom"
        self.assertGreater(hostile_file(self.file), 20)

    def test_the_file_is_read_without_damage(self):
        self.assertIn("bad_chunks=0", fathom("dump", self.file).stdout)
        first = fathom("dump", "--json", "--only", "string", self.file).stdout.splitlines()[0]
        self.assertIn(EVIL, json.loads(first)["text"])

    def forms(self):
        """{command: [(arguments, form)]}; each command is listed."""
        file, other = str(self.file), str(self.dir / "other.fathom")
        views = [[], ["--tree"], ["--inverted"], ["--callers", "work"], ["--sort", "module"]]
        views += [["--by", b] for b in ("command", "process", "thread", "module", "function", "line")]
        views += [["--by", "tag:" + TAG]]
        report = [(["report", *v, *f, file], f[-1] if f else "text")
                  for v in views for f in ([], ["--json"], ["--csv"])]
        annotate = [(["annotate", *o, *f, file, *name], f[-1] if f else "text")
                    for o in ([], ["--all-code"]) for f in ([], ["--json"], ["--csv"]) for name in ([], ["work"])]
        formats = re.findall(r"^(\S+)", fathom("export", "--list").stdout, re.M)
        export = [(["export", "--title", EVIL[:-1], "-f", f, "-o", "-", file], f) for f in formats]
        flame = [(["flame", "-o", str(self.dir / f"x.{f}"), file], None) for f in ("svg", "html")]
        evil_argv = ["sh", "-c", ":", EVIL[:-1]]
        stat = [(["stat", *f, "--", *evil_argv], f[-1] if f else "text") for f in ([], ["--json"], ["--csv"])]
        return {
            "report": report, "annotate": annotate, "export": export, "flame": flame, "stat": stat,
            "dump": [(["dump", *f, file], f[-1] if f else "text") for f in ([], ["--json"])] +
                    [(["dump", file, file], "text"), (["dump", "--chunks", file], "text")],
            "import": [(["import", "-o", other, file], None)],
            "merge": [(["merge", "-o", other, file, file], None)],
            "record": [] if perf_refusal() else [(["record", "-o", other, "--", *evil_argv], None)],
            "doctor": [(["doctor", *f, "/bin/sh"], f[-1] if f else "text") for f in ([], ["--json"])],
            "version": [(["version"], "text")], "completion": [(["completion", "bash"], "text")],
        }

    def test_every_command_in_every_form(self):
        forms = self.forms()
        table = re.findall(r"^COMMAND\((\w+)\)", (SOURCE / "src/cli/commands.def").read_text(), re.M)
        self.assertEqual(set(forms), set(table))
        for uses in forms.values():
            for args, form in uses:
                self.check_form(self.fathom(*args), form, args)
        for name in ("x.svg", "x.html"):
            self.check((self.dir / name).read_bytes(), name)

    def test_nothing_is_lost_in_json(self):
        rows = json.loads(self.fathom("report", "--json", self.file))["functions"]
        self.assertTrue(any(EVIL[:-1] in r["name"] for r in rows), rows[0])

    def on_terminal(self, *args):
        """All that a command writes to a terminal."""
        try:
            master, slave = pty.openpty()
        except OSError as e:
            self.skipTest(f"no pseudo-terminal: {e}")  # a root directory without /dev/pts
        p = subprocess.Popen([FATHOM, *args], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                             env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
        os.close(slave)
        data = b""
        try:
            while got := os.read(master, 1 << 16):
                data += got
        except OSError:  # EIO: the last process has closed the terminal
            pass
        os.close(master)
        p.wait(SECONDS)
        return data.replace(b"\r\n", b"\n")

    def test_a_terminal_gets_no_sequences_but_colors(self):
        for args in (["report"], ["report", "--tree"], ["annotate"], ["dump"]):
            data = self.on_terminal(*args, str(self.file))
            if args[0] != "dump":
                self.assertIn(b"\x1b[", data)
            # Progress lines start with CR.
            self.check(COLOR.sub("", data.decode()).replace("\r", ""), args)

    def test_messages_quote_names_without_control_characters(self):
        name = EVIL[:-1].replace("/", "")[:200]
        path = str(self.dir / name)
        pathlib.Path(path).write_text("nothing that fathom knows")
        need = "INJECTED"
        for args in (["report", path], ["report", path + "x"], ["import", path, "-o", path + "out"],
                     ["export", "-f", name, self.file], ["annotate", self.file, name], ["dump", path],
                     ["report", "--by", name, self.file], ["report", "--" + name, self.file], [name],
                     ["export", "-o", str(self.dir / "none" / name), "-f", "svg", self.file],
                     ["record", "-e", name, "--", "true"], ["record", "--", path], ["stat", "--", path],
                     ["doctor", path], ["report", "-m", name, self.file], ["help", name]):
            done = fathom(*args, status=None, text=False)
            self.assertNotEqual(done.returncode, 0, args)
            self.check(done.stdout + done.stderr, args)
            self.assertIn(need, done.stderr.decode(), args)

    def test_bytes_that_are_not_text_are_printed_as_such(self):
        path = os.fsencode(self.dir) + b"/a\xff\x1bz"
        done = run(FATHOM, "report", os.fsdecode(path), status=1, text=False)
        self.assertIn(b"/a??z", done.stderr)

    def test_damage_texts_of_imports_are_clean(self):
        (self.dir / "t.json").write_text(json.dumps({"traceEvents": [
            {"ph": "X", "name": EVIL, "ts": 1, "dur": 2, "pid": 1, "tid": 1, "cat": EVIL, "args": {EVIL: EVIL}}]})[:-3])
        self.fathom("import", self.dir / "t.json", "-o", self.dir / "t.fathom", status=None)
        (self.dir / "x.collapsed").write_bytes(b"main;" + EVIL.replace("\n", "").encode() + b" 3\nbroken\n\x1b]0;\x07 x\n")
        self.fathom("import", self.dir / "x.collapsed", "-o", self.dir / "t.fathom", status=None)


class HostileProgram(HostileCase):
    """What libfathom prints in a program with such names, and what the tool prints of its files."""

    def run_program(self, profile):
        out = self.dir / "out"
        done = run(program("rt-hostile"), text=False, cwd=self.dir,
                   env={**os.environ, "FATHOM_PROFILE": profile.replace("FILE", str(out))})
        self.check(done.stdout, profile)
        return self.check(done.stderr, profile, lines="csv" not in profile), out

    def test_reports_and_exports_of_the_library(self):
        for form in ("1", "table", "compact", "json", "csv"):
            text, _ = self.run_program(form)
            self.assertIn("context", text, form)
        for form in ("table", "compact", "json", "csv", "collapsed", "chrome"):
            _, out = self.run_program(form + ":FILE")
            text = self.check(out.read_bytes(), form, lines=form != "csv")
            if form in ("json", "chrome"):
                json.loads(text)
            if form == "csv":
                self.check_form(out.read_bytes(), "csv", [form])
        self.run_program("compact:/no/such/\x1b[2J\nINJECTED")
        self.run_program("\x1b[2J\nINJECTED")

    def test_the_tool_prints_what_the_library_recorded(self):
        self.run_program("trace:FILE")
        for args in (["report"], ["report", "--csv"], ["export", "-f", "collapsed"], ["export", "-f", "csv"], ["dump"]):
            self.check_form(self.fathom(*args, self.dir / "out"), args[-1] if args[-1] != "report" else "text", args)

    def test_a_recording_of_the_program(self):
        self.fathom("record", "-o", self.dir / "r.fathom", "--", program("rt-hostile"))
        for args in (["report"], ["report", "-b", "command,thread"], ["report", "--csv"]):
            self.check_form(self.fathom(*args, self.dir / "r.fathom"), args[-1], args)


if __name__ == "__main__":
    unittest.main()
