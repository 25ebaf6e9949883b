/* col_inject.c - see col_inject.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/col_admit.h"
#include "collect/col_image.h"
#include "collect/col_proc.h"
#include "collect/col_ptrace.h"
#include "collect/col_quiet.h"
#include "collect/col_room.h"
#include "collect/col_stub.h"
#include "collect/col_thread.h"

enum {
    NS_PER_MS = 1000000,
    SEARCH_MS = 1000,  /* for a thread */
    STOP_MS = 2000,    /* for one to stop */
    ANSWER_MS = 3000,  /* of the agent */
    PAUSE_MS = 3,
    GET_RSEQ = 0x420f, /* PTRACE_GET_RSEQ_CONFIGURATION */
};

struct col_inject { /* an attempt */
    int64_t pid;
    struct agent_memory *memory;
    struct col_image image;
    struct col_stub_frame frame;
    uint64_t code;     /* address of the stub */
    const char *why;   /* the last thread could not be used */
    bool entered;
    int errnum;        /* ptrace was refused */
};

static void pause_ms(long ms)
{
    struct timespec t = { 0, ms * NS_PER_MS };

    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* --- one thread --- */

/* A thread is in a restartable sequence: the kernel would not restart it for us. */
static bool is_in_sequence(const struct col_ptrace *t)
{
    struct { /* of the kernel, which libc does not declare everywhere */
        uint64_t address;
        uint32_t size, signature, flags, pad;
    } rseq = { 0 };
    uint64_t sequence;

    if (ptrace((enum __ptrace_request)GET_RSEQ, t->tid, sizeof rseq, &rseq) < 0 || !rseq.address)
        return false;
    return !col_ptrace_read(t, rseq.address + 8, &sequence) || sequence;
}

static bool write_code(const struct col_inject *x, const struct col_ptrace *t)
{
    size_t n;
    const unsigned char *code = col_stub_code(&n);
    uint64_t word;

    for (size_t i = 0; i < n; i += sizeof word) {
        if (!col_ptrace_read(t, x->code + i, &word))
            return false;
        if (memcmp(&word, code + i, sizeof word) != 0 &&
            !col_ptrace_write(t, x->code + i, code + i, sizeof word))
            return false;
    }
    return true;
}

/* The last step is the only one that the process notices. */
static bool enter(struct col_inject *x, const struct col_ptrace *t, struct col_ptrace_regs *r)
{
    struct col_stub_frame *f = &x->frame;

    if (!col_stub_prepare(f, r) || !write_code(x, t) ||
        !col_ptrace_write(t, f->at, &f->call, sizeof f->call) ||
        !col_ptrace_write(t, f->call.registers, &f->registers, sizeof f->registers))
        return false;
    col_stub_enter(f, r, x->code);
    return col_ptrace_set_regs(t, r);
}

/* R are the registers with which T would run on.  Returns why it cannot be used, or NULL. */
static const char *judge(struct col_inject *x, const struct col_ptrace *t,
                         const struct col_ptrace_regs *r, long call)
{
    struct col_quiet_thread q = { .tid = t->tid, .pointer = col_stub_pointer(r), .call = call };

    if (t->in_group_stop)
        return "is stopped by a signal";
    if (t->signal || col_ptrace_has_signal(t))
        return "is about to handle a signal";
    if (call >= 0 && !col_quiet_call(call))
        return "waits in a system call that cannot be repeated";
    if (!col_ptrace_unwind_regs(r, &q.regs))
        return "runs 32-bit code";
    if (call < 0 && is_in_sequence(t))
        return "is in a restartable sequence";
    return col_quiet_check(&x->image, &q);
}

static void use_stopped(struct col_inject *x, const struct col_ptrace *t)
{
    struct col_ptrace_regs r;
    bool failed, changed;
    long call;

    if (!col_ptrace_regs(t, &r))
        return;
    call = col_stub_interrupted(&r);
    changed = col_ptrace_repeat_call(t, &r, &failed);
    if (changed)
        call = (long)r.v.rax;
    x->why = failed ? "waits in a system call that cannot be repeated" : judge(x, t, &r, call);
    x->entered = !x->why && enter(x, t, &r);
    if (changed && !x->entered)
        col_ptrace_set_regs(t, &r);
}

static uint64_t in_ms(uint64_t ms)
{
    return clock_mono_ns() + ms * NS_PER_MS;
}

/* A thread that does not stop, or is killed, is let go when this thread of ours ends. */
static bool use_thread(struct col_inject *x, int tid)
{
    struct col_ptrace t;
    int errnum = col_ptrace_seize(&t, (pid_t)x->pid, tid);

    if (errnum == ESRCH)
        return true;
    if (errnum) {
        x->errnum = errnum;
        return false;
    }
    switch (col_ptrace_wait(&t, in_ms(STOP_MS))) {
    case COL_PTRACE_ENDED: return true;
    case COL_PTRACE_NOT_YET: x->why = "does not stop"; return false;
    case COL_PTRACE_STOPPED: break;
    }
    use_stopped(x, &t);
    while (!col_ptrace_let_go(&t))
        if (col_ptrace_wait(&t, in_ms(STOP_MS)) == COL_PTRACE_ENDED)
            return true;
    return true;
}

/* --- the search --- */

/* Build the unwind tables for its stack before it is stopped. */
static void warm(struct col_inject *x, int tid, const struct col_proc_wait *w)
{
    struct col_quiet_thread q = { .tid = tid, .regs = { .pc = w->pc, .sp = w->sp },
                                  .call = w->call };

    col_quiet_check(&x->image, &q);
}

/* A constructor or destructor that waits for the thread that we choose would wait for ever. */
static bool waits_in_linker(struct col_inject *x, const struct col_tids *tids, uint64_t until_ns)
{
    for (size_t i = 0; i < tids->n && clock_mono_ns() < until_ns; i++) {
        struct col_proc_wait w;
        struct col_quiet_thread q = { .tid = tids->v[i] };

        if (!col_proc_wait(x->pid, tids->v[i], &w) || w.call < 0)
            continue;
        q.regs = (struct unw_regs){ .pc = w.pc, .sp = w.sp };
        q.call = w.call;
        if (col_quiet_loads(&x->image, &q)) {
            x->why = "waits while another loads a library";
            return true;
        }
    }
    return false;
}

/* Try the threads that wait, or those that run.  Returns false to give up. */
static bool try_threads(struct col_inject *x, bool waiting, uint64_t until_ns)
{
    struct col_tids tids = { 0 };
    bool goes_on = true;

    col_proc_threads(x->pid, &tids);
    if (waits_in_linker(x, &tids, until_ns)) {
        vec_release(&tids);
        return clock_mono_ns() < until_ns;
    }
    for (size_t i = 0; i < tids.n && goes_on && !x->entered; i++) {
        struct col_proc_wait w;
        bool waits = col_proc_wait(x->pid, tids.v[i], &w) && w.call >= 0;

        if (waits != waiting || (waits && !col_quiet_call(w.call)))
            continue;
        if (waits)
            warm(x, tids.v[i], &w);
        goes_on = use_thread(x, tids.v[i]) && clock_mono_ns() < until_ns;
    }
    goes_on &= tids.n > 0;
    vec_release(&tids);
    return goes_on;
}

/* Waiting threads first: they are seldom in the middle of something. */
static void *search(void *with)
{
    struct col_inject *x = with;
    uint64_t until_ns = in_ms(SEARCH_MS);

    while (try_threads(x, true, until_ns) && !x->entered && try_threads(x, false, until_ns) &&
           !x->entered)
        pause_ms(PAUSE_MS);
    return NULL;
}

/* --- the process --- */

/* Address of a function of its C library, old ones of which have a second file. */
static uint64_t find_function(struct col_inject *x, const char *name)
{
    static const char *const files[] = { "libc.so.6", "libc-2.", "libdl.so.2", "libdl-2." };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct col_object *o = col_image_object(&x->image, files[i]);
        uint64_t at = o ? col_image_function(o, name) : 0;

        if (at)
            return at;
    }
    return 0;
}

static bool is_sanitized(struct col_inject *x)
{
    static const char *const names[] = { "__asan_init", "__tsan_init", "__msan_init",
                                         "__hwasan_init" };

    for (size_t i = 0; i < ARRAY_LEN(names) && x->image.object.n; i++)
        if (col_image_function(&x->image.object.v[0], names[i]))
            return true;
    return false;
}

static int prepare(struct col_inject *x, const char *folder, struct err *e)
{
    struct col_stub_call *c = &x->frame.call;
    size_t n;
    const unsigned char *code = col_stub_code(&n);

    if (!col_image_open(&x->image, x->pid))
        return err_set(e, ERR_REFUSED, "its mappings cannot be read");
    if (is_sanitized(x))
        return err_set(e, ERR_REFUSED, "it is built with a sanitizer");
    if (col_image_small_stacks(&x->image))
        return err_set(e, ERR_REFUSED, "a thread of it has a stack too small for a signal handler");
    c->dlopen = find_function(x, "dlopen");
    c->dlsym = find_function(x, "dlsym");
    c->errno_location = find_function(x, "__errno_location");
    if (!c->dlopen || !c->dlsym || !c->errno_location)
        return err_set(e, ERR_REFUSED, "the file of its C library was replaced, or has no dlopen");
    x->code = col_room_find(&x->image, code, n);
    if (!x->code)
        return err_set(e, ERR_REFUSED, "its code leaves no room for ours");
    snprintf(c->folder, sizeof c->folder, "%s/", folder);
    snprintf(c->library, sizeof c->library, "%s%s", c->folder, AGENT_LIBRARY);
    snprintf(c->join, sizeof c->join, "fathom_agent_join");
    return 0;
}

/* A thread of ours that ends lets go whatever it has seized. */
static int enter_some_thread(struct col_inject *x, struct err *e)
{
    pthread_t thread;

    if (!col_thread_start(&thread, search, x))
        return err_set(e, ERR_SYSTEM, "cannot start a thread");
    pthread_join(thread, NULL);
    if (x->entered)
        return 0;
    if (x->errnum)
        return col_admit_refused(x->errnum, e);
    if (!x->why)
        return err_set(e, ERR_MISSING, "it has ended");
    return err_set(e, ERR_REFUSED, "no thread of it could be used: the last one %s", x->why);
}

static int wait_for_answer(const struct col_inject *x, struct err *e)
{
    uint64_t until_ns = in_ms(ANSWER_MS);
    uint32_t answer;

    while (!(answer = __atomic_load_n(&x->memory->answer, __ATOMIC_ACQUIRE))) {
        if (!col_proc_parent(x->pid))
            return err_set(e, ERR_MISSING, "it has ended");
        if (clock_mono_ns() > until_ns)
            return err_set(e, ERR_REFUSED, "it could not load %s", AGENT_LIBRARY);
        pause_ms(1);
    }
    if (answer == AGENT_BUSY)
        return err_set(e, ERR_REFUSED, "another recorder samples it");
    if (answer == AGENT_NO_SIGNAL)
        return err_set(e, ERR_REFUSED, "it handles both SIGURG and SIGWINCH");
    if (answer != AGENT_JOINED)
        return err_set(e, ERR_LIMIT, "there is no place for another process");
    return 0;
}

int col_inject(int64_t pid, const char *folder, struct agent_memory *m, struct err *e)
{
    struct col_inject *x = mem_zalloc(sizeof *x);
    int rc = col_admit(pid, &m->avoid, e);

    x->pid = pid;
    x->memory = m;
    __atomic_store_n(&m->answer, AGENT_NO_ANSWER, __ATOMIC_RELEASE);
    if (rc == 0)
        rc = prepare(x, folder, e);
    if (rc == 0)
        rc = enter_some_thread(x, e);
    if (rc == 0)
        rc = wait_for_answer(x, e);
    col_image_release(&x->image);
    free(x);
    return rc;
}
