/* filters.c - see filters.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/filters.h"

#include <stddef.h>

const struct option filters_options[] = {
    { OPT_LIST, 0, "process", offsetof(struct filters, samples.process), "NAME|PID",
      "only processes whose name or command contains NAME; repeatable" },
    { OPT_LIST, 0, "command", offsetof(struct filters, samples.command), "NAME",
      "only processes called NAME, as in --by command; repeatable" },
    { OPT_LIST, 0, "thread", offsetof(struct filters, samples.thread), "NAME|TID",
      "only threads whose name contains NAME; repeatable" },
    { OPT_LIST, 0, "module", offsetof(struct filters, samples.module), "NAME",
      "only samples taken in modules whose path contains NAME; repeatable" },
    { OPT_LIST, 0, "function", offsetof(struct filters, samples.function), "REGEX",
      "only samples with a matching function in the stack; repeatable" },
    { OPT_LIST, 0, "exclude", offsetof(struct filters, samples.exclude), "REGEX",
      "exclude samples with a matching function in the stack; repeatable" },
    { OPT_LIST, 0, "tag", offsetof(struct filters, samples.tag), "KEY[=VALUE]",
      "only samples with this tag; repeatable" },
    { OPT_STR, 0, "time", offsetof(struct filters, samples.time), "A-B",
      "only samples from A to B seconds after the start" },
    { OPT_STR, 'm', "metric", offsetof(struct filters, metric), "NAME",
      "metric to show; wall is running plus waiting" },
    { 0 },
};

int filters_apply(const struct filters *f, struct profile *p, enum an_view_way way,
                  struct an_view *v, struct err *e)
{
    if (an_filter_apply(p, &f->samples, e) < 0)
        return -1;
    return an_view_open(v, p, f->metric, way, e);
}
