/* col_admit.c - see col_admit.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_admit.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/named.h"
#include "base/program.h"
#include "channel/agent_memory.h"
#include "collect/col_agent.h"
#include "collect/col_proc.h"
#include "collect/col_stub.h"

enum { TEXT = 8192 };

/* --- its program --- */

static int check_program(int64_t pid, struct err *e)
{
    enum program_fit fit = PROGRAM_UNREADABLE;
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/exe", pid);
    fd = named_open(NULL, path, NULL, NAMED_PROC_LINK, NULL);
    if (fd >= 0) {
        fit = program_fit_file(fd);
        close(fd);
    }
    return fit == PROGRAM_FITS ? 0 : err_set(e, ERR_REFUSED, "%s", col_agent_why(fit));
}

/* --- its surroundings --- */

static bool is_same_file(int64_t pid, const char *name)
{
    char theirs[64], ours[64];
    struct stat a, b;

    snprintf(theirs, sizeof theirs, "/proc/%" PRId64 "/%s", pid, name);
    snprintf(ours, sizeof ours, "/proc/self/%s", name);
    return stat(theirs, &a) == 0 && stat(ours, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* The paths of the library and of the memory must lead it to the same files as us. */
static int check_view(int64_t pid, struct err *e)
{
    static const char *const names[] = { "ns/mnt", "ns/pid", "ns/user", "root" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!is_same_file(pid, names[i]))
            return err_set(e, ERR_REFUSED,
                           "it runs in another container or root directory: run fathom there");
    return 0;
}

/* --- its status --- */

/* The value behind "\nKEY:\t" in the text of a status file; "" if there is none. */
static const char *value_of(const char *text, const char *key)
{
    char line[64];
    const char *at;

    snprintf(line, sizeof line, "\n%s:\t", key);
    at = strstr(text, line);
    return at ? at + strlen(line) : "";
}

static bool read_status(int64_t pid, char *text)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
    return map_read_text(path, text, TEXT) > 0;
}

/* All four ids, real to file system, are ID. */
static bool all_are(const char *ids, unsigned long id)
{
    for (int i = 0; i < 4; i++) {
        char *end;

        if (strtoul(ids, &end, 10) != id || end == ids)
            return false;
        ids = end;
    }
    return true;
}

/* A container gives the same filters to us: those beyond may forbid what dlopen does. */
static bool has_filter(const char *theirs, const char *ours)
{
    const char *all = value_of(theirs, "Seccomp_filters");

    if (!*all)
        return strtol(value_of(theirs, "Seccomp"), NULL, 10) >
               strtol(value_of(ours, "Seccomp"), NULL, 10);
    return strtol(all, NULL, 10) > strtol(value_of(ours, "Seccomp_filters"), NULL, 10);
}

static bool has_shadow_stack(const char *text)
{
    const char *features = value_of(text, "x86_Thread_features");
    const char *found = strstr(features, "shstk");

    return found && found < features + strcspn(features, "\n");
}

static int check_status(int64_t pid, struct err *e)
{
    char *text = mem_alloc(2 * TEXT), *ours = text + TEXT, state;
    int rc = 0;

    if (!read_status(pid, text) || !read_status(getpid(), ours)) {
        free(text);
        return err_set(e, ERR_MISSING, "it has ended");
    }
    state = *value_of(text, "State");
    if (!all_are(value_of(text, "Uid"), geteuid()) || !all_are(value_of(text, "Gid"), getegid()))
        rc = err_set(e, ERR_REFUSED, "it belongs to another user: run fathom as that user");
    else if (strtol(value_of(text, "TracerPid"), NULL, 10) != 0)
        rc = err_set(e, ERR_REFUSED, "process %ld traces it, a debugger or strace",
                     strtol(value_of(text, "TracerPid"), NULL, 10));
    else if (state == 'Z' || state == 'X')
        rc = err_set(e, ERR_MISSING, "it has ended");
    else if (state == 'T')
        rc = err_set(e, ERR_REFUSED, "it is stopped by a signal");
    else if (has_filter(text, ours))
        rc = err_set(e, ERR_REFUSED, "it has a filter of system calls (seccomp) of its own");
    else if (has_shadow_stack(text))
        rc = err_set(e, ERR_REFUSED, "it has a shadow stack");
    free(text);
    return rc;
}

/* Which of our signals thread TID blocks. */
static uint32_t blocked_by(int64_t pid, int tid)
{
    char path[96], text[4096];
    uint64_t mask;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%d/status", pid, tid);
    if (map_read_text(path, text, sizeof text) < 0)
        return 0;
    mask = strtoull(value_of(text, "SigBlk"), NULL, 16);
    return (mask >> (SIGURG - 1) & 1 ? AGENT_AVOID_URG : 0) |
           (mask >> (SIGWINCH - 1) & 1 ? AGENT_AVOID_WINCH : 0);
}

static int64_t cpu_of(int64_t pid, int tid)
{
    char path[96];

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%d/schedstat", pid, tid);
    return map_read_int(path, 0);
}

/* Threads that block both signals would not answer. */
static int check_masks(int64_t pid, uint32_t *avoid, struct err *e)
{
    struct col_tids tids = { 0 };
    int64_t all_ns = 0, silent_ns = 0;

    *avoid = 0;
    col_proc_threads(pid, &tids);
    for (size_t i = 0; i < tids.n; i++) {
        uint32_t blocked = blocked_by(pid, tids.v[i]);
        int64_t ns = cpu_of(pid, tids.v[i]);

        *avoid |= blocked;
        all_ns += ns;
        silent_ns += blocked == (AGENT_AVOID_URG | AGENT_AVOID_WINCH) ? ns : 0;
    }
    vec_release(&tids);
    if (2 * silent_ns <= all_ns)
        return 0;
    return err_set(e, ERR_REFUSED, "the threads that use most of its CPU time block SIGURG and "
                                   "SIGWINCH");
}

int col_admit(int64_t pid, uint32_t *avoid, struct err *e)
{
    if (!col_stub_exists())
        return err_set(e, ERR_MISSING, "the agent is loaded into running processes only on x86-64");
    if (check_status(pid, e) < 0 || check_program(pid, e) < 0 || check_view(pid, e) < 0)
        return -1;
    return check_masks(pid, avoid, e);
}

int col_admit_refused(int errnum, struct err *e)
{
    int64_t scope = map_read_int("/proc/sys/kernel/yama/ptrace_scope", 0);

    if (e)
        e->sys = errnum;
    if (errnum == EPERM && scope > 0 && geteuid() != 0)
        return err_set(e, ERR_REFUSED,
                       "kernel.yama.ptrace_scope is %d: sudo sysctl kernel.yama.ptrace_scope=0",
                       (int)scope);
    return err_set(e, ERR_REFUSED, "ptrace is refused: %s", strerror(errnum));
}
