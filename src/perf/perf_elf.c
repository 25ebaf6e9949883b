/* perf_elf.c - see perf_elf.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_elf.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/mem.h"

enum { PAGE = 4096, MAX_PHDRS = 64, MAX_NOTE = 4096 };

static void read_notes(int fd, const Elf64_Phdr *ph, struct perf_elf *f)
{
    unsigned char bytes[MAX_NOTE];
    ssize_t got = pread(fd, bytes, ph->p_filesz < MAX_NOTE ? ph->p_filesz : MAX_NOTE,
                        (off_t)ph->p_offset);
    struct cursor c = cursor_of(bytes, got > 0 ? (size_t)got : 0);

    while (cur_left(&c) >= 12) {
        uint32_t name_size = cur_u32(&c), desc_size = cur_u32(&c), type = cur_u32(&c);
        const unsigned char *name, *desc;

        if (name_size > MAX_NOTE || desc_size > MAX_NOTE)
            return;
        name = cur_bytes(&c, (name_size + 3) & ~3u);
        desc = cur_bytes(&c, (desc_size + 3) & ~3u);
        if (c.failed)
            return;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 &&
            desc_size <= sizeof f->build_id) {
            memcpy(f->build_id, desc, desc_size);
            f->build_id_size = (uint8_t)desc_size;
            return;
        }
    }
}

bool perf_elf_read(int fd, struct perf_elf *f)
{
    Elf64_Phdr ph[MAX_PHDRS];
    Elf64_Ehdr h;
    ssize_t got;

    memset(f, 0, sizeof *f);
    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
        memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_phentsize != sizeof ph[0])
        return false;
    if (h.e_phnum > MAX_PHDRS)
        h.e_phnum = MAX_PHDRS;
    got = pread(fd, ph, h.e_phnum * sizeof ph[0], (off_t)h.e_phoff);
    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof ph[0]; i++) {
        if (ph[i].p_type == PT_LOAD && f->n < PERF_ELF_SEGMENTS)
            f->segment[f->n++] = (struct perf_elf_segment){ ph[i].p_offset, ph[i].p_filesz,
                                                           ph[i].p_vaddr, ph[i].p_flags & PF_X };
        if (ph[i].p_type == PT_NOTE && !f->build_id_size)
            read_notes(fd, &ph[i], f);
    }
    return true;
}

uint64_t perf_elf_address(const struct perf_elf *f, uint64_t offset)
{
    uint64_t found = offset;

    for (size_t i = 0; i < f->n; i++) {
        const struct perf_elf_segment *s = &f->segment[i];
        uint64_t low = s->offset & ~(uint64_t)(PAGE - 1);

        if (offset < low || offset >= s->offset + s->size)
            continue;
        found = s->address - s->offset + offset;
        if (s->exec) /* segments may share a page of the file: code is meant */
            return found;
    }
    return found;
}
