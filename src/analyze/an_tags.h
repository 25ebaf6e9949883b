/* an_tags.h - tag sets, asked by key.
 *
 * A set is a chain of pairs (struct tag); whatever is asked of each sample is worked out once per
 * set here and only looked up afterwards.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_TAGS_H
#define FATHOM_ANALYZE_AN_TAGS_H

#include <stdbool.h>

#include "base/buf.h"
#include "profile/profile.h"

/* By tag set id ([0]: none): the pair of the set with KEY, as an id of P->tag; 0 when it has none.
 * For free(). */
uint32_t *an_tags_with(const struct profile *p, const char *key);
/* Does any set have KEY?  Appends the keys there are to ALL, joined by commas. */
bool an_tags_keys(const struct profile *p, const char *key, struct buf *all);
/* A pair's value as text, "futex" or "64 bytes", appended to OUT. */
void an_tag_value(const struct profile *p, const struct tag *t, struct buf *out);
/* Is VALUE the pair's value?  A number may be given without its unit. */
bool an_tag_is(const struct profile *p, const struct tag *t, const char *value);

/* What a sample off the CPU waited for, by its pair of TAG_WAIT: "futex", or "waiting" when that
 * is not known (NULL: it has no such pair). */
const char *an_wait_name(const struct profile *p, const struct tag *t);
/* For pictures: put "[futex]" on top of the stack of each wait, as a frame of its own. */
void an_waits_draw(struct profile *p);

#endif
