/* agent_join.c - the shared memory and our place in it; how a process that runs already joins a
 * recording, and leaves it.
 *
 * The memory stays at one address for the life of the process: when it is exchanged, another thread
 * may be in the handler.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "target/tgt_guard.h"

enum { MOST_PATH = 512 };

/* --- the memory --- */

static void *map_file(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != sizeof(struct agent_memory))
        return MAP_FAILED;
    return mmap(NULL, sizeof(struct agent_memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* Opens and closes without libc, where a thread that was cancelled would end. */
struct agent_memory *agent_join_map(const char *folder)
{
    char path[MOST_PATH];
    size_t n = strlen(folder);
    struct agent_memory *m;
    long fd;

    if (n + sizeof AGENT_MEMORY > sizeof path)
        return NULL;
    memcpy(path, folder, n);
    memcpy(path + n, AGENT_MEMORY, sizeof AGENT_MEMORY);
    /* In another namespace of processes the link can lead to anything, such as a terminal. */
    fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    m = map_file((int)fd);
    syscall(SYS_close, fd);
    if (m == MAP_FAILED)
        return NULL;
    if (m->magic == AGENT_MAGIC && m->size == sizeof *m)
        return m;
    munmap(m, sizeof *m);
    return NULL;
}

/* Replace the memory by that at M; false: that failed, with M unmapped. */
static bool exchange(struct agent_memory *m)
{
    if (!agent.memory) {
        agent.memory = m;
        return true;
    }
    if (mremap(m, sizeof *m, sizeof *m, MREMAP_MAYMOVE | MREMAP_FIXED, agent.memory) != MAP_FAILED)
        return true;
    munmap(m, sizeof *m);
    return false;
}

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

/* Claim a record in M and fill it.  Returns its index, AGENT_PROCESSES if there is none. */
static uint32_t fill(struct agent_memory *m, uint32_t parent, bool attached)
{
    uint32_t at = claim(m, (uint32_t)getpid());
    struct agent_process *p = &m->process[at];
    struct timespec now;
    struct stat st;

    if (at == AGENT_PROCESSES)
        return at;
    clock_gettime(CLOCK_MONOTONIC, &now);
    p->pid = (uint32_t)getpid();
    p->namespace = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
    p->start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    p->parent = parent;
    NEXT(prctl)(PR_GET_NAME, p->name, 0, 0, 0);
    p->signal = p->threads = p->maps = p->names = p->why_not = p->interrupted = 0;
    p->attached = attached;
    p->leaves = !agent.preloaded;
    return at;
}

/* The record at AT is ours: tell the recorder. */
static void announce(uint32_t at)
{
    struct agent_process *p = &agent.memory->process[at];

    agent.pid = p->pid;
    __atomic_store_n(&agent.process, at, __ATOMIC_RELAXED);
    agent_signal_start(p->attached);
    __atomic_store_n(&p->state, AGENT_HERE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&agent.memory->n_processes, 1, __ATOMIC_RELEASE);
}

void agent_join_record(uint32_t parent)
{
    uint32_t at;

    if (__atomic_load_n(&agent.memory->ended, __ATOMIC_RELAXED))
        return;
    at = fill(agent.memory, parent, false);
    if (at != AGENT_PROCESSES)
        announce(at);
}

/* --- joining and leaving --- */

bool agent_join_is_over(void)
{
    const struct agent_memory *m = agent.memory;

    if (!agent_process() || __atomic_load_n(&m->ended, __ATOMIC_ACQUIRE))
        return true;
    return syscall(SYS_kill, m->recorder, 0) < 0 && errno == ESRCH;
}

static enum agent_answer drop(struct agent_memory *m, enum agent_answer answer)
{
    munmap(m, sizeof *m);
    return answer;
}

static enum agent_answer join(struct agent_memory *m)
{
    uint32_t at;

    if (!agent_join_is_over())
        return drop(m, AGENT_BUSY);
    if (!agent_signal_is_free())
        return drop(m, AGENT_NO_SIGNAL);
    at = fill(m, 0, true);
    if (at == AGENT_PROCESSES)
        return drop(m, AGENT_NO_PLACE);
    if (!exchange(m))
        return AGENT_NO_PLACE;
    agent_start_follow();
    announce(at);
    return AGENT_JOINED;
}

void fathom_agent_join(const char *folder)
{
    struct agent_memory *m = agent_join_map(folder);
    struct agent_memory *told = m ? agent_join_map(folder) : NULL;
    TGT_KEEP_ERRNO();

    if (!told)
        return;
    __atomic_store_n(&told->answer, (uint32_t)join(m), __ATOMIC_RELEASE);
    munmap(told, sizeof *told);
}

void agent_join_leave(void)
{
    uint32_t at = __atomic_exchange_n(&agent.process, AGENT_PROCESSES, __ATOMIC_RELAXED);

    agent_signal_restore();
    if (at == AGENT_PROCESSES)
        return;
    __atomic_store_n(&agent.memory->process[at].signal, 0, __ATOMIC_RELEASE);
    mmap(agent.memory, sizeof *agent.memory, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}
