/* unw_elf.h - the call-frame sections of an untrusted ELF file, in memory or behind a file
 * descriptor.  A file is read, not mapped: it may be cut short while we look at it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_UNWIND_UNW_ELF_H
#define FATHOM_UNWIND_UNW_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "base/err.h"
#include "base/mem.h"
#include "unwind/unw_machine.h"

struct unw_section {
    const unsigned char *data; /* NULL when absent */
    size_t size;
    uint64_t address;
};

struct unw_elf {
    struct elf_file file;
    struct arena arena; /* what was read or decompressed */
    const struct unw_machine *machine;
    struct unw_section eh_frame, debug_frame;
    uint64_t text, got; /* bases of relative encodings; 0 when absent */
};

/* Headers of the file at FD, or where IMAGE is not NULL of SIZE bytes there.  ELF starts zeroed;
 * *E is set when it is not an ELF file of a machine we know. */
int unw_elf_open(struct unw_elf *elf, int fd, const void *image, size_t size, struct err *e);
void unw_elf_read_sections(struct unw_elf *elf);
void unw_elf_release(struct unw_elf *elf);
bool unw_elf_is_code(const struct unw_elf *elf, uint64_t start, uint64_t size);

#endif
