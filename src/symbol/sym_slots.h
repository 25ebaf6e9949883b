/* sym_slots.h - what an ELF file says about the variants that the dynamic linker chooses: the
 * functions that it exports as resolvers (STT_GNU_IFUNC), and the slots in which a process that
 * maps the file has the addresses of chosen variants and of imported functions.
 *
 * perf/perf_ifunc.c reads the slots of running processes.  The file is read, not mapped, because
 * its owner may truncate it.  All input is untrusted.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_SLOTS_H
#define FATHOM_SYMBOL_SYM_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "base/mem.h"

struct sym_slot {
    uint64_t address; /* of its 8 bytes, in the file's own addresses */
    uint64_t key;     /* hash of the imported name, or the resolver's address */
    bool is_irelative;
};

struct sym_resolver {
    uint64_t address, size; /* of its code */
    uint64_t key;           /* hash of its exported name */
};

struct sym_slots {
    struct elf_file elf; /* filled by the caller; the rest starts from {0} */
    bool has_symtab;     /* its functions have names: do not look for others */
    VEC(struct sym_slot) slot;
    VEC(struct sym_resolver) resolver;
};

/* Read the slots and resolvers of S->elf, of which there are none without dynamic symbols. */
void sym_slots_read(struct sym_slots *s);
void sym_slots_release(struct sym_slots *s);
/* Whether the code of R refers to ADDRESS, other than by a call, as it does to each variant that it
 * can return. */
bool sym_slots_can_choose(struct sym_slots *s, const struct sym_resolver *r, uint64_t address);

#endif
