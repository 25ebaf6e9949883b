/* sym_unpack.c - see sym_unpack.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_unpack.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/cache.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "symbol/sym_locate.h"

enum { RATIO_MAX = 1100 /* zlib cannot do better */, KEEP_LEVEL = 1, COMPRESS_ZSTD = 2 };
static const uint64_t unpacked_max = 4ull << 30;

static const char *const kinds[] = {
    ".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str",
    ".debug_rnglists", ".debug_ranges", ".debug_aranges", ".debug_addr", ".debug_str_offsets",
    ".debug_types",
};
enum { KINDS = ARRAY_LEN(kinds) };

/* Append section D, a compression header and compressed bytes, to ELF. */
static bool inflate_section(struct buf *elf, const Elf_Data *d)
{
    Elf64_Chdr ch;
    const unsigned char *in = (const unsigned char *)d->d_buf + sizeof ch;
    size_t n = d->d_size - sizeof ch;
    uLongf got;

    if (d->d_size < sizeof ch)
        return false;
    memcpy(&ch, d->d_buf, sizeof ch);
    if (ch.ch_size > unpacked_max - elf->n)
        return false;
    if (ch.ch_type == COMPRESS_ZSTD) {
        if (ZSTD_getFrameContentSize(in, n) != ch.ch_size)
            return false;
        buf_reserve(elf, ch.ch_size);
        got = ZSTD_decompress(elf->data + elf->n, ch.ch_size, in, n);
    } else {
        if (ch.ch_type != ELFCOMPRESS_ZLIB || ch.ch_size / RATIO_MAX > n)
            return false;
        buf_reserve(elf, ch.ch_size);
        got = ch.ch_size;
        if (uncompress(elf->data + elf->n, &got, in, n) != Z_OK)
            return false;
    }
    elf->n += ch.ch_size;
    return got == ch.ch_size;
}

static bool add_section(struct buf *elf, struct sym_image *im, const char *name, Elf64_Shdr *out)
{
    GElf_Shdr sh;
    Elf_Scn *s = sym_image_section(im, name, &sh);
    Elf_Data *d = s ? elf_rawdata(s, NULL) : NULL;
    size_t start;
    bool done = true;

    while (elf->n % 8)
        buf_u8(elf, 0);
    start = elf->n;
    if (d && d->d_buf && (sh.sh_flags & SHF_COMPRESSED))
        done = inflate_section(elf, d);
    else if (d && d->d_buf)
        buf_add(elf, d->d_buf, d->d_size);
    out->sh_type = SHT_PROGBITS;
    out->sh_offset = start;
    out->sh_size = elf->n - start;
    out->sh_addralign = 1;
    return done;
}

/* One section of names, after the others, then the table of sections. */
static void add_table(struct buf *elf, Elf64_Ehdr *eh, Elf64_Shdr *sh)
{
    size_t start = elf->n;

    buf_u8(elf, 0);
    for (size_t i = 0; i < KINDS; i++) {
        sh[i + 1].sh_name = (uint32_t)(elf->n - start);
        buf_add(elf, kinds[i], strlen(kinds[i]) + 1);
    }
    sh[KINDS + 1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = start,
                                  .sh_size = elf->n - start, .sh_addralign = 1 };
    while (elf->n % 8)
        buf_u8(elf, 0);
    eh->e_shoff = elf->n;
    eh->e_shentsize = sizeof *sh;
    eh->e_shnum = KINDS + 2;
    eh->e_shstrndx = KINDS + 1;
    eh->e_phoff = eh->e_phnum = 0;
    buf_add(elf, sh, (KINDS + 2) * sizeof *sh);
    memcpy(elf->data, eh, sizeof *eh);
}

static bool make_elf(struct buf *elf, struct sym_image *im, const Elf64_Ehdr *from)
{
    Elf64_Shdr sh[KINDS + 2] = { 0 };
    Elf64_Ehdr eh = *from;

    buf_add(elf, &eh, sizeof eh);
    for (size_t i = 0; i < KINDS; i++)
        if (!add_section(elf, im, kinds[i], &sh[i + 1]))
            return false;
    add_table(elf, &eh, sh);
    return true;
}

/* The name of the cached copy contains a hash of its source in addition to the build id, which any
 * file may claim. */
static bool kept_name(struct sym_image *im, char *name, size_t cap)
{
    char hex[2 * SYM_BUILD_ID_MAX + 1];
    uint64_t hash = 0;
    size_t n;

    if (!im->build_id_size || im->fd < 0)
        return false;
    for (size_t i = 0; i < KINDS; i++) {
        const unsigned char *p = sym_image_bytes(im, kinds[i], &n);

        hash = hash_fixed_pair(hash, p ? hash_fixed_bytes(p, n) : 0);
    }
    sym_locate_hex(hex, im->build_id, im->build_id_size);
    return snprintf(name, cap, "%s-%016llx.debug.zst", hex, (unsigned long long)hash) < (int)cap;
}

static bool read_kept(struct buf *elf, const char *name)
{
    struct map m = { 0 };
    unsigned long long n;
    bool done = false;

    if (!cache_load(&m, "symbol", name))
        return false;
    n = ZSTD_getFrameContentSize(m.data, m.size);
    if (n > 0 && n < unpacked_max) { /* also excludes zstd's two error values */
        buf_reserve(elf, n);
        done = ZSTD_decompress(elf->data, n, m.data, m.size) == n;
        elf->n = done ? n : 0;
    }
    map_close(&m);
    return done;
}

static void keep(const struct buf *elf, const char *name)
{
    size_t cap = ZSTD_compressBound(elf->n), n;
    unsigned char *packed = mem_alloc(cap);

    n = ZSTD_compress(packed, cap, elf->data, elf->n, KEEP_LEVEL);
    if (!ZSTD_isError(n))
        cache_store("symbol", name, packed, n, NULL);
    free(packed);
}

struct sym_image *sym_unpack(struct sym_image *im)
{
    const Elf64_Ehdr *eh = elf64_getehdr(im->elf);
    struct buf elf = { 0 };
    char name[NAME_MAX + 1];
    GElf_Shdr sh;
    bool can_keep;

    /* A file that shares parts with another locates it relative to its own path, which memory does
     * not have. */
    if (!eh || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
        sym_image_section(im, ".gnu_debugaltlink", &sh))
        return NULL;
    can_keep = kept_name(im, name, sizeof name);
    if (!can_keep || !read_kept(&elf, name)) {
        if (!make_elf(&elf, im, eh)) {
            buf_release(&elf);
            return NULL;
        }
        if (can_keep)
            keep(&elf, name);
    }
    return sym_image_open_memory(elf.data, elf.n, true, im->path, NULL);
}
