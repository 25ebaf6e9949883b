/* cfi_entries.h - where functions start: symbols, Go's table, and the entry point of the file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_ENTRIES_H
#define FATHOM_CFI_CFI_ENTRIES_H

#include "cfi/cfi_code.h"

void entries_find(struct code *c);

#endif
