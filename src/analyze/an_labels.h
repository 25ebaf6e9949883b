/* an_labels.h - functions for formats without frame kinds and modules: name, file and line.
 * Symbols with equal name, file and line share a label.  Ids are dense and start at 1, in order
 * of first use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_LABELS_H
#define FATHOM_ANALYZE_AN_LABELS_H

#include "analyze/an_symbols.h"
#include "profile/intern.h"

struct an_labels {
    struct an_symbols symbols;
    struct intern in; /* its functions are the labels */
    struct sink nowhere;
    VEC(uint32_t) of_symbol; /* label by symbol, 0 until first use */
    VEC(uint32_t) chain;     /* result of an_labels_stack() */
    uint64_t listed;         /* labels in all results */
};

struct an_label {
    const char *name, *file; /* file "" when unknown */
    uint32_t line;
};

void an_labels_init(struct an_labels *l, const struct profile *p);
void an_labels_release(struct an_labels *l);
uint32_t an_labels_of(struct an_labels *l, uint32_t symbol);
struct an_label an_labels_get(const struct an_labels *l, uint32_t id);
static inline uint32_t an_labels_count(const struct an_labels *l)
{
    return (uint32_t)l->in.function.n;
}
/* Store the labels of STACK in l->chain, outermost first.  Stop when an_labels_are_too_many(). */
void an_labels_stack(struct an_labels *l, uint32_t stack);
/* Whether all stacks together had more than LIMIT_EXPORT_FRAMES labels; sets *E then. */
bool an_labels_are_too_many(const struct an_labels *l, struct err *e);

#endif
