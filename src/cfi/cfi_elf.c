/* cfi_elf.c - see cfi_elf.h.  Damage in one section affects only that section.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cursor.h"

/* zlib cannot expand by more than about 1032 times; zstd can, but compilers never produce that. */
enum { MOST_EXPANSION = 1100, COMPRESS_ZSTD = 2 /* older elf.h files have no name for it */ };
/* Twenty times the largest known size; a sparse file may claim more than any memory. */
static const uint64_t MOST_SECTION = (uint64_t)1 << 31;

/* N bytes of the file at OFFSET, or NULL. */
static const unsigned char *elf_bytes(struct cfi_elf *elf, uint64_t offset, uint64_t n)
{
    unsigned char *p;

    if (offset > elf->file.size || n > elf->file.size - offset || n == 0 || n > MOST_SECTION)
        return NULL;
    if (elf->file.image)
        return elf->file.image + offset;
    p = arena_try_alloc(&elf->arena, n);
    return p && elf_file_bytes(&elf->file, offset, n, p) ? p : NULL;
}

static const struct unw_machine *elf_machine(unsigned number)
{
    static const struct unw_machine *const known[] = { &unw_x86_64, &unw_aarch64 };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (number == known[i]->elf_machine)
            return known[i];
    return NULL;
}

static bool inflate_all(const unsigned char *from, size_t n, unsigned type, unsigned char *to,
                        size_t size)
{
    uLongf got = size;

    if (type == ELFCOMPRESS_ZLIB)
        return uncompress(to, &got, from, n) == Z_OK && got == size;
    return ZSTD_decompress(to, size, from, n) == size;
}

/* Decompress bytes of TYPE that expand to SIZE. */
static struct cfi_section elf_expand(struct cfi_elf *elf, struct cursor c, uint64_t size,
                                     unsigned type)
{
    size_t n = cur_left(&c);
    unsigned char *to;

    if (c.failed || size == 0 || size / MOST_EXPANSION > n || size > MOST_SECTION ||
        (type != ELFCOMPRESS_ZLIB && type != COMPRESS_ZSTD))
        return (struct cfi_section){ 0 };
    to = arena_try_alloc(&elf->arena, size);
    if (!to || !inflate_all(c.p, n, type, to, size))
        return (struct cfi_section){ 0 };
    return (struct cfi_section){ to, size, 0 };
}

static struct cfi_section section_bytes(struct cfi_elf *elf, const struct elf_section *s)
{
    const unsigned char *p = elf_bytes(elf, s->offset, s->size);
    struct cursor c = cursor_of(p, p ? s->size : 0);

    if (!p)
        return (struct cfi_section){ 0 };
    if (s->flags & SHF_COMPRESSED) {
        uint32_t type = cur_u32(&c);
        uint64_t size;

        cur_skip(&c, 4);
        size = cur_u64(&c);
        cur_skip(&c, 8);
        return elf_expand(elf, c, size, type);
    }
    if (s->name[1] == 'z') { /* .zdebug_frame: "ZLIB", then the size, most significant byte first */
        const unsigned char *magic = cur_bytes(&c, 4);
        uint64_t size = __builtin_bswap64(cur_u64(&c));

        if (!magic || memcmp(magic, "ZLIB", 4) != 0)
            return (struct cfi_section){ 0 };
        return elf_expand(elf, c, size, ELFCOMPRESS_ZLIB);
    }
    return (struct cfi_section){ p, s->size, s->address };
}

static void take_symbols(struct cfi_elf *elf, const struct elf_section *s, int which)
{
    elf->symbol_table[which] = *s;
    if (s->link >= elf->file.n_sections ||
        !elf_file_section(&elf->file, s->link, &elf->symbol_names[which]))
        elf->symbol_names[which].size = 0;
}

static void take_section(struct cfi_elf *elf, const struct elf_section *s)
{
    if (strcmp(s->name, ".text") == 0)
        elf->text = s->address;
    else if (strcmp(s->name, ".got") == 0)
        elf->got = s->address;
    if (s->type == SHT_NOBITS)
        return;
    if (s->flags & SHF_EXECINSTR && elf->n_code < CFI_ELF_CODE)
        elf->code[elf->n_code++] = (struct elf_segment){ s->offset, s->size, s->address, s->size,
                                                         true };
    if (s->type == SHT_SYMTAB || s->type == SHT_DYNSYM)
        take_symbols(elf, s, s->type == SHT_DYNSYM);
    if (strcmp(s->name, ".gopclntab") == 0)
        elf->go_table = *s;
    if (strcmp(s->name, ".eh_frame") == 0 && !elf->eh_frame.data)
        elf->eh_frame = section_bytes(elf, s);
    else if ((strcmp(s->name, ".debug_frame") == 0 || strcmp(s->name, ".zdebug_frame") == 0) &&
             !elf->debug_frame.data)
        elf->debug_frame = section_bytes(elf, s);
}

/* No section headers: .eh_frame_hdr points to .eh_frame, whose end is unknown.  Linkers place it
 * right after the header, so the rest of the file is an upper bound. */
static void elf_from_hdr(struct cfi_elf *elf)
{
    const struct elf_segment *hdr = &elf->file.eh_frame_hdr;
    const unsigned char *p = elf_bytes(elf, hdr->offset, 8);
    int32_t relative;
    uint64_t offset;

    if (!p || p[0] != 1 || p[1] != 0x1b) /* version 1, pc-relative 4-byte pointer */
        return;
    memcpy(&relative, p + 4, 4);
    offset = hdr->offset + 4 + (uint64_t)(int64_t)relative;
    if (offset >= elf->file.size)
        return;
    elf->eh_frame.size = elf->file.size - offset;
    elf->eh_frame.data = elf_bytes(elf, offset, elf->eh_frame.size);
    elf->eh_frame.address = hdr->address + 4 + (uint64_t)(int64_t)relative;
}

int cfi_elf_open(struct cfi_elf *elf, int fd, const void *image, size_t size, struct err *e)
{
    if (!(image ? elf_file_read_image(&elf->file, image, size) : elf_file_read(&elf->file, fd)))
        return err_set(e, ERR_FORMAT, "not a 64-bit little-endian ELF file");
    elf->machine = elf_machine(elf->file.machine);
    if (!elf->machine)
        return err_set(e, ERR_FORMAT, "an ELF file for another machine (%u)", elf->file.machine);
    return 0;
}

static int compare_addresses(const void *a, const void *b)
{
    const struct elf_segment *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

/* Those who use the code search it by address.  Of parts that overlap, keep the first. */
static void order_code(struct cfi_elf *elf)
{
    size_t n = 0;

    qsort(elf->code, elf->n_code, sizeof *elf->code, compare_addresses);
    for (size_t i = 0; i < elf->n_code; i++) {
        const struct elf_segment *s = &elf->code[i];

        if (s->address + s->size >= s->address &&
            (!n || s->address >= elf->code[n - 1].address + elf->code[n - 1].size))
            elf->code[n++] = *s;
    }
    elf->n_code = n;
}

void cfi_elf_read_sections(struct cfi_elf *elf)
{
    struct elf_section s;

    for (unsigned i = 0; i < elf->file.n_sections; i++)
        if (elf_file_section(&elf->file, i, &s))
            take_section(elf, &s);
    if (!elf->eh_frame.data && !elf->file.n_sections && elf->file.eh_frame_hdr.size)
        elf_from_hdr(elf);
    for (size_t i = 0; i < elf->file.n_segments && !elf->file.n_sections; i++)
        if (elf->file.segment[i].exec)
            elf->code[elf->n_code++] = elf->file.segment[i];
    order_code(elf);
}

void cfi_elf_read_symbols(struct cfi_elf *elf)
{
    for (size_t i = 0; i < ARRAY_LEN(elf->symbols); i++) {
        const struct elf_section *s = &elf->symbol_table[i], *names = &elf->symbol_names[i];

        if (s->size)
            elf->symbols[i].symbols = section_bytes(elf, s);
        if (names->size)
            elf->symbols[i].names = section_bytes(elf, names);
    }
}

struct cfi_section cfi_elf_go_table(struct cfi_elf *elf)
{
    return elf->go_table.size ? section_bytes(elf, &elf->go_table) : (struct cfi_section){ 0 };
}

/* The segment of the file that contains SIZE bytes at ADDRESS, or NULL. */
static const struct elf_segment *segment_of(const struct cfi_elf *elf, uint64_t address,
                                            uint64_t size)
{
    for (size_t i = 0; i < elf->file.n_segments; i++) {
        const struct elf_segment *s = &elf->file.segment[i];

        if (address >= s->address && address - s->address < s->size &&
            size <= s->size - (address - s->address))
            return s;
    }
    return NULL;
}

const unsigned char *cfi_elf_code(struct cfi_elf *elf, uint64_t address, uint64_t size)
{
    const struct elf_segment *s = segment_of(elf, address, size);

    return s && s->exec ? elf_bytes(elf, s->offset + (address - s->address), size) : NULL;
}

bool cfi_elf_data(struct cfi_elf *elf, uint64_t address, void *to, uint64_t size)
{
    const struct elf_segment *s = segment_of(elf, address, size);

    return s && elf_file_bytes(&elf->file, s->offset + (address - s->address), size, to);
}

void cfi_elf_release(struct cfi_elf *elf)
{
    arena_release(&elf->arena);
}

bool cfi_elf_is_code(const struct cfi_elf *elf, uint64_t start, uint64_t size)
{
    for (size_t i = 0; i < elf->file.n_segments; i++) {
        const struct elf_segment *s = &elf->file.segment[i];

        if (s->exec && start >= s->address && start - s->address < s->memory_size &&
            size <= s->memory_size - (start - s->address))
            return true;
    }
    return false;
}
