/* cfi_frame.h - where the frame pointer of a function points, relative to its stack pointer.
 *
 * /proc shows the stack pointer of a thread that waits, but not its frame pointer.  The call-frame
 * information of a function with a frame pointer does not say how far the stack pointer is from it,
 * but its instructions do (cfi_flow.h).  For x86-64, in builds with a disassembler.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_FRAME_H
#define FATHOM_CFI_CFI_FRAME_H

#include "cfi/cfi_elf.h"

/* Whether frame pointer = stack pointer + *OFFSET at ADDRESS (file virtual, in an instruction of
 * ELF), where the call-frame information needs the frame pointer. */
bool cfi_frame_find(struct cfi_elf *elf, uint64_t address, int32_t *offset);

#endif
