/* perf_text.h - print a profile as text, to compare with the expected text of a test.
 *
 * One line per sample, in order:  PID/TID METRIC START+DURATION WEIGHT FRAME;FRAME KEY=TAG  with
 * the root first.  A frame is "file+ADDRESS" in hexadecimal, "?+ADDRESS" outside any module, or
 * its name.  'r' marks a return address; 'j' marks that the frames below it were joined.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_PERF_TEXT_H
#define FATHOM_TESTS_PERF_TEXT_H

#include "base/buf.h"
#include "profile/profile.h"

/* Append to OUT. */
void perf_text(const struct profile *p, struct buf *out);

#endif
