/* test_col_rings.c - simulated perf rings as an event source, without a kernel.  The same records
 * as a perf.data file must give the same profile.  SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "collect/col_rings.h"
#include "collect/col_session.h"
#include "formats/formats.h"
#include "perf_build.h"
#include "perf_text.h"
#include "store/store.h"
#include "store/store_dump.h"
#include "test.h"

#define PROG "/nonexistent/prog"
#define LIB "/nonexistent/libx.so"
#define CHAIN(...) ((const uint64_t[]){ __VA_ARGS__, 0 })
enum { CODE = 0x400000, PAGE = 0x1000, RING = 1 << 16, OUT = PERF_RECORD_MISC_SWITCH_OUT };

/* Simulated rings for PB_CPUS CPUs. */
struct rings {
    struct perf_event_mmap_page page[2 * PB_CPUS];
    struct col_ring samples[PB_CPUS], side[PB_CPUS];
    struct col_events events;
    struct col_plan plan;
    struct col_perf perf;
    struct col_look look; /* unused */
    struct col_rings rings;
    struct col_sources sources;
};

static void ring_init(struct col_ring *r, struct perf_event_mmap_page *page)
{
    *r = (struct col_ring){ .page = page, .data = mem_zalloc(RING), .size = RING,
                            .scratch = mem_alloc(1 << 16), .fd = -1 };
    /* Start near the end of the ring, so that an early record wraps around. */
    r->head = r->tail = r->released = page->data_head = page->data_tail = RING - 40;
}

static void rings_init(struct rings *x, struct perf_engine *e)
{
    memset(x, 0, sizeof *x);
    for (size_t i = 0; i < PB_CPUS; i++) {
        ring_init(&x->samples[i], &x->page[2 * i]);
        ring_init(&x->side[i], &x->page[2 * i + 1]);
    }
    x->plan.events = &x->events;
    x->perf = (struct col_perf){ .plan = &x->plan, .n_cpus = PB_CPUS, .samples = x->samples,
                                 .side = x->side, .engine = e, .no_lost = true };
    col_rings_init(&x->rings, &x->perf, e, &x->look, 0, 0);
    x->sources.engine = e;
    vec_push(&x->sources.v, col_rings_source(&x->rings));
}

static void rings_release(struct rings *x)
{
    for (size_t i = 0; i < 2 * PB_CPUS; i++) {
        struct col_ring *r = i % 2 ? &x->side[i / 2] : &x->samples[i / 2];

        free((void *)r->data);
        free(r->scratch);
    }
    col_sources_release(&x->sources);
}

/* Write to a ring as the kernel does. */
static void put(struct col_ring *r, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)r->data)[(r->page->data_head + i) % RING] = bytes[i];
    r->page->data_head += n;
}

/* Write records FROM to TO - 1 to the rings of their CPUs. */
static void put_records(struct rings *x, const struct pb *b, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct pb_record *r = &b->record.v[i];

        put(r->side ? &x->side[r->cpu] : &x->samples[r->cpu], b->bytes.data + r->at, r->n);
    }
}

struct run {
    struct pb b;
    struct profile *profile;
    struct intern in;
    struct perf_engine e;
    struct rings rings;
    struct buf text;
};

static void start(struct run *r, struct sink *out)
{
    memset(r, 0, sizeof *r);
    pb_init(&r->b);
    r->profile = out ? NULL : profile_new();
    intern_init(&r->in, out ? out : profile_sink(r->profile));
    perf_engine_init(&r->e, &r->in, &perf_host_none);
    pb_attrs(&r->b, &r->e);
    rings_init(&r->rings, &r->e);
}

static void release(struct run *r)
{
    rings_release(&r->rings);
    perf_engine_release(&r->e);
    intern_release(&r->in);
    profile_free(r->profile);
    buf_release(&r->text);
    pb_release(&r->b);
}

static const char *told(struct run *r)
{
    r->text.n = 0;
    perf_text(r->profile, &r->text);
    return buf_text(&r->text);
}

/* Samples on three CPUs whose mapping, name and fork records are in rings of other CPUs. */
static void on_three_cpus(struct pb *b)
{
    b->cpu = 2;
    pb_comm(b, 1, 10, 10, "prog", true);
    b->cpu = 1;
    pb_map(b, 2, 10, CODE, PAGE, PAGE, PROG);
    b->cpu = 0;
    pb_chain(b, 5000000, 10, CHAIN(CODE + 3));
    b->cpu = 2;
    pb_chain(b, 3000000, 10, CHAIN(CODE + 1));
    b->cpu = 1;
    pb_chain(b, 4000000, 10, CHAIN(CODE + 2));
    b->cpu = 0;
    pb_map(b, 4500000, 10, CODE, PAGE, PAGE, LIB);
}

TEST(col_rings_merge_the_samples_of_all_cpus_by_time)
{
    struct run r;

    start(&r, NULL);
    on_three_cpus(&r.b);
    put_records(&r.rings, &r.b, 0, r.b.record.n);
    CHECK(col_sources_drain(&r.rings.sources, 1000000000) > 0);
    CHECK_STR(told(&r), "10/10 cpu 2000000+1000000 1000000 prog+1001\n"
                        "10/10 cpu 3000000+1000000 1000000 prog+1002\n"
                        "10/10 cpu 4000000+1000000 1000000 libx.so+1003\n");
    for (size_t i = 0; i < PB_CPUS; i++) /* all space was released */
        CHECK_EQ(r.rings.samples[i].page->data_tail, r.rings.samples[i].page->data_head);
    release(&r);
}

TEST(col_rings_keep_newer_records_for_the_next_drain)
{
    struct run r;

    start(&r, NULL);
    on_three_cpus(&r.b);
    put_records(&r.rings, &r.b, 0, r.b.record.n);
    col_sources_drain(&r.rings.sources, 4200000);
    CHECK_STR(told(&r), "10/10 cpu 2000000+1000000 1000000 prog+1001\n"
                        "10/10 cpu 3000000+1000000 1000000 prog+1002\n");
    pb_chain(&r.b, 6000000, 10, CHAIN(CODE + 4));
    put_records(&r.rings, &r.b, r.b.record.n - 1, r.b.record.n);
    col_sources_finish(&r.rings.sources, 7000000);
    CHECK_EQ(r.profile->sample.n, 4);
    CHECK_EQ(r.profile->time.v[3].start_ns, 5000000);
    release(&r);
}

TEST(col_rings_apply_a_switch_once_it_has_settled)
{
    struct run r;

    start(&r, NULL);
    pb_comm(&r.b, 1, 10, 10, "prog", true);
    pb_switch(&r.b, 1000000, 10, 10, OUT);
    pb_switch(&r.b, 5000000, 10, 10, 0);
    put_records(&r.rings, &r.b, 0, r.b.record.n);
    col_sources_drain(&r.rings.sources, 24000000); /* an earlier sample may still arrive */
    CHECK_EQ(r.profile->sample.n, 0);
    col_sources_drain(&r.rings.sources, 25000000);
    CHECK_STR(told(&r), "10/10 wait 1000000+4000000 4000000  wait=unknown stack=guessed\n");
    release(&r);
}

TEST(col_rings_count_lost_and_invalid_records)
{
    static const unsigned char nonsense[16] = { PERF_RECORD_SAMPLE, 0, 0, 0, 0, 0, 16, 0 };
    struct run r;

    start(&r, NULL);
    pb_lost(&r.b, 100, 4);
    pb_lost_samples(&r.b, 200, 2);
    pb_throttle(&r.b, 300);
    put_records(&r.rings, &r.b, 0, 3);
    put(&r.rings.samples[1], nonsense, sizeof nonsense);
    put(&r.rings.side[0], r.b.bytes.data + r.b.record.v[0].at, r.b.record.v[0].n);
    col_sources_finish(&r.rings.sources, 1000);
    col_sources_quality(&r.rings.sources, profile_sink(r.profile));
    CHECK_STR(profile_meta(r.profile, "quality.lost"), "6");
    CHECK_STR(profile_meta(r.profile, "quality.throttled"), "1");
    CHECK_STR(profile_meta(r.profile, "quality.unreadable"), "1");
    CHECK_STR(profile_meta(r.profile, "quality.records_lost"), "4");
    CHECK_STR(profile_meta(r.profile, "quality.ring_bytes"), "65536");
    release(&r);
}

TEST(col_rings_abandon_a_ring_with_invalid_records)
{
    static const unsigned char longer[8] = { PERF_RECORD_SAMPLE, 0, 0, 0, 0, 0, 0, 16 };
    struct run r;

    start(&r, NULL);
    put(&r.rings.samples[0], longer, sizeof longer); /* claims 4,096 bytes, of which 8 exist */
    pb_comm(&r.b, 1, 10, 10, "prog", true);
    r.b.cpu = 1;
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE));
    put_records(&r.rings, &r.b, 0, 2);
    col_sources_finish(&r.rings.sources, 0);
    CHECK_STR(told(&r), "10/10 cpu 1000000+1000000 1000000 ?+400000\n");
    release(&r);
}

TEST(col_rings_use_the_lost_count_of_the_kernel)
{
    static const uint64_t counted[2] = { 1000, 9 }; /* count of the event, lost records */
    int ends[2];
    struct run r;

    CHECK(pipe(ends) == 0);
    CHECK_EQ(write(ends[1], counted, sizeof counted), sizeof counted);
    start(&r, NULL);
    pb_lost(&r.b, 100, 3);
    pb_lost_samples(&r.b, 101, 1);
    put_records(&r.rings, &r.b, 0, 2);
    vec_push(&r.rings.perf.fd[COL_SAMPLING], ends[0]);
    r.rings.perf.no_lost = false;
    col_sources_finish(&r.rings.sources, 1000);
    CHECK_EQ(r.e.counts.lost, 9);
    vec_release(&r.rings.perf.fd[COL_SAMPLING]);
    release(&r);
}

TEST(col_rings_ask_for_larger_copies_when_one_in_a_hundred_is_cut)
{
    struct run r;

    start(&r, NULL);
    vec_push(&r.rings.perf.fd[COL_SAMPLING_BIG], -1);
    r.e.stacks.counts = (struct perf_stack_counts){ .all = 100, .short_copies = 1 };
    col_sources_drain(&r.rings.sources, 1000);
    CHECK(!r.rings.perf.big);
    r.e.stacks.counts.short_copies = 2;
    col_sources_drain(&r.rings.sources, 2000);
    CHECK(r.rings.perf.big);
    vec_release(&r.rings.perf.fd[COL_SAMPLING_BIG]);
    release(&r);
}

TEST(col_rings_have_a_descriptor_for_each_ring)
{
    struct pollfd fds[2 * PB_CPUS];
    struct run r;

    start(&r, NULL);
    r.rings.side[1].page = NULL; /* an offline CPU */
    r.rings.samples[2].fd = 7;
    CHECK_EQ(col_sources_poll(&r.rings.sources, NULL, 0), 2 * PB_CPUS - 1);
    CHECK_EQ(col_sources_poll(&r.rings.sources, fds, ARRAY_LEN(fds)), 2 * PB_CPUS - 1);
    CHECK_EQ(fds[3].fd, 7);
    CHECK_EQ(fds[3].events, POLLIN);
    release(&r);
}

TEST(col_rings_judge_copies_by_the_last_second_and_by_enough_stacks)
{
    struct perf_stack_counts *c;
    struct run r;

    start(&r, NULL);
    vec_push(&r.rings.perf.fd[COL_SAMPLING_BIG], -1);
    c = &r.e.stacks.counts;
    *c = (struct perf_stack_counts){ .all = 19, .short_copies = 19 };
    col_sources_drain(&r.rings.sources, 1000);
    CHECK(!r.rings.perf.big);
    *c = (struct perf_stack_counts){ .all = 2000, .short_copies = 19 };
    col_sources_drain(&r.rings.sources, 1000000000);
    CHECK(!r.rings.perf.big);
    *c = (struct perf_stack_counts){ .all = 2100, .short_copies = 21 };
    col_sources_drain(&r.rings.sources, 1000001000);
    CHECK(r.rings.perf.big);
    vec_release(&r.rings.perf.fd[COL_SAMPLING_BIG]);
    release(&r);
}

TEST(col_rings_sample_few_switches_where_there_are_thousands_a_second)
{
    struct run r;

    start(&r, NULL);
    r.rings.plan.switch_stacks = true;
    r.e.waits.switches = 600; /* in a quarter of a second */
    col_sources_drain(&r.rings.sources, 250000000);
    CHECK(r.rings.perf.few);
    r.e.waits.switches += 400;
    col_sources_drain(&r.rings.sources, 500000000);
    CHECK(r.rings.perf.few); /* not yet half as many */
    r.e.waits.switches += 200;
    col_sources_drain(&r.rings.sources, 750000000);
    CHECK(!r.rings.perf.few);
    release(&r);
}

TEST(col_rings_notice_a_burst_of_switches_at_once)
{
    struct run r;

    start(&r, NULL);
    r.rings.plan.switch_stacks = true;
    r.e.waits.switches = 39; /* too few to judge */
    col_sources_drain(&r.rings.sources, 10000000);
    CHECK(!r.rings.perf.few);
    r.e.waits.switches = 40;
    col_sources_drain(&r.rings.sources, 10000000);
    CHECK(r.rings.perf.few);
    release(&r);
}

TEST(col_rings_look_at_waiting_threads_soon_while_threads_switch)
{
    struct run r;

    start(&r, NULL);
    r.rings.look = (struct col_look){ .waits = &r.e.waits };
    r.e.waits.switches = 1;
    CHECK_EQ(col_sources_drain(&r.rings.sources, 100000000), 10);
    CHECK_EQ(col_sources_drain(&r.rings.sources, 1100000000), 10);
    CHECK_EQ(col_sources_drain(&r.rings.sources, 1100000001), 50);
    pb_comm(&r.b, 2000000000, 10, 10, "prog", true);
    put_records(&r.rings, &r.b, 0, 1);
    col_sources_drain(&r.rings.sources, 2001999999);
    CHECK_EQ(r.profile->process.n, 0);
    col_sources_drain(&r.rings.sources, 2002000000);
    CHECK_EQ(r.profile->process.n, 1); /* applied after 2 ms */
    release(&r);
}

TEST(col_rings_start_to_record_at_the_time_asked_for)
{
    struct run r;

    start(&r, NULL);
    r.rings.rings.begin_ns = 5000;
    col_sources_drain(&r.rings.sources, 4999);
    CHECK_EQ(r.rings.rings.begin_ns, 5000);
    col_sources_drain(&r.rings.sources, 5000);
    CHECK_EQ(r.rings.rings.begin_ns, 0);
    release(&r);
}

/* --- a second source --- */

/* Records as code inside the target writes them: registers and a copy of the stack, which has the
 * return addresses CODE + 0x200 and CODE + 0x300 and the frame pointers of both. */
static const uint64_t copied_stack[] = { 0, 0x8018, CODE + 0x200, 0, CODE + 0x400 };

struct fake {
    struct perf_record record[3];
    size_t n, given;
    uint64_t until_ns;
    bool finished, released;
    int settled;
};

static void fake_drain(void *with, uint64_t now_ns)
{
    ((struct fake *)with)->until_ns = now_ns;
}

static const struct perf_record *fake_next(void *with)
{
    struct fake *f = with;

    return f->given < f->n && f->record[f->given].time_ns <= f->until_ns ? &f->record[f->given++]
                                                                         : NULL;
}

static int fake_settle(void *with, uint64_t now_ns)
{
    return ++((struct fake *)with)->settled, 7;
}

static void fake_finish(void *with, uint64_t stop_ns)
{
    ((struct fake *)with)->finished = true;
    ((struct fake *)with)->until_ns = UINT64_MAX;
}

static void fake_quality(void *with, struct sink *out)
{
    CHECK(((struct fake *)with)->finished);
    sink_meta(out, "quality.fake", "yes");
}

static void fake_release(void *with)
{
    ((struct fake *)with)->released = true;
}

static struct perf_record fake_sample(struct perf_attr *a, uint64_t time_ns, uint64_t pc)
{
    return (struct perf_record){
        .type = PERF_RECORD_SAMPLE, .attr = a, .pid = 10, .tid = 10, .cpu = -1, .period = 48,
        .time_ns = time_ns, .count = 3, .has_regs = true, .has_stack = true,
        .regs = { .pc = pc, .sp = 0x8000, .fp = 0x8008 },
        .stack = { 0x8000, (const unsigned char *)copied_stack, sizeof copied_stack } };
}

TEST(col_sources_merge_records_of_the_rings_and_of_code_in_the_target)
{
    struct fake f = { .n = 2 };
    struct perf_attr *heap;
    struct run r;

    start(&r, NULL);
    r.e.modules.host = &pb_host_with_program;
    on_three_cpus(&r.b);
    perf_engine_attr(&r.e, &(struct perf_attr){ .name = "alloc", .unit = "bytes", .period = 1 });
    heap = r.e.attrs.v.v[r.e.attrs.v.n - 1];
    f.record[0] = fake_sample(heap, 3500000, CODE + 0x10);
    f.record[1] = fake_sample(heap, 4600000, CODE + 0x11); /* in LIB, mapped at 4500000 */
    f.record[1].tags = intern_tag(&r.in, 0, "size", "large");
    vec_push(&r.rings.sources.v,
             ((struct col_source){ .with = &f, .drain = fake_drain, .next = fake_next,
                                   .settle = fake_settle, .finish = fake_finish,
                                   .quality = fake_quality, .release = fake_release }));
    put_records(&r.rings, &r.b, 0, r.b.record.n);
    CHECK_EQ(col_sources_drain(&r.rings.sources, 4200000), 7);
    CHECK_EQ(f.settled, 1);
    CHECK_EQ(f.given, 1);
    CHECK_EQ(r.profile->sample.n, 3);
    col_sources_finish(&r.rings.sources, 7000000);
    CHECK_STR(told(&r), "10/10 cpu 2000000+1000000 1000000 prog+1001\n"
                        "10/10 alloc 3500000+0 48 prog+1400r;prog+1200r;prog+1010\n"
                        "10/10 cpu 3000000+1000000 1000000 prog+1002\n"
                        "10/10 alloc 4600000+0 48 libx.so+1400r;libx.so+1200r;libx.so+1011 size=large\n"
                        "10/10 cpu 4000000+1000000 1000000 libx.so+1003\n");
    CHECK_EQ(r.profile->sample.v[1].count, 3);
    CHECK_EQ(r.profile->sample.v[0].count, 1);
    CHECK_STR(profile_string(r.profile, r.profile->metric.v[1].unit), "bytes");
    col_sources_quality(&r.rings.sources, profile_sink(r.profile));
    CHECK_STR(profile_meta(r.profile, "quality.fake"), "yes");
    CHECK_STR(profile_meta(r.profile, "quality.samples"), "5");
    release(&r);
    CHECK(f.released);
}

/* Zones are read when the target has ended, after the engine has finished. */
TEST(col_sources_finish_sources_in_the_target_last)
{
    struct fake f = { 0 };
    struct run r;

    start(&r, NULL);
    vec_push(&r.rings.sources.v,
             ((struct col_source){ .with = &f, .finish = fake_finish, .in_target = true }));
    CHECK_EQ(col_sources_drain(&r.rings.sources, 1000), COL_POLL_MS);
    col_sources_finish(&r.rings.sources, 7000000);
    CHECK(r.rings.rings.finished && !f.finished);
    col_sources_finish_in_target(&r.rings.sources, 7000000);
    CHECK(f.finished);
    release(&r);
}

static void late_drain(void *with, uint64_t now_ns)
{
    struct fake *f = with;

    f->n = f->finished;
    f->until_ns = now_ns;
}

TEST(col_sources_finish_with_the_records_that_were_written_meanwhile)
{
    struct fake f = { 0 };
    struct run r;

    start(&r, NULL);
    on_three_cpus(&r.b);
    put_records(&r.rings, &r.b, 0, r.b.record.n);
    f.record[0] = fake_sample(r.e.attrs.v.v[0], 7000001, CODE + 0x10); /* after the stop */
    vec_push(&r.rings.sources.v,
             ((struct col_source){ .with = &f, .drain = late_drain, .next = fake_next,
                                   .finish = fake_finish }));
    col_sources_drain(&r.rings.sources, 6000000);
    CHECK_EQ(r.profile->sample.n, 3);
    col_sources_finish(&r.rings.sources, 7000000);
    CHECK_EQ(r.profile->sample.n, 4);
    release(&r);
}

static size_t poll_one(void *with, struct pollfd *v, size_t cap)
{
    if (cap)
        *v = (struct pollfd){ .fd = *(int *)with, .events = POLLIN };
    return 1;
}

static int settle_in(void *with, uint64_t now_ns)
{
    (void)now_ns;
    return *(int *)with;
}

TEST(col_sources_have_one_list_of_descriptors_and_the_shortest_delay)
{
    struct col_sources s = { 0 };
    struct pollfd fds[3] = { { 0 }, { 0 }, { .fd = -2 } };
    int a = 7, b = 5, c = 9;

    for (size_t i = 0; i < 3; i++)
        vec_push(&s.v, ((struct col_source){ .with = i == 0 ? &a : i == 1 ? &b : &c,
                                             .poll = poll_one, .settle = settle_in }));
    CHECK_EQ(col_sources_poll(&s, fds, 2), 3);
    CHECK_EQ(fds[0].fd, 7);
    CHECK_EQ(fds[1].fd, 5);
    CHECK_EQ(fds[2].fd, -2); /* beyond the capacity */
    CHECK_EQ(col_sources_drain(&s, 1000), 5);
    col_sources_release(&s);
}

/* --- both sources --- */

/* Threads, a fork, a library that is unloaded, walks, truncated stacks, waits, lost records. */
static void much_happens(struct pb *b)
{
    static const uint64_t stack[] = { 0, 0x8020, CODE + 0x200, 0, 0x8040, CODE + 0x300, 0, 7,
                                      0, CODE + 0x400 };

    pb_stacks(b);
    pb_comm(b, 1, 10, 10, "prog", true);
    pb_map(b, 2, 10, CODE, PAGE, PAGE, PROG);
    pb_map(b, 3, 10, CODE + 2 * PAGE, PAGE, 0, "//anon");
    pb_fork(b, 100, 10, 10, 11, 10);
    pb_comm(b, 101, 10, 11, "worker", false);
    for (uint32_t i = 0; i < 60; i++) {
        uint64_t time = 1000000 + i * 100000;

        b->cpu = (int)(i * 7 % PB_CPUS);
        pb_sample(b, &(struct pb_sample){ .time = time, .pid = i < 40 ? 10 : 20 - i % 2 * 10,
                                          .event = i % 5 == 0, .tid = i % 4 == 1 && i < 40 ? 11 : 0,
                                          .pc = CODE + i % 3 * PAGE + i, .sp = 0x8000,
                                          .fp = 0x8008, .stack = stack,
                                          .n_stack = i % 6 == 5 ? 4 : 10, .kernel = i % 8 == 7,
                                          .chain = i % 8 == 7 ? CHAIN((uint64_t)PERF_CONTEXT_KERNEL,
                                                                      0xffffffff81000000u + i)
                                                              : NULL });
        if (i % 9 == 4)
            pb_switch(b, time + 1000, 10, 10,
                      i % 2 ? OUT : OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
        if (i % 9 == 5)
            pb_switch(b, time - 10, 10, 10, 0);
        if (i == 20)
            pb_map(b, time + 1, 10, CODE + PAGE, PAGE, 0, LIB);
        if (i == 30)
            pb_map(b, time + 1, 10, CODE + PAGE, PAGE, 0, "/nonexistent/liby.so");
        if (i == 38)
            pb_fork(b, time + 1, 20, 10, 20, 10);
        if (i == 50)
            pb_comm(b, time + 1, 20, 20, "other", true);
    }
    pb_lost(b, 7500000, 3);
    pb_throttle(b, 7500001);
    pb_exit(b, 7600000, 10, 11);
    pb_switch(b, 7700000, 10, 10, OUT);
    pb_exit(b, 7800000, 20, 20);
}

static int by_time(const void *a, const void *b)
{
    const struct pb_record *x = a, *y = b;

    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static bool is_kept(const char *line)
{
    static const char *const facts[] = { "quality.samples", "quality.lost", "quality.throttled",
                                         "quality.stacks", "quality.complete", "quality.joined",
                                         "quality.truncated", "quality.waits" };

    if (strncmp(line, "end type=1 ", 11) == 0) /* the number of facts */
        return false;
    if (strncmp(line, "meta", 4) != 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        if (strstr(line, facts[i]))
            return true;
    return false;
}

/* Each source has facts that the other lacks, such as the host or the ring size. */
static void text_of_records(char *lines, struct buf *text)
{
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"))
        if (is_kept(line))
            buf_printf(text, "%s\n", line);
}

/* The file at PATH as text. */
static void dump(const char *path, struct buf *text)
{
    struct out out = out_memory();
    struct err e = { 0 };
    struct stat st;
    FILE *f = fopen(path, "r");
    unsigned char *data;

    CHECK(f && fstat(fileno(f), &st) == 0);
    data = mem_alloc((size_t)st.st_size);
    CHECK_EQ(fread(data, 1, (size_t)st.st_size, f), st.st_size);
    CHECK_EQ(store_dump(data, (size_t)st.st_size, &(struct store_dump_options){ 0 }, &out, &e), 0);
    text_of_records(buf_text(&out.buf), text);
    out_close(&out, &e);
    free(data);
    fclose(f);
}

static void record_rings(const struct pb *b, const char *path, uint64_t stop_ns)
{
    FILE *f = fopen(path, "w");
    struct out out = out_binary(fileno(f));
    struct store_writer *w = store_writer_new(&out);
    struct sym_resolve names;
    struct err e = { 0 };
    struct run r;
    size_t at = 0;

    start(&r, store_writer_sink(w));
    for (size_t i = 0; i < r.b.n_attrs; i++) {
        *r.e.attrs.v.v[i] = b->attr[i];
        perf_engine_metric(&r.e, r.e.attrs.v.v[i]); /* as a session does */
    }
    for (uint64_t now = 1000000; at < b->record.n; now += 700000) { /* advance the clock */
        size_t to = at;

        while (to < b->record.n && b->record.v[to].time_ns <= now)
            to++;
        put_records(&r.rings, b, at, to);
        col_sources_drain(&r.rings.sources, now);
        at = to;
    }
    col_sources_finish(&r.rings.sources, stop_ns);
    perf_names(&r.e, &names);
    sym_resolve_release(&names);
    col_sources_quality(&r.rings.sources, r.in.out);
    CHECK_EQ(sink_end(r.in.out, &e), 0);
    release(&r);
    store_writer_free(w);
    CHECK_EQ(out_close(&out, &e), 0);
    fclose(f);
}

static void import_file(const struct pb *b, const char *path)
{
    struct buf file = { 0 };
    struct err e = { 0 };
    struct import_input in = { .path = "x.data" };
    FILE *f = fopen(path, "w");
    struct out out = out_binary(fileno(f));
    struct store_writer *w = store_writer_new(&out);

    pb_perfdata(b, &file);
    in.data = file.data;
    in.size = file.n;
    CHECK(format_recognize(&in) != NULL);
    CHECK_STR(format_recognize(&in)->name, "perf.data");
    CHECK_EQ(format_recognize(&in)->import(&in, store_writer_sink(w), &e), 0);
    store_writer_free(w);
    CHECK_EQ(out_close(&out, &e), 0);
    buf_release(&file);
    fclose(f);
}

TEST(rings_and_perfdata_with_the_same_records_give_the_same_profile)
{
    struct buf a = { 0 }, b = { 0 };
    char live[512], file[512];
    struct pb records;

    pb_init(&records);
    much_happens(&records);
    snprintf(live, sizeof live, "%s/live.fathom", test_dir());
    snprintf(file, sizeof file, "%s/file.fathom", test_dir());
    import_file(&records, file); /* in order of creation, not of time */
    qsort(records.record.v, records.record.n, sizeof *records.record.v, by_time);
    record_rings(&records, live, 7800000);
    dump(live, &a);
    dump(file, &b);
    CHECK(a.n > 2000);
    CHECK(strstr(buf_text(&a), "liby.so") && strstr(buf_text(&a), "[truncated]"));
    CHECK_STR(buf_text(&a), buf_text(&b));
    buf_release(&a);
    buf_release(&b);
    pb_release(&records);
}

/* --- the rate --- */

TEST(col_quality_measures_the_rate_over_the_time_on_a_cpu)
{
    static const struct col_options options;
    struct col_event clock_event = { .is_clock = true };
    struct col_session s = { .options = &options, .probe.rung = &col_rungs[0] };
    struct sink nothing = { 0 };

    vec_push(&s.events, clock_event);
    intern_init(&s.in, &nothing);
    perf_engine_init(&s.engine, &s.in, &perf_host_none);
    perf_engine_attr(&s.engine, &(struct perf_attr){ .is_clock = true, .samples = 2000,
                                                     .weight = 2000000000 });
    s.start_ns = 1;
    s.stop_ns = 10000000001; /* ten seconds; the target ran for two */
    s.plan.frequency_hz = 1000;
    s.counted_ns = 2000000000;
    s.target.cpu_ns = 1000000000; /* a part of its processes was not waited for */
    col_quality_cpu(&s);
    col_quality_summary(&s);
    CHECK_EQ(s.sum.rate_achieved, 1000);
    CHECK_EQ(s.sum.target_cpu_ns, 2000000000);
    CHECK(s.knows_unsampled);
    CHECK_EQ(s.unsampled_ns, 0);
    CHECK_EQ(s.sum.wall_ns, 10000000000);
    s.engine.counts = (struct perf_counts){ .samples = 2000, .lost = 7, .throttled = 3,
                                            .broken = 2 };
    s.engine.stacks.counts.lost = 5;
    col_quality_summary(&s);
    CHECK_EQ(s.sum.lost, 7);
    CHECK_EQ(s.sum.throttled, 3);
    CHECK_EQ(s.sum.unreadable, 7);
    perf_engine_release(&s.engine);
    intern_release(&s.in);
    vec_release(&s.events);
}

TEST(col_quality_takes_the_time_of_a_single_process_from_its_rusage)
{
    struct col_options options = { .no_children = true };
    struct col_event clock_event = { .is_clock = true };
    struct col_session s = { .options = &options, .probe.rung = &col_rungs[0] };
    struct sink nothing = { 0 };

    vec_push(&s.events, clock_event);
    intern_init(&s.in, &nothing);
    perf_engine_init(&s.engine, &s.in, &perf_host_none);
    perf_engine_attr(&s.engine, &(struct perf_attr){ .is_clock = true, .samples = 1500,
                                                     .weight = 1500000000 });
    s.plan.frequency_hz = 1000;
    s.counted_ns = 2000000000; /* a quarter of it was stolen by the hypervisor */
    s.target.cpu_ns = 1510000000;
    perf_process_thread(&s.engine.processes, 7, 7);
    col_quality_cpu(&s); /* the rusage may include children that were not recorded */
    CHECK_EQ(s.unsampled_ns, 500000000);
    options.no_children = false;
    perf_process_thread(&s.engine.processes, 8, 8);
    col_quality_cpu(&s); /* nobody may have waited for the other process */
    CHECK_EQ(s.unsampled_ns, 500000000);
    perf_engine_release(&s.engine);
    intern_release(&s.in);

    intern_init(&s.in, &nothing);
    perf_engine_init(&s.engine, &s.in, &perf_host_none);
    perf_engine_attr(&s.engine, &(struct perf_attr){ .is_clock = true, .samples = 1500,
                                                     .weight = 1500000000 });
    perf_process_thread(&s.engine.processes, 7, 7);
    col_quality_cpu(&s);
    CHECK_EQ(s.unsampled_ns, 10000000);
    CHECK_EQ(s.cpu_ns, 1510000000);
    col_quality_summary(&s);
    CHECK(s.sum.rate_achieved > 990);
    perf_engine_release(&s.engine);
    intern_release(&s.in);
    vec_release(&s.events);
}

/* A session that samples with one clock: 1,000 samples of 1 ms. */
struct session {
    struct col_session s;
    struct col_options options;
    struct sink nothing;
};

static struct col_session *start_session(struct session *x)
{
    static const struct session none;

    *x = none;
    x->s.options = &x->options;
    x->s.probe.rung = &col_rungs[0];
    vec_push(&x->s.events, (struct col_event){ .is_clock = true });
    intern_init(&x->s.in, &x->nothing);
    perf_engine_init(&x->s.engine, &x->s.in, &perf_host_none);
    perf_engine_attr(&x->s.engine, &(struct perf_attr){ .is_clock = true, .samples = 1000,
                                                        .weight = 1000000000 });
    x->s.plan.frequency_hz = 1000;
    return &x->s;
}

static void end_session(struct session *x)
{
    perf_engine_release(&x->s.engine);
    intern_release(&x->s.in);
    vec_release(&x->s.events);
}

TEST(col_quality_knows_rate_and_missing_time_only_if_all_time_is_sampled)
{
    struct session x;
    struct col_session *s = start_session(&x);
    bool *const cases[] = { NULL, &s->events.v[0].no_kernel, &s->events.v[0].no_user,
                            &s->plan.no_kernel, &s->plan.no_user, &x.options.system_wide };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (cases[i])
            *cases[i] = true;
        s->counted_ns = 2000000000;
        s->knows_unsampled = false;
        col_quality_cpu(s);
        col_quality_summary(s);
        CHECK_EQ(s->knows_unsampled, !cases[i]);
        CHECK_EQ(s->sum.rate_achieved, cases[i] ? 0 : 500);
        if (cases[i])
            *cases[i] = false;
    }
    s->counted_ns = s->cpu_ns = 0; /* the clock did not count */
    s->knows_unsampled = false;
    s->target.cpu_ns = 5;
    col_quality_cpu(s);
    col_quality_summary(s);
    CHECK(!s->knows_unsampled);
    CHECK_EQ(s->sum.rate_achieved, 0);
    CHECK_EQ(s->cpu_ns, 0);
    CHECK_EQ(s->sum.target_cpu_ns, 5);
    end_session(&x);
}

TEST(col_quality_takes_the_time_of_a_command_that_the_agent_left_from_its_rusage)
{
    const struct col_rung *rung = col_rungs;
    struct session x;
    struct col_session *s = start_session(&x);

    while (!rung->in_process)
        rung++;
    s->probe.rung = rung;
    s->engine.attrs.v.v[0]->samples = 0;
    s->engine.attrs.v.v[0]->weight = 0;
    col_quality_cpu(s);
    CHECK(!s->knows_unsampled); /* nobody waited for the command */
    s->target.cpu_ns = 300000000; /* it executed another program before the agent was seen */
    col_quality_cpu(s);
    CHECK(s->knows_unsampled);
    CHECK_EQ(s->unsampled_ns, 300000000);
    end_session(&x);
}

TEST(col_quality_calls_a_rate_slightly_above_the_one_asked_for_that_one)
{
    static const struct { uint64_t counted_ms; double rate; } cases[] = {
        { 1000, 1000 }, { 995, 1000 }, { 800, 1250 }, { 1250, 800 } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct session x;
        struct col_session *s = start_session(&x);

        s->counted_ns = cases[i].counted_ms * 1000000;
        col_quality_summary(s);
        CHECK_EQ(s->sum.rate_achieved, cases[i].rate);
        end_session(&x);
    }
}

TEST(col_quality_estimates_missing_user_time_without_kernel_samples)
{
    enum { MS = 1000000 };
    static const struct {
        uint64_t user_ms, counted_ms;
        bool no_children, delayed, is_clock;
        uint64_t missing_ms; /* 0: not known */
    } cases[] = {
        { 1500, 1500, false, false, true, 500 },
        { 1500, 2000, false, false, true, 0 }, /* nobody waited for all */
        { 1500, 1500, true, false, true, 0 },
        { 1500, 1500, false, true, true, 0 },
        { 1500, 1500, false, false, false, 0 },
        { 1100, 1100, false, false, true, 0 }, /* less than a tenth */
        { 900, 900, false, false, true, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct session x;
        struct col_session *s = start_session(&x);

        s->events.v[0].no_kernel = true;
        s->events.v[0].is_clock = cases[i].is_clock;
        x.options.no_children = cases[i].no_children;
        s->plan.delayed = cases[i].delayed;
        s->counted_ns = cases[i].counted_ms * MS;
        s->target.user_ns = s->target.cpu_ns = cases[i].user_ms * MS;
        col_quality_cpu(s);
        CHECK_EQ(s->knows_unsampled, cases[i].missing_ms != 0);
        CHECK_EQ(s->unsampled_ns, cases[i].missing_ms * MS);
        end_session(&x);
    }
}

TEST(col_quality_takes_a_few_milliseconds_of_user_time_for_noise)
{
    for (uint64_t user = 20000000; user <= 20000001; user++) {
        struct session x;
        struct col_session *s = start_session(&x);

        s->events.v[0].no_kernel = true;
        s->engine.attrs.v.v[0]->weight = 0;
        s->counted_ns = s->target.user_ns = s->target.cpu_ns = user;
        col_quality_cpu(s);
        CHECK_EQ(s->knows_unsampled, user > 20000000);
        end_session(&x);
    }
}

TEST(col_quality_describes_the_target_the_levels_and_the_copies)
{
    char *command[] = { "prog", "-x", NULL };
    struct col_options options = { .command = command, .system_wide = true };
    struct col_event user_only = { .name = "cycles", .no_kernel = true };
    struct col_session s = { .options = &options, .probe.rung = &col_rungs[0] };
    struct profile *p = profile_new();

    vec_push(&s.events, user_only);
    intern_init(&s.in, profile_sink(p));
    perf_engine_init(&s.engine, &s.in, &perf_host_none);
    perf_engine_attr(&s.engine, &(struct perf_attr){ .is_clock = true, .weight = 5 });
    s.target.cpu_ns = 9;
    s.plan = (struct col_plan){ .copy_bytes = 100, .big_copy_bytes = 200, .graph = COL_GRAPH_FP };
    col_quality_start(&s);
    CHECK_STR(profile_meta(p, "command"), "prog -x, whole machine");
    CHECK_STR(profile_meta(p, "rung"), "user");
    CHECK_STR(profile_meta(p, "call_graph"), "fp");
    col_quality_summary(&s);
    CHECK_EQ(s.sum.copy_bytes, 100);
    CHECK_EQ(s.sum.target_cpu_ns, 5); /* of the machine, not of the command */
    s.perf.big = true;
    s.events.v[0].no_kernel = false;
    s.events.v[0].no_user = true;
    options.system_wide = false;
    col_quality_summary(&s);
    CHECK_EQ(s.sum.copy_bytes, 200);
    CHECK_EQ(s.sum.target_cpu_ns, 9);
    CHECK_STR(s.sum.rung, "kernel");
    s.unsampled_ns = 7;
    s.sources.engine = &s.engine;
    col_quality_end(&s);
    CHECK_STR(profile_meta(p, "quality.unsampled_ns"), "");
    s.knows_unsampled = true;
    col_quality_end(&s);
    CHECK_STR(profile_meta(p, "quality.unsampled_ns"), "7");
    perf_engine_release(&s.engine);
    intern_release(&s.in);
    profile_free(p);
    vec_release(&s.events);
}

/* --- waiting threads --- */

TEST(col_look_leaves_short_waits_and_inspects_long_ones_once)
{
    struct perf_thread *t;
    struct col_look look;
    struct run r;

    start(&r, NULL);
    perf_wait_begin(&r.e.waits);
    col_look_init(&look, &r.e.waits);
    t = perf_process_thread(&r.e.processes, 0x7fffffff, 0x7fffffff); /* no such process */
    t->out_ns = UINT64_MAX / 2; /* has just begun to wait */
    col_look(&look);
    CHECK(look.unsure && !t->inspected);
    t->out_ns = 1;
    col_look(&look);
    CHECK(!look.unsure && t->inspected);
    t->inspected = false;
    t->info.end_ns = 2;
    col_look(&look);
    CHECK(!t->inspected);
    release(&r);
}
