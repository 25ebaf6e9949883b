/* test_col_offcpu.c - waits from looks at a thread.  Times are in microseconds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/buf.h"
#include "collect/col_offcpu.h"
#include "test.h"

enum { SLEEP = 230, LOCK = 202, RUNS = -3 };

static struct col_offcpu thread;
static struct buf text;

static void begin(void)
{
    thread = (struct col_offcpu){ 0 };
    buf_release(&text);
}

static void add(const struct col_offcpu_steps *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct col_offcpu_step *x = &s->v[i];

        buf_printf(&text, "%" PRIu64 " ", x->time_ns / 1000);
        if (x->kind == COL_OFFCPU_LEAVES)
            buf_printf(&text, "leaves %ld\n", x->call);
        else
            buf_printf(&text, "%s\n", x->kind == COL_OFFCPU_QUEUES ? "queues" : "returns");
    }
}

/* A look at TIME that finds a thread in CALL, or running, with CPU and QUEUE since its start. */
static bool look(uint64_t time, long call, uint64_t cpu, uint64_t queue, uint64_t turns)
{
    struct col_offcpu_look l = { .time_ns = time * 1000, .cpu_ns = cpu * 1000,
                                 .queue_ns = queue * 1000, .turns = turns, .waits = call != RUNS,
                                 .call = call };
    struct col_offcpu_steps s;
    bool is_new = col_offcpu_look(&thread, &l, &s);

    add(&s);
    return is_new;
}

static void ends(uint64_t from, uint64_t to)
{
    struct col_offcpu_steps s;

    col_offcpu_end(&thread, from * 1000, to * 1000, &s);
    add(&s);
}

TEST(col_offcpu_has_one_wait_while_a_thread_gets_no_cpu)
{
    begin();
    CHECK(look(1000, SLEEP, 10, 0, 1));
    CHECK(!look(2000, SLEEP, 10, 0, 1));
    CHECK(!look(64000, SLEEP, 10, 0, 1));
    CHECK_STR(buf_text(&text), "1000 leaves 230\n");
}

TEST(col_offcpu_divides_the_time_between_two_waits_equally)
{
    begin();
    look(1000, SLEEP, 10, 0, 1);
    CHECK(look(9000, LOCK, 2010, 0, 2)); /* 8 ms, of which it ran 2 */
    CHECK_STR(buf_text(&text), "1000 leaves 230\n4000 returns\n6000 leaves 202\n");
    CHECK_EQ(thread.unsure_ns, 6000000);
}

TEST(col_offcpu_notices_a_new_wait_in_the_same_call)
{
    begin();
    look(1000, SLEEP, 10, 0, 1);
    CHECK(look(3000, SLEEP, 10, 0, 2));
    CHECK_STR(buf_text(&text), "1000 leaves 230\n2000 returns\n2000 leaves 230\n");
}

TEST(col_offcpu_puts_time_in_the_run_queue_after_the_wait)
{
    begin();
    look(1000, SLEEP, 0, 0, 1);
    look(11000, RUNS, 1000, 5000, 2);
    CHECK_STR(buf_text(&text), "1000 leaves 230\n5000 returns\n5000 queues\n10000 returns\n");
}

TEST(col_offcpu_counts_a_short_time_in_the_run_queue_as_part_of_the_wait)
{
    begin();
    look(1000, SLEEP, 0, 0, 1);
    look(11000, RUNS, 1000, 99, 2);
    CHECK_STR(buf_text(&text), "1000 leaves 230\n10000 returns\n");
}

TEST(col_offcpu_knows_the_beginning_of_a_wait_after_a_sample)
{
    begin();
    look(1000, RUNS, 0, 0, 1);
    look(9000, LOCK, 3000, 0, 1);
    CHECK_STR(buf_text(&text), "4000 leaves 202\n");
    CHECK_EQ(thread.since_ns, 4000000);
    CHECK_EQ(thread.unsure_ns, 0);
}

TEST(col_offcpu_has_waits_between_samples_without_a_reason)
{
    begin();
    look(1000, RUNS, 0, 0, 1);
    look(9000, RUNS, 3000, 1000, 2);
    CHECK_STR(buf_text(&text), "1000 leaves -2\n5000 returns\n5000 queues\n6000 returns\n");
    CHECK_EQ(thread.unsure_ns, 4000000);
}

TEST(col_offcpu_has_a_preempted_thread_in_the_run_queue_only)
{
    begin();
    look(1000, RUNS, 0, 0, 1);
    look(3000, RUNS, 1000, 950, 2); /* the sample is older than what was counted */
    CHECK_STR(buf_text(&text), "1000 queues\n2000 returns\n");
    CHECK_EQ(thread.unsure_ns, 0);
}

TEST(col_offcpu_counts_time_that_a_hypervisor_took_as_in_the_run_queue)
{
    begin();
    look(1000, RUNS, 0, 0, 1);
    look(2000, RUNS, 1000, 0, 1);
    look(4000, RUNS, 2000, 0, 1);
    CHECK_STR(buf_text(&text), "2000 queues\n3000 returns\n");
}

/* What is counted at a sample may be newer than it, so the wait may be between the two. */
TEST(col_offcpu_does_not_mistake_a_wait_after_a_sample_for_the_run_queue)
{
    begin();
    look(1000, RUNS, 0, 0, 1);
    look(2000, RUNS, 1000, 0, 2);
    look(4000, RUNS, 2000, 0, 2);
    CHECK_STR(buf_text(&text), "2000 leaves -2\n3000 returns\n");
}

TEST(col_offcpu_adds_up_times_that_are_too_short_for_a_step)
{
    begin();
    for (uint64_t i = 0; i <= 10; i++) /* off the CPU for 30 of 1000 */
        look(1000 + i * 1000, RUNS, i * 970, 0, 1 + i);
    CHECK_STR(buf_text(&text), "4000 leaves -2\n4120 returns\n8000 leaves -2\n8120 returns\n");
    CHECK_EQ(thread.small_ns, 60000);
}

TEST(col_offcpu_says_how_much_time_more_than_one_wait_took)
{
    begin();
    look(1000, SLEEP, 0, 0, 1);
    look(3000, RUNS, 1000, 0, 2); /* one wait */
    look(5000, LOCK, 2000, 0, 2); /* one wait */
    CHECK_EQ(thread.unsure_ns, 0);
    look(9000, LOCK, 3000, 0, 3);
    CHECK_EQ(thread.unsure_ns, 3000000);
    look(12000, RUNS, 3000, 0, 5);
    CHECK_EQ(thread.unsure_ns, 6000000);
    look(16000, SLEEP, 3000, 0, 6);
    CHECK_EQ(thread.unsure_ns, 10000000);
    look(19000, RUNS, 3000, 2000, 7); /* one wait, and the run queue */
    CHECK_EQ(thread.unsure_ns, 10000000);
}

TEST(col_offcpu_ends_a_wait_between_the_last_look_and_the_end_of_the_thread)
{
    begin();
    look(1000, SLEEP, 0, 0, 1);
    look(5000, SLEEP, 0, 0, 1);
    ends(0, 7000);
    ends(0, 8000);
    CHECK_STR(buf_text(&text), "1000 leaves 230\n6000 returns\n");
    look(9000, LOCK, 1000, 0, 2); /* another program */
    ends(10000, 12000);
    CHECK_STR(buf_text(&text), "1000 leaves 230\n6000 returns\n7000 leaves 202\n11000 returns\n");
    look(13000, LOCK, 2000, 0, 3);
    ends(0, 12500); /* it was looked at after that */
    CHECK_EQ(thread.last.time_ns, 12500000);
}

static uint64_t total(void)
{
    uint64_t sum = 0, from = 0;

    for (char *line = buf_text(&text); *line; line = strchr(line, '\n') + 1) {
        uint64_t time = strtoull(line, NULL, 10);

        sum += strstr(line, "returns") == strchr(line, ' ') + 1 ? time - from : 0;
        from = time;
    }
    return sum;
}

TEST(col_offcpu_adds_up_to_the_life_of_the_thread)
{
    uint64_t time = 1000, cpu = 0, queue = 0, turns = 1, random = 1;

    begin();
    look(time, RUNS, 0, 0, 1);
    for (int i = 0; i < 1000; i++) {
        uint64_t a, b, c;

        random = random * 6364136223846793005u + 1442695040888963407u;
        a = random >> 33 & 511;
        b = random >> 42 & 511;
        c = random >> 51 & 511;
        time += a + b + c;
        cpu += a;
        queue += b;
        turns += b || c;
        look(time, i % 3 ? SLEEP : RUNS, cpu, queue, turns);
    }
    look(time + 500, RUNS, cpu + 500, queue, turns + 1);
    CHECK(total() + thread.small_ns / 1000 <= time - 1000 - cpu + 1000); /* microseconds are cut */
    CHECK(total() + thread.small_ns / 1000 + 2000 >= time - 1000 - cpu);
}

TEST(col_offcpu_looks_at_a_thread_the_more_rarely_the_longer_it_waits)
{
    begin();
    look(1000, SLEEP, 0, 0, 1);
    CHECK_EQ(col_offcpu_rest(&thread, 2000000, 1000000, 512), 1000000);
    CHECK_EQ(col_offcpu_rest(&thread, 81000000, 1000000, 512), 10000000);
    CHECK_EQ(col_offcpu_rest(&thread, 81000000, 1000000, 0), 5000000);
    CHECK_EQ(col_offcpu_rest(&thread, 81000000, 1000000, 1023), 14990234);
    CHECK_EQ(col_offcpu_rest(&thread, 10000000000, 1000000, 512), 256000000);
}
