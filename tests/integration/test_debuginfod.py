"""Debug files from debuginfod: a server on this machine that answers, errs, lies or hangs."""
import ctypes
import http.server
import os
import pathlib
import re
import shutil
import threading
import unittest

from recording import Recording
from support import Case, fathom, report, workload

ROUNDS = "60"
FUNCTIONS = {"heavy", "work"}  # of workloads/lines.c; the first is inlined


class Server(http.server.ThreadingHTTPServer):
    """Answers a request for /buildid/ID/debuginfo with ANSWER: bytes, an error status, or an event that it waits
    for before it closes the connection."""
    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.asked = answer, []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # the client went away


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802
        self.server.asked.append(self.path)
        answer = self.server.answer
        if isinstance(answer, threading.Event):
            answer.wait()
        elif isinstance(answer, int):
            self.send_error(answer)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, *args):
        pass


class Debuginfod(Case):
    def setUp(self):
        super().setUp()
        try:
            ctypes.CDLL("libdebuginfod.so.1")
        except OSError as e:
            raise unittest.SkipTest(f"no libdebuginfod: {e}") from e
        self.program = self.dir / "program"
        shutil.copy(workload("lines-bare"), self.program)
        self.whole = pathlib.Path(workload("lines")).read_bytes()
        self.cache = self.dir / "client"

    def serve(self, answer):
        server = Server(answer)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def record_with(self, server):
        env = {k: v for k, v in os.environ.items() if not re.match("DEBUGINFOD|.*_proxy$", k, re.I)}
        env["DEBUGINFOD_CACHE_PATH"] = str(self.cache)
        if server:
            env["DEBUGINFOD_URLS"] = server.url
        out = self.dir / "p.fathom"
        fathom("record", "-o", out, "--", self.program, ROUNDS, env=env)
        return out

    def fetching(self):
        """The processes that fetch in the background have the variable that was set for this test."""
        mark, found = f"DEBUGINFOD_CACHE_PATH={self.cache}\0".encode(), []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes():
                    found.append(path)
            except OSError:
                pass  # ended, or of another user
        return found

    def until_fetched(self):
        self.until(lambda: not self.fetching(), "the end of the background process")

    def names(self, path):
        r = Recording(path)
        return {n for s in r.samples for n in r.stack(s["stack"])}

    def advice(self, path):
        return [m["advice"] for m in report(path)["without_symbols"] if m["module"] == str(self.program)]

    def test_a_file_from_the_server_gives_names_and_lines_to_later_recordings(self):
        server = self.serve(self.whole)
        first = self.record_with(server)
        self.assertFalse(FUNCTIONS & self.names(first))
        self.assertIn("in the background", self.advice(first)[0])
        self.until_fetched()
        second = self.record_with(server)
        self.assertLessEqual(FUNCTIONS, self.names(second))
        rows = {f["name"]: f for f in report(second)["functions"]}
        self.assertTrue(rows["heavy"]["file"].endswith("lines.c"))
        self.assertGreater(rows["heavy"]["line"], 0)
        self.assertEqual(self.advice(second), [])

    def test_nobody_is_asked_and_no_cache_is_read_without_the_variable(self):
        server = self.serve(self.whole)
        self.record_with(server)
        self.until_fetched()
        asked = len(server.asked)
        self.assertGreater(asked, 0)
        self.assertFalse(FUNCTIONS & self.names(self.record_with(None)))
        self.assertEqual(len(server.asked), asked)

    def test_a_server_that_does_not_answer_does_not_delay_the_recording(self):
        answer = threading.Event()
        self.addCleanup(answer.set)
        server = self.serve(answer)
        self.assertFalse(FUNCTIONS & self.names(self.record_with(server)))
        self.until(lambda: server.asked, "a request")
        self.assertTrue(self.fetching())
        answer.set()
        self.until_fetched()

    def test_a_file_that_no_server_has_is_reported(self):
        server = self.serve(404)
        self.record_with(server)
        self.until_fetched()
        self.assertEqual(self.advice(self.record_with(server)), ["no server in DEBUGINFOD_URLS has it"])

    def test_damaged_and_wrong_files_give_no_names(self):
        other = pathlib.Path(workload("lines-stripped")).read_bytes()
        for name, answer in (("garbage", b"\x7fELF" + bytes(range(256)) * 40), ("another build", other),
                             ("half", self.whole[:len(self.whole) // 2])):
            with self.subTest(name):
                shutil.rmtree(self.cache, ignore_errors=True)
                server = self.serve(answer)
                self.record_with(server)
                self.until_fetched()
                path = self.record_with(server)
                self.assertFalse(FUNCTIONS & self.names(path))
                self.assertIn("does not match it or is damaged", self.advice(path)[0])
