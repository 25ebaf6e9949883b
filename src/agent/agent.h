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

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/agent_memory.h"
#include "target/tgt_fork.h"

#define AGENT_HOOK __attribute__((visibility("default")))

struct agent {
    struct agent_memory *memory; /* NULL: nobody records this program */
    uint32_t process;   /* index of this process; AGENT_PROCESSES: none */
    uint32_t pid;
    bool careful;  /* a filter of system calls: the handler makes none */
    bool confined; /* and forbids what we do at the start of a process */
    uint64_t stack_end; /* of the first thread */
    bool preloaded;     /* the hooks replace the functions of libc */
    char preload[256];  /* path of our library, for programs that this one starts */
    char link[280];     /* to the memory; it leads nowhere when the recorder was killed */
};
extern struct agent agent;

/* The record of this process, or NULL.  Another thread may leave the recording at any time: ask
 * once. */
static inline struct agent_process *agent_process(void)
{
    uint32_t at = __atomic_load_n(&agent.process, __ATOMIC_RELAXED);

    return at < AGENT_PROCESSES ? &agent.memory->process[at] : NULL;
}

/* Whether this is a child of vfork, or of a clone that libc does not know: what it does must not
 * change the state of its parent. */
static inline bool agent_is_guest(void)
{
    return !agent.careful && tgt_fork_is_guest(agent.pid);
}

/* Some of our files are compiled for offsets of 64 bits, so their hooks have names with 64 at the
 * end.  This defines the hooks for other programs. */
#define AGENT_PLAIN(type, name, parameters, arguments)            \
    AGENT_HOOK type agent_plain_##name parameters __asm__(#name); \
    type agent_plain_##name parameters                            \
    {                                                             \
        return name arguments;                                    \
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

/* agent_sample.c, called by the handler: write the sample that the recorder asked of this thread.
 * Returns whether it did ask. */
bool agent_sample(const void *ucontext);
void agent_sample_start(void); /* before the first */
/* For the handler: copy N bytes in front of the interrupted instruction, which may lie at the start
 * of the mapped code.  Returns whether they could be read. */
bool agent_sample_read(void *to, uint64_t from, size_t n);
/* In a child of fork, where the id of the thread changed, and before the handler may not ask for
 * it. */
void agent_sample_forget_thread(void);

/* Signals that this thread handled. */
struct agent_call {
    uint32_t ours, handled; /* sent by the recorder; for handlers of the program */
};
extern __thread struct agent_call agent_arrived __attribute__((visibility("hidden")));
/* Before and after a system call that a signal may cut short.  The second returns whether ours did,
 * and no handler of the program ran. */
struct agent_call agent_call_start(void);
bool agent_call_was_cut(const struct agent_call *before);

/* Evaluate CALL until something other than our signal ended it; before each repetition UPDATE. */
#define AGENT_REPEAT(rc, call, update)                                       \
    do {                                                                     \
        struct agent_call before_ = agent_call_start();                      \
        int errno_ = errno;                                                  \
        rc = (call);                                                         \
        if (!(rc < 0 && errno == EINTR && agent_call_was_cut(&before_)))     \
            break;                                                           \
        errno = errno_;                                                      \
        update;                                                              \
    } while (1)

/* agent_restart.c, from the registers that a signal saved: the instruction pointer; whether the
 * signal ended a system call with EINTR; end a call that the kernel is about to restart. */
uint64_t agent_restart_pc(const void *ucontext);
bool agent_restart_is_cut(const void *ucontext);
void agent_restart_cancel(void *ucontext);
/* For a process without hooks: make a call that did nothing again after the handler.  Returns false
 * if it cannot be. */
bool agent_restart_repeat(void *ucontext);

/* agent_action.c */
static inline bool agent_action_is_handler(const struct sigaction *a)
{
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}
/* sigaction for a signal that is not taken. */
int agent_action_set(int sig, const struct sigaction *new, struct sigaction *old);

/* agent_hooks.c: a thread has got another name. */
void agent_hooks_named(void);

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
/* RUNNING: the process ran before, and its threads keep their masks.  Also in a child of fork. */
void agent_signal_start(bool running);
/* Whether there is a signal that the program does not handle. */
bool agent_signal_is_free(void);
/* Leave the signal to the program. */
void agent_signal_restore(void);
/* sigaction for a signal that is taken, with the result in *RC; false: SIG is not. */
bool agent_signal_act(int sig, const struct sigaction *new, struct sigaction *old, int *rc);
/* The kernel called a handler of the program, with FLAGS. */
void agent_signal_relayed(const void *ucontext, int flags);
/* Let no more signals be sent to this process, and wait for those on their way. */
void agent_signal_stop(void);
void agent_signal_go(void); /* again */
/* As agent_signal_stop, until the end of the process, because of WHY. */
void agent_signal_end(enum agent_why why);
/* Block our signal in this thread, and return to *MASK. */
void agent_signal_defer(sigset_t *mask);
void agent_signal_allow(const sigset_t *mask);
/* The program is about to wait for the signals of SET: if ours is among them, use another. */
void agent_signal_leave(const sigset_t *set);
/* Between reveal and conceal, mask and actions are those that the program set, for a new program to
 * inherit.  After leave_program, that may take the place of this one. */
struct agent_signals {
    bool blocked, ignored;
};
void agent_signal_reveal(struct agent_signals *s);
void agent_signal_leave_program(struct agent_signals *s);
void agent_signal_conceal(const struct agent_signals *s);

/* agent_command.c: in a child of fork. */
void agent_command_forget(void);

/* agent_stack.c */
void agent_stack_start(void);
/* A stack for the handler of a thread that will have a small stack, or NULL; the thread starts in
 * agent_stack_enter, with it as the argument. */
void *agent_stack_for(const pthread_attr_t *attributes, void *(*start)(void *), void *arg);
void *agent_stack_enter(void *stack);
void agent_stack_free(void *stack);

#endif
