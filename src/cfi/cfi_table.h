/* cfi_table.h - the steps from an ELF file to a table: compile, and keep in a cache file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_TABLE_H
#define FATHOM_CFI_CFI_TABLE_H

#include "cfi/cfi.h"
#include "cfi/cfi_elf.h"
#include "unwind/unw_table.h"

/* Compile ELF's sections.  Fills BODY (malloc'd). */
void cfi_compile(struct unw_body *body, const struct cfi_elf *elf);
void cfi_body_release(struct unw_body *body);

/* The cache file of a module, PATH of CAP bytes; false when there is nowhere to keep it. */
bool cfi_stored_path(char *path, size_t cap, const uint8_t *build_id, size_t n,
                     uint64_t file_size);
bool cfi_stored_load(struct unw_body *body, const char *path, uint64_t key);
/* Sets the key and checksum in BODY and writes it; a failure only costs the next run time. */
void cfi_stored_save(const struct unw_body *body, const char *path, uint64_t key);

#endif
