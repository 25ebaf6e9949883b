/* sym_image.c - see sym_image.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cursor.h"
#include "base/elf_file.h"
#include "base/mem.h"

enum { LOADS_MAX = 64, MINI_MAX_BYTES = 64 << 20 };

static void read_build_id(struct sym_image *im)
{
    const void *id;
    ssize_t n = dwelf_elf_gnu_build_id(im->elf, &id);

    if (n <= 0 || n > SYM_BUILD_ID_MAX)
        return;
    memcpy(im->build_id, id, (size_t)n);
    im->build_id_size = (size_t)n;
}

static void read_loads(struct sym_image *im)
{
    size_t n, size;
    const unsigned char *raw = (const unsigned char *)elf_rawfile(im->elf, &size);

    if (!raw || elf_getphdrnum(im->elf, &n) < 0)
        return;
    im->load = mem_zalloc(LOADS_MAX * sizeof *im->load);
    for (size_t i = 0; i < n && im->n_loads < LOADS_MAX; i++) {
        GElf_Phdr ph;

        if (!gelf_getphdr(im->elf, (int)i, &ph) || ph.p_type != PT_LOAD || !ph.p_filesz)
            continue;
        if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
            continue;
        im->load[im->n_loads++] = (struct sym_load){ ph.p_vaddr, ph.p_filesz, raw + ph.p_offset,
                                                     (ph.p_flags & PF_X) != 0 };
    }
}

static struct sym_image *finish(struct sym_image *im, const char *path, struct err *e)
{
    im->path = mem_strdup(path);
    if (!im->elf || elf_kind(im->elf) != ELF_K_ELF || gelf_getclass(im->elf) == ELFCLASSNONE) {
        err_set(e, ERR_FORMAT, "%s is not an ELF file", path);
        sym_image_close(im);
        return NULL;
    }
    read_build_id(im);
    read_loads(im);
    return im;
}

struct sym_image *sym_image_open_fd(int fd, const char *path, struct err *e)
{
    struct sym_image *im = mem_zalloc(sizeof *im);

    elf_version(EV_CURRENT);
    im->fd = fd;
    /* libelf would map the file itself, although another user may truncate or change it. */
    if (map_file(&im->map, fd, true, e) < 0)
        err_wrap(e, "%s", path);
    else if (im->map.size)
        im->elf = elf_memory((char *)im->map.data, im->map.size);
    return finish(im, path, e);
}

struct sym_image *sym_image_open_memory(const void *bytes, size_t n, bool owned,
                                        const char *path, struct err *e)
{
    struct sym_image *im = mem_zalloc(sizeof *im);

    elf_version(EV_CURRENT);
    im->fd = -1;
    im->owned = owned ? (unsigned char *)bytes : n ? mem_alloc(n) : NULL;
    if (!owned && n)
        memcpy(im->owned, bytes, n);
    im->elf = n ? elf_memory((char *)im->owned, n) : NULL;
    return finish(im, path, e);
}

void sym_image_close(struct sym_image *im)
{
    if (!im)
        return;
    elf_end(im->elf);
    if (im->fd >= 0)
        close(im->fd);
    map_close(&im->map);
    free(im->owned);
    free(im->load);
    free(im->path);
    free(im);
}

Elf_Scn *sym_image_section(struct sym_image *im, const char *name, GElf_Shdr *sh)
{
    size_t names;

    if (elf_getshdrstrndx(im->elf, &names) < 0)
        return NULL;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(im->elf, s));) {
        const char *its;

        if (!gelf_getshdr(s, sh) || sh->sh_type == SHT_NOBITS)
            continue;
        its = elf_strptr(im->elf, names, sh->sh_name);
        if (its && strcmp(its, name) == 0)
            return s;
    }
    return NULL;
}

const unsigned char *sym_image_bytes(struct sym_image *im, const char *name, size_t *n)
{
    GElf_Shdr sh;
    Elf_Scn *s = sym_image_section(im, name, &sh);
    Elf_Data *d = s ? elf_rawdata(s, NULL) : NULL;

    if (!d || !d->d_buf || !d->d_size)
        return NULL;
    *n = d->d_size;
    return d->d_buf;
}

bool sym_image_has_dwarf(struct sym_image *im)
{
    GElf_Shdr sh;

    return sym_image_section(im, ".debug_info", &sh) || sym_image_section(im, ".zdebug_info", &sh);
}

bool sym_image_is_packed(struct sym_image *im)
{
    GElf_Shdr sh;

    return !sym_image_section(im, ".debug_info", &sh) || (sh.sh_flags & SHF_COMPRESSED);
}

const unsigned char *sym_image_code(struct sym_image *im, uint64_t address, size_t n)
{
    for (size_t i = 0; i < im->n_loads; i++) {
        const struct sym_load *l = &im->load[i];

        if (address >= l->address && address - l->address <= l->size &&
            n <= l->size - (address - l->address))
            return l->bytes + (address - l->address);
    }
    return NULL;
}

uint64_t sym_image_code_end(const struct sym_image *im, uint64_t address)
{
    for (size_t i = 0; i < im->n_loads; i++)
        if (im->load[i].exec && address >= im->load[i].address &&
            address - im->load[i].address < im->load[i].size)
            return im->load[i].address + im->load[i].size;
    return 0;
}

const char *sym_image_debuglink(struct sym_image *im, uint32_t *crc)
{
    size_t n;
    const unsigned char *p = sym_image_bytes(im, ".gnu_debuglink", &n);
    struct cursor c = cursor_of(p, p ? n : 0);
    const char *name = cur_cstr(&c);

    cur_skip(&c, -(size_t)(c.p - p) & 3); /* the checksum is 4-aligned */
    *crc = cur_u32(&c);
    return c.failed || !*name || strchr(name, '/') ? NULL : name;
}

uint32_t sym_image_crc(struct sym_image *im)
{
    size_t n;
    const char *p = elf_rawfile(im->elf, &n);

    return p ? (uint32_t)crc32_z(0, (const unsigned char *)p, n) : 0;
}

/* Decompress xz. The size is not stored up front, so the buffer doubles up to a limit. */
static unsigned char *unpack(const unsigned char *p, size_t n, size_t *out_n)
{
    for (size_t cap = n * 4 + 4096; cap <= MINI_MAX_BYTES; cap *= 2) {
        unsigned char *out = mem_try_alloc(cap);
        uint64_t memory = 80 << 20; /* xz -9 needs 65 MB */
        size_t in = 0;
        lzma_ret rc;

        *out_n = 0;
        if (!out)
            break;
        rc = lzma_stream_buffer_decode(&memory, 0, NULL, p, &in, n, out, out_n, cap);
        if (rc == LZMA_OK)
            return out;
        free(out);
        if (rc != LZMA_BUF_ERROR)
            break;
    }
    return NULL;
}

struct sym_image *sym_image_open_mini(struct sym_image *im)
{
    size_t n, size;
    const unsigned char *p = sym_image_bytes(im, ".gnu_debugdata", &n);
    unsigned char *out = p ? unpack(p, n, &size) : NULL;

    return out ? sym_image_open_memory(out, size, true, im->path, NULL) : NULL;
}

struct sym_image *sym_image_open_vdso(struct err *e)
{
    size_t size;
    const void *image = elf_file_vdso(&size);

    if (!image) {
        err_set(e, ERR_MISSING, "this process has no vDSO");
        return NULL;
    }
    return sym_image_open_memory(image, size, false, "[vdso]", e);
}
