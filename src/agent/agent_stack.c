/* agent_stack.c - stacks on which our handler fits.
 *
 * The kernel's part of a signal handler takes up to 11 KB, and the program did not expect a signal.
 * Threads with small stacks, and threads that switch to small ones, therefore get an alternate
 * stack of ours; one that the program set itself and that is too small is replaced.  The program
 * sees what it set.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "agent/agent.h"
#include "target/tgt_guard.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum {
    STACK = 64 << 10, /* handlers of the program may run on it too */
    GUARD = 64 << 10, /* a page of any size */
    SMALL = 64 << 10, /* a stack that may not have room for the handler */
    HANDLER = 2048,   /* our part of it */
    LEAST = 2048,     /* that the kernel accepts */
};

static size_t needed = LEAST + HANDLER;
static pthread_key_t ends; /* frees the stack of a thread that ends */
static bool has_key;

static __thread struct {
    void *memory;  /* ours, or NULL */
    bool installed, keep;
    stack_t shown; /* what the program set, if ours is installed */
} own;

/* --- our stack --- */

struct start {
    void *(*function)(void *);
    void *arg;
};

static void *map(void)
{
    unsigned char *p = mmap(NULL, GUARD + STACK, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    if (mprotect(p + GUARD, STACK, PROT_READ | PROT_WRITE) == 0)
        return p;
    munmap(p, GUARD + STACK);
    return NULL;
}

void agent_stack_free(void *memory)
{
    TGT_KEEP_ERRNO();

    munmap(memory, GUARD + STACK);
}

static void at_end(void *memory)
{
    stack_t none = { .ss_flags = SS_DISABLE };

    if (own.installed && NEXT(sigaltstack)(&none, NULL) < 0)
        return; /* it ends on that stack */
    own.memory = NULL;
    own.installed = false;
    agent_stack_free(memory);
}

/* Give this thread MEMORY as its alternate stack, with the flags of the program. */
static bool install(void *memory, int flags)
{
    stack_t s = { .ss_sp = (char *)memory + GUARD, .ss_size = STACK,
                  .ss_flags = (int)((unsigned)flags & SS_AUTODISARM) };

    if (NEXT(sigaltstack)(&s, NULL) < 0)
        return false;
    own.memory = memory;
    own.installed = true;
    if (has_key)
        pthread_setspecific(ends, memory);
    return true;
}

static bool provide(int flags)
{
    void *memory = own.memory ? own.memory : map();

    if (!memory)
        return false;
    if (install(memory, flags))
        return true;
    if (!own.memory)
        agent_stack_free(memory);
    return false;
}

void agent_stack_start(void)
{
    size_t frame = getauxval(AT_MINSIGSTKSZ);

    if (frame)
        needed = frame + HANDLER;
    has_key = pthread_key_create(&ends, at_end) == 0;
}

/* --- threads and coroutines --- */

void *agent_stack_for(const pthread_attr_t *attributes, void *(*start)(void *), void *arg)
{
    size_t size;
    void *memory;
    TGT_KEEP_ERRNO();

    if (!attributes || pthread_attr_getstacksize(attributes, &size) != 0 || size >= SMALL)
        return NULL;
    memory = map();
    if (memory)
        *(struct start *)((char *)memory + GUARD) = (struct start){ start, arg };
    return memory;
}

void *agent_stack_enter(void *memory)
{
    struct start start = *(struct start *)((char *)memory + GUARD);

    own.shown = (stack_t){ .ss_flags = SS_DISABLE };
    own.keep = true;
    if (!install(memory, 0))
        agent_stack_free(memory);
    return start.function(start.arg);
}

/* The thread is about to run on the stack of TO. */
static void prepare(const ucontext_t *to)
{
    stack_t now;
    TGT_KEEP_ERRNO();

    if (own.keep || !agent_process() || to->uc_stack.ss_size == 0 || to->uc_stack.ss_size >= SMALL)
        return;
    own.keep = true;
    if (own.installed || NEXT(sigaltstack)(NULL, &now) < 0 || !(now.ss_flags & SS_DISABLE))
        return;
    own.shown = now;
    provide(0);
}

AGENT_HOOK int swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to)
{
    prepare(to);
    return NEXT(swapcontext)(from, to);
}

AGENT_HOOK int setcontext(const ucontext_t *to)
{
    prepare(to);
    return NEXT(setcontext)(to);
}

/* --- what the program sets --- */

static bool is_disabled(const stack_t *s)
{
    return (unsigned)s->ss_flags & SS_DISABLE;
}

/* What the program sees while WAS is installed. */
static stack_t view(const stack_t *was)
{
    stack_t s = own.installed ? own.shown : *was;

    if (own.installed && !is_disabled(&s))
        s.ss_flags = was->ss_flags;
    return s;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* Replace NEW, which is too small or none at all. */
static int replace(const stack_t *new)
{
    unsigned flags = (unsigned)new->ss_flags & ~SS_AUTODISARM;

    if (flags && flags != SS_ONSTACK && flags != SS_DISABLE)
        return fail(EINVAL);
    if (!is_disabled(new) && new->ss_size < LEAST)
        return fail(ENOMEM);
    if (!provide(new->ss_flags)) {
        agent_signal_stop();
        return NEXT(sigaltstack)(new, NULL);
    }
    own.shown = is_disabled(new) ? (stack_t){ .ss_flags = SS_DISABLE } : *new;
    return 0;
}

/* Install NEW as it is. */
static int pass(const stack_t *new)
{
    int rc = NEXT(sigaltstack)(new, NULL);

    if (rc < 0)
        return rc;
    own.installed = false;
    if (own.memory && !own.keep) {
        if (has_key)
            pthread_setspecific(ends, NULL);
        agent_stack_free(own.memory);
        own.memory = NULL;
    }
    return 0;
}

AGENT_HOOK int sigaltstack(const stack_t *new, stack_t *old)
{
    stack_t was, seen;
    bool fits;
    int rc;

    if (!agent_process())
        return NEXT(sigaltstack)(new, old);
    fits = !new || (is_disabled(new) ? !own.keep : new->ss_size >= needed);
    if (fits && !own.memory)
        return NEXT(sigaltstack)(new, old);
    rc = NEXT(sigaltstack)(NULL, &was);
    if (rc < 0)
        return rc;
    seen = view(&was);
    if (new && was.ss_flags & SS_ONSTACK)
        return fail(EPERM);
    rc = !new ? 0 : fits ? pass(new) : replace(new);
    if (rc == 0 && old)
        *old = seen;
    return rc;
}
