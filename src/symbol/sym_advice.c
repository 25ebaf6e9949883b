/* sym_advice.c - what would give better names.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbolizer.h"

const char *sym_module_advice(struct sym_module *m)
{
    return m->advice;
}
