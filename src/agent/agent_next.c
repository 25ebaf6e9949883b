/* agent_next.c - the functions of libc behind our hooks.
 *
 * All are found before main, so that a hook in a signal handler or in a child of vfork does not
 * call the dynamic linker.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>

#include "agent/agent.h"

static void *next[AGENT_NEXT_COUNT];
static const char *const name[] = {
#define HOOK(name) #name,
#include "agent/agent_hooks.def"
#undef HOOK
};

static void *find(enum agent_next which)
{
    void *p = dlsym(RTLD_NEXT, name[which]);

    __atomic_store_n(&next[which], p, __ATOMIC_RELAXED);
    return p;
}

/* Constructors of other libraries may call hooks before ours runs. */
void *agent_next(enum agent_next which)
{
    void *p = __atomic_load_n(&next[which], __ATOMIC_RELAXED);

    return p ? p : find(which);
}

static void __attribute__((constructor(101))) find_all(void)
{
    for (int i = 0; i < AGENT_NEXT_COUNT; i++)
        find((enum agent_next)i);
}
