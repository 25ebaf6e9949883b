/* fuzz_unwrap.c - arbitrary bytes as a gzip or zstd file.  SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "formats/unwrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = { 0 };
    bool cut;

    if (unwrap_needed(data, size))
        unwrap(data, size, &out, &cut, NULL);
    buf_release(&out);
    return 0;
}
