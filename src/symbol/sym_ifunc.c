/* sym_ifunc.c - names of the variants that the dynamic linker chose: `strcmp [ifunc]`.
 *
 * A stripped C library exports `strcmp` as a resolver; the code that runs is a local function.  Two
 * sources tell which one.  The request lists what the resolvers returned in the recorded processes
 * (perf/perf_ifunc.c).  For processes that ended before they could be read, and for files: if this
 * process has loaded the same build of the library, it made the same choice on this CPU, so asking
 * for the symbol here gives the variant.  No file of the target is ever loaded or run.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbolizer.h"

enum { RESOLVERS_MAX = 4096, VARIANTS_MAX = 4096 };

struct variant {
    uint64_t start;
    const char *name;
    bool weak;
};

struct ifunc_state {
    VEC(struct variant) variant;
};

struct own { /* a library of this process, with the wanted build id */
    const struct sym_image *file;
    uint64_t base;
    const char *path;
};

static bool has_build_id(const char *note, size_t size, const struct sym_image *im)
{
    for (size_t at = 0; size - at >= sizeof(ElfW(Nhdr));) {
        const ElfW(Nhdr) *h = (const void *)(note + at);
        size_t text = at + sizeof *h + ((h->n_namesz + 3u) & ~3u);
        size_t next = text + ((h->n_descsz + 3u) & ~3u);

        if (next > size)
            return false;
        if (h->n_type == NT_GNU_BUILD_ID && h->n_descsz == im->build_id_size &&
            h->n_namesz == 4 && memcmp(h + 1, "GNU", 4) == 0 &&
            memcmp(note + text, im->build_id, im->build_id_size) == 0)
            return true;
        at = next;
    }
    return false;
}

static int compare_own(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct own *own = arg;

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_NOTE && *info->dlpi_name &&
            has_build_id((const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, own->file)) {
            own->base = info->dlpi_addr;
            own->path = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* Of several names the one with fewest underscores, then not weak, then the first in the alphabet:
 * memcpy of memcpy and memmove, memcmp of bcmp and memcmp. */
static bool is_better(const struct variant *a, const struct variant *b)
{
    size_t x = strspn(a->name, "_"), y = strspn(b->name, "_");

    if (x != y)
        return x < y;
    return a->weak != b->weak ? b->weak : strcmp(a->name, b->name) < 0;
}

static void add_variant(struct ifunc_state *st, struct variant v)
{
    for (size_t i = 0; i < st->variant.n; i++) {
        struct variant *old = &st->variant.v[i];

        if (old->start != v.start)
            continue;
        if (is_better(&v, old))
            *old = v;
        return;
    }
    if (st->variant.n < VARIANTS_MAX)
        vec_push(&st->variant, v);
}

struct resolver { /* an exported symbol */
    uint64_t address;
    const char *name;
    bool weak;
};

/* What the resolvers returned: in processes, and in this one if LIBRARY is not NULL. */
struct answers {
    const struct sym_request *seen;
    const struct own *own;
    void *library;
};

static void add_answers(struct ifunc_state *st, struct sym_image *im, const struct answers *by,
                        const struct resolver *r)
{
    struct variant v = { 0, r->name, r->weak };

    for (size_t i = 0; i < by->seen->n_variants; i++) {
        v.start = by->seen->variant[i].start;
        if (by->seen->variant[i].resolver == r->address && sym_image_code_end(im, v.start))
            add_variant(st, v);
    }
    if (by->library) {
        v.start = (uintptr_t)dlsym(by->library, r->name) - by->own->base;
        if (sym_image_code_end(im, v.start))
            add_variant(st, v);
    }
}

/* A file has one table of dynamic symbols. */
static void read_variants(struct ifunc_state *st, struct sym_image *im, const struct answers *by)
{
    size_t resolvers = 0;

    for (Elf_Scn *s = NULL; (s = elf_nextscn(im->elf, s));) {
        GElf_Shdr sh;
        GElf_Sym sym;
        Elf_Data *d;

        if (!gelf_getshdr(s, &sh) || sh.sh_type != SHT_DYNSYM || !(d = elf_getdata(s, NULL)))
            continue;
        for (int i = 1; resolvers < RESOLVERS_MAX && gelf_getsym(d, i, &sym); i++) {
            const char *name = elf_strptr(im->elf, sh.sh_link, sym.st_name);

            if (GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC || !name || !*name)
                continue;
            add_answers(st, im, by,
                        &(struct resolver){ sym.st_value, name,
                                            GELF_ST_BIND(sym.st_info) == STB_WEAK });
            resolvers++;
        }
        return;
    }
}

/* Our own copy of the file of M, or NULL. */
static void *own_library(const struct sym_image *file, struct own *own)
{
    *own = (struct own){ .file = file };
    if (!file->build_id_size || !dl_iterate_phdr(compare_own, own))
        return NULL;
    return dlopen(own->path, RTLD_LAZY | RTLD_NOLOAD);
}

static void ifunc_close(void *state)
{
    struct ifunc_state *st = state;

    vec_release(&st->variant);
    free(st);
}

static void *ifunc_open(struct sym_module *m)
{
    struct sym_image *file = sym_module_file(m);
    struct answers by = { .seen = &m->req };
    struct ifunc_state *st;
    struct own own;

    if (!file)
        return NULL;
    by.own = &own;
    by.library = own_library(file, &own);
    if (!by.library && !m->req.n_variants)
        return NULL;
    st = mem_zalloc(sizeof *st);
    read_variants(st, file, &by);
    if (by.library)
        dlclose(by.library);
    if (st->variant.n)
        return st;
    ifunc_close(st);
    return NULL;
}

/* The variant that starts where the function around ADDRESS starts. */
static bool ifunc_find(struct sym_module *m, void *state, uint64_t address)
{
    const struct ifunc_state *st = state;
    void *starts = sym_module_state(m, &symbolizer_eh_frame);

    if (!starts || !symbolizer_eh_frame.find(m, starts, address))
        return false;
    for (size_t i = 0; i < st->variant.n; i++) {
        struct sym_line *l = &m->chain.v[m->chain.n - 1];
        char *text;

        if (st->variant.v[i].start != l->start)
            continue;
        text = mem_printf("%s [ifunc]", st->variant.v[i].name);
        l->name = arena_strndup(&m->arena, text, strlen(text));
        l->source = SYM_DYNSYM;
        free(text);
        return true;
    }
    return false;
}

const struct symbolizer symbolizer_ifunc = {
    .name = "ifunc",
    .about = "variants that the dynamic linker chose",
    .source = SYM_DYNSYM,
    .open = ifunc_open,
    .close = ifunc_close,
    .find = ifunc_find,
};
