/* agent_start.c - join the recording at the start of a program and in children of fork; hide the
 * library from the environment.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "agent/agent.h"
#include "target/tgt_fork.h"
#include "target/tgt_guard.h"

struct agent agent = { .process = AGENT_PROCESSES };

static const char variable[] = "LD_PRELOAD=";

/* --- children --- */

static void in_child(void)
{
    uint32_t parent = agent.pid;

    agent.process = AGENT_PROCESSES;
    agent_command_forget();
    if (agent.confined || !agent.memory || (agent.preloaded && !agent.memory->follow))
        return;
    agent_sample_forget_thread();
    if (agent.memory->follow)
        agent_join_record(parent);
    if (agent.process == AGENT_PROCESSES && !agent.preloaded)
        agent_join_leave();
}

static const struct tgt_fork follow_fork = { .in_child = in_child };

void agent_start_follow(void)
{
    tgt_fork_follow(&follow_fork);
}

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
        if (at == list && !at[n]) {
            remove_string(env, *e);
            return true;
        }
        n += at[n] != 0;
        memmove(at, at + n, strlen(at + n) + 1);
        n = strlen(list);
        if (n && at == list + n) /* ours was the last */
            list[n - 1] = 0;
        return true;
    }
    return false;
}

/* The arguments of main: glibc passes them to constructors.  ENV may have been allocated later. */
static void __attribute__((constructor(102))) start(int argc, char **argv, char **env)
{
    size_t folder;
    TGT_KEEP_ERRNO();

    agent.stack_end = (uint64_t)(uintptr_t)argv;
    agent_sample_start();
    if (!take_from(env))
        return;
    agent.preloaded = true;
    folder = strlen(agent.preload) - strlen(AGENT_LIBRARY);
    memcpy(agent.link, agent.preload, folder); /* the rest is zero */
    agent.memory = agent_join_map(agent.link);
    memcpy(agent.link + folder, AGENT_MEMORY, sizeof AGENT_MEMORY);
    if (!agent.memory)
        return;
    agent_stack_start();
    agent_start_follow();
    agent_join_record(0);
}
