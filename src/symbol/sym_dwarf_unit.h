/* sym_dwarf_unit.h - a searchable index of one compilation unit: the functions, including inlined
 * ones, that cover an address.  Built at the first lookup in the unit, in one walk over its tree.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_DWARF_UNIT_H
#define FATHOM_SYMBOL_SYM_DWARF_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "base/hash.h"
#include "base/mem.h"
#include "symbol/sym_dwarf_file.h"

struct sym_dwarf_node { /* a function, or an inlined call of one */
    void *die;          /* address in the section: with the unit's cu a Dwarf_Die again */
    uint32_t parent;    /* node the call was inlined into, from 1; 0 for a function */
    uint32_t call_file, call_line;
    uint64_t start, end; /* of its first range */
};

struct sym_dwarf_scope { /* a namespace or class, for names without scope */
    Dwarf_Off start, end; /* offsets of its tree */
    void *die;
    uint32_t parent; /* scope index from 1 */
};

struct sym_dwarf_unit {
    Dwarf_Die cu;   /* has line table and ranges */
    Dwarf_Die tree; /* the same, or the unit in a split file */
    int language;
    bool full; /* every DIE was visited */
    VEC(struct sym_dwarf_node) node;
    VEC(struct sym_dwarf_scope) scope; /* sorted by start */
    struct sym_dwarf_edge { /* from here on NODE is innermost (from 1; 0 none) */
        uint64_t address;
        uint32_t node;
    } *edge;
    size_t n_edges;
};

/* Without FULL, skip classes and functions that were only inlined: a third of the work, and they
 * define almost nothing. (GCC puts lambdas there.) */
struct sym_dwarf_unit *sym_dwarf_unit_new(struct sym_dwarf_file *f, Dwarf_CU *cu, bool full);
void sym_dwarf_unit_free(struct sym_dwarf_unit *u);
/* Innermost node at ADDRESS, from 1; 0 when no function covers it. */
uint32_t sym_dwarf_unit_find(const struct sym_dwarf_unit *u, uint64_t address);
Dwarf_Die sym_dwarf_unit_die(const struct sym_dwarf_unit *u, void *addr);
/* Whether the start of a range is valid: linkers set dropped functions to 0, 1, -1 or -2. */
bool sym_dwarf_unit_is_range(Dwarf_Addr lo, Dwarf_Addr hi);

#endif
