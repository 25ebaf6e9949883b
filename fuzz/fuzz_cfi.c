/* fuzz_cfi.c - the unwinder's readers.  The first byte selects the type of the rest: an ELF image,
 * .eh_frame or .debug_frame (x86_64 or aarch64), or a cache file.  The checksum of a cache file is
 * corrected, so that the checks after it are reached.  The resulting table is used for lookups and
 * walks.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cfi/cfi_table.h"

enum { ELF_IMAGE, EH_FRAME, DEBUG_FRAME, EH_FRAME_ARM, CACHE_FILE, KINDS };
enum { CODE = 0x1000, CODE_SIZE = 0x40000, FRAMES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_body(const struct unw_body *b)
{
    uint64_t step = (b->header->end - b->header->start) / 64 + 1;
    uint32_t sum = 0;

    for (unsigned i = 0; i < 66; i++) {
        const struct unw_row *row = unw_body_row(b, b->header->start + i * step);

        if (row && (row->rule) < b->header->n_rules)
            sum += b->rules[row->rule].cfa;
    }
    __asm__ volatile("" : : "r"(sum)); /* keep the compiler from removing the loads */
}

/* Give a table the checksum of a cache file and read it back. */
static void write_and_read(const struct unw_body *b)
{
    struct unw_header *h = (struct unw_header *)b->header;
    struct unw_body again;

    h->checksum = hash_fixed_bytes((const char *)h + 16, b->size - 16);
    if (!unw_table_check(&again, h, b->size, h->key))
        abort();
    use_body(&again);
}

static void compile(const uint8_t *data, size_t size, int kind)
{
    struct cfi_elf elf = { .machine = kind == EH_FRAME_ARM ? &unw_aarch64 : &unw_x86_64,
                           .file.n_segments = 1 };
    struct cfi_section s = { data, size, CODE + CODE_SIZE };
    struct unw_body b;

    elf.file.segment[0] = (struct elf_segment){ 0, CODE_SIZE, CODE, CODE_SIZE, true };
    *(kind == DEBUG_FRAME ? &elf.debug_frame : &elf.eh_frame) = s;
    cfi_compile(&b, &elf);
    use_body(&b);
    write_and_read(&b);
    cfi_body_release(&b);
}

static void walk(struct unw_table *t, enum unw_arch arch, const uint8_t *data, size_t size)
{
    struct unw_space *space = cfi_space_new(arch);
    struct cfi_table_info info = cfi_table_info(t);
    struct unw_stack stack = { 0x7000, data, size };
    struct unw_frame frames[FRAMES];
    size_t n;

    cfi_space_map(space, info.low, info.high, 0, t, 1);
    for (unsigned i = 0; i < 8; i++) {
        struct unw_regs regs = { .pc = info.low + i, .sp = 0x7000, .fp = 0x7000 + i * 8,
                                 .lr = info.low, .bx = 0x7008, .r10 = 0x7010 };

        unw_walk(space, NULL, regs, &stack, frames, FRAMES, &n);
    }
    cfi_space_free(space);
}

static void image(const uint8_t *data, size_t size)
{
    struct unw_table *t = cfi_table_build(data, size, NULL);

    if (!t)
        return;
    walk(t, cfi_table_info(t).arch, data, size);
    cfi_table_free(t);
}

static void cache_file(const uint8_t *data, size_t size)
{
    struct unw_header *h = malloc(size + !size);
    struct unw_body b;

    if (!h)
        return;
    memcpy(h, data, size);
    if (size >= sizeof *h)
        h->checksum = hash_fixed_bytes((const char *)h + 16, size - 16);
    if (unw_table_check(&b, h, size, size >= sizeof *h ? h->key : 0))
        use_body(&b);
    free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int kind = size ? data[0] % KINDS : 0;

    if (size == 0)
        return 0;
    if (kind == ELF_IMAGE)
        image(data + 1, size - 1);
    else if (kind == CACHE_FILE)
        cache_file(data + 1, size - 1);
    else
        compile(data + 1, size - 1, kind);
    return 0;
}
