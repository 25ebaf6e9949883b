/* cfi_go.h - the functions of a Go program, from the table that its own tracebacks use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_GO_H
#define FATHOM_CFI_CFI_GO_H

#include "cfi/cfi_elf.h"

/* Receives the function [START, END).  IS_TOP: it is the first one of its stack. */
typedef void cfi_go_function(void *arg, uint64_t start, uint64_t end, bool is_top);

/* Pass every function in .gopclntab of ELF to EACH; none if it has no such section, or one of
 * another version than Go 1.18 and later write. */
void cfi_go_each(struct cfi_elf *elf, cfi_go_function *each, void *arg);

#endif
