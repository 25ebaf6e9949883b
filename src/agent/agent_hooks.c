/* agent_hooks.c - hooks that threads and libraries: tell the recorder what to look at again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>

#include "agent/agent.h"

AGENT_HOOK int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                              void *(*start)(void *), void *restrict arg)
{
    struct agent_process *p = agent_process();
    void *stack = p ? agent_stack_for(attributes, start, arg) : NULL;
    int rc = stack ? NEXT(pthread_create)(thread, attributes, agent_stack_enter, stack)
                   : NEXT(pthread_create)(thread, attributes, start, arg);

    if (rc == 0 && p)
        __atomic_fetch_add(&p->threads, 1, __ATOMIC_RELAXED);
    else if (stack)
        agent_stack_free(stack);
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

void agent_hooks_named(void)
{
    struct agent_process *p = agent_process();

    if (p)
        __atomic_fetch_add(&p->names, 1, __ATOMIC_RELAXED);
}

AGENT_HOOK int pthread_setname_np(pthread_t thread, const char *name)
{
    int rc = NEXT(pthread_setname_np)(thread, name);

    agent_hooks_named();
    return rc;
}
