/* fmt_svg.c - export a flame graph to one SVG file in the classic style.
 *
 * The file contains boxes, labels and titles, so that it displays without scripts; web/src/svg adds
 * zoom and search.  Boxes narrower than MIN_PX are omitted by default.  Each box carries its
 * start and weight, from which the script draws a zoomed view exactly.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_flat.h"
#include "analyze/an_tree.h"
#include "formats/abbreviate.h"
#include "formats/formats.h"
#include "formats/palette.h"
#include "formats/web.h"
#include "text/human.h"

enum { WIDTH = 1200, PAD = 12, TOP = 64, BOTTOM = 56, ROW = 17, BOX = 16,
       HEADING = 96 }; /* pixels; characters of the heading */
static const double MIN_PX = 0.4, CHAR_PX = 7.0;

struct picture {
    const struct an_symbols *symbols;
    const struct an_tree *tree;
    const uint32_t *order;
    const int64_t *self, *total;
    int64_t *start;  /* by node; -1: omitted */
    int64_t *filled; /* by node: where its next child begins */
    uint32_t *depth;
    uint32_t rows;
    double px;     /* per unit of weight */
    double min_px; /* narrower boxes are omitted */
    bool inverted;
    const char *title, *unit, *metric;
    uint64_t samples, left_out;
    bool kind[PALETTE_KINDS]; /* seen */
};

/* U+FFFE and U+FFFF are not valid in XML. */
static bool is_no_character(const char *s, size_t n)
{
    return n >= 3 && memcmp(s, "\xef\xbf", 2) == 0 && (unsigned char)s[2] >= 0xbe;
}

/* Write text for XML; invalid characters become spaces. */
static void put_text(struct out *o, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (is_no_character(s + i, n - i)) {
            out_char(o, ' ');
            i += 2;
        } else if (c == '<')
            out_str(o, "&lt;");
        else if (c == '>')
            out_str(o, "&gt;");
        else if (c == '&')
            out_str(o, "&amp;");
        else if (c == '"')
            out_str(o, "&quot;");
        else
            out_char(o, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    }
}

/* Place every box; a child follows its parent in the order. */
static void lay_out(struct picture *p)
{
    const struct trie_node *node = p->tree->trie.node.v;

    for (size_t i = 0; i < p->tree->trie.node.n; i++) {
        uint32_t at = p->order[i], up = node[at].parent;

        if (at) {
            p->depth[at] = p->depth[up] + 1;
            p->start[at] = p->start[up] < 0 ? -1 : p->filled[up];
            p->filled[up] += p->total[at];
        }
        p->filled[at] = p->start[at];
        if (p->total[at] <= 0 || (double)p->total[at] * p->px < p->min_px)
            p->start[at] = -1;
        if (p->start[at] >= 0 && p->depth[at] + 1 > p->rows)
            p->rows = p->depth[at] + 1;
        if (p->start[at] >= 0 && at)
            p->kind[palette_kind(&p->symbols->symbol.v[node[at].key])] = true;
        p->left_out += p->start[at] < 0 && p->total[at] > 0;
    }
}

static double share(const struct picture *p, int64_t weight)
{
    return p->total[0] ? 100.0 * (double)weight / (double)p->total[0] : 0;
}

/* "1.23 s", "4 MiB", "1,234 samples" */
static void put_weight(struct out *o, const struct picture *p, int64_t weight)
{
    bool counted = strcmp(p->unit, "ns") != 0 && strcmp(p->unit, "bytes") != 0;

    out_str(o, human_weight((double)weight, p->unit).s);
    if (counted) {
        out_char(o, ' ');
        put_text(o, p->unit, strlen(p->unit));
    }
}

static void put_title(struct out *o, const struct picture *p, uint32_t at)
{
    const struct an_symbol *y = &p->symbols->symbol.v[p->tree->trie.node.v[at].key];
    const char *module = an_module_name(p->symbols->profile, y->module);

    out_str(o, "<title>");
    put_text(o, y->name, strlen(y->name));
    if (*module) {
        out_str(o, " [");
        put_text(o, module, strlen(module));
        out_char(o, ']');
    }
    out_str(o, " (");
    put_weight(o, p, p->total[at]);
    out_printf(o, ", %.2f%%", share(p, p->total[at]));
    if (p->self[at] && !p->inverted)
        out_printf(o, "; self %.2f%%", share(p, p->self[at]));
    out_str(o, ")</title>");
}

static void put_label(struct out *o, const char *name, double x, double y, double width)
{
    size_t room = width > 2 * CHAR_PX ? (size_t)((width - 6) / CHAR_PX) : 0;
    struct buf label = { 0 };

    if (room < 2)
        return;
    abbreviate(&label, name, room);
    out_printf(o, "<text x=\"%.1f\" y=\"%.1f\">", x + 3, y + 12);
    put_text(o, (const char *)label.data, label.n);
    out_str(o, "</text>");
    buf_release(&label);
}

static void put_box(struct out *o, const struct picture *p, uint32_t at)
{
    const struct an_symbol *s = &p->symbols->symbol.v[p->tree->trie.node.v[at].key];
    uint32_t row = p->inverted ? p->depth[at] : p->rows - 1 - p->depth[at];
    double x = PAD + (double)p->start[at] * p->px, y = TOP + (double)row * ROW;
    double width = (double)p->total[at] * p->px;
    struct palette_color c = palette_of(s);

    out_printf(o, "<g data-w=\"%" PRId64 " %" PRId64 "\">", p->start[at], p->total[at]);
    put_title(o, p, at);
    out_printf(o, "<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%d\" fill=\"#%02x%02x%02x\"/>",
               x, y, width > 1.5 ? width - 0.5 : width, BOX, c.r, c.g, c.b);
    put_label(o, s->name, x, y, width);
    out_str(o, "</g>\n");
}

static void put_web_files(struct out *o, const char *names,
                          void (*put)(struct out *o, const struct web_file *w))
{
    web_put_all(o, names, names + strlen(names), put);
}

/* The title, truncated to leave room for the search. */
static void put_heading(struct out *o, const char *title)
{
    size_t n = 0, characters = 0;

    for (; title[n] && characters < HEADING; characters++)
        for (n++; ((unsigned char)title[n] & 0xc0) == 0x80;)
            n++;
    put_text(o, title, n);
    if (title[n])
        out_str(o, "…");
}

static void put_head(struct out *o, const struct picture *p)
{
    unsigned height = TOP + p->rows * ROW + BOTTOM;

    out_printf(o,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
               "height=\"%u\" viewBox=\"0 0 %d %u\" role=\"img\">\n<title>",
               WIDTH, height, WIDTH, height);
    put_text(o, p->title, strlen(p->title));
    out_str(o, "</title>\n<style>");
    put_web_files(o, "svg/flame.css", web_put);
    out_printf(o, "</style>\n<rect id=\"paper\" width=\"100%%\" height=\"100%%\"/>\n"
                  "<text id=\"heading\" x=\"%d\" y=\"28\">", WIDTH / 2);
    put_heading(o, p->title);
    out_printf(o, "</text>\n<text id=\"about\" x=\"%d\" y=\"48\">", WIDTH / 2);
    put_weight(o, p, p->total[0]);
    if (strcmp(p->metric, p->unit) != 0) {
        out_char(o, ' ');
        put_text(o, p->metric, strlen(p->metric));
        out_printf(o, " in %s samples", human_count((int64_t)p->samples).s);
    }
    if (p->inverted)
        out_str(o, "; inverted, from functions to their callers");
    if (p->tree->reach)
        out_printf(o, "; callers more than %u calls away are left out", p->tree->reach - 1);
    if (*p->symbols->profile->cut)
        out_str(o, "; the profile is cut");
    if (p->left_out)
        out_printf(o, "; %s frames narrower than %g px are left out",
                   human_count((int64_t)p->left_out).s, p->min_px);
    out_printf(o, "</text>\n<text id=\"reset\" class=\"button hidden\" x=\"%d\" y=\"28\">"
                  "\xe2\x86\xa9 whole graph</text>\n"
                  "<text id=\"search\" class=\"button\" x=\"%d\" y=\"28\">search</text>\n"
                  "<text id=\"details\" x=\"%d\" y=\"%u\"> </text>\n"
                  "<text id=\"matched\" x=\"%d\" y=\"%u\"> </text>\n",
               PAD, WIDTH - PAD, PAD, height - 12, WIDTH - PAD, height - 12);
}

/* The colors of frame kinds, and the quality of the recording. */
static void put_legend(struct out *o, const struct picture *p)
{
    const struct profile *profile = p->symbols->profile;
    double y = TOP + (double)p->rows * ROW + 20, x = PAD;
    double stacks = profile_meta_number(profile, "quality.stacks", 0);
    const char *asked = profile_meta(profile, "rate_asked");
    double rate = profile_meta_number(profile, "rate_achieved", 0);

    for (unsigned i = 0; i < PALETTE_KINDS; i++) {
        struct palette_color c = palette_kind_color(i);

        if (!p->kind[i])
            continue;
        out_printf(o, "<rect x=\"%g\" y=\"%g\" width=\"9\" height=\"9\" rx=\"2\" "
                      "fill=\"#%02x%02x%02x\"/><text class=\"quiet\" x=\"%g\" y=\"%g\">%s</text>\n",
                   x, y - 9, c.r, c.g, c.b, x + 14, y, palette_kind_name(i));
        x += 30 + CHAR_PX * (double)strlen(palette_kind_name(i));
    }
    out_printf(o, "<text class=\"quiet\" x=\"%g\" y=\"%g\">", x + 8, y);
    if (*profile_meta(profile, "quality.lost"))
        out_printf(o, "%.0f lost", profile_meta_number(profile, "quality.lost", 0));
    if (*asked && rate > 0)
        out_printf(o, " \xc2\xb7 %.0f of %.0f Hz", rate,
                   profile_meta_number(profile, "rate_asked", 0));
    else if (*asked)
        out_printf(o, " \xc2\xb7 %.0f Hz", profile_meta_number(profile, "rate_asked", 0));
    if (stacks > 0)
        out_printf(o, " \xc2\xb7 %.1f %% of stacks complete",
                   100 * profile_meta_number(profile, "quality.complete", 0) / stacks);
    out_str(o, "</text>\n");
}

static void put_svg(struct out *o, const struct picture *p)
{
    put_head(o, p);
    put_legend(o, p);
    out_printf(o, "<g id=\"frames\" data-width=\"%d\" data-pad=\"%d\">\n", WIDTH - 2 * PAD, PAD);
    for (size_t i = 0; i < p->tree->trie.node.n; i++)
        if (p->start[p->order[i]] >= 0)
            put_box(o, p, p->order[i]);
    out_str(o, "</g>\n<script>//<![CDATA[\n");
    put_web_files(o, "format.js svg/flame.js", web_put_module);
    out_str(o, "//]]></script>\n</svg>\n");
}

static void draw(struct picture *p, struct out *o)
{
    size_t n = p->tree->trie.node.n;
    uint32_t *rank = an_tree_ranks(p->symbols), *order = an_tree_order(p->tree, rank);

    p->order = order;
    p->start = mem_zalloc(n * sizeof *p->start);
    p->filled = mem_zalloc(n * sizeof *p->filled);
    p->depth = mem_zalloc(n * sizeof *p->depth);
    p->px = p->total[0] > 0 ? (WIDTH - 2.0 * PAD) / (double)p->total[0] : 0;
    lay_out(p);
    put_svg(o, p);
    free(p->start);
    free(p->filled);
    free(p->depth);
    free(order);
    free(rank);
}

static int svg_write(const struct an_view *v, const struct export_options *opt, struct out *o,
                     struct err *e)
{
    struct an_symbols symbols;
    struct an_tree tree, inverted;
    int64_t *self, *total;
    struct picture p = { .symbols = &symbols, .tree = &tree, .inverted = opt->inverted };

    p.min_px = fmax(opt->all ? 0 : MIN_PX, opt->min_pct / 100 * (WIDTH - 2 * PAD));
    p.title = opt->title && *opt->title ? opt->title : "Flame graph";
    p.unit = an_view_unit(v);
    p.metric = an_view_name(v);
    p.samples = an_sum_of(v).samples;
    an_symbols_init(&symbols, v->profile);
    an_tree_build(&tree, &symbols, NULL);
    self = an_tree_self(&tree, v, NULL);
    if (opt->inverted) {
        int64_t *from_leaf;

        an_tree_invert(&tree, self, &inverted, &from_leaf);
        an_tree_release(&tree);
        free(self);
        tree = inverted;
        self = from_leaf;
    }
    total = mem_alloc(tree.trie.node.n * sizeof *total);
    memcpy(total, self, tree.trie.node.n * sizeof *total);
    an_tree_total(&tree, total);
    p.self = self;
    p.total = total;
    draw(&p, o);
    free(total);
    free(self);
    an_tree_release(&tree);
    an_symbols_release(&symbols);
    return 0;
}

const struct format format_svg = {
    .name = "svg",
    .extension = ".svg",
    .about = "flame graph as an SVG image with zoom and search",
    .write = svg_write,
};
