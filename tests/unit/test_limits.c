/* test_limits.c - hostile profiles: small, but with an algorithm that is quadratic, or with one
 * table entry for each pair, they take hours or gigabytes.  The processor time and the memory of
 * each test are limited to far more than it needs and far less than such an algorithm would.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analyze/an_report.h"
#include "analyze/an_source.h"
#include "formats/formats.h"
#include "formats/pprof.h"
#include "formats/protobuf.h"
#include "formats/unwrap.h"
#include "profile/limits.h"
#include "profile/profile_merge.h"
#include "test.h"
#include "zones/zone_rows.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* AddressSanitizer reserves terabytes of addresses. */
static void allow(unsigned cpu_s, unsigned mib)
{
    struct rlimit cpu = { cpu_s, cpu_s }, memory = { (rlim_t)mib << 20, (rlim_t)mib << 20 };

    CHECK_EQ(setrlimit(RLIMIT_CPU, &cpu), 0);
    if (!SANITIZED)
        CHECK_EQ(setrlimit(RLIMIT_AS, &memory), 0);
}

static void add_metrics(struct sink *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sink_metric(s, &(struct metric){ 0 });
}

static void add_sample(struct sink *s, struct sample m)
{
    m.count = m.weight = 1;
    sink_sample(s, &m);
}

/* Write P in format NAME to nowhere; returns the size, or 0 for an error. */
static uint64_t size_of_export(const char *name, const struct profile *p, struct err *e)
{
    const struct format *f = format_find(name);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct out o = out_fd(fd);
    struct export_options opt = { 0 };
    struct an_view v;
    uint64_t size = 0;

    CHECK_EQ(an_view_open(&v, p, NULL, f->view, NULL), 0);
    if (f->write(&v, &opt, &o, e) == 0)
        size = o.written + o.buf.n;
    an_view_release(&v);
    CHECK_EQ(out_close(&o, NULL), 0);
    close(fd);
    return size;
}

/* The page has a group for each metric, thread and set of tags with samples, not for each pair. */
TEST(limits_page_does_not_grow_with_metrics_times_threads)
{
    enum { THREADS = 500000, SAMPLES = 1000 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    add_metrics(s, LIMIT_METRICS);
    for (uint32_t i = 0; i < THREADS; i++)
        sink_thread(s, &(struct thread){ .tid = i });
    for (uint32_t i = 0; i < SAMPLES; i++)
        add_sample(s, (struct sample){ .metric = 1 + i % LIMIT_METRICS, .thread = THREADS - i });
    CHECK_EQ(sink_end(s, NULL), 0);
    allow(60, 600);
    CHECK(size_of_export("html", p, NULL) > 0);
    profile_free(p);
}

/* Most rows have samples of one metric. */
TEST(limits_rows_are_not_stored_for_each_metric)
{
    enum { ROWS = 200000 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    add_metrics(s, LIMIT_METRICS);
    for (uint32_t i = 0; i < ROWS; i++)
        sink_thread(s, &(struct thread){ .tid = i });
    for (uint32_t i = 0; i < ROWS; i++)
        add_sample(s, (struct sample){ .metric = 1, .thread = i + 1 });
    CHECK_EQ(sink_end(s, NULL), 0);
    allow(60, 250);
    CHECK(size_of_export("csv", p, NULL) > (uint64_t)ROWS * LIMIT_METRICS);
    CHECK(size_of_export("pprof", p, NULL) > 0);
    profile_free(p);
}

/* A stack of DEPTH frames of one function each; frame and stack I have function I. */
static void add_deep_stack(struct sink *s, uint32_t depth)
{
    for (uint32_t i = 1; i <= depth; i++) {
        sink_string(s, "f", 1);
        sink_function(s, &(struct function){ .name = i, .line = i });
        sink_frame(s, &(struct frame){ .address = i });
        sink_resolve(s, i, &(struct location){ i, i }, 1);
        sink_stack(s, i - 1, i);
    }
}

/* Walking the stack of each sample would take 8 billion steps. */
TEST(limits_call_graphs_visit_each_stack_once)
{
    enum { SAMPLES = 1000000 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    add_metrics(s, 1);
    add_deep_stack(s, LIMIT_DEPTH);
    for (uint32_t i = 0; i < SAMPLES; i++)
        add_sample(s, (struct sample){ .metric = 1, .stack = LIMIT_DEPTH });
    CHECK_EQ(sink_end(s, NULL), 0);
    allow(30, 1000);
    CHECK(size_of_export("callgrind", p, NULL) > LIMIT_DEPTH);
    CHECK(size_of_export("pstats", p, NULL) > LIMIT_DEPTH);
    profile_free(p);
}

/* An insertion sort would take 30 billion steps. */
TEST(limits_callgrind_sorts_the_lines_of_a_function)
{
    enum { LINES = 250000 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    add_metrics(s, 1);
    sink_function(s, &(struct function){ 0 });
    for (uint32_t i = 1; i <= LINES; i++) {
        sink_frame(s, &(struct frame){ .address = i });
        sink_resolve(s, i, &(struct location){ 1, i }, 1);
        sink_stack(s, 0, i);
        add_sample(s, (struct sample){ .metric = 1, .stack = i });
    }
    CHECK_EQ(sink_end(s, NULL), 0);
    allow(30, 1000);
    CHECK(size_of_export("callgrind", p, NULL) > LINES);
    profile_free(p);
}

TEST(limits_a_call_graph_with_too_many_values_is_refused)
{
    enum { FRAMES = 100000 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct err e = { 0 };

    add_metrics(s, LIMIT_METRICS);
    sink_string(s, "f", 1);
    for (uint32_t i = 1; i <= FRAMES; i++) {
        sink_function(s, &(struct function){ .name = 1, .line = i });
        sink_frame(s, &(struct frame){ .address = i });
        sink_resolve(s, i, &(struct location){ i, 1 }, 1);
        sink_stack(s, i > 1, i); /* 1 calls all others */
        add_sample(s, (struct sample){ .metric = 1, .stack = i });
    }
    CHECK_EQ(sink_end(s, NULL), 0);
    CHECK_EQ(size_of_export("callgrind", p, &e), 0);
    CHECK_EQ(e.code, ERR_LIMIT);
    CHECK_STR(e.msg, "the profile has too many metrics (256) for its 99999 calls");
    profile_free(p);
}

static struct profile *merged_with_itself(const struct profile *p)
{
    struct profile_part part[] = { { p, "a" }, { p, "b" } };
    struct profile *q = profile_new();

    profile_merge(part, 2, profile_sink(q));
    CHECK_EQ(sink_end(profile_sink(q), NULL), 0);
    return q;
}

/* Comparing all pairs would take 80 billion steps. */
TEST(limits_merge_finds_modules_and_frames_by_hash)
{
    enum { ITEMS = 200000 };
    struct profile *p = profile_new(), *q;
    struct sink *s = profile_sink(p);

    add_metrics(s, 1);
    sink_string(s, "m", 1);
    for (uint32_t i = 0; i < ITEMS; i++) {
        struct module m = { .path = 1, .build_id_size = sizeof m.build_id };

        memcpy(m.build_id, &i, sizeof i);
        sink_module(s, &m);
        sink_function(s, &(struct function){ .name = 1, .line = i });
    }
    for (uint32_t i = 1; i <= ITEMS; i++) { /* one address with many names */
        sink_frame(s, &(struct frame){ .module = 1, .address = 5 });
        sink_resolve(s, i, &(struct location){ i, 0 }, 1);
    }
    CHECK_EQ(sink_end(s, NULL), 0);
    allow(30, 2000);
    q = merged_with_itself(p);
    CHECK_EQ(q->module.n, ITEMS);
    CHECK_EQ(q->frame.n, ITEMS);
    profile_free(q);
    profile_free(p);
}

/* A pprof profile with a sample for each of N threads of different processes. */
static struct buf pprof_with_threads(uint32_t n)
{
    static const char *const strings[] = { "", "cpu", "tid", "pid" };
    struct buf b = { 0 };
    size_t at;

    at = pb_begin(&b, PPROF_SAMPLE_TYPE);
    pb_u64(&b, PPROF_TYPE_TYPE, 1);
    pb_end(&b, at);
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        pb_text(&b, PPROF_STRING, strings[i], strlen(strings[i]));
    for (uint32_t i = 1; i <= n; i++) {
        at = pb_begin(&b, PPROF_SAMPLE);
        pb_u64(&b, PPROF_SAMPLE_VALUE, 1);
        for (uint32_t key = 2; key <= 3; key++) {
            size_t label = pb_begin(&b, PPROF_SAMPLE_LABEL);

            pb_u64(&b, PPROF_LABEL_KEY, key);
            pb_u64(&b, PPROF_LABEL_NUMBER, key == 2 ? i : 1 + i / 2);
            pb_end(&b, label);
        }
        pb_end(&b, at);
    }
    return b;
}

/* Comparing all pairs would take 500 billion steps. */
TEST(limits_pprof_finds_processes_by_hash)
{
    enum { THREADS = 1000000 };
    struct buf b = pprof_with_threads(THREADS);
    struct import_input in = { .data = b.data, .size = b.n, .path = "test" };
    struct profile *p = profile_new();

    allow(30, 1000);
    CHECK_EQ(pprof_import(&in, profile_sink(p), NULL), 0);
    CHECK_EQ(p->thread.n, THREADS);
    CHECK_EQ(p->thread.v[1].process, 2); /* threads 2 and 3 have pid 2 */
    CHECK_EQ(p->thread.v[2].process, 2);
    CHECK(size_of_export("pprof", p, NULL) > 0);
    profile_free(p);
    buf_release(&b);
}

/* Walking each stack, or searching each line of the text from its beginning, would take 30 billion
 * steps. */
TEST(limits_annotate_visits_each_stack_and_each_line_once)
{
    enum { STACKS = SANITIZED ? 500000 : 4000000, LINES = 250000 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct an_source_query q;
    struct an_listing l;
    char *text = mem_alloc(2 * LINES);
    size_t n;

    for (size_t i = 0; i < 2 * LINES; i += 2)
        memcpy(text + i, "x\n", 2);
    add_metrics(s, 1);
    add_deep_stack(s, LIMIT_DEPTH);
    sink_source(s, &(struct source_text){ .file = 1, .text = text, .size = 2 * LINES });
    for (uint32_t i = 0; i < STACKS; i++) { /* leaves on different lines */
        sink_function(s, &(struct function){ .name = 1, .file = 1 });
        sink_frame(s, &(struct frame){ .address = 1 });
        sink_resolve(s, LIMIT_DEPTH + 1 + i,
                     &(struct location){ LIMIT_DEPTH + 1 + i, 1 + i % LINES }, 1);
        sink_stack(s, LIMIT_DEPTH - 1, LIMIT_DEPTH + 1 + i);
        add_sample(s, (struct sample){ .metric = 1, .stack = LIMIT_DEPTH + 1 + i });
    }
    CHECK_EQ(sink_end(s, NULL), 0);
    allow(60, 3000);
    q = (struct an_source_query){ p, an_view_of(p, 1) };
    an_listing_build(&l, &q, LIMIT_DEPTH + 1, false);
    CHECK_EQ(l.line.n, LINES);
    CHECK_EQ(l.total, STACKS);
    CHECK_EQ(l.self, STACKS);
    for (uint32_t i = 1; i <= LINES; i++)
        CHECK(an_listing_text(&l, i, &n) == l.text + 2 * (i - 1) && n == 1);
    CHECK(!an_listing_text(&l, LINES + 2, &n));
    an_listing_release(&l);
    profile_free(p);
    free(text);
}

/* Looking at all rows for each piece of code would take 100 billion steps. */
TEST(limits_annotate_finds_the_rows_of_code_by_address)
{
    enum { PIECES = 300000 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct an_source_query q;
    struct an_listing l;

    sink_meta(s, "arch", "x86_64");
    add_metrics(s, 1);
    add_deep_stack(s, 1);
    sink_module(s, &(struct module){ 0 });
    sink_frame(s, &(struct frame){ .module = 1, .address = 1 });
    sink_resolve(s, 2, &(struct location){ 1, 1 }, 1);
    sink_stack(s, 0, 2);
    add_sample(s, (struct sample){ .metric = 1, .stack = 2 });
    for (uint32_t i = 1; i <= PIECES; i++) {
        sink_line(s, &(struct line_row){ 1, i }, &(struct location){ 1, i }, 1);
        sink_code(s, &(struct code_bytes){ 1, i, (const unsigned char *)"\x90", 1 });
    }
    CHECK_EQ(sink_end(s, NULL), 0);
    allow(30, 2000);
    q = (struct an_source_query){ p, an_view_of(p, 1) };
    an_listing_build(&l, &q, 1, false);
    if (!*disasm_refusal("x86_64"))
        CHECK_EQ(l.instr.n, PIECES);
    an_listing_release(&l);
    profile_free(p);
}

TEST(limits_long_source_lines_are_cut_at_a_character)
{
    char text[2 * LIMIT_LINE];
    struct an_listing l = { 0 };
    size_t n;

    memset(text, 'x', sizeof text);
    memcpy(text + LIMIT_LINE - 1, "\xc3\xa4", 2);
    an_listing_set_text(&l, text, sizeof text);
    CHECK(an_listing_text(&l, 1, &n) == text);
    CHECK_EQ(n, LIMIT_LINE - 1);
    an_listing_set_text(&l, text, LIMIT_LINE - 1);
    CHECK(an_listing_text(&l, 1, &n) == text);
    CHECK_EQ(n, LIMIT_LINE - 1);
    an_listing_release(&l);
}

/* A caterpillar: each of DEPTH frames has a sample, so listing the stacks of all samples, or of all
 * functions with their callers, takes DEPTH * DEPTH / 2 frames. */
static struct profile *caterpillar(uint32_t samples)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_string(s, "cpu", 3);
    sink_string(s, "ns", 2);
    sink_metric(s, &(struct metric){ .name = 1, .unit = 2 });
    add_deep_stack(s, LIMIT_DEPTH);
    for (uint32_t i = 0; i < samples; i++)
        add_sample(s, (struct sample){ .metric = 1, .stack = LIMIT_DEPTH - i % LIMIT_DEPTH,
                                       .start_ns = 1 + i, .duration_ns = 1 });
    CHECK_EQ(sink_end(s, NULL), 0);
    return p;
}

/* Three functions call recursions of 8,192 frames, and each frame has a sample: together, 100
 * million frames lead to the samples. */
TEST(limits_inverted_trees_reach_fewer_callers)
{
    enum { ROOTS = 3 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct an_report_query q = { .form = AN_REPORT_INVERTED, .sort = "self", .rows = 10 };
    struct an_view v;
    struct an_report r;

    add_metrics(s, 1);
    for (uint32_t i = 1; i <= ROOTS + 1; i++)
        sink_frame(s, &(struct frame){ .address = i });
    for (uint32_t root = 0; root < ROOTS; root++)
        for (uint32_t i = 0; i < LIMIT_DEPTH; i++) {
            sink_stack(s, i ? (uint32_t)p->stack.n : 0, i ? ROOTS + 1 : root + 1);
            add_sample(s, (struct sample){ .metric = 1, .stack = (uint32_t)p->stack.n });
        }
    CHECK_EQ(sink_end(s, NULL), 0);
    CHECK_EQ(an_view_open(&v, p, NULL, AN_VIEW_KINDS, NULL), 0);
    CHECK_EQ(an_report_build(&r, &v, &q, NULL), 0);
    CHECK(r.trees.reach > LIMIT_DEPTH / 4 && r.trees.reach < LIMIT_DEPTH);
    CHECK_EQ(r.all.weight, ROOTS * LIMIT_DEPTH);
    CHECK(strstr(buf_text(&r.result.head), "calls away are left out"));
    an_report_release(&r);
    q = (struct an_report_query){ .form = AN_REPORT_CALLERS, .callers = "[unknown]+0x4",
                                  .sort = "self", .rows = 10 };
    CHECK_EQ(an_report_build(&r, &v, &q, NULL), 0);
    CHECK_EQ(r.trees.reach, 0); /* short paths, which are complete */
    CHECK_EQ(r.trees.trie.node.n, 1 + 1 + ROOTS);
    an_report_release(&r);
    an_view_release(&v);
    profile_free(p);
}

TEST(limits_paths_to_callers_share_their_number)
{
    const uint32_t few[] = { 0, 5, 9 };
    const uint32_t many[] = { 1000, UINT32_MAX, 0, UINT32_MAX };

    CHECK_EQ(an_tree_reach(few, ARRAY_LEN(few)), 0);
    CHECK_EQ(an_tree_reach(many, ARRAY_LEN(many)), (LIMIT_CALLERS - 1000) / 2);
}

/* Deep branches would be indented by their depth: 100 MB of spaces for these. */
TEST(limits_trees_are_not_indented_by_their_whole_depth)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct an_report_query q = { .form = AN_REPORT_TREE, .sort = "self", .rows = UINT64_MAX };
    struct out o = out_memory();
    struct term term = { .width = 0 };
    struct an_view v;
    struct an_report r;

    add_metrics(s, 1);
    for (uint32_t i = 1; i <= 2 * LIMIT_DEPTH; i++) { /* each stack has a child that is a leaf */
        sink_frame(s, &(struct frame){ .address = i });
        sink_stack(s, i <= 2 ? 0 : i - 1 - i % 2, i);
        add_sample(s, (struct sample){ .metric = 1, .stack = i });
    }
    CHECK_EQ(sink_end(s, NULL), 0);
    CHECK_EQ(an_view_open(&v, p, NULL, AN_VIEW_KINDS, NULL), 0);
    CHECK_EQ(an_report_build(&r, &v, &q, NULL), 0);
    result_print(&r.result, RESULT_AS_TEXT, &o, &term);
    CHECK(r.list.line.n > LIMIT_DEPTH);
    CHECK(o.buf.n < 1000 * (size_t)r.list.line.n);
    CHECK(strstr(buf_text(&o.buf), "[101] "));
    out_close(&o, NULL);
    an_report_release(&r);
    an_view_release(&v);
    profile_free(p);
}

static void check_stops(const char *format, const struct profile *p)
{
    const struct format *f = format_find(format);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct out o = out_fd(fd);
    struct export_options opt = { 0 };
    struct err e = { 0 };
    struct an_view v;

    o.limit = 1 << 20;
    CHECK_EQ(an_view_open(&v, p, NULL, f->view, NULL), 0);
    f->write(&v, &opt, &o, NULL);
    an_view_release(&v);
    CHECK(o.full && o.written <= o.limit);
    CHECK(out_close(&o, &e) < 0);
    CHECK_EQ(e.code, ERR_LIMIT);
    CHECK_STR(e.msg, "the output would have more than 1 MiB");
    close(fd);
}

/* Without the limit, most exports would have gigabytes. */
TEST(limits_exports_stop_when_the_output_is_full)
{
    static const char *const names[] = { "collapsed", "speedscope", "chrome", "perfetto", "csv" };
    struct profile *p = caterpillar(30000);

    allow(SANITIZED ? 120 : 60, 4000);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        check_stops(names[i], p);
    profile_free(p);
}

TEST(limits_output_is_written_up_to_its_limit)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct out o = out_fd(fd);

    o.limit = 2;
    out_str(&o, "ab");
    out_flush(&o);
    CHECK(!o.failed && o.written == 2);
    out_str(&o, "c");
    out_flush(&o);
    CHECK(o.full && o.failed && o.written == 2);
    CHECK(out_close(&o, NULL) < 0);
    close(fd);
}

/* --- regions of libfathom --------------------------------------------------------------- */

enum { NODE_PAGES = 16000, NODES = NODE_PAGES * (LIVE_NODES_PER_PAGE - 1), TABLE_PAGES = 4,
       STRINGS_AT = 1 + TABLE_PAGES, NAMES_AT, SITES_AT, HIST_AT, THREAD_AT, NODES_AT,
       HUGE_PAGES = NODES_AT + NODE_PAGES };

static unsigned char *huge_page(uint32_t page, enum live_kind kind)
{
    static unsigned char *region;

    if (page == 0)
        region = aligned_alloc(LIVE_PAGE, (size_t)HUGE_PAGES * LIVE_PAGE);
    if (page == 0)
        memset(region, 0, (size_t)HUGE_PAGES * LIVE_PAGE);
    region[LIVE_PAGE + page] = (unsigned char)kind;
    return region + (size_t)page * LIVE_PAGE;
}

static struct fathom_node_ *huge_node(uint32_t i)
{
    return (struct fathom_node_ *)(void *)huge_page(NODES_AT + i / 31, LIVE_NODES) + 1 + i % 31;
}

/* One thread with NODES nodes: siblings with ever shorter times, then a chain.  All nodes have the
 * same histogram. */
static unsigned char *huge_region(void)
{
    unsigned char *data = huge_page(0, LIVE_HEADER), *strings = huge_page(STRINGS_AT, LIVE_STRINGS);
    uint32_t *names = (void *)huge_page(NAMES_AT, LIVE_NAMES);
    struct live_site *site = (void *)huge_page(SITES_AT, LIVE_SITES);
    struct live_thread *t = (void *)huge_page(THREAD_AT, LIVE_THREAD);
    uint64_t *hist = (void *)huge_page(HIST_AT, LIVE_HISTOGRAM);

    *(struct live_header *)(void *)data = (struct live_header){
        .magic = LIVE_MAGIC, .version = LIVE_VERSION, .page_bytes = LIVE_PAGE, .base = LIVE_PAGE,
        .n_pages = HUGE_PAGES, .table_pages = TABLE_PAGES, .clock = LIVE_NANOSECONDS,
        .start_ticks = 1, .start_ns = 1, .last_ticks = 2, .last_ns = 2, .names_page = NAMES_AT,
        .site_page = { SITES_AT } };
    t->tid = t->state = 1;
    hist[1] = 1;
    for (uint32_t i = 1; i < LIVE_MAX_NAMES; i++) {
        snprintf((char *)strings + 4 * i, 4, "%03x", i);
        names[i] = STRINGS_AT * LIVE_PAGE + 4 * i;
    }
    for (uint32_t i = 0; i < LIVE_SITES_PER_PAGE; i++)
        site[i].name = names[i + 1];
    for (uint32_t i = 0; i < NODES; i++) {
        struct fathom_node_ *n = huge_node(i);
        uint32_t up = i <= NODES / 2 ? 0 : i - 1;
        struct live_slot0 *head = (void *)huge_page(NODES_AT + i / 31, LIVE_NODES);

        head->thread = LIVE_PAGE + (uint64_t)THREAD_AT * LIVE_PAGE;
        *n = (struct fathom_node_){
            .seq = i + 1, .site_id = 1 + i % LIVE_SITES_PER_PAGE, .count = 1,
            .total = i <= NODES / 2 ? NODES - i : 1, .label = (uint16_t)(1 + i / 64 % 1000),
            .backend = (uint16_t)(1 + i / 64000), .hist = LIVE_PAGE + (uint64_t)HIST_AT * LIVE_PAGE };
        if (i)
            n->parent = (void *)(uintptr_t)(LIVE_PAGE + ((unsigned char *)huge_node(up) - data));
    }
    return data;
}

/* Sorting siblings by insertion, or walking to the root for each row, would take 30 billion steps,
 * and a histogram for each row 2 GB. */
TEST(limits_regions_are_read_in_time_that_grows_with_their_size)
{
    unsigned char *data = huge_region();
    struct import_input in = { .data = data, .size = (size_t)HUGE_PAGES * LIVE_PAGE,
                               .path = "test" };
    struct profile *p = profile_new();
    struct zone_rows r;
    uint32_t n = 0, with_hist = 0;

    allow(60, 4000);
    CHECK_EQ(zone_rows_read(&r, data, in.size, false), 0);
    CHECK_EQ(r.n, NODES);
    CHECK_EQ(r.view.bad, 0);
    for (uint32_t i = r.row[0].child; i != LIVE_NO_NODE; i = r.row[i].next, n++)
        CHECK(r.row[i].next == LIVE_NO_NODE || r.row[i].total >= r.row[r.row[i].next].total);
    CHECK_EQ(n, NODES / 2);
    for (uint32_t i = 0; i < r.n; i++)
        with_hist += r.row[i].hist != NULL;
    CHECK_EQ(with_hist, 1);
    zone_rows_free(&r);
    CHECK_EQ(format_find("live")->import(&in, profile_sink(p), NULL), 0);
    CHECK(p->stack.n >= NODES / 2);
    CHECK(strstr(p->cut, "lack the frames in the middle"));
    profile_free(p);
    free(data);
}
