"""The JSON of `fathom report` matches docs/json.md and agrees with text and CSV."""
import csv
import fcntl
import io
import json
import os
import pty
import re
import runpy
import struct
import subprocess
import termios
import unittest

from support import FATHOM, SOURCE, Case, fathom

COLLAPSED = "app;main;one;spin 70\napp;main;two;spin 20\napp;main;two;memcpy 10\n"
TYPES = {"string": str, "number": (int, float), "bool": bool, "object": dict, "list": list}


def documented(heading):
    """{name: type} of the table below HEADING in docs/json.md."""
    text = (SOURCE / "docs/json.md").read_text()
    part = text.split(heading + "\n", 1)[1]
    part = re.split(r"^#", part, maxsplit=1, flags=re.M)[0]
    members = {}
    for names, kinds in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", part, re.M):
        names = re.findall(r"`(\w+)`", names)
        kinds = kinds.split(", ") if ", " in kinds else [kinds] * len(names)
        for name, kind in zip(names, kinds):
            members[name] = TYPES[kind.split(" ")[0]]
    return members


def on_terminal(columns, *command, **env):
    """The output of COMMAND on a terminal of the given width."""
    try:
        main, side = pty.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no terminal can be made here: {error}") from error
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=side, stderr=side,
                             env={**os.environ, "TERM": "xterm", **env}, close_fds=True)
    os.close(side)
    got = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        got += piece
    os.close(main)
    child.wait()
    return got.decode().replace("\r\n", "\n")


class Report(Case):
    def setUp(self):
        super().setUp()
        self.path = self.dir / "x.txt"
        self.path.write_text(COLLAPSED)

    def json(self, *args):
        return json.loads(fathom("report", self.path, "--json", *args).stdout)

    def check_members(self, found, heading, may_miss=()):
        members = documented(heading)
        for name, value in found.items():
            self.assertIn(name, members, f"{name} is not in docs/json.md under {heading}")
            self.assertIsInstance(value, members[name], name)
        for name in members:
            if name not in may_miss:
                self.assertIn(name, found)

    def test_members_match_the_page(self):
        top = "## `fathom report --json`"
        self.check_members(self.json(), top, ("groups", "tree"))
        self.check_members(self.json()["functions"][0], "### `functions`")
        self.check_members(self.json("-b", "process,function")["groups"][0], "### `groups`")
        self.check_members(self.json("-t")["tree"][0], "### `tree`")
        self.check_members(self.json("-i")["tree"][0], "### `tree`", ("self", "self_pct"))

    def test_figures_are_right(self):
        rows = {f["name"]: f for f in self.json()["functions"]}
        self.assertEqual(rows["spin"]["self"], 90)
        self.assertEqual(rows["two"]["total_pct"], 30)
        self.assertLess(rows["spin"]["self_low_pct"], 90)
        self.assertGreater(rows["spin"]["self_high_pct"], 90)

    def test_csv_has_the_figures_of_the_json(self):
        rows = list(csv.DictReader(io.StringIO(fathom("report", self.path, "--csv").stdout)))
        for row, function in zip(rows, self.json()["functions"], strict=True):
            for name, value in row.items():
                self.assertEqual(str(function[name]) if not name.endswith("pct")
                                 else f"{function[name]:.4f}", value)

    def test_rows_of_a_tree_name_their_parents(self):
        tree = self.json("-t")["tree"]
        for row in tree:
            if row["parent"] >= 0:
                self.assertEqual(tree[row["parent"]]["depth"], row["depth"] - 1)
                self.assertGreaterEqual(tree[row["parent"]]["total"], row["total"])
        self.assertEqual(sum(r["self"] for r in tree), 100)

    def test_names_with_commas_and_quotes_survive_csv(self):
        self.path.write_text('main;f<int, "x"> 3\n')
        rows = list(csv.DictReader(io.StringIO(fathom("report", self.path, "--csv").stdout)))
        self.assertEqual(rows[0]["name"], 'f<int, "x">')

    def test_output_to_a_terminal_has_colors_and_fits_its_width(self):
        name = "outer::space<" + "int, " * 30 + "long>::method_at_the_end"
        self.path.write_text(f"main;{name} 70\nmain;short 30\n")
        for columns in (50, 80, 120):
            text = on_terminal(columns, FATHOM, "report", self.path)
            self.assertIn("\033[", text)
            plain = re.sub(r"\033\[[0-9;]*m", "", text)
            self.assertLessEqual(max(map(len, plain.splitlines())), columns)
            self.assertIn("…", plain)
            self.assertIn("at_the_end", plain)

    def test_no_color_and_pipes_are_plain(self):
        self.assertNotIn("\033", on_terminal(80, FATHOM, "report", self.path, NO_COLOR="1"))
        self.assertNotIn("\033", fathom("report", self.path).stdout)

    def test_a_command_is_recorded_first(self):
        result = json.loads(fathom("report", "--json", "--", "true").stdout)
        self.assertEqual(result["meta"]["command"], "true")
        fathom("report", "--", self.dir / "nothing", status=127)
        fathom("report", "--", status=2)

    def test_the_meta_page_is_the_table(self):
        made = runpy.run_path(str(SOURCE / "tools/meta-doc"))["page"]()
        self.assertEqual((SOURCE / "docs/meta.md").read_text(), made, "run tools/meta-doc")


if __name__ == "__main__":
    unittest.main()
