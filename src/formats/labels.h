/* labels.h - functions as formats without kinds and modules see them: name, file and line.
 * Symbols that differ in nothing else are one label; ids are dense from 1 in order of first use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_LABELS_H
#define FATHOM_FORMATS_LABELS_H

#include "analyze/an_symbols.h"
#include "profile/intern.h"

struct labels {
    struct an_symbols symbols;
    struct intern in; /* functions: the labels */
    struct sink nowhere;
    VEC(uint32_t) of_symbol; /* 0 until asked for */
    VEC(uint32_t) chain;     /* scratch of labels_stack */
};

struct label {
    const char *name, *file; /* file "" when unknown */
    uint32_t line;
};

void labels_init(struct labels *l, const struct profile *p);
void labels_release(struct labels *l);
uint32_t labels_of(struct labels *l, uint32_t symbol);
struct label labels_get(const struct labels *l, uint32_t id);
static inline uint32_t labels_count(const struct labels *l)
{
    return (uint32_t)l->in.function.n;
}
/* The labels of STACK, outermost first: l->chain. */
void labels_stack(struct labels *l, uint32_t stack);

#endif
