/* fuzz_live.c - the region of libfathom, as the tool reads it from a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "channel/live_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(const struct live_record *r, void *arg)
{
    *(uint64_t *)arg += r->start + r->duration + r->node;
}

/* Pages want to be aligned as in a mapping. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct live_view v;
    uint64_t sum = 0;
    void *copy = NULL;

    if (size > 1 << 20 || posix_memalign(&copy, LIVE_PAGE, size + !size) != 0)
        return 0;
    memcpy(copy, data, size);
    if (live_open(&v, copy, size) == 0) {
        live_each_record(&v, visit, &sum);
        for (uint32_t i = 0; i < v.n_nodes; i++) {
            sum += strlen(v.node[i].name) + v.node[i].total;
            sum += v.node[i].hist ? live_word(&v.node[i].hist[LIVE_BUCKETS - 1]) : 0;
            sum += v.node[i].ext ? live_word(&v.node[i].ext->untimed) : 0;
        }
        live_close(&v);
    }
    free(copy);
    return sum == 42;
}
