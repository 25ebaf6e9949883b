/* col_lbr.h - stacks from the CPU's last-branch records in call-stack mode.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_LBR_H
#define FATHOM_COLLECT_COL_LBR_H

#include <stddef.h>

#include "collect/col_parse.h"

/* Frames of sample R, leaf first; returns how many. */
size_t col_lbr_frames(const struct col_record *r, struct unw_frame *frames, size_t cap);

#endif
