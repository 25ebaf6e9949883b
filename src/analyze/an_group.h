/* an_group.h - divide samples into nested groups: by process, then module, then function ...
 * Each sample belongs to exactly one group of each level, so shares add up.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_GROUP_H
#define FATHOM_ANALYZE_AN_GROUP_H

#include "analyze/an_flat.h"
#include "base/trie.h"

enum { AN_GROUP_LEVELS = 6, AN_TAG_KEY = 64 };

struct an_levels {
    enum an_by by[AN_GROUP_LEVELS];
    char key[AN_GROUP_LEVELS][AN_TAG_KEY]; /* of AN_BY_TAG */
    size_t n;
};
/* "process,module,function", "tag:lock,function" */
int an_levels_parse(struct an_levels *l, const char *text, struct err *e);
/* ERR_MISSING when P has no tag with a key that L groups by. */
int an_levels_check(const struct an_levels *l, const struct profile *p, struct err *e);
/* "module" or "tag:lock"; TEXT is the buffer for the latter. */
const char *an_level_name(const struct an_levels *l, size_t level, char text[AN_TAG_KEY + 8]);

struct an_group {
    const char *name;   /* of the group, without its enclosing groups */
    uint32_t depth;     /* level, from 0 */
    uint32_t parent;    /* index of the enclosing group, UINT32_MAX at the top */
    uint32_t function;  /* by function and line, 0 otherwise */
    uint32_t line;      /* by line */
    int64_t weight;
    uint64_t samples;
    int64_t wait;  /* waiting part of weight (wall views) */
    int64_t *kind; /* by wait kind, in the arena; NULL if none */
    bool idle;     /* by thread: an idle thread */
};

struct an_groups {
    /* Depth first; in each level, largest weight first and idle threads last. */
    VEC(struct an_group) group;
    struct arena arena;
    struct an_sum all;
};

void an_groups_build(struct an_groups *g, const struct an_symbols *s, const struct an_view *v,
                     const struct an_levels *levels);
void an_groups_release(struct an_groups *g);

#endif
