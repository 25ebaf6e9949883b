/* perfdata_module.c - the files a perf.data names, found on this machine: by path when the
 * build id agrees, else in perf's own cache and among the separate debug files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "formats/perfdata.h"

enum { MAX_PHDRS = 64, MAX_NOTES = 4096 };

struct elf_head {
    Elf64_Phdr phdr[MAX_PHDRS];
    size_t n;
};

static bool read_head(int fd, struct elf_head *h)
{
    Elf64_Ehdr eh;
    size_t bytes;

    if (pread(fd, &eh, sizeof eh, 0) != sizeof eh || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
        eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    h->n = eh.e_phnum < MAX_PHDRS ? eh.e_phnum : MAX_PHDRS;
    bytes = h->n * sizeof *h->phdr;
    return pread(fd, h->phdr, bytes, (off_t)eh.e_phoff) == (ssize_t)bytes;
}

/* Does the note segment in C hold this build id? */
static bool note_matches(struct cursor c, const uint8_t *id, size_t n)
{
    while (cur_left(&c) >= 12) {
        uint32_t name = cur_u32(&c), size = cur_u32(&c), type = cur_u32(&c);
        const unsigned char *owner = cur_bytes(&c, (name + (size_t)3) & ~(size_t)3);
        const unsigned char *bytes = cur_bytes(&c, (size + (size_t)3) & ~(size_t)3);

        if (owner && bytes && type == NT_GNU_BUILD_ID && name == 4 &&
            memcmp(owner, "GNU", 4) == 0)
            return size >= n && memcmp(bytes, id, n) == 0;
    }
    return false;
}

static bool has_build_id(int fd, const struct elf_head *h, const uint8_t *id, size_t n)
{
    unsigned char notes[MAX_NOTES];

    for (size_t i = 0; i < h->n; i++) {
        size_t size = h->phdr[i].p_filesz < sizeof notes ? h->phdr[i].p_filesz : sizeof notes;
        ssize_t got;

        if (h->phdr[i].p_type != PT_NOTE)
            continue;
        got = pread(fd, notes, size, (off_t)h->phdr[i].p_offset);
        if (got > 0 && note_matches(cursor_of(notes, (size_t)got), id, n))
            return true;
    }
    return false;
}

static int open_checked(const char *path, const struct module *what, struct elf_head *h)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -1;
    if (read_head(fd, h) &&
        (!what->build_id_size || has_build_id(fd, h, what->build_id, what->build_id_size)))
        return fd;
    close(fd);
    return -1;
}

static int find_file(const struct module *what, const char *path, struct elf_head *h)
{
    const char *home = getenv("HOME"), *cache = getenv("PERF_BUILDID_DIR");
    char hex[41], at[PATH_MAX];
    int fd = path[0] == '/' ? open_checked(path, what, h) : -1;

    if (fd >= 0 || !what->build_id_size)
        return fd;
    for (size_t i = 0; i < what->build_id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", what->build_id[i]);
    snprintf(at, sizeof at, "%s%s/.build-id/%.2s/%s/elf", cache ? cache : home ? home : "",
             cache ? "" : "/.debug", hex, hex + 2);
    fd = open_checked(at, what, h);
    if (fd >= 0)
        return fd;
    snprintf(at, sizeof at, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    return open_checked(at, what, h);
}

static void add_segments(struct perf_module *m, const struct elf_head *h)
{
    for (size_t i = 0; i < h->n && m->n_segments < PERF_MAX_SEGMENTS; i++) {
        const Elf64_Phdr *p = &h->phdr[i];

        if (p->p_type == PT_LOAD && p->p_flags & PF_X)
            m->segment[m->n_segments++] =
                (struct perf_segment){ p->p_offset, p->p_filesz, p->p_vaddr };
    }
}

/* The kernel's own code page: ours serves when the recording is of this machine. */
static void open_vdso(struct perf_module *m)
{
    const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *eh = image;
    struct err e = { 0 };

    if (!eh)
        return;
    m->table = unw_table_build(image, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize, &e);
}

void perfdata_module_open(struct perf_module *m, const struct module *what, const char *path,
                          bool tables)
{
    struct elf_head h;
    struct err e = { 0 };
    int fd;

    memset(m, 0, sizeof *m);
    if (what->kind == MODULE_VDSO && tables)
        open_vdso(m);
    if (what->kind != MODULE_FILE)
        return;
    fd = find_file(what, path, &h);
    if (fd < 0)
        return;
    add_segments(m, &h);
    if (tables)
        m->table = unw_table_open(fd, what->build_id, what->build_id_size, &e);
    close(fd);
}

void perfdata_module_close(struct perf_module *m)
{
    unw_table_free(m->table);
}

uint64_t perfdata_module_bias(const struct perf_module *m, uint64_t start, uint64_t offset)
{
    for (size_t i = 0; i < m->n_segments; i++) {
        const struct perf_segment *s = &m->segment[i];

        /* A mapping begins at the page that holds the segment's first byte. */
        if (offset + 4096 > s->offset && offset < s->offset + s->size)
            return start - offset + s->offset - s->address;
    }
    return start - offset;
}
