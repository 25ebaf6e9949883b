/* file_limit.c - see file_limit.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/file_limit.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static sigset_t only_xfsz(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

static bool is_pending(void)
{
    sigset_t set;

    return sigpending(&set) == 0 && sigismember(&set, SIGXFSZ) == 1;
}

struct file_limit file_limit_begin(void)
{
    struct file_limit l = { .was_pending = false };
    sigset_t set = only_xfsz();
    int cause = errno;

    pthread_sigmask(SIG_BLOCK, &set, &l.old);
    /* Only if the program blocks it, an older one can be waiting, which is the program's. */
    if (sigismember(&l.old, SIGXFSZ) == 1)
        l.was_pending = is_pending();
    errno = cause;
    return l;
}

void file_limit_end(const struct file_limit *l)
{
    const struct timespec at_once = { 0, 0 };
    sigset_t set = only_xfsz();
    int cause = errno;

    if (!l->was_pending && is_pending())
        sigtimedwait(&set, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &l->old, NULL);
    errno = cause;
}
