/* test_merge.c - merge profiles.  Profiles are compared as text: one sorted line per sample, span
 * and counter, with all names spelled out.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "profile/intern.h"
#include "profile/profile_merge.h"

struct lines {
    VEC(char *) v;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_frame(const struct profile *p, uint32_t id, struct buf *b)
{
    const struct frame *f = &p->frame.v[id - 1];
    struct profile_chain c = p->chain.v[id - 1];
    const char *path = f->module ? profile_string(p, p->module.v[f->module - 1].path) : "";

    buf_printf(b, ";%u.%u %s+%" PRIx64, f->kind, f->flags, path, f->address);
    for (uint32_t i = 0; i < c.n; i++) {
        struct location at = p->location.v[c.first + i];
        const struct function *x = &p->function.v[at.function - 1];

        buf_printf(b, "[%s %s %s:%u:%u]", profile_string(p, x->name),
                   profile_string(p, x->linkage_name), profile_string(p, x->file), x->line, at.line);
    }
}

static void put_stack(const struct profile *p, uint32_t id, struct buf *b)
{
    for (; id; id = p->stack.v[id - 1].parent)
        put_frame(p, p->stack.v[id - 1].frame, b);
}

static void put_thread(const struct profile *p, uint32_t id, uint64_t shift, struct buf *b)
{
    const struct thread *t = id ? &p->thread.v[id - 1] : NULL;
    const struct process *of = t && t->process ? &p->process.v[t->process - 1] : NULL;

    if (of)
        buf_printf(b, " %s(%" PRId64 ")%" PRIu64, profile_string(p, of->name), of->pid,
                   of->start_ns + shift);
    if (t)
        buf_printf(b, " %s(%" PRId64 ")", profile_string(p, t->name), t->tid);
}

static void add_line(struct lines *l, struct buf *b)
{
    vec_push(&l->v, strdup(buf_text(b)));
    b->n = 0;
}

static void put_tags(const struct profile *p, uint32_t tags, struct buf *b)
{
    for (; tags; tags = p->tag.v[tags - 1].parent) {
        const struct tag *t = &p->tag.v[tags - 1];

        buf_printf(b, " {%s=%s %" PRId64 " %s}", profile_string(p, t->key),
                   profile_string(p, t->text), t->value, profile_string(p, t->unit));
    }
}

static void add_profile(struct lines *l, const struct profile *p, uint64_t shift)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < p->sample.n; i++) {
        struct sample one = profile_sample(p, i);
        const struct sample *m = &one;
        const struct metric *k = &p->metric.v[m->metric - 1];

        buf_printf(&b, "%s %s %" PRIu64 "+%" PRIu64 " %d %" PRId64 " %" PRIu64,
                   profile_string(p, k->name), profile_string(p, k->unit),
                   m->start_ns ? m->start_ns + shift : 0, m->duration_ns, m->cpu, m->weight,
                   m->count);
        put_tags(p, m->tags, &b);
        put_thread(p, m->thread, shift, &b);
        put_stack(p, m->stack, &b);
        add_line(l, &b);
    }
    for (size_t i = 0; i < p->span.n; i++) {
        const struct span *s = &p->span.v[i];

        buf_printf(&b, "span %s %s %" PRIu64 " %" PRIu64, profile_string(p, s->name),
                   profile_string(p, s->detail), s->start_ns + shift, s->duration_ns);
        put_tags(p, s->tags, &b);
        put_thread(p, s->thread, shift, &b);
        put_stack(p, s->stack, &b);
        add_line(l, &b);
    }
    for (size_t i = 0; i < p->counter.n; i++) {
        const struct counter *c = &p->counter.v[i];

        buf_printf(&b, "counter %s %s %" PRIu64 " %g %" PRId64, profile_string(p, c->name),
                   profile_string(p, c->unit), c->time_ns + shift, c->value,
                   c->process ? p->process.v[c->process - 1].pid : 0);
        put_tags(p, c->tags, &b);
        add_line(l, &b);
    }
    buf_release(&b);
}

static char *text_of(struct lines *l)
{
    struct buf b = { 0 };

    if (l->v.n)
        qsort(l->v.v, l->v.n, sizeof *l->v.v, by_text);
    for (size_t i = 0; i < l->v.n; i++) {
        buf_printf(&b, "%s\n", l->v.v[i]);
        free(l->v.v[i]);
    }
    vec_release(&l->v);
    return buf_text(&b);
}

/* --- profiles --------------------------------------------------------------------------- */

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

static uint32_t any_function(struct intern *in, uint32_t *seed, uint32_t module)
{
    char name[16];
    uint32_t k = next(seed) % 9, linkage = k % 3 ? intern_cstr(in, "_Zf") : 0;

    snprintf(name, sizeof name, "f%u", k);
    return intern_function(in, &(struct function){ .name = intern_cstr(in, name), .module = module,
                                                   .file = k % 2 ? intern_cstr(in, "a.c") : 0,
                                                   .linkage_name = linkage,
                                                   .line = k % 2 ? k : 0 });
}

/* A frame with an address and a chain of inlined calls, or a frame that is only a name. */
static uint32_t any_frame(struct intern *in, uint32_t *seed, uint32_t module)
{
    struct location chain[3];
    uint32_t known = (uint32_t)in->frame.n, id;
    uint64_t address = 0x1000 + next(seed) % 40;
    uint32_t same = (uint32_t)address; /* an address has the same chain in every profile */
    uint32_t n = same % 3 + 1;

    if (next(seed) % 4 == 0)
        return intern_named_frame(in, FRAME_ZONE, any_function(in, seed, 0), 0);
    id = intern_frame(in, &(struct frame){ .module = module, .address = address });
    if (id > known) {
        for (uint32_t i = 0; i < n; i++)
            chain[i] = (struct location){ any_function(in, &same, module), i + 1 };
        sink_resolve(in->out, id, chain, n);
    }
    return id;
}

static uint32_t any_stack(struct intern *in, uint32_t *seed, uint32_t module)
{
    uint32_t stack = 0;

    for (uint32_t depth = next(seed) % 5 + 1; depth; depth--)
        stack = intern_stack(in, stack, any_frame(in, seed, module));
    return stack;
}

static uint32_t any_tags(struct intern *in, uint32_t *seed)
{
    uint32_t k = next(seed) % 4, tags = k ? intern_tag(in, 0, "lock", k == 1 ? "a" : "b") : 0;

    return k == 3 ? intern_tag_number(in, tags, "size", next(seed) % 3 - 1, "bytes") : tags;
}

/* A random profile of SEED; the order of definitions differs between profiles. */
static struct profile *make(uint32_t seed)
{
    struct profile *p = profile_new();
    struct intern in;
    uint32_t module, metric[2], threads[3];
    bool swap = seed % 2;

    intern_init(&in, profile_sink(p));
    for (uint32_t i = 0; i < seed % 5; i++)
        intern_string(&in, &"padding"[i], 7 - i);
    for (int i = 0; i < 2; i++)
        metric[i != swap] = intern_metric(&in, &(struct metric){
            .name = intern_cstr(&in, i != swap ? "time" : "cpu"), .unit = intern_cstr(&in, "ns"),
            .flags = i != swap ? METRIC_EXACT : 0, .period = 1000 });
    module = intern_module(&in, &(struct module){ .path = intern_cstr(&in, "/bin/app"),
                                                  .build_id = "0123456789", .build_id_size = 10 });
    for (uint32_t i = 0; i < 3; i++)
        threads[i] = intern_thread(&in, &(struct thread){
            .process = intern_process(&in, &(struct process){ .pid = 10 + i, .start_ns = 1000,
                                                              .name = intern_cstr(&in, "app") }),
            .tid = 20 + i, .name = intern_cstr(&in, "worker") });
    for (int i = 0; i < 200; i++)
        sink_sample(in.out, &(struct sample){
            .start_ns = 100 + next(&seed), .thread = threads[next(&seed) % 3], .cpu = i % 4,
            .stack = any_stack(&in, &seed, module), .metric = metric[i % 2],
            .weight = next(&seed), .count = next(&seed) % 3 + 1,
            .duration_ns = next(&seed), .tags = any_tags(&in, &seed) });
    for (int i = 0; i < 20; i++)
        sink_span(in.out, &(struct span){
            .start_ns = 100 + next(&seed), .duration_ns = next(&seed), .thread = threads[i % 3],
            .name = intern_cstr(&in, "zone"), .stack = any_stack(&in, &seed, module),
            .detail = intern_cstr(&in, "x=1"), .tags = any_tags(&in, &seed) });
    for (int i = 0; i < 20; i++)
        sink_counter(in.out, &(struct counter){
            .time_ns = 100 + next(&seed), .process = (uint32_t)i % 3 + 1, .value = next(&seed),
            .name = intern_cstr(&in, "queue"), .unit = intern_cstr(&in, "jobs"),
            .tags = any_tags(&in, &seed) });
    CHECK_EQ(sink_end(in.out, NULL), 0);
    intern_release(&in);
    return p;
}

static struct profile *merge(const struct profile_part *part, size_t n)
{
    struct profile *p = profile_new();
    struct err e = { 0 };

    profile_merge(part, n, profile_sink(p));
    if (sink_end(profile_sink(p), &e) < 0)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
    return p;
}

TEST(merge_keeps_every_sample_span_and_counter)
{
    struct profile *a = make(7), *b = make(14), *c = make(7); /* no id of b is that of a */
    struct profile_part part[] = { { a, "a" }, { b, "b" }, { c, "c" } };
    struct profile *m = merge(part, 3);
    uint64_t first = profile_start_ns(a);
    struct lines want = { 0 }, got = { 0 };
    char *x, *y;

    for (size_t i = 0; i < 3; i++)
        add_profile(&want, part[i].profile, first - profile_start_ns(part[i].profile));
    add_profile(&got, m, 0);
    x = text_of(&want);
    y = text_of(&got);
    CHECK_STR(y, x);
    free(x);
    free(y);
    profile_free(a);
    profile_free(b);
    profile_free(c);
    profile_free(m);
}

TEST(merge_unifies_equal_records)
{
    struct profile *a = make(7), *b = make(7);
    struct profile_part part[] = { { a, "a" }, { b, "b" } };
    struct profile *m = merge(part, 2);

    CHECK_EQ(m->metric.n, a->metric.n);
    CHECK_EQ(m->module.n, a->module.n);
    CHECK_EQ(m->function.n, a->function.n);
    CHECK_EQ(m->frame.n, a->frame.n);
    CHECK_EQ(m->stack.n, a->stack.n);
    CHECK_EQ(m->string.n, a->string.n);
    CHECK_EQ(m->process.n, 2 * a->process.n);
    CHECK_EQ(m->thread.n, 2 * a->thread.n);
    CHECK_EQ(m->sample.n, 2 * a->sample.n);
    CHECK_STR(profile_meta(m, "merged"), "2");
    profile_free(a);
    profile_free(b);
    profile_free(m);
}

/* One sample of one frame at 0x10 of /bin/NAME with build id 1, resolved to FUNCTION or not. */
static struct profile *one_frame(const char *path, unsigned char build, const char *function,
                                 uint32_t flags, uint64_t period)
{
    struct profile *p = profile_new();
    struct intern in;
    uint32_t frame;

    intern_init(&in, profile_sink(p));
    intern_metric(&in, &(struct metric){ .name = intern_cstr(&in, "cpu"), .flags = flags,
                                         .period = period });
    frame = intern_frame(&in, &(struct frame){
        .address = 0x10,
        .module = intern_module(&in, &(struct module){ .path = intern_cstr(&in, path),
                                                       .build_id = { build },
                                                       .build_id_size = build != 0 }) });
    if (function)
        sink_resolve(in.out, frame,
                     &(struct location){ intern_function(&in, &(struct function){
                         .name = intern_cstr(&in, function) }), 3 }, 1);
    sink_sample(in.out, &(struct sample){ .metric = 1, .weight = 1, .count = 1,
                                          .stack = intern_stack(&in, 0, frame) });
    intern_release(&in);
    return p;
}

static struct profile *merge_two(struct profile *a, struct profile *b)
{
    struct profile_part part[] = { { a, "/tmp/one.txt" }, { b, "two.txt" } };
    struct profile *m = merge(part, 2);

    profile_free(a);
    profile_free(b);
    return m;
}

TEST(merge_identifies_a_module_by_build_id_or_path)
{
    struct profile *m = merge_two(one_frame("/a/app", 1, "f", 0, 0), one_frame("/b/app", 1, "f", 0, 0));

    CHECK_EQ(m->module.n, 1);
    CHECK_EQ(m->stack.n, 1);
    profile_free(m);
    m = merge_two(one_frame("/a/app", 1, "f", 0, 0), one_frame("/a/app", 2, "f", 0, 0));
    CHECK_EQ(m->module.n, 2);
    CHECK_EQ(m->stack.n, 2);
    profile_free(m);
    m = merge_two(one_frame("/a/app", 0, "f", 0, 0), one_frame("/a/app", 0, "f", 0, 0));
    CHECK_EQ(m->module.n, 1);
    profile_free(m);
    m = merge_two(one_frame("/a/app", 0, "f", 0, 0), one_frame("/b/app", 0, "f", 0, 0));
    CHECK_EQ(m->module.n, 2);
    profile_free(m);
}

TEST(merge_keeps_modules_of_different_kinds_apart)
{
    struct profile *a = one_frame("/vmlinux", 1, "f", 0, 0), *b = one_frame("/k", 1, "f", 0, 0), *m;

    b->module.v[0].kind = MODULE_KERNEL;
    m = merge_two(a, b);
    CHECK_EQ(m->module.n, 2);
    CHECK_EQ(m->module.v[1].kind, MODULE_KERNEL);
    CHECK_EQ(m->frame.v[1].module, 2);
    profile_free(m);
}

TEST(merge_identifies_a_module_without_build_id_by_its_path)
{
    struct profile *m;

    for (unsigned char first = 0; first < 2; first++) { /* in either order */
        m = merge_two(one_frame("/a/app", first, "f", 0, 0), one_frame("/a/app", !first, "f", 0, 0));
        CHECK_EQ(m->module.n, 1);
        CHECK_EQ(m->module.v[0].build_id_size, 1);
        CHECK_EQ(m->module.v[0].build_id[0], 1);
        CHECK_EQ(m->stack.n, 1);
        profile_free(m);
    }
    m = merge_two(one_frame("/a/app", 0, "f", 0, 0), one_frame("/b/app", 1, "f", 0, 0));
    CHECK_EQ(m->module.n, 2);
    profile_free(m);
}

TEST(merge_keeps_a_module_apart_that_may_be_either_of_two_builds)
{
    struct profile *p[] = { one_frame("/a/app", 0, "f", 0, 0), one_frame("/a/app", 1, "f", 0, 0),
                            one_frame("/a/app", 2, "f", 0, 0) };
    struct profile_part part[] = { { p[0], "0" }, { p[1], "1" }, { p[2], "2" } };
    struct profile *m = merge(part, 3);

    CHECK_EQ(m->module.n, 3);
    CHECK_EQ(m->module.v[0].build_id_size, 0);
    profile_free(m);
    for (size_t i = 0; i < 3; i++)
        profile_free(p[i]);
}

TEST(merge_names_an_address_that_only_one_profile_resolves)
{
    for (int first = 0; first < 2; first++) {
        struct profile *m = merge_two(one_frame("/app", 1, first ? "f" : NULL, 0, 0),
                                      one_frame("/app", 1, first ? NULL : "f", 0, 0));

        CHECK_EQ(m->frame.n, 1);
        CHECK_EQ(m->chain.v[0].n, 1);
        CHECK_EQ(m->location.v[m->chain.v[0].first].line, 3);
        profile_free(m);
    }
}

TEST(merge_separates_frames_with_different_names)
{
    struct profile *m = merge_two(one_frame("/app", 1, "f", 0, 0), one_frame("/app", 1, "g", 0, 0));

    CHECK_EQ(m->frame.n, 2);
    CHECK_EQ(m->stack.n, 2);
    profile_free(m);
}

TEST(merge_calls_a_metric_exact_only_if_it_is_in_every_profile)
{
    struct profile *m = merge_two(one_frame("/app", 1, "f", METRIC_EXACT, 5),
                                  one_frame("/app", 1, "f", 0, 5));

    CHECK_EQ(m->metric.n, 1);
    CHECK_EQ(m->metric.v[0].flags, 0);
    CHECK_EQ(m->metric.v[0].period, 5);
    profile_free(m);
    m = merge_two(one_frame("/app", 1, "f", METRIC_EXACT, 5),
                  one_frame("/app", 1, "f", METRIC_EXACT, 6));
    CHECK_EQ(m->metric.v[0].flags, METRIC_EXACT);
    CHECK_EQ(m->metric.v[0].period, 0);
    profile_free(m);
    m = merge_two(one_frame("/app", 1, "f", METRIC_OFF_CPU, 0), one_frame("/app", 1, "f", 0, 0));
    CHECK_EQ(m->metric.n, 2);
    profile_free(m);
}

TEST(merge_keeps_metrics_of_one_name_apart_if_their_units_differ)
{
    struct profile *a = one_frame("/app", 1, "f", 0, 0), *b = one_frame("/app", 1, "f", 0, 0), *m;

    sink_string(profile_sink(b), "ms", 2);
    b->metric.v[0].unit = (uint32_t)b->string.n;
    m = merge_two(a, b);
    CHECK_EQ(m->metric.n, 2);
    CHECK_EQ(m->metric.v[0].unit, 0);
    CHECK_STR(profile_string(m, m->metric.v[1].unit), "ms");
    CHECK_EQ(m->sample.v[0].metric, 1);
    CHECK_EQ(m->sample.v[1].metric, 2);
    profile_free(m);
}

TEST(merge_keeps_the_first_description_of_a_metric)
{
    struct profile *p[3], *m;

    for (int i = 0; i < 3; i++) {
        p[i] = one_frame("/app", 1, "f", 0, 0);
        sink_string(profile_sink(p[i]), i == 1 ? "first" : "second", i == 1 ? 5 : 6);
        p[i]->metric.v[0].about = i ? (uint32_t)p[i]->string.n : 0;
    }
    m = merge((struct profile_part[]){ { p[0], "a" }, { p[1], "b" }, { p[2], "c" } }, 3);
    CHECK_EQ(m->metric.n, 1);
    CHECK_STR(profile_string(m, m->metric.v[0].about), "first");
    for (int i = 0; i < 3; i++)
        profile_free(p[i]);
    profile_free(m);
}

TEST(merge_names_no_address_outside_all_modules)
{
    struct profile *a = one_frame("/app", 1, "f", 0, 0), *b = one_frame("/app", 1, NULL, 0, 0), *m;

    a->frame.v[0].module = b->frame.v[0].module = 0;
    m = merge_two(a, b);
    CHECK_EQ(m->frame.n, 2);
    CHECK_EQ(m->chain.v[0].n, 1);
    CHECK_EQ(m->chain.v[1].n, 0);
    profile_free(m);
}

TEST(merge_of_one_profile_creates_no_process)
{
    struct profile *p = one_frame("/app", 1, "f", 0, 0);
    struct profile *m = merge(&(struct profile_part){ p, "one.txt" }, 1);

    CHECK_EQ(m->process.n + m->thread.n, 0);
    CHECK_STR(profile_meta(m, "merged"), "");
    profile_free(p);
    profile_free(m);
}

TEST(merge_creates_a_process_for_a_profile_without_threads)
{
    struct profile *m = merge_two(one_frame("/app", 1, "f", 0, 0), one_frame("/app", 1, "f", 0, 0));

    CHECK_EQ(m->process.n, 2);
    CHECK_STR(profile_string(m, m->process.v[0].name), "one.txt");
    CHECK_EQ(m->sample.v[1].thread, 2);
    CHECK_EQ(m->thread.v[1].process, 2);
    profile_free(m);
}

TEST(merge_keeps_one_text_of_a_file_and_the_longest_code_of_an_address)
{
    struct profile *a = one_frame("/app", 1, "f", 0, 0), *b = one_frame("/app", 1, "f", 0, 0), *m;
    const unsigned char *bytes = (const unsigned char *)"\x90\x91";

    sink_source(profile_sink(a), &(struct source_text){ .file = 1, .text = "one", .size = 3 });
    sink_source(profile_sink(b), &(struct source_text){ .file = 1, .text = "two", .size = 3 });
    sink_source(profile_sink(b), &(struct source_text){ .file = 2, .text = "new", .size = 3 });
    sink_code(profile_sink(a), &(struct code_bytes){ 1, 0x10, bytes, 1 });
    sink_code(profile_sink(b), &(struct code_bytes){ 1, 0x10, bytes, 2 });
    sink_code(profile_sink(b), &(struct code_bytes){ 1, 0x20, bytes, 1 });
    m = merge_two(a, b);
    CHECK_EQ(m->source.n, 2);
    CHECK_STR(m->source.v[0].text, "one");
    CHECK_STR(m->source.v[1].text, "new");
    CHECK_EQ(m->code.n, 2);
    CHECK_EQ(m->code.v[0].size, 2);
    CHECK_EQ(m->code.v[0].bytes[1], 0x91);
    CHECK_EQ(m->code.v[1].address, 0x20);
    profile_free(m);
}

static struct profile *with_facts(const char *const (*fact)[2])
{
    struct profile *p = one_frame("/app", 1, "f", 0, 0);

    for (; (*fact)[0]; fact++)
        sink_meta(profile_sink(p), (*fact)[0], (*fact)[1]);
    sink_sample(profile_sink(p), &(struct sample){ .metric = 1, .weight = 1,
                                                   .start_ns = profile_start_ns(p) + 10 });
    return p;
}

TEST(merge_adds_counts_and_lists_facts_that_differ)
{
    static const char *const one[][2] = {
        { "command", "app 1" }, { "host", "h" },           { "quality.samples", "100" },
        { "quality.lost", "3" }, { "rate_asked", "1000" }, { "rate_achieved", "500.0" },
        { "exit_status", "0" }, { "quality.ring_bytes", "64" },
        { "quality.without_agent", "a: 1 %" }, { 0 } };
    static const char *const two[][2] = {
        { "command", "app 2" }, { "host", "h" },          { "quality.samples", "300" },
        { "quality.lost", "4" }, { "rate_asked", "999" }, { "rate_achieved", "1000.0" },
        { "exit_status", "139" }, { "quality.ring_bytes", "32" },
        { "file.damage", "it is cut" }, { "file.missing_bytes", "9" }, { "merged", "4" }, { 0 } };
    struct profile *m = merge_two(with_facts(one), with_facts(two));

    CHECK_STR(profile_meta(m, "command"), "app 1, app 2");
    CHECK_STR(profile_meta(m, "host"), "h");
    CHECK_STR(profile_meta(m, "quality.samples"), "400");
    CHECK_STR(profile_meta(m, "quality.lost"), "7");
    CHECK_STR(profile_meta(m, "quality.ring_bytes"), "64");
    CHECK_STR(profile_meta(m, "quality.without_agent"), "a: 1 %");
    CHECK_STR(profile_meta(m, "rate_asked"), "");
    CHECK_STR(profile_meta(m, "rate_achieved"), "800.0"); /* 400 samples in 0.2 + 0.3 s */
    CHECK_STR(profile_meta(m, "exit_status"), "139");
    CHECK_STR(profile_meta(m, "merged"), "5");
    CHECK_STR(m->damage, "it is cut");
    CHECK_EQ(m->missing_bytes, 9);
    profile_free(m);
}

TEST(merge_takes_numbers_of_any_size)
{
    static const char *const one[][2] = {
        { "quality.samples", "1e300" }, { "quality.lost", "nan" }, { "quality.ring_bytes", "inf" },
        { "rate_achieved", "1e-300" }, { "start_ns", "1" }, { "duration_ns", "1e300" }, { 0 } };
    static const char *const two[][2] = {
        { "quality.samples", "-1e300" }, { "quality.lost", "4" }, { "quality.ring_bytes", "1e20" },
        { "rate_achieved", "1e300" }, { "start_ns", "1" }, { "duration_ns", "-1e300" }, { 0 } };
    struct profile *m = merge_two(with_facts(one), with_facts(two)), *twice;

    CHECK_STR(profile_meta(m, "quality.samples"), "0");
    CHECK_STR(profile_meta(m, "quality.lost"), "4");
    CHECK_STR(profile_meta(m, "quality.ring_bytes"), "100000000000000000000");
    profile_free(m);
    twice = merge_two(with_facts(one), with_facts(one));
    CHECK(profile_meta_number(twice, "quality.samples", 0) == 2e300);
    profile_free(twice);
}

TEST(merge_lists_the_first_eight_values_of_a_fact)
{
    enum { PARTS = 10 };
    struct profile_part part[PARTS];
    struct profile *m;

    for (int i = 0; i < PARTS; i++) {
        const char command[] = { (char)('a' + i), 0 };
        const char *const facts[][2] = { { "command", command }, { 0 } };

        part[i] = (struct profile_part){ with_facts(facts), "part" };
    }
    m = merge(part, 8);
    CHECK_STR(profile_meta(m, "command"), "a, b, c, d, e, f, g, h");
    profile_free(m);
    m = merge(part, PARTS);
    CHECK_STR(profile_meta(m, "command"), "a, b, c, d, e, f, g, h, ...");
    profile_free(m);
    for (int i = 0; i < PARTS; i++)
        profile_free((struct profile *)part[i].profile);
}

TEST(merge_ignores_samples_without_a_rate_in_the_rate)
{
    static const char *const sampled[][2] = { { "quality.samples", "100" },
                                              { "rate_achieved", "500.0" }, { 0 } };
    static const char *const counted[][2] = { { "quality.samples", "900" }, { 0 } };
    struct profile *m = merge_two(with_facts(sampled), with_facts(counted));

    CHECK_STR(profile_meta(m, "rate_achieved"), "500.0");
    profile_free(m);
}

TEST(merge_keeps_times_of_one_clock_and_moves_others_to_the_first_start)
{
    static const char *const first[][2] = {
        { "host", "h" }, { "clock", "monotonic" }, { "date", "2026-01-01T10:00:00+0000" },
        { "start_ns", "50000000000" }, { "duration_ns", "1000000000" }, { 0 } };
    static const char *const later[][2] = { /* ten seconds later in another time zone */
        { "host", "h" }, { "clock", "monotonic" }, { "date", "2026-01-01T11:00:10+0100" },
        { "start_ns", "60000000000" }, { "duration_ns", "2000000000" }, { 0 } };
    static const char *const elsewhere[][2] = {
        { "host", "other" }, { "clock", "monotonic" }, { "date", "2026-01-01T10:00:10+0000" },
        { "start_ns", "60000000000" }, { "duration_ns", "2000000000" }, { 0 } };
    static const char *const rebooted[][2] = {
        { "host", "h" }, { "clock", "monotonic" }, { "date", "2026-01-02T10:00:10+0000" },
        { "start_ns", "60000000000" }, { "duration_ns", "2000000000" }, { 0 } };
    static const char *const realtime[][2] = {
        { "host", "h" }, { "clock", "realtime" }, { "date", "2026-01-01T10:00:10+0000" },
        { "start_ns", "60000000000" }, { "duration_ns", "2000000000" }, { 0 } };
    struct profile *m = merge_two(with_facts(later), with_facts(first)), *early;

    CHECK_EQ(m->time.v[1].start_ns, 60000000010);
    CHECK_EQ(m->time.v[3].start_ns, 50000000010);
    CHECK_EQ(m->time.v[0].start_ns, 0);
    CHECK_STR(profile_meta(m, "start_ns"), "50000000000");
    CHECK_STR(profile_meta(m, "duration_ns"), "12000000000");
    CHECK_STR(profile_meta(m, "date"), "2026-01-01T10:00:00+0000");
    profile_free(m);
    m = merge_two(with_facts(first), with_facts(elsewhere));
    CHECK_EQ(m->time.v[3].start_ns, 50000000010);
    CHECK_STR(profile_meta(m, "duration_ns"), "2000000000");
    profile_free(m);
    m = merge_two(with_facts(first), with_facts(realtime));
    CHECK_EQ(m->time.v[3].start_ns, 50000000010);
    profile_free(m);
    early = with_facts(elsewhere);
    early->time.v[1].start_ns = 9000000000; /* before its start, by more than the first's */
    m = merge_two(with_facts(first), early);
    CHECK_EQ(m->time.v[3].start_ns, 1);
    profile_free(m);
    m = merge_two(with_facts(first), with_facts(rebooted));
    CHECK_EQ(m->time.v[3].start_ns, 50000000010);
    profile_free(m);
}

/* Only one of the merged profiles may have the names and line rows of a module. */
TEST(merge_joins_line_rows_and_facts_of_modules)
{
    struct profile *a = make(2), *b = make(3), *m;
    struct location one[] = { { 1, 5 } }, two[] = { { 2, 6 }, { 1, 7 } };
    struct sink *s = profile_sink(b);

    sink_line(profile_sink(a), &(struct line_row){ 1, 0x10 }, one, 1);
    sink_line(s, &(struct line_row){ 1, 0x10 }, two, 2);
    sink_line(s, &(struct line_row){ 1, 0x20 }, two, 2);
    sink_string(s, "dwarf", 5);
    sink_update_module(s, 1, &(struct module){ .symbols = (uint32_t)b->string.n });
    m = merge((struct profile_part[]){ { a, "a" }, { b, "b" } }, 2);
    CHECK_EQ(m->row.n, 2);
    CHECK_EQ(m->row.v[0].chain.n, 1);
    CHECK_EQ(m->row.v[1].at.address, 0x20);
    CHECK_EQ(m->row.v[1].chain.n, 2);
    CHECK_EQ(m->location.v[m->row.v[1].chain.first].line, 6);
    CHECK_EQ(m->module.n, 1);
    CHECK_STR(profile_string(m, m->module.v[0].symbols), "dwarf");
    profile_free(a);
    profile_free(b);
    profile_free(m);
}
