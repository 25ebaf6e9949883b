/* cfi_table.h - compile an ELF file into a table, and cache it in a file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_TABLE_H
#define FATHOM_CFI_CFI_TABLE_H

#include "cfi/cfi.h"
#include "cfi/cfi_elf.h"
#include "unwind/unw_table.h"

/* Compile the sections of ELF, and where they say nothing its code, into BODY (malloc'd). */
void cfi_compile(struct unw_body *body, struct cfi_elf *elf);
void cfi_body_release(struct unw_body *body);

/* Store the name of a module's cache file in NAME (CAP bytes); false without a build id. */
bool cfi_stored_name(char *name, size_t cap, const uint8_t *build_id, size_t n,
                     uint64_t file_size);
bool cfi_stored_load(struct unw_body *body, const char *name, uint64_t key);
/* Set the key and checksum in BODY and write it.  A failure only makes the next run slower. */
void cfi_stored_save(const struct unw_body *body, const char *name, uint64_t key);

#endif
