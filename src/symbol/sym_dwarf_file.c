/* sym_dwarf_file.c - see sym_dwarf_file.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_dwarf_file.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
#include "symbol/sym_locate.h"

/* --- the shared file ---------------------------------------------------------------------- */

/* An ELF file with an empty section of lines: libdw accepts it and finds nothing in it. */
static struct sym_image *empty_image(void)
{
    static const char names[] = "\0.debug_line\0.names";
    enum { DATA = sizeof(Elf64_Ehdr), NAMES = DATA + 8, SECTIONS = NAMES + 24 };
    const Elf64_Shdr sh[3] = {
        { 0 },
        { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = DATA, .sh_size = 8,
          .sh_addralign = 1 },
        { .sh_name = 13, .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = sizeof names,
          .sh_addralign = 1 },
    };
    const Elf64_Ehdr eh = {
        .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
        .e_type = ET_REL, .e_machine = EM_NONE, .e_version = EV_CURRENT, .e_ehsize = sizeof eh,
        .e_shentsize = sizeof *sh, .e_shnum = 3, .e_shstrndx = 2, .e_shoff = SECTIONS,
    };
    struct buf b = { 0 };

    _Static_assert(sizeof names <= SECTIONS - NAMES, "the table of sections follows");
    buf_add(&b, &eh, sizeof eh);
    while (b.n < NAMES)
        buf_u8(&b, 0);
    buf_add(&b, names, sizeof names);
    while (b.n < SECTIONS)
        buf_u8(&b, 0);
    buf_add(&b, sh, sizeof sh);
    return sym_image_open_memory(b.data, b.n, true, "empty", NULL);
}

/* Without a file, libdw would search for one. */
static void set_none(struct sym_dwarf_file *f, Dwarf *dwarf)
{
    if (!f->none_image)
        f->none_image = empty_image();
    if (f->none_image && !f->none)
        f->none = dwarf_begin_elf(f->none_image->elf, DWARF_C_READ, NULL);
    dwarf_setalt(dwarf, f->none);
}

static bool has_alt(Dwarf *dwarf, const char **name, const void **id, size_t *n)
{
    ssize_t got = dwelf_dwarf_gnu_debugaltlink(dwarf, name, id);

    *n = got > 0 ? (size_t)got : 0;
    return got > 0;
}

static void set_alt(struct sym_dwarf_file *f, const struct sym_image *im)
{
    const char *name, *other;
    const void *id, *other_id;
    size_t n;

    if (!has_alt(f->dwarf, &name, &id, &n))
        return;
    f->alt_image = sym_locate_alt(f->of, im->path, name, id, n);
    f->alt = f->alt_image ? dwarf_begin_elf(f->alt_image->elf, DWARF_C_READ, NULL) : NULL;
    if (!f->alt) {
        set_none(f, f->dwarf);
        return;
    }
    if (has_alt(f->alt, &other, &other_id, &n))
        set_none(f, f->alt);
    dwarf_setalt(f->dwarf, f->alt);
}

void sym_dwarf_file_open(struct sym_dwarf_file *f, struct sym_module *m, struct sym_image *im,
                         Elf *elf)
{
    *f = (struct sym_dwarf_file){ .of = m, .dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL) };
    if (f->dwarf)
        set_alt(f, im);
}

void sym_dwarf_file_close(struct sym_dwarf_file *f)
{
    dwarf_end(f->dwarf);
    dwarf_end(f->alt);
    dwarf_end(f->none);
    sym_image_close(f->alt_image);
    sym_image_close(f->none_image);
    *f = (struct sym_dwarf_file){ 0 };
}

/* --- split units -------------------------------------------------------------------------- */

/* A copy of the .dwo file that nobody else can change, or -1. */
static int copy_of(int fd)
{
    struct map m = { 0 };
    int copy = -1;

    if (fd < 0)
        return -1;
    if (map_file(&m, fd, false, NULL) == 0 && m.size)
        copy = memfd_create("dwo", MFD_CLOEXEC);
    close(fd);
    for (size_t done = 0; copy >= 0 && done < m.size;) {
        ssize_t n = write(copy, m.data + done, m.size - done);

        if (n <= 0) {
            close(copy);
            copy = -1;
        }
        done += (size_t)n;
    }
    map_close(&m);
    return copy;
}

static char *text_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute a;

    return (char *)dwarf_formstring(dwarf_attr(die, attribute, &a));
}

struct changed { /* a text in the image, for a moment */
    char *at, was[32];
    size_t n;
};

static bool change(struct changed *c, char *at, const char *to)
{
    size_t n = strlen(to) + 1;

    c->n = 0;
    if (!at || strlen(at) + 1 < n || n > sizeof c->was)
        return false;
    c->at = at;
    c->n = n;
    memcpy(c->was, at, n);
    memcpy(at, to, n);
    return true;
}

static void restore(const struct changed *c)
{
    if (c->n)
        memcpy(c->at, c->was, c->n);
}

/* libdw opens a .dwo file only by the path in the unit, NAME in the directory DIR, and cannot be
 * given a descriptor.  So this path becomes /dev/fd/COPY while libdw reads it; the image is our own
 * copy or private to us.  Without a copy the name becomes empty, which finds nothing. */
static int find_split(Dwarf_CU *cu, char *name, char *dir, int copy, Dwarf_Die *die,
                      Dwarf_Die *split)
{
    struct changed c[2] = { 0 };
    char path[32], number[16];
    int rc;

    snprintf(path, sizeof path, "/dev/fd/%d", copy);
    snprintf(number, sizeof number, "%d", copy);
    if (copy < 0 || (!change(&c[0], name, path) &&
                     !(change(&c[0], name, number) && change(&c[1], dir, "/dev/fd") &&
                       strcmp(name, number) == 0))) {
        restore(&c[1]);
        restore(&c[0]);
        c[1].n = 0;
        change(&c[0], name, "");
    }
    rc = dwarf_cu_info(cu, NULL, NULL, die, split, NULL, NULL, NULL);
    restore(&c[1]);
    restore(&c[0]);
    return rc;
}

bool sym_dwarf_file_unit(struct sym_dwarf_file *f, Dwarf_CU *cu, Dwarf_Die *die, Dwarf_Die *split)
{
    char *name, *dir;
    const char *other;
    const void *id;
    uint8_t type = 0;
    int copy, rc;
    size_t n;

    memset(split, 0, sizeof *split);
    if (dwarf_cu_info(cu, NULL, &type, die, NULL, NULL, NULL, NULL) != 0)
        return false;
    if (type != DW_UT_skeleton)
        return true;
    name = text_of(die, DW_AT_dwo_name);
    if (!name)
        name = text_of(die, DW_AT_GNU_dwo_name);
    dir = text_of(die, DW_AT_comp_dir);
    if (!name)
        return true; /* libdw has nothing to open */
    copy = copy_of(sym_locate_dwo(f->of, dir ? dir : "", name));
    rc = find_split(cu, name, dir, copy, die, split);
    if (copy >= 0)
        close(copy);
    if (rc == 0 && split->addr && has_alt(dwarf_cu_getdwarf(split->cu), &other, &id, &n))
        set_none(f, dwarf_cu_getdwarf(split->cu));
    return rc == 0;
}
