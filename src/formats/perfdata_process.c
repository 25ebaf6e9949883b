/* perfdata_process.c - who ran, and what each had mapped when.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "formats/perfdata.h"

void perfdata_world_init(struct perf_world *w, struct perf_file *f, struct intern *in)
{
    memset(w, 0, sizeof *w);
    w->file = f;
    w->in = in;
}

void perfdata_world_release(struct perf_world *w)
{
    for (size_t i = 0; i < w->process.n; i++)
        cfi_space_free(w->process.v[i].space);
    for (size_t i = 0; i < w->module.n; i++)
        perfdata_module_close(&w->module.v[i]);
    vec_release(&w->process);
    vec_release(&w->thread);
    vec_release(&w->module);
    vec_release(&w->module_pid);
    vec_release(&w->ksymbol);
    umap_release(&w->process_of_pid);
    umap_release(&w->thread_of_tid);
}

static struct perf_process *new_process(struct perf_world *w, uint32_t pid, uint32_t parent,
                                        const struct unw_space *from)
{
    struct perf_process *p = vec_add(&w->process);

    memset(p, 0, sizeof *p);
    p->p = (struct process){ .pid = (int32_t)pid, .parent_pid = (int32_t)parent };
    p->id = intern_process(w->in, &p->p);
    p->space = from ? cfi_space_copy(from) : cfi_space_new(perfdata_arch(w->file));
    umap_put(&w->process_of_pid, pid, (uint32_t)w->process.n);
    return p;
}

struct perf_process *perfdata_process(struct perf_world *w, uint32_t pid)
{
    uint32_t at = umap_find(&w->process_of_pid, pid);

    return at ? &w->process.v[at - 1] : new_process(w, pid, 0, NULL);
}

static struct perf_thread *new_thread(struct perf_world *w, uint32_t pid, uint32_t tid,
                                      uint32_t name)
{
    uint32_t process = perfdata_process(w, pid)->id;
    struct perf_thread *t = vec_add(&w->thread);

    memset(t, 0, sizeof *t);
    t->t = (struct thread){ .process = process, .name = name, .tid = (int32_t)tid };
    t->id = intern_thread(w->in, &t->t);
    umap_put(&w->thread_of_tid, tid, (uint32_t)w->thread.n);
    return t;
}

struct perf_thread *perfdata_thread(struct perf_world *w, uint32_t pid, uint32_t tid)
{
    uint32_t at = umap_find(&w->thread_of_tid, tid);

    if (at && w->thread.v[at - 1].t.process == perfdata_process(w, pid)->id)
        return &w->thread.v[at - 1];
    return new_thread(w, pid, tid, perfdata_process(w, pid)->p.name);
}

static void tell_process(struct perf_world *w, const struct perf_process *p)
{
    sink_update_process(w->in->out, p->id, &p->p);
}

static void tell_thread(struct perf_world *w, const struct perf_thread *t)
{
    sink_update_thread(w->in->out, t->id, &t->t);
}

void perfdata_comm(struct perf_world *w, uint32_t pid, uint32_t tid, const char *name, bool exec)
{
    uint32_t text = intern_cstr(w->in, name);
    struct perf_thread *t = perfdata_thread(w, pid, tid);
    struct perf_process *p = perfdata_process(w, pid);

    if (t->t.name != text) {
        t->t.name = text;
        tell_thread(w, t);
    }
    if (pid == tid && p->p.name != text) {
        p->p.name = text;
        tell_process(w, p);
    }
    if (exec) { /* a new program: nothing of the old one is mapped */
        cfi_space_free(p->space);
        p->space = cfi_space_new(perfdata_arch(w->file));
    }
}

void perfdata_fork(struct perf_world *w, const struct perf_task *k)
{
    struct perf_process *parent = perfdata_process(w, k->parent_pid), *child;
    uint32_t name = perfdata_thread(w, k->parent_pid, k->parent_tid)->t.name;
    struct perf_thread *t;

    if (k->pid != k->parent_pid) {
        struct unw_space *from = parent->space;

        child = new_process(w, k->pid, k->parent_pid, from);
        child->p.start_ns = k->time;
        child->p.name = name;
        tell_process(w, child);
    }
    t = new_thread(w, k->pid, k->tid, name);
    t->t.start_ns = k->time;
    tell_thread(w, t);
}

void perfdata_exit(struct perf_world *w, const struct perf_task *k)
{
    struct perf_thread *t = perfdata_thread(w, k->pid, k->tid);
    struct perf_process *p = perfdata_process(w, k->pid);

    t->t.end_ns = k->time;
    tell_thread(w, t);
    if (k->pid == k->tid) {
        p->p.end_ns = k->time;
        tell_process(w, p);
    }
}

static uint32_t kind_of(const char *path)
{
    if (strcmp(path, "[vdso]") == 0)
        return MODULE_VDSO;
    if (path[0] == '/' && strncmp(path, "//anon", 6) != 0 && strncmp(path, "/memfd:", 7) != 0 &&
        strncmp(path, "/dev/zero", 9) != 0)
        return MODULE_FILE;
    return MODULE_JIT;
}

static uint32_t module_of(struct perf_world *w, const struct perf_mapping *m)
{
    const struct perf_build_id *b = perfdata_find_build_id(w->file, m->path);
    struct module mod = { .path = intern_cstr(w->in, m->path), .kind = kind_of(m->path) };
    char map[64];
    uint32_t id;

    if (mod.kind == MODULE_JIT) { /* each process has its own: the name perf gives it */
        snprintf(map, sizeof map, "/tmp/perf-%u.map", m->pid);
        mod.path = intern_cstr(w->in, map);
    }
    mod.build_id_size = m->build_id_size ? m->build_id_size : b ? b->n : 0;
    memcpy(mod.build_id, m->build_id_size ? m->build_id : b ? b->id : mod.build_id,
           mod.build_id_size);
    id = intern_module(w->in, &mod);
    while (w->module.n < id) {
        memset(vec_add(&w->module), 0, sizeof *w->module.v);
        vec_push(&w->module_pid, 0);
    }
    w->module_pid.v[id - 1] = mod.kind == MODULE_JIT ? m->pid : 0;
    if (!w->module.v[id - 1].opened)
        perfdata_module_open(&w->module.v[id - 1], &mod, m->path, w->tables);
    return id;
}

static uint64_t kernel_symbol(const char *name)
{
    char line[512], symbol[256], kind;
    unsigned long long address;
    FILE *f = fopen("/proc/kallsyms", "re");
    uint64_t found = 0;

    while (f && !found && fgets(line, sizeof line, f))
        if (sscanf(line, "%llx %c %255s", &address, &kind, symbol) == 3 &&
            strcmp(symbol, name) == 0)
            found = address;
    if (f)
        fclose(f);
    return found;
}

static bool is_this_kernel(const struct perf_file *f)
{
    struct utsname u;

    return !*f->release || (uname(&u) == 0 && strcmp(u.release, f->release) == 0);
}

/* The kernel lies elsewhere after each start; perf writes down where a symbol was. */
static void place_kernel(struct perf_world *w, const struct perf_mapping *m)
{
    static const char prefix[] = "[kernel.kallsyms]";
    const char *symbol = m->path + sizeof prefix - 1;
    uint64_t now;

    if (strncmp(m->path, prefix, sizeof prefix - 1) != 0 || !*symbol || !is_this_kernel(w->file))
        return;
    now = kernel_symbol(symbol);
    w->kernel_shift = now && m->offset ? now - m->offset : 0;
}

void perfdata_map(struct perf_world *w, const struct perf_mapping *m)
{
    struct perf_process *p;
    const struct perf_module *mod;
    uint32_t id;
    uint64_t bias;

    if (m->kernel)
        place_kernel(w, m);
    if (m->kernel || m->size == 0 || m->start + m->size < m->start)
        return;
    id = module_of(w, m);
    p = perfdata_process(w, m->pid);
    mod = &w->module.v[id - 1];
    bias = w->in->module.v[id - 1].kind == MODULE_JIT
               ? 0
               : perfdata_module_bias(mod, m->start, m->offset);
    cfi_space_map(p->space, m->start, m->start + m->size, bias, mod->table, id);
}

uint32_t perfdata_kernel_module(struct perf_world *w)
{
    char path[128] = "[kernel]";

    if (w->kernel)
        return w->kernel;
    if (!is_this_kernel(w->file)) /* its names are not to be had here */
        snprintf(path, sizeof path, "[kernel %.100s]", w->file->release);
    w->kernel = intern_module(w->in, &(struct module){ .path = intern_cstr(w->in, path),
                                                       .kind = MODULE_KERNEL });
    return w->kernel;
}
