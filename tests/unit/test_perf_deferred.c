/* test_perf_deferred.c - samples that wait for their user part.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_deferred.h"
#include "test.h"

enum { WAITING_MAX = 65536 };

static struct perf_deferred d;

static struct delivered { /* to deliver() */
    size_t n;
    struct perf_record last;
    uint64_t word; /* of its user part */
} delivered;

static void deliver(void *with, const struct perf_record *r)
{
    (void)with;
    delivered.n++;
    delivered.last = *r;
    delivered.word = r->chain.n ? perf_word(&r->chain, r->chain.n - 1) : 0;
}

/* A sample in the kernel whose user part has COOKIE. */
static bool add(uint32_t tid, uint64_t cookie)
{
    const uint64_t chain[] = { 1, (uint64_t)PERF_CONTEXT_USER_DEFERRED_, cookie };
    const struct perf_words some = { (const unsigned char *)chain, 1 };
    const struct perf_record r = { .tid = tid, .chain = { (const unsigned char *)chain, 3 },
                                   .read = some, .branches = some, .has_regs = true,
                                   .has_stack = true };

    return perf_deferred_add(&d, &r);
}

/* Complete the samples with COOKIE by WORD; returns their number. */
static size_t complete(uint32_t tid, uint64_t cookie, uint64_t word)
{
    const struct perf_record r = { .tid = tid, .cookie = cookie,
                                   .chain = { (const unsigned char *)&word, 1 } };
    size_t before = delivered.n;

    perf_deferred_complete(&d, &r, deliver, NULL);
    return delivered.n - before;
}

TEST(perf_deferred_takes_no_sample_that_is_complete)
{
    CHECK(!add(1, 0)); /* no user part will follow */
    CHECK(add(1, 7));
    CHECK_EQ(d.v.n, 1);
    perf_deferred_release(&d);
}

/* What a record describes at once lies in its bytes, which are gone when the rest arrives. */
TEST(perf_deferred_keeps_nothing_of_a_record_but_its_chain)
{
    CHECK(add(1, 7));
    CHECK_EQ(complete(1, 7, 99), 1);
    CHECK_EQ(delivered.word, 99);
    CHECK_EQ(delivered.last.chain.n, 3); /* kernel, mark, user */
    CHECK(!delivered.last.has_regs && !delivered.last.has_stack);
    CHECK(delivered.last.read.n == 0 && delivered.last.branches.n == 0);
    perf_deferred_release(&d);
}

TEST(perf_deferred_keeps_samples_apart_whose_hashes_are_equal)
{
    hash_key[2] = 5; /* thread 5 has one hash with every cookie */
    CHECK_EQ(hash_pair(5, 7), hash_pair(5, 8));
    CHECK(add(5, 7) && add(5, 8) && add(5, 7));
    CHECK_EQ(complete(5, 7, 99), 2);
    perf_deferred_release(&d);
}

TEST(perf_deferred_lets_a_limited_number_wait)
{
    for (uint64_t i = 1; i <= WAITING_MAX; i++)
        CHECK(add(1, i));
    CHECK(!add(1, 1));
    CHECK_EQ(complete(1, 1, 99), 1);
    CHECK(add(1, 1));
    CHECK(!add(1, 1));
    perf_deferred_finish(&d, deliver, NULL);
    CHECK_EQ(delivered.n, WAITING_MAX + 1);
    CHECK_EQ(delivered.last.chain.n, 2);
    CHECK(add(1, 1)); /* there is room again */
    perf_deferred_release(&d);
}

TEST(perf_deferred_moves_samples_only_when_most_are_done)
{
    for (uint64_t i = 1; i <= 400; i++)
        CHECK(add(1, i));
    for (uint64_t i = 1; i < 200; i++)
        CHECK_EQ(complete(1, i, 99), 1);
    CHECK(add(1, 401));
    CHECK_EQ(d.v.n, 401);
    CHECK_EQ(complete(1, 200, 99), 1);
    CHECK(add(1, 402));
    CHECK_EQ(d.v.n, 202);
    for (uint64_t i = 201; i <= 402; i++)
        CHECK_EQ(complete(1, i, 99), 1);
    perf_deferred_release(&d);
}
