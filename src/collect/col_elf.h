/* col_elf.h - the few facts of an ELF file that placing it in memory needs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_ELF_H
#define FATHOM_COLLECT_COL_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COL_ELF_SEGMENTS = 16 };

struct col_elf {
    struct col_elf_segment {
        uint64_t offset, size, address; /* in the file; virtual */
        bool exec;
    } segment[COL_ELF_SEGMENTS];
    size_t n;
    uint8_t build_id[20];
    uint8_t build_id_size;
};

/* False when the file open at FD is no 64-bit ELF file of this byte order. */
bool col_elf_read(int fd, struct col_elf *f);
/* Virtual address of the byte at file OFFSET; OFFSET itself when no segment holds it. */
uint64_t col_elf_address(const struct col_elf *f, uint64_t offset);

#endif
