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
    size_t columns;
    /* Most rows have samples of one metric, so the values of one row at a time are stored. */
    const struct profile *p_;
    bool counts_;
    uint32_t *sample_; /* numbers of samples, row by row */
    size_t *first_;    /* by row: index of its first sample; one more at the end */
    int64_t *value_;
    struct index index_;
};

struct rows_options {
    bool counts;        /* add a first column with the number of samples of the first metric */
    const uint32_t *as; /* stack id - 1 -> key; stacks with equal keys are one; NULL: the id */
};
void rows_build(struct rows *r, const struct profile *p, struct rows_options o);
/* The columns of row number ROW, valid until the next call. */
const int64_t *rows_values(struct rows *r, size_t row);
void rows_release(struct rows *r);

#endif
