/* perf_process.c - see perf_process.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "profile/module_kind.h"

/* In all address spaces: 300 MB.  Tens of thousands of processes have fewer. */
enum { MOST_RANGES = 1 << 23 };
static const uint64_t reread_every_ns = 20000000u;

void perf_process_init(struct perf_processes *p, struct intern *in, struct perf_modules *modules)
{
    memset(p, 0, sizeof *p);
    p->in = in;
    p->modules = modules;
    p->work.left = PERF_WORK_START;
}

static struct perf_space *space_new(struct unw_space *unw)
{
    struct perf_space *s = mem_zalloc(sizeof *s);

    s->users = 1;
    s->unw = unw;
    return s;
}

static void space_drop(struct perf_processes *p, struct perf_space *s)
{
    if (!s || --s->users)
        return;
    p->n_ranges -= s->unw->n;
    cfi_space_free(s->unw);
    umap_release(&s->frame_by_pc);
    free(s);
}

/* Return a space that is not shared, for changing it. */
static struct perf_space *space_own(struct perf_processes *p, struct perf_process *x)
{
    if (x->space->users > 1) {
        struct perf_space *copy = space_new(cfi_space_copy(x->space->unw));

        copy->own_start = x->space->own_start;
        copy->own_end = x->space->own_end;
        p->n_ranges += copy->unw->n;
        space_drop(p, x->space);
        x->space = copy;
    }
    return x->space;
}

void perf_process_release(struct perf_processes *p)
{
    for (size_t i = 0; i < p->process.n; i++) {
        space_drop(p, p->process.v[i]->space);
        free(p->process.v[i]->jit_dump);
        free(p->process.v[i]);
    }
    for (size_t i = 0; i < p->thread.n; i++) {
        vec_release(&p->thread.v[i]->last);
        vec_release(&p->thread.v[i]->calls);
        free(p->thread.v[i]);
    }
    vec_release(&p->past);
    vec_release(&p->fresh);
    vec_release(&p->process);
    vec_release(&p->thread);
    umap_release(&p->by_pid);
    umap_release(&p->by_tid);
    umap_release(&p->by_name);
}

static struct perf_process *find_process(struct perf_processes *p, int64_t pid)
{
    uint32_t at = umap_find(&p->by_pid, (uint64_t)pid);

    return at ? p->process.v[at - 1] : NULL;
}

struct perf_thread *perf_process_find_thread(struct perf_processes *p, int64_t tid)
{
    uint32_t at = umap_find(&p->by_tid, (uint64_t)tid);

    return at ? p->thread.v[at - 1] : NULL;
}

/* Takes ownership of SPACE; NULL creates an empty one. */
static struct perf_process *add_process(struct perf_processes *p, const struct process *info,
                                       struct perf_space *space)
{
    struct perf_process *x = mem_zalloc(sizeof *x);

    x->pid = x->inner_pid = info->pid;
    x->info = *info;
    x->root_fd = -1;
    x->space = space ? space : space_new(cfi_space_new(p->arch));
    x->id = intern_process(p->in, info);
    vec_push(&p->process, x);
    umap_put(&p->by_pid, (uint64_t)info->pid, (uint32_t)p->process.n);
    return x;
}

static struct perf_thread *add_thread(struct perf_processes *p, struct perf_process *of,
                                      int64_t tid, uint32_t name, uint64_t start_ns)
{
    struct perf_thread *t = mem_zalloc(sizeof *t);

    t->tid = tid;
    t->process = of;
    t->joints = ++p->n_joints;
    t->number = p->thread.n;
    t->since_ns = start_ns;
    t->older = of->threads;
    of->threads = t;
    t->info = (struct thread){ .process = of->id, .name = name, .tid = tid, .start_ns = start_ns };
    t->id = intern_thread(p->in, &t->info);
    vec_push(&p->thread, t);
    umap_put(&p->by_tid, (uint64_t)tid, (uint32_t)p->thread.n);
    return t;
}

static void update_process(struct perf_processes *p, const struct perf_process *x)
{
    sink_update_process(p->in->out, x->id, &x->info);
}

static void update_thread(struct perf_processes *p, const struct perf_thread *t)
{
    sink_update_thread(p->in->out, t->id, &t->info);
}

/* Whether X may map a range at START.  Counts the mapping otherwise. */
static bool may_map(struct perf_processes *p, const struct perf_process *x, uint64_t start)
{
    const struct unw_space *s = x->space->unw;
    uint64_t copied = x->space->users > 1 ? s->n : 0;

    if (p->n_ranges + copied + UNW_SPACE_ROOM <= MOST_RANGES &&
        perf_work_spend(&p->work, copied + perf_work_of_map(s, start)))
        return true;
    p->work.ignored++;
    return false;
}

static void forget_frames(struct perf_process *x)
{
    umap_clear(&x->space->frame_by_pc);
    x->n_frames = 0;
}

static bool is_own_library(const struct perf_host *host, const char *path)
{
    const char *name = strrchr(path, '/');

    return host->own_library && name && strcmp(name + 1, host->own_library) == 0;
}

static void map_into(struct perf_processes *p, struct perf_process *x, struct perf_mapping *w)
{
    const struct perf_host *host = p->modules->host;
    struct perf_space *s = x->space;
    const struct perf_module *m;
    const struct unw_range *r;
    uint32_t number;
    uint64_t bias;

    if (w->end <= w->start)
        return;
    if (module_is_jit_dump(w->path)) {
        free(x->jit_dump);
        x->jit_dump = mem_strdup(w->path);
        return;
    }
    if (x->root_fd >= 0 && x->inner_pid == x->pid && host->inner_pid)
        x->inner_pid = host->inner_pid(x->pid);
    w->pid = x->pid;
    w->inner_pid = x->inner_pid;
    w->root_fd = x->root_fd;
    w->user = x->user;
    w->jit_dump = x->jit_dump;
    number = perf_module_number(p->modules, w);
    m = perf_module_get(p->modules, number);
    bias = m->loaded ? perf_module_bias(m, w->start, w->file_offset) : w->start - w->file_offset;
    number |= m->loaded ? 0 : PERF_PENDING;
    r = unw_space_find(s->unw, w->start);
    if (r && r->start == w->start && r->end == w->end && r->module == number && r->bias == bias)
        return; /* a JIT that toggles the protection of a page */
    if (!may_map(p, x, w->start))
        return;
    s = space_own(p, x);
    p->n_ranges -= s->unw->n;
    cfi_space_map(s->unw, w->start, w->end, bias, perf_module_table(m), number);
    p->n_ranges += s->unw->n;
    if (is_own_library(host, w->path)) {
        s->own_start = w->start;
        s->own_end = w->end;
    }
    s->generation++;
    forget_frames(x);
}

static void map_line(void *context, struct perf_mapping *w)
{
    void **both = context;

    map_into(both[0], both[1], w);
}

/* --- facts from the host --- */

static void find_name(struct perf_processes *p, int64_t pid, int64_t tid, char *name, size_t cap)
{
    const struct perf_host *host = p->modules->host;

    if (!host->comm || host->comm(pid, tid, name, cap) < 0)
        *name = 0;
}

static int64_t find_parent(struct perf_processes *p, int64_t pid)
{
    return p->modules->host->parent ? p->modules->host->parent(pid) : 0;
}

/* String id of the command line, or OR when unknown. */
static uint32_t find_command(struct perf_processes *p, int64_t pid, uint32_t or)
{
    const struct perf_host *host = p->modules->host;
    char text[4096];

    if (!host->command || host->command(pid, text, sizeof text) <= 0)
        return or;
    return intern_cstr(p->in, text);
}

static void find_root_and_user(struct perf_processes *p, struct perf_process *x)
{
    if (p->modules->host->root)
        p->modules->host->root(x->pid, &x->mount_ns, &x->root_fd);
    x->user = perf_module_user(p->modules, x->pid);
}

struct perf_process *perf_process_note(struct perf_processes *p, int64_t pid)
{
    struct process info = { .pid = pid, .start_ns = p->start_ns };
    struct perf_process *x;
    char name[64];

    find_name(p, pid, pid, name, sizeof name);
    if (!*name && pid <= 0)
        snprintf(name, sizeof name, "%s", pid == 0 ? "swapper" : "[ended]");
    info.name = intern_cstr(p->in, name);
    info.command = find_command(p, pid, 0);
    info.parent_pid = find_parent(p, pid);
    x = add_process(p, &info, NULL);
    x->has_unread_maps = true;
    return x;
}

static void read_maps(struct perf_processes *p, struct perf_process *x)
{
    x->has_unread_maps = false;
    find_root_and_user(p, x);
    if (p->modules->host->maps)
        p->modules->host->maps(x->pid, map_line, (void *[]){ p, x });
}

bool perf_process_reread(struct perf_processes *p, struct perf_process *x, uint64_t now_ns)
{
    uint32_t before = x->space->generation;

    if (!p->modules->host->rereads_maps ||
        (x->reread_ns && now_ns < x->reread_ns + reread_every_ns))
        return false;
    x->reread_ns = now_ns;
    p->modules->host->maps(x->pid, map_line, (void *[]){ p, x });
    return x->space->generation != before;
}

struct perf_process *perf_process_attach(struct perf_processes *p, int64_t pid)
{
    struct perf_process *x = perf_process_note(p, pid);

    read_maps(p, x);
    return x;
}

struct perf_thread *perf_process_thread(struct perf_processes *p, int64_t pid, int64_t tid)
{
    struct perf_thread *t = perf_process_find_thread(p, tid);
    struct perf_process *x;
    char name[64];

    if (t && t->process->pid == pid)
        return t;
    x = find_process(p, pid);
    if (!x || x->ended)
        x = perf_process_attach(p, pid);
    *name = 0;
    if (tid != pid || !x->has_unread_maps) /* else its name is known, and may have changed since */
        find_name(p, pid, tid, name, sizeof name);
    if (x->has_unread_maps)
        read_maps(p, x);
    return add_thread(p, x, tid, *name ? intern_cstr(p->in, name) : x->info.name, p->start_ns);
}

/* Process PID if only some of its threads are recorded: a side record may be of another. */
static struct perf_process *find_partial(struct perf_processes *p, int64_t pid)
{
    struct perf_process *x = find_process(p, pid);

    return x && x->some_threads ? x : NULL;
}

static struct perf_process *mapping_process(struct perf_processes *p, const struct perf_record *r)
{
    struct perf_process *x = find_partial(p, (int32_t)r->pid);

    if (x)
        return x;
    return perf_process_thread(p, (int32_t)r->pid, (int32_t)r->tid)->process;
}

static void on_map(struct perf_processes *p, const struct perf_record *r)
{
    struct perf_mapping w = { .start = r->start, .end = r->start + r->size,
                             .file_offset = r->file_offset, .inode = r->inode,
                             .build_id = r->build_id, .build_id_size = r->build_id_size,
                             .path = r->text };

    if (r->inode)
        w.device = makedev(r->major, r->minor);
    if (w.end > w.start && r->prot & PROT_EXEC && !perf_record_maps_kernel(r))
        map_into(p, mapping_process(p, r), &w);
}

/* --- names over time ---
 *
 * An item of the sink is one program (process) or one name (thread): a sample keeps the name of
 * its time.  An item without samples is changed, so that a child that only calls exec and a thread
 * that names itself at its start stay one item. */

/* Continue X, which NOW describes from NOW->start_ns on. */
static void continue_process(struct perf_processes *p, struct perf_process *x,
                             const struct process *now)
{
    uint64_t start_ns = x->info.start_ns;
    bool unknown = x->info.command && !now->command; /* an update cannot remove it */

    if (x->used || x->info.end_ns || unknown) {
        x->info.end_ns = now->start_ns;
        update_process(p, x);
        x->info = *now;
        x->info.end_ns = 0;
        x->id = intern_process(p->in, &x->info);
        x->used = false;
    } else {
        x->info = *now;
        x->info.start_ns = start_ns;
        update_process(p, x);
    }
    x->ended = false;
}

/* Continue T, called NAME from TIME_NS on.  A thread that changes its name for each request has
 * one item for each name. */
static void continue_thread(struct perf_processes *p, struct perf_thread *t, uint32_t name,
                            uint64_t time_ns)
{
    uint64_t key;
    uint32_t known;

    if (!t->used && !t->info.end_ns) {
        t->info.process = t->process->id;
        t->info.name = name;
        update_thread(p, t);
        return;
    }
    if (!t->info.end_ns) {
        t->info.end_ns = time_ns;
        update_thread(p, t);
    }
    umap_put(&p->by_name, hash_pair(hash_pair(t->info.process, t->info.name), (uint64_t)t->tid),
             t->id);
    t->info = (struct thread){ t->process->id, name, t->tid, time_ns, 0 };
    key = hash_pair(hash_pair(t->info.process, name), (uint64_t)t->tid);
    known = umap_find(&p->by_name, key);
    t->id = known ? known : intern_thread(p->in, &t->info);
    t->used = known;
}

void perf_process_mark_used(struct perf_processes *p, struct perf_thread *t, uint64_t time_ns)
{
    struct perf_process *x = t->process;

    if (t->info.process != x->id)
        continue_thread(p, t, t->info.name, time_ns); /* another thread renamed the process */
    if (!x->used && x->inherited_command) { /* it runs before it calls exec */
        x->info.command = x->inherited_command;
        update_process(p, x);
    }
    t->used = x->used = true;
}

/* exec ends the other threads; the caller gets the tid of the first. */
static void end_other_threads(struct perf_processes *p, struct perf_thread *t, uint64_t time_ns)
{
    for (struct perf_thread *other = t->process->threads; other; other = other->older) {
        if (other == t || other->info.end_ns)
            continue;
        other->info.end_ns = time_ns;
        update_thread(p, other);
    }
    t->process->threads = t;
    t->older = NULL;
}

static void forget_stacks(struct perf_processes *p, struct perf_thread *t)
{
    vec_clear(&t->last);
    t->last_space = NULL;
    t->joints = ++p->n_joints;
    t->calls.n = 0;
    t->user_stack = t->last_stack = t->wait_stack = t->block_stack = t->switch_stack = 0;
    t->out_ns = 0;
}

/* The old mappings no longer exist. */
static void on_exec(struct perf_processes *p, struct perf_thread *t, uint32_t name,
                    uint64_t time_ns)
{
    struct perf_process *x = t->process;
    struct process now = x->info;
    uint32_t before = x->id;

    end_other_threads(p, t, time_ns);
    forget_stacks(p, t);
    space_drop(p, x->space);
    x->space = space_new(cfi_space_new(p->arch));
    x->execs++;
    forget_frames(x);
    x->is_opaque = false;
    free(x->jit_dump);
    x->jit_dump = NULL;
    x->has_unread_maps = false;
    now.name = name;
    now.command = find_command(p, x->pid, 0);
    now.start_ns = time_ns;
    x->inherited_command = 0;
    continue_process(p, x, &now);
    vec_push(&p->past, ((struct perf_past){ x->pid, time_ns, x->id == before ? 0 : before }));
    continue_thread(p, t, name, time_ns);
    find_root_and_user(p, x);
}

static struct perf_past *find_past(struct perf_processes *p, int64_t pid, uint64_t time_ns)
{
    for (size_t i = 0; i < p->past.n; i++)
        if (p->past.v[i].pid == pid && time_ns < p->past.v[i].until_ns)
            return &p->past.v[i];
    return NULL;
}

uint32_t perf_process_item_at(struct perf_processes *p, int64_t pid, uint64_t time_ns,
                              const char *comm)
{
    struct perf_past *w = find_past(p, pid, time_ns);

    if (!w)
        return perf_process_thread(p, pid, pid)->process->id;
    if (!w->id)
        w->id = intern_process(p->in, &(struct process){ .pid = pid, .end_ns = w->until_ns,
                                                         .name = intern_cstr(p->in, comm) });
    return w->id;
}

uint32_t perf_process_thread_at(struct perf_processes *p, int64_t pid, int64_t tid,
                                uint64_t time_ns, const char *comm, const char *name)
{
    struct perf_past *w = find_past(p, pid, time_ns);
    struct thread info = { .tid = tid };
    struct perf_thread *t;
    uint64_t key;
    uint32_t id;

    if (!w)
        return perf_process_thread(p, pid, tid)->id;
    info.process = perf_process_item_at(p, pid, time_ns, comm);
    info.name = intern_cstr(p->in, name);
    info.end_ns = w->until_ns;
    t = perf_process_find_thread(p, tid);
    if (t && t->info.process == info.process)
        return t->id;
    key = hash_pair(hash_pair(info.process, info.name), (uint64_t)tid);
    id = umap_find(&p->by_name, key);
    if (!id) {
        id = intern_thread(p->in, &info);
        umap_put(&p->by_name, key, id);
    }
    return id;
}

static void on_rename(struct perf_processes *p, struct perf_thread *t, uint32_t name,
                      uint64_t time_ns)
{
    struct perf_process *x = t->process;

    if (t->tid == x->pid && x->info.name != name) {
        struct process now = x->info;

        now.name = name;
        now.start_ns = time_ns;
        continue_process(p, x, &now);
    }
    if (t->info.name != name || t->info.process != x->id)
        continue_thread(p, t, name, time_ns);
}

static void on_comm(struct perf_processes *p, const struct perf_record *r)
{
    struct perf_thread *t = perf_process_find_thread(p, r->tid);
    bool exec = r->misc & PERF_RECORD_MISC_COMM_EXEC;
    uint32_t name = intern_cstr(p->in, r->text);

    /* The first record of the launched command: /proc has nothing useful yet. */
    if (!t && exec && !find_process(p, r->pid)) {
        struct process info = { .pid = r->pid, .name = name, .start_ns = r->time_ns };

        info.parent_pid = find_parent(p, r->pid);
        t = add_thread(p, add_process(p, &info, NULL), r->tid, name, r->time_ns);
    } else if (!t || t->process->pid != r->pid)
        t = perf_process_thread(p, r->pid, r->tid);
    if (exec)
        on_exec(p, t, name, r->time_ns);
    else
        on_rename(p, t, name, r->time_ns);
}

static void on_fork(struct perf_processes *p, const struct perf_record *r)
{
    struct perf_thread *parent = perf_process_find_thread(p, r->parent_tid);
    struct perf_process *from, *x;

    if ((p->no_children && r->pid != r->parent_pid) || find_partial(p, r->parent_pid))
        return;
    if (!parent)
        parent = perf_process_thread(p, r->parent_pid, r->parent_tid);
    from = parent->process;
    x = from;
    if (r->pid != r->parent_pid) {
        struct process info = from->info;

        info.pid = r->pid;
        info.parent_pid = r->parent_pid;
        info.command = 0; /* of the program that it may execute */
        info.start_ns = r->time_ns;
        info.end_ns = 0;
        from->space->users++;
        x = add_process(p, &info, from->space);
        x->inherited_command = from->info.command ? from->info.command : from->inherited_command;
        x->root_fd = from->root_fd;
        x->user = from->user;
        x->mount_ns = from->mount_ns;
    }
    add_thread(p, x, r->tid, parent->info.name, r->time_ns)->parent = parent;
}

static void on_end(struct perf_processes *p, const struct perf_record *r)
{
    struct perf_thread *t = perf_process_find_thread(p, r->tid);

    if (!t)
        return;
    t->info.end_ns = r->time_ns;
    vec_release(&t->last);
    t->last_space = NULL;
    update_thread(p, t);
    if (r->tid != r->pid)
        return;
    t->process->info.end_ns = r->time_ns;
    t->process->ended = true;
    update_process(p, t->process);
}

void perf_process_record(struct perf_processes *p, const struct perf_record *r)
{
    switch (r->type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        on_map(p, r);
        break;
    case PERF_RECORD_COMM:
        on_comm(p, r);
        break;
    case PERF_RECORD_FORK:
        on_fork(p, r);
        break;
    case PERF_RECORD_EXIT:
        on_end(p, r);
        break;
    default:
        break;
    }
}

void perf_process_grew(struct perf_processes *p, struct perf_process *x)
{
    if (x->n_frames == x->space->frame_by_pc.n || !p->modules->host->words)
        return;
    x->n_frames = x->space->frame_by_pc.n;
    if (!x->is_fresh)
        vec_push(&p->fresh, x);
    x->is_fresh = true;
}

const struct unw_range *perf_process_range(struct perf_processes *p, struct perf_space *s,
                                          uint64_t pc, bool *loaded)
{
    const struct unw_range *r = unw_space_find(s->unw, pc);
    struct unw_range w;
    struct perf_module *m;

    if (!r || !(r->module & PERF_PENDING))
        return r;
    w = *r;
    m = perf_module_get(p->modules, w.module & ~PERF_PENDING);
    if (!m || !perf_work_spend(&p->work, perf_work_of_map(s->unw, w.start)))
        return NULL;
    perf_module_load(p->modules, m);
    *loaded = true;
    cfi_space_map(s->unw, w.start, w.end, perf_module_bias(m, w.start, w.start - w.bias),
                  perf_module_table(m), w.module & ~PERF_PENDING);
    return unw_space_find(s->unw, pc);
}
