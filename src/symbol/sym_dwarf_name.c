/* sym_dwarf_name.c - see sym_dwarf_name.h.
 *
 * A concrete or inlined function points to an abstract one, which points to a declaration; each
 * may have the name.  A linkage name is demangled to scope and parameters.  Compilers omit it for
 * functions local to a file; their scope is read from the tree around the declaration.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_dwarf_name.h"

#include <dwarf.h>
#include <string.h>

#include "base/buf.h"
#include "base/search.h"

enum { CHAIN_MAX = 16, SCOPES_MAX = 32 };

/* The next DIE towards the declaration. */
static bool origin_of(Dwarf_Die *die, Dwarf_Die *next)
{
    Dwarf_Attribute a;

    return dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &a), next) ||
           dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &a), next);
}

void *sym_dwarf_name_origin(Dwarf_Die *die)
{
    Dwarf_Attribute a;
    Dwarf_Die next;

    if (dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &a), &next))
        return next.addr;
    return die->addr;
}

const char *sym_dwarf_name_file(Dwarf_Die *cu, uint32_t file)
{
    Dwarf_Files *files;
    size_t n;

    if (dwarf_getsrcfiles(cu, &files, &n) != 0 || file >= n)
        return NULL;
    return dwarf_filesrc(files, file, NULL, NULL);
}

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute a;

    return dwarf_formstring(dwarf_attr(die, attribute, &a));
}

/* Scopes around the DIE at OFFSET of this unit, innermost first. */
static size_t scopes_around(const struct sym_dwarf_unit *u, Dwarf_Off offset,
                            const struct sym_dwarf_scope **found)
{
    size_t last = search(0, u->scope.n, i, u->scope.v[i].start <= offset), n = 0;

    for (uint32_t at = (uint32_t)last; at && n < SCOPES_MAX; at = u->scope.v[at - 1].parent)
        if (offset < u->scope.v[at - 1].end && offset != u->scope.v[at - 1].start)
            found[n++] = &u->scope.v[at - 1];
    return n;
}

static bool has_scopes(int language)
{
    return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
           language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
           language == 0x2b /* C++17 */ || language == 0x2c /* C++20 */;
}

/* Prefix NAME with its namespaces and classes. */
static const char *qualify(struct sym_module *m, const struct sym_dwarf_unit *u, Dwarf_Die *decl,
                           const char *name)
{
    const struct sym_dwarf_scope *scope[SCOPES_MAX];
    struct buf b = { 0 };
    const char *kept;
    size_t n;

    if (!has_scopes(u->language) || decl->cu != u->tree.cu)
        return name;
    n = scopes_around(u, dwarf_dieoffset(decl), scope);
    if (!n)
        return name;
    while (n-- > 0) {
        Dwarf_Die die = sym_dwarf_unit_die(u, scope[n]->die);
        const char *its = dwarf_diename(&die);

        buf_str(&b, its ? its : dwarf_tag(&die) == DW_TAG_namespace ? "(anonymous namespace)"
                                                                    : "(anonymous)");
        buf_str(&b, "::");
    }
    buf_str(&b, name);
    kept = arena_strndup(&m->arena, (const char *)b.data, b.n);
    buf_release(&b);
    return kept;
}

/* Read the place of the declaration from the first DIE of the chain that has one, with the file
 * table of its own unit. */
static void read_place(struct sym_dwarf_name *n, Dwarf_Die *die)
{
    Dwarf_Attribute a;
    Dwarf_Die cu;
    Dwarf_Word x;

    if (!n->line && dwarf_formudata(dwarf_attr(die, DW_AT_decl_line, &a), &x) == 0)
        n->line = (uint32_t)x;
    if (!n->file && dwarf_formudata(dwarf_attr(die, DW_AT_decl_file, &a), &x) == 0 &&
        dwarf_cu_die(die->cu, &cu, NULL, NULL, NULL, NULL, NULL, NULL))
        n->file = sym_dwarf_name_file(&cu, (uint32_t)x);
}

struct sym_dwarf_name sym_dwarf_name(struct sym_module *m, const struct sym_dwarf_unit *u,
                                     Dwarf_Die *die)
{
    struct sym_dwarf_name n = { 0 };
    const char *linkage = NULL, *plain = NULL;
    Dwarf_Die at = *die, next;

    for (unsigned i = 0; i < CHAIN_MAX; i++) {
        if (!linkage)
            linkage = text_of(&at, DW_AT_linkage_name);
        if (!linkage)
            linkage = text_of(&at, DW_AT_MIPS_linkage_name);
        if (!plain)
            plain = text_of(&at, DW_AT_name);
        read_place(&n, &at);
        if (!origin_of(&at, &next))
            break;
        at = next;
    }
    if (linkage && *linkage)
        n.name = sym_module_name(m, linkage, &n.linkage);
    if (plain && *plain && !n.linkage) { /* C has aliases for linkage names, and no scopes */
        n.name = qualify(m, u, &at, plain);
        n.linkage = linkage && strcmp(linkage, n.name) != 0 ? linkage : NULL;
        n.plain = true;
    }
    return n;
}
