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

struct cfi_elf {
    struct elf_file file;
    struct arena arena; /* for bytes read or decompressed */
    const struct unw_machine *machine;
    struct cfi_section eh_frame, debug_frame;
    uint64_t text, got; /* bases of relative encodings; 0 when absent */
};

/* Read the headers of the file at FD, or of SIZE bytes at IMAGE if that is not NULL.  ELF starts
 * zeroed.  Sets *E when it is not an ELF file of a supported machine. */
int cfi_elf_open(struct cfi_elf *elf, int fd, const void *image, size_t size, struct err *e);
void cfi_elf_read_sections(struct cfi_elf *elf);
void cfi_elf_release(struct cfi_elf *elf);
bool cfi_elf_is_code(const struct cfi_elf *elf, uint64_t start, uint64_t size);

#endif
