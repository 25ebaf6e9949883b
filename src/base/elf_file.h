/* elf_file.h - the headers of an untrusted 64-bit little-endian ELF file, in memory or behind a
 * file descriptor: machine, segments, sections, build id.  A file is read, not mapped, because it
 * may be truncated at any time.  No allocation: safe in target code.
 * Names, lines and DWARF are read with elfutils instead (symbol/sym_image.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_ELF_FILE_H
#define FATHOM_BASE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_FILE_SEGMENTS = 24, ELF_FILE_BUILD_ID = 20, ELF_FILE_NAME = 32 };

struct elf_segment {
    uint64_t offset, size;         /* in the file */
    uint64_t address, memory_size; /* as linked */
    bool exec;
};

struct elf_section {
    char name[ELF_FILE_NAME]; /* truncated when longer */
    uint32_t type, link;
    uint64_t flags, address, offset, size;
};

struct elf_file {
    const unsigned char *image; /* NULL: read through fd */
    int fd;
    uint64_t size;
    bool truncated;   /* a read was short: the file has changed */
    uint16_t machine; /* EM_* */
    uint64_t entry;   /* address of the first instruction; 0: none */
    struct elf_segment segment[ELF_FILE_SEGMENTS]; /* PT_LOAD */
    size_t n_segments;
    struct elf_segment eh_frame_hdr; /* size 0 when absent */
    uint8_t build_id[ELF_FILE_BUILD_ID];
    uint8_t build_id_size; /* 0 when absent */
    uint64_t sections_at, names_at, names_size;
    unsigned n_sections; /* 0 when there is no usable section table */
};

/* Read the headers of the file open at FD, or of SIZE bytes in memory; false when it is not
 * 64-bit little-endian ELF.  *F refers to FD or IMAGE afterwards and needs no release. */
bool elf_file_read(struct elf_file *f, int fd);
bool elf_file_read_image(struct elf_file *f, const void *image, uint64_t size);

/* Copy N bytes at OFFSET; false when the file does not contain them. */
bool elf_file_bytes(struct elf_file *f, uint64_t offset, uint64_t n, void *to);
/* Section NUMBER, below f->n_sections; false when its header cannot be read. */
bool elf_file_section(struct elf_file *f, unsigned number, struct elf_section *s);

/* The name at AT of a table of SIZE bytes; "" if it does not end within the table and MOST bytes.
 * Names can overlap, so that reading all of them takes the product of their number and length. */
const char *elf_file_name(const void *names, uint64_t size, uint64_t at, size_t most);

/* Virtual address of the byte at file OFFSET; OFFSET itself when no segment contains it. */
uint64_t elf_file_address(const struct elf_file *f, uint64_t offset);

/* The vDSO of this process, the same in every process; NULL when there is none. */
const void *elf_file_vdso(size_t *size);

#endif
