/* tags.h - tag sets as members of a JSON object.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_TAGS_H
#define FATHOM_FORMATS_TAGS_H

#include "profile/profile.h"
#include "text/json.h"

/* Store the pairs of SET in OUT, last one first, each key once.  Returns their number, at most
 * TAGS_MOST. */
enum { TAGS_MOST = 64 };
size_t tags_of(const struct profile *p, uint32_t set, const struct tag **out);
/* Write each pair as a member of the open object: a text, or a number without its unit. */
void tags_put_json(struct json *j, const struct profile *p, uint32_t set);
/* The label (TAG_LABEL) in SET, which distinguishes counters of one name; "" when there is none. */
const char *tags_label(const struct profile *p, uint32_t set);
/* The name of a counter with its label, for formats that have only names; the caller frees it. */
char *tags_counter_name(const struct profile *p, const struct counter *c);

#endif
