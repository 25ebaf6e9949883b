/* view_tags.h - the tag sets by which the viewer divides samples.
 *
 * A page stores weights by tag set, so there must be few sets.  A key with many values, such as a
 * request number, is omitted.  If there are still too many sets, all tags are omitted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_VIEW_TAGS_H
#define FATHOM_FORMATS_VIEW_TAGS_H

#include "base/hash.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "text/json.h"

struct view_tags {
    uint32_t *number;    /* by tag set of the profile: set of the page, 0 none */
    VEC(uint32_t) shown; /* page's set - 1 -> a set of the profile */
    struct umap many;    /* keys that are omitted */
};

void view_tags_init(struct view_tags *v, const struct profile *p);
void view_tags_release(struct view_tags *v);
/* Write the member "tags" of the facts: a list of objects with a member for each key. */
void view_tags_put(const struct view_tags *v, const struct profile *p, struct json *j);

#endif
