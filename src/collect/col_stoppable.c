/* col_stoppable.c - see col_stoppable.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_stoppable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "collect/col_proc.h"

/* The number after KEY in TEXT, of BASE. */
static uint64_t number_after(const char *text, const char *key, int base)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

static bool is_capable(void)
{
    char text[4096];

    return map_read_text("/proc/self/status", text, sizeof text) > 0 &&
           (number_after(text, "\nCapEff:", 16) >> CAP_SYS_PTRACE & 1);
}

static int yama_scope(void)
{
    char text[16];

    if (map_read_text("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) <= 0)
        return 0;
    return (int)strtol(text, NULL, 10);
}

/* The kernel answers ESRCH, because we do not trace it; a filter answers something else. */
static bool is_filtered(int64_t pid)
{
    return ptrace(PTRACE_DETACH, (pid_t)pid, NULL, NULL) < 0 && errno != ESRCH;
}

/* The kernel asks for the same rights as ptrace before it opens the memory of a process. */
static bool is_refused(int64_t pid)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/mem", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static void note_tracer(int64_t pid, struct col_stoppable_facts *f)
{
    char name[32];

    if (col_proc_comm(pid, pid, name, sizeof name) < 0)
        name[0] = 0;
    snprintf(f->tracer, sizeof f->tracer, "%.*s (process %" PRId64 ")",
             (int)strcspn(name, "\n"), name, pid);
}

void col_stoppable_ask(int64_t pid, struct col_stoppable_facts *f)
{
    char path[64], text[4096];
    int64_t tracer;
    struct stat st;

    *f = (struct col_stoppable_facts){ .capable = is_capable(), .yama = yama_scope() };
    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
    f->gone = map_read_text(path, text, sizeof text) <= 0;
    if (f->gone)
        return;
    tracer = (int64_t)number_after(text, "\nTracerPid:", 10);
    if (tracer)
        note_tracer(tracer, f);
    f->filtered = is_filtered(pid);
    f->refused = is_refused(pid);
    f->other_user = number_after(text, "\nUid:", 10) != geteuid();
    snprintf(path, sizeof path, "/proc/%" PRId64, pid);
    f->hidden = !f->other_user && geteuid() && stat(path, &st) == 0 && st.st_uid != geteuid();
}

static bool say(struct col_reason *r, const char *why, const char *remedy)
{
    snprintf(r->why, sizeof r->why, "%s", why);
    snprintf(r->remedy, sizeof r->remedy, "%s", remedy);
    return false;
}

static bool say_yama(int scope, struct col_reason *r)
{
    if (scope >= 3)
        return say(r, "kernel.yama.ptrace_scope is 3: no process may be traced",
                   "the setting holds until the next start of the machine");
    if (scope == 2)
        return say(r, "kernel.yama.ptrace_scope is 2: only root may trace processes",
                   "run fathom as root");
    return say(r, "kernel.yama.ptrace_scope is 1: only the ancestors of a process may trace it",
               "start the program with fathom record -- CMD, run fathom as root, or "
               "sudo sysctl kernel.yama.ptrace_scope=0");
}

bool col_stoppable_explain(const struct col_stoppable_facts *f, struct col_reason *r)
{
    char text[sizeof r->why];

    *r = (struct col_reason){ 0 };
    if (f->gone)
        return say(r, "", "");
    if (f->tracer[0]) {
        snprintf(text, sizeof text, "it is traced by %s", f->tracer);
        return say(r, text, "end that program first");
    }
    if (f->filtered)
        return say(r, "a seccomp filter refuses ptrace",
                   "in a container: docker run --cap-add SYS_PTRACE");
    if (!f->refused)
        return true;
    if (f->yama >= 3)
        return say_yama(f->yama, r);
    if (f->other_user && !f->capable)
        return say(r, "it belongs to another user", "run fathom as that user, or as root");
    if (f->hidden)
        return say(r, "it has more rights than its user, or has hidden its memory "
                      "(PR_SET_DUMPABLE)", "run fathom as root");
    if (f->yama > 0 && !f->capable)
        return say_yama(f->yama, r);
    return say(r, "the kernel refuses ptrace", "in a container: docker run --cap-add SYS_PTRACE");
}

bool col_stoppable_children(struct col_reason *r)
{
    struct col_stoppable_facts f;

    col_stoppable_ask(getpid(), &f);
    f.refused = f.yama >= 3 || (f.yama == 2 && !f.capable);
    f.tracer[0] = 0; /* ours does not matter */
    return col_stoppable_explain(&f, r);
}

bool col_stoppable(int64_t pid, struct col_reason *r)
{
    struct col_stoppable_facts f;

    col_stoppable_ask(pid, &f);
    return col_stoppable_explain(&f, r);
}
