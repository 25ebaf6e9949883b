/* sym_image.h - one ELF file open for reading: the program itself, its separate debug file, the
 * small one inside .gnu_debugdata, or the vDSO.  Contents are untrusted: libelf checks bounds, and
 * so does everything read without libelf.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_IMAGE_H
#define FATHOM_SYMBOL_SYM_IMAGE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"

enum { SYM_BUILD_ID_MAX = 64 };

struct sym_image {
    Elf *elf;
    int fd;          /* -1 over memory */
    struct map map;  /* its bytes, if it has a descriptor */
    char *path;      /* as opened, for messages and debuglink directories */
    unsigned char *owned; /* bytes to free with it, or NULL */
    size_t n_loads;
    struct sym_load {
        uint64_t address, size;
        const unsigned char *bytes; /* in the file */
        bool exec;
    } *load;
    uint8_t build_id[SYM_BUILD_ID_MAX];
    size_t build_id_size;
};

/* Takes ownership of FD, also on failure.  NULL with *E set when it is not an ELF file. */
struct sym_image *sym_image_open_fd(int fd, const char *path, struct err *e);
/* OWNED: BYTES are freed with the image, also on failure.  Otherwise they are copied, because
 * libelf may write to them. */
struct sym_image *sym_image_open_memory(const void *bytes, size_t n, bool owned,
                                        const char *path, struct err *e);
void sym_image_close(struct sym_image *im);

/* Section by name, with its header; NULL when absent or without bytes in this file. */
Elf_Scn *sym_image_section(struct sym_image *im, const char *name, GElf_Shdr *sh);
/* Raw bytes of a section as stored (uncompressed when it was compressed); NULL when none. */
const unsigned char *sym_image_bytes(struct sym_image *im, const char *name, size_t *n);
bool sym_image_has_dwarf(struct sym_image *im);
bool sym_image_is_packed(struct sym_image *im); /* its debug information is compressed */
/* Bytes at a virtual address, or NULL when the file does not contain all of them. */
const unsigned char *sym_image_code(struct sym_image *im, uint64_t address, size_t n);
/* The end of the code segment that contains ADDRESS, or 0. */
uint64_t sym_image_code_end(const struct sym_image *im, uint64_t address);
/* The file name in .gnu_debuglink and its checksum; NULL when there is none. */
const char *sym_image_debuglink(struct sym_image *im, uint32_t *crc);
/* The ELF file compressed in .gnu_debugdata, or NULL. */
struct sym_image *sym_image_open_mini(struct sym_image *im);
/* The vDSO of this process. */
struct sym_image *sym_image_open_vdso(struct err *e);
/* CRC-32 of the whole file, as in .gnu_debuglink. */
uint32_t sym_image_crc(struct sym_image *im);

#endif
