/* rt_advice.c - programs that a rule fires on, and near misses that differ in other respects than
 * time.  The clock is fake.  Prints `RULE OPERATION` for each piece of advice.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rt_fake_clock.h"
#include "rt_test.h"

#include <pthread.h>
#include <semaphore.h>

static void print_advice(const struct fathom_advice *a, void *arg)
{
    (void)arg;
    printf("%s %s\n", a->rule, a->name);
}

static void share(void)
{
    FATHOM_ZONE("all");
    pass_ns(1000000);
}

static void tiny(void)
{
    for (int i = 0; i < 1000000; i++) {
        FATHOM_ZONE("empty");
    }
}

static void bimodal(void)
{
    for (int i = 0; i < 200; i++) {
        FATHOM_ZONE("lookup");
        if (i % 2)
            pass_ns(1000000);
    }
}

static void first(void)
{
    for (int i = 0; i < 100; i++) {
        FATHOM_ZONE("serve");
        if (i == 0)
            pass_ns(50000000);
    }
}

static void repeated(uint64_t different)
{
    for (uint64_t i = 0; i < 100; i++) {
        FATHOM_OP_V(op, "hash", 1000, "cpu");
        pass_ns(1000);
        fathom_op_tag(&op, 1 + i % different);
    }
}

static void repeat(void)
{
    repeated(2);
}

static void no_repeat(void)
{
    repeated(50);
}

static void grow(int squared)
{
    for (int round = 0; round < 40; round++)
        for (unsigned size = 64; size <= 2048; size *= 2) {
            FATHOM_OP("join", size, "cpu");
            pass_ns(squared ? size * size / 16 : size * 16);
        }
}

static void growth(void)
{
    grow(1);
}

static void no_growth(void)
{
    grow(0);
}

static void backend(void)
{
    for (int i = 0; i < 50; i++) {
        {
            FATHOM_OP("gemm", 4096, "gpu");
            pass_ns(100);
        }
        FATHOM_OP("gemm", 4096, "cpu");
        pass_ns(1000000);
    }
}

static void *one_share(void *arg)
{
    FATHOM_ZONE("part");
    pass_ns(*(uint64_t *)arg);
    return NULL;
}

static void imbalance(void)
{
    static uint64_t ns[3] = { 5000000, 5000000, 500000000 };

    for (int i = 0; i < 3; i++) {
        pthread_t id;

        pthread_create(&id, NULL, one_share, &ns[i]);
        pthread_join(id, NULL);
    }
}

static void allocate(int each)
{
    for (int i = 0; i < 200; i++) {
        FATHOM_ZONE("parse");
        for (int k = 0; k < each; k++)
            FATHOM_ALLOC("heap", 64);
        pass_ns(1000);
    }
}

static void alloc(void)
{
    allocate(3);
}

static void no_alloc(void)
{
    allocate(1);
}

static void drift(void)
{
    for (unsigned i = 0; i < 100; i++) {
        FATHOM_OP("walk", 100, "cpu");
        pass_ns(200000u * i);
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t waits;
static struct fathom_lock named = { "table", NULL, NULL, 0 };

static void *take_lock(void *arg)
{
    struct fathom_zone z = fathom_lock_wait(&named);

    (void)arg;
    sem_post(&waits);
    pthread_mutex_lock(&mutex);
    fathom_lock_got(&named, &z);
    fathom_lock_release(&named);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void lock_wait(void)
{
    pthread_t id;

    sem_init(&waits, 0, 0);
    pthread_mutex_lock(&mutex);
    pthread_create(&id, NULL, take_lock, NULL);
    sem_wait(&waits);
    pass_ns(100000000);
    pthread_mutex_unlock(&mutex);
    pthread_join(id, NULL);
}

static const struct rt_case cases[] = {
    { "share", share },         { "tiny-zone", tiny },      { "bimodal", bimodal },
    { "first-call", first },    { "repeat-work", repeat },  { "no-repeat-work", no_repeat },
    { "growth", growth },       { "no-growth", no_growth }, { "backend", backend },
    { "imbalance", imbalance }, { "alloc", alloc },         { "no-alloc", no_alloc },
    { "drift", drift },         { "lock-wait", lock_wait }, { NULL, NULL } };

int main(int argc, char **argv)
{
    int rc;

    reading_ns = 20;
    fathom_enable();
    rc = rt_main(argc, argv, cases);
    fathom_advise(print_advice, NULL);
    return rc;
}
