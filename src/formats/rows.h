/* rows.h - samples summed by stack, thread and tags, with a column per metric.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_ROWS_H
#define FATHOM_FORMATS_ROWS_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/mem.h"
#include "profile/profile.h"

struct row {
    uint32_t stack, thread, tags; /* stack: mapped by rows_options.as */
};

struct rows {
    VEC(struct row) row; /* in the order of first samples */
    VEC(int64_t) value;  /* row * columns */
    size_t columns;
    struct index index_;
};

struct rows_options {
    bool counts;        /* add a first column with the number of samples of the first metric */
    const uint32_t *as; /* stack id - 1 -> key; stacks with equal keys are one; NULL: the id */
};
void rows_build(struct rows *r, const struct profile *p, struct rows_options o);
void rows_release(struct rows *r);

#endif
