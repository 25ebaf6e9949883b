/* perf_elf.h - the few facts of an ELF file that placing it in memory needs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_ELF_H
#define FATHOM_PERF_PERF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PERF_ELF_SEGMENTS = 16 };

struct perf_elf {
    struct perf_elf_segment {
        uint64_t offset, size, address; /* in the file; virtual */
        bool exec;
    } segment[PERF_ELF_SEGMENTS];
    size_t n;
    uint8_t build_id[20];
    uint8_t build_id_size;
};

/* False when the file open at FD is no 64-bit ELF file of this byte order. */
bool perf_elf_read(int fd, struct perf_elf *f);
/* Virtual address of the byte at file OFFSET; OFFSET itself when no segment holds it. */
uint64_t perf_elf_address(const struct perf_elf *f, uint64_t offset);

#endif
