/* sym_dwarf.c - functions, inlined calls and lines from DWARF, through libdw.
 *
 * libdw would walk the tree of a unit for every address.  Instead, one table built from
 * .debug_aranges and the ranges of the units (clang writes no aranges) maps an address to its unit,
 * and each unit that a lookup hits gets an index.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "symbol/sym_dwarf_name.h"
#include "symbol/sym_dwarf_path.h"
#include "symbol/sym_elf.h"
#include "symbol/sym_table.h"
#include "symbol/sym_unpack.h"

enum { UNIT_RANGES_MAX = 4 << 20, UNITS_MAX = 1 << 20 };

struct unit {
    Dwarf_CU *cu;
    struct sym_dwarf_unit *index; /* NULL until the first lookup */
};

struct dwarf_state {
    struct sym_image *unpacked; /* owned, or NULL */
    struct sym_dwarf_file file;
    struct sym_table ranges; /* name = unit */
    VEC(struct unit) unit;
    struct umap names; /* DIE address -> name index from 1 */
    VEC(struct sym_dwarf_name) name;
    struct sym_dwarf_paths paths;
};

static void add_range(struct dwarf_state *st, Dwarf_Addr lo, Dwarf_Addr hi, size_t unit)
{
    if (sym_dwarf_unit_is_range(lo, hi) && st->ranges.entry.n < UNIT_RANGES_MAX)
        sym_table_add(&st->ranges, (struct sym_entry){ lo, hi, (uint32_t)unit, 0, 0 });
}

static void read_units(struct dwarf_state *st)
{
    Dwarf_CU *cu = NULL;

    while (st->unit.n < UNITS_MAX &&
           dwarf_get_units(st->file.dwarf, cu, &cu, NULL, NULL, NULL, NULL) == 0)
        vec_push(&st->unit, ((struct unit){ cu, NULL }));
}

static size_t unit_at(const struct dwarf_state *st, const struct umap *units, Dwarf_Off offset)
{
    uint32_t id = umap_find(units, offset);

    return id ? id - 1 : st->unit.n;
}

/* Ranges of the units listed in .debug_aranges; each is marked in SEEN. */
static void read_aranges(struct dwarf_state *st, const struct umap *units, bool *seen)
{
    Dwarf_Aranges *all;
    size_t n;

    if (dwarf_getaranges(st->file.dwarf, &all, &n) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        Dwarf_Arange *a = dwarf_onearange(all, i);
        Dwarf_Addr start;
        Dwarf_Word size;
        Dwarf_Off offset;
        size_t unit;

        if (!a || dwarf_getarangeinfo(a, &start, &size, &offset) != 0)
            continue;
        unit = unit_at(st, units, offset);
        if (unit == st->unit.n)
            continue;
        seen[unit] = true;
        add_range(st, start, start + size, unit);
    }
}

static void read_unit_ranges(struct dwarf_state *st, const bool *seen)
{
    for (size_t i = 0; i < st->unit.n; i++) {
        Dwarf_Addr base, lo, hi;
        ptrdiff_t at = 0;
        Dwarf_Die die;

        if (seen[i] ||
            dwarf_cu_info(st->unit.v[i].cu, NULL, NULL, &die, NULL, NULL, NULL, NULL) != 0)
            continue;
        while (st->ranges.entry.n < UNIT_RANGES_MAX &&
               (at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0)
            add_range(st, lo, hi, i);
    }
}

static void read_ranges(struct dwarf_state *st)
{
    bool *seen = mem_zalloc(st->unit.n + 1);
    struct umap units = { 0 };

    for (size_t i = 0; i < st->unit.n; i++) {
        Dwarf_Die die;

        if (dwarf_cu_die(st->unit.v[i].cu, &die, NULL, NULL, NULL, NULL, NULL, NULL))
            umap_put(&units, dwarf_dieoffset(&die), (uint32_t)i + 1);
    }
    read_aranges(st, &units, seen);
    read_unit_ranges(st, seen);
    umap_release(&units);
    free(seen);
    sym_table_finish(&st->ranges, NULL, NULL);
}

static void dwarf_close(void *state)
{
    struct dwarf_state *st = state;

    for (size_t i = 0; i < st->unit.n; i++)
        sym_dwarf_unit_free(st->unit.v[i].index);
    vec_release(&st->unit);
    vec_release(&st->name);
    umap_release(&st->names);
    sym_dwarf_paths_release(&st->paths);
    sym_table_release(&st->ranges);
    sym_dwarf_file_close(&st->file);
    sym_image_close(st->unpacked);
    free(st);
}

static void *dwarf_open(struct sym_module *m)
{
    struct sym_image *im = sym_module_file(m), *unpacked = NULL;
    struct dwarf_state *st;

    if (!im || !sym_image_has_dwarf(im))
        im = sym_module_debug(m);
    if (!im || !sym_image_has_dwarf(im) || (m->req.quick && sym_image_is_packed(im)))
        return NULL;
    if (sym_image_is_packed(im))
        unpacked = sym_unpack(im);
    st = mem_zalloc(sizeof *st);
    st->unpacked = unpacked;
    sym_dwarf_file_open(&st->file, m, im, unpacked ? unpacked->elf : im->elf);
    if (!st->file.dwarf) {
        dwarf_close(st);
        return NULL;
    }
    read_units(st);
    read_ranges(st);
    return st;
}

static const struct sym_dwarf_name *name_of(struct sym_module *m, struct dwarf_state *st,
                                            const struct sym_dwarf_unit *u, uint32_t node)
{
    Dwarf_Die die = sym_dwarf_unit_die(u, u->node.v[node - 1].die);
    uint64_t key = (uintptr_t)sym_dwarf_name_origin(&die);
    uint32_t id = umap_find(&st->names, key);

    if (!id) {
        vec_push(&st->name, sym_dwarf_name(m, u, &die));
        id = (uint32_t)st->name.n;
        umap_put(&st->names, key, id);
    }
    return &st->name.v[id - 1];
}

/* The linker also names the compiled function.  Its symbol is better if DWARF omits scope and
 * parameters, or has only the internal one of several aliases. */
static void name_outermost(struct sym_module *m, struct sym_line *l,
                           const struct sym_dwarf_name *n, uint64_t start, uint64_t address)
{
    struct sym_elf_symbol s;

    if (!sym_elf_symbol(m, address, &s))
        return;
    l->start = s.start;
    l->end = s.end;
    if (l->name && (!n->plain || s.start != start ||
                    (!s.linkage && (s.name[0] == '_' || l->name[0] != '_'))))
        return;
    l->name = s.name;
    l->linkage_name = s.linkage;
}

struct place {
    const char *file;
    uint32_t line;
};

static struct place line_at(const struct sym_dwarf_unit *u, uint64_t address)
{
    Dwarf_Die cu = u->cu;
    Dwarf_Line *l = dwarf_getsrc_die(&cu, address);
    struct place p = { NULL, 0 };
    int line;

    if (l) {
        p.file = dwarf_linesrc(l, NULL, NULL);
        if (dwarf_lineno(l, &line) == 0 && line > 0)
            p.line = (uint32_t)line;
    }
    return p;
}

static void reverse(struct sym_line *v, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct sym_line t = v[i];

        v[i] = v[n - 1 - i];
        v[n - 1 - i] = t;
    }
}

/* From the innermost call outwards: each was called from its call_file and call_line. */
static bool add_chain(struct sym_module *m, struct dwarf_state *st, struct sym_dwarf_unit *u,
                      uint32_t node, uint64_t address)
{
    struct place p = line_at(u, address);

    for (; node && m->chain.n < SYM_CHAIN_MAX; node = u->node.v[node - 1].parent) {
        const struct sym_dwarf_node *n = &u->node.v[node - 1];
        const struct sym_dwarf_name *name = name_of(m, st, u, node);
        struct sym_line *l = sym_module_add(m);

        *l = (struct sym_line){ name->name, name->linkage, p.file, p.line, name->line,
                                name->file, 0, 0, SYM_DWARF };
        if (!n->parent) {
            l->start = n->start;
            l->end = n->end;
            name_outermost(m, l, name, n->start, address);
        }
        if (!l->name)
            l->name = n->parent ? "(inlined)" : NULL;
        if (!l->name)
            return false;
        p = (struct place){ sym_dwarf_name_file(&u->tree, n->call_file), n->call_line };
    }
    reverse(m->chain.v, m->chain.n);
    return m->chain.n != 0;
}

/* Assembly has lines but no functions: the linker's symbol is its name. */
static bool add_line_only(struct sym_module *m, struct sym_dwarf_unit *u, uint64_t address)
{
    struct place p = line_at(u, address);
    struct sym_line *l;

    if (!p.line)
        return false;
    l = sym_module_add(m);
    l->file = l->decl_file = p.file;
    l->line = p.line;
    l->source = SYM_DWARF;
    name_outermost(m, l, NULL, 0, address);
    return l->name != NULL;
}

static uint32_t find_node(struct dwarf_state *st, struct unit *unit, uint64_t address)
{
    uint32_t node;

    if (!unit->index)
        unit->index = sym_dwarf_unit_new(&st->file, unit->cu, false);
    node = sym_dwarf_unit_find(unit->index, address);
    if (!node && !unit->index->full) {
        sym_dwarf_unit_free(unit->index);
        unit->index = sym_dwarf_unit_new(&st->file, unit->cu, true);
        node = sym_dwarf_unit_find(unit->index, address);
    }
    return node;
}

static bool dwarf_find(struct sym_module *m, void *state, uint64_t address)
{
    struct dwarf_state *st = state;
    long at = sym_table_find(&st->ranges, address);
    struct unit *unit;
    uint32_t node;

    if (at < 0)
        return false;
    unit = &st->unit.v[st->ranges.entry.v[at].name];
    node = find_node(st, unit, address);
    if (node ? !add_chain(m, st, unit->index, node, address)
             : !add_line_only(m, unit->index, address))
        return false;
    for (size_t i = 0; i < m->chain.n; i++) {
        struct sym_line *l = &m->chain.v[i];

        l->file = sym_dwarf_path(&st->paths, &m->arena, &unit->index->cu, l->file);
        l->decl_file = sym_dwarf_path(&st->paths, &m->arena, &unit->index->cu, l->decl_file);
    }
    return true;
}

const struct symbolizer symbolizer_dwarf = {
    .name = "dwarf",
    .about = "functions, inlined calls and lines from DWARF",
    .source = SYM_DWARF,
    .open = dwarf_open,
    .close = dwarf_close,
    .find = dwarf_find,
};
