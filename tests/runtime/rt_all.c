/* rt_all.c - every macro and call of fathom.h once.  Must compile as C11 and C++11 without a
 * warning, with the library and with FATHOM_OFF, and print the same each time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_OFF
#define FATHOM_GROUP "all"
#endif
#include <fathom.h>

#include <stdio.h>

static struct fathom_lock queue = { "queue", NULL, NULL, 0 };

static void marked(int i)
{
    FATHOM_FUNC();
    FATHOM_ZONE_N("sampled", 4);
    FATHOM_COUNT("items", 2);
    FATHOM_COUNT_L("items by worker", 1, "worker=\"1\"");
    FATHOM_GAUGE("depth", i);
    FATHOM_GAUGE_L("heat", i * 1.5, "core=\"0\"");
    FATHOM_INSTANT("tick");
    FATHOM_FRAME("frame");
    FATHOM_FLOW("flow", (uint64_t)i);
    FATHOM_ALLOC("pool", 64);
    FATHOM_FREE("pool", 32);
    (void)i;
}

static void operations(void)
{
    FATHOM_OP("plain", 100, "cpu");
    FATHOM_OP_V(op, "late", 0, NULL);
    fathom_op_bytes(&op, 4096);
    fathom_op_work(&op, 7);
    fathom_op_tag(&op, 3);
    fathom_op_backend(&op, "gpu");
    fathom_op_label(&op, "worker=\"0\"");
}

static void by_hand(void)
{
    struct fathom_site *site = fathom_site_get("by hand", "all", "rt_all.c", 1, 0);
    struct fathom_site *op_site = fathom_site_get("op by hand", "all", "rt_all.c", 2, 1);
    struct fathom_zone z = fathom_begin(site), wait;
    struct fathom_op op = fathom_op_begin(op_site, 10, "cpu");

    fathom_op_end(&op);
    fathom_lap(&z, site);
    fathom_end(&z);
    wait = fathom_lock_wait(&queue);
    fathom_lock_got(&queue, &wait);
    fathom_lock_release(&queue);
}

static void in_context(void)
{
    FATHOM_CONTEXT("request");
    fathom_context c = fathom_context_now();
    struct fathom_zone z = fathom_context_enter(c);
    FATHOM_BEGIN(lap, "load");

    FATHOM_LAP(lap, "store");
    FATHOM_END(lap);
    fathom_context_leave(&z);
}

static void count_stat(const struct fathom_stat *s, void *arg)
{
    *(int *)arg += s->count > 0;
}

static void see_advice(const struct fathom_advice *a, void *arg)
{
    *(int *)arg += a->gain >= 0;
}

static void see_slower(const struct fathom_slower *s, void *arg)
{
    *(int *)arg += s->factor > 0;
}

static void is_ready(void *arg)
{
    *(int *)arg = 1;
}

int main(int argc, char **argv)
{
    struct fathom_plan plan = { 0, 0, 0, 1, 1 };
    int lines = 0, seen = 0, ready = 0;
    char text[64];

    fathom_start(NULL);
    fathom_thread_name("main");
    fathom_mode("all", FATHOM_MODE_TRACE);
    fathom_sample("none", 8);
    fathom_schedule(&plan, is_ready, &ready);
    for (int i = 0; i < 3; i++)
        marked(i);
    operations();
    by_hand();
    in_context();
    fathom_step();
    fathom_each(NULL, 0, count_stat, &lines);
    fathom_each("request", 1, count_stat, &seen);
    fathom_report(stdout, FATHOM_TABLE, NULL);
    fathom_report_text(text, sizeof text, FATHOM_COMPACT, NULL);
    fathom_advise(see_advice, &seen);
    if (argc > 1 && fathom_save_baseline(argv[1]) == 0)
        fathom_check_baseline(argv[1], 0.5, see_slower, &seen);
    if (argc > 2)
        fathom_export(argv[2], FATHOM_FILE);
    printf("lines %d\nready %d\n", lines, ready);
    printf("lost %d\n", (int)(fathom_lost(FATHOM_LOST_TRACE) + fathom_lost(FATHOM_LOST_SIGNAL)));
    printf("clock %d\n", fathom_now_ns() > 0 && fathom_cycles() > 0);
    printf("off %d\n", fathom_overhead_ns() == 0 && fathom_memory_bytes() == 0);
    fathom_disable();
    fathom_clear();
    return fathom_enabled() || fathom_enable() < 0;
}
