/* fuzz_json.c - the JSON reader on arbitrary bytes.  SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

#include "text/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_reader r;

    json_reader_init(&r, (const char *)data, size);
    while (json_next(&r) > JSON_ERROR)
        if (r.token == JSON_KEY && r.n == 1)
            json_skip(&r);
    json_reader_release(&r);
    return 0;
}
