/* col_tasks.c - see col_tasks.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_tasks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_BYTES = 64 << 10, RING_LEAST = 8 << 10 };

static int open_on(pid_t pid, int cpu)
{
    struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof a,
                                 .config = PERF_COUNT_SW_DUMMY };

    a.disabled = a.inherit = a.enable_on_exec = a.task = 1;
    a.exclude_kernel = a.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_ring(struct col_ring *ring, int fd)
{
    for (size_t bytes = RING_BYTES; bytes >= RING_LEAST; bytes /= 2)
        if (col_ring_open(ring, fd, bytes) == 0)
            return 0;
    return -1;
}

/* A ring belongs to one CPU, and so must an inherited event with a ring. */
void col_tasks_open(struct col_tasks *t, pid_t pid)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);

    bool any = false;

    *t = (struct col_tasks){ 0 };
    for (int cpu = 0; cpu < cpus; cpu++) {
        struct col_ring ring;
        int fd = open_on(pid, cpu);

        any |= fd >= 0;
        t->refused = any ? 0 : errno;
        if (fd >= 0 && open_ring(&ring, fd) == 0)
            vec_push(&t->ring, ring);
        else if (fd >= 0)
            close(fd);
    }
    /* an offline CPU has no event and runs nothing */
    t->failed = t->ring.n < (size_t)sysconf(_SC_NPROCESSORS_ONLN);
}

struct fork_record {
    struct perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
};

static void drain_ring(struct col_tasks *t, struct col_ring *r)
{
    const struct fork_record *f;
    size_t n;

    col_ring_look(r);
    while ((f = col_ring_record(r, &n))) {
        if (f->header.type == PERF_RECORD_FORK && n >= sizeof *f) {
            t->threads++;
            t->processes += f->pid != f->parent_pid;
        }
        t->failed |= f->header.type == PERF_RECORD_LOST;
        col_ring_next(r, n);
    }
    col_ring_release(r);
}

void col_tasks_drain(struct col_tasks *t)
{
    for (size_t i = 0; i < t->ring.n; i++)
        drain_ring(t, &t->ring.v[i]);
}

bool col_tasks_counts(struct col_tasks *t, double *processes, double *threads)
{
    col_tasks_drain(t);
    *processes = (double)t->processes + 1;
    *threads = (double)t->threads + 1;
    return !t->failed;
}

void col_tasks_close(struct col_tasks *t)
{
    for (size_t i = 0; i < t->ring.n; i++) {
        int fd = t->ring.v[i].fd;

        col_ring_close(&t->ring.v[i]);
        close(fd);
    }
    vec_release(&t->ring);
}
