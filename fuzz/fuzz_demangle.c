/* fuzz_demangle.c - our own demanglers; C++ names go to the system's library and are not
 * searched here.  SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "symbol/sym_rust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = mem_strndup((const char *)data, size);

    free(sym_rust_v0(name));
    free(sym_rust_legacy(name));
    free(name);
    return 0;
}
