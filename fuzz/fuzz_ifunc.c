/* fuzz_ifunc.c - slots and resolvers of an arbitrary ELF file, and names of variants in it.  All
 * that the file says of its resolvers is claimed of a process, too.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/sym_slots.h"
#include "symbol/symbolizer.h"

enum { RESOLVERS = 64, STEP = 16, VARIANTS = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add(struct sym_variant *v, size_t *n, uint64_t start, uint64_t resolver)
{
    if (*n < VARIANTS)
        v[(*n)++] = (struct sym_variant){ start, resolver };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_slots s = { 0 };
    struct sym_variant v[VARIANTS];
    const struct sym_line *c;
    struct sym_module *m;
    size_t n = 0;

    if (elf_file_read_image(&s.elf, data, size))
        sym_slots_read(&s);
    for (size_t i = 0; i < s.resolver.n && i < RESOLVERS; i++) {
        const struct sym_resolver *r = &s.resolver.v[i];

        for (size_t k = 0; k < s.slot.n && k < RESOLVERS; k++)
            if (sym_slots_can_choose(&s, r, s.slot.v[k].key))
                add(v, &n, s.slot.v[k].key, r->address);
        for (uint64_t at = 0; at < s.elf.segment[0].size && n < VARIANTS; at += STEP)
            add(v, &n, s.elf.segment[0].address + at, r->address);
        add(v, &n, r->address, r->address);
    }
    m = sym_module_open_memory(data, size, "x");
    m->req.variant = v;
    m->req.n_variants = n;
    for (size_t i = 0; i < n; i++)
        sym_module_find(m, v[i].start, &c);
    sym_module_close(m);
    sym_slots_release(&s);
    return 0;
}
