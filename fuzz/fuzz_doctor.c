/* fuzz_doctor.c - `fathom doctor` on an arbitrary ELF file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "doctor/doctor.h"
#include "symbol/symbolizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_module *m = sym_module_open_memory(data, size, "x");
    struct doc_binary b;
    struct err e = { 0 };

    doc_binary_module(&b, m, "-- x", &e);
    doc_binary_release(&b);
    sym_module_close(m);
    return 0;
}
