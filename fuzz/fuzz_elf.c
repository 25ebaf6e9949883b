/* fuzz_elf.c - address lookups in an arbitrary ELF file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/symbolizer.h"

enum { QUESTIONS = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_module *m = sym_module_open_memory(data, size, "x");
    const struct sym_line *c;

    for (size_t k = 0; m->file && k < m->file->n_loads && k < 4; k++)
        for (uint64_t i = 0; i < QUESTIONS; i++) {
            uint64_t address = m->file->load[k].address + m->file->load[k].size / QUESTIONS * i;

            if (sym_module_find(m, address, &c) && c[0].end > c[0].start)
                sym_module_code(m, c[0].start, c[0].end - c[0].start);
        }
    sym_module_find(m, 0x1139, &c);
    sym_module_find(m, ~(uint64_t)0, &c);
    sym_module_source(m);
    sym_module_close(m);
    return 0;
}
