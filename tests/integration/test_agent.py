"""Samples taken inside the program: as true as those of perf events, and the program does not notice."""
import functools
import json
import os
import pathlib
import platform
import signal
import subprocess
import time
import unittest

import test_truth
from recording import Recording
from support import (BUILD, FATHOM, Case, built, fathom, need, need_seccomp, refuse_perf_events, report, rounds, run,
                     workload)

PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270}[platform.machine()]


class Inside(test_truth.Truth):
    """The programs with a known profile, without perf events."""

    NOT_HERE = {
        "test_the_shares_hold_in_a_static_program": "the agent needs a dynamic linker",
        "test_frame_pointers_lead_to_the_root_of_a_program_that_keeps_them":
            "the agent takes stacks of mode auto and dwarf",
        # A thread or process that lives for a few milliseconds may end before it is seen; their CPU
        # time is compared below.
        "test_two_hundred_threads_are_all_there": "replaced below",
        "test_five_hundred_started_programs_are_followed": "replaced below",
    }

    def setUp(self):
        super().setUp()
        if self._testMethodName in self.NOT_HERE:
            self.skipTest(self.NOT_HERE[self._testMethodName])

    def record(self, *command, options=(), name="p.fathom", status=0):
        path = self.dir / name
        fathom("record", "--in-process", "-o", path, *options, "--", *command, status=status)
        return path

    def measure(self, name, *args, options=("-F", "999"), samples=50):
        return super().measure(name, *args, options=options, samples=samples)

    def check_sum(self, r, said_ns):
        """Samples and what was not sampled add up to the CPU time that the program printed."""
        whole = sum(s["weight"] for s in r.of("cpu"))
        self.assertLess(abs(whole - said_ns), 0.03 * said_ns + 30e6,
                        f"{whole / 1e6:.1f} ms, not {said_ns / 1e6:.1f} ms")

    def test_the_cpu_time_of_short_threads_is_complete(self):
        path = self.dir / "p.fathom"
        said = fathom("record", "-q", "--in-process", "-o", path, "--", workload("brief"), "threads", "1000",
                      "100000").stdout
        self.check_sum(Recording(path), 1e6 * float(said))

    def test_started_programs_are_all_followed(self):
        r = self.measure("forkexec", "200", samples=20)
        processes = r.table["process"].values()
        self.assertEqual(len({p["pid"] for p in processes}), 201)
        self.assertGreaterEqual(len([p for p in processes if p["end_ns"]]), 0.99 * len(processes))
        self.assertGreater(r.share_with("child_work"), 0)


class CommandsInside(test_truth.Commands):
    """Samples keep the command of their time, without perf events."""

    NOT_HERE = ("test_exec_on_the_whole_machine", "test_exec_in_a_perf_data_file",
                "test_exec_in_the_text_of_perf_script")

    def setUp(self):
        super().setUp()
        if self._testMethodName in self.NOT_HERE:
            self.skipTest("needs perf events")

    def record(self, command, *options):
        return super().record(command, "--in-process", *options)


class Unnoticed(Case):
    """Output and exit status are the same with and without the agent."""

    def compare(self, *args):
        plain = subprocess.run([workload("unnoticed"), *args], capture_output=True, text=True, check=False)
        done = run(FATHOM, "record", "-q", "--in-process", "-o", self.dir / "p.fathom", "--",
                   workload("unnoticed"), *args, status=plain.returncode)
        self.assertEqual(done.stdout, plain.stdout)
        self.assertEqual(done.stderr, plain.stderr)
        return Recording(self.dir / "p.fathom")

    def test_environment_signals_and_files_are_as_before(self):
        self.compare("state")

    def test_no_system_call_is_interrupted(self):
        r = self.compare("calls", str(rounds(300, 100000)))
        self.assertEqual(r.number("quality.calls_interrupted"), 0)

    def test_the_signals_of_the_program_arrive_and_no_others(self):
        self.compare("handler")

    def test_no_stack_shows_a_caller_in_the_agent(self):
        path = self.dir / "p.fathom"
        fathom("record", "-q", "--in-process", "--wall", "-o", path, "--", workload("waiting"), "places", "20")
        r = Recording(path)
        self.assertTrue([s for s in r.of("wait") if "sleep_here" in r.stack(s["stack"])])
        for s in r.samples:
            used = [r.table["module"].get(r.table["frame"][f]["module"]) for f in r.frames(s["stack"])]
            callers = [r.text(m["path"]) for m in used[:-1] if m]
            self.assertEqual([m for m in callers if m.endswith("libfathom-agent.so")], [])

    def test_a_thread_that_blocks_all_signals_is_sampled(self):
        r = self.compare("blocked")
        self.assertGreater(r.share_with("blocked_thread"), 50)

    def test_ignored_and_blocked_signals_are_inherited(self):
        self.compare("ignored")

    def test_a_descriptor_for_signals_receives_those_of_the_program(self):
        self.compare("signalfd")

    def test_code_at_the_edge_of_mapped_memory_is_sampled(self):
        self.compare("edge")

    def test_a_fiber_is_sampled(self):
        r = self.compare("fiber")
        self.assertGreater(r.share_with("on_fiber"), 50)

    def test_a_fiber_of_a_program_with_a_filter_is_left_alone(self):
        need_seccomp()
        self.compare("fiber", "filter")

    def test_shells_of_the_program_see_what_they_saw(self):
        self.compare("commands")

    def test_the_program_keeps_its_own_preloaded_libraries(self):
        library = built(BUILD / "src/runtime/libfathom.so")
        command = ["sh", "-c", "echo $LD_PRELOAD; env | grep ^LD_"]
        env = {**os.environ, "LD_PRELOAD": str(library)}
        done = run(FATHOM, "record", "-q", "--in-process", "-o", self.dir / "p.fathom", "--", *command, env=env)
        self.assertEqual(done.stdout, f"{library}\nLD_PRELOAD={library}\n")


class Lives(Case):
    """The life of programs and recorders."""

    def setUp(self):
        super().setUp()
        self.path = self.dir / "p.fathom"
        self.addCleanup(os.environ.__setitem__, "TMPDIR", os.environ.get("TMPDIR", "/tmp"))
        os.environ["TMPDIR"] = str(self.dir)

    def record(self, *command, options=(), status=0):
        return fathom("record", "-q", "--in-process", "-o", self.path, *options, "--", *command, status=status)

    def start(self, *command):
        return subprocess.Popen([FATHOM, "record", "-q", "--in-process", "-o", self.path, "--", *command])

    def wait_for(self, found, seconds=60):
        end = time.monotonic() + seconds
        while not (got := found()):
            self.assertLess(time.monotonic(), end, "it never happened")
            time.sleep(0.01)
        return got

    def has_samples(self):
        done = subprocess.run([FATHOM, "report", "--json", self.path], capture_output=True, text=True, check=False)
        return done.returncode == 0 and json.loads(done.stdout)["samples"] > 0

    def child_of(self, pid):
        """The command that a recorder started."""
        def found():
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "unnoticed":
                    return int(child)
            return 0
        return self.wait_for(found)

    def test_the_exit_status_is_that_of_the_command(self):
        self.record("sh", "-c", "exit 7", status=7)
        self.record("sh", "-c", "kill -9 $$", status=137)
        self.record(self.dir / "missing", status=127)

    def test_a_killed_program_leaves_its_samples(self):
        recorder = self.start(workload("unnoticed"), "work", "60000")
        pid = self.child_of(recorder.pid)
        self.wait_for(self.has_samples)
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(recorder.wait(), 137)
        self.assertGreater(Recording(self.path).share_with("work"), 90)
        self.assertEqual(list(self.dir.glob("fathom-*")), [])

    def test_a_killed_recorder_does_not_disturb_the_program(self):
        out = self.dir / "out"
        recorder = self.start("sh", "-c", f"{workload('unnoticed')} work 700; "
                              f"env >{out}; echo done >>{out}")
        self.wait_for(self.has_samples)
        recorder.kill()
        recorder.wait()
        self.wait_for(lambda: out.exists() and out.read_text().endswith("done\n"))
        self.assertNotIn("LD_PRELOAD", out.read_text())
        self.assertGreater(report(self.path)["samples"], 0)
        self.wait_for(lambda: not list(self.dir.glob("fathom-*")))

    def test_children_are_left_alone_on_request(self):
        command = ["sh", "-c", f"{workload('unnoticed')} work 100; exec {workload('unnoticed')} work 100"]
        self.record(*command, options=["--no-children"])
        self.assertEqual(len({p["pid"] for p in Recording(self.path).table["process"].values()}), 1)
        self.record(*command)
        names = [g["name"] for g in report(self.path, "-b", "command")["groups"] if g["samples"] > 50]
        self.assertEqual(names, ["unnoticed"])
        self.assertEqual(len({p["pid"] for p in Recording(self.path).table["process"].values()}), 2)

    def test_a_recording_with_a_duration_ends_the_program(self):
        self.record(workload("unnoticed"), "work", "60000", options=["-d", "0.5"], status=143)
        self.assertGreater(report(self.path)["samples"], 0)

    def test_a_delay_leaves_the_beginning_out(self):
        self.record(workload("unnoticed"), "work", "700", options=["--delay", "0.3"])
        r = Recording(self.path)
        self.assertGreater(len(r.samples), 0)
        for s in r.samples:
            self.assertGreaterEqual(s["start_ns"] + s["weight"], r.number("start_ns") + 0.3e9)

    def test_a_temporary_folder_whose_name_ends_the_list_of_libraries_is_refused(self):
        tmp = self.dir / "a:b"
        tmp.mkdir()
        os.environ["TMPDIR"] = str(tmp)
        done = self.record("echo", "started", status=1)
        self.assertIn("its name contains a space or a colon", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(list(tmp.iterdir()), [])

    def test_a_static_child_sees_no_trace_and_disturbs_nothing(self):
        r = self.record("sh", "-c", f"{workload('split-static')} 1 && {workload('unnoticed')} work 100")
        self.assertEqual(r.stderr, "")
        names = {g["name"] for g in report(self.path, "-b", "command")["groups"]}
        self.assertIn("unnoticed", names)

    def test_a_program_that_forges_the_shared_memory_only_spoils_its_samples(self):
        for mode in ("words", "samples", "processes", "requests"):
            done = self.record(workload("forger"), mode, str(rounds(50, 20000)))
            self.assertEqual(done.stdout, "worked\n", mode)
            Recording(self.path)

    def test_a_program_that_gave_up_its_rights_sees_no_trace(self):
        need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("not root: nothing can be given up")
        done = self.record("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
                           "env | grep -c LD_; grep -c libfathom /proc/self/maps", status=1)
        self.assertEqual(done.stdout, "0\n0\n")
        self.assertEqual(done.stderr, "")

    def test_what_the_agent_cannot_record_is_refused(self):
        for options, words in ((["-e", "page-faults"], "no events"),
                               (["--kernel"], "do not show the kernel"), (["-gfp"], "stacks of mode")):
            done = fathom("record", "--in-process", "-o", self.path, *options, "--", "true", status=2)
            self.assertIn(words, done.stderr)
        done = fathom("record", "--in-process", "-o", self.path, "-a", "-d", "1", status=2)
        self.assertIn("only a command or processes can be sampled from inside", done.stderr)


class Refused(Case):
    """Where perf_event_open is refused, record samples from inside and says so."""

    def setUp(self):
        super().setUp()
        need_seccomp()

    def test_a_command_is_recorded_from_inside_with_the_reason(self):
        path = self.dir / "p.fathom"
        done = fathom("record", "-o", path, "--", workload("split"), "100", preexec_fn=refuse_perf_events)
        self.assertIn("in-process, recorder used", done.stderr)
        self.assertIn("no perf events: a seccomp filter refuses perf_event_open", done.stderr)
        r = Recording(path)
        self.assertEqual(r.meta["rung"], "in-process")
        self.assertEqual(r.meta["rung_why"], "a seccomp filter refuses perf_event_open")
        self.assertGreater(r.share_with("one"), 55)
        self.assertGreater(r.number("quality.complete"), 0.95 * r.number("quality.stacks"))
        text = fathom("report", path).stdout
        self.assertIn("in-process", text)
        self.assertIn("note: sampled from inside the program: a seccomp filter refuses perf_event_open", text)

    def test_waits_are_recorded_from_inside_with_the_reason(self):
        path = self.dir / "p.fathom"
        fathom("record", "-q", "--wall", "-o", path, "--", workload("waits"), "1",
               preexec_fn=refuse_perf_events)
        r = Recording(path)
        self.assertEqual(r.meta["rung_why"], "a seccomp filter refuses perf_event_open")
        self.assertGreater(sum(s["weight"] for s in r.of("wait")), 60e6)

    def test_stacks_of_waits_are_complete_if_process_vm_readv_is_refused_too(self):
        path = self.dir / "p.fathom"
        fathom("record", "-q", "--in-process", "--wall", "-o", path, "--", workload("waits"), "2", "50",
               preexec_fn=functools.partial(refuse_perf_events, call=PROCESS_VM_READV))
        r = Recording(path)
        seen = [s for s in r.of("wait") if r.waits_for(s) == "sleep" and "stack" not in r.tags(s["tags"])]
        self.assertTrue(seen)
        self.assertEqual(r.share(lambda s: "do_sleep" in s or "holder" in s, seen), 100)

    def test_stacks_are_complete_if_process_vm_readv_is_refused_too(self):
        path = self.dir / "p.fathom"
        fathom("record", "-q", "--in-process", "-o", path, "--", workload("deep"), "30000",
               preexec_fn=functools.partial(refuse_perf_events, call=PROCESS_VM_READV))
        r = Recording(path)
        r.need_samples(20)
        self.assertGreater(r.number("quality.complete"), 0.95 * r.number("quality.stacks"))

    def test_stacks_end_with_mapped_memory_if_process_vm_readv_is_refused_too(self):
        path = self.dir / "p.fathom"
        for randomize in ([], ["setarch", "-R"]):
            fathom("record", "-q", "--in-process", "-o", path, "--", *randomize, workload("unnoticed"), "fiber",
                   preexec_fn=functools.partial(refuse_perf_events, call=PROCESS_VM_READV))
            self.assertGreater(Recording(path).share_with("on_fiber"), 50)

    def test_what_needs_perf_events_is_still_refused(self):
        done = fathom("record", "-o", self.dir / "p.fathom", "-a", "-d", "1", status=1,
                      preexec_fn=refuse_perf_events)
        self.assertIn("a seccomp filter refuses perf_event_open", done.stderr)


if __name__ == "__main__":
    unittest.main()
