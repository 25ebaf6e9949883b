/* test_zone_rows.c - the exact rows of a hand-made region, and the profile made from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/formats.h"
#include "live_region.h"
#include "profile/profile.h"
#include "region/region.h"
#include "test.h"
#include "zones/zone_rows.h"

static struct zone_rows r;

static void read_rows(bool per_thread)
{
    CHECK_EQ(zone_rows_read(&r, live_region(), REGION_BYTES, per_thread), 0);
    CHECK_EQ(r.view.bad, 0);
}

static const struct zone_row *row(const char *name)
{
    for (uint32_t i = 0; i < r.n; i++)
        if (!strcmp(r.row[i].name, name))
            return &r.row[i];
    test_fail(__FILE__, __LINE__, "no row %s", name);
}

static void check_near(int line, double x, double want)
{
    if (!(x - want < 1e-6 && want - x < 1e-6))
        test_fail(__FILE__, line, "%.9g is not %.9g", x, want);
}
#define CHECK_NEAR(x, want) check_near(__LINE__, x, want)

TEST(zone_rows_sum_threads_and_subtract_the_calibration)
{
    const struct zone_row *work, *leaf;

    read_rows(false);
    work = row("work");
    leaf = row("leaf");
    CHECK_EQ(work->count, 15);
    CHECK_EQ(leaf->count, 120);
    CHECK_NEAR(leaf->raw_total, 40000);
    CHECK_NEAR(leaf->total, 40000 - 120 * 10);
    CHECK_NEAR(leaf->self, 38800);
    CHECK_NEAR(work->raw_total, 150000);
    CHECK_NEAR(work->total, 150000 - 15 * 10 - 120 * 24);
    CHECK_NEAR(work->self, 146970 - 38800);
    CHECK_NEAR(work->mean, 9798);
    CHECK_EQ(work->threads, 3);
    CHECK_EQ(r.n_threads, 3);
    zone_rows_free(&r);
}

TEST(zone_rows_take_minimum_and_maximum_over_all_threads)
{
    read_rows(false);
    CHECK_NEAR(row("work")->min, 300 - 10);
    CHECK_NEAR(row("work")->max, 40000 - 10);
    CHECK_NEAR(row("work")->first, 501 - 10);
    CHECK_NEAR(row("work")->thread_max, 100000);
    zone_rows_free(&r);
}

TEST(zone_rows_find_percentiles_inside_their_bucket)
{
    const struct zone_row *leaf;

    read_rows(false);
    leaf = row("leaf"); /* 90 in [288, 304), 20 records in [496, 512), 10 in [992, 1024) */
    CHECK_NEAR(leaf->p50, 288 + 16 * 60 / 90.0 - 10);
    CHECK_NEAR(leaf->p90, 496 + 16 * 18 / 20.0 - 10);
    CHECK_NEAR(leaf->p99, 1010 - 10); /* no more than the longest call */
    CHECK_NEAR(zone_percentile(leaf, 0.75), 304);
    zone_rows_free(&r);
}

TEST(zone_rows_scale_sampled_calls_to_all_calls)
{
    const struct zone_row *w;

    read_rows(false);
    w = row("sampled");
    CHECK_EQ(w->count, 100);
    CHECK_EQ(w->untimed, 90);
    CHECK_NEAR(w->raw_total, 50000);
    CHECK_NEAR(w->total, 50000 - 100 * 10);
    CHECK_NEAR(w->mean, 490);
    zone_rows_free(&r);
}

TEST(zone_rows_count_what_was_dropped_by_header_threads_and_pages)
{
    read_rows(false);
    CHECK_EQ(r.lost[FATHOM_LOST_TRACE], 3 + 4 + 2);
    CHECK_EQ(r.lost[FATHOM_LOST_NODE], 2);
    CHECK_EQ(r.lost[FATHOM_LOST_SIGNAL], 0);
    CHECK_EQ(r.calls, 15 + 120 + 10 + 10 + 2 + 3);
    CHECK_NEAR(r.overhead_ns, (15 + 120 + 10 + 2 + 3) * 24 + 10 * 40);
    zone_rows_free(&r);
}

TEST(zone_rows_have_every_kind_of_site)
{
    read_rows(false);
    CHECK_NEAR(row("precise")->total, 5000 - 10 * 12);
    CHECK_NEAR(row("gauge")->last, 5);
    CHECK_NEAR(row("gauge")->low, -3);
    CHECK_NEAR(row("gauge")->high, 8);
    CHECK_NEAR(row("counter")->bytes, 12);
    CHECK_EQ(row("flow")->count, 1);
    CHECK_NEAR(row("frame")->total, 60000 - 3 * 10);
    CHECK_NEAR(row("frame")->self, 0);
    CHECK_EQ(row("request")->kind, LIVE_CONTEXT);
    CHECK_NEAR(row("inside")->self, 2000);
    CHECK_NEAR(row("request")->total, 2000);
    CHECK_NEAR(row("request")->self, 0);
    CHECK_STR(zone_rows_context(&r, row("inside")->parent), "request");
    zone_rows_free(&r);
}

TEST(zone_rows_count_an_open_zone_to_the_last_tick_known)
{
    read_rows(false); /* the last record ends 500 after the last clock read of the header */
    CHECK_EQ(row("open")->open, 1);
    CHECK_EQ(row("open")->count, 0);
    CHECK_NEAR(row("open")->total, 100500);
    CHECK_NEAR(r.wall_ns, REGION_END + 500 - REGION_START);
    CHECK_NEAR(r.all_ns, 108170 + 38800 + 49000 + 4880 + 2000 + 100500);
    zone_rows_free(&r);
}

TEST(zone_rows_leave_an_open_call_out_of_the_mean)
{
    unsigned char *data = live_region();
    struct fathom_node_ *n = live_region_node(0, "open");

    n->count = 2;
    n->total = 2000;
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_EQ(row("open")->open, 1);
    CHECK_NEAR(row("open")->total, 100500 + 2000 - 2 * 10);
    CHECK_NEAR(row("open")->mean, 990);
    zone_rows_free(&r);
}

TEST(zone_rows_keep_threads_apart_when_asked)
{
    uint32_t works = 0;

    read_rows(true);
    for (uint32_t i = 0; i < r.n; i++)
        if (!strcmp(r.row[i].name, "work")) {
            bool running = !strcmp(r.row[i].thread, "main");

            works++;
            CHECK_EQ(r.row[i].count, running ? 10 : 5);
            CHECK_NEAR(r.row[i].total, running ? 100000 - 100 - 2400 : 50000 - 50 - 480);
        }
    CHECK_EQ(works, 2);
    zone_rows_free(&r);
}

/* Most calls take the minimum or little more: the median is the minimum, at any clock rate. */
TEST(zone_rows_have_no_percentile_below_the_minimum)
{
    for (uint64_t rate = 1; rate <= 200; rate++) {
        unsigned char *data = live_region();
        struct live_header *h = live_region_header();

        h->clock = LIVE_TICKS;
        h->last_ns = REGION_START + (REGION_END - REGION_START) / 3 + rate;
        live_region_node(0, "leaf")->min = live_region_node(1, "leaf")->min = 303;
        CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
        CHECK(row("leaf")->p50 == row("leaf")->min);
        CHECK(row("leaf")->p50 <= row("leaf")->p90);
        zone_rows_free(&r);
    }
}

/* 0.5 ns per tick: every time is halved, and rounding never loses a nanosecond. */
TEST(zone_rows_convert_ticks_to_nanoseconds)
{
    unsigned char *data = live_region();
    struct live_header *h = live_region_header();
    double parts = 0;

    h->clock = LIVE_TICKS;
    h->last_ns = REGION_START + (REGION_END - REGION_START) / 2;
    live_region_node(1, "leaf")->total++;
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_NEAR(row("leaf")->raw_total, 20000.5);
    CHECK_NEAR(row("leaf")->self, 19401); /* 19,400.5, rounded */
    CHECK_NEAR(row("work")->total, row("work")->self + row("leaf")->self);
    for (uint32_t i = 0; i < r.view.n_nodes; i++)
        parts += r.part[i];
    CHECK_NEAR(parts, r.all_ns);
    zone_rows_free(&r);
}

TEST(zone_rows_never_make_a_zone_shorter_than_its_children)
{
    unsigned char *data = live_region();

    live_region_node(0, "work")->total = 1000; /* its leaves took longer */
    live_region_node(1, "work")->total = 0;
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_NEAR(row("work")->self, 0);
    CHECK_NEAR(row("work")->total, row("leaf")->total);
    zone_rows_free(&r);
}

TEST(zone_rows_skip_threads_of_an_earlier_epoch)
{
    unsigned char *data = live_region();

    live_region_thread(0)->epoch--;
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_EQ(row("work")->count, 5);
    CHECK_EQ(r.lost[FATHOM_LOST_TRACE], 3);
    zone_rows_free(&r);
}

/* The address of NODE of thread 0 in the writer's memory. */
static void *address_of_node(const char *name)
{
    struct fathom_node_ *n = live_region_node(0, name), *leaf = live_region_node(0, "leaf");
    struct fathom_node_ *work = live_region_node(0, "work");

    return (char *)leaf->parent + ((char *)n - (char *)work);
}

static struct live_ext *ext_of(unsigned char *data, const char *name)
{
    return (struct live_ext *)(void *)(data + (live_region_node(0, name)->ext -
                                               live_region_header()->base));
}

TEST(zone_rows_subtract_nested_overhead_from_every_enclosing_zone)
{
    unsigned char *data = live_region();

    live_region_node(0, "precise")->parent = address_of_node("leaf");
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_NEAR(row("precise")->total, 4880);
    CHECK_NEAR(row("leaf")->total, 40000 - 120 * 10 - 10 * 40);
    CHECK_NEAR(row("leaf")->self, 38400 - 4880);
    CHECK_NEAR(row("work")->total, 150000 - 15 * 10 - 120 * 24 - 10 * 40);
    CHECK_NEAR(row("work")->self, 146570 - 38400);
    zone_rows_free(&r);
}

TEST(zone_rows_subtract_the_overhead_inside_a_context_from_the_zone_around_it)
{
    unsigned char *data = live_region();

    live_region_node(0, "request")->parent = address_of_node("work");
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_NEAR(row("inside")->total, 2000);
    CHECK_NEAR(row("work")->total, 150000 - 15 * 10 - 120 * 24 - 2 * 24);
    CHECK_NEAR(row("work")->self, 146922 - 38800 - 2000);
    zone_rows_free(&r);
}

TEST(zone_rows_have_the_deviation_of_a_sample)
{
    unsigned char *data = live_region();

    /* ten calls of 500 on average; the sum of squares for a variance of 10,000 with n - 1 = 9 */
    live_region_node(0, "precise")->squares = live_bits(10 * 250000.0 + 9 * 10000.0);
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_NEAR(row("precise")->stddev, 100);
    zone_rows_free(&r);
}

TEST(zone_rows_sum_counters_of_threads_and_take_the_highest_peak)
{
    unsigned char *data = live_region();
    struct live_ext *x = ext_of(data, "sampled");

    x->untimed = 0;
    x->work = live_bits(3);
    x->bytes = live_bits(100);
    x->high = live_bits(20);
    ext_of(data, "gauge")->work = live_bits(4);
    live_region_node(1, "leaf")->ext = live_region_node(0, "sampled")->ext;
    live_region_node(0, "leaf")->ext = live_region_node(0, "gauge")->ext;
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_NEAR(row("leaf")->work, 7);
    CHECK_NEAR(row("leaf")->high, 20);
    CHECK_NEAR(row("leaf")->low, -3);
    CHECK_NEAR(row("leaf")->throughput / (100 / (38800 / 1e9)), 1);
    zone_rows_free(&r);
}

TEST(zone_rows_take_the_lowest_value_of_all_threads_not_zero)
{
    unsigned char *data = live_region();

    ext_of(data, "gauge")->low = live_bits(8);
    ext_of(data, "sampled")->low = live_bits(5);
    live_region_node(0, "leaf")->ext = live_region_node(0, "gauge")->ext;
    live_region_node(1, "leaf")->ext = live_region_node(0, "sampled")->ext;
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_NEAR(row("leaf")->low, 5);
    zone_rows_free(&r);
}

TEST(zone_rows_list_children_by_their_time)
{
    const struct zone_row *up, *w;

    read_rows(false);
    up = &r.row[row("work")->parent];
    w = &r.row[up->child];
    CHECK_STR(w->name, "work");
    for (; w->next != LIVE_NO_NODE; w = &r.row[w->next])
        CHECK(w->total >= r.row[w->next].total);
    zone_rows_free(&r);
}

TEST(zone_rows_count_waiting_for_a_lock_as_time_of_its_zone)
{
    unsigned char *data = live_region();
    struct live_site *site =
        (void *)(data + (size_t)live_region_header()->site_page[0] * LIVE_PAGE);

    site[live_region_node(0, "sampled")->site_id - 1].kind = LIVE_LOCK_WAIT;
    CHECK_EQ(zone_rows_read(&r, data, REGION_BYTES, false), 0);
    CHECK_EQ(row("sampled")->kind, LIVE_LOCK_WAIT);
    CHECK_NEAR(row("sampled")->self, 49000);
    zone_rows_free(&r);
}

/* ---- As a profile ---- */

static struct profile *import_made(const unsigned char *data)
{
    struct import_input in = { data, REGION_BYTES, "made", false };
    struct profile *p = profile_new();
    struct err e = { 0 };

    CHECK(format_recognize(&in) == format_find("live"));
    CHECK_EQ(format_find("live")->import(&in, profile_sink(p), &e), 0);
    return p;
}

static struct profile *import_region(void)
{
    return import_made(live_region());
}

static const char *leaf_name(const struct profile *p, uint32_t stack)
{
    uint32_t frame = p->stack.v[stack - 1].frame;

    return profile_string(p, p->function.v[p->location.v[p->chain.v[frame - 1].first].function - 1]
                                 .name);
}

static const struct profile_sample *sample_of(const struct profile *p, const char *thread,
                                      const char *zone)
{
    for (size_t i = 0; i < p->sample.n; i++)
        if (!strcmp(leaf_name(p, p->sample.v[i].stack), zone) &&
            !strcmp(profile_string(p, p->thread.v[p->sample.v[i].thread - 1].name), thread))
            return &p->sample.v[i];
    test_fail(__FILE__, __LINE__, "no sample of %s in %s", zone, thread);
}

TEST(zones_become_samples_of_each_thread_that_add_up_to_the_rows)
{
    struct profile *p = import_region();

    CHECK_EQ(p->metric.n, 1);
    CHECK_EQ(p->metric.v[0].flags, METRIC_EXACT | METRIC_WHOLE);
    CHECK_EQ(sample_of(p, "main", "work")->weight, 68835); /* 108,170 * 70,000 / 110,000 */
    CHECK_EQ(sample_of(p, "pool", "work")->weight, 108170 - 68835);
    CHECK_EQ(sample_of(p, "main", "leaf")->weight, 29100);
    CHECK_EQ(sample_of(p, "pool", "leaf")->weight, 9700);
    CHECK_EQ(sample_of(p, "main", "leaf")->count, 100);
    CHECK_EQ(sample_of(p, "main", "sampled")->weight, 49000);
    CHECK_EQ(sample_of(p, "main", "sampled")->count, 100);
    CHECK_EQ(sample_of(p, "main", "open")->weight, 100500);
    CHECK_EQ(sample_of(p, "main", "open")->count, 1);
    CHECK_EQ(p->sample.n, 8);
    CHECK_STR(profile_meta(p, "quality.dropped"), "11");
    profile_free(p);
}

TEST(trace_records_become_spans_and_counters)
{
    struct profile *p = import_region();
    const struct span *s;

    CHECK_EQ(p->span.n, 21);
    s = &p->span.v[0];
    CHECK_STR(profile_string(p, s->name), "leaf");
    CHECK_EQ(s->start_ns, 2000);
    CHECK_EQ(s->duration_ns, 500);
    CHECK_EQ(p->thread.v[s->thread - 1].tid, 103);
    CHECK_STR(leaf_name(p, s->stack), "leaf");
    CHECK_EQ(p->counter.n, 1);
    CHECK_STR(profile_string(p, p->counter.v[0].name), "gauge");
    CHECK_EQ(p->counter.v[0].time_ns, 30000);
    CHECK_EQ(p->counter.v[0].value, 5);
    profile_free(p);
}

/* A number that the kernel reuses, or a thread that changes its name. */
TEST(threads_of_one_number_with_different_names_have_their_own_spans)
{
    unsigned char *data = live_region();
    struct live_chunk *last = NULL;
    struct profile *p;

    for (size_t page = 0; page < REGION_PAGES; page++)
        if (data[LIVE_PAGE + page] == LIVE_CHUNK)
            last = (void *)(data + page * LIVE_PAGE); /* of "main" */
    last->tid = 103; /* that of "pool", whose chunk is the one before */
    last->trace = 1;
    p = import_made(data);
    for (size_t i = 0; i < p->span.n; i++) {
        const struct thread *t = &p->thread.v[p->span.v[i].thread - 1];
        bool of_main = strcmp(profile_string(p, p->span.v[i].name), "work") == 0;

        CHECK_EQ(t->tid, 103);
        CHECK_STR(profile_string(p, t->name), of_main ? "main" : "pool");
    }
    CHECK_EQ(p->span.n, 23);
    profile_free(p);
}

TEST(the_frame_of_a_zone_has_the_line_of_its_site)
{
    struct profile *p = import_region();

    for (size_t i = 0; i < p->frame.n; i++) {
        struct location at = p->location.v[p->chain.v[i].first];

        CHECK(at.line >= 10);
        CHECK_EQ(at.line, p->function.v[at.function - 1].line);
    }
    CHECK_EQ(p->frame.n, 6);
    profile_free(p);
}

TEST(a_flow_event_is_a_span_without_a_duration_with_its_number_as_a_tag)
{
    struct profile *p = import_region();
    const struct span *s = &p->span.v[20];

    CHECK_STR(profile_string(p, s->name), "flow");
    CHECK_EQ(s->start_ns, 40000);
    CHECK_EQ(s->duration_ns, 0);
    CHECK_EQ(s->stack, 0);
    CHECK(s->tags != 0);
    CHECK_STR(profile_string(p, p->tag.v[s->tags - 1].key), TAG_FLOW);
    CHECK_EQ(p->tag.v[s->tags - 1].value, 77);
    CHECK_EQ(p->tag.v[s->tags - 1].parent, 0);
    profile_free(p);
}

TEST(a_zone_is_tagged_with_its_context_backend_and_label)
{
    struct profile *p = import_region();
    const struct tag *t;

    CHECK_EQ(sample_of(p, "main", "work")->tags, 0);
    t = &p->tag.v[sample_of(p, "main", "inside")->tags - 1];
    CHECK_STR(profile_string(p, t->key), TAG_CONTEXT);
    CHECK_STR(profile_string(p, t->text), "request");
    t = &p->tag.v[sample_of(p, "main", "precise")->tags - 1];
    CHECK_STR(profile_string(p, t->key), TAG_LABEL);
    CHECK_STR(profile_string(p, t->text), "big");
    t = &p->tag.v[t->parent - 1];
    CHECK_STR(profile_string(p, t->key), TAG_BACKEND);
    CHECK_STR(profile_string(p, t->text), "cpu");
    CHECK_EQ(t->parent, 0);
    profile_free(p);
}

static uint32_t one_process(struct region_zones *z, const struct live_header *h)
{
    return 1;
}

static uint32_t one_thread(struct region_zones *z, const struct live_header *h, uint32_t tid,
                           const char *name)
{
    return 1;
}

TEST(zone_rows_of_several_regions_add_up_losses_and_overhead)
{
    struct sink nobody = { 0 };
    struct intern in;
    struct region_zones z = { .in = &in, .thread = one_thread, .process = one_process };
    struct err e = { 0 };

    intern_init(&in, &nobody);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(region_import(&z, live_region(), REGION_BYTES, &e), 0);
    CHECK_EQ(z.regions, 2);
    CHECK_EQ(z.dropped, 2 * (9 + 2));
    CHECK_EQ(z.overhead_ns, 2 * 4000);
    intern_release(&in);
}
