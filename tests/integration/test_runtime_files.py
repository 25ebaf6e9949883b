"""Files of libfathom: every export via the environment, FATHOM_OFF, imports, baselines."""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import BUILD, SOURCE, NobodyCase, fathom, need, need_setuid, report, run
from test_runtime import program

ZONE = 'step "quoted";, name'


class Exports(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, form, name="out", rounds="20"):
        path = pathlib.Path(self.folder.name) / name
        run(program("rt-env"), rounds, env={**os.environ, "FATHOM_PROFILE": f"{form}:{path}"})
        self.assertEqual(os.listdir(self.folder.name), [name])
        return path

    def test_a_device_is_neither_removed_nor_replaced(self):
        link = pathlib.Path(self.folder.name) / "device"
        link.symlink_to("/dev/null")
        for env in ({"FATHOM_PROFILE": f"json:{link}"}, {"FATHOM_PROFILE": f"trace:{link}"},
                    {"FATHOM_PROFILE": "1", "FATHOM_LIVE": str(link)}):
            run(program("rt-env"), env={**os.environ, **env})
            self.assertTrue(link.is_symlink() and link.is_char_device(), env)
            self.assertEqual(os.listdir(self.folder.name), ["device"])

    def test_the_table_goes_to_standard_error(self):
        done = run(program("rt-env"), env={**os.environ, "FATHOM_PROFILE": "1"})
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"compute +20 ")
        self.assertIn("slowest", done.stderr)

    def test_the_single_source_does_the_same(self):
        done = run(program("rt-one-source"), env={**os.environ, "FATHOM_PROFILE": "1"})
        self.assertRegex(done.stderr, r"compute +20 ")

    def test_the_examples_run(self):
        done = run(program("example-pipeline"), env={**os.environ, "FATHOM_PROFILE": "1"})
        self.assertIn("sort", done.stderr)
        self.assertIn("[request]", run(program("example-server")).stdout)

    def test_nothing_is_printed_without_the_variable(self):
        done = run(program("rt-env"))
        self.assertEqual(done.stdout + done.stderr, "")

    def test_an_unknown_format_is_reported_and_the_program_runs(self):
        done = run(program("rt-env"), env={**os.environ, "FATHOM_PROFILE": "nonsense:x"})
        self.assertIn("must be 1, table, compact, json", done.stderr)

    def test_invalid_settings_are_reported(self):
        for name in ("FATHOM_MODE", "FATHOM_KEEP", "FATHOM_MEMORY", "FATHOM_DISK"):
            with self.subTest(name):
                done = run(program("rt-env"),
                           env={**os.environ, "FATHOM_PROFILE": "compact", name: "nonsense"})
                self.assertIn(f"fathom: {name} must be ", done.stderr)
                self.assertIn("compute n=20", done.stderr)

    def test_mode_off_measures_nothing(self):
        done = run(program("rt-env"),
                   env={**os.environ, "FATHOM_PROFILE": "1", "FATHOM_MODE": "off"})
        self.assertIn("no zones were measured", done.stderr)

    def test_json(self):
        data = json.loads(self.write("json").read_text())
        paths = {op["path"]: op for op in data["operations"]}
        self.assertEqual(paths[ZONE.replace("/", "_") + "/load"]["count"], 20)
        self.assertEqual(paths[ZONE + "/compute"]["backend"], "cpu")
        self.assertEqual(paths[ZONE + "/compute"]["bytes"], sum(range(1000, 1020)))
        self.assertEqual(paths["items"]["sum"], 40)
        self.assertEqual(sum(data["lost"].values()), 0)
        total = sum(op.get("share", 0) for op in data["operations"])
        self.assertAlmostEqual(total, 1, places=6)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.write("csv").read_text())))
        names = {row["name"]: row for row in rows}
        self.assertEqual(names[ZONE]["count"], "20")
        self.assertEqual(names["compute"]["backend"], "cpu")

    def test_compact_has_one_line_each(self):
        lines = self.write("compact").read_text().splitlines()
        self.assertEqual(len(lines), 6)

    def test_the_fathom_file_opens_with_its_spans(self):
        path = self.write("trace", "out.fathom")
        data = report(path)
        self.assertIn("zones", json.dumps(data))
        chunks = fathom("dump", "--chunks", path).stdout
        self.assertIn("span", chunks)
        self.assertIn("counter", chunks)
        text = fathom("export", path, "-f", "collapsed").stdout
        self.assertIn("compute", text)

    def test_every_part_of_a_long_trace_has_its_own_times(self):
        """The library writes a trace this long in two parts."""
        path = self.write("trace", "out.fathom", "15000")
        data = json.loads(fathom("export", path, "-f", "json").stdout)
        begin = int(data["meta"]["start_ns"])
        end = begin + int(data["meta"]["duration_ns"])
        chunks = fathom("dump", "--chunks", path).stdout
        for name, key, each in (("span", "start_ns", 4), ("counter", "time_ns", 2)):
            times = data[name + "s"][key]
            self.assertEqual(chunks.count(f"name={name} "), 2)
            self.assertEqual(len(times), 15000 * each)
            self.assertGreaterEqual(min(times), begin)
            self.assertLessEqual(max(times), end)

    def test_fathom_reads_back_every_other_export(self):
        for form, name in (("collapsed", "o.folded"), ("chrome", "o.json")):
            with self.subTest(form):
                with tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder) / name
                    run(program("rt-env"), "2000",
                        env={**os.environ, "FATHOM_PROFILE": f"{form}:{path}"})
                    self.assertIn("compute", fathom("report", path).stdout)

    def test_formats_of_the_tool_are_named_with_the_command_that_makes_them(self):
        for form in ("perfetto", "speedscope", "pprof"):
            with self.subTest(form):
                done = run(program("rt-env"), env={**os.environ, "FATHOM_PROFILE": form + ":x"})
                self.assertEqual(done.stderr, "fathom: FATHOM_PROFILE: set it to trace:FILE.fathom, "
                                 'then run "fathom export FILE.fathom -f FORMAT" to write '
                                 f"{form}\n")

    def test_baselines(self):
        path = pathlib.Path(self.folder.name) / "base"
        done = run(program("rt-env"), "5", "baseline", path, status=None,
                   env={**os.environ, "FATHOM_PROFILE": "compact"})
        self.assertEqual(done.returncode, 40)
        lines = path.read_text().splitlines()
        self.assertEqual(lines[0], "fathom baseline 1")
        self.assertEqual(len(lines), 4)


class InsideRecord(unittest.TestCase):
    def test_zones_are_in_the_same_file_as_the_samples(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "both.fathom"
            fathom("record", "-o", path, "--", program("rt-env"), "2000",
                   env={**os.environ, "TMPDIR": folder})
            text = fathom("report", path, "-m", "zones").stdout
            self.assertRegex(text, r"2,000 +compute")
            self.assertEqual(os.listdir(folder), ["both.fathom"])


class EveryCall(unittest.TestCase):
    def said(self, name, *arguments):
        text = run(program(name), *arguments).stdout
        return text, dict(re.findall(r"^(\w+) (\d+)$", text, re.M))

    def test_every_macro_and_call_works_in_c_and_cxx(self):
        for name in ("rt-all", "rt-all-cxx"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                out = folder + "/out.fathom"
                text, said = self.said(name, folder + "/base", out)
                self.assertEqual(said, {"lines": "18", "ready": "1", "lost": "0", "clock": "1",
                                        "off": "0"})
                for word in ("[request]", "sampled", "late{worker=", "lock wait", "lock hold",
                             "gauge", "pool", "flow", "instant", "frame", "measuring took"):
                    self.assertIn(word, text)
                self.assertIn("load", fathom("report", out).stdout)

    def test_every_macro_and_call_does_nothing_when_off(self):
        for name in ("rt-all-off", "rt-all-cxx-off"):
            with self.subTest(name):
                _, said = self.said(name)
                self.assertEqual(said, {"lines": "0", "ready": "0", "lost": "0", "clock": "1",
                                        "off": "1"})

    def test_fathom_opens_what_a_program_exports(self):
        with tempfile.TemporaryDirectory() as folder:
            out = folder + "/out.fathom"
            run(program("rt-env"), "200", env={**os.environ, "FATHOM_PROFILE": f"trace:{out}"})
            fathom("flame", out, "-o", folder + "/out.svg")
            self.assertGreater(os.path.getsize(folder + "/out.svg"), 1000)
            for form in ("chrome", "speedscope", "pprof", "perfetto", "csv", "json"):
                path = f"{folder}/again.{form}"
                fathom("export", out, "-f", form, "-o", path)
                self.assertGreater(os.path.getsize(path), 100)


class RulesOnPrograms(unittest.TestCase):
    def advice(self, case):
        text = run(program("rt-advice"), case, env={**os.environ, "FATHOM_CLOCK": "monotonic"}).stdout
        return {tuple(line.split()) for line in text.splitlines()}

    def test_each_rule_fires_on_a_program_that_does_it(self):
        for rule, name in (("share", "all"), ("tiny-zone", "empty"), ("bimodal", "lookup"),
                           ("first-call", "serve"), ("repeat-work", "hash"), ("growth", "join"),
                           ("backend", "gemm"), ("imbalance", "part"), ("alloc", "parse"),
                           ("drift", "walk"), ("lock-wait", "table")):
            with self.subTest(rule):
                self.assertIn((rule, name), self.advice(rule))

    def test_near_misses_do_not(self):
        for rule, name in (("repeat-work", "hash"), ("growth", "join"), ("alloc", "parse")):
            with self.subTest(rule):
                self.assertNotIn((rule, name), self.advice("no-" + rule))


class Objects(unittest.TestCase):
    def test_compiled_out_nothing_is_left(self):
        need("objdump")
        texts = []
        for kind in ("fathom-off", "rt-bare"):
            path = program(f"librt-{kind}.a")
            text = subprocess.run(["objdump", "-d", "-r", "--no-show-raw-insn", path],
                                  capture_output=True, text=True, check=True).stdout
            texts.append(re.sub(r"^.*file format.*$|^In archive.*$", "", text, flags=re.M).strip())
            symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
            names = {line.split()[-1] for line in symbols.splitlines() if " " in line}
            self.assertEqual(names, {"rt_off"})
        self.assertEqual(texts[0], texts[1])

    def allowed(self, name):
        """The words of a list, without comments."""
        text = (SOURCE / "tests" / "imports" / name).read_text()
        return set(re.sub(r"#.*", "", text).split())

    def needed(self, path, *options):
        text = subprocess.run(["nm", *options, "-u", path], capture_output=True, text=True,
                              check=True).stdout
        # Since glibc 2.38, strtoull is linked as __isoc23_strtoull; similar functions likewise.
        return {re.sub(r"@.*|^__isoc23_", "", line.split()[-1]) for line in text.splitlines() if line.strip()}

    def test_the_library_needs_nothing_but_libc(self):
        need("nm")
        if "build-san" in str(BUILD):
            self.skipTest("a sanitizer adds its own")
        needed = self.needed(program("libfathom.so"), "-D")
        self.assertEqual(needed - self.allowed("runtime.allow"), set())
        for name in ("malloc", "calloc", "free", "printf", "abort", "exit", "pthread_mutex_lock"):
            self.assertNotIn(name, self.allowed("runtime.allow"))

    def test_only_public_names_are_exported(self):
        need("nm")
        text = subprocess.run(["nm", "-D", "--defined-only", program("libfathom.so")],
                              capture_output=True, text=True, check=True).stdout
        names = {line.split()[-1].split("@")[0] for line in text.splitlines()} - {"FATHOM_1"}
        header = (SOURCE / "include" / "fathom.h").read_text()
        for name in sorted(names):
            with self.subTest(name):
                self.assertTrue(name.startswith("fathom_"))
                self.assertIn(name, header)


class Elevated(NobodyCase):
    """A program with more rights than the user who starts it: here root's, started by nobody."""

    def setUp(self):
        super().setUp()
        if os.statvfs(self.dir).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.dir} is mounted nosuid")
        self.copy(program("rt-one-source"))  # libfathom inside: no library path to follow
        self.private = self.dir / "private"
        self.private.mkdir(mode=0o700)
        self.secret = self.private / "secret"

    def variables(self):
        yield "FATHOM_PROFILE", f"collapsed:{self.secret}"
        yield "FATHOM_PROFILE", f"trace:{self.secret}"
        yield "FATHOM_LIVE", str(self.secret)
        yield "FATHOM_RECORD_DIR", str(self.private)

    def run_with(self, name, value):
        """Start the program as nobody; return what it printed and what root's folder then holds."""
        self.secret.write_text("root's")
        os.chmod(self.secret, self.private.stat().st_mode & 0o666)
        # The leak checker traces its own process, which the kernel refuses for a setuid program.
        done = self.as_nobody("env", f"{name}={value}", "ASAN_OPTIONS=detect_leaks=0", "./rt-one-source")
        files = {p.name: p.read_bytes() for p in self.private.iterdir()}
        for p in self.private.iterdir():
            p.unlink()
        return done.stdout + done.stderr, files

    def test_a_setuid_program_writes_nothing_that_the_environment_names(self):
        need_setuid()
        os.chmod(self.dir / "rt-one-source", 0o4755)
        for name, value in self.variables():
            self.assertEqual(self.run_with(name, value), ("", {"secret": b"root's"}), name)
        self.assertEqual(self.run_with("FATHOM_PROFILE", "1")[0], "")

    def test_the_same_program_without_setuid_obeys_the_environment(self):
        os.chmod(self.private, 0o777)
        for name, value in self.variables():
            if name == "FATHOM_PROFILE":  # the others work only together with it or a recorder
                self.assertNotEqual(self.run_with(name, value)[1], {"secret": b"root's"}, name)


if __name__ == "__main__":
    unittest.main()
