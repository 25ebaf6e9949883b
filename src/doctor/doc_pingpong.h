/* doc_pingpong.h - two threads that exchange single bytes.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DOCTOR_DOC_PINGPONG_H
#define FATHOM_DOCTOR_DOC_PINGPONG_H

#include <stdbool.h>

/* Nanoseconds of a round trip of one byte, ROUNDS times; NAN on failure. */
double doc_pingpong_pipes(int rounds, bool on_one_cpu);
/* The same over descriptors: the partner reads IN and answers on OUT; we write to TO and read
 * FROM.  They are not closed. */
double doc_pingpong(int to, int from, int in, int out, int rounds, bool on_one_cpu);

#endif
