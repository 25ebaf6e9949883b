"""Functions of the viewer's modules, run in node if installed."""
import json
import pathlib
import tempfile
import unittest

from support import SOURCE, need, run


def in_node(module, expression):
    """The value of EXPRESSION, where M is the module; the module must not import others."""
    need("node")
    with tempfile.TemporaryDirectory(prefix="fathom-") as folder:
        file = pathlib.Path(folder, "m.mjs")
        file.write_text((SOURCE / "web/src" / module).read_text())
        main = pathlib.Path(folder, "main.mjs")
        main.write_text(f'import * as m from "./m.mjs";\nconsole.log(JSON.stringify({expression}));\n')
        return json.loads(run("node", main).stdout)


class Modules(unittest.TestCase):
    def test_a_name_is_shortened_to_what_fits(self):
        name = "std::map<int, std::vector<X>>::find(int const&) const"
        rooms = [80, 20, 10, 5]
        got = in_node("format.js", f"{rooms}.map(r => m.labelOf({json.dumps(name)}, r))")
        self.assertEqual(got, [name, "std::map::find", "…map::find", "…find"])

    def test_names_that_only_look_like_calls_are_kept(self):
        names = ["operator()(int)", "<alloc::vec::Vec<T>>::push", "[unknown]", "main"]
        self.assertEqual(in_node("format.js", f"{json.dumps(names)}.map(m.shortName)"), names)

    def test_a_name_that_just_fits_is_whole(self):
        self.assertEqual(in_node("format.js", "[5, 4].map((room) => m.labelOf('f(int)x'.slice(0, 5), room))"), ["f(int", "f"])

    def test_numbers_of_the_columns_are_read(self):
        got = in_node("bytes.js", "((l) => [l.nextZigzag(), l.nextZigzag(), l.nextZigzag(), l.next(), l.next()])"
                                  "(new m.Lebs([0, 3, 4, 0xac, 0x02, 0xff, 0xff, 0x03]))")
        self.assertEqual(got, [0, -2, 2, 300, 65535])

    def test_figures_use_readable_units(self):
        got = in_node("format.js", '[m.formatTime(1.234e9), m.formatTime(950), m.formatBytes(12.3 * 2 ** 20),'
                                   ' m.formatWeight(1234567, "samples"), m.formatShare(1, 3), m.formatShare(1, 4000)]')
        self.assertEqual(got, ["1.23 s", "950 ns", "12.3 MiB", "1,234,567 samples", "33.3 %", "0.03 %"])


if __name__ == "__main__":
    unittest.main()
