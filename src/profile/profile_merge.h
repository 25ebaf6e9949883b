/* profile_merge.h - merge profiles of one program: process pools, ranks, repeated runs.
 *
 * Items that are equal in two parts become one: strings; metrics with the same name and unit;
 * modules with the same build id, or the same path if at most one build id is known for it;
 * functions; frames; stacks; source text and code.  Processes, threads, samples, spans and
 * counters stay separate, so every total is the sum of the totals of the parts.
 *
 * Parts that share a clock (same host, clock and boot) keep their times.  Any other part is
 * shifted to start when the first part starts.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_PROFILE_MERGE_H
#define FATHOM_PROFILE_PROFILE_MERGE_H

#include "profile/profile.h"

struct profile_part {
    const struct profile *profile;
    const char *name; /* path of its file; names the process of a part without threads */
};

/* Send PART[0..N) to OUT as one profile, without calling end(). */
void profile_merge(const struct profile_part *part, size_t n, struct sink *out);

/* Used by profile_merge().  The first returns N offsets to add to the times of the parts; the
 * caller frees them.  The second sends the meta of the merged profile. */
int64_t *profile_merge_shifts(const struct profile_part *part, size_t n);
void profile_merge_meta(const struct profile_part *part, size_t n, const int64_t *shift,
                        struct sink *out);

#endif
