/* input.c - see input.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

#include <unistd.h>

#include "collect/collect.h"
#include "formats/formats.h"
#include "text/human.h"
#include "text/progress.h"

static void show(void *context, const struct col_summary *now)
{
    progress_show(context, "recording %s, %s samples", human_ns((double)now->wall_ns).s,
                  human_count((int64_t)now->samples).s);
}

struct profile *input_record(char **command, struct err *e)
{
    struct profile *p = profile_new();
    struct progress line;
    struct col_summary s = { 0 };
    struct col_options o = { .command = command, .tick = show, .context = &line };
    struct sink *sink = profile_sink(p);
    int rc;

    if (!command[0]) {
        err_set(e, ERR_USAGE, "no command after --");
        profile_free(p);
        return NULL;
    }
    progress_init(&line, STDERR_FILENO);
    rc = col_record(&o, sink, &s, e);
    progress_clear(&line);
    if (rc == 0 && sink->end(sink, e) == 0)
        return p;
    profile_free(p);
    return NULL;
}

struct profile *input_open_path(const char *path, struct err *e)
{
    struct profile *p;

    if (path)
        return format_open(path, e);
    if (access(INPUT_DEFAULT, F_OK) != 0) {
        err_set(e, ERR_MISSING, "no file was named and there is no " INPUT_DEFAULT " here");
        err_hint(e, "fathom record -- COMMAND makes one");
        return NULL;
    }
    p = format_open(INPUT_DEFAULT, e);
    return p;
}

struct profile *input_open(const struct opts_rest *rest, struct err *e)
{
    if (rest->n > 1 || (rest->n && rest->command)) {
        err_set(e, ERR_USAGE, "one file at a time: \"%s\" is too much", rest->v[rest->n - 1]);
        return NULL;
    }
    if (rest->command)
        return input_record(rest->command, e);
    return input_open_path(rest->n ? rest->v[0] : NULL, e);
}
