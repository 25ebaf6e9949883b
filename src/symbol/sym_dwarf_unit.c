/* sym_dwarf_unit.c - see sym_dwarf_unit.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_dwarf_unit.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/search.h"
#include "base/sort.h"

enum { DEPTH_MAX = 1024, RANGES_MAX = 4 << 20 };

struct range {
    uint64_t lo, hi;
    uint32_t node;
};

struct walk {
    struct sym_dwarf_unit *u;
    VEC(struct range) range;
    struct level {
        Dwarf_Die die;
        uint32_t node, scope; /* that contain its siblings */
        size_t scopes;        /* number of scopes before it */
    } at[DEPTH_MAX];
    size_t depth;
};

bool sym_dwarf_unit_is_range(Dwarf_Addr lo, Dwarf_Addr hi)
{
    return lo > 1 && lo < hi && hi < (Dwarf_Addr)-2;
}

Dwarf_Die sym_dwarf_unit_die(const struct sym_dwarf_unit *u, void *addr)
{
    return (Dwarf_Die){ .addr = addr, .cu = u->tree.cu };
}

static uint32_t number_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute a;
    Dwarf_Word x;

    return dwarf_formudata(dwarf_attr(die, attribute, &a), &x) == 0 ? (uint32_t)x : 0;
}

/* Add a node for DIE if it has code; returns its id, or 0. */
static uint32_t add_node(struct walk *w, Dwarf_Die *die, uint32_t parent)
{
    uint32_t id = (uint32_t)w->u->node.n + 1;
    size_t first = w->range.n;
    Dwarf_Addr base, lo, hi;
    ptrdiff_t at = 0;
    struct sym_dwarf_node *n;

    while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0 && w->range.n < RANGES_MAX)
        if (sym_dwarf_unit_is_range(lo, hi))
            vec_push(&w->range, ((struct range){ lo, hi, id }));
    if (w->range.n == first)
        return 0;
    n = vec_add(&w->u->node);
    *n = (struct sym_dwarf_node){ die->addr, parent, 0, 0, w->range.v[first].lo,
                                  w->range.v[first].hi };
    if (parent) {
        n->call_file = number_of(die, DW_AT_call_file);
        n->call_line = number_of(die, DW_AT_call_line);
    }
    return id;
}

static uint32_t add_scope(struct walk *w, Dwarf_Die *die, uint32_t parent)
{
    vec_push(&w->u->scope,
             ((struct sym_dwarf_scope){ dwarf_dieoffset(die), ~(Dwarf_Off)0, die->addr, parent }));
    return (uint32_t)w->u->scope.n;
}

/* Visit one DIE; true if its children must be visited, with *NODE and *SCOPE for them. */
static bool visit(struct walk *w, Dwarf_Die *die, uint32_t *node, uint32_t *scope)
{
    uint32_t id;

    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
    case DW_TAG_entry_point:
        id = add_node(w, die, 0);
        if (id)
            *node = id;
        return id != 0 || w->u->full;
    case DW_TAG_inlined_subroutine:
        id = *node ? add_node(w, die, *node) : 0;
        if (id)
            *node = id;
        return id != 0;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return *node != 0 || w->u->full;
    case DW_TAG_namespace:
    case DW_TAG_module:
        *scope = add_scope(w, die, *scope);
        return true;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        if (!dwarf_haschildren(die))
            return false;
        *scope = add_scope(w, die, *scope);
        /* Methods are defined outside their class, except in Rust and in local classes. */
        return *node != 0 || w->u->full || w->u->language == DW_LANG_Rust;
    default:
        return false;
    }
}

/* End the scopes from FIRST on that are still open at OFFSET. */
static void end_scopes(struct walk *w, size_t first, Dwarf_Off offset)
{
    for (size_t i = first; i < w->u->scope.n; i++)
        if (w->u->scope.v[i].end == ~(Dwarf_Off)0)
            w->u->scope.v[i].end = offset;
}

/* Step to the next sibling, or to that of an ancestor.  A sibling must have a higher offset;
 * otherwise a malformed file would cause an endless loop. */
static void step(struct walk *w)
{
    while (w->depth) {
        struct level *l = &w->at[w->depth - 1];
        Dwarf_Die next;

        if (dwarf_siblingof(&l->die, &next) == 0 && next.addr > l->die.addr) {
            end_scopes(w, l->scopes, dwarf_dieoffset(&next));
            l->die = next;
            return;
        }
        w->depth--;
    }
}

static void walk_tree(struct walk *w)
{
    if (dwarf_child(&w->u->tree, &w->at[0].die) != 0)
        return;
    w->at[0].node = w->at[0].scope = 0;
    w->depth = 1;
    while (w->depth) {
        struct level *l = &w->at[w->depth - 1], *below = l + 1;
        uint32_t node = l->node, scope = l->scope;

        l->scopes = w->u->scope.n;
        if (visit(w, &l->die, &node, &scope) && w->depth < DEPTH_MAX &&
            dwarf_child(&l->die, &below->die) == 0 && below->die.addr > l->die.addr) {
            below->node = node;
            below->scope = scope;
            w->depth++;
        } else {
            step(w);
        }
    }
}

/* Of equal ranges, the walk found that of a caller before those of what it inlines. */
static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi > y->hi ? -1 : x->hi < y->hi;
}

static void add_edge(struct sym_dwarf_unit *u, uint64_t address, uint32_t node)
{
    if (u->n_edges && u->edge[u->n_edges - 1].address == address)
        u->n_edges--;
    u->edge[u->n_edges++] = (struct sym_dwarf_edge){ address, node };
}

/* Nested ranges become edges: the address where another node begins to be innermost.  A
 * range that extends past the enclosing one is cut at its end. */
static void make_edges(struct walk *w)
{
    struct sym_dwarf_unit *u = w->u;
    const struct range *r = w->range.v;
    struct range *open = mem_alloc((w->range.n + 1) * sizeof *open);
    size_t n_open = 0;

    u->edge = mem_alloc((2 * w->range.n + 1) * sizeof *u->edge);
    for (size_t i = 0; i < w->range.n; i++) {
        struct range next = r[i];

        for (; n_open && open[n_open - 1].hi <= next.lo; n_open--)
            add_edge(u, open[n_open - 1].hi, n_open > 1 ? open[n_open - 2].node : 0);
        if (n_open && next.hi > open[n_open - 1].hi)
            next.hi = open[n_open - 1].hi;
        add_edge(u, next.lo, next.node);
        open[n_open++] = next;
    }
    for (; n_open; n_open--)
        add_edge(u, open[n_open - 1].hi, n_open > 1 ? open[n_open - 2].node : 0);
    free(open);
}

struct sym_dwarf_unit *sym_dwarf_unit_new(struct sym_dwarf_file *f, Dwarf_CU *cu, bool full)
{
    struct sym_dwarf_unit *u = mem_zalloc(sizeof *u);
    struct walk *w = mem_alloc(sizeof *w);
    Dwarf_Die split;

    w->u = u;
    u->full = full;
    w->range.v = NULL;
    w->range.n = w->range.cap = w->depth = 0;
    if (sym_dwarf_file_unit(f, cu, &u->cu, &split)) {
        u->tree = split.addr ? split : u->cu;
        u->language = dwarf_srclang(&u->tree);
        walk_tree(w);
    }
    sort_stable(w->range.v, w->range.n, sizeof *w->range.v, by_start);
    make_edges(w);
    vec_release(&w->range);
    free(w);
    return u;
}

void sym_dwarf_unit_free(struct sym_dwarf_unit *u)
{
    if (!u)
        return;
    vec_release(&u->node);
    vec_release(&u->scope);
    free(u->edge);
    free(u);
}

uint32_t sym_dwarf_unit_find(const struct sym_dwarf_unit *u, uint64_t address)
{
    size_t n = search(0, u->n_edges, i, u->edge[i].address <= address);

    return n ? u->edge[n - 1].node : 0;
}
