/* rt_routes.c - rt_routes FOLDER [kill]: run every kind of zone on several threads, stop measuring
 * and write the same region by every route.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fathom.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned keep;
static pthread_barrier_t measured, never;
static struct fathom_lock lock = { .name = "queue" };

static void work(int n)
{
    for (int i = 0; i < n; i++)
        keep += (unsigned)i;
}

static void leaf(int i)
{
    FATHOM_ZONE("leaf");
    work(100 * i);
}

static void branch(int n)
{
    FATHOM_ZONE("branch");
    work(1000);
    for (int i = 0; i < n; i++)
        leaf(i);
}

static void sampled(void)
{
    FATHOM_ZONE_N("sampled", 4);
    work(300);
}

static void operation(int i, const char *backend)
{
    FATHOM_OP_V(op, "operation", (uint64_t)(1000 * i), backend);
    if (i % 4 == 0)
        fathom_op_label(&op, "worker=\"0\"");
    work(500 * i);
    if (i % 2)
        leaf(i);
}

static void wait_for_lock(void)
{
    struct fathom_zone z = fathom_lock_wait(&lock);

    work(200);
    fathom_lock_got(&lock, &z);
    work(100);
    fathom_lock_release(&lock);
}

static void events(int i)
{
    FATHOM_COUNT("items", 3);
    FATHOM_GAUGE("depth", i);
    FATHOM_GAUGE_L("depth", 1000, "worker=\"1\"");
    FATHOM_INSTANT("tick");
    FATHOM_FRAME("frame");
    FATHOM_FLOW("handed", 100 + i);
}

static void measure(void)
{
    for (int i = 0; i < 20; i++) {
        FATHOM_ZONE("step");
        branch(i % 5);
        operation(i, i % 3 ? "cpu" : "gpu");
        wait_for_lock();
        events(i);
    }
    for (int i = 0; i < 100; i++)
        sampled();
    FATHOM_CONTEXT("request");
    branch(3);
}

static void *run_and_end(void *arg)
{
    fathom_thread_name("ended");
    measure();
    return arg;
}

static void *run_and_stay(void *arg)
{
    fathom_thread_name("stays");
    measure();
    pthread_barrier_wait(&measured);
    pthread_barrier_wait(&never);
    return arg;
}

static int export(const char *folder, const char *name, enum fathom_format format)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fathom_export(path, format);
}

int main(int argc, char **argv)
{
    pthread_t id;
    int bad = 0;

    if (argc < 2)
        return 2;
    fathom_enable();
    pthread_barrier_init(&measured, NULL, 2);
    pthread_barrier_init(&never, NULL, 2);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&id, NULL, run_and_end, NULL) != 0 || pthread_join(id, NULL) != 0)
            return 3;
    if (pthread_create(&id, NULL, run_and_stay, NULL) != 0)
        return 3;
    pthread_barrier_wait(&measured);
    measure();
    fathom_disable();
    bad += export(argv[1], "in.json", FATHOM_JSON);
    bad += export(argv[1], "in.csv", FATHOM_CSV);
    bad += export(argv[1], "in.compact", FATHOM_COMPACT);
    bad += export(argv[1], "in.folded", FATHOM_COLLAPSED);
    bad += export(argv[1], "in.trace.json", FATHOM_CHROME);
    bad += export(argv[1], "in.fathom", FATHOM_FILE);
    if (argc > 2 && !strcmp(argv[2], "kill"))
        kill(getpid(), SIGKILL);
    return bad ? 4 : 0;
}
