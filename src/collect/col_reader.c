/* col_reader.c - see col_reader.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/col_schedstat.h"
#include "collect/col_thread.h"

enum { ANSWERS = 16 };
static const uint64_t patience_ns = 1000000000u;

/* A ring: the caller increments ASKED and TAKEN, the thread READ. */
struct col_reader {
    struct col_reader_answer answer[ANSWERS];
    uint32_t asked, taken;
    uint32_t read;     /* atomic */
    uint64_t asked_ns; /* when the oldest that is not read was asked for, or later */
    uint32_t read_then; /* READ at that time */
    bool stop;         /* atomic */
    sem_t wake;
    pthread_t thread;
};

/* A container may refuse the system call and allow the file. */
static ssize_t read_file(const struct col_reader_request *q, void *to)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/mem", q->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    n = pread(fd, to, COL_READER_BYTES, (off_t)q->sp);
    close(fd);
    return n;
}

static void answer(struct col_reader_answer *a)
{
    struct iovec to = { a->bytes, sizeof a->bytes };
    struct iovec from = { (void *)(uintptr_t)a->of.sp, sizeof a->bytes };
    ssize_t n = process_vm_readv((pid_t)a->of.pid, &to, 1, &from, 1, 0);
    struct col_schedstat now;

    if (n < 0 && (errno == EPERM || errno == ENOSYS))
        n = read_file(&a->of, a->bytes);
    if (!col_schedstat_read(a->of.pid, a->of.tid, &now) || now.turns != a->of.turns)
        n = 0;
    a->n = n > 0 ? (size_t)n : 0;
}

static void *run(void *with)
{
    struct col_reader *r = with;

    for (;;) {
        while (sem_wait(&r->wake) < 0)
            ;
        if (__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
            return NULL;
        answer(&r->answer[r->read % ANSWERS]);
        __atomic_store_n(&r->read, r->read + 1, __ATOMIC_RELEASE);
    }
}

struct col_reader *col_reader_new(void)
{
    struct col_reader *r = mem_zalloc(sizeof *r);

    sem_init(&r->wake, 0, 0);
    if (col_thread_start(&r->thread, run, r))
        return r;
    sem_destroy(&r->wake);
    free(r);
    return NULL;
}

/* The thread has not finished a read for long. */
static bool is_stuck(struct col_reader *r, uint64_t now_ns)
{
    uint32_t read = __atomic_load_n(&r->read, __ATOMIC_ACQUIRE);

    if (read == r->asked || read != r->read_then) {
        r->read_then = read;
        r->asked_ns = now_ns;
    }
    return now_ns - r->asked_ns > patience_ns;
}

bool col_reader_ask(struct col_reader *r, const struct col_reader_request *q, uint64_t now_ns)
{
    if (is_stuck(r, now_ns) || r->asked - r->taken == ANSWERS - 1)
        return false;
    r->answer[r->asked++ % ANSWERS].of = *q;
    sem_post(&r->wake);
    return true;
}

const struct col_reader_answer *col_reader_next(struct col_reader *r)
{
    if (r->taken == __atomic_load_n(&r->read, __ATOMIC_ACQUIRE))
        return NULL;
    return &r->answer[r->taken++ % ANSWERS];
}

/* Whether the thread has ended.  One that reads may never come back; then it keeps its memory. */
static bool join(struct col_reader *r)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    return pthread_clockjoin_np(r->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

void col_reader_free(struct col_reader *r)
{
    if (!r)
        return;
    __atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
    sem_post(&r->wake);
    if (!join(r)) {
        pthread_detach(r->thread);
        return;
    }
    sem_destroy(&r->wake);
    free(r);
}
