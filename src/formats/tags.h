/* tags.h - tag sets as members of a JSON object.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_TAGS_H
#define FATHOM_FORMATS_TAGS_H

#include "profile/profile.h"
#include "text/json.h"

/* The pairs of SET, last one first, into OUT; a key that comes again is left out.  Returns how
 * many, TAGS_MOST at most. */
enum { TAGS_MOST = 64 };
size_t tags_of(const struct profile *p, uint32_t set, const struct tag **out);
/* Each pair as a member of the object that is open: a text, or a number without its unit. */
void tags_put_json(struct json *j, const struct profile *p, uint32_t set);

#endif
