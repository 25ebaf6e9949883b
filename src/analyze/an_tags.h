/* an_tags.h - look up tags by key.
 *
 * A tag set is a chain of pairs (struct tag).  These functions compute a value once per set, to be
 * looked up for each sample.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_TAGS_H
#define FATHOM_ANALYZE_AN_TAGS_H

#include <stdbool.h>

#include "base/buf.h"
#include "profile/profile.h"

/* Return, by tag set id, the pair with KEY as an id of P->tag, 0 when the set has none ([0] is
 * always 0).  The caller frees the array. */
uint32_t *an_tags_with(const struct profile *p, const char *key);
/* Fail with ERR_MISSING, and the keys of P as the hint, when no tag set has KEY. */
int an_tags_check(const struct profile *p, const char *key, struct err *e);
/* Append the value of a pair to OUT as text, "futex" or "64 bytes". */
void an_tag_value(const struct profile *p, const struct tag *t, struct buf *out);
/* Is VALUE the value of the pair?  The unit of a number is optional. */
bool an_tag_is(const struct profile *p, const struct tag *t, const char *value);

/* Return the wait kind of a pair with TAG_WAIT, "futex"; WAIT_UNKNOWN when T is NULL (no
 * such pair). */
const char *an_wait_name(const struct profile *p, const struct tag *t);
/* Add a frame such as "[futex]" or "[unknown wait]" to the stack of each wait, for pictures and
 * formats without tags. */
void an_waits_draw(struct profile *p);

#endif
