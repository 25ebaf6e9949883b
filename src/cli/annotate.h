/* annotate.h - how cmd_annotate's listings are printed.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_ANNOTATE_H
#define FATHOM_CLI_ANNOTATE_H

#include <stdbool.h>

#include "analyze/an_source.h"
#include "text/json.h"
#include "text/out.h"

struct annotate_view {
    const struct profile *profile;
    int64_t whole;           /* what shares are of */
    const char *metric_name, *unit;
    double min_pct;          /* lines below get no code */
    bool code, all_code;     /* show instructions; even those without cost */
    bool whole_file;
};

/* Add the code of FUNCTIONS that have no lines to a profile that holds no code. */
void annotate_read_code(struct profile *p, const uint32_t *functions, size_t n);
void annotate_text(const struct annotate_view *v, const struct an_listing *l, struct out *o,
                   int fd);
void annotate_json(const struct annotate_view *v, const struct an_listing *l, struct json *j);

#endif
