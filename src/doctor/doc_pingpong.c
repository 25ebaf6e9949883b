/* doc_pingpong.c - see doc_pingpong.h.  SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doc_pingpong.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#include "base/clock.h"

struct partner {
    int in, out, rounds;
    cpu_set_t *cpus;
};

static void *answer(void *arg)
{
    const struct partner *p = arg;
    char byte;

    if (p->cpus)
        pthread_setaffinity_np(pthread_self(), sizeof *p->cpus, p->cpus);
    for (int i = 0; i < p->rounds; i++)
        if (read(p->in, &byte, 1) != 1 || write(p->out, &byte, 1) != 1)
            break;
    return NULL;
}

double doc_pingpong(int to, int from, int in, int out, int rounds, bool on_one_cpu)
{
    struct partner p = { in, out, rounds, NULL };
    cpu_set_t old, one;
    pthread_t thread;
    uint64_t start, ns;
    char byte = 0;
    int i = 0;

    pthread_getaffinity_np(pthread_self(), sizeof old, &old);
    CPU_ZERO(&one);
    CPU_SET((size_t)(sched_getcpu() < 0 ? 0 : sched_getcpu()), &one);
    if (on_one_cpu) {
        p.cpus = &one;
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
    if (pthread_create(&thread, NULL, answer, &p) != 0)
        return NAN;
    start = clock_mono_ns();
    while (i < rounds && write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1)
        i++;
    ns = clock_mono_ns() - start;
    if (i < rounds)
        pthread_cancel(thread); /* it may wait for a byte that never arrives */
    pthread_join(thread, NULL);
    pthread_setaffinity_np(pthread_self(), sizeof old, &old);
    return i == rounds ? (double)ns / rounds : NAN;
}

double doc_pingpong_pipes(int rounds, bool on_one_cpu)
{
    int there[2], back[2];
    double ns;

    if (pipe2(there, O_CLOEXEC) < 0)
        return NAN;
    if (pipe2(back, O_CLOEXEC) < 0) {
        close(there[0]);
        close(there[1]);
        return NAN;
    }
    ns = doc_pingpong(there[1], back[0], there[0], back[1], rounds, on_one_cpu);
    for (int i = 0; i < 2; i++) {
        close(there[i]);
        close(back[i]);
    }
    return ns;
}
