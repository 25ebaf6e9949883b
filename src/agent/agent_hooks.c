/* agent_hooks.c - hooks that tell the recorder what to look at again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "agent/agent.h"

AGENT_HOOK int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                              void *(*start)(void *), void *restrict arg)
{
    int rc = NEXT(pthread_create)(thread, attributes, start, arg);
    struct agent_process *p = agent_process();

    if (rc == 0 && p)
        __atomic_fetch_add(&p->threads, 1, __ATOMIC_RELAXED);
    return rc;
}

/* dlopen has no hook: it looks at its caller.  Code at unknown addresses shows that a library was
 * loaded. */
AGENT_HOOK int dlclose(void *library)
{
    int rc = NEXT(dlclose)(library);
    struct agent_process *p = agent_process();

    if (p)
        __atomic_fetch_add(&p->maps, 1, __ATOMIC_RELAXED);
    return rc;
}

/* A filter of system calls that the program installs may end it for those of our handler. */
AGENT_HOOK int prctl(int option, ...)
{
    struct agent_process *p = agent_process();
    unsigned long a[4];
    va_list ap;

    va_start(ap, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, unsigned long);
    va_end(ap);
    if (option == PR_SET_SECCOMP && p)
        __atomic_store_n(&p->careful, 1, __ATOMIC_RELAXED);
    return NEXT(prctl)(option, a[0], a[1], a[2], a[3]);
}
