"""`fathom doctor`: exact results for binaries with known builds, plausible ones for the rest."""
import json
import os
import pathlib
import re
import subprocess
import time
import unittest

from support import FATHOM, SOURCE, Case, NobodyCase, fathom, run, workload
from test_report import documented


def doctor(*args, status=0):
    return json.loads(fathom("doctor", "--json", *args, status=status).stdout)


def facts(name):
    binary = doctor(workload(name))["binary"]
    return binary, {f["key"]: f["value"] for f in binary["facts"]}


class Binaries(Case):
    def test_an_instrumented_build_is_recognized(self):
        binary, found = facts("doctor-instrumented")
        self.assertTrue(binary["instrumented"] and not binary["fast"])
        self.assertIn("-O2", found["optimization"])
        self.assertTrue(found["frame_pointers"].startswith("used:"), found["frame_pointers"])
        self.assertEqual(found["debug_info"], "in the binary")
        self.assertEqual(found["instrumentation"], "none")
        self.assertRegex(binary["command"], r"^fathom record -- ")

    def test_a_fast_build_is_recognized(self):
        binary, found = facts("doctor-fast")
        self.assertTrue(binary["fast"] and not binary["instrumented"])
        self.assertEqual(found["symbols"], "stripped")
        self.assertEqual(found["debug_info"], "none")
        self.assertEqual(found["build_id"], "none")
        self.assertIn("no PIE", found["type"])
        self.assertTrue(found["frame_pointers"].startswith("not used"), found["frame_pointers"])
        self.assertRegex(binary["command"], r"^fathom record -- ")

    def test_a_static_program_is_judged_by_its_symbols(self):
        found = facts("doctor-static")[1]
        self.assertRegex(found["frame_pointers"], r"^(not used|used in part|used): \d+ % of \d+ non-leaf functions")
        self.assertIn(".eh_frame", found["unwind_tables"])

    def test_unwind_tables_of_a_part_of_the_code_are_not_called_complete(self):
        self.assertRegex(facts("nocfi-O2")[1]["unwind_tables"], r"^in part: .eh_frame describes \d+ % of the code$")
        for name in ("doctor-fast", "doctor-static", "doctor-library", "unwind-arm"):
            if name == "unwind-arm" and not os.path.getsize(workload(name)):
                continue  # built only where there is a compiler for it; its functions are not aligned
            self.assertEqual(facts(name)[1]["unwind_tables"], "yes (.eh_frame)", name)

    def test_level_and_instruction_set_come_from_the_debug_information(self):
        binary, found = facts("doctor-fast-debug")
        self.assertTrue(binary["fast"])
        self.assertIn("-O3", found["optimization"])
        self.assertEqual(found["march"], "-march=x86-64-v2")
        self.assertIn("GNU C", found["compiler"])

    def test_an_unoptimized_build_is_recognized_with_and_without_debug_information(self):
        for name in ("doctor-O0", "doctor-O0-stripped"):
            binary, found = facts(name)
            self.assertIn("unoptimized", binary["verdict"], name)
            self.assertFalse(binary["fast"] or binary["instrumented"], name)

    def test_optimization_is_good_and_its_absence_poor(self):
        for name, state in (("doctor-instrumented", "good"), ("doctor-O0", "poor")):
            rows = doctor(workload(name))["binary"]["facts"]
            self.assertEqual([f["state"] for f in rows if f["key"] == "optimization"], [state], name)

    def test_debug_information_in_a_separate_file_is_found(self):
        program, debug = self.dir / "prog", self.dir / "prog.debug"
        run("objcopy", "--only-keep-debug", workload("doctor-instrumented"), debug)
        run("objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}",
            workload("doctor-instrumented"), program)
        rows = doctor(program)["binary"]["facts"]
        self.assertEqual([f["value"] for f in rows if f["key"] == "debug_info"],
                         ["in a separate file"])

    def test_instrumentation_is_detected(self):
        self.assertIn("sanitizer", facts("doctor-asan")[1]["instrumentation"])
        self.assertIn("-pg", facts("doctor-pg")[1]["instrumentation"])
        self.assertIn("slowed", facts("doctor-asan")[0]["verdict"])

    def test_link_time_optimization_is_detected(self):
        self.assertEqual(facts("doctor-lto")[1]["lto"], "yes")
        self.assertEqual(facts("doctor-instrumented")[1]["lto"], "not detected")

    def test_a_library_is_recorded_through_a_program(self):
        self.assertIn("PROGRAM", facts("doctor-library")[0]["command"])

    def test_a_running_process_is_described_by_its_program(self):
        child = subprocess.Popen(["sleep", "600"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        end = time.monotonic() + 60  # until the exec is done
        while os.readlink(f"/proc/{child.pid}/exe").rsplit("/", 1)[-1].startswith("python"):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        binary = doctor(str(child.pid))["binary"]
        self.assertTrue(binary["command"].endswith(f"-p {child.pid}"))
        self.assertTrue(binary["facts"])

    def test_other_files_are_refused(self):
        done = fathom("doctor", SOURCE / "README.md", status=1)
        self.assertIn("README.md", done.stderr)
        fathom("doctor", self.dir / "nothing", status=1)
        (self.dir / "cut").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(40))
        fathom("doctor", self.dir / "cut", status=1)

    def test_the_tool_itself_is_described(self):
        text = fathom("doctor", os.environ["FATHOM"]).stdout
        self.assertIn("record it with: fathom record", text)


class Machine(Case):
    def test_members_match_the_page(self):
        found = doctor()
        self.assertLessEqual(set(found), set(documented("## `fathom doctor --json`")))
        for part in ("machine", "processor", "tools"):
            for fact in found[part]:
                self.assertEqual(set(fact), {"key", "value", "state", "advice"})
        for rung in found["ladder"]:
            self.assertEqual(set(rung), {"name", "holds", "gives", "why", "remedy"})
            self.assertEqual(rung["holds"], rung["why"] == "")

    def test_the_kernel_is_that_of_uname(self):
        known = {f["key"]: f["value"] for f in doctor()["machine"]}
        self.assertIn(os.uname().release, known["kernel"])

    def test_instruction_sets_are_those_of_the_kernel(self):
        text = pathlib.Path("/proc/cpuinfo").read_text()
        words = re.search(r"^(?:flags|Features)\s*: (.*)$", text, re.M).group(1).split()
        names = {"sse2": "SSE2", "avx": "AVX", "avx2": "AVX2", "avx512f": "AVX-512F", "aes": "AES",
                 "asimd": "NEON", "sve": "SVE", "sve2": "SVE2"}
        found = {f["key"]: f["value"] for f in doctor()["processor"]}["cpu_features"].split()
        self.assertEqual({n for n in names.values() if n in found}, {n for w, n in names.items() if w in words})

    def test_flags_are_printed_for_every_language(self):
        for profile in ("fast", "instrumented"):
            found = doctor("--flags", profile)["flags"]
            self.assertEqual({f["lang"] for f in found},
                             {"c", "rust", "cmake", "meson", "cargo", "pybind11", "pyo3"})
        text = fathom("doctor", "--flags", "instrumented", "--lang", "c").stdout
        self.assertIn("-fno-omit-frame-pointer", text)
        fathom("doctor", "--flags", "slow", status=2)
        fathom("doctor", "--flags", "fast", "--lang", "cobol", status=2)

    def test_measured_latencies_have_a_plausible_order(self):
        os.environ["FATHOM_CACHE"] = str(self.dir / "cache")
        found = doctor("--measure")
        value = {x["key"]: x["value"] for x in found["latencies"]}
        page = (SOURCE / "docs/cli/doctor.md").read_text()
        for x in found["latencies"]:
            self.assertEqual(set(x), {"key", "label", "unit", "value", "note"})
            if x["value"] is None:
                self.assertTrue(x["note"], x["key"])
        self.assertGreater(value["cycle"], 0.05)
        if value["l1"] is not None and value["dram"] is not None:
            self.assertLess(value["l1"], value["dram"])
        if value["process"] is not None:
            self.assertGreater(value["process"], value["syscall"])
        self.assertEqual(json.loads(open(found["saved"]).read())["cycle"], value["cycle"])
        self.assertIn("O_DIRECT", page)

    def test_overhead_is_measured_for_every_way(self):
        found = doctor("--overhead", "-r", "1", "--", workload("split"), "5")["overhead"]
        self.assertEqual(len(found["ways"]), 6)
        self.assertGreater(found["bare_cpu_ns"], 0)
        for way in found["ways"]:
            self.assertEqual(set(way), set(documented("### `ways`")))
        fathom("doctor", "--overhead", status=2)
        fathom("doctor", "--", "true", status=2)


class Unprivileged(NobodyCase):
    def test_an_ordinary_user_gets_advice_on_permissions(self):
        self.copy(FATHOM)
        text = self.as_nobody("./fathom", "doctor").stdout
        if int(re.search(r"perf_event_paranoid +(-?\d+)", text).group(1)) >= 2:
            self.assertIn("sysctl kernel.perf_event_paranoid", text)


if __name__ == "__main__":
    unittest.main()
