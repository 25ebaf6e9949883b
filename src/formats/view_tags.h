/* view_tags.h - the tag sets that the viewer tells samples apart by.
 *
 * A page divides its weights by set, so there must be few: a key with many values (the number of a
 * request) is left out, and when still too many sets are left, all are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_VIEW_TAGS_H
#define FATHOM_FORMATS_VIEW_TAGS_H

#include "base/hash.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "text/json.h"

struct view_tags {
    uint32_t *number;    /* by tag set of the profile: the page's set, 0 none */
    VEC(uint32_t) shown; /* page's set - 1 -> a set of the profile */
    struct umap many;    /* keys that are left out */
};

void view_tags_init(struct view_tags *v, const struct profile *p);
void view_tags_release(struct view_tags *v);
/* Member "tags" of the facts: a list of objects, a member for each key. */
void view_tags_put(const struct view_tags *v, const struct profile *p, struct json *j);

#endif
