/* sym_ehframe.c - function starts from the sorted table of .eh_frame_hdr, for modules without
 * symbols; from .eh_frame itself if there is no table, as in statically linked programs.  A
 * function is named after its start address, `fn_1a2b30 [libx.so]`, so that its samples stay
 * together.  SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/search.h"
#include "symbol/sym_table.h"
#include "symbol/symbolizer.h"

struct start_state {
    uint64_t *start; /* sorted */
    const char **name; /* NULL until first used */
    size_t n;
};

/* The only encodings that linkers write: 4-byte values, relative to the header. */
enum { TABLE_ENC = DW_EH_PE_datarel | DW_EH_PE_sdata4, PTR_ENC = DW_EH_PE_pcrel | DW_EH_PE_sdata4 };

static bool read_starts(struct start_state *st, struct cursor c, uint64_t base)
{
    uint8_t version = cur_u8(&c), ptr = cur_u8(&c), count = cur_u8(&c), table = cur_u8(&c);
    uint32_t n;

    if (version != 1 || ptr != PTR_ENC || count != DW_EH_PE_udata4 || table != TABLE_ENC)
        return false;
    cur_skip(&c, 4);
    n = cur_u32(&c);
    if (c.failed || n == 0 || n > cur_left(&c) / 8)
        return false;
    st->start = mem_alloc(n * sizeof *st->start);
    st->name = mem_zalloc(n * sizeof *st->name);
    for (uint32_t i = 0; i < n; i++) {
        st->start[st->n] = base + (uint64_t)(int64_t)(int32_t)cur_u32(&c);
        cur_skip(&c, 4);
        st->n += st->n == 0 || st->start[st->n] > st->start[st->n - 1];
    }
    return true;
}

/* Skip an address with encoding E; false when its size is unknown. */
static bool skip_address(struct cursor *c, uint8_t e)
{
    switch (e & 7) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
        cur_skip(c, 8);
        return true;
    case DW_EH_PE_udata2:
        cur_skip(c, 2);
        return true;
    case DW_EH_PE_udata4:
        cur_skip(c, 4);
        return true;
    default:
        return false;
    }
}

/* The encoding of addresses in the descriptions that refer to the CIE C, without length and id. */
static uint8_t encoding_of(struct cursor c)
{
    uint8_t version = cur_u8(&c), encoding;
    const char *augmentation = cur_cstr(&c);

    if (*augmentation != 'z')
        return *augmentation ? DW_EH_PE_omit : DW_EH_PE_absptr;
    cur_uleb(&c);
    cur_sleb(&c);
    if (version == 1)
        cur_skip(&c, 1);
    else
        cur_uleb(&c);
    cur_uleb(&c);
    for (const char *a = augmentation + 1; *a && !c.failed; a++) {
        if (*a == 'R')
            return cur_u8(&c);
        if (*a == 'L')
            cur_skip(&c, 1);
        else if (*a == 'P' && (encoding = cur_u8(&c), !skip_address(&c, encoding)))
            return DW_EH_PE_omit;
    }
    return DW_EH_PE_absptr;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Append the address at the start of C, at address AT in memory, to ST. */
static void add_start(struct start_state *st, struct cursor c, uint64_t at, uint8_t encoding)
{
    uint64_t start;

    if (encoding == PTR_ENC)
        start = at + (uint64_t)(int64_t)(int32_t)cur_u32(&c);
    else if (encoding == DW_EH_PE_udata4)
        start = cur_u32(&c);
    else if (encoding == DW_EH_PE_absptr)
        start = cur_u64(&c);
    else
        return;
    if (!c.failed)
        st->start[st->n++] = start;
}

/* Read the descriptions in .eh_frame, C, which is at BASE. */
static bool read_frames(struct start_state *st, struct cursor c, uint64_t base)
{
    const unsigned char *first = c.p;
    struct umap encoding = { 0 }; /* offset of a CIE + 1 -> encoding + 1 */
    size_t kept = 0;

    st->start = mem_alloc((cur_left(&c) / 8 + 1) * sizeof *st->start);
    while (cur_left(&c) >= 8) {
        uint32_t n = cur_u32(&c), at = (uint32_t)(c.p - first), id;
        struct cursor one = cur_sub(&c, n); /* fails for 64-bit lengths, which no compiler writes */

        id = cur_u32(&one);
        if (!n || one.failed)
            break;
        if (!id)
            umap_put(&encoding, (uint64_t)at - 4 + 1, encoding_of(one) + 1u);
        else
            add_start(st, one, base + at + 4,
                      (uint8_t)(umap_find(&encoding, (uint64_t)at - id + 1) - 1));
    }
    umap_release(&encoding);
    if (st->n)
        qsort(st->start, st->n, sizeof *st->start, by_value);
    for (size_t i = 0; i < st->n; i++)
        if (!kept || st->start[i] > st->start[kept - 1])
            st->start[kept++] = st->start[i];
    st->n = kept;
    st->name = mem_zalloc((kept + 1) * sizeof *st->name);
    return kept != 0;
}

static void starts_close(void *state)
{
    struct start_state *st = state;

    free(st->start);
    free(st->name);
    free(st);
}

static void *starts_open(struct sym_module *m)
{
    struct sym_image *im = sym_module_file(m);
    struct start_state *st = mem_zalloc(sizeof *st);
    size_t n;
    const unsigned char *p;
    GElf_Shdr sh;

    if (im && (p = sym_image_bytes(im, ".eh_frame_hdr", &n)) &&
        sym_image_section(im, ".eh_frame_hdr", &sh) && read_starts(st, cursor_of(p, n), sh.sh_addr))
        return st;
    if (im && !p && (p = sym_image_bytes(im, ".eh_frame", &n)) &&
        sym_image_section(im, ".eh_frame", &sh) && read_frames(st, cursor_of(p, n), sh.sh_addr))
        return st;
    starts_close(st);
    return NULL;
}

static const char *name_of(struct sym_module *m, const struct start_state *st, size_t i)
{
    char name[400];

    if (!st->name[i]) {
        snprintf(name, sizeof name, "fn_%llx [%.300s]", (unsigned long long)st->start[i], m->base);
        st->name[i] = arena_strndup(&m->arena, name, strlen(name));
    }
    return st->name[i];
}

static bool starts_find(struct sym_module *m, void *state, uint64_t address)
{
    const struct start_state *st = state;
    size_t n = search(0, st->n, i, st->start[i] <= address);
    uint64_t end = sym_image_code_end(m->file, address);
    struct sym_line *l;

    if (n == 0 || !end)
        return false;
    l = sym_module_add(m);
    l->name = name_of(m, st, n - 1);
    l->start = st->start[n - 1];
    l->end = n < st->n ? st->start[n] : end;
    l->source = SYM_EH_FRAME;
    return true;
}

const uint64_t *sym_ehframe_starts(struct sym_module *m, size_t *n)
{
    const struct start_state *st = sym_module_state(m, &symbolizer_eh_frame);

    *n = st ? st->n : 0;
    return st ? st->start : NULL;
}

const struct symbolizer symbolizer_eh_frame = {
    .name = "eh_frame",
    .about = "function starts from .eh_frame_hdr",
    .source = SYM_EH_FRAME,
    .open = starts_open,
    .close = starts_close,
    .find = starts_find,
};
