"""The page and the picture of `fathom flame`, in a headless Chromium."""
import base64
import hashlib
import re
import subprocess
import sys
import unittest
import xml.dom.minidom

from cdp import Browser
from support import GOLDEN, SOURCE, Case, fathom
from test_hostile import hostile_file

sys.path.insert(0, str(GOLDEN))
import make_perfdata  # noqa: E402

# Total 100: parse 50, run 40 (calls itself), wait 10.
STACKS = """main;parse;lex 20
main;parse;read;copy_[k] 30
main;run;run;step_[i] 25
main;run;add (x.py:3) 15
main;wait;hot_[j] 10
"""
THREADS = """prog   100/100   [000]     1.000000:    1000000 cpu-clock:
\t          401136 main+0x6 (/bin/prog)

prog   100/100   [000]     1.001000:    1000000 cpu-clock:
\t          401136 main+0x6 (/bin/prog)

worker   100/101   [001]     1.001000:    1000000 cpu-clock:
\t          401236 work+0x6 (/bin/prog)
\t          401250 run+0x10 (/bin/prog)

"""
FRAME = "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"


class Shared:
    """One browser for all tests."""
    browser = None
    trouble = None  # why it could not start, so that only the first test tries it

    @classmethod
    def get(cls):
        if cls.trouble:
            raise unittest.SkipTest(cls.trouble)
        if cls.browser:
            return cls.browser
        try:
            cls.browser = Browser().__enter__()
        except unittest.SkipTest as why:
            cls.trouble = str(why)
            raise
        return cls.browser

    @classmethod
    def close(cls):
        if cls.browser:
            cls.browser.stop()
        cls.browser = None


def tearDownModule():
    Shared.close()


class Viewer(Case):
    def setUp(self):
        super().setUp()
        self.browser = Shared.get()

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def open(self, text=STACKS, *options, dark=False, state=""):
        out = self.dir / "x.html"
        fathom("flame", self.write("x.txt", text), "-o", out, *options)
        page = self.browser.open(f"file://{out}{state}", dark=dark)
        page.until("document.documentElement.dataset.ready === 'yes'")
        page.run(FRAME)
        return page

    def names(self, page, nodes):
        """Names and weights of the nodes of an expression."""
        return page.run(f"{nodes}.map(n => [fathom.symbols.name[fathom.graph.symbolOf(n)], fathom.graph.weightOf(n)])")

    def zoomed(self, page):
        return page.run("fathom.symbols.name[fathom.graph.symbolOf(fathom.flame.zoomed)]")

    def point_of(self, page, name):
        """A point in the widest box called NAME."""
        return page.run(f"""(() => {{
            const r = document.getElementById("canvas").getBoundingClientRect();
            for (const [row, boxes] of fathom.flame.rows.entries())
              for (const b of boxes)
                if (fathom.symbols.name[fathom.graph.symbolOf(b.node)] === {name!r})
                  return [r.left + b.left + b.width / 2, r.top + row * 20 + 14];
            return null;
        }})()""")


class Safety(Viewer):
    """What the names of a profile and the page itself may do."""

    def hostile(self):
        """The page of a profile whose every text is hostile, and its source."""
        hostile_file(self.dir / "x.fathom")
        fathom("flame", "-o", self.dir / "h.html", self.dir / "x.fathom")
        page = self.browser.open(f"file://{self.dir}/h.html")
        page.until("document.documentElement.dataset.ready === 'yes'")
        return page, (self.dir / "h.html").read_text()

    def test_the_policy_allows_only_the_script_and_style_of_the_page(self):
        _, source = self.hostile()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)">', source)[1]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        self.assertEqual(rules["default-src"], "'none'")
        for name, element in (("script-src", 'script type="module"'), ("style-src", "style")):
            text = re.search(rf"<{element}>(.*?)</", source, re.S)[1]
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            self.assertEqual(rules[name], f"'sha256-{digest}'")

    def test_hostile_names_are_only_text(self):
        page, _ = self.hostile()
        for key in "t", "t", "i", "i", "?":
            page.key(key)
        page.key("Escape")
        page.run(FRAME)
        self.assertEqual(page.complaints(), [])
        self.assertEqual(page.run("[...document.querySelectorAll('script')].map(s => s.id || s.type)"),
                         ["facts", "module"])  # the page removes the data after reading it
        self.assertEqual(page.run("document.querySelectorAll('img, b').length"), 0)
        self.assertTrue(page.run("fathom.symbols.name.some(n => n.includes('</script><script>alert(1)'))"))
        self.assertIn("<img src=x onerror=alert(1)>", page.run("document.body.textContent"))

    def test_the_policy_stops_markup_scripts_and_requests(self):
        page, _ = self.hostile()
        # Chromium refuses markup from text, scripts without a hash, and every address.
        self.assertTrue(page.run("(() => { try { document.body.innerHTML = '<p>'; } catch (e) { return true; } })()"))
        self.assertTrue(page.run("fetch('data:text/plain,x').then(() => false, () => true)"))
        self.assertEqual(page.run("""new Promise(done => {
            const script = document.createElement("script");
            document.addEventListener("securitypolicyviolation", (ev) => done(ev.effectiveDirective));
            script.append(document.createTextNode("window.ran = true"));
            document.head.append(script);
        })""")[:7], "require" if page.run("'trustedTypes' in window") else "script-")
        self.assertFalse(page.run("'ran' in window"))


class Page(Viewer):
    def test_the_page_opens_from_a_file_without_errors(self):
        page = self.open(STACKS, "--title", "a <b> & \"c\"")
        self.assertEqual(page.run("document.getElementById('title').textContent"), "a <b> & \"c\"")
        self.assertIn("100 samples", page.run("document.getElementById('subtitle').textContent"))
        self.assertEqual(page.run("fathom.graph.whole"), 100)
        self.assertEqual(sorted(self.names(page, "fathom.graph.childrenOf(1)")),
                         [["parse", 50], ["run", 40], ["wait", 10]])
        for key in "i", "i", "t", "t", "f", "f", "d", "d":
            page.key(key)
        page.run(FRAME)
        self.assertEqual(page.complaints(), [])

    def test_a_click_zooms_and_escape_goes_back(self):
        page = self.open()
        page.mouse(*self.point_of(page, "parse"), click=True)
        page.until("fathom.flame.zoomed > 0")
        page.run(FRAME)
        self.assertEqual(self.zoomed(page), "parse")
        self.assertEqual(page.run("[fathom.flame.from, fathom.flame.to]"), [0, 50])
        self.assertFalse(page.run("document.getElementById('reset').disabled"))
        page.key("Escape")
        page.until("fathom.flame.zoomed === 0")
        self.assertEqual(page.run("[fathom.flame.from, fathom.flame.to]"), [0, 100])

    def test_the_share_of_a_search_counts_nested_matches_once(self):
        page = self.open()
        page.key("/")
        page.call("Input.insertText", text="^run$|step|lex")
        page.until("document.getElementById('matched').textContent !== ''")
        self.assertEqual(page.run("document.getElementById('matched').textContent"), "60.0 %")
        page.run("fathom.act('i')")  # the share of stacks does not change when inverted
        self.assertEqual(page.run("document.getElementById('matched').textContent"), "60.0 %")
        page.run("fathom.act('i'), fathom.flame.zoom(fathom.graph.childrenOf(1)[0])")
        self.assertEqual(self.zoomed(page), "parse")
        self.assertEqual(page.run("document.getElementById('matched').textContent"), "40.0 %")

    def test_an_incomplete_pattern_is_marked_and_matches_nothing(self):
        page = self.open()
        page.run("document.getElementById('search').value = '(', fathom.search('(')")
        self.assertEqual(page.run("document.getElementById('search').getAttribute('aria-invalid')"), "true")
        self.assertEqual(page.run("document.getElementById('matched').textContent"), "")
        self.assertEqual(page.complaints(), [])

    def test_inverted_starts_from_the_most_expensive_functions(self):
        page = self.open(STACKS, "--inverted")
        self.assertEqual(self.names(page, "fathom.graph.childrenOf(0)"),
                         [["copy", 30], ["step", 25], ["lex", 20], ["add (x.py:3)", 15], ["hot", 10]])
        step = "fathom.graph.childrenOf(fathom.graph.childrenOf(0)[1])"
        self.assertEqual(self.names(page, step), [["run", 25]])
        self.assertEqual(self.names(page, f"fathom.graph.childrenOf({step}[0])"), [["run", 25]])

    def test_the_keys_walk_zoom_and_describe(self):
        page = self.open()
        selected = "fathom.symbols.name[fathom.graph.symbolOf(fathom.flame.selected)]"
        walked = []
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft"):
            page.key(key)
            walked.append(page.run(selected))
        self.assertEqual(walked, ["main", "parse", "run", "run", "run", "parse"])
        details = page.run("document.getElementById('details').textContent")
        self.assertIn("parse", details)
        self.assertIn("50.0 %", details)
        page.key("Enter")
        page.until("fathom.flame.zoomed > 0")
        self.assertEqual(self.zoomed(page), "parse")
        page.key("Backspace")
        page.until("fathom.flame.zoomed === 1")
        self.assertEqual(self.zoomed(page), "main")

    def test_the_details_follow_the_pointer(self):
        page = self.open()
        page.mouse(*self.point_of(page, "copy"))
        page.until("document.getElementById('details').textContent.includes('copy')")
        details = page.run("document.getElementById('details').textContent")
        for part in "kernel", "30 samples", "30.0 %", "self 30.0 %":
            self.assertIn(part, details)

    def test_the_style_follows_the_system_and_the_key_changes_it(self):
        self.open().run("localStorage.clear()")
        page = self.open(dark=True)
        shade = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
        self.assertLess(page.run(shade), 64)
        page.key("d")
        self.assertGreater(page.run(shade), 192)
        page.key("d")  # same as the system: not stored
        self.assertGreater(self.open().run(shade), 192)

    def test_the_table_counts_recursion_once_and_sorts(self):
        page = self.open()
        page.key("t")
        cells = "[...document.querySelectorAll('tr[data-row]')].map(r => [...r.cells].slice(0, 5).map(c => c.textContent))"
        rows = {r[4]: r[:4] for r in page.run(cells)}
        self.assertEqual(rows["run"], ["0", "0.0 %", "40", "40.0 %"])
        self.assertEqual(rows["copy"], ["30", "30.0 %", "30", "30.0 %"])
        self.assertEqual(rows["main"][2], "100")
        self.assertEqual(page.run(cells)[0][4], "copy")
        page.run("document.querySelectorAll('th button')[4].click()")
        names = [r[4] for r in page.run(cells)]
        self.assertEqual(names, sorted(names))
        page.run("document.querySelector('tr[data-row] td.name').click()")
        self.assertFalse(page.run("document.getElementById('flame').hidden"))
        self.assertEqual(page.run("[fathom.tab, fathom.symbols.name[fathom.graph.symbolOf(0)], fathom.graph.whole]"),
                         ["sandwich", "add (x.py:3)", 15])

    def test_the_keys_walk_the_table(self):
        page = self.open()
        page.key("t")
        for key in ("ArrowDown", "End", "Home", "ArrowDown"):
            page.key(key)
        self.assertEqual(page.run("document.querySelector('tr[aria-selected=true] td.name').textContent"), "step")
        details = page.run("document.getElementById('details').textContent")
        for part in "step", "self 25 samples, 25.0 %", "total 25 samples, 25.0 %":
            self.assertIn(part, details)
        page.key("Enter")
        self.assertEqual(page.run("[fathom.tab, fathom.graph.whole]"), ["sandwich", 25])
        self.assertEqual(page.complaints(), [])

    def test_a_sandwich_has_all_callers_and_callees_of_a_function(self):
        page = self.open("main;a;f;x 10\nmain;b;f;y 20\nmain;b;f;f;x 30\nmain;b;c 40\n")
        page.run("fathom.sandwich(fathom.symbols.name.indexOf('f'))")
        self.assertEqual(page.run("[fathom.graph.whole, fathom.graph.all]"), [60, 100])
        self.assertEqual(self.names(page, "fathom.graph.childrenOf(0)"), [["f", 30], ["y", 20], ["x", 10]])
        self.assertEqual(self.names(page, "fathom.graph.above(0)"), [["b", 50], ["a", 10]])
        self.assertEqual(self.names(page, "fathom.graph.above(fathom.graph.above(0)[0])"), [["main", 50]])
        rows = page.run("fathom.flame.rows.map(row => row.map(b => fathom.symbols.name[fathom.graph.symbolOf(b.node)]))")
        self.assertEqual([sorted(r) for r in rows[:3]], [["main", "main"], ["a", "b"], ["f"]])
        selected = "fathom.symbols.name[fathom.graph.symbolOf(fathom.flame.selected)]"
        walked = []
        for key in ("ArrowUp", "ArrowRight", "ArrowUp", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
            page.key(key)
            walked.append(page.run(selected))
        self.assertEqual(walked, ["b", "a", "main", "a", "f", "f", "y"])
        page.key("s")  # of the selected function
        self.assertEqual(self.names(page, "[0]"), [["y", 20]])
        self.assertEqual(page.complaints(), [])

    def test_back_returns_to_the_previous_view(self):
        page = self.open()
        page.run("fathom.flame.zoom(2)")
        page.key("t")
        self.assertEqual(page.run("fathom.tab"), "table")
        page.run("history.back()")
        page.until("fathom.tab === 'flame'")
        self.assertEqual(self.zoomed(page), "parse")
        page.run("history.back()")
        page.until("fathom.flame.zoomed === 0")
        page.run("history.forward()")
        page.until("fathom.flame.zoomed === 2")
        self.assertEqual(page.complaints(), [])

    def test_running_and_waiting_can_be_seen_together(self):
        (self.dir / "x.data").write_bytes(make_perfdata.with_a_wait().file())
        fathom("flame", self.dir / "x.data", "-o", self.dir / "x.html")
        page = self.browser.open(f"file://{self.dir}/x.html")
        page.until("document.documentElement.dataset.ready === 'yes'")
        self.assertEqual(page.run("fathom.facts.metrics.map(m => m.name)")[1:], ["wait", "wall"])
        wholes = []
        for i in (1, 2, 3):
            page.run(f"""(() => {{ const m = document.getElementById('metric');
                         m.value = {i}; m.dispatchEvent(new Event('change')); }})()""")
            wholes.append(page.run("fathom.graph.whole"))
        self.assertEqual(wholes[1:], [5000, wholes[0] + 5000])
        self.assertIn("waiting", page.run("document.getElementById('quality').textContent"))

    def test_nothing_is_wider_than_a_narrow_window(self):
        page = self.open()
        for width in (320, 400, 700):
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1,
                      mobile=False)
            page.run(FRAME)
            for tab in ("flame", "sandwich", "table"):
                page.run(f"document.getElementById('tab-{tab}').click()")
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width, tab)
                self.assertLessEqual(page.run("document.getElementById('canvas').clientWidth"), width, tab)

    def test_two_metrics_can_be_chosen(self):
        page = self.open("main;a 10 5\nmain;b 10 35\n", "--metric", "after")
        self.assertFalse(page.run("document.getElementById('metric').parentElement.hidden"))
        self.assertEqual(page.run("fathom.graph.whole"), 40)
        page.run("""(() => { const m = document.getElementById('metric');
                     m.value = 1; m.dispatchEvent(new Event('change')); })()""")
        self.assertEqual(page.run("fathom.graph.whole"), 20)

    def test_a_thread_can_be_chosen(self):
        page = self.open(THREADS)
        choices = page.run("[...document.getElementById('thread').options].map(o => o.textContent)")
        self.assertEqual(choices, ["All threads", "prog 100 (66.7 %)", "worker 101 (33.3 %)"])
        page.run("""(() => { const t = document.getElementById('thread');
                     t.selectedIndex = 2; t.dispatchEvent(new Event('change')); })()""")
        self.assertEqual(self.names(page, "fathom.graph.childrenOf(0)"), [["run", 1000000]])
        self.assertIn("h=t2", page.run("location.hash"))

    def test_a_tag_can_be_chosen(self):
        (self.dir / "x.data").write_bytes(make_perfdata.with_a_wait().file())
        fathom("flame", self.dir / "x.data", "-o", self.dir / "x.html")
        page = self.browser.open(f"file://{self.dir}/x.html")
        page.until("document.documentElement.dataset.ready === 'yes'")
        self.assertFalse(page.run("document.getElementById('tag').parentElement.hidden"))
        self.assertEqual(page.run("[...document.getElementById('tag').children].map(g => g.label || g.textContent)"),
                         ["All", "stack", "wait"])
        whole = page.run("fathom.weighted.whole")
        choose = """(() => {{ const t = document.getElementById('tag');
                     t.value = {!r}; t.dispatchEvent(new Event('change')); }})()"""
        page.run(choose.format("wait=unknown"))
        self.assertEqual(page.run("fathom.graph.whole"), 5000)
        self.assertIn("g=wait%3Dunknown", page.run("location.hash"))
        page.run(choose.format("!wait"))
        self.assertEqual(page.run("fathom.graph.whole"), whole - 5000)
        page.run(choose.format(""))
        self.assertEqual(page.run("fathom.graph.whole"), whole)
        page = self.browser.open(f"file://{self.dir}/x.html#g=wait%3Dunknown")
        page.until("document.documentElement.dataset.ready === 'yes'")
        self.assertEqual(page.run("fathom.graph.whole"), 5000)
        self.assertEqual(page.run("document.getElementById('tag').value"), "wait=unknown")
        self.assertEqual(page.complaints(), [])

    def test_a_page_without_tags_offers_none(self):
        self.assertTrue(self.open().run("document.getElementById('tag').parentElement.hidden"))

    def test_the_address_restores_a_view(self):
        page = self.open(state="#s=lex&i=1")
        self.assertTrue(page.run("fathom.inverted"))
        self.assertEqual(page.run("document.getElementById('matched').textContent"), "20.0 %")
        page = self.open(state="#z=2")
        self.assertEqual(self.zoomed(page), "parse")

    def test_names_that_look_like_markup_stay_names(self):
        name = "</script><script>document.title='no'</script>"
        page = self.open(f"main;{name};x\u00e9\u4e16 5\n")
        self.assertIn([name, 5], self.names(page, "fathom.graph.childrenOf(1)"))
        self.assertNotEqual(page.run("document.title"), "no")
        self.assertEqual(self.names(page, "fathom.graph.childrenOf(2)"), [["x\u00e9\u4e16", 5]])

    def test_a_large_profile_is_complete_and_zooms(self):
        stacks, out = self.dir / "large.txt", self.dir / "large.html"
        subprocess.run([sys.executable, SOURCE / "bench" / "gen_stacks.py", stacks, "30000"], check=True)
        weight = sum(int(line.rsplit(" ", 1)[1]) for line in stacks.open())
        fathom("flame", stacks, "-o", out)
        page = self.browser.open(f"file://{out}")
        page.until("document.documentElement.dataset.ready === 'yes'")
        self.assertEqual(page.run("fathom.graph.whole"), weight)
        self.assertGreater(page.run("fathom.tree.count"), 500_000)
        page.run("fathom.flame.zoom(fathom.graph.childrenOf(1)[0])")
        page.until("fathom.flame.zoomed > 1")
        page.run("fathom.act('i')")
        self.assertEqual(page.run("fathom.graph.childrenOf(0).reduce((s, n) => s + fathom.graph.weightOf(n), 0)"), weight)
        self.assertEqual(page.complaints(), [])

    def test_a_page_without_samples_is_empty_but_not_broken(self):
        page = self.open("main;a 0\n")
        self.assertEqual(page.run("fathom.graph.whole"), 0)
        for key in ("i", "t", "t", "i", "ArrowDown", "Enter", "+", "Escape"):
            page.key(key)
        page.run(FRAME)
        self.assertEqual(page.complaints(), [])


class Picture(Viewer):
    def draw(self, *options, text=STACKS):
        out = self.dir / "x.svg"
        fathom("flame", self.write("x.txt", text), "-o", out, *options)
        return out

    def show(self, *options, text=STACKS):
        page = self.browser.open(f"file://{self.draw(*options, text=text)}")
        page.until("document.readyState === 'complete' && document.getElementById('frames') !== null")
        return page

    def test_the_picture_is_xml_with_a_title_for_every_frame(self):
        out = self.draw("--title", "<&>", text=STACKS + "a<b>;\x01&amp:\"c\" 1\n")
        tree = xml.dom.minidom.parse(str(out))
        frames = [g for g in tree.getElementsByTagName("g") if g.hasAttribute("data-w")]
        titles = [g.getElementsByTagName("title")[0].firstChild.data for g in frames]
        self.assertEqual(len(titles), 14)
        self.assertTrue(any(t.startswith("parse (50 samples, 49.50%") for t in titles), titles)
        self.assertTrue(any(t.startswith("a<b> (1 samples") for t in titles), titles)

    def test_small_frames_are_left_out_unless_asked_for(self):
        text = "main;big 1000000\nmain;tiny 1\n"
        self.assertNotIn("tiny", self.draw(text=text).read_text())
        self.assertIn("left out", self.draw(text=text).read_text())
        self.assertIn("tiny", self.draw("--min", "0", text=text).read_text())
        self.assertNotIn(">wait", self.draw("--min", "20").read_text())

    def test_the_picture_zooms_and_searches(self):
        page = self.show()
        page.run("window.prompt = () => '^run$|step|lex'")
        page.run("document.getElementById('search').dispatchEvent(new Event('click'))")
        self.assertEqual(page.run("document.getElementById('matched').textContent"), "matched 60.00%")
        width = "(n) => [...document.querySelectorAll('#frames > g')].filter(g => g.textContent.startsWith(n)).map(g => g.classList.contains('hidden') ? 0 : +g.querySelector('rect').getAttribute('width'))[0]"
        before = page.run(f"({width})('parse')")
        page.run("""[...document.querySelectorAll('#frames > g')].find(g => g.textContent.startsWith('parse'))
                    .querySelector('rect').dispatchEvent(new Event('click', { bubbles: true }))""")
        self.assertAlmostEqual(page.run(f"({width})('parse')"), 2 * before, delta=2)
        self.assertEqual(page.run(f"({width})('wait')"), 0)
        self.assertEqual(page.run("document.getElementById('matched').textContent"), "matched 40.00%")
        self.assertEqual(page.complaints(), [])

    def test_page_and_picture_agree_on_colors(self):
        fill = dict(re.findall(r"<title>(\w+)[^<]*</title><rect [^>]*fill=\"(#\w+)\"", self.draw().read_text()))
        page = self.open()
        script = """(() => { const s = fathom.symbols, c = document.createElement('canvas').getContext('2d');
            return s.name.map((n, i) => { c.fillStyle = fathom.flame.colors[i] || '#000'; return [n, c.fillStyle]; }); })()"""
        for name, color in page.run(script):
            if name in fill and name != "all":
                pairs = zip(bytes.fromhex(fill[name][1:]), bytes.fromhex(color[1:]))
                self.assertTrue(all(abs(a - b) <= 3 for a, b in pairs), (name, fill[name], color))

    def test_an_inverted_picture_starts_from_the_most_expensive_functions(self):
        text = self.draw("--inverted").read_text()
        rows = dict(re.findall(r"<title>(\w+)[^<]*</title><rect x=\"[^\"]*\" y=\"(\d+)\"", text))
        self.assertLess(int(rows["all"]), int(rows["copy"]))
        self.assertLess(int(rows["copy"]), int(rows["parse"]))


if __name__ == "__main__":
    unittest.main()
