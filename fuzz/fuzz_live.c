/* fuzz_live.c - a region of libfathom, as the tool reads it from a live file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_format.h"
#include "zones/zone_rows.h"

static void visit(const struct live_record *r, void *arg)
{
    *(uint64_t *)arg += r->start + r->duration + r->node;
}

static void show(const uint8_t *data, size_t size)
{
    extern const struct format format_live;

    fuzz_format(&format_live, data, size);
}

/* The region must be page-aligned, as in a mapping. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zone_rows r;
    uint64_t sum = 0;
    double parts = 0;
    void *copy = NULL;

    if (size > 1 << 20 || posix_memalign(&copy, LIVE_PAGE, size + !size) != 0)
        return 0;
    memcpy(copy, data, size);
    if (zone_rows_read(&r, copy, size, false) == 0) {
        live_each_record(&r.view, visit, &sum);
        for (uint32_t i = 0; i < r.n; i++)
            sum += strlen(r.row[i].name) + r.row[i].count;
        for (uint32_t i = 0; i < r.view.n_nodes; i++)
            parts += r.part[i];
        if (r.n < 1000 && parts != r.all_ns)
            abort();
        zone_rows_free(&r);
        show(copy, size);
    }
    free(copy);
    return sum == 42;
}
