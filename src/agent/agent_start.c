/* agent_start.c - join the recording at the start of a program and in children of fork.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "target/tgt_fork.h"
#include "target/tgt_guard.h"

struct agent agent = { .process = AGENT_PROCESSES };

static const char variable[] = "LD_PRELOAD=";

/* --- our place in the table --- */

static uint32_t claim(struct agent_memory *m, uint32_t pid)
{
    for (uint32_t i = 0; i < AGENT_PROCESSES; i++) {
        uint32_t at = (pid + i) % AGENT_PROCESSES, unused = AGENT_UNUSED;

        if (__atomic_compare_exchange_n(&m->process[at].state, &unused, AGENT_CLAIMED, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return at;
    }
    __atomic_fetch_add(&m->n_refused, 1, __ATOMIC_RELAXED);
    return AGENT_PROCESSES;
}

/* PARENT is the process that forked us, 0 after exec. */
static void join(uint32_t parent)
{
    struct agent_memory *m = agent.memory;
    struct agent_process *p;
    struct timespec now;
    struct stat st;
    uint32_t at;

    if (!m || __atomic_load_n(&m->ended, __ATOMIC_RELAXED))
        return;
    agent.pid = (uint32_t)getpid();
    at = claim(m, agent.pid);
    if (at == AGENT_PROCESSES)
        return;
    p = &m->process[at];
    clock_gettime(CLOCK_MONOTONIC, &now);
    p->pid = agent.pid;
    p->namespace = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
    p->start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    p->parent = parent;
    NEXT(prctl)(PR_GET_NAME, p->name, 0, 0, 0);
    p->signal = p->threads = p->maps = p->why_not = p->interrupted = p->careful = 0;
    agent.process = at;
    agent_signal_start();
    __atomic_store_n(&p->state, AGENT_HERE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&m->n_processes, 1, __ATOMIC_RELEASE);
}

static void in_child(void)
{
    uint32_t parent = agent.pid;

    agent.process = AGENT_PROCESSES;
    agent_sample_forget_thread();
    if (agent.memory && agent.memory->follow)
        join(parent);
}

static const struct tgt_fork follow_fork = { .in_child = in_child };

/* --- the environment --- */

/* Our entry in LIST, a list of libraries, or NULL. */
static char *find_entry(char *list)
{
    static const char name[] = "/" AGENT_LIBRARY;

    for (char *at = list; *at;) {
        size_t n = strcspn(at, ": ");

        if (n >= sizeof name - 1 && memcmp(at + n - (sizeof name - 1), name, sizeof name - 1) == 0)
            return at;
        at += n + (at[n] != 0);
    }
    return NULL;
}

static void remove_string(char **env, char *entry)
{
    for (; *env != entry; env++)
        ;
    for (; *env; env++)
        env[0] = env[1];
}

/* Remove our library from the environment ENV, as the program is not to see it, and keep its path.
 * Returns whether it was there. */
static bool take_from(char **env)
{
    for (char **e = env; e && *e; e++) {
        char *list = *e + sizeof variable - 1, *at;
        size_t n;

        if (strncmp(*e, variable, sizeof variable - 1) != 0 || !(at = find_entry(list)))
            continue;
        n = strcspn(at, ": ");
        if (n >= sizeof agent.preload)
            return false;
        memcpy(agent.preload, at, n);
        agent.preload[n] = 0;
        n += at[n] != 0;
        memmove(at, at + n, strlen(at + n) + 1);
        n = strlen(list);
        while (n && (list[n - 1] == ':' || list[n - 1] == ' '))
            list[--n] = 0;
        if (!n)
            remove_string(env, *e);
        return true;
    }
    return false;
}

/* --- the shared memory --- */

static struct agent_memory *map_memory(void)
{
    char path[sizeof agent.preload + sizeof AGENT_MEMORY];
    size_t folder = strlen(agent.preload) - strlen(AGENT_LIBRARY);
    struct agent_memory *m = MAP_FAILED;
    struct stat st;
    int fd;

    memcpy(path, agent.preload, folder);
    memcpy(path + folder, AGENT_MEMORY, sizeof AGENT_MEMORY);
    /* In another namespace of processes the link can lead to anything, such as a terminal. */
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size == sizeof *m)
        m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (m == MAP_FAILED)
        return NULL;
    if (m->magic == AGENT_MAGIC && m->size == sizeof *m)
        return m;
    munmap(m, sizeof *m);
    return NULL;
}

/* The arguments of main: glibc passes them to constructors. */
static void __attribute__((constructor(102))) start(int argc, char **argv, char **env)
{
    TGT_KEEP_ERRNO();

    if (!take_from(env))
        return;
    agent.stack_end = (uint64_t)(uintptr_t)env;
    agent.memory = map_memory();
    if (!agent.memory)
        return;
    agent_sample_start();
    tgt_fork_follow(&follow_fork);
    join(0);
}
