"""Where perf_event_open is refused: the reason and the remedy are the right ones."""
import errno
import functools
import json
import os
import pathlib
import platform
import re
import unittest

from support import (FATHOM, Case, NobodyCase, fathom, need, need_perf_events, need_seccomp,
                     perf_refusal, refuse_perf_events, run)


KCMP = {"x86_64": 312, "aarch64": 272}[platform.machine()]


def ladder(text):
    return {x["name"]: x for x in json.loads(text)["ladder"] if x["name"] not in ("in-process", "stops")}


def level():
    try:
        return int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except OSError:
        raise unittest.SkipTest("the kernel has no perf events") from None


class Filter(Case):
    """A seccomp filter, like that of a container."""

    def setUp(self):
        super().setUp()
        need_seccomp()

    def refused(self, *args, status=0, **how):
        return fathom(*args, status=status,
                      preexec_fn=functools.partial(refuse_perf_events, **how))

    def test_doctor_names_the_filter_on_every_rung(self):
        level()
        for number in errno.EPERM, errno.EACCES, errno.ENOSYS:
            for rung in ladder(self.refused("doctor", "--json", number=number).stdout).values():
                self.assertFalse(rung["holds"])
                self.assertEqual(rung["why"], "a seccomp filter refuses perf_event_open")
                self.assertIn("--cap-add PERFMON", rung["remedy"])
                if level() <= 2 and os.geteuid() == 0:
                    self.assertNotIn("sysctl", rung["remedy"])

    def test_doctor_says_it_in_the_row_of_seccomp_too(self):
        text = self.refused("doctor").stdout
        self.assertRegex(text, r"(?m)^ *seccomp +a filter refuses perf_event_open$")

    def test_record_says_the_same_and_does_not_run_the_command(self):
        mark = self.dir / "ran"
        done = self.refused("record", "-e", "cpu-clock", "-o", self.dir / "p.fathom", "--", "touch", mark, status=1)
        self.assertIn("cannot sample this program: a seccomp filter refuses perf_event_open\n",
                      done.stderr)
        self.assertIn("--cap-add PERFMON", done.stderr)
        self.assertFalse(mark.exists())

    def test_stat_measures_the_rest_and_says_what_is_missing(self):
        why = "a seccomp filter refuses perf_event_open"
        for number in errno.EPERM, errno.ENOSYS:
            level()
            result = json.loads(self.refused("stat", "--json", "--", "sh", "-c", "exit 3", number=number,
                                             status=3).stdout)
            self.assertEqual(result["hardware"], why)
            self.assertIn("--cap-add PERFMON", result["remedy"])
            found = {x["name"] for x in result["measures"]}
            self.assertLessEqual({"wall", "user", "system", "cpus used", "max RSS", "minor faults",
                                  "voluntary switches"}, found)
            self.assertEqual(result["missing"][:2], ["processes", "threads"])
            self.assertIn("cycles", result["missing"])
            self.assertFalse(found & set(result["missing"]))
        text = self.refused("stat", "--", "true").stderr
        for name in found:
            self.assertRegex(text, rf"(?m)^{re.escape(name)}  ")
        self.assertIn(f"\nnot counted: processes, threads, hardware counters: {why}\n  {result['remedy']}\n",
                      text)

    def test_stat_says_why_an_event_cannot_be_counted(self):
        level()
        mark = self.dir / "ran"
        done = self.refused("stat", "-e", "page-faults", "--", "touch", mark, status=1)
        self.assertIn('cannot count "page-faults": a seccomp filter refuses perf_event_open\n', done.stderr)
        self.assertIn("--cap-add PERFMON", done.stderr)
        self.assertFalse(mark.exists())

    def test_a_filter_that_allows_the_call_is_not_blamed(self):
        need_perf_events()
        text = self.refused("doctor", "--json", call=KCMP).stdout
        facts = {x["key"]: x for x in json.loads(text)["machine"]}
        self.assertEqual(facts["seccomp"]["value"], "a filter is active")
        self.assertEqual(facts["seccomp"]["state"], "plain")
        for rung in ladder(text).values():
            self.assertNotIn("seccomp", rung["why"])


class Privilege(Case):
    """Root that is not the root of the machine."""

    def why(self, *prefix):
        need_perf_events()
        if level() < 2:
            self.skipTest("this machine lets everybody sample the kernel")
        found = ladder(run(*prefix, FATHOM, "doctor", "--json").stdout)
        self.assertTrue(found["user"]["holds"] or level() > 2)
        return found["kernel+user"]

    def test_root_without_capabilities_is_told_which_one(self):
        need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("not root")
        found = self.why("setpriv", "--bounding-set=-all", "--inh-caps=-all")
        self.assertIn("root lacks CAP_PERFMON", found["why"])
        self.assertIn("on the host, sudo sysctl kernel.perf_event_paranoid=1", found["remedy"])

    def test_root_of_a_user_namespace_is_told_about_it(self):
        need("unshare")
        done = run("unshare", "--user", "--map-root-user", "true", status=None)
        if done.returncode:
            self.skipTest(f"no user namespaces here: {done.stderr.strip()}")
        found = self.why("unshare", "--user", "--map-root-user")
        self.assertIn("user namespace", found["why"])
        self.assertNotIn("--cap-add", found["remedy"])


class OrdinaryUser(NobodyCase):
    def test_the_level_is_named_with_the_one_to_set(self):
        need_perf_events(nobody=True)
        if not perf_refusal(nobody=True, kernel=True):
            self.skipTest("this machine lets ordinary users sample the kernel")
        self.copy(FATHOM)
        found = ladder(self.as_nobody("./fathom", "doctor", "--json").stdout)
        self.assertTrue(found["user"]["holds"])
        self.assertRegex(found["kernel+user"]["why"], r"kernel\.perf_event_paranoid is \d: kernel samples need")
        self.assertIn("sysctl kernel.perf_event_paranoid=1", found["kernel+user"]["remedy"])
        self.assertIn("sysctl kernel.perf_event_paranoid=0", found["system-wide"]["remedy"])

    def test_stat_does_not_count_the_kernel_as_user_space(self):
        need_perf_events(nobody=True)
        if not perf_refusal(nobody=True, kernel=True):
            self.skipTest("this machine lets ordinary users sample the kernel")
        self.copy(FATHOM)
        done = self.as_nobody("./fathom", "stat", "-e", "page-faults:k", "--", "true", status=1)
        self.assertIn('cannot count "page-faults:k": kernel.perf_event_paranoid is', done.stderr)


if __name__ == "__main__":
    unittest.main()
