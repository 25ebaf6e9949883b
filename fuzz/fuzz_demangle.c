/* fuzz_demangle.c - the demangler: time, memory and output are bounded.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = mem_strndup((const char *)data, size);

    free(sym_demangle(name));
    free(name);
    return 0;
}
