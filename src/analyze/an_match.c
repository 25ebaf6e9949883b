/* an_match.c - see an_match.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_match.h"

#include <string.h>

#include "analyze/an_symbols.h"
#include "base/hash.h"

enum { SAME_MODULE = 16, SAME_FILE = 6, SAME_FILE_NAME = 4, SAME_LINE = 1 };

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int compare_modules(const struct profile *a, uint32_t x, const struct profile *b,
                           uint32_t y)
{
    const struct module *m = x ? &a->module.v[x - 1] : NULL, *n = y ? &b->module.v[y - 1] : NULL;

    if (!m || !n)
        return 0;
    if (m->build_id_size && m->build_id_size == n->build_id_size &&
        memcmp(m->build_id, n->build_id, m->build_id_size) == 0)
        return SAME_MODULE;
    return strcmp(an_module_name(a, x), an_module_name(b, y)) == 0 ? SAME_MODULE : -SAME_MODULE;
}

static int compare_files(const char *x, const char *y)
{
    if (!*x || !*y)
        return 0;
    if (strcmp(x, y) == 0)
        return SAME_FILE;
    return strcmp(base_of(x), base_of(y)) == 0 ? SAME_FILE_NAME : -SAME_FILE;
}

static int likeness(const struct profile *a, const struct function *x, const struct profile *b,
                    const struct function *y)
{
    return compare_modules(a, x->module, b, y->module) +
           compare_files(profile_string(a, x->file), profile_string(b, y->file)) +
           (x->line && x->line == y->line ? SAME_LINE : 0);
}

static uint64_t hash_name(const struct profile *p, const struct function *f)
{
    const char *name = profile_string(p, f->name);

    return hash_bytes(name, strlen(name));
}

static uint32_t best_match(const struct profile *a, const struct function *x,
                           const struct profile *b, const struct index *by_name)
{
    uint64_t h = hash_name(a, x);
    uint32_t best = 0;
    int most = 0;

    for (uint32_t at = index_first(by_name, h), id; (id = index_id(by_name, h, &at));) {
        const struct function *y = &b->function.v[id - 1];
        int score = likeness(a, x, b, y);

        if (strcmp(profile_string(a, x->name), profile_string(b, y->name)) != 0)
            continue;
        if (!best || score > most) {
            best = id;
            most = score;
        }
    }
    return best;
}

uint32_t *an_match_functions(const struct profile *a, const struct profile *b)
{
    uint32_t *to = mem_zalloc((a->function.n + 1) * sizeof *to);
    struct index by_name = { 0 };

    for (uint32_t id = 1; id <= b->function.n; id++)
        index_add(&by_name, hash_name(b, &b->function.v[id - 1]), id);
    for (uint32_t id = 1; id <= a->function.n; id++)
        to[id] = best_match(a, &a->function.v[id - 1], b, &by_name);
    index_release(&by_name);
    return to;
}
