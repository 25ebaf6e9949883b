/* sym_module.c - one module: try the symbolizers of symbolizers.def in order.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/sym_locate.h"
#include "symbol/symbolizer.h"

const struct symbolizer *const symbolizers[] = {
#define SYMBOLIZER(id) &symbolizer_##id,
#include "symbol/symbolizers.def"
#undef SYMBOLIZER
    NULL,
};
_Static_assert(ARRAY_LEN(symbolizers) <= SYMBOLIZERS_MAX + 1, "raise SYMBOLIZERS_MAX");

const char *sym_source_name(enum sym_source s)
{
    static const char *const names[] = { "none", "eh_frame", "dynsym", "minidebuginfo",
                                         "symtab", "dwarf", "kallsyms", "jit" };

    return (size_t)s < ARRAY_LEN(names) ? names[s] : "none";
}

/* The kernel marks the path of an unlinked file; the file may have been created again. */
static char *clean_path(struct arena *a, const char *path)
{
    static const char mark[] = " (deleted)";
    size_t n = strlen(path), k = sizeof mark - 1;

    if (n > k && strcmp(path + n - k, mark) == 0)
        n -= k;
    return arena_strndup(a, path, n);
}

struct sym_module *sym_module_open(const struct sym_request *r)
{
    struct sym_module *m = mem_zalloc(sizeof *m);
    const char *slash, *root = r->root ? r->root : "";

    m->req = *r;
    m->req.path = clean_path(&m->arena, r->path ? r->path : "");
    m->req.root = arena_strndup(&m->arena, root, strlen(root));
    if (!r->build_id || r->build_id_size > SYM_BUILD_ID_MAX)
        m->req.build_id_size = 0;
    m->req.build_id = m->req.build_id_size
                          ? (uint8_t *)arena_strndup(&m->arena, (const char *)r->build_id,
                                                     r->build_id_size)
                          : NULL;
    slash = strrchr(m->req.path, '/');
    m->base = slash && slash[1] ? slash + 1 : m->req.path;
    return m;
}

struct sym_module *sym_module_open_memory(const void *image, size_t size, const char *path)
{
    struct sym_module *m = sym_module_open(&(struct sym_request){ .path = path });
    struct err e = { 0 };

    m->looked = m->looked_debug = true;
    m->file = sym_image_open_memory(image, size, false, path, &e);
    if (!m->file)
        sym_module_set_problem(m, "%s", e.msg);
    return m;
}

void sym_module_close(struct sym_module *m)
{
    if (!m)
        return;
    for (size_t i = 0; symbolizers[i]; i++)
        if (m->state[i])
            symbolizers[i]->close(m->state[i]);
    sym_image_close(m->debug);
    sym_image_close(m->file);
    vec_release(&m->chain);
    arena_release(&m->arena);
    free(m);
}

void sym_module_set_problem(struct sym_module *m, const char *fmt, ...)
{
    va_list ap;

    if (m->problem[0])
        return;
    va_start(ap, fmt);
    vsnprintf(m->problem, sizeof m->problem, fmt, ap);
    va_end(ap);
}

bool sym_module_is_file(const struct sym_module *m)
{
    return m->req.kind == MODULE_VDSO || (m->req.kind == MODULE_FILE && *m->req.path);
}

struct sym_image *sym_module_file(struct sym_module *m)
{
    if (!m->looked && sym_module_is_file(m))
        m->file = sym_locate_file(m);
    m->looked = true;
    return m->file;
}

struct sym_image *sym_module_debug(struct sym_module *m)
{
    struct sym_image *file = sym_module_file(m);

    if (!m->looked_debug && sym_module_is_file(m) && !(file && sym_image_has_dwarf(file)))
        m->debug = sym_locate_debug(m);
    m->looked_debug = true;
    return m->debug;
}

static void *state_of(struct sym_module *m, size_t i)
{
    if (!m->opened[i]) {
        m->opened[i] = true;
        m->state[i] = symbolizers[i]->open(m);
    }
    return m->state[i];
}

void *sym_module_state(struct sym_module *m, const struct symbolizer *s)
{
    for (size_t i = 0; symbolizers[i]; i++)
        if (symbolizers[i] == s)
            return state_of(m, i);
    return NULL;
}

const char *sym_module_name(struct sym_module *m, const char *name, const char **linkage)
{
    char *plain = sym_demangle(name), *clone;
    const char *kept;

    *linkage = plain ? name : NULL;
    if (!plain)
        return name;
    /* Parts and clones of a function count as that function, as in DWARF. */
    clone = strstr(plain, " [clone ");
    kept = arena_strndup(&m->arena, plain, clone ? (size_t)(clone - plain) : strlen(plain));
    free(plain);
    return kept;
}

const struct sym_name *sym_names_find(const struct sym_names *n, uint64_t key)
{
    uint32_t number = umap_find(&n->at, key);

    return number ? &n->v.v[number - 1] : NULL;
}

const struct sym_name *sym_names_add(struct sym_names *n, struct sym_module *m, uint64_t key,
                                     const char *name)
{
    struct sym_name *x = vec_add(&n->v);

    x->plain = sym_module_name(m, name, &x->linkage);
    umap_put(&n->at, key, (uint32_t)n->v.n);
    return x;
}

void sym_names_release(struct sym_names *n)
{
    umap_release(&n->at);
    vec_release(&n->v);
}

struct sym_line *sym_module_add(struct sym_module *m)
{
    struct sym_line *l = vec_add(&m->chain);

    *l = (struct sym_line){ 0 };
    return l;
}

size_t sym_module_find(struct sym_module *m, uint64_t address, const struct sym_line **chain)
{
    vec_clear(&m->chain);
    for (size_t i = 0; symbolizers[i]; i++) {
        void *state = state_of(m, i);

        if (state && symbolizers[i]->find(m, state, address))
            break;
        vec_clear(&m->chain);
    }
    *chain = m->chain.v;
    return m->chain.n;
}

const unsigned char *sym_module_code(struct sym_module *m, uint64_t address, size_t size)
{
    struct sym_image *file = sym_module_file(m);
    const unsigned char *bytes = file ? sym_image_code(file, address, size) : NULL;

    for (size_t i = 0; !bytes && symbolizers[i]; i++)
        if (symbolizers[i]->code && state_of(m, i))
            bytes = symbolizers[i]->code(m->state[i], address, size);
    return bytes;
}

enum sym_source sym_module_source(struct sym_module *m)
{
    for (size_t i = 0; symbolizers[i]; i++)
        if (state_of(m, i))
            return symbolizers[i]->best ? symbolizers[i]->best(m->state[i])
                                        : symbolizers[i]->source;
    return SYM_NONE;
}

const char *sym_module_problem(struct sym_module *m)
{
    sym_module_file(m);
    if ((m->file && map_was_truncated(&m->file->map)) ||
        (m->debug && map_was_truncated(&m->debug->map)))
        sym_module_set_problem(m, "%s was truncated while it was read", m->req.path);
    return m->problem;
}
