/* an_symbols.c - see an_symbols.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

const char *an_module_name(const struct profile *p, uint32_t module)
{
    const char *path, *slash;

    if (!module)
        return "";
    path = profile_string(p, p->module.v[module - 1].path);
    slash = path[0] == '[' ? NULL : strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static uint32_t add_symbol(struct an_symbols *s, struct an_symbol y)
{
    vec_push(&s->symbol, y);
    return (uint32_t)s->symbol.n - 1;
}

static const char *address_name(struct an_symbols *s, const struct frame *f)
{
    const char *module = an_module_name(s->profile, f->module);
    char text[512];
    int n;

    if (!f->address)
        return *module ? module : "[unknown]";
    n = snprintf(text, sizeof text, "%s+0x%" PRIx64, *module ? module : "[unknown]", f->address);
    return arena_strndup(&s->arena, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* Frames that differ only in flags or line share a symbol.  SEEN maps the identity to it. */
static uint32_t unresolved_symbol(struct an_symbols *s, const struct frame *f, struct umap *seen)
{
    uint64_t key = hash_pair(hash_pair(f->address, f->module), f->kind) | 1;
    uint32_t id = umap_find(seen, key);

    if (id)
        return id;
    id = add_symbol(s, (struct an_symbol){ address_name(s, f), 0, f->module, (uint8_t)f->kind,
                                           false });
    umap_put(seen, key, id);
    return id;
}

static uint32_t function_symbol(struct an_symbols *s, uint32_t function, uint32_t kind,
                                bool inlined, struct umap *seen)
{
    uint64_t key = ((uint64_t)function << 8) | (kind << 1) | inlined;
    uint32_t id = umap_find(seen, key);
    const struct function *f;
    const char *name;

    if (id)
        return id;
    f = &s->profile->function.v[function - 1];
    name = profile_string(s->profile, f->name);
    id = add_symbol(s, (struct an_symbol){ *name ? name : "[unknown]", function, f->module,
                                           (uint8_t)kind, inlined });
    umap_put(seen, key, id);
    return id;
}

static void add_frame(struct an_symbols *s, uint32_t i, struct umap *named, struct umap *bare)
{
    const struct profile *p = s->profile;
    const struct frame *f = &p->frame.v[i];
    struct profile_chain c = i < p->chain.n ? p->chain.v[i] : (struct profile_chain){ 0 };
    struct profile_chain *own = vec_add(&s->frame);

    *own = (struct profile_chain){ (uint32_t)s->chain.n, 0 };
    for (uint32_t k = 0; k < c.n; k++) {
        uint32_t function = p->location.v[c.first + k].function;

        if (function)
            vec_push(&s->chain, function_symbol(s, function, f->kind, k > 0, named));
    }
    if (s->chain.n == own->first)
        vec_push(&s->chain, unresolved_symbol(s, f, bare));
    own->n = (uint32_t)s->chain.n - own->first;
}

void an_symbols_init(struct an_symbols *s, const struct profile *p)
{
    struct umap named = { 0 }, bare = { 0 };

    *s = (struct an_symbols){ .profile = p };
    add_symbol(s, (struct an_symbol){ "all", 0, 0, FRAME_NOTE, false });
    vec_reserve(&s->frame, p->frame.n);
    vec_reserve(&s->chain, p->frame.n);
    for (uint32_t i = 0; i < p->frame.n; i++)
        add_frame(s, i, &named, &bare);
    umap_release(&named);
    umap_release(&bare);
}

void an_symbols_release(struct an_symbols *s)
{
    vec_release(&s->symbol);
    vec_release(&s->chain);
    vec_release(&s->frame);
    arena_release(&s->arena);
}
