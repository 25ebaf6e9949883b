"""Every command: its help works and agrees with its page in docs/cli."""
import ast
import collections
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import SOURCE, fathom, need, run

HELP_OPTION = re.compile(r"^  (?:-(\w), |    )--([\w-]+)(?:(?: |\[=)([^\s\]]+)\]?)?  +(\S.*)$", re.M)


def commands():
    table = (SOURCE / "src/cli/commands.def").read_text()
    return re.findall(r"^COMMAND\((\w+)\)", table, re.M)


def page(name):
    return (SOURCE / "docs/cli" / f"{name}.md").read_text()


def name_of(call):
    return getattr(call.func, "id", getattr(call.func, "attr", None))


def texts(node):
    return {x.value for x in ast.walk(node) if isinstance(x, ast.Constant) and isinstance(x.value, str)}


def words_of_python(trees):
    """{command: words in its calls} of parsed files.

    A function that passes arguments on to a command is a helper: calls of it count as well.
    """
    words, helpers = collections.defaultdict(set), collections.defaultdict(set)

    def commands_of(call):
        if name_of(call) != "fathom":
            tool = [i for i, x in enumerate(call.args) if getattr(x, "id", "") == "FATHOM"]
            inner = [x for x in call.args[:1] if isinstance(x, ast.List)]
            if inner:  # Popen([FATHOM, "record", ...])
                return commands_of(ast.Call(call.func, inner[0].elts, []))
            if not tool:
                return helpers[name_of(call)]
        else:
            tool = [-1]
        first = call.args[tool[0] + 1:tool[0] + 2]
        return {x.value for x in first if isinstance(x, ast.Constant)}

    for _ in range(3):  # helpers of helpers
        for function in (f for tree in trees for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)):
            for call in (x for x in ast.walk(function) if isinstance(x, ast.Call)):
                passes = any(isinstance(x, ast.Starred) for x in ast.walk(call))
                for command in commands_of(call):
                    words[command] |= texts(function if passes else call)
                    if passes and not function.name.startswith("test_"):
                        helpers[function.name].add(command)
    return words


def words_of_shell(text):
    """{command: words} of the commands in RUN lines."""
    words = collections.defaultdict(set)
    for line in re.findall(r"^RUN (.*)", text, re.M):
        for command, rest in re.findall(r"\bfathom (\w+)([^|;&>]*)", line):
            words[command] |= set(rest.split())
    return words


def tested_words():
    python = [p for folder in ("integration", "web") for p in (SOURCE / "tests" / folder).glob("*.py")]
    shared = ast.parse((SOURCE / "tests/integration/support.py").read_text())
    found = collections.defaultdict(set)
    for one in ([words_of_python([shared, ast.parse(p.read_text())]) for p in python]
                + [words_of_shell(p.read_text()) for p in (SOURCE / "tests/cli").glob("*.test")]):
        for command, words in one.items():
            found[command] |= words
    return found


class Commands(unittest.TestCase):
    def test_every_option_is_used_by_a_test(self):
        words = tested_words()
        for command in commands():
            for letter, word, value, _ in HELP_OPTION.findall(fathom(command, "-h").stdout):
                used = any(w == "--" + word or w.startswith(f"--{word}=") or (letter and w == "-" + letter)
                           or (letter and value and re.match(rf"-{letter}\w", w)) for w in words[command])
                self.assertTrue(used, f"no test uses {command} --{word}")

    def test_every_command_has_help_and_a_page(self):
        for name in commands():
            text = fathom(name, "-h").stdout
            self.assertTrue(text.startswith("usage: fathom " + name), name)
            self.assertTrue(page(name).startswith(f"# fathom {name}\n"), name)

    def test_usage_and_summary_are_those_of_the_page(self):
        for name in commands():
            text = fathom(name, "-h").stdout
            usage, rest = text.split("\n\n", 1)
            usage = [line.removeprefix("usage: ").strip() for line in usage.splitlines()]
            stated = re.search(r"## Usage\n\n((?:    .*\n)+)", page(name)).group(1)
            self.assertEqual(usage, [line.strip() for line in stated.splitlines()], name)
            self.assertEqual(rest.splitlines()[0], page(name).splitlines()[2], name)

    def test_every_option_is_described_and_no_other(self):
        for name in commands():
            text = fathom(name, "-h").stdout
            options = set()
            for letter, word, value, _ in HELP_OPTION.findall(text):
                options.add(word)
                described = re.search(rf"^(?:`-(\w)[^`]*`, )?`--{word}(?:\[?[= ]([^`\]]+)\]?)?`(?:, `.*)?$",
                                      page(name), re.M)
                self.assertTrue(described, f"{name} --{word} is not in docs/cli/{name}.md")
                self.assertEqual(described.group(1) or "", letter, f"{name} --{word}: letter")
                self.assertEqual(described.group(2) or "", value, f"{name} --{word}: value")
            stated = re.findall(r"^(?:`-\w[^`]*`, )?`--([\w-]+)[^`]*`(?:, `.*)?$", page(name), re.M)
            self.assertEqual(set(stated), options, f"docs/cli/{name}.md")

    def test_an_unknown_option_is_a_usage_error_everywhere(self):
        for name in commands():
            done = fathom(name, "--no-such-option", status=2)
            self.assertIn("unknown option --no-such-option", done.stderr)

    def test_the_overview_lists_every_command(self):
        text = fathom("-h").stdout
        for name in commands():
            self.assertRegex(text, rf"(?m)^  {name} ")

    def test_manual_pages_are_well_formed(self):
        need("man")
        with tempfile.TemporaryDirectory() as folder:
            for name in commands():
                out = pathlib.Path(folder) / f"fathom-{name}.1"
                run(SOURCE / "tools/md2man", "1", SOURCE / f"docs/cli/{name}.md", out)
                done = run("man", "--warnings", "-l", out, env={"MANPAGER": "cat", "PATH": "/usr/bin:/bin",
                                                                "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
                if "SYNOPSIS" not in done.stdout and "minimized" in done.stdout:
                    self.skipTest("manual pages are disabled on this minimized system")
                self.assertNotIn(f"fathom-{name}.1", done.stderr)
                self.assertIn("SYNOPSIS", done.stdout)

    def test_manual_pages_have_italics_instead_of_asterisks(self):
        with tempfile.TemporaryDirectory() as folder:
            page, out = pathlib.Path(folder) / "x.md", pathlib.Path(folder) / "x.1"
            page.write_text("# fathom x\n\nSummary\n\nA *self* cost, **bold**, `a*b*c`, 2 * 3 * 4.\n")
            run(SOURCE / "tools/md2man", "1", page, out)
            self.assertIn(r"A \fIself\fR cost, \fBbold\fR, \fBa*b*c\fR, 2 * 3 * 4.", out.read_text())
            for name in commands():
                run(SOURCE / "tools/md2man", "1", SOURCE / f"docs/cli/{name}.md", out)
                self.assertNotRegex(out.read_text(), r"(?<!\w)\*[a-z]+\*(?!\w)")

    def test_completion_scripts_parse_and_complete(self):
        script = fathom("completion", "bash").stdout
        asked = "COMP_WORDS=(fathom report --tr); COMP_CWORD=2; _fathom; echo \"${COMPREPLY[@]}\""
        done = subprocess.run(["bash", "-c", script + asked], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "--tree\n")
        for shell in ("zsh", "fish"):
            self.assertIn("callers", fathom("completion", shell).stdout)
        fathom("completion", "tcsh", status=2)


if __name__ == "__main__":
    unittest.main()
