/* nearest.h - "did you mean ...?": the known word closest to a mistyped one.
 *
 *     struct nearest n = nearest_to(typed, strlen(typed));
 *     for (...) nearest_offer(&n, known[i]);
 *     if (n.best) ... did you mean n.best
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_NEAREST_H
#define FATHOM_TEXT_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *typed;
    size_t n;
    const char *best; /* NULL: nothing is close */
    size_t distance;  /* of best, or the first one that is too far */
};

struct nearest nearest_to(const char *typed, size_t n);
void nearest_offer(struct nearest *n, const char *word);

#endif
