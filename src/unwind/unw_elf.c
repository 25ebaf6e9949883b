/* unw_elf.c - see unw_elf.h.  Damage in one section costs that section only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unwind/unw_elf.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cursor.h"

/* zlib cannot expand more than about 1032 times; zstd can, but no compiler's output does. */
enum { MOST_EXPANSION = 1100 };

/* N bytes of the file at OFFSET, or NULL. */
static const unsigned char *elf_bytes(struct unw_elf *elf, uint64_t offset, uint64_t n)
{
    unsigned char *p;
    size_t done = 0;

    if (offset > elf->size || n > elf->size - offset || n == 0)
        return NULL;
    if (elf->image)
        return elf->image + offset;
    p = arena_alloc(&elf->arena, n);
    while (done < n) {
        ssize_t got = pread(elf->fd, p + done, n - done, (off_t)(offset + done));

        if (got <= 0) {
            elf->incomplete = true;
            return NULL;
        }
        done += (size_t)got;
    }
    return p;
}

static const struct unw_machine *elf_machine(const Elf64_Ehdr *eh)
{
    static const struct unw_machine *const known[] = { &unw_x86_64, &unw_aarch64 };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (eh->e_machine == known[i]->elf_machine && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
            eh->e_ident[EI_DATA] == ELFDATA2LSB)
            return known[i];
    return NULL;
}

/* The executable segments; the program header of .eh_frame_hdr goes to *HDR. */
static void elf_segments(struct unw_elf *elf, const Elf64_Ehdr *eh, Elf64_Phdr *hdr)
{
    const unsigned char *p;

    if (eh->e_phentsize != sizeof(Elf64_Phdr))
        return;
    p = elf_bytes(elf, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr));
    for (unsigned i = 0; p && i < eh->e_phnum; i++, p += sizeof(Elf64_Phdr)) {
        Elf64_Phdr ph;

        memcpy(&ph, p, sizeof ph);
        if (ph.p_type == PT_GNU_EH_FRAME)
            *hdr = ph;
        if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || elf->n_code == UNW_ELF_SEGMENTS ||
            ph.p_vaddr + ph.p_memsz < ph.p_vaddr)
            continue;
        elf->code[elf->n_code++] = (struct unw_segment){ ph.p_vaddr, ph.p_vaddr + ph.p_memsz,
                                                         ph.p_offset, ph.p_filesz };
    }
}

static bool inflate_all(const unsigned char *from, size_t n, unsigned type, unsigned char *to,
                        size_t size)
{
    uLongf got = size;

    if (type == ELFCOMPRESS_ZLIB)
        return uncompress(to, &got, from, n) == Z_OK && got == size;
    return ZSTD_decompress(to, size, from, n) == size;
}

/* Bytes compressed by TYPE that expand to SIZE. */
static struct unw_section elf_expand(struct unw_elf *elf, struct cursor c, uint64_t size,
                                     unsigned type)
{
    size_t n = cur_left(&c);
    unsigned char *to;

    if (c.failed || size == 0 || size / MOST_EXPANSION > n || (type != 1 && type != 2))
        return (struct unw_section){ 0 };
    to = arena_alloc(&elf->arena, size);
    if (!inflate_all(c.p, n, type, to, size))
        return (struct unw_section){ 0 };
    return (struct unw_section){ to, size, 0 };
}

static struct unw_section elf_section(struct unw_elf *elf, const Elf64_Shdr *sh,
                                      const char *name)
{
    const unsigned char *p = elf_bytes(elf, sh->sh_offset, sh->sh_size);
    struct cursor c = cursor_of(p, p ? sh->sh_size : 0);

    if (!p)
        return (struct unw_section){ 0 };
    if (sh->sh_flags & SHF_COMPRESSED) {
        uint32_t type = cur_u32(&c);
        uint64_t size;

        cur_skip(&c, 4);
        size = cur_u64(&c);
        cur_skip(&c, 8);
        return elf_expand(elf, c, size, type);
    }
    if (name[1] == 'z') { /* .zdebug_frame: "ZLIB", then the size, most significant byte first */
        const unsigned char *magic = cur_bytes(&c, 4);
        uint64_t size = __builtin_bswap64(cur_u64(&c));

        if (!magic || memcmp(magic, "ZLIB", 4) != 0)
            return (struct unw_section){ 0 };
        return elf_expand(elf, c, size, ELFCOMPRESS_ZLIB);
    }
    return (struct unw_section){ p, sh->sh_size, sh->sh_addr };
}

static void elf_take(struct unw_elf *elf, const Elf64_Shdr *sh, const char *name)
{
    if (strcmp(name, ".text") == 0)
        elf->text = sh->sh_addr;
    else if (strcmp(name, ".got") == 0)
        elf->got = sh->sh_addr;
    if (sh->sh_type == SHT_NOBITS)
        return;
    if (strcmp(name, ".eh_frame") == 0 && !elf->eh_frame.data)
        elf->eh_frame = elf_section(elf, sh, name);
    else if ((strcmp(name, ".debug_frame") == 0 || strcmp(name, ".zdebug_frame") == 0) &&
             !elf->debug_frame.data)
        elf->debug_frame = elf_section(elf, sh, name);
}

static void elf_sections(struct unw_elf *elf, const Elf64_Ehdr *eh)
{
    const unsigned char *p, *names;
    Elf64_Shdr str, sh;

    if (eh->e_shentsize != sizeof sh || eh->e_shstrndx >= eh->e_shnum)
        return;
    p = elf_bytes(elf, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof sh);
    if (!p)
        return;
    memcpy(&str, p + eh->e_shstrndx * sizeof sh, sizeof sh);
    names = elf_bytes(elf, str.sh_offset, str.sh_size);
    for (unsigned i = 0; names && i < eh->e_shnum; i++, p += sizeof sh) {
        struct cursor c = cursor_of(names, str.sh_size);

        memcpy(&sh, p, sizeof sh);
        cur_skip(&c, sh.sh_name);
        elf_take(elf, &sh, cur_cstr(&c));
    }
}

/* No section headers: .eh_frame_hdr points at .eh_frame, whose end is not said.  The linkers
 * put it right behind the header, so the rest of the file is an upper bound. */
static void elf_from_hdr(struct unw_elf *elf, const Elf64_Phdr *hdr)
{
    const unsigned char *p = elf_bytes(elf, hdr->p_offset, 8);
    int32_t relative;
    uint64_t offset;

    if (!p || p[0] != 1 || p[1] != 0x1b) /* version 1, pc-relative 4-byte pointer */
        return;
    memcpy(&relative, p + 4, 4);
    offset = hdr->p_offset + 4 + (uint64_t)(int64_t)relative;
    if (offset >= elf->size)
        return;
    elf->eh_frame.size = elf->size - offset;
    elf->eh_frame.data = elf_bytes(elf, offset, elf->eh_frame.size);
    elf->eh_frame.address = hdr->p_vaddr + 4 + (uint64_t)(int64_t)relative;
}

static int elf_header(struct unw_elf *elf, Elf64_Ehdr *eh, Elf64_Phdr *hdr, struct err *e)
{
    const unsigned char *p = elf_bytes(elf, 0, sizeof *eh);

    if (!p || memcmp(p, ELFMAG, SELFMAG) != 0)
        return err_set(e, ERR_FORMAT, "not an ELF file");
    memcpy(eh, p, sizeof *eh);
    elf->machine = elf_machine(eh);
    if (!elf->machine)
        return err_set(e, ERR_FORMAT, "an ELF file of another machine (%u)", eh->e_machine);
    elf_segments(elf, eh, hdr);
    return 0;
}

int unw_elf_open(struct unw_elf *elf, struct err *e)
{
    Elf64_Phdr hdr;
    Elf64_Ehdr eh;

    return elf_header(elf, &eh, &hdr, e);
}

int unw_elf_read(struct unw_elf *elf, struct err *e)
{
    Elf64_Phdr hdr = { 0 };
    Elf64_Ehdr eh;

    if (elf_header(elf, &eh, &hdr, e) < 0)
        return -1;
    elf_sections(elf, &eh);
    if (!elf->eh_frame.data && !eh.e_shnum && hdr.p_type == PT_GNU_EH_FRAME)
        elf_from_hdr(elf, &hdr);
    return 0;
}

void unw_elf_release(struct unw_elf *elf)
{
    arena_release(&elf->arena);
}

bool unw_elf_is_code(const struct unw_elf *elf, uint64_t start, uint64_t size)
{
    for (unsigned i = 0; i < elf->n_code; i++)
        if (start >= elf->code[i].start && start < elf->code[i].end &&
            size <= elf->code[i].end - start)
            return true;
    return false;
}
