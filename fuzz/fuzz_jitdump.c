/* fuzz_jitdump.c - arbitrary jitdump files.  SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/sym_jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_jitdump d = { 0 };
    volatile unsigned char sink = 0;

    sym_jitdump_parse(&d, data, size);
    for (size_t i = 0; i < d.code.n; i++)
        sink = (unsigned char)(d.code.v[i].bytes[d.code.v[i].end - d.code.v[i].start - 1] +
                               d.code.v[i].name[0]);
    (void)sink;
    sym_jitdump_release(&d);
    return 0;
}
