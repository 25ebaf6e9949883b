/* input_record.c - a reading command that was given a command line records it first.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/input.h"
#include "collect/collect.h"

struct profile *input_record(char **command, struct err *e)
{
    struct col_options o = { .command = command };
    struct profile *p = profile_new();
    struct sink *sink = profile_sink(p);
    struct col_summary s;

    if (col_record(&o, sink, &s, e) == 0 && sink->end(sink, e) == 0)
        return p;
    profile_free(p);
    return NULL;
}
