/* profile_merge.h - several profiles of one program as one: process pools, ranks, repeated runs.
 *
 * What is the same in two parts becomes one: strings; metrics of one name and unit; modules of
 * one build id (or, without one, of one path); functions; frames; stacks; source text and code.
 * Processes and threads stay apart, as do samples, spans and counters, so that every total is
 * the sum of the parts' totals.
 *
 * Times.  Parts of one clock (same host, same clock, same boot) keep their times.  The start of
 * any other part is moved to the start of the first.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_PROFILE_MERGE_H
#define FATHOM_PROFILE_PROFILE_MERGE_H

#include "profile/profile.h"

struct profile_part {
    const struct profile *profile;
    const char *name; /* path of its file; the process of a part that knows no threads */
};

/* Send PART[0..N) as one profile into OUT.  end() is not called. */
void profile_merge(const struct profile_part *part, size_t n, struct sink *out);

/* For profile_merge: what to add to the times of each part, N numbers for free(); and the facts
 * of the merged profile. */
int64_t *profile_merge_shifts(const struct profile_part *part, size_t n);
void profile_merge_meta(const struct profile_part *part, size_t n, const int64_t *shift,
                        struct sink *out);

#endif
