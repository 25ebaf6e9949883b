/* elf_file.c - see elf_file.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/elf_file.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"

enum { PAGE = 4096, MOST_SEGMENTS = 64, MOST_SECTIONS = 64, MOST_NOTES = 4096 };

bool elf_file_bytes(struct elf_file *f, uint64_t offset, uint64_t n, void *to)
{
    size_t done = 0;

    if (offset > f->size || n > f->size - offset)
        return false;
    if (f->image) {
        memcpy(to, f->image + offset, n);
        return true;
    }
    while (done < n) {
        ssize_t got = pread(f->fd, (char *)to + done, n - done, (off_t)(offset + done));

        if (got <= 0) {
            f->truncated = true;
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

const char *elf_file_name(const void *names, uint64_t size, uint64_t at, size_t most)
{
    const char *name = (const char *)names + (at < size ? at : 0);
    uint64_t left = at < size ? size - at : 0;

    return left && memchr(name, 0, left < most ? left : most) ? name : "";
}

static void read_notes(struct elf_file *f, uint64_t offset, uint64_t size, uint64_t alignment)
{
    unsigned char bytes[MOST_NOTES];
    uint64_t n = size < sizeof bytes ? size : sizeof bytes;
    uint32_t align = alignment == 8 ? 7 : 3;
    struct cursor c = cursor_of(bytes, n);

    if (!elf_file_bytes(f, offset, n, bytes))
        return;
    while (cur_left(&c) >= sizeof(Elf64_Nhdr)) {
        uint32_t name_size = cur_u32(&c), desc_size = cur_u32(&c), type = cur_u32(&c);
        const unsigned char *name, *desc;

        if (name_size > sizeof bytes || desc_size > sizeof bytes)
            return;
        /* The header has 12 bytes, and header and name together are aligned. */
        name = cur_bytes(&c, ((name_size + 12 + align) & ~align) - 12);
        desc = cur_bytes(&c, desc_size);
        if (c.failed)
            return;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 &&
            desc_size > 0 && desc_size <= sizeof f->build_id) {
            memcpy(f->build_id, desc, desc_size);
            f->build_id_size = (uint8_t)desc_size;
            return;
        }
        cur_skip(&c, -desc_size & align);
    }
}

static void take_segment(struct elf_file *f, const Elf64_Phdr *ph)
{
    struct elf_segment s = { ph->p_offset, ph->p_filesz, ph->p_vaddr, ph->p_memsz,
                             (ph->p_flags & PF_X) != 0 };

    if (ph->p_type == PT_GNU_EH_FRAME)
        f->eh_frame_hdr = s;
    if (ph->p_type == PT_LOAD && f->n_segments < ELF_FILE_SEGMENTS &&
        s.address + s.memory_size >= s.address && s.offset + s.size >= s.offset)
        f->segment[f->n_segments++] = s;
    if (ph->p_type == PT_NOTE && !f->build_id_size)
        read_notes(f, ph->p_offset, ph->p_filesz, ph->p_align);
}

static void read_segments(struct elf_file *f, const Elf64_Ehdr *h)
{
    Elf64_Phdr ph[MOST_SEGMENTS];
    size_t n = h->e_phnum < MOST_SEGMENTS ? h->e_phnum : MOST_SEGMENTS;

    if (h->e_phentsize != sizeof *ph || !elf_file_bytes(f, h->e_phoff, n * sizeof *ph, ph))
        return;
    for (size_t i = 0; i < n; i++)
        take_segment(f, &ph[i]);
}

static void find_sections(struct elf_file *f, const Elf64_Ehdr *h)
{
    Elf64_Shdr names;

    if (h->e_shentsize != sizeof names || h->e_shstrndx >= h->e_shnum ||
        !elf_file_bytes(f, h->e_shoff + h->e_shstrndx * sizeof names, sizeof names, &names))
        return;
    f->sections_at = h->e_shoff;
    f->n_sections = h->e_shnum;
    f->names_at = names.sh_offset;
    f->names_size = names.sh_size;
}

/* The linker of Go puts the build id into no segment. */
static void read_section_notes(struct elf_file *f)
{
    Elf64_Shdr s[MOST_SECTIONS];
    size_t n = f->n_sections < MOST_SECTIONS ? f->n_sections : MOST_SECTIONS;

    if (!elf_file_bytes(f, f->sections_at, n * sizeof *s, s))
        return;
    for (size_t i = 0; i < n && !f->build_id_size; i++)
        if (s[i].sh_type == SHT_NOTE)
            read_notes(f, s[i].sh_offset, s[i].sh_size, s[i].sh_addralign);
}

static bool read_headers(struct elf_file *f)
{
    Elf64_Ehdr h;

    if (!elf_file_bytes(f, 0, sizeof h, &h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    f->machine = h.e_machine;
    f->entry = h.e_entry;
    read_segments(f, &h);
    find_sections(f, &h);
    if (!f->build_id_size)
        read_section_notes(f);
    return true;
}

bool elf_file_read(struct elf_file *f, int fd)
{
    struct stat st;

    *f = (struct elf_file){ .fd = fd };
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    f->size = (uint64_t)st.st_size;
    return read_headers(f);
}

bool elf_file_read_image(struct elf_file *f, const void *image, uint64_t size)
{
    *f = (struct elf_file){ .image = image, .fd = -1, .size = size };
    return read_headers(f);
}

bool elf_file_section(struct elf_file *f, unsigned number, struct elf_section *s)
{
    Elf64_Shdr h;
    uint64_t room;

    if (!elf_file_bytes(f, f->sections_at + number * sizeof h, sizeof h, &h))
        return false;
    *s = (struct elf_section){ .type = h.sh_type, .link = h.sh_link, .flags = h.sh_flags,
                               .address = h.sh_addr, .offset = h.sh_offset,
                               .size = h.sh_size };
    room = h.sh_name < f->names_size ? f->names_size - h.sh_name : 0;
    if (room > sizeof s->name - 1)
        room = sizeof s->name - 1;
    if (!elf_file_bytes(f, f->names_at + h.sh_name, room, s->name))
        s->name[0] = 0;
    return true;
}

uint64_t elf_file_address(const struct elf_file *f, uint64_t offset)
{
    uint64_t found = offset;

    for (size_t i = 0; i < f->n_segments; i++) {
        const struct elf_segment *s = &f->segment[i];
        uint64_t low = s->offset & ~(uint64_t)(PAGE - 1);

        if (offset < low || offset >= s->offset + s->size)
            continue;
        found = s->address - s->offset + offset;
        if (s->exec) /* segments may share a page of the file: prefer code */
            return found;
    }
    return found;
}

/* The kernel maps the vDSO as a whole ELF file, which ends with its section table. */
const void *elf_file_vdso(size_t *size)
{
    const Elf64_Ehdr *h = (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */

    *size = h ? h->e_shoff + (size_t)h->e_shnum * h->e_shentsize : 0;
    return h;
}
