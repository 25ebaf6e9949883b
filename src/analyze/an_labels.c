/* an_labels.c - see an_labels.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_labels.h"

#include <stdlib.h>

#include "profile/limits.h"

void an_labels_init(struct an_labels *l, const struct profile *p)
{
    memset(l, 0, sizeof *l);
    an_symbols_init(&l->symbols, p);
    intern_init(&l->in, &l->nowhere);
    vec_reserve(&l->of_symbol, l->symbols.symbol.n);
    l->of_symbol.n = l->symbols.symbol.n;
    memset(l->of_symbol.v, 0, l->of_symbol.n * sizeof *l->of_symbol.v);
}

void an_labels_release(struct an_labels *l)
{
    an_symbols_release(&l->symbols);
    intern_release(&l->in);
    vec_release(&l->of_symbol);
    vec_release(&l->chain);
}

uint32_t an_labels_of(struct an_labels *l, uint32_t symbol)
{
    const struct an_symbol *y = &l->symbols.symbol.v[symbol];
    const struct profile *p = l->symbols.profile;
    struct function f = { 0 };

    if (l->of_symbol.v[symbol])
        return l->of_symbol.v[symbol];
    f.name = intern_cstr(&l->in, y->name);
    if (y->function) {
        f.file = intern_cstr(&l->in, profile_string(p, p->function.v[y->function - 1].file));
        f.line = p->function.v[y->function - 1].line;
    }
    return l->of_symbol.v[symbol] = intern_function(&l->in, &f);
}

struct an_label an_labels_get(const struct an_labels *l, uint32_t id)
{
    const struct function *f = &l->in.function.v[id - 1];

    return (struct an_label){ intern_text_of(&l->in, f->name), intern_text_of(&l->in, f->file),
                           f->line };
}

void an_labels_stack(struct an_labels *l, uint32_t stack)
{
    const struct profile *p = l->symbols.profile;

    vec_clear(&l->chain);
    for (uint32_t s = stack; s; s = p->stack.v[s - 1].parent) {
        struct profile_chain c = l->symbols.frame.v[p->stack.v[s - 1].frame - 1];

        for (uint32_t i = c.n; i--;)
            vec_push(&l->chain, an_labels_of(l, l->symbols.chain.v[c.first + i]));
    }
    l->listed += l->chain.n;
    for (size_t i = 0, j = l->chain.n; i + 1 < j; i++) {
        uint32_t swap = l->chain.v[--j];

        l->chain.v[j] = l->chain.v[i];
        l->chain.v[i] = swap;
    }
}

bool an_labels_are_too_many(const struct an_labels *l, struct err *e)
{
    if (l->listed <= LIMIT_EXPORT_FRAMES)
        return false;
    err_set(e, ERR_LIMIT, "the stacks of all samples have more than %llu million functions",
            (unsigned long long)LIMIT_EXPORT_FRAMES / 1000000);
    err_hint(e, LIMIT_HINT);
    return true;
}
