/* intern.c - see intern.h.  SPDX-License-Identifier: Apache-2.0 */
#include "profile/intern.h"

#include <stdlib.h>

#include "profile/module_kind.h"

void intern_init(struct intern *in, struct sink *out)
{
    memset(in, 0, sizeof *in);
    in->out = out;
}

void intern_release(struct intern *in)
{
    index_release(&in->strings);
    index_release(&in->functions);
    index_release(&in->modules);
    index_release(&in->frames);
    index_release(&in->named);
    index_release(&in->stacks);
    index_release(&in->tag_sets);
    vec_release(&in->string);
    vec_release(&in->function);
    vec_release(&in->module);
    vec_release(&in->frame);
    vec_release(&in->named_frame);
    vec_release(&in->stack);
    vec_release(&in->tag);
    arena_release(&in->arena);
}

uint32_t intern_string(struct intern *in, const char *s, size_t n)
{
    uint64_t h = hash_bytes(s, n);

    for (uint32_t at = index_first(&in->strings, h), id;
         (id = index_id(&in->strings, h, &at));) {
        const struct intern_text *t = &in->string.v[id - 1];

        if (t->n == n && memcmp(t->s, s, n) == 0)
            return id;
    }
    *vec_add(&in->string) = (struct intern_text){ arena_strndup(&in->arena, s, n), (uint32_t)n };
    index_add(&in->strings, h, (uint32_t)in->string.n);
    sink_string(in->out, s, n);
    return (uint32_t)in->string.n;
}

uint32_t intern_cstr(struct intern *in, const char *s)
{
    return s && *s ? intern_string(in, s, strlen(s)) : 0;
}

const char *intern_text_of(const struct intern *in, uint32_t id)
{
    return id && id <= in->string.n ? in->string.v[id - 1].s : "";
}

uint32_t intern_module(struct intern *in, const struct module *m)
{
    uint64_t h = hash_pair(m->path, hash_bytes(m->build_id, m->build_id_size));

    for (uint32_t at = index_first(&in->modules, h), id;
         (id = index_id(&in->modules, h, &at));) {
        const struct module *o = &in->module.v[id - 1];

        if (o->path == m->path && o->kind == m->kind && o->build_id_size == m->build_id_size &&
            memcmp(o->build_id, m->build_id, m->build_id_size) == 0)
            return id;
    }
    vec_push(&in->module, *m);
    index_add(&in->modules, h, (uint32_t)in->module.n);
    sink_module(in->out, m);
    return (uint32_t)in->module.n;
}

uint32_t intern_path(struct intern *in, uint32_t path)
{
    struct module m = { .path = path, .kind = module_kind_of(intern_text_of(in, path)) };

    return intern_module(in, &m);
}

static uint32_t add_frame(struct intern *in, const struct frame *f, struct location name)
{
    vec_push(&in->frame, *f);
    vec_push(&in->named_frame, name);
    sink_frame(in->out, f);
    return (uint32_t)in->frame.n;
}

uint32_t intern_frame(struct intern *in, const struct frame *f)
{
    uint64_t h = hash_pair(f->address, ((uint64_t)f->module << 32) | (f->kind << 8) | f->flags);

    for (uint32_t at = index_first(&in->frames, h), id;
         (id = index_id(&in->frames, h, &at));) {
        const struct frame *o = &in->frame.v[id - 1];

        if (o->address == f->address && o->module == f->module && o->kind == f->kind &&
            o->flags == f->flags)
            return id;
    }
    add_frame(in, f, (struct location){ 0 });
    index_add(&in->frames, h, (uint32_t)in->frame.n);
    return (uint32_t)in->frame.n;
}

uint32_t intern_function(struct intern *in, const struct function *f)
{
    uint64_t h = hash_pair(hash_pair(f->name, f->file), hash_pair(f->module, f->line));

    for (uint32_t at = index_first(&in->functions, h), id;
         (id = index_id(&in->functions, h, &at));) {
        const struct function *o = &in->function.v[id - 1];

        if (o->name == f->name && o->file == f->file && o->module == f->module &&
            o->line == f->line && o->linkage_name == f->linkage_name)
            return id;
    }
    vec_push(&in->function, *f);
    index_add(&in->functions, h, (uint32_t)in->function.n);
    sink_function(in->out, f);
    return (uint32_t)in->function.n;
}

uint32_t intern_named_frame(struct intern *in, enum frame_kind kind, uint32_t function,
                            uint32_t line)
{
    struct location where = { function, line };
    uint64_t h = hash_pair(((uint64_t)function << 32) | line, kind);
    uint32_t id;

    for (uint32_t at = index_first(&in->named, h); (id = index_id(&in->named, h, &at));) {
        const struct location *o = &in->named_frame.v[id - 1];

        if (o->function == function && o->line == line && in->frame.v[id - 1].kind == kind)
            return id;
    }
    id = add_frame(in,
                   &(struct frame){ .kind = kind,
                                    .module = function ? in->function.v[function - 1].module : 0 },
                   where);
    index_add(&in->named, h, id);
    sink_resolve(in->out, id, &where, 1);
    return id;
}

uint32_t intern_stack(struct intern *in, uint32_t parent, uint32_t frame)
{
    uint64_t h = hash_pair(parent, frame);

    for (uint32_t at = index_first(&in->stacks, h), id;
         (id = index_id(&in->stacks, h, &at));) {
        const struct intern_node *o = &in->stack.v[id - 1];

        if (o->parent == parent && o->frame == frame)
            return id;
    }
    *vec_add(&in->stack) = (struct intern_node){ parent, frame };
    index_add(&in->stacks, h, (uint32_t)in->stack.n);
    sink_stack(in->out, parent, frame);
    return (uint32_t)in->stack.n;
}

uint32_t intern_tag_of(struct intern *in, const struct tag *t)
{
    uint64_t h = hash_pair(hash_pair(t->parent, t->key),
                           hash_pair(hash_pair(t->text, t->unit), (uint64_t)t->value));

    for (uint32_t at = index_first(&in->tag_sets, h), id;
         (id = index_id(&in->tag_sets, h, &at));) {
        const struct tag *o = &in->tag.v[id - 1];

        if (o->parent == t->parent && o->key == t->key && o->text == t->text &&
            o->unit == t->unit && o->value == t->value)
            return id;
    }
    vec_push(&in->tag, *t);
    index_add(&in->tag_sets, h, (uint32_t)in->tag.n);
    sink_tag(in->out, t);
    return (uint32_t)in->tag.n;
}

uint32_t intern_tag(struct intern *in, uint32_t parent, const char *key, const char *text)
{
    return intern_tag_of(in, &(struct tag){ .parent = parent,
                                            .key = intern_string(in, key, strlen(key)),
                                            .text = intern_string(in, text, strlen(text)) });
}

uint32_t intern_tag_number(struct intern *in, uint32_t parent, const char *key, int64_t number,
                           const char *unit)
{
    return intern_tag_of(in, &(struct tag){ .parent = parent,
                                            .key = intern_string(in, key, strlen(key)),
                                            .unit = intern_cstr(in, unit),
                                            .value = number });
}

uint32_t intern_metric(struct intern *in, const struct metric *m)
{
    sink_metric(in->out, m);
    return ++in->n_metrics;
}

uint32_t intern_process(struct intern *in, const struct process *p)
{
    sink_process(in->out, p);
    return ++in->n_processes;
}

uint32_t intern_thread(struct intern *in, const struct thread *t)
{
    sink_thread(in->out, t);
    return ++in->n_threads;
}
