/* limits.h - how much a profile may contain, and how much may be made from it.
 *
 * A small hostile file can describe a huge profile: a frame with 500,000 inlined calls in every
 * stack, or a million stacks that are a million frames deep.  These limits bound the work of all
 * views by the size of the profile.  Real profiles stay far below: those of clang are 300 frames
 * deep, have 500,000 stacks and up to 100 inlined calls in a frame.  Whoever applies a limit says
 * so in the report or on standard error.  docs/internals/limits.md lists all of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_LIMITS_H
#define FATHOM_PROFILE_LIMITS_H

#include <stdint.h>

enum {
    LIMIT_DEPTH = 8192,  /* frames of a stack; the outermost and the innermost are kept */
    LIMIT_CHAIN = 256,   /* functions of a frame; likewise */
    LIMIT_METRICS = 256, /* the samples of the others are dropped */
    LIMIT_LINE = 4096,   /* bytes of a line of source text that are shown */
    LIMIT_INDENT = 100,  /* levels by which a line of a tree is indented */
};

/* Functions in all of N stacks together: frames with long chains are shortened. */
static inline uint64_t limit_functions(uint64_t n)
{
    return (8u << 20) + 4 * n;
}

/* Steps from functions to their callers in an inverted tree or a tree of callers, of all stacks
 * together: callers that are farther away are left out. */
#define LIMIT_CALLERS ((uint64_t)64 << 20)

/* Numbers in a table of metrics by calls. */
#define LIMIT_CELLS ((uint64_t)64 << 20)

/* Output in any form but .fathom, and the functions that an export of each sample's stack lists. */
#define LIMIT_EXPORT_BYTES ((uint64_t)4 << 30)
#define LIMIT_EXPORT_FRAMES ((uint64_t)2 << 30)

/* A pprof profile, which is in memory before it is compressed. */
#define LIMIT_PPROF_BYTES ((uint64_t)2 << 30)

/* In memory at once: slices of a thread's timeline, and functions to sort stacks by. */
#define LIMIT_SLICES ((uint64_t)32 << 20)
#define LIMIT_SORTED_FRAMES ((uint64_t)256 << 20)

/* Bytes by which decompressed data may exceed the compressed data. */
#define LIMIT_UNPACKED ((uint64_t)16 << 30)

/* What a user can do about an output that is too large. */
#define LIMIT_HINT "choose a part of the profile, as with --time, --thread or --function"

#endif
