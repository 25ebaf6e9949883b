/* rt_advice.c - see rt_advice.h.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_advice.h"

#include <sys/mman.h>

#include "runtime/rt_rows.h"

enum { MOST_FINDINGS = 64 };

int rt_advice_each(const struct zone_rows *r, int most,
                   void (*visit)(const struct finding *, void *), void *arg)
{
    size_t bytes = MOST_FINDINGS * sizeof(struct finding);
    struct findings found = { .cap = MOST_FINDINGS };
    struct facts facts = { .zones = r };

    found.v = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found.v == MAP_FAILED)
        return 0;
    rules_run(&facts, &found);
    for (int i = 0; i < found.n && i < most; i++)
        visit(&found.v[i], arg);
    munmap(found.v, bytes);
    return found.n;
}

struct to_public {
    void (*visit)(const struct fathom_advice *, void *);
    void *arg;
};

static void visit_advice(const struct finding *f, void *arg)
{
    struct to_public *p = arg;
    struct fathom_advice out = { .size = sizeof out, .rule = f->rule->id, .priority = f->priority,
                                 .title = f->title, .evidence = f->evidence, .estimate = f->bound,
                                 .description = f->rule->text, .example = f->example,
                                 .name = f->name, .path = f->path, .gain = f->gain };

    p->visit(&out, p->arg);
}

int fathom_advise(void (*visit)(const struct fathom_advice *, void *), void *arg)
{
    struct to_public p = { visit, arg };
    struct zone_rows r;
    int n = rt_rows_take(&r, false);

    if (n < 0)
        return n;
    n = rt_advice_each(&r, MOST_FINDINGS, visit_advice, &p);
    zone_rows_free(&r);
    return n;
}
