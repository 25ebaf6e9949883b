/* col_thread.c - see col_thread.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_thread.h"

#include <signal.h>

enum { STACK_BYTES = 64 << 10 };

bool col_thread_start(pthread_t *thread, void *(*run)(void *with), void *with)
{
    pthread_attr_t attr;
    sigset_t all, old;
    bool done;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    done = pthread_create(thread, &attr, run, with) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return done;
}
