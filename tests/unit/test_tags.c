/* test_tags.c - tags, and profiles of memory and Python: filters, groups and exports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_tags.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/an_filter.h"
#include "analyze/an_flat.h"
#include "analyze/an_group.h"
#include "formats/formats.h"
#include "formats/tags.h"
#include "formats/unwrap.h"
#include "profile/intern.h"
#include "test.h"

/* A Python program whose C extension allocates: one stack of Python, native and zone frames.
 *
 *     run (app.py:12) -> load (app.py:30) -> [zone "parse"] -> grow (ext.so)
 */
struct made {
    struct profile *p;
    struct intern in;
    uint32_t load, grow; /* stacks */
};

static uint32_t python(struct made *m, uint32_t parent, const char *name, uint32_t declared,
                       uint32_t line)
{
    struct function f = { .name = intern_cstr(&m->in, name), .line = declared,
                          .file = intern_cstr(&m->in, "/srv/app.py") };

    return intern_stack(&m->in, parent,
                        intern_named_frame(&m->in, FRAME_PYTHON, intern_function(&m->in, &f),
                                           line));
}

static void add(struct made *m, uint32_t stack, uint32_t tags, int64_t bytes, uint64_t count)
{
    sink_sample(m->in.out, &(struct sample){ .start_ns = 1000, .stack = stack, .metric = 1,
                                             .tags = tags, .cpu = -1, .weight = bytes,
                                             .count = count });
}

static void make(struct made *m)
{
    struct module ext = { 0 };
    struct frame grow = { .kind = FRAME_NATIVE, .address = 0x1234 };
    struct function f = { 0 };
    uint32_t small, large, zone;

    m->p = profile_new();
    intern_init(&m->in, profile_sink(m->p));
    intern_metric(&m->in, &(struct metric){ .name = intern_cstr(&m->in, "alloc"),
                                            .unit = intern_cstr(&m->in, "bytes"),
                                            .flags = METRIC_EXACT });
    m->load = python(m, python(m, 0, "run", 10, 12), "load", 25, 30);
    f.name = intern_cstr(&m->in, "parse");
    zone = intern_stack(&m->in, m->load,
                        intern_named_frame(&m->in, FRAME_ZONE, intern_function(&m->in, &f), 0));
    ext.path = intern_cstr(&m->in, "/srv/ext.so");
    grow.module = f.module = intern_module(&m->in, &ext);
    f.name = intern_cstr(&m->in, "grow");
    m->grow = intern_stack(&m->in, zone, intern_frame(&m->in, &grow));
    sink_resolve(m->in.out, m->p->stack.v[m->grow - 1].frame,
                 &(struct location){ intern_function(&m->in, &f), 7 }, 1);
    small = intern_tag(&m->in, intern_tag_number(&m->in, 0, "size", 64, "bytes"), "life", "short");
    large = intern_tag(&m->in, intern_tag_number(&m->in, 0, "size", 4096, "bytes"), "life", "long");
    add(m, m->grow, small, 640, 10);
    add(m, m->grow, large, 8192, 2);
    add(m, m->load, small, 64, 1);
    add(m, m->load, 0, 100, 4);
    CHECK_EQ(sink_end(m->in.out, NULL), 0);
}

static void unmake(struct made *m)
{
    intern_release(&m->in);
    profile_free(m->p);
}

TEST(tags_are_interned_as_sets)
{
    struct made m;
    uint32_t a, b;

    make(&m);
    CHECK_EQ(m.p->tag.n, 4);
    a = intern_tag_number(&m.in, 0, "size", 64, "bytes");
    b = intern_tag(&m.in, a, "life", "short");
    CHECK(a == 1 && b == 2);
    CHECK_EQ(m.p->tag.n, 4); /* nothing new */
    CHECK(intern_tag_number(&m.in, 0, "size", 64, NULL) == 5); /* another unit is another value */
    unmake(&m);
}

TEST(tags_with_invalid_ids_are_refused)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct err e = { 0 };

    sink_string(s, "key", 3);
    sink_tag(s, &(struct tag){ .key = 1, .parent = 1 });
    CHECK(sink_end(s, &e) < 0 && strstr(e.msg, "tag set 1"));
    profile_free(p);
}

static size_t left(const struct an_filter *f)
{
    struct made m;
    struct err e = { 0 };
    size_t n;

    make(&m);
    n = an_filter_apply(m.p, f, &e) < 0 ? 0 : m.p->sample.n;
    unmake(&m);
    return n;
}

TEST(tags_filter_samples)
{
    CHECK_EQ(left(&(struct an_filter){ .tag = { .v = { "size=64" }, .n = 1 } }), 2);
    CHECK_EQ(left(&(struct an_filter){ .tag = { .v = { "size=64 bytes" }, .n = 1 } }), 2);
    CHECK_EQ(left(&(struct an_filter){ .tag = { .v = { "size=6" }, .n = 1 } }), 0);
    CHECK_EQ(left(&(struct an_filter){ .tag = { .v = { "life=long" }, .n = 1 } }), 1);
    CHECK_EQ(left(&(struct an_filter){ .tag = { .v = { "life" }, .n = 1 } }), 3);
    CHECK_EQ(left(&(struct an_filter){ .tag = { .v = { "life=lon" }, .n = 1 } }), 0);
    /* values of one key are alternatives; all keys must match */
    CHECK_EQ(left(&(struct an_filter){ .tag = { .v = { "life=long", "life=short" }, .n = 2 } }), 3);
    CHECK_EQ(left(&(struct an_filter){ .tag = { .v = { "life=long", "size=64" }, .n = 2 } }), 0);
}

TEST(tags_match_a_number_without_its_unit_but_only_all_of_a_text)
{
    struct made m;
    const struct tag *t;

    make(&m);
    t = &m.p->tag.v[intern_tag(&m.in, 0, TAG_WAIT, "run queue") - 1];
    CHECK(an_tag_is(m.p, t, "run queue"));
    CHECK(!an_tag_is(m.p, t, "run"));
    t = &m.p->tag.v[intern_tag_number(&m.in, 0, "size", 64, "bytes") - 1];
    CHECK(an_tag_is(m.p, t, "64 bytes"));
    CHECK(an_tag_is(m.p, t, "64"));
    CHECK(!an_tag_is(m.p, t, "64 "));
    unmake(&m);
}

TEST(tags_group_samples_by_value)
{
    struct an_levels by;
    struct an_symbols s;
    struct an_groups g;
    struct an_view v;
    struct err e = { 0 };
    struct made m;
    char name[AN_TAG_KEY + 8];

    make(&m);
    v = an_view_of(m.p, 1);
    an_symbols_init(&s, m.p);
    CHECK_EQ(an_levels_parse(&by, "tag:size,function", &e), 0);
    CHECK_EQ(an_levels_check(&by, m.p, &e), 0);
    CHECK_STR(an_level_name(&by, 0, name), "tag:size");
    an_groups_build(&g, &s, &v, &by);
    CHECK_STR(g.group.v[0].name, "4096 bytes");
    CHECK(g.group.v[0].weight == 8192 && g.group.v[0].samples == 2);
    CHECK_STR(g.group.v[1].name, "grow");
    CHECK_STR(g.group.v[2].name, "64 bytes");
    CHECK(g.group.v[2].weight == 704 && g.group.v[2].samples == 11);
    CHECK_STR(g.group.v[5].name, "[no tag]");
    CHECK(g.group.v[5].weight == 100 && g.group.v[5].samples == 4);
    an_groups_release(&g);
    an_symbols_release(&s);
    CHECK_EQ(an_levels_parse(&by, "tag:color", &e), 0);
    CHECK(an_levels_check(&by, m.p, &e) < 0 && strstr(e.hint, "size, life"));
    CHECK(an_levels_parse(&by, "tag:", &e) < 0);
    unmake(&m);
}

TEST(memory_counts_allocations_and_python_has_lines)
{
    struct an_symbols s;
    struct an_flat f;
    struct an_view v;
    struct made m;

    make(&m);
    v = an_view_of(m.p, 1);
    an_symbols_init(&s, m.p);
    an_flat_build(&f, &s, &v, AN_BY_LINE);
    CHECK_EQ(f.all.weight, 8996);
    CHECK_EQ(f.all.samples, 17);
    for (size_t i = 0; i < f.row.n; i++) {
        const struct an_row *r = &f.row.v[i];

        if (strcmp(r->name, "load") == 0)
            CHECK(r->line == 30 && r->self == 164 && r->total == 8996 && r->samples == 5);
        if (strcmp(r->name, "grow") == 0)
            CHECK(r->line == 7 && r->self == 8832 && r->samples == 12);
    }
    an_flat_release(&f);
    an_symbols_release(&s);
    unmake(&m);
}

static struct buf exported(const struct made *m, const char *format)
{
    struct an_view v = an_view_of(m->p, 1);
    struct out o = out_memory();
    struct err e = { 0 };
    struct buf b = { 0 };

    CHECK_EQ(format_find(format)->write(&v, &(struct export_options){ 0 }, &o, &e), 0);
    buf_add(&b, o.buf.data, o.buf.n);
    out_close(&o, NULL);
    return b;
}

static bool holds(const char *format, const char *text)
{
    struct made m;
    struct buf b;
    bool found;

    make(&m);
    b = exported(&m, format);
    found = strstr(buf_text(&b), text) != NULL;
    buf_release(&b);
    unmake(&m);
    return found;
}

TEST(tags_and_mixed_stacks_are_exported)
{
    CHECK(holds("csv", "\"run;load;parse;grow\",\"size=4096 bytes;life=long\",8192"));
    CHECK(holds("json", "{\"parent\":0,\"key\":\"size\",\"value\":64,\"unit\":\"bytes\"}"));
    CHECK(holds("json", "\"tags\":[2,4,2,0]"));
    CHECK(holds("json", "\"count\":[10,2,1,4]"));
    CHECK(holds("json", "{\"kind\":\"python\""));
    CHECK(holds("collapsed", "run;load;parse;grow 8832"));
    CHECK(holds("callgrind", "/srv/app.py"));
    CHECK(holds("svg", "parse"));
}

/* Export M and import the result. */
static struct profile *through(const struct made *m, const char *format)
{
    struct buf packed = exported(m, format), raw = { 0 };
    struct profile *p = profile_new();
    struct err e = { 0 };
    bool cut = false;

    if (unwrap_needed(packed.data, packed.n))
        CHECK_EQ(unwrap(packed.data, packed.n, &raw, &cut, &e), 0);
    else
        buf_add(&raw, packed.data, packed.n);
    CHECK_EQ(format_find(format)->import(&(struct import_input){ .data = raw.data, .size = raw.n },
                                         profile_sink(p), &e), 0);
    buf_release(&packed);
    buf_release(&raw);
    return p;
}

TEST(pprof_labels_name_threads_only_if_their_type_fits)
{
    static const char *const text[] = { "pid", "tid", "thread_id" };
    static const char *const number[] = { "thread", "process" };
    struct made m;
    struct profile *p;
    const struct profile_sample *x;
    uint32_t tags = 0, *with;
    struct thread t = { .tid = 7 };

    make(&m);
    for (int64_t i = 0; i < 3; i++)
        tags = intern_tag(&m.in, tags, text[i], "host-5");
    for (int64_t i = 0; i < 2; i++)
        tags = intern_tag_number(&m.in, tags, number[i], 3, NULL);
    t.name = intern_cstr(&m.in, "worker");
    t.process = intern_process(&m.in, &(struct process){ .pid = 9,
                                                         .name = intern_cstr(&m.in, "app") });
    sink_sample(m.in.out, &(struct sample){ .stack = m.load, .metric = 1, .tags = tags, .cpu = -1,
                                            .thread = intern_thread(&m.in, &t), .weight = 1 });
    p = through(&m, "pprof");
    x = &p->sample.v[p->sample.n - 1];
    CHECK(x->thread);
    CHECK_EQ(p->thread.v[x->thread - 1].tid, 7);
    CHECK_STR(profile_string(p, p->thread.v[x->thread - 1].name), "worker");
    CHECK_EQ(p->process.v[p->thread.v[x->thread - 1].process - 1].pid, 9);
    CHECK_STR(profile_string(p, p->process.v[p->thread.v[x->thread - 1].process - 1].name), "app");
    for (size_t i = 0; i < 5; i++) {
        with = an_tags_with(p, i < 3 ? text[i] : number[i - 3]);
        CHECK(with[x->tags]);
        CHECK(an_tag_is(p, &p->tag.v[with[x->tags] - 1], i < 3 ? "host-5" : "3"));
        free(with);
    }
    profile_free(p);
    unmake(&m);
}

TEST(tags_survive_pprof)
{
    struct profile *p;
    struct made m;
    uint32_t *size, *life;

    make(&m);
    p = through(&m, "pprof");
    size = an_tags_with(p, "size");
    life = an_tags_with(p, "life");
    CHECK_EQ(p->sample.n, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct profile_sample *a = &m.p->sample.v[i], *b = &p->sample.v[i];
        const struct tag *t = b->tags ? &p->tag.v[size[b->tags] - 1] : NULL;

        CHECK(a->weight == b->weight && a->count == b->count);
        CHECK_EQ(!a->tags, !b->tags);
        if (!t)
            continue;
        CHECK_EQ(t->value, i == 1 ? 4096 : 64);
        CHECK_STR(profile_string(p, t->unit), "bytes");
        CHECK_STR(profile_string(p, p->tag.v[life[b->tags] - 1].text), i == 1 ? "long" : "short");
    }
    free(size);
    free(life);
    profile_free(p);
    unmake(&m);
}

TEST(tags_of_samples_and_counters_are_written_to_traces)
{
    struct made m;
    struct buf b;

    make(&m);
    sink_counter(m.in.out, &(struct counter){ .time_ns = 5, .name = intern_cstr(&m.in, "queue"),
                                              .value = 2, .tags = intern_tag(&m.in, 0, "lane", "fast") });
    b = exported(&m, "chrome");
    CHECK(strstr(buf_text(&b), "\"args\":{\"size\":64,\"life\":\"short\"}"));
    CHECK(strstr(buf_text(&b), "\"args\":{\"size\":4096,\"life\":\"long\"}"));
    CHECK(strstr(buf_text(&b), "\"args\":{\"value\":2.000000}")); /* each is a series */
    buf_release(&b);
    b = exported(&m, "perfetto");
    CHECK(memmem(b.data, b.n, "\x52\x04life\x32\x04" "long", 12));
    CHECK(memmem(b.data, b.n, "\x52\x04lane\x32\x04" "fast", 12));
    buf_release(&b);
    unmake(&m);
}

TEST(tags_labels_distinguish_counters_of_one_name)
{
    struct made m;
    struct buf b;
    struct profile *p;
    uint32_t name;

    make(&m);
    name = intern_cstr(&m.in, "queue");
    for (uint32_t i = 0; i < 4; i++)
        sink_counter(m.in.out, &(struct counter){
            .time_ns = 5 + i, .name = name, .value = i % 2 ? 10 : 90,
            .tags = i % 2 ? intern_tag(&m.in, 0, TAG_LABEL, "fast") : 0 });
    b = exported(&m, "firefox");
    CHECK(strstr(buf_text(&b), "\"name\":\"queue\""));
    CHECK(strstr(buf_text(&b), "\"name\":\"queue fast\""));
    CHECK(strstr(buf_text(&b), "\"count\":[10.000000,0.000000]")); /* differences */
    buf_release(&b);
    b = exported(&m, "perfetto");
    CHECK(memmem(b.data, b.n, "\x12\x05queue", 7)); /* TrackDescriptor.name is field 2 */
    CHECK(memmem(b.data, b.n, "\x12\x0aqueue fast", 12));
    buf_release(&b);
    p = through(&m, "chrome");
    CHECK_EQ(p->counter.n, 4);
    for (size_t i = 0; i < p->counter.n; i++)
        CHECK_STR(tags_label(p, p->counter.v[i].tags), i % 2 ? "fast" : "");
    profile_free(p);
    unmake(&m);
}

TEST(tags_of_spans_are_arguments_in_traces)
{
    struct made m;
    struct buf b;
    uint32_t tags, thread;

    make(&m);
    thread = intern_thread(&m.in, &(struct thread){ .tid = 7 });
    tags = intern_tag_number(&m.in, intern_tag(&m.in, 0, "user", "ann"), "rows", 12, NULL);
    tags = intern_tag(&m.in, tags, "user", "bob"); /* the last value wins */
    sink_span(m.in.out, &(struct span){ .start_ns = 5, .duration_ns = 6, .thread = thread,
                                        .name = intern_cstr(&m.in, "query"), .tags = tags });
    b = exported(&m, "chrome");
    CHECK(strstr(buf_text(&b), "\"args\":{\"rows\":12,\"user\":\"bob\"}"));
    buf_release(&b);
    b = exported(&m, "firefox");
    CHECK(strstr(buf_text(&b), "{\"rows\":12,\"user\":\"bob\",\"type\":\"zone\"}"));
    buf_release(&b);
    b = exported(&m, "perfetto");
    /* DebugAnnotation: a name (10) and a string (6) or a number (4) */
    CHECK(memmem(b.data, b.n, "\x52\x04user\x32\x03" "bob", 11));
    CHECK(memmem(b.data, b.n, "rows\x20\x0c", 6));
    buf_release(&b);
    unmake(&m);
}
