/* sym_ehframe.c - function starts from the sorted table of .eh_frame_hdr, for modules without
 * symbols.  A function is named after its start address, `fn_1a2b30 [libx.so]`, so that its samples
 * stay together.  SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cursor.h"
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
    struct start_state *st;
    Elf_Data *d;
    Elf_Scn *s;
    GElf_Shdr sh;

    s = im ? sym_image_section(im, ".eh_frame_hdr", &sh) : NULL;
    d = s ? elf_rawdata(s, NULL) : NULL;
    if (!d || !d->d_buf)
        return NULL;
    st = mem_zalloc(sizeof *st);
    if (read_starts(st, cursor_of(d->d_buf, d->d_size), sh.sh_addr))
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
