/* cfi_elf.h - find the call-frame sections of an untrusted ELF file, in memory or behind a file
 * descriptor.  The file is read, not mapped: it may be truncated at any time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_ELF_H
#define FATHOM_CFI_CFI_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "base/err.h"
#include "base/mem.h"
#include "unwind/unw_machine.h"

struct cfi_section {
    const unsigned char *data; /* NULL when absent */
    size_t size;
    uint64_t address;
};

struct cfi_symbols { /* a table and its names; size 0 when absent */
    struct cfi_section symbols, names;
};

enum { CFI_ELF_CODE = 32 };

struct cfi_elf {
    struct elf_file file;
    struct arena arena; /* for bytes read or decompressed */
    const struct unw_machine *machine;
    struct cfi_section eh_frame, debug_frame;
    uint64_t text, got; /* bases of relative encodings; 0 when absent */
    /* Sections with code, or segments if there are none: sorted, disjoint. */
    struct elf_segment code[CFI_ELF_CODE];
    size_t n_code;
    struct elf_section symbol_table[2], symbol_names[2]; /* size 0 when absent */
    struct cfi_symbols symbols[2];                        /* by cfi_elf_read_symbols */
    struct elf_section go_table;                          /* .gopclntab; size 0 when absent */
};

/* Read the headers of the file at FD, or of SIZE bytes at IMAGE if that is not NULL.  ELF starts
 * zeroed.  Sets *E when it is not an ELF file of a supported machine. */
int cfi_elf_open(struct cfi_elf *elf, int fd, const void *image, size_t size, struct err *e);
void cfi_elf_read_sections(struct cfi_elf *elf);
void cfi_elf_release(struct cfi_elf *elf);
void cfi_elf_read_symbols(struct cfi_elf *elf);
struct cfi_section cfi_elf_go_table(struct cfi_elf *elf);
/* SIZE bytes from ADDRESS (file virtual) on, valid until the release; NULL when they are not in
 * the file. */
const unsigned char *cfi_elf_code(struct cfi_elf *elf, uint64_t address, uint64_t size);
/* Copy SIZE bytes at ADDRESS to TO. */
bool cfi_elf_data(struct cfi_elf *elf, uint64_t address, void *to, uint64_t size);
bool cfi_elf_is_code(const struct cfi_elf *elf, uint64_t start, uint64_t size);

#endif
