"""Every command: its help works and agrees with its page in docs/cli."""
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


class Commands(unittest.TestCase):
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

    def test_the_overview_lists_every_command_but_hidden_ones(self):
        text = fathom("-h").stdout
        for name in commands():
            if name != "completion":
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
