/* test_an_source.c - annotate a hand-made profile.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "analyze/an_annotate.h"
#include "analyze/an_jumps.h"
#include "analyze/an_shown.h"
#include "analyze/an_source.h"
#include "profile/intern.h"

/* main calls outer (a.c:10), which has inner (a.c:3) inlined at line 12 and calls nothing else. */
struct fixture {
    struct profile *p;
    struct intern in;
    uint32_t main, outer, inner, stack_plain, stack_inlined, recursion, metric;
};

/* add eax,1 ; cmp eax,ecx ; jne back to the start ; ret */
static const unsigned char CODE[] = { 0x83, 0xc0, 0x01, 0x39, 0xc8, 0x75, 0xf9, 0xc3 };

static uint32_t function(struct fixture *f, const char *name, uint32_t line)
{
    return intern_function(&f->in, &(struct function){ .name = intern_cstr(&f->in, name),
                                                       .file = intern_cstr(&f->in, "/src/a.c"),
                                                       .line = line });
}

static uint32_t frame_at(struct fixture *f, uint64_t address, uint32_t flags,
                         const struct location *chain, size_t n)
{
    struct module m = { .path = intern_cstr(&f->in, "/bin/a") };
    uint32_t module = intern_module(&f->in, &m);
    uint32_t id = intern_frame(&f->in, &(struct frame){ FRAME_NATIVE, flags, module, address });

    sink_resolve(f->in.out, id, chain, n);
    return id;
}

static void add_sample(struct fixture *f, uint32_t stack, int64_t weight)
{
    sink_sample(f->in.out, &(struct sample){ .stack = stack, .metric = f->metric,
                                                   .weight = weight, .count = 1, .cpu = -1 });
}

static void begin(struct fixture *f)
{
    static const char text[] = "1\n2\ninner three\n4\n5\n6\n7\n8\n9\nouter ten\n11\nten two\n";
    struct sink *out;
    uint32_t root, file;

    memset(f, 0, sizeof *f);
    f->p = profile_new();
    out = profile_sink(f->p);
    intern_init(&f->in, out);
    sink_meta(out, "arch", "x86_64");
    f->metric = intern_metric(&f->in, &(struct metric){ .name = intern_cstr(&f->in, "cpu"),
                                                        .unit = intern_cstr(&f->in, "ns") });
    f->main = function(f, "main", 20);
    f->outer = function(f, "outer", 10);
    f->inner = function(f, "inner", 2);
    root = intern_stack(&f->in, 0,
                        frame_at(f, 0x2000, FRAME_RETURN, &(struct location){ f->main, 21 }, 1));
    f->stack_plain = intern_stack(
        &f->in, root, frame_at(f, 0x1000, 0, &(struct location){ f->outer, 11 }, 1));
    f->stack_inlined = intern_stack(
        &f->in, root,
        frame_at(f, 0x1003, 0,
                 (struct location[]){ { f->outer, 12 }, { f->inner, 3 } }, 2));
    f->recursion = intern_stack( /* its frame is also that of the call before */
        &f->in, root, frame_at(f, 0x1005, FRAME_RETURN, &(struct location){ f->outer, 11 }, 1));
    f->recursion = intern_stack(
        &f->in, f->recursion, frame_at(f, 0x1000, 0, &(struct location){ f->outer, 11 }, 1));
    add_sample(f, f->stack_plain, 30);
    add_sample(f, f->stack_inlined, 70);
    file = intern_cstr(&f->in, "/src/a.c");
    sink_source(out, &(struct source_text){ file, text, sizeof text - 1 });
    sink_code(out, &(struct code_bytes){ 1, 0x1000, CODE, sizeof CODE });
}

static void set_up(struct fixture *f)
{
    begin(f);
    CHECK_EQ(sink_end(f->in.out, NULL), 0);
}

static void tear_down(struct fixture *f)
{
    intern_release(&f->in);
    profile_free(f->p);
}

static const struct an_source_line *line_of(const struct an_listing *l, uint32_t number)
{
    for (size_t i = 0; i < l->line.n; i++)
        if (l->line.v[i].line == number)
            return &l->line.v[i];
    test_fail(__FILE__, __LINE__, "no line %u", number);
}

TEST(an_source_splits_self_total_and_inlined)
{
    struct fixture f;
    struct an_listing l;
    size_t n;
    const char *s;

    set_up(&f);
    an_listing_build(&l, &(struct an_source_query){ f.p, an_view_of(f.p, f.metric) }, f.outer, false);
    CHECK_EQ(l.self, 30);
    CHECK_EQ(l.total, 100);
    CHECK_EQ(line_of(&l, 11)->self, 30);
    CHECK_EQ(line_of(&l, 12)->self, 0);
    CHECK_EQ(line_of(&l, 12)->total, 70);
    CHECK_EQ(line_of(&l, 12)->n_inlined, 1);
    CHECK_EQ(l.inlined.v[line_of(&l, 12)->first_inlined].self, 70);
    s = an_listing_text(&l, 12, &n);
    CHECK(s && n == 7 && memcmp(s, "ten two", 7) == 0);
    CHECK(an_listing_text(&l, 99, &n) == NULL);
    an_listing_release(&l);
    tear_down(&f);
}

TEST(an_source_counts_a_line_once_in_recursion)
{
    struct fixture f;
    struct an_listing l;

    begin(&f);
    add_sample(&f, f.recursion, 5);
    CHECK_EQ(sink_end(f.in.out, NULL), 0);
    an_listing_build(&l, &(struct an_source_query){ f.p, an_view_of(f.p, f.metric) }, f.outer, false);
    CHECK_EQ(l.total, 105);
    CHECK_EQ(line_of(&l, 11)->self, 35);
    CHECK_EQ(line_of(&l, 11)->total, 35);
    an_listing_release(&l);
    tear_down(&f);
}

TEST(an_source_puts_instructions_below_their_lines)
{
    struct fixture f;
    struct an_listing l;
    const struct an_source_line *line;

    if (*disasm_refusal("x86_64"))
        test_skip("built without a disassembler");
    set_up(&f);
    an_listing_build(&l, &(struct an_source_query){ f.p, an_view_of(f.p, f.metric) }, f.outer, false);
    line = line_of(&l, 11);
    CHECK_EQ(line->n_instr, 1);
    CHECK_EQ(l.instr.v[line->first_instr].self, 30);
    line = line_of(&l, 12);
    CHECK_EQ(line->n_instr, 3);
    CHECK_EQ(l.instr.v[line->first_instr].self, 70);
    CHECK_EQ(l.instr.v[line->first_instr].function, f.inner);
    an_listing_release(&l);
    tear_down(&f);
}

TEST(an_source_chooses_by_cost_name_and_file)
{
    struct fixture f;
    struct an_source_query q;
    uint32_t id[8];

    set_up(&f);
    q = (struct an_source_query){ f.p, an_view_of(f.p, f.metric) };
    CHECK_EQ(an_source_hottest(&q, 0.6, id, 8), 1);
    CHECK_EQ(id[0], f.inner);
    CHECK_EQ(an_source_hottest(&q, 0.8, id, 8), 2);
    CHECK_EQ(an_source_named(&q, "oute", id, 8), 1);
    CHECK_EQ(id[0], f.outer);
    CHECK_EQ(an_source_named(&q, "nothing", id, 8), 0);
    CHECK_EQ(an_source_of_file(&q, "a.c", id, 8), 3);
    CHECK_EQ(an_source_of_file(&q, ".c", id, 8), 0);
    tear_down(&f);
}

/* Build the listing of a function in PATH, recorded at DATE; returns why it has no source. */
static const char *no_source_of(const char *path, const char *date)
{
    struct profile *p = profile_new();
    struct intern in;
    struct an_annotate a;
    struct an_view v;
    struct err e = { 0 };
    uint32_t function, metric;
    const char *why;

    intern_init(&in, profile_sink(p));
    sink_meta(in.out, "date", date);
    metric = intern_metric(&in, &(struct metric){ .name = intern_cstr(&in, "cpu") });
    function = intern_function(&in, &(struct function){ .name = intern_cstr(&in, "f"),
                                                        .file = intern_cstr(&in, path) });
    sink_sample(in.out, &(struct sample){
        .metric = metric, .weight = 1, .count = 1,
        .stack = intern_stack(&in, 0, intern_named_frame(&in, FRAME_NATIVE, function, 1)) });
    v = an_view_of(p, metric);
    CHECK_EQ(an_annotate_build(&a, p, &v, &(struct an_annotate_query){ .name = "f" }, &e), 0);
    why = a.v.v[0].listing.no_source;
    CHECK_EQ(a.v.v[0].listing.text == NULL, *why != 0);
    an_annotate_release(&a);
    intern_release(&in);
    profile_free(p);
    return why;
}

TEST(an_annotate_reads_a_file_that_is_older_than_the_recording_in_any_time_zone)
{
    static const char changed[] = "the file changed after the recording";
    const char *path = test_file("text\n", 5);
    struct timespec at[2] = { { 1767263400, 0 }, { 1767263400, 0 } }; /* 2026-01-01 10:30 UTC */

    CHECK_EQ(utimensat(AT_FDCWD, path, at, 0), 0);
    CHECK_STR(no_source_of(path, "2026-01-01T11:00:00+0000"), "");
    CHECK_STR(no_source_of(path, "2026-01-01T10:00:00+0000"), changed);
    CHECK_STR(no_source_of(path, "2026-01-01T13:00:00+0200"), "");
    CHECK_STR(no_source_of(path, "2026-01-01T12:00:00+0200"), changed);
    CHECK_STR(no_source_of(path, "2026-01-01T09:00:00-0200"), "");
    CHECK_STR(no_source_of(path, "2026-01-01T08:00:00-0200"), changed);
}

TEST(an_jumps_draws_a_loop)
{
    struct an_instr instr[4] = { 0 };
    char (*g)[AN_JUMPS_BYTES];

    for (int i = 0; i < 4; i++)
        instr[i].d.address = 0x10 + (uint64_t)i;
    instr[3].d.kind = DISASM_BRANCH;
    instr[3].d.target = 0x11;
    g = an_jumps_draw(instr, 4);
    CHECK_STR(g[0], "      ");
    CHECK_STR(g[1], "    ┌▶");
    CHECK_STR(g[2], "    │ ");
    CHECK_STR(g[3], "    └─");
    free(g);
}

static struct an_instr jump_to(uint64_t at, uint64_t target)
{
    return (struct an_instr){ .d = { .address = at, .size = 2, .target = target,
                                     .kind = target ? DISASM_JUMP : DISASM_OTHER } };
}

TEST(an_jumps_puts_short_jumps_nearest_to_the_code)
{
    const struct an_instr code[] = { jump_to(0, 8), jump_to(2, 6), jump_to(4, 4), jump_to(6, 0),
                                     jump_to(8, 0) };
    char (*gutter)[AN_JUMPS_BYTES] = an_jumps_draw(code, ARRAY_LEN(code));

    CHECK_STR(gutter[0], "   ┌──");
    CHECK_STR(gutter[1], "   │┌─");
    CHECK_STR(gutter[2], "   ││ "); /* a jump to itself is not drawn */
    CHECK_STR(gutter[3], "   │└▶");
    CHECK_STR(gutter[4], "   └─▶");
    free(gutter);
}

/* The numbers of the shown lines; "*" marks those with cost. */
static const char *shown_lines(const struct an_shown *s)
{
    static char text[200];
    size_t n = 0;

    text[0] = 0;
    for (size_t i = 0; i < s->line.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u%s", i ? " " : "",
                              s->line.v[i].number, s->line.v[i].cost ? "*" : "");
    return text;
}

TEST(an_shown_adds_two_lines_around_each_line_with_cost)
{
    struct an_source_line line[] = { { .line = 2, .self = 10 }, { .line = 5, .self = 10 },
                                     { .line = 6, .self = 0 }, { .line = 7, .self = 10 },
                                     { .line = 13, .total = 10 } };
    struct an_listing l = { .line = { line, ARRAY_LEN(line), ARRAY_LEN(line) } };
    struct an_shown_query q = { .whole = 100, .min_pct = 1 };
    struct an_shown s;

    an_listing_set_text(&l, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14", 33);
    an_shown_select(&s, &l, &q);
    CHECK_STR(shown_lines(&s), "1 2* 3 4 5* 6 7* 8 9 11 12 13* 14");
    an_shown_release(&s);
    vec_release(&l.mark);
    l.text = NULL;
    an_shown_select(&s, &l, &q);
    CHECK_STR(shown_lines(&s), "2* 5* 7* 13*");
    an_shown_release(&s);
}

TEST(an_shown_sums_the_instructions_it_hides)
{
    struct an_instr instr[12] = { { .self = 90 }, [5] = { .self = 3 }, [9] = { .self = 4 } };
    struct an_source_line line = { .line = 1, .self = 97, .n_instr = ARRAY_LEN(instr) };
    struct an_listing l = { .line = { &line, 1, 1 },
                            .instr = { instr, ARRAY_LEN(instr), ARRAY_LEN(instr) } };
    struct an_shown_query q = { .whole = 100, .min_pct = 5, .code = true };
    struct an_shown s;

    an_shown_select(&s, &l, &q);
    CHECK_EQ(s.line.v[0].n_instr, 3); /* the first and two neighbors */
    CHECK_EQ(s.line.v[0].n_hidden, 2);
    CHECK_EQ(s.line.v[0].hidden, 7);
    an_shown_release(&s);
    q.all_code = true;
    an_shown_select(&s, &l, &q);
    CHECK_EQ(s.line.v[0].n_instr, ARRAY_LEN(instr));
    CHECK_EQ(s.line.v[0].n_hidden, 0);
    an_shown_release(&s);
}

TEST(an_shown_lists_an_inlined_function_by_its_own_share)
{
    struct an_inlined in[] = { { .function = 1, .self = 8 }, { .function = 2, .self = 4 } };
    struct an_source_line line = { .line = 1, .total = 12, .n_inlined = ARRAY_LEN(in) };
    struct an_listing l = { .line = { &line, 1, 1 }, .inlined = { in, 2, 2 } };
    struct an_shown s;

    an_shown_select(&s, &l, &(struct an_shown_query){ .whole = 100, .min_pct = 5 });
    CHECK_EQ(s.line.v[0].n_inlined, 1);
    CHECK_EQ(s.inlined.v[0]->function, 1);
    an_shown_release(&s);
}

TEST(an_shown_lowers_the_limit_where_all_instructions_are_cheap)
{
    struct an_instr instr[] = { { .self = 1 }, { .self = 1 }, { .self = 1 } };
    struct an_source_line line = { .self = 3, .n_instr = ARRAY_LEN(instr) }; /* line 0 */
    struct an_listing l = { .line = { &line, 1, 1 }, .instr = { instr, 3, 3 } };
    struct an_shown s;

    an_shown_select(&s, &l, &(struct an_shown_query){ .whole = 100000, .min_pct = 1,
                                                      .code = true });
    CHECK(!s.has_lines);
    CHECK_EQ(s.line.v[0].n_instr, 3);
    an_shown_release(&s);
}
