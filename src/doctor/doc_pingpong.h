/* doc_pingpong.h - two threads that exchange single bytes.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DOCTOR_DOC_PINGPONG_H
#define FATHOM_DOCTOR_DOC_PINGPONG_H

#include <stdbool.h>

/* Nanoseconds for a byte to go and come back, ROUNDS times; NAN when it cannot be done. */
double doc_pingpong_pipes(int rounds, bool on_one_cpu);
/* The same over descriptors: the partner reads IN and answers on OUT; we write to TO and read
 * FROM.  They are not closed. */
double doc_pingpong(int to, int from, int in, int out, int rounds, bool on_one_cpu);

#endif
