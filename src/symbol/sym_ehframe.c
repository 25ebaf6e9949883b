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
    uint64_t *description; /* of each start: offset in .eh_frame */
    const char **name; /* NULL until first used */
    size_t n;
    struct cursor frames; /* .eh_frame */
};

enum { ALIGNMENT = 16 }; /* of functions */

/* The only encodings that linkers write: 4-byte values, relative to the header. */
enum { TABLE_ENC = DW_EH_PE_datarel | DW_EH_PE_sdata4, PTR_ENC = DW_EH_PE_pcrel | DW_EH_PE_sdata4 };

/* Read the table C, which is at BASE; .eh_frame is at FRAMES_AT. */
static bool read_starts(struct start_state *st, struct cursor c, uint64_t base, uint64_t frames_at)
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
    st->description = mem_alloc(n * sizeof *st->description);
    st->name = mem_zalloc(n * sizeof *st->name);
    for (uint32_t i = 0; i < n; i++) {
        st->start[st->n] = base + (uint64_t)(int64_t)(int32_t)cur_u32(&c);
        st->description[st->n] = base + (uint64_t)(int64_t)(int32_t)cur_u32(&c) - frames_at;
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

struct range {
    uint64_t start, size, description;
};
struct ranges {
    VEC(struct range) v;
};

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* Read the range of code in C, which is at address AT in memory. */
static bool read_range(struct range *r, struct cursor c, uint64_t at, uint8_t encoding)
{
    if (encoding == PTR_ENC)
        r->start = at + (uint64_t)(int64_t)(int32_t)cur_u32(&c);
    else if (encoding == DW_EH_PE_udata4)
        r->start = cur_u32(&c);
    else if (encoding == DW_EH_PE_absptr)
        r->start = cur_u64(&c);
    else
        return false;
    r->size = encoding == DW_EH_PE_absptr ? cur_u64(&c) : cur_u32(&c);
    return !c.failed;
}

/* The entry at offset AT of FRAMES, without its length; the cursor fails if there is none. */
static struct cursor entry_at(struct cursor frames, uint64_t at)
{
    cur_skip(&frames, at);
    return cur_sub(&frames, cur_u32(&frames));
}

/* Size of the code of function I; 0 when unknown. */
static uint64_t size_of(const struct start_state *st, size_t i)
{
    uint64_t at = st->description[i];
    struct cursor one, cie;
    struct range r;
    uint32_t id;

    if (!st->frames.p)
        return 0;
    one = entry_at(st->frames, at);
    id = cur_u32(&one);
    cie = entry_at(st->frames, at + 4 - id);
    if (one.failed || !id || cur_u32(&cie) != 0 || cie.failed)
        return 0;
    return read_range(&r, one, 0, encoding_of(cie)) ? r.size : 0;
}

/* Read the descriptions in .eh_frame, C, which is at BASE. */
static bool read_frames(struct start_state *st, struct cursor c, uint64_t base)
{
    const unsigned char *first = c.p;
    struct umap encoding = { 0 }; /* offset of a CIE + 1 -> encoding + 1 */
    struct ranges all = { 0 };
    struct range r;

    while (cur_left(&c) >= 8) {
        uint32_t n = cur_u32(&c), at = (uint32_t)(c.p - first), id;
        struct cursor one = cur_sub(&c, n); /* fails for 64-bit lengths, which no compiler writes */

        id = cur_u32(&one);
        if (!n || one.failed)
            break;
        if (!id)
            umap_put(&encoding, (uint64_t)at - 4 + 1, encoding_of(one) + 1u);
        else if (read_range(&r, one, base + at + 4,
                            (uint8_t)(umap_find(&encoding, (uint64_t)at - id + 1) - 1))) {
            r.description = at - 4;
            vec_push(&all.v, r);
        }
    }
    umap_release(&encoding);
    if (all.v.n)
        qsort(all.v.v, all.v.n, sizeof *all.v.v, by_start);
    st->start = mem_alloc((all.v.n + 1) * sizeof *st->start);
    st->description = mem_alloc((all.v.n + 1) * sizeof *st->description);
    st->name = mem_zalloc((all.v.n + 1) * sizeof *st->name);
    for (size_t i = 0; i < all.v.n; i++) {
        st->start[st->n] = all.v.v[i].start;
        st->description[st->n] = all.v.v[i].description;
        st->n += st->n == 0 || st->start[st->n] > st->start[st->n - 1];
    }
    vec_release(&all.v);
    return st->n != 0;
}

static void starts_close(void *state)
{
    struct start_state *st = state;

    free(st->start);
    free(st->description);
    free(st->name);
    free(st);
}

static void *starts_open(struct sym_module *m)
{
    struct sym_image *im = sym_module_file(m);
    struct start_state *st = mem_zalloc(sizeof *st);
    size_t n;
    const unsigned char *p;
    GElf_Shdr sh, frames = { 0 };

    if (im && (p = sym_image_bytes(im, ".eh_frame", &n)) &&
        sym_image_section(im, ".eh_frame", &frames))
        st->frames = cursor_of(p, n);
    if (im && (p = sym_image_bytes(im, ".eh_frame_hdr", &n)) &&
        sym_image_section(im, ".eh_frame_hdr", &sh) &&
        read_starts(st, cursor_of(p, n), sh.sh_addr, frames.sh_addr))
        return st;
    if (im && !p && st->frames.p && read_frames(st, st->frames, frames.sh_addr))
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
    uint64_t end = sym_image_code_end(m->file, address), size;
    struct sym_line *l;

    if (n == 0 || !end)
        return false;
    /* Code without a description, such as that of musl, follows the functions that have one. */
    size = size_of(st, n - 1);
    if (size && address - st->start[n - 1] >= size)
        return false;
    l = sym_module_add(m);
    l->name = name_of(m, st, n - 1);
    l->start = st->start[n - 1];
    l->end = n < st->n ? st->start[n] : end;
    if (size && size < l->end - l->start)
        l->end = l->start + size;
    l->source = SYM_EH_FRAME;
    return true;
}

const uint64_t *sym_ehframe_starts(struct sym_module *m, size_t *n)
{
    const struct start_state *st = sym_module_state(m, &symbolizer_eh_frame);

    *n = st ? st->n : 0;
    return st ? st->start : NULL;
}

uint64_t sym_ehframe_covers(struct sym_module *m, uint64_t low, uint64_t high)
{
    const struct start_state *st = sym_module_state(m, &symbolizer_eh_frame);
    uint64_t sum = 0;

    for (size_t i = 0; st && i < st->n; i++) {
        uint64_t start = st->start[i], size = size_of(st, i);
        uint64_t next = i + 1 < st->n && st->start[i + 1] < high ? st->start[i + 1] : high;

        if (start < low || start >= high)
            continue;
        if (size && size < next - start) /* else functions overlap, or the size is unknown */
            size += (ALIGNMENT - (start + size) % ALIGNMENT) % ALIGNMENT;
        sum += size && size < next - start ? size : next - start;
    }
    return sum;
}

const struct symbolizer symbolizer_eh_frame = {
    .name = "eh_frame",
    .about = "function starts from .eh_frame_hdr",
    .source = SYM_EH_FRAME,
    .open = starts_open,
    .close = starts_close,
    .find = starts_find,
};
