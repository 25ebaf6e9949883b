/* agent_arm.c - an aarch64 program that lets the agent's handler take a sample of it, and prints
 * that and its true callers, to be unwound by a test.  With an argument it has a filter of system
 * calls, as far as the agent knows.  Without a cross compiler, the build creates an empty file.
 * build: agent-arm aarch64-linux-gnu-gcc -O2 -fomit-frame-pointer -static -D_GNU_SOURCE -I ../../src -o @OUT@ @IN@ ../../src/agent/agent_sample.c ../../src/target/tgt_load.c 2>/dev/null || : > @OUT@
 * SPDX-License-Identifier: Apache-2.0 */
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent/agent.h"

#define NOINLINE __attribute__((noinline, noclone))

static struct agent_memory memory;
struct agent agent = { .memory = &memory };

static volatile bool taken;
static volatile int one = 1;
static void *callers[200];
static int n_callers;

static void handler(int sig, siginfo_t *info, void *context)
{
    agent_sample(context);
    n_callers = backtrace(callers, 200);
    taken = true;
}

/* A leaf without a frame: its return address is in x30 only. */
NOINLINE static void spin(void)
{
    while (!taken)
        ;
}

NOINLINE static int recurse(int n)
{
    static const struct itimerval soon = { .it_value.tv_usec = 20000 };

    if (n)
        return recurse(n - 1) + one; /* not in a register, so not a loop */
    setitimer(ITIMER_REAL, &soon, NULL);
    spin();
    return one;
}

static void ask(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);

    memory.request[tid % AGENT_REQUESTS] = (struct agent_request){ .state = AGENT_ASKED,
                                                                   .tid = tid };
}

static void print(uint32_t number)
{
    const struct agent_sample *s = &memory.sample[number];
    const unsigned char *stack = agent_stack_of(&memory, number);
    int at = 0;

    while (at < n_callers && (uint64_t)callers[at] != s->pc)
        at++; /* the handler, and what called it */
    printf("regs %lx %lx %lx %lx\n", (long)s->pc, (long)s->sp, (long)s->fp, (long)s->lr);
    printf("callers %d\n", n_callers - at - 1);
    for (int i = at + 1; i < n_callers; i++)
        printf("%lx\n", (long)callers[i]);
    printf("stack %ld\n", (long)s->stack_bytes);
    for (uint32_t i = 0; i < s->stack_bytes; i++)
        printf("%02x%s", stack[i], i % 32 == 31 ? "\n" : "");
    printf("\n");
}

int main(int argc, char **argv, char **env)
{
    struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    uint32_t at = 0;

    agent.stack_end = (uint64_t)env;
    agent_sample_start();
    agent_sample_forget_thread();
    memory.process[0].careful = argc > 1;
    sigaction(SIGALRM, &a, NULL);
    ask();
    if (recurse(20) != 21)
        return 1;
    while (at < AGENT_SAMPLES && memory.sample_state[at] != AGENT_DONE)
        at++;
    if (at == AGENT_SAMPLES || memory.sample[at].tid != syscall(SYS_gettid) ||
        !memory.sample[at].cpu_ns != (argc > 1))
        return 1;
    print(at);
    return 0;
}
