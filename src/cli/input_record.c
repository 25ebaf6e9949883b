/* input_record.c - record the command given to a command that reads profiles.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/input.h"
#include "collect/collect.h"
#include "text/human.h"
#include "text/progress.h"

static void show(void *context, const struct col_summary *now)
{
    progress_show(context, "recording %s, %s samples", human_ns((double)now->wall_ns).s,
                  human_count((int64_t)now->samples).s);
}

struct profile *input_record(char **command, struct err *e)
{
    struct profile *p;
    struct progress line;
    struct col_summary s = { 0 };
    struct col_options o = { .command = command, .tick = show, .context = &line,
                             .output_to_stderr = true };
    int rc;

    if (!command[0]) {
        err_set(e, ERR_USAGE, "no command after --");
        return NULL;
    }
    p = profile_new();
    progress_init(&line, STDERR_FILENO);
    rc = col_record(&o, profile_sink(p), &s, e);
    progress_clear(&line);
    if (rc == 0 && sink_end(profile_sink(p), e) == 0)
        return p;
    profile_free(p);
    return NULL;
}
