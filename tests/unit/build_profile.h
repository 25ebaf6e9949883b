/* build_profile.h - build small profiles for tests from text.
 *
 * One sample per line: "THREAD@SECONDS frame;frame;frame WEIGHT", root first.  A frame is
 * "module!function:line"; inlined calls follow their caller after '+': "a+b" is b inlined in a.
 * THREAD is "process/thread".  Module, line and @SECONDS are optional.  SECONDS is the end of a
 * "cpu" sample or the start of a "wait".  The metric is "cpu"; it is "wait" if WEIGHT ends in 'w'
 * or the stack ends in "[word]", which becomes the tag wait=word; "[guessed]" becomes stack=guessed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_BUILD_PROFILE_H
#define FATHOM_TESTS_BUILD_PROFILE_H

#include "profile/profile.h"

struct profile *build_profile(const char *lines);

#endif
