/* cfi_known.h - code whose rules are known in advance: what a signal handler returns to, and .plt.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_KNOWN_H
#define FATHOM_CFI_CFI_KNOWN_H

#include "cfi/cfi_code.h"

void known_mark(struct code *c);

#endif
