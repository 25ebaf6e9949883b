/* input.c - see input.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/formats.h"
#include "profile/profile_merge.h"
#include "text/notice.h"

static struct profile *open_default(struct err *e)
{
    if (access(INPUT_DEFAULT, F_OK) == 0)
        return format_open(INPUT_DEFAULT, e);
    err_set(e, ERR_MISSING, "no file given and there is no " INPUT_DEFAULT " here");
    err_hint(e, "create one with: fathom record -- COMMAND");
    return NULL;
}

static struct profile *merge(const struct profile_part *part, size_t n, struct err *e)
{
    struct profile *p = profile_new();

    profile_merge(part, n, profile_sink(p));
    if (sink_end(profile_sink(p), e) == 0)
        return p;
    profile_free(p);
    return NULL;
}

static struct profile *open_all(char **path, size_t n, struct err *e)
{
    struct profile_part *part = mem_zalloc(n * sizeof *part);
    struct profile *p = NULL;
    size_t opened = 0;

    for (; opened < n; opened++) {
        part[opened] = (struct profile_part){ format_open(path[opened], e), path[opened] };
        if (!part[opened].profile)
            break;
    }
    if (opened == n)
        p = merge(part, n, e);
    while (opened)
        profile_free((struct profile *)part[--opened].profile);
    free(part);
    return p;
}

static struct profile *open_any(const struct opts_rest *rest, struct err *e)
{
    if (rest->n && rest->command) {
        err_set(e, ERR_USAGE, "give either a file (\"%s\") or a command to record, not both",
                rest->v[0]);
        return NULL;
    }
    if (rest->command)
        return input_record(rest->command, e);
    if (rest->n > 1)
        return open_all(rest->v, (size_t)rest->n, e);
    return rest->n ? format_open(rest->v[0], e) : open_default(e);
}

struct profile *input_open(const struct opts_rest *rest, struct err *e)
{
    struct profile *p = open_any(rest, e);

    if (p && *p->cut)
        notice("fathom: the profile is cut: %s", p->cut);
    return p;
}
