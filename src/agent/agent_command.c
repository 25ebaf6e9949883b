/* agent_command.c - system and popen, whose shell libc starts without calling a hook: the same on
 * top of our posix_spawn.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "target/tgt_guard.h"

extern char **environ;
static const char shell[] = "/bin/sh";

/* --- system --- */

/* While any thread is in system(), the process ignores SIGINT and SIGQUIT. */
static struct {
    pthread_mutex_t mutex;
    int threads;
    struct sigaction interrupt, quit;
} ignoring = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void ignore(void)
{
    struct sigaction a = { .sa_handler = SIG_IGN };

    pthread_mutex_lock(&ignoring.mutex);
    if (ignoring.threads++ == 0) {
        sigaction(SIGINT, &a, &ignoring.interrupt);
        sigaction(SIGQUIT, &a, &ignoring.quit);
    }
    pthread_mutex_unlock(&ignoring.mutex);
}

static void ignore_no_more(void)
{
    pthread_mutex_lock(&ignoring.mutex);
    if (--ignoring.threads == 0) {
        sigaction(SIGINT, &ignoring.interrupt, NULL);
        sigaction(SIGQUIT, &ignoring.quit, NULL);
    }
    pthread_mutex_unlock(&ignoring.mutex);
}

struct waiting {
    pid_t pid;
    sigset_t mask;
};

/* The thread was cancelled while it waited. */
static void cancelled(void *with)
{
    struct waiting *w = with;
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    ignore_no_more();
    pthread_sigmask(SIG_SETMASK, &w->mask, NULL);
}

static int spawn_shell(pid_t *pid, const char *command, const sigset_t *mask)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)"--", (char *)(uintptr_t)command, NULL };
    posix_spawnattr_t attributes;
    sigset_t normal;
    int rc;

    sigemptyset(&normal);
    if (ignoring.interrupt.sa_handler != SIG_IGN)
        sigaddset(&normal, SIGINT);
    if (ignoring.quit.sa_handler != SIG_IGN)
        sigaddset(&normal, SIGQUIT);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, mask);
    posix_spawnattr_setsigdefault(&attributes, &normal);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    rc = posix_spawn(pid, shell, NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

static int run(const char *command)
{
    struct waiting w = { 0 };
    int status = -1, rc;
    sigset_t child;

    ignore();
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &w.mask);
    rc = spawn_shell(&w.pid, command, &w.mask);
    if (rc == 0) {
        pthread_cleanup_push(cancelled, &w);
        while (waitpid(w.pid, &status, 0) < 0) {
            if (errno != EINTR) {
                status = -1;
                break;
            }
        }
        pthread_cleanup_pop(0);
    } else {
        status = W_EXITCODE(127, 0);
    }
    ignore_no_more();
    pthread_sigmask(SIG_SETMASK, &w.mask, NULL);
    if (rc)
        errno = rc;
    return status;
}

AGENT_HOOK int system(const char *command)
{
    if (!agent.memory)
        return NEXT(system)(command);
    return command ? run(command) : run("exit 0") == 0;
}

/* --- popen --- */

enum { MOST_STREAMS = 64 };

/* The streams of popen and their processes. */
static struct {
    pthread_mutex_t mutex;
    struct stream {
        FILE *file;
        pid_t pid;
    } v[MOST_STREAMS];
} streams = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* The stream of FILE, or an unused one for NULL; mutex held. */
static struct stream *find_stream(const FILE *file)
{
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (streams.v[i].file == file)
            return &streams.v[i];
    return NULL;
}

/* A stream that was closed with fclose may have left its address. */
static void forget_stream(const FILE *file)
{
    struct stream *s = find_stream(file);

    if (s)
        *s = (struct stream){ 0 };
}

/* A shell with END, one end of a pipe, as its descriptor TO; it gets no stream of an earlier popen.
 * Mutex held. */
static int spawn_piped(pid_t *pid, const char *command, int end, int to)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)"--", (char *)(uintptr_t)command, NULL };
    posix_spawn_file_actions_t actions;
    int rc;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end, to);
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (streams.v[i].file && fileno(streams.v[i].file) != to)
            posix_spawn_file_actions_addclose(&actions, fileno(streams.v[i].file));
    rc = posix_spawn(pid, shell, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* Open S, whose process reads or writes the other end of PIPE; mutex held. */
static FILE *open_stream(struct stream *s, const char *command, bool reads, bool on_exec,
                         int pipe[2])
{
    int ours = pipe[!reads], theirs = pipe[reads], rc;
    FILE *file = fdopen(ours, reads ? "r" : "w");

    if (!file)
        return NULL;
    rc = spawn_piped(&s->pid, command, theirs, reads);
    if (rc) {
        fclose(file);
        pipe[!reads] = -1;
        errno = rc;
        return NULL;
    }
    if (!on_exec)
        fcntl(ours, F_SETFD, 0);
    forget_stream(file);
    s->file = file;
    close(theirs);
    return file;
}

AGENT_HOOK FILE *popen(const char *command, const char *mode)
{
    bool reads = strchr(mode, 'r') != NULL, writes = strchr(mode, 'w') != NULL;
    struct stream *s;
    FILE *file = NULL;
    int pipe[2];

    if (!agent.memory)
        return NEXT(popen)(command, mode);
    if (reads == writes || strspn(mode, "rwe") != strlen(mode)) {
        errno = EINVAL;
        return NULL;
    }
    pthread_mutex_lock(&streams.mutex);
    s = find_stream(NULL);
    if (!s) {
        pthread_mutex_unlock(&streams.mutex);
        return NEXT(popen)(command, mode); /* its program is not recorded */
    }
    if (pipe2(pipe, O_CLOEXEC) == 0) {
        file = open_stream(s, command, reads, strchr(mode, 'e') != NULL, pipe);
        for (int i = 0; i < 2 && !file; i++)
            if (pipe[i] >= 0) {
                TGT_KEEP_ERRNO();
                close(pipe[i]);
            }
    }
    pthread_mutex_unlock(&streams.mutex);
    return file;
}

AGENT_HOOK int pclose(FILE *file)
{
    struct stream *s;
    pid_t pid = 0;
    int status;

    pthread_mutex_lock(&streams.mutex);
    s = file ? find_stream(file) : NULL;
    if (s) {
        pid = s->pid;
        *s = (struct stream){ 0 };
    }
    pthread_mutex_unlock(&streams.mutex);
    if (!s)
        return NEXT(pclose)(file);
    fclose(file);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* Another thread may have held them during fork. */
void agent_command_forget(void)
{
    ignoring.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    streams.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
