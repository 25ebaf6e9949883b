/* an_code.c - add code to profiles that contain none, such as those of other tools.  Read it from
 * the recorded modules, if they still exist and have the same build id.
 *
 * Only for functions without line numbers.  With them, every instruction would need a line, and
 * only a recording stores these.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analyze/an_annotate.h"
#include "base/hash.h"
#include "symbol/symbol.h"

enum { FUNCTION_MOST_BYTES = 64 << 10 };

struct reader {
    struct profile *p;
    const unsigned char *wanted;  /* by function id */
    struct sym_module **module;   /* by module id; opened on first use */
    struct umap taken;            /* (module, start) */
};

/* Return the function of a frame if it is wanted and has no line numbers, else 0. */
static uint32_t wanted_function(const struct reader *r, size_t frame)
{
    struct profile_chain c = r->p->chain.v[frame];
    uint32_t f = c.n ? r->p->location.v[c.first + c.n - 1].function : 0;

    return f && r->wanted[f] && !r->p->function.v[f - 1].file ? f : 0;
}

static struct sym_module *module_of(struct reader *r, uint32_t id)
{
    const struct module *m = &r->p->module.v[id - 1];

    if (!r->module[id])
        r->module[id] = sym_module_open(&(struct sym_request){
            .path = profile_string(r->p, m->path), .kind = m->kind,
            .build_id = m->build_id, .build_id_size = m->build_id_size, .quick = true });
    return r->module[id];
}

static void take_code(struct reader *r, const struct frame *f)
{
    struct sym_module *m = module_of(r, f->module);
    const struct sym_line *line;
    const unsigned char *bytes;
    uint64_t size;

    if (!sym_module_find(m, f->address, &line) || line[0].end <= line[0].start ||
        umap_find(&r->taken, hash_pair(f->module, line[0].start)))
        return;
    umap_put(&r->taken, hash_pair(f->module, line[0].start), 1);
    size = line[0].end - line[0].start;
    size = size < FUNCTION_MOST_BYTES ? size : FUNCTION_MOST_BYTES;
    bytes = sym_module_code(m, line[0].start, size);
    if (bytes)
        vec_push(&r->p->code, ((struct code_bytes){
                                  .module = f->module, .address = line[0].start, .size = size,
                                  .bytes = (const unsigned char *)arena_strndup(
                                      &r->p->arena, (const char *)bytes, size) }));
}

void an_code_read(struct profile *p, const uint32_t *functions, size_t n)
{
    unsigned char *wanted = mem_zalloc(p->function.n + 1);
    struct reader r = { .p = p, .wanted = wanted,
                        .module = mem_zalloc((p->module.n + 1) * sizeof *r.module) };

    for (size_t i = 0; i < n; i++)
        wanted[functions[i]] = 1;
    for (size_t i = 0; i < p->frame.n; i++) {
        const struct frame *f = &p->frame.v[i];

        if (f->kind == FRAME_NATIVE && f->module && f->address && !(f->flags & FRAME_RETURN) &&
            p->module.v[f->module - 1].kind == MODULE_FILE && wanted_function(&r, i))
            take_code(&r, f);
    }
    for (size_t i = 0; i <= p->module.n; i++)
        sym_module_close(r.module[i]);
    umap_release(&r.taken);
    free(r.module);
    free(wanted);
}
