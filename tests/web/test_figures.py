"""The figures of the page equal those of `fathom report --json`; tested without a browser."""
import json
import pathlib
import unittest

from support import GOLDEN, SOURCE, Case, fathom, need, report, run

PAGE = pathlib.Path(__file__).with_name("page.mjs")
STACKS = """app;main;one;spin 60
app;main;one 10
app;main;two;spin 15
app;main;two;spin;two;log 5
app;main;two;copy_[k] 10
"""
# The page's text about node N, row R of the table, and a search.
TELL = "(app.describe({}), text('details').trim().replace(/ +/g, ' '))"
NODE = "Array.from(app.tree.symbol).findIndex((s, i) => i && app.symbols.name[s] === {!r})"
LINES = ("(app.showTab('table'), get('table').querySelector('tbody').children"
         ".filter((tr) => tr.children.length > 1).map((tr) => tr.children.map((td) => td.textContent)))")


class Figures(Case):
    def page(self, source, *options):
        need("node")
        out = self.dir / "x.html"
        fathom("flame", source, "-o", out, *options)
        return lambda question: json.loads(run("node", PAGE, out, question).stdout)

    def stacks(self, text=STACKS, *options):
        source = self.dir / "x.txt"
        source.write_text(text)
        return self.page(source, *options)

    def same_as_report(self, source, *options):
        ask = self.page(source, *options)
        said = report(source, "-n", "0")
        rows, whole = ask("(app.showTab('table'), [app.rows.map((r) => [r.name, r.self, r.total]), app.weighted.whole])")
        self.assertEqual(sorted([r["name"], r["self"], r["total"]] for r in said["functions"]), sorted(rows))
        self.assertEqual(whole, said["total"])

    def test_the_table_has_the_figures_of_the_report(self):
        source = self.dir / "x.txt"
        source.write_text(STACKS)
        self.same_as_report(source)
        self.same_as_report(GOLDEN / "good/pprof/cpu.pb.gz")
        self.same_as_report(GOLDEN / "good/perf-script/flat.txt")

    def test_the_table_is_sorted_and_written_out(self):
        lines = self.stacks()(LINES)
        self.assertEqual(lines, [
            ["75", "75.0 %", "80", "80.0 %", "spin", ""], ["10", "10.0 %", "70", "70.0 %", "one", ""],
            ["10", "10.0 %", "10", "10.0 %", "copy", ""], ["5", "5.00 %", "5", "5.00 %", "log", ""],
            ["0", "0.0 %", "30", "30.0 %", "two", ""], ["0", "0.0 %", "100", "100.0 %", "app", ""],
            ["0", "0.0 %", "100", "100.0 %", "main", ""]])

    def test_the_table_can_be_sorted_by_other_columns(self):
        names = self.stacks()("(app.showTab('table'), [['total', false], ['total', false], ['name', true]].map("
                              "([key, text]) => (app.table.sortBy(key, text), app.table.shown.map((r) => r.name).join(' '))))")
        self.assertEqual(names, ["app main spin one two copy log", "log copy two one spin app main",
                                 "app copy log main one spin two"])

    def test_a_frame_is_described_by_its_share_of_the_whole(self):
        ask = self.stacks()
        self.assertEqual(ask(TELL.format(NODE.format("two"))), "two native 30 samples, 30.0 % ± 8.8")
        self.assertEqual(ask(TELL.format(NODE.format("one"))), "one native 70 samples, 70.0 % ± 8.8 self 10.0 %")
        self.assertEqual(ask(TELL.format(NODE.format("copy"))), "copy kernel 10 samples, 10.0 % ± 6.0 self 10.0 %")
        self.assertEqual(ask(TELL.format("0")), "all 100 samples, 100.0 %")

    def test_a_frame_is_described_with_its_module_and_place(self):
        told = self.page(GOLDEN / "good/pprof/cpu.pb.gz")(TELL.format(NODE.format("main.two")))
        self.assertEqual(told, "main.two p demo/p.go:24 native 60.0 ms, 30.0 % ± 18.7")

    def test_a_zoomed_graph_gives_the_share_of_both(self):
        zoom = f"(app.flame.zoom({NODE.format('two')}), " + TELL.format(NODE.format("copy")) + ")"
        self.assertEqual(self.stacks()(zoom),
                         "copy kernel 10 samples, 10.0 % ± 6.0 self 10.0 % 33.3 % of the zoomed function")

    def test_a_search_counts_each_sample_once(self):
        ask = self.stacks()
        self.assertEqual(ask("['spin', 'two|log', 'SPIN', 'nothing'].map((w) => (app.search(w), text('matched')))"),
                         ["80.0 %", "30.0 %", "0.0 %", "0.0 %"])
        self.assertEqual(ask(f"(app.flame.zoom({NODE.format('two')}), app.search('spin'), text('matched'))"), "66.7 %")
        self.assertEqual(ask("(app.act('i'), app.search('main'), text('matched'))"), "100.0 %")
        self.assertEqual(ask("(app.act('i'), app.flame.zoom(app.graph.childrenOf(0)[0]), app.search('two'), text('matched'))"),
                         "20.0 %")

    def test_the_inverted_graph_starts_with_the_self_costs(self):
        walk = ("((g) => g.childrenOf(0).map((i) => [app.symbols.name[g.symbolOf(i)], g.weightOf(i), g.startOf(i), g.selfOf(i),"
                " g.childrenOf(i).map((k) => [app.symbols.name[g.symbolOf(k)], g.weightOf(k), g.startOf(k), g.selfOf(k), g.rowOf(k)])]))"
                "((app.act('i'), app.graph))")
        self.assertEqual(self.stacks()(walk), [
            ["spin", 75, 0, 75, [["one", 60, 0, 0, 2], ["two", 15, 60, 0, 2]]],
            ["one", 10, 75, 10, [["main", 10, 75, 0, 2]]],
            ["copy", 10, 85, 10, [["two", 10, 85, 0, 2]]],
            ["log", 5, 95, 5, [["two", 5, 95, 0, 2]]]])

    def test_a_sandwich_has_callers_above_and_callees_below(self):
        ask = self.stacks()
        focus = "app.symbols.name.indexOf({!r})"
        sides = ("((g) => [g.whole, g.selfOf(0), g.above(0).map((i) => [app.symbols.name[g.symbolOf(i)], g.weightOf(i), g.rowOf(i)]),"
                 " g.below(0).map((i) => [app.symbols.name[g.symbolOf(i)], g.weightOf(i), g.selfOf(i), g.rowOf(i)])])"
                 "((app.sandwich(" + focus + "), app.graph))")
        self.assertEqual(ask(sides.format("spin")), [80, 75, [["one", 60, 2], ["two", 20, 2]], [["two", 5, 0, 4]]])
        self.assertEqual(ask(sides.format("two")), [30, 0, [["main", 30, 1]], [["spin", 20, 15, 3], ["copy", 10, 10, 3]]])
        self.assertEqual(ask("(app.sandwich(" + focus.format("two") + "), " + TELL.format("app.graph.below(0)[1]") + ")"),
                         "copy kernel 10 samples, 10.0 % ± 6.0 self 10.0 % 33.3 % of the function")

    def test_boxes_that_are_out_of_view_or_narrow_are_not_drawn(self):
        boxes = ("((drawn, crumbs) => (app.weighted.boxes({}, (n, row, x, w) => drawn.push([app.symbols.name[app.tree.symbol[n]], row, x, w]),"
                 " (row, x, w) => crumbs.push([row, x, w])), [drawn, crumbs]))([], [])")
        ask = self.stacks("main;a;x 60\nmain;b 30\nmain;c;d 10\n")
        self.assertEqual(ask(boxes.format("0, 100, 20")),
                         [[["all", 0, 0, 100], ["main", 1, 0, 100], ["a", 2, 0, 60], ["x", 3, 0, 60], ["b", 2, 60, 30]],
                          [[2, 90, 10]]])
        self.assertEqual(ask(boxes.format("60, 90, 1")),
                         [[["all", 0, 0, 100], ["main", 1, 0, 100], ["b", 2, 60, 30]], []])

    def test_a_function_is_one_row_whether_called_or_inlined(self):
        rows = self.stacks("main;a 5\nmain;b;a_[i] 3\n")("(app.showTab('table'), app.rows.map((r) => [r.name, r.self, r.total]))")
        self.assertEqual(sorted(rows), [["a", 8, 8], ["b", 0, 3], ["main", 0, 8]])

    def test_shares_are_of_the_whole_even_where_no_function_has_all_of_it(self):
        lines = self.stacks("a;x 60\nb 40\n")(LINES)
        self.assertEqual([line[1:5] for line in lines], [["60.0 %", "60", "60.0 %", "x"], ["40.0 %", "40", "40.0 %", "b"],
                                                         ["0.0 %", "60", "60.0 %", "a"]])

    def test_an_inlined_function_is_called_one(self):
        ask = self.stacks("main;a_[i] 10\n")
        self.assertEqual(ask(TELL.format(NODE.format("a"))), "a inlined 10 samples, 100.0 % ± 13.9 self 100.0 %")

    def test_processes_come_by_weight_with_their_threads(self):
        source = self.dir / "p.txt"
        source.write_text("".join(f"{name} {pid}/{tid} 1.0: {n} cycles:\n\t1 f (/x)\n\n"
                                  for name, pid, tid, n in (("small", 1, 1, 10), ("small", 1, 2, 5),
                                                            ("large", 3, 3, 60), ("large", 3, 4, 25))))
        labels = self.page(source)("get('thread').children.map((o) => o.textContent)")
        self.assertEqual([label.split()[0] + " " + label.split("(")[-1] for label in labels[1:]],
                         ["large 85.0 %)", "large 60.0 %)", "large 25.0 %)", "small 15.0 %)", "small 10.0 %)", "small 5.00 %)"])

    def test_more_functions_than_a_byte_can_number(self):
        source = self.dir / "many.txt"
        source.write_text("".join(f"main;function_{i} {i + 1}\n" for i in range(700)))
        self.same_as_report(source)

    def test_a_metric_has_only_its_own_weights(self):
        ask = self.stacks("main;a 10 5\nmain;b 0 7\n")
        self.assertEqual(ask("[app.weighted.whole, (app.metric = 2, app.threads(), app.weigh(), app.weighted.whole)]"), [10, 12])

    def test_wall_adds_running_and_waiting_without_idle_threads(self):
        ask = self.page(SOURCE / "tests/cli/metrics.txt")
        wall = ("(app.facts.metrics.push({{ name: 'wall', unit: 'ns', running: 1, waiting: 2, idle: {} }}),"
                " app.metric = 3, app.thread = '', app.threads(), app.weigh(), app.weighted.whole)")
        self.assertEqual(ask(wall.format("[]")), 430)
        self.assertEqual(ask(wall.format("[2]")), 400)
        self.assertEqual(ask(wall.format("[1]")), 430)

    def test_threads_are_chosen_by_weight(self):
        ask = self.page(SOURCE / "tests/cli/processes.txt")
        self.assertEqual(ask("(app.threads(), [...app.chosen.entries()].length > 0)"), True)
        labels = ask("get('thread').children.map((o) => o.textContent)")
        shares = [float(label.rsplit("(", 1)[1].split()[0]) for label in labels[1:] if not label.startswith("\u2003")]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertAlmostEqual(sum(shares), 100, delta=0.2)

    def test_tags_divide_the_weights_as_the_report_does(self):
        heap = GOLDEN / "good/pprof/heap.pb.gz"
        ask = self.page(heap, "-m", "alloc_space")
        said = report(heap, "-m", "alloc_space", "-b", "tag:bytes")
        shown = ask("app.facts.tags.map((t, i) => [t.bytes, app.groups.filter((g) => g.tags === i + 1 && "
                    "g.metric === app.metric).reduce((s, g) => s + g.value.reduce((a, b) => a + b, 0), 0)])")
        self.assertEqual({g["name"]: g["weight"] for g in said["groups"]}, dict(shown))
        chosen = ask("(app.tag = 'bytes=160', app.tags(), app.weigh(), app.weighted.whole)")
        self.assertEqual(chosen, dict(shown)["160"])

    def test_the_footer_shows_the_quality(self):
        facts = {"damage": "", "meta": {"quality.samples": "1000", "quality.lost": "11", "quality.throttled": "2",
                                       "quality.stacks": "800", "quality.complete": "700", "rate_asked": "999",
                                       "rate_achieved": "498.6", "quality.recorder_cpu_ns": "2500000"}}
        ask = self.stacks()
        self.assertEqual(ask(f"(Object.assign(app.facts, {json.dumps(facts)}), app.setTheme('dark'), text('quality'))"),
                         "nativekernel1,000 samples · 999 Hz requested, 499 achieved · 11 lost · throttled 2 times · "
                         "87.5 % of stacks complete · recorder used 2.50 ms CPU")


if __name__ == "__main__":
    unittest.main()
