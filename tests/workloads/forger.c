/* forger.c - work while another thread fills the memory that the recorder shares with the agent
 * with wrong numbers.
 *     forger MODE MS   MODE: words anywhere, samples, processes or requests
 * build: forger gcc -O2 -g -pthread -I ../../src -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "channel/agent_memory.h"

static struct agent_memory *memory;
static volatile uint64_t keep;
static uint64_t state = 88172645463325252u;

static uint64_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Small, or of any size. */
static uint64_t wrong_number(void)
{
    return random_number() >> random_number() % 64;
}

static void forge_words(void)
{
    size_t first = offsetof(struct agent_memory, n_processes) / sizeof(uint32_t);
    size_t at = first + random_number() % (sizeof *memory / sizeof(uint32_t) - first);

    ((uint32_t *)memory)[at] = (uint32_t)wrong_number();
    memory->n_processes++;
}

static void forge_sample(void)
{
    uint32_t i = random_number() % AGENT_SAMPLES;
    struct agent_sample *s = &memory->sample[i];
    uint64_t *stack = (uint64_t *)agent_stack_of(memory, i);

    s->process = (uint32_t)(getpid() + (int)(random_number() % 3)) % AGENT_PROCESSES;
    s->tid = (uint32_t)getpid() + random_number() % 3;
    s->time_ns = wrong_number();
    s->cpu_ns = wrong_number();
    s->pc = random_number() % 2 ? (uintptr_t)forge_sample : wrong_number();
    s->sp = wrong_number();
    s->fp = wrong_number();
    s->maps = random_number() % 3;
    s->stack_bytes = (uint32_t)wrong_number();
    for (size_t k = 0; k < 64; k++)
        stack[k] = random_number() % 2 ? (uintptr_t)forge_sample : wrong_number();
    __atomic_store_n(&memory->sample_state[i], AGENT_DONE, __ATOMIC_RELEASE);
}

static void forge_process(void)
{
    struct agent_process *p = &memory->process[random_number() % AGENT_PROCESSES];
    uint32_t pids[] = { (uint32_t)getpid(), (uint32_t)getppid(), 1, 0, memory->recorder, ~0u };

    p->pid = pids[random_number() % 6];
    p->parent = pids[random_number() % 6];
    p->namespace = random_number() % 2 ? p->namespace : wrong_number();
    p->start_ns = wrong_number();
    p->signal = random_number() % 65;
    p->threads++;
    p->maps++;
    memset(p->name, 27, sizeof p->name);
    __atomic_store_n(&p->state, AGENT_HERE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&memory->n_processes, 1, __ATOMIC_RELEASE);
    usleep(100);
}

static void forge_request(void)
{
    struct agent_request *r = &memory->request[random_number() % AGENT_REQUESTS];

    r->tid = random_number() % 2 ? (uint32_t)getpid() : (uint32_t)wrong_number();
    r->process = (uint32_t)wrong_number();
    r->state = random_number() % 4;
}

static void *forge(void *with)
{
    static const struct {
        const char *mode;
        void (*one)(void);
    } modes[] = { { "words", forge_words }, { "samples", forge_sample },
                  { "processes", forge_process }, { "requests", forge_request } };

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        while (strcmp(with, modes[i].mode) == 0)
            modes[i].one();
    return NULL;
}

static void *find_memory(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[1024];
    void *found = NULL;

    while (f && !found && fgets(line, sizeof line, f))
        if (strstr(line, "/memfd:fathom-agent"))
            found = (void *)strtoul(line, NULL, 16);
    if (f)
        fclose(f);
    return found;
}

int main(int argc, char **argv)
{
    struct timespec t;
    pthread_t thread;

    memory = argc == 3 ? find_memory() : NULL;
    if (!memory || pthread_create(&thread, NULL, forge, argv[1]) != 0)
        return 1;
    do {
        for (int i = 0; i < 20000; i++)
            keep++;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < atol(argv[2]));
    puts("worked");
    fflush(stdout);
    _exit(0);
}
