/* unw_elf.h - the call-frame sections of an untrusted ELF file, in memory or behind a file
 * descriptor.  A file is read, not mapped: it may be cut short while we look at it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_UNWIND_UNW_ELF_H
#define FATHOM_UNWIND_UNW_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "unwind/unw_machine.h"

struct unw_section {
    const unsigned char *data; /* NULL when absent */
    size_t size;
    uint64_t address;
};

enum { UNW_ELF_SEGMENTS = 8 }; /* executable ones: one is usual, two happen */

struct unw_segment {
    uint64_t start, end; /* as linked */
    uint64_t offset, file_size; /* in the file */
};

struct unw_elf {
    const unsigned char *image; /* NULL: read through fd */
    uint64_t size;
    int fd;
    struct arena arena; /* what was read or decompressed */
    const struct unw_machine *machine;
    struct unw_segment code[UNW_ELF_SEGMENTS];
    unsigned n_code;
    struct unw_section eh_frame, debug_frame;
    bool incomplete; /* a read came short: the file has changed under us */
    uint64_t text, got; /* bases of relative encodings; 0 when absent */
};

/* Both want elf->image and elf->size, or elf->fd and elf->size, set by the caller and the rest
 * zero.  unw_elf_open reads machine and segments only; *E is set when it is none of ours. */
int unw_elf_open(struct unw_elf *elf, struct err *e);
int unw_elf_read(struct unw_elf *elf, struct err *e);
void unw_elf_release(struct unw_elf *elf);
bool unw_elf_is_code(const struct unw_elf *elf, uint64_t start, uint64_t size);

#endif
