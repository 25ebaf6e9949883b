/* col_words.c - see col_words.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_words.h"

#include <errno.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "collect/col_thread.h"

enum { WORDS_AT_ONCE = 256, MOST_SECONDS = 1 };

/* A request, between the posts of ASKED and ANSWERED the thread's. */
static struct request {
    sem_t asked, answered;
    pid_t pid;
    size_t n, size;
    struct iovec from[WORDS_AT_ONCE];
    uint64_t to[COL_WORDS_BYTES / sizeof(uint64_t)];
    ssize_t got;
    int cause;
} request;
static enum { NOT_STARTED, READY, GIVEN_UP } state;

static void *answer(void *with)
{
    struct request *r = with;

    for (;;) {
        struct iovec to = { r->to, 0 };

        while (sem_wait(&r->asked) < 0)
            ;
        to.iov_len = r->size;
        r->got = process_vm_readv(r->pid, &to, 1, r->from, r->n, 0);
        r->cause = errno;
        sem_post(&r->answered);
    }
    return NULL;
}

static bool start(void)
{
    pthread_t thread;

    sem_init(&request.asked, 0, 0);
    sem_init(&request.answered, 0, 0);
    return col_thread_start(&thread, answer, &request) && pthread_detach(thread) == 0;
}

/* The request stays the thread's once we have given up. */
static bool can_ask(void)
{
    if (state == NOT_STARTED)
        state = start() ? READY : GIVEN_UP;
    return state == READY;
}

static bool ask(int64_t pid, size_t n, size_t size)
{
    struct timespec until;

    request.pid = (pid_t)pid;
    request.n = n;
    request.size = size;
    sem_post(&request.asked);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += MOST_SECONDS;
    while (sem_clockwait(&request.answered, CLOCK_MONOTONIC, &until) < 0)
        if (errno != EINTR) {
            state = GIVEN_UP;
            return false;
        }
    return true;
}

static bool ask_words(int64_t pid, const uint64_t *address, size_t n)
{
    if (!can_ask())
        return false;
    for (size_t i = 0; i < n; i++)
        request.from[i] = (struct iovec){ (void *)(uintptr_t)address[i], sizeof *address };
    return ask(pid, n, n * sizeof *address);
}

long col_words_read(int64_t pid, const uint64_t *address, size_t n, uint64_t *word)
{
    size_t done = 0;

    while (done < n) {
        size_t k = n - done < WORDS_AT_ONCE ? n - done : WORDS_AT_ONCE, got;

        if (!ask_words(pid, address + done, k) || (request.got < 0 && request.cause != EFAULT))
            return -1;
        got = request.got > 0 ? (size_t)request.got / sizeof *word : 0;
        memcpy(word + done, request.to, got * sizeof *word);
        done += got;
        if (got < k)
            break;
    }
    return (long)done;
}

size_t col_words_bytes(int64_t pid, uint64_t address, size_t n, const unsigned char **data)
{
    if (!can_ask())
        return 0;
    *data = (unsigned char *)request.to;
    request.from[0] = (struct iovec){ (void *)(uintptr_t)address, n };
    return n <= sizeof request.to && ask(pid, 1, n) && request.got > 0 ? (size_t)request.got : 0;
}
