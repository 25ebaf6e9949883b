/* fuzz_jitmap.c - arbitrary perf maps and kallsyms lists.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/sym_jitmap.h"
#include "symbol/sym_kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct sym_table *t)
{
    for (size_t i = 0; i < t->entry.n; i++) {
        long at = sym_table_find(t, t->entry.v[i].start);

        if (at >= 0 && (t->entry.v[at].start > t->entry.v[i].start ||
                        t->entry.v[at].end <= t->entry.v[i].start))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_jitmap_list list = { 0 };
    struct sym_table t = { 0 };
    struct buf names = { 0 };

    sym_jitmap_parse(&list, (const char *)data, size);
    for (size_t i = 0; i < list.code.n; i++)
        sym_table_add(&t, (struct sym_entry){ list.code.v[i].start, list.code.v[i].end, (uint32_t)i,
                                              0, 0 });
    sym_table_finish_layers(&t);
    ask(&t);
    sym_table_release(&t);
    vec_release(&list.code);
    sym_kallsyms_parse(&t, &names, (const char *)data, size);
    sym_table_finish(&t, NULL, NULL);
    ask(&t);
    sym_table_release(&t);
    buf_release(&names);
    return 0;
}
