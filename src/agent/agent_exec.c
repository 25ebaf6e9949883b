/* agent_exec.c - preload ourselves into the programs that this one starts.
 *
 * Our library is not in the environment that the program sees, so each way to start a program adds
 * it, if the dynamic linker of that program would load it.  The hooks may run in a child of vfork:
 * they use only the stack, and change nothing.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "target/tgt_guard.h"
#include "base/program.h"

enum { MOST_VARIABLES = 8192, MOST_TEXT = 8192 };

extern char **environ;
static const char variable[] = "LD_PRELOAD=";

static bool is_preload(const char *entry)
{
    return strncmp(entry, variable, sizeof variable - 1) == 0;
}

/* A recording without children covers the first process only, whatever it executes. */
static bool is_recorded(void)
{
    const struct agent_memory *m = agent.memory;

    if (!m || __atomic_load_n(&m->ended, __ATOMIC_RELAXED))
        return false;
    return m->follow || (agent_process() && (uint32_t)syscall(SYS_getpid) == agent.pid);
}

/* Pointers of room for the environment ENV with our library; 1: leave ENV as it is. */
static size_t room_for(enum program_fit fit, char *const *env)
{
    size_t n = 0, text = 0;
    /* A filter of system calls may end the new program for what our library does in it. */
    bool leaves = agent.careful || agent.confined;

    if (!is_recorded())
        return 1;
    if (leaves || (fit != PROGRAM_FITS && fit != PROGRAM_MISSING))
        __atomic_fetch_add(&agent.memory->n_leaving, 1, __ATOMIC_RELAXED);
    /* Not if the recorder was killed, nor as another user. */
    if (leaves || fit != PROGRAM_FITS || access(agent.link, R_OK) < 0)
        return 1;
    for (; env && env[n]; n++)
        if (is_preload(env[n]))
            text = strlen(env[n]);
    if (n > MOST_VARIABLES || text > MOST_TEXT)
        return 1;
    return n + 3 + (sizeof variable + strlen(agent.preload) + 1 + text) / sizeof *env;
}

/* The environment ENV with our library as the first one, written to TO, of ROOM pointers. */
static char **with_agent(char **to, size_t room, char *const *env)
{
    const char *others = NULL;
    char *text;
    size_t n = 0;

    if (room == 1)
        return (char **)(uintptr_t)env;
    for (; env && *env; env++)
        if (is_preload(*env))
            others = *env + sizeof variable - 1;
        else
            to[n++] = *env;
    text = (char *)&to[n + 2];
    to[n] = text;
    to[n + 1] = NULL;
    text = stpcpy(stpcpy(text, variable), agent.preload);
    if (others) /* also an empty list */
        stpcpy(stpcpy(text, ":"), others);
    return to;
}

/* A filter may forbid what judges a program. */
static bool may_look(void)
{
    return is_recorded() && !agent.careful && !agent.confined;
}

static enum program_fit fit_of_path(const char *path)
{
    return may_look() ? program_fit_path(path) : PROGRAM_MISSING;
}

static enum program_fit fit_of_name(const char *name)
{
    char path[PATH_MAX];
    const char *found;

    if (!may_look())
        return PROGRAM_MISSING;
    found = program_find(name, getenv("PATH"), path, sizeof path);
    return found ? program_fit_path(found) : PROGRAM_MISSING;
}

static enum program_fit fit_of_file(int fd)
{
    return may_look() ? program_fit_file(fd) : PROGRAM_MISSING;
}

/* --- exec --- */

AGENT_HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
    size_t n = room_for(fit_of_path(path), envp);
    char *room[n], **env = with_agent(room, n, envp);
    struct agent_signals s;
    int rc;

    agent_signal_leave_program(&s);
    rc = NEXT(execve)(path, argv, env);
    agent_signal_conceal(&s);
    return rc;
}

AGENT_HOOK int execvpe(const char *name, char *const argv[], char *const envp[])
{
    size_t n = room_for(fit_of_name(name), envp);
    char *room[n], **env = with_agent(room, n, envp);
    struct agent_signals s;
    int rc;

    agent_signal_leave_program(&s);
    rc = NEXT(execvpe)(name, argv, env);
    agent_signal_conceal(&s);
    return rc;
}

AGENT_HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
    size_t n = room_for(fit_of_file(fd), envp);
    char *room[n], **env = with_agent(room, n, envp);
    struct agent_signals s;
    int rc;

    agent_signal_leave_program(&s);
    rc = NEXT(fexecve)(fd, argv, env);
    agent_signal_conceal(&s);
    return rc;
}

AGENT_HOOK int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

AGENT_HOOK int execvp(const char *name, char *const argv[])
{
    return execvpe(name, argv, environ);
}

/* The number of arguments up to NULL in AP, which follow the first. */
static size_t count(va_list ap)
{
    size_t n = 0;

    while (va_arg(ap, char *))
        n++;
    return n;
}

static void collect(char **argv, const char *first, va_list ap)
{
    *argv++ = (char *)(uintptr_t)first;
    while ((*argv++ = va_arg(ap, char *)))
        ;
}

/* Declare ARGV with the arguments from FIRST to NULL, and leave AP behind them. */
#define TAKE_ARGUMENTS(argv, ap, first)           \
    va_list ap;                                   \
    va_start(ap, first);                          \
    size_t n_##argv = count(ap);                  \
    va_end(ap);                                   \
    char *argv[n_##argv + 2];                     \
    va_start(ap, first);                          \
    collect(argv, first, ap)

AGENT_HOOK int execl(const char *path, const char *first, ...)
{
    TAKE_ARGUMENTS(argv, ap, first);
    va_end(ap);
    return execve(path, argv, environ);
}

AGENT_HOOK int execlp(const char *name, const char *first, ...)
{
    TAKE_ARGUMENTS(argv, ap, first);
    va_end(ap);
    return execvpe(name, argv, environ);
}

AGENT_HOOK int execle(const char *path, const char *first, ...)
{
    char **env;

    TAKE_ARGUMENTS(argv, ap, first);
    env = va_arg(ap, char **);
    va_end(ap);
    return execve(path, argv, env);
}

/* --- posix_spawn --- */

typedef int spawn_function(pid_t *restrict pid, const char *restrict path,
                           const posix_spawn_file_actions_t *restrict actions,
                           const posix_spawnattr_t *restrict attributes,
                           char *const *restrict argv, char *const *restrict env);

static int spawn(spawn_function *next, enum program_fit fit, pid_t *pid, const char *path,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const *argv, char *const *env)
{
    size_t n = room_for(fit, env);
    char *room[n];
    struct agent_signals s;
    int rc;

    agent_signal_reveal(&s);
    rc = next(pid, path, actions, attributes, argv, with_agent(room, n, env));
    agent_signal_conceal(&s);
    return rc;
}

AGENT_HOOK int posix_spawn(pid_t *restrict pid, const char *restrict path,
                           const posix_spawn_file_actions_t *restrict actions,
                           const posix_spawnattr_t *restrict attributes,
                           char *const *restrict argv, char *const *restrict env)
{
    return spawn(NEXT(posix_spawn), fit_of_path(path), pid, path, actions, attributes, argv,
                 env);
}

AGENT_HOOK int posix_spawnp(pid_t *restrict pid, const char *restrict name,
                            const posix_spawn_file_actions_t *restrict actions,
                            const posix_spawnattr_t *restrict attributes,
                            char *const *restrict argv, char *const *restrict env)
{
    return spawn(NEXT(posix_spawnp), fit_of_name(name), pid, name, actions, attributes, argv, env);
}
