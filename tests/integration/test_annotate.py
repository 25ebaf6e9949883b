"""`fathom annotate`: the cost of lines and instructions of a program with known lines."""
import csv
import io
import json
import re
import unittest

from support import GOLDEN, SOURCE, Case, fathom, workload

TEXT = (SOURCE / "tests/workloads/lines.c").read_text().splitlines()


def line_of(mark):
    return next(n for n, line in enumerate(TEXT, 1) if f"/* {mark} */" in line)


def rows_of_text(text):
    """The lines, inlined functions and instructions that the text output shows."""
    for line in text.splitlines():
        if line[9:25].isspace() and line[25:].startswith("inlined "):
            yield "inlined", line[25:].split()[1]
        elif line[9:25].isspace() and (hidden := re.match(r"in (\d+) other instruction", line[25:])):
            yield "hidden", int(hidden[1])
        elif line[23:24] == " " and re.fullmatch(r" *[0-9a-f]+", line[11:23]):
            yield "instruction", int(line[11:23], 16)
        elif re.fullmatch(r" *\d+", line[19:24]) and line[24:26].isspace():
            yield "line", int(line[19:24])


def rows_of_json(text):
    for function in json.loads(text)["functions"]:
        for line in function["lines"]:
            yield "line", line["line"]
            yield from (("inlined", i["name"]) for i in line["inlined"])
            yield from (("instruction", int(i["address"], 16)) for i in line.get("instructions", []))
            if "hidden_instructions" in line:
                yield "hidden", line["hidden_instructions"]


def rows_of_csv(text):
    for row in csv.DictReader(io.StringIO(text)):
        yield row["row"], {"line": lambda: int(row["line"]), "inlined": lambda: row["text"],
                           "instruction": lambda: int(row["address"], 16),
                           "hidden": lambda: int(row["text"].split()[0])}[row["row"]]()


class Annotate(Case):
    def check_rows(self, path, name, *options):
        text = list(rows_of_text(fathom("annotate", path, name, *options).stdout))
        self.assertEqual(list(rows_of_json(fathom("annotate", path, name, "--json", *options).stdout)), text)
        self.assertEqual(list(rows_of_csv(fathom("annotate", path, name, "--csv", *options).stdout)), text)
        return text

    def test_text_json_and_csv_show_the_same_rows(self):
        path = GOLDEN / "good" / "v1-every-record.fathom"
        plain = self.check_rows(path, "main")
        self.assertEqual({kind for kind, _ in plain}, {"line", "inlined", "instruction"})
        self.assertEqual([r for r in self.check_rows(path, "main", "--all-code") if r not in plain],
                         [("instruction", 0x401004)])
        self.assertEqual({kind for kind, _ in self.check_rows(path, "main", "--min", "13")}, {"line"})
        self.assertEqual({kind for kind, _ in self.check_rows(path, "main", "--no-code")},
                         {"line", "inlined"})

    def test_text_json_and_csv_of_a_recording_show_the_same_rows(self):
        path = self.record(workload("lines"))
        for options in ([], ["--all-code"], ["--min", "0"], ["--min", "30"]):
            self.check_rows(path, "work", *options)

    def listing(self, path, name, *options):
        got = json.loads(fathom("annotate", path, name, "--json", *options).stdout)
        return got["functions"][0]

    def share(self, listing, mark, which="self_pct"):
        # The compiler may attribute the loop condition to the line above the body.
        number = line_of(mark)
        return sum(l[which] for l in listing["lines"] if number - 1 <= l["line"] <= number)

    def test_lines_get_their_known_cost(self):
        path = self.record(workload("lines"))
        heavy = self.share(self.listing(path, "heavy"), "HEAVY")
        light = self.share(self.listing(path, "work"), "LIGHT")
        self.assertGreater(heavy + light, 85)
        self.assertAlmostEqual(100 * heavy / (heavy + light), 75, delta=6)

    def test_inlined_calls_are_shown_at_their_call_site(self):
        path = self.record(workload("lines"))
        work = self.listing(path, "work")
        call = next(l for l in work["lines"] if l["line"] == line_of("CALL"))
        self.assertEqual(call["inlined"][0]["name"], "heavy")
        self.assertGreater(call["total_pct"], 50)
        self.assertLess(call["self_pct"], 20)

    def test_the_file_alone_is_enough(self):
        path = self.record(workload("lines"))
        heavy = self.listing(path, "heavy")
        hot = max(heavy["lines"], key=lambda l: l["self"])
        self.assertIn("while" if "while" in hot["text"] else "HEAVY", hot["text"])
        self.assertTrue(any(i["self"] > 0 for i in hot["instructions"]) or not hot["instructions"])

    def test_no_source_leaves_text_and_code_out(self):
        path = self.record(workload("lines"), options=["--no-source"])
        self.assertNotIn(b"HEAVY", path.read_bytes())
        heavy = self.listing(path, "heavy")
        self.assertTrue(all(not l["instructions"] for l in heavy["lines"]))

    def test_text_that_is_not_in_the_file_comes_from_the_disk(self):
        path = self.record(workload("lines"), options=["--no-source"])
        heavy = self.listing(path, "heavy")
        if (SOURCE / "tests/workloads/lines.c").samefile(heavy["file"]):
            self.assertTrue(any("HEAVY" in (l["text"] or "") for l in heavy["lines"]))

    def test_a_pattern_names_functions(self):
        path = self.record(workload("lines"))
        got = json.loads(fathom("annotate", path, "^(heavy|work)$", "--json").stdout)
        self.assertEqual({f["name"] for f in got["functions"]}, {"heavy", "work"})

    def test_code_without_debug_information_is_shown_alone(self):
        path = self.record(workload("lines-stripped"))
        text = fathom("annotate", path).stdout
        self.assertIn("no debug information", text)
        self.assertNotIn("line", text.split("no debug information")[0].splitlines()[3])

    def test_code_that_is_not_in_the_file_is_read_from_the_program(self):
        path = self.record(workload("lines-stripped"), options=["--no-source"])
        self.assertIn("address", fathom("annotate", path).stdout)
        kept = self.record(workload("lines-stripped"), name="q.fathom")
        self.assertIn("address", fathom("annotate", kept).stdout)

    def test_without_a_name_the_hottest_come_first(self):
        path = self.record(workload("lines"))
        got = json.loads(fathom("annotate", path, "--json").stdout)
        self.assertEqual(got["functions"][0]["name"], "heavy")

    def test_a_source_file_is_listed_whole(self):
        path = self.record(workload("lines"))
        text = fathom("annotate", path, "lines.c").stdout
        self.assertIn("HEAVY", text)
        self.assertIn("LIGHT", text)

    def test_an_unknown_name_is_reported(self):
        path = self.record(workload("lines"))
        done = fathom("annotate", path, "no_such_function", status=1)
        self.assertIn("no function or source file", done.stderr)


if __name__ == "__main__":
    unittest.main()
