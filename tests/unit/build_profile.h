/* build_profile.h - small profiles for tests, from text.
 *
 * One sample a line: "THREAD@SECONDS frame;frame;frame WEIGHT" with the root first; a frame is
 * "module!function:line", and inlined calls follow their caller after '+': "a+b" is b inlined
 * in a.  THREAD is "process/thread"; module, line and @SECONDS may be left out.  SECONDS is the
 * end of a "cpu" sample, the start of a "wait".  A WEIGHT that
 * ends in 'w' is of the metric "wait" instead of "cpu", and so is a stack that ends in "[word]",
 * which becomes the tag wait=word.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_BUILD_PROFILE_H
#define FATHOM_TESTS_BUILD_PROFILE_H

#include "profile/profile.h"

struct profile *build_profile(const char *lines);

#endif
