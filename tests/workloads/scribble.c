/* scribble.c - use the memory that it shares with a recorder against it, for MS ms.
 *     scribble MS SEED all        write random words
 *     scribble MS SEED tables     into the tables only, not the stacks
 *     scribble MS SEED processes  claim that processes start all the time
 *     scribble MS SEED samples    write samples that nobody asked for
 * build: scribble gcc -O2 -g -I../../src -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "channel/agent_memory.h"

static volatile uint64_t keep;
static volatile int over;
static uint64_t seed;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Small numbers are states, ids of this process and counts; large ones are times and sizes. */
static uint32_t word(void)
{
    switch (next() % 6) {
    case 0: return (uint32_t)next();
    case 1: return (uint32_t)getpid();
    case 2: return 23;
    case 3: return ~0u;
    default: return (uint32_t)(next() % 4);
    }
}

static void *work(void *unused)
{
    while (!over)
        keep++;
    return unused;
}

static void scribble(unsigned char *memory, size_t size)
{
    for (int i = 0; i < 200; i++)
        /* Not the magic number and the size: another process must be able to join. */
        *(volatile uint32_t *)(memory + 16 + next() % (size - 24) / 4 * 4) = word();
}

static void claim(struct agent_memory *m)
{
    for (int i = 0; i < AGENT_PROCESSES; i++) {
        struct agent_process *p = &m->process[i];

        if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != AGENT_UNUSED)
            continue;
        p->pid = (uint32_t)(next() % 4000000);
        p->parent = next() % 2 ? (uint32_t)getpid() : 0;
        p->namespace = next();
        p->start_ns = next() % 2 ? next() : 0;
        __atomic_store_n(&p->state, AGENT_HERE, __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(&m->n_processes, 1, __ATOMIC_RELEASE);
}

static void invent(struct agent_memory *m)
{
    static uint64_t cpu_ns;
    uint32_t mine = 0;

    while (mine < AGENT_PROCESSES - 1 && m->process[mine].pid != (uint32_t)getpid())
        mine++;
    for (int i = 0; i < AGENT_SAMPLES; i++) {
        struct agent_sample *s = &m->sample[i];

        if (__atomic_load_n(&m->sample_state[i], __ATOMIC_ACQUIRE) != AGENT_FREE)
            continue;
        s->process = mine;
        s->tid = (uint32_t)getpid();
        s->time_ns = next();
        s->cpu_ns = cpu_ns += 1000000;
        s->maps = (uint32_t)next();
        s->sp = next();
        s->pc = next();
        s->stack_bytes = (uint32_t)next();
        __atomic_store_n(&m->sample_state[i], AGENT_DONE, __ATOMIC_RELEASE);
    }
}

int main(int argc, char **argv)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long start = 0, end = 0;
    char line[4096], kind;
    struct timespec now, stop;
    pthread_t thread;

    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:fathom-agent"))
            sscanf(line, "%lx-%lx", &start, &end);
    if (maps)
        fclose(maps);
    puts(start ? "shared" : "alone");
    fflush(stdout);
    if (!start || argc < 4)
        return 0;
    seed = strtoull(argv[2], NULL, 10) * 2654435761u + 1;
    kind = argv[3][0];
    pthread_create(&thread, NULL, work, NULL);
    clock_gettime(CLOCK_MONOTONIC, &stop);
    stop.tv_sec += atol(argv[1]) / 1000;
    stop.tv_nsec += atol(argv[1]) % 1000 * 1000000;
    do {
        if (kind == 'p')
            claim((struct agent_memory *)start);
        else if (kind == 's')
            invent((struct agent_memory *)start);
        else
            scribble((unsigned char *)start,
                     kind == 't' ? offsetof(struct agent_memory, large_stack) : end - start);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - stop.tv_sec) * 1000000000L + now.tv_nsec - stop.tv_nsec < 0);
    over = 1;
    pthread_join(thread, NULL);
    return 0;
}
