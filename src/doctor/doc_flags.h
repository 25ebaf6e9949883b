/* doc_flags.h - compiler flags for the two builds used in profiling, by language and build tool.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DOCTOR_DOC_FLAGS_H
#define FATHOM_DOCTOR_DOC_FLAGS_H

struct doc_flags {
    const char *profile; /* "fast", "instrumented" */
    const char *lang;    /* "c", "rust", "cmake" ... */
    const char *flags;   /* what to pass */
    const char *how;     /* where to put it; lines */
};
extern const struct doc_flags doc_flags[]; /* ended by a NULL profile */

#endif
