/* agent.h - libfathom-agent.so, preloaded into the programs of a recording.
 *
 * It takes a sample of a thread when the recorder asks for one by a signal, and follows fork, exec
 * and posix_spawn.  It hides itself: the program sees the environment, the signals and the results
 * of system calls that it would see without it.  It creates no thread and no timer, keeps no file
 * open and prints nothing.  docs/internals/agent.md has the design; the rules are those of
 * src/target.
 *
 * A hook is a function with the name of one of libc, which it replaces for the program; NEXT(name)
 * is the replaced one.  Without a recorder a hook only calls it.
 *
 * In a process that runs already, fathom_agent_join joins instead.  If the library was not
 * preloaded there, the hooks replace nothing, and the handler is removed at the end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_AGENT_AGENT_H
#define FATHOM_AGENT_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/agent_memory.h"

#define AGENT_HOOK __attribute__((visibility("default")))

struct agent {
    struct agent_memory *memory; /* NULL: nobody records this program */
    uint32_t process;   /* index of this process; AGENT_PROCESSES: none */
    uint32_t pid;
    uint64_t stack_end; /* of the first thread */
    bool preloaded;     /* the hooks replace the functions of libc */
    char preload[256];  /* path of our library, for programs that this one starts */
};
extern struct agent agent;

/* The record of this process, or NULL.  Another thread may leave the recording at any time: ask
 * once. */
static inline struct agent_process *agent_process(void)
{
    uint32_t at = __atomic_load_n(&agent.process, __ATOMIC_RELAXED);

    return at < AGENT_PROCESSES ? &agent.memory->process[at] : NULL;
}

/* agent_next.c: functions of libc behind our hooks. */
enum agent_next {
#define HOOK(name) AGENT_NEXT_##name,
#include "agent/agent_hooks.def"
#undef HOOK
    AGENT_NEXT_COUNT
};
void *agent_next(enum agent_next which);
#define NEXT(name) ((__typeof__(&name))agent_next(AGENT_NEXT_##name))

/* agent_sample.c, called by the handler: write the sample that the recorder asked of this thread,
 * if it did. */
void agent_sample(const void *ucontext);
void agent_sample_start(void); /* before the first */
/* For the handler: copy N bytes in front of the interrupted instruction, which may lie at the start
 * of the mapped code.  Returns whether they could be read. */
bool agent_sample_read(void *to, uint64_t from, size_t n);
void agent_sample_forget_thread(void); /* in a child of fork: the id of the thread changed */

/* agent_start.c: join in children of fork, if the recording follows them. */
void agent_start_follow(void);

/* agent_join.c */
/* Map the memory in FOLDER (with its final slash); NULL: it cannot be used. */
struct agent_memory *agent_join_map(const char *folder);
/* Claim a record for this process; PARENT is the process that forked it, 0: it started. */
void agent_join_record(uint32_t parent);
/* Join the recording whose memory is in FOLDER.  The recorder makes a thread of a running process
 * call this; all signals are blocked.  The result is in the memory, if it could be mapped. */
AGENT_HOOK void fathom_agent_join(const char *folder);
/* Whether the recording has ended; asks the kernel if the recorder was killed. */
bool agent_join_is_over(void);
/* Leave the recording in a process that was not preloaded: restore the action of our signal, and
 * give back the memory.  May run in the handler. */
void agent_join_leave(void);

/* agent_wait.c: whether system call CALL, which failed with EINTR, has done nothing. */
bool agent_wait_repeats(uint32_t call);

/* agent_signal.c */
/* RUNNING: the process ran before, and its threads keep their masks. */
void agent_signal_start(bool running);
/* Whether there is a signal that the program does not handle. */
bool agent_signal_is_free(void);
/* Leave the signal to the program. */
void agent_signal_stop(void);
/* Whether the last EINTR of this thread is due to a signal that the program does not handle. */
bool agent_signal_interrupted(void);
/* The program is about to wait for the signals of SET: if ours is among them, use another. */
void agent_signal_leave(const sigset_t *set);
/* Between the two calls, mask and actions are those that the program set, for a new program to
 * inherit. */
struct agent_signals {
    bool blocked, ignored;
};
void agent_signal_reveal(struct agent_signals *s);
void agent_signal_conceal(const struct agent_signals *s);

#endif
