/* perf_text.h - a profile as lines of text, to compare with what a test expects.
 *
 * One line a sample, in order:  PID/TID METRIC START+DURATION WEIGHT FRAME;FRAME KEY=TAG  with the
 * root first.  A frame is "file+ADDRESS" in hexadecimal, "?+ADDRESS" outside any module, or its name;
 * 'r' marks a return address and 'j' that what is below was joined on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_PERF_TEXT_H
#define FATHOM_TESTS_PERF_TEXT_H

#include "base/buf.h"
#include "profile/profile.h"

/* Appended to OUT. */
void perf_text(const struct profile *p, struct buf *out);

#endif
