/* cfi_blame.h - which call on a path does not return, when the path cannot be.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_BLAME_H
#define FATHOM_CFI_CFI_BLAME_H

#include "cfi/cfi_paths.h"

/* The path to node AT cannot be: assume that a call on it does not return.  SP is the stack pointer
 * with which the function that the path runs into was entered, if the contradiction tells. */
enum path_outcome blame_path(struct paths *f, uint32_t at, struct flow_value sp);
/* Two paths meet with different stack pointers, at node TO and, in state S, from node FROM. */
enum path_outcome blame_meeting(struct paths *f, uint32_t from, bool after_call, uint32_t to,
                                const struct flow_state *s);

#endif
