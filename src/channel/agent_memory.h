/* agent_memory.h - the memory that a recorder shares with the agents of one recording
 * (src/agent).
 *
 * The recorder creates it as a memfd of fixed size, with all pages allocated, so that no access
 * raises SIGBUS.  Each agent maps it at its start and closes the descriptor; children of fork
 * inherit the mapping.  It contains a table of processes, which agents fill, a table of requests,
 * which the recorder fills, and a few samples:
 *
 *     agent:    claims a process, fills it, sets it to HERE and increments n_processes
 *     recorder: KNOWN; at each tick, for a thread of it that runs: request FREE -> ASKED, signal
 *     handler:  request ASKED -> FREE; sample FREE -> TAKEN, writes it, DONE
 *     recorder: copies the sample, FREE
 *
 * A thread that waits for a CPU answers when it gets one, so there are many requests.  Samples are
 * fewer, because the recorder soon collects them; but on a busy machine, many threads may answer
 * before it runs.  Most stacks are small, so only some samples have room for large ones.  A thread
 * has at most one request, so no signal is ever
 * queued twice.  If an agent dies in the middle, the recorder frees what was its; if the recorder
 * dies, no signal is sent any more.  Both sides treat the other's words as untrusted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CHANNEL_AGENT_MEMORY_H
#define FATHOM_CHANNEL_AGENT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define AGENT_MAGIC 0x31746e6761687466u /* "fthagnt1" */
#define AGENT_LIBRARY "libfathom-agent.so"
#define AGENT_MEMORY "memory" /* link to the memfd, beside the library */

enum {
    AGENT_PROCESSES = 1024,
    AGENT_REQUESTS = 4096,
    AGENT_PROBES = 32,    /* a request is at most so far behind TID % AGENT_REQUESTS */
    AGENT_SAMPLES = 512,
    AGENT_LARGE = 64,         /* the first samples have room for as many bytes of stack as the */
    AGENT_STACK = 65528,      /* largest copies of perf, */
    AGENT_SMALL_STACK = 8192, /* the others for these */
};

enum agent_process_state { AGENT_UNUSED, AGENT_CLAIMED, AGENT_HERE, AGENT_KNOWN };

struct agent_process {
    uint32_t state; /* enum agent_process_state */
    uint32_t pid;   /* as it sees itself */
    uint32_t signal;  /* that its handler serves; 0: it must not be signalled */
    uint32_t threads; /* changes when a thread is created */
    uint32_t maps;    /* changes when a library may have been unloaded, */
    uint32_t names;   /* when a thread may have got another name */
    uint32_t why_not; /* enum agent_why: why signal is 0 */
    uint64_t start_ns;
    uint64_t namespace; /* inode of its namespace of processes, 0: unknown */
    char name[16];    /* of its first thread */
    uint32_t parent;  /* pid of the process that forked; 0: started by exec */
    uint32_t interrupted; /* system calls that failed with EINTR because of us */
    uint32_t attached; /* it ran before the recording; `start_ns` is when it joined */
    uint32_t leaves; /* its handler must be removed at the end: see agent_leave */
};

enum agent_why {
    AGENT_SIGNALS_TAKEN = 1, /* the program handles both signals */
    AGENT_FILTERED, /* its filter of system calls forbids handlers */
};

/* The result of fathom_agent_join. */
enum agent_answer { AGENT_NO_ANSWER, AGENT_JOINED, AGENT_BUSY, AGENT_NO_PLACE, AGENT_NO_SIGNAL };

/* Signals in agent_memory.avoid. */
enum { AGENT_AVOID_URG = 1, AGENT_AVOID_WINCH = 2 };

enum agent_state { AGENT_FREE, AGENT_ASKED, AGENT_TAKEN, AGENT_DONE };

struct agent_request {
    uint32_t state; /* AGENT_FREE or AGENT_ASKED */
    uint32_t process; /* index */
    uint32_t tid;     /* as the thread sees itself */
    uint32_t reserved;
};

struct agent_sample {
    uint64_t time_ns, cpu_ns; /* CLOCK_MONOTONIC; CPU time of the thread; 0: unknown */
    uint64_t pc, sp, fp, lr, bx, r10;
    uint32_t process, tid; /* of the request */
    uint32_t maps; /* of its process, at this time */
    uint32_t stack_bytes; /* from SP */
};

struct agent_memory {
    uint64_t magic;
    uint64_t size; /* sizeof this struct */
    uint32_t recorder; /* its pid, in its own namespace */
    uint32_t follow;   /* children are recorded too */
    uint32_t n_processes; /* that were ever added */
    uint32_t n_refused;   /* processes that found no place */
    uint32_t ended;       /* the recording is over: add no processes */
    uint32_t n_leaving;   /* programs that were to be started and cannot load the agent */
    uint32_t answer;      /* enum agent_answer: of the process that was asked to join */
    uint32_t avoid;       /* signals that threads of it block */
    struct agent_process process[AGENT_PROCESSES];
    uint32_t n_dropped;   /* requests for which there was no sample */
    struct agent_request request[AGENT_REQUESTS];
    uint32_t sample_state[AGENT_SAMPLES]; /* AGENT_FREE, AGENT_TAKEN or AGENT_DONE */
    struct agent_sample sample[AGENT_SAMPLES];
    unsigned char large_stack[AGENT_LARGE][AGENT_STACK];
    unsigned char small_stack[AGENT_SAMPLES - AGENT_LARGE][AGENT_SMALL_STACK];
};

/* The stack of sample I, and the bytes there is room for. */
static inline unsigned char *agent_stack_of(struct agent_memory *m, uint32_t i)
{
    return i < AGENT_LARGE ? m->large_stack[i] : m->small_stack[i - AGENT_LARGE];
}

static inline uint32_t agent_stack_room(uint32_t i)
{
    return i < AGENT_LARGE ? AGENT_STACK : AGENT_SMALL_STACK;
}

#endif
