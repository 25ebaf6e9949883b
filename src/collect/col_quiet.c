/* col_quiet.c - see col_quiet.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_quiet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/map.h"
#include "collect/col_words.h"

enum {
    PAGE = 4096,
    ROOM = 64 << 10,       /* of stack, that dlopen may need */
    GAP = 1 << 20,         /* that the kernel keeps free below a stack that grows */
    MOST_STACK = 256 << 10,
    MOST_FRAMES = 1024,
    NEAR = 64 << 10,       /* functions without a symbol this near to one may belong to it */
    ROOT_DISTANCE = 64 << 10, /* from the first frame of a stack to its end */
};

bool col_quiet_call(long call)
{
    static const int calls[] = {
        SYS_read, SYS_readv, SYS_write, SYS_writev, SYS_ppoll, SYS_pselect6, SYS_epoll_pwait,
        SYS_nanosleep, SYS_clock_nanosleep, SYS_futex, SYS_wait4, SYS_waitid, SYS_accept,
        SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_rt_sigsuspend,
        SYS_rt_sigtimedwait, SYS_flock, SYS_semop, SYS_semtimedop, SYS_msgrcv, SYS_msgsnd,
        SYS_io_getevents, SYS_restart_syscall,
#if defined(__x86_64__)
        SYS_poll, SYS_select, SYS_epoll_wait, SYS_pause,
#endif
    };

    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (call == calls[i])
            return true;
    return false;
}

/* --- the stack --- */

/* The stack pointer with which process PID was started: field 28 of its stat file; 0: unknown. */
static uint64_t start_of_stack(int64_t pid)
{
    char path[64], text[1024], *at;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    if (map_read_text(path, text, sizeof text) < 0 || !(at = strrchr(text, ')')))
        return 0;
    for (int i = 2; i < 28 && at; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* The first thread's stack grows on demand. */
static bool can_grow(int64_t pid, uint64_t bytes)
{
    struct rlimit most;

    return prlimit((pid_t)pid, RLIMIT_STACK, NULL, &most) == 0 &&
           (most.rlim_cur == RLIM_INFINITY || bytes < most.rlim_cur);
}

/* Nothing lies so near below A that the kernel would not let it grow. */
static bool has_space(const struct col_image *m, const struct col_area *a)
{
    for (size_t i = 0; i < m->area.n; i++)
        if (m->area.v[i].end <= a->start && a->start - m->area.v[i].end < GAP + ROOM)
            return false;
    return true;
}

/* The area below A is its guard: nothing but the stack lies between. */
static bool is_guarded(const struct col_image *m, const struct col_area *a)
{
    for (size_t i = 0; i < m->area.n; i++)
        if (m->area.v[i].end == a->start)
            return strcmp(m->area.v[i].prot, "---p") == 0;
    return false;
}

/* Where the stack of T ends, if it is the one that the kernel or libc gave it, with room; else 0.
 * Stacks of goroutines and other coroutines are small, and have neighbours. */
static uint64_t end_of_stack(const struct col_image *m, const struct col_quiet_thread *t)
{
    const struct col_area *a = col_image_area(m, t->regs.sp);
    uint64_t end;

    if (!a)
        return 0;
    if (strcmp(a->path, "[stack]") == 0) {
        end = t->tid == m->pid ? start_of_stack(m->pid) : 0;
        return end > t->regs.sp && (t->regs.sp - a->start >= ROOM ||
                        (t->regs.sp - a->start >= PAGE && has_space(m, a))) &&
                       can_grow(m->pid, end - t->regs.sp + ROOM)
                   ? end
                   : 0;
    }
    end = t->pointer ? t->pointer : a->end;
    return t->regs.sp < end && end <= a->end && t->regs.sp - a->start >= ROOM && is_guarded(m, a)
               ? end
               : 0;
}

/* --- frames --- */

struct walk {
    struct unw_frame frame[MOST_FRAMES];
    size_t n;
    uint64_t end; /* of the stack */
};

static size_t read_stack(const struct col_image *m, uint64_t from, uint64_t end,
                         unsigned char *to)
{
    size_t size = end - from < MOST_STACK ? end - from : MOST_STACK, done = 0;

    while (done < size) {
        size_t n = size - done < COL_WORDS_BYTES ? size - done : COL_WORDS_BYTES, got;
        const unsigned char *data;

        got = col_words_bytes(m->pid, from + done, n, &data);
        memcpy(to + done, data, got);
        done += got;
        if (got < n)
            break;
    }
    return done;
}

static bool walk(const struct col_image *m, const struct col_quiet_thread *t, struct walk *w)
{
    unsigned char *bytes = mem_alloc(MOST_STACK);
    struct unw_stack stack = { .base = t->regs.sp, .data = bytes };
    enum unw_end how;

    stack.size = read_stack(m, t->regs.sp, w->end, bytes);
    how = unw_walk(m->space, m->rules, t->regs, &stack, w->frame, MOST_FRAMES, &w->n);
    free(bytes);
    return how == UNW_ROOT && w->n && w->end - w->frame[w->n - 1].sp < ROOT_DISTANCE;
}

/* The code to which signal handlers return: mov $15, %rax; syscall. */
static bool is_handler(const struct col_image *m, const struct walk *w)
{
    static const unsigned char code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

    for (size_t i = 1; i < w->n; i++) {
        const unsigned char *now;

        if (col_words_bytes(m->pid, w->frame[i].pc, sizeof code, &now) == sizeof code &&
            memcmp(now, code, sizeof code) == 0)
            return true;
    }
    return false;
}

/* --- functions --- */

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* Functions that hold locks that dlopen takes: of the allocator, the dynamic linker, the list of
 * stacks, the list of fork handlers. */
static bool is_critical(const char *name)
{
    static const char *const names[] = {
        "malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "memalign", "valloc",
        "pvalloc", "aligned_alloc", "posix_memalign", "malloc_trim", "malloc_usable_size",
        "malloc_info", "malloc_stats", "mallinfo", "mallinfo2", "mallopt", "dlopen", "dlmopen",
        "dlsym", "dlvsym", "dlclose", "dlerror", "dladdr", "dladdr1", "dlinfo", "dl_iterate_phdr",
        "fork", "vfork", "_Fork", "posix_spawn", "posix_spawnp", "pthread_create",
        "pthread_getattr_np", "pthread_atfork", "register_atfork", "lll_lock_wait_private",
        "cxa_atexit", "cxa_finalize", "cxa_thread_atexit_impl", "on_exit", "tls_get_addr",
    };
    static const char *const prefixes[] = { "_dl_", "je_", "tc_", "mi_", "_Znw", "_Zna", "_Zdl",
                                            "_Zda" };

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    if (strncmp(name, "__libc_", 7) == 0)
        name += 7;
    else if (strncmp(name, "__", 2) == 0)
        name += 2;
    return is_one_of(name, names, ARRAY_LEN(names));
}

struct judge {
    struct col_object *object;
    uint64_t address[MOST_FRAMES]; /* of the stack, in the object */
    bool known[MOST_FRAMES], near[MOST_FRAMES];
    size_t n;
    bool critical, allocates;
};

static void judge_function(void *with, const char *name, uint64_t start, uint64_t end)
{
    struct judge *j = with;
    bool asked = false, critical = false;

    j->allocates |= strcmp(name, "malloc") == 0;
    for (size_t i = 0; i < j->n; i++) {
        uint64_t at = j->address[i];

        if (at + NEAR <= start || at >= end + NEAR)
            continue;
        if (!asked)
            critical = is_critical(name);
        asked = true;
        if (at >= start && at < end) {
            j->known[i] = true;
            j->critical |= critical;
        } else if (critical && at + NEAR > start && at < end + NEAR) {
            j->near[i] = true;
        }
    }
}

static bool has_prefix(const struct col_object *o, const char *prefix)
{
    return strncmp(strrchr(o->path, '/') + 1, prefix, strlen(prefix)) == 0;
}

static void take_frames(struct judge *j, const struct walk *w)
{
    j->n = 0;
    for (size_t i = 0; i < w->n; i++) {
        uint64_t at = w->frame[i].pc - w->frame[i].is_return;

        if (at >= j->object->start && at < j->object->end)
            j->address[j->n++] = at;
    }
}

/* Functions without a symbol: in libc they may be parts of malloc unless it waits in a system call
 * that malloc does not make; in an object with its own malloc they may be parts of that. */
static bool is_doubtful(const struct judge *j, bool is_libc, long call)
{
    bool waits_elsewhere = call >= 0 && call != SYS_futex;

    for (size_t i = 0; i < j->n; i++)
        if (!j->known[i] && ((is_libc && call < 0 && j->near[i]) ||
                             (!is_libc && j->allocates && !waits_elsewhere)))
            return true;
    return false;
}

static bool is_quiet_in(struct col_object *o, const struct walk *w, long call, bool is_program)
{
    struct judge *j = mem_zalloc(sizeof *j);
    bool is_libc = has_prefix(o, "libc.so") || has_prefix(o, "libc-2"), quiet = true;

    j->object = o;
    take_frames(j, w);
    if (j->n) {
        col_image_functions(o, judge_function, j);
        quiet = !has_prefix(o, "ld-") && !j->critical && !is_doubtful(j, is_libc, call) &&
                (is_libc || is_program || !j->allocates);
    }
    free(j);
    return quiet;
}

static bool is_in_program(const struct col_image *m, size_t i)
{
    return strcmp(m->object.v[i].path, m->object.v[0].path) == 0;
}

bool col_quiet_loads(struct col_image *m, const struct col_quiet_thread *t)
{
    struct walk *w = mem_zalloc(sizeof *w);
    bool found = false;

    w->end = end_of_stack(m, t);
    if (w->end)
        walk(m, t, w);
    for (size_t i = 0; i < m->object.n && !found; i++)
        for (size_t k = 0; k < w->n && has_prefix(&m->object.v[i], "ld-"); k++)
            found |= w->frame[k].pc >= m->object.v[i].start && w->frame[k].pc < m->object.v[i].end;
    free(w);
    return found;
}

const char *col_quiet_check(struct col_image *m, const struct col_quiet_thread *t)
{
    struct walk *w = mem_zalloc(sizeof *w);
    const char *why = NULL;

    w->end = end_of_stack(m, t);
    if (!w->end)
        why = "has a stack that is small or not its own";
    else if (!walk(m, t, w))
        why = "has a stack that does not lead to its first function";
    else if (is_handler(m, w))
        why = "is in a signal handler";
    for (size_t i = 0; i < m->object.n && !why; i++)
        if (!is_quiet_in(&m->object.v[i], w, t->call, is_in_program(m, i)))
            why = "is in the memory allocator or the dynamic linker";
    free(w);
    return why;
}
