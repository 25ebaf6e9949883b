/* perf_stack.c - see perf_stack.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/module_kind.h"

enum {
    MAX_LOADS = 64,          /* modules loaded for one stack */
    MOST_KSYMBOLS = 1 << 20,
};

struct user { /* the user part of a stack, leaf first */
    struct unw_frame *frames;
    size_t n;
    enum unw_end end;
    uint32_t parent; /* parent stack of the outermost frame; 0: none */
    enum way { BY_TABLES, BY_CHAIN, BY_BRANCHES, BY_ADDRESS } way;
    bool joined;
    size_t joint; /* index from the outermost of the first joined frame */
};

void perf_stack_init(struct perf_stacks *s, struct intern *in, struct perf_processes *p)
{
    memset(s, 0, sizeof *s);
    s->in = in;
    s->processes = p;
    snprintf(s->kernel_path, sizeof s->kernel_path, "[kernel]");
    s->frames = mem_alloc(PERF_MAX_FRAMES * sizeof *s->frames);
    s->ksymbols = cfi_space_new(UNW_X86_64);
}

void perf_stack_release(struct perf_stacks *s)
{
    free(s->frames);
    joint_release(&s->joints);
    cfi_cache_free(s->rules);
    umap_release(&s->kernel_frames);
    umap_release(&s->root_frames);
    umap_release(&s->ends);
    cfi_space_free(s->ksymbols);
}

static uint32_t truncated_stack(struct perf_stacks *s)
{
    if (!s->truncated) {
        uint32_t name = intern_cstr(s->in, "[truncated]");
        struct function f = { .name = name };
        struct frame frame = { .kind = FRAME_NOTE, .flags = FRAME_TRUNCATED };
        struct location at = { intern_function(s->in, &f), 0 };
        uint32_t id = intern_frame(s->in, &frame);

        sink_resolve(s->in->out, id, &at, 1);
        s->truncated = intern_stack(s->in, 0, id);
    }
    return s->truncated;
}

/* --- frames --- */

static uint64_t frame_key(const struct unw_frame *f)
{
    return f->pc * 2 + f->is_return;
}

/* Frame id of F; 0 with *LOADED set when its module was just loaded. */
static uint32_t frame_of(struct perf_stacks *s, struct perf_space *space, const struct unw_frame *f,
                         bool *loaded)
{
    uint32_t id = umap_find(&space->frame_by_pc, frame_key(f));
    const struct unw_range *r;
    struct frame frame = { .flags = f->is_return ? FRAME_RETURN : 0, .address = f->pc };

    if (id)
        return id;
    r = perf_process_range(s->processes, space, f->pc - f->is_return, loaded);
    if (*loaded)
        return 0;
    if (r) {
        const struct perf_module *m = perf_module_get(s->processes->modules, r->module);

        frame.kind = module_frame_kind(m->kind);
        frame.module = m->id;
        frame.address = f->pc - r->bias;
    }
    id = intern_frame(s->in, &frame);
    if (r)
        umap_put(&space->frame_by_pc, frame_key(f), id);
    return id;
}

/* The same after the walk: loads the module if the walk met too many to repeat it for each. */
static uint32_t frame_now(struct perf_stacks *s, struct perf_space *space,
                          const struct unw_frame *f)
{
    bool loaded = false;
    uint32_t id = frame_of(s, space, f, &loaded);

    loaded = false;
    return id ? id : frame_of(s, space, f, &loaded);
}

/* Number of outermost frames that equal those of the thread's last stack. */
static size_t same_as_last(const struct perf_thread *t, const struct user *u)
{
    size_t same = 0;

    if (t->last_space != t->process->space || t->last_generation != t->process->space->generation ||
        t->last_root != u->parent)
        return 0;
    while (same < u->n && same < t->last.n) {
        const struct unw_frame *f = &u->frames[u->n - 1 - same];
        const struct perf_step *l = &t->last.v[same];

        if (f->pc != l->pc || f->sp != l->sp || f->is_return != l->is_return)
            break;
        same++;
    }
    return same;
}

/* Load the modules of new frames.  Returns true when the walk must be repeated. */
static bool load_modules(struct perf_stacks *s, struct perf_thread *t, const struct user *u,
                         size_t same)
{
    bool loaded = false;

    for (size_t i = 0; i + same < u->n && !loaded; i++)
        frame_of(s, t->process->space, &u->frames[i], &loaded);
    return loaded;
}

/* --- joining --- */

/* Join the walked frames to the callers of an earlier stack at the same place. */
static bool join(struct perf_stacks *s, const struct perf_thread *t, struct user *u)
{
    for (size_t i = u->n; i-- > 1;) {
        const struct unw_frame *f = &u->frames[i];
        uint32_t stack = joint_find(&s->joints, (struct joint){ t->joints, f->pc, f->sp });

        if (!stack)
            continue;
        u->n = i;
        u->parent = stack;
        u->joined = true;
        return true;
    }
    return false;
}

/* --- the kernel's call chain --- */

struct part { /* of a call chain, leaf first */
    size_t from, n;
};
struct chain {
    const struct perf_words *words;
    struct part kernel, user;
};

static bool is_mark(uint64_t pc)
{
    return pc >= (uint64_t)PERF_CONTEXT_MAX;
}

static bool is_kernel_mark(uint64_t x)
{
    return x == (uint64_t)PERF_CONTEXT_KERNEL || x == (uint64_t)PERF_CONTEXT_HV;
}

/* Split a chain into its kernel and user parts; of several of a kind the last wins.  Addresses
 * before any marker belong to the sampled context. */
static struct chain split_chain(const struct perf_record *r)
{
    struct chain c = { .words = &r->chain };
    struct part other = { 0 };
    struct part *at = perf_record_in_kernel(r) ? &c.kernel : &c.user;

    for (size_t i = 0; i < r->chain.n; i++) {
        uint64_t x = perf_word(&r->chain, i);

        if (!is_mark(x)) {
            at->n++;
            continue;
        }
        at = is_kernel_mark(x)                   ? &c.kernel
             : x == (uint64_t)PERF_CONTEXT_USER ? &c.user
                                                 : &other; /* of a guest */
        *at = (struct part){ i + 1, 0 };
    }
    return c;
}

static uint64_t user_word(const struct chain *c, size_t i)
{
    return perf_word(c->words, c->user.from + i);
}

/* The kernel follows any register value that points into the stack.  Addresses that were accepted
 * before have a frame. */
static bool is_return(const struct perf_space *space, const struct unw_frame *f)
{
    return umap_find(&space->frame_by_pc, frame_key(f)) || unw_is_return(space->unw, f->pc);
}

static void take_chain(const struct perf_space *space, const struct chain *c, struct user *u)
{
    for (u->n = 0; u->n < c->user.n && u->n < PERF_MAX_FRAMES; u->n++) {
        u->frames[u->n] = (struct unw_frame){ user_word(c, u->n), 0, u->n > 0 };
        if (u->n && !is_return(space, &u->frames[u->n]))
            return;
    }
}

/* Index of the word of the chain after the walk's last frame, or the chain's length.  The chain
 * may skip frames, but not add any. */
static size_t chain_after(const struct chain *c, const struct user *u)
{
    size_t i = 0;

    for (size_t at = 0; at < u->n && i < c->user.n; i++, at++) {
        while (at < u->n && u->frames[at].pc != user_word(c, i))
            at++;
        if (at + 1 == u->n)
            return i + 1;
    }
    return c->user.n;
}

/* Continue the walk with the chain, as long as it cannot skip a caller. */
static void extend_by_chain(const struct perf_space *space, const struct chain *c, struct user *u)
{
    for (size_t i = chain_after(c, u); i < c->user.n && u->n < PERF_MAX_FRAMES; i++) {
        struct unw_frame next = { user_word(c, i), 0, true };
        const struct unw_frame *last = &u->frames[u->n - 1];

        if (!unw_keeps_frame(space->unw, last->pc - last->is_return) || !is_return(space, &next))
            return;
        u->frames[u->n++] = next;
    }
}

/* --- the user part --- */

static void walk_branches(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r,
                          struct user *u)
{
    struct perf_lbr_stack b = perf_lbr_walk(r, &t->calls, &s->lbr_depth, u->frames,
                                            PERF_MAX_FRAMES);

    if ((r->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER) {
        u->frames++; /* the address is in the kernel */
        b.n--;
    }
    u->way = BY_BRANCHES;
    u->n = b.n;
    u->end = b.complete ? UNW_ROOT : UNW_CUT;
    u->joined = b.joined > 0;
    u->joint = b.joined;
}

/* A sample with few calls may be joined to a thousand, which are new frames when another file is
 * mapped there. */
static void limit_joined(struct perf_stacks *s, struct user *u)
{
    uint64_t items = 2 * u->n + 2; /* a frame and a stack each, and those of the joint */

    if (u->way != BY_BRANCHES || !u->joined || items * PERF_WORK_ITEM <= s->processes->work.left)
        return;
    u->n -= u->joint;
    u->joined = false;
    u->joint = 0;
    u->end = UNW_CUT;
}

static bool has_open_calls(const struct perf_record *r)
{
    return r->attr && r->attr->branch_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

/* The frame pointer, if frame F was the first that needed it. */
static bool find_frame_pointer(const struct perf_process *x, const struct unw_frame *f,
                               uint64_t *fp)
{
    uint64_t address = f->pc - f->is_return;
    const struct unw_range *range = unw_space_find(x->space->unw, address);
    int32_t offset;

    if (!range || !range->table || !cfi_table_frame(range->table, address - range->bias, &offset))
        return false;
    *fp = f->sp + (uint64_t)(int64_t)offset;
    return true;
}

static void walk_by_tables(struct perf_stacks *s, const struct perf_process *x,
                           const struct perf_record *r, struct user *u)
{
    const struct unw_space *space = x->space->unw;
    struct unw_regs regs = r->regs;

    u->end = unw_walk(space, s->rules, regs, &r->stack, u->frames, PERF_MAX_FRAMES, &u->n);
    if (r->no_fp && u->end == UNW_LOST && u->n &&
        find_frame_pointer(x, &u->frames[u->n - 1], &regs.fp))
        u->end = unw_walk(space, s->rules, regs, &r->stack, u->frames, PERF_MAX_FRAMES, &u->n);
}

static void walk(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r,
                 const struct chain *c, struct user *u)
{
    *u = (struct user){ .frames = s->frames, .end = UNW_LOST };
    if (has_open_calls(r)) {
        walk_branches(s, t, r, u);
    } else if (r->has_regs && r->has_stack) {
        u->way = BY_TABLES; /* also while a page of the stack is missing: the copy is empty then */
        if (!s->rules) /* large: only for recordings with registers */
            s->rules = cfi_cache_new();
        walk_by_tables(s, t->process, r, u);
    } else if (c->user.n) {
        u->way = BY_CHAIN;
        take_chain(t->process->space, c, u);
    } else {
        u->way = BY_ADDRESS;
        u->frames[0] = (struct unw_frame){ .pc = r->ip };
        u->n = r->ip && !perf_record_in_kernel(r);
        u->end = UNW_ROOT;
    }
}

static bool ends_at_a_root(struct perf_stacks *s, struct perf_thread *t, const struct user *u)
{
    return u->n && umap_find(&s->root_frames,
                             frame_now(s, t->process->space, &u->frames[u->n - 1]));
}

/* Leave out the callers in our own library. */
static void drop_own(const struct perf_space *space, struct user *u)
{
    size_t n = 1;

    for (size_t i = 1; i < u->n && space->own_end; i++)
        if (u->frames[i].pc - space->own_start >= space->own_end - space->own_start)
            u->frames[n++] = u->frames[i];
    u->n = space->own_end ? n : u->n;
}

/* Complete a walk that did not reach the root. */
static void complete(struct perf_stacks *s, struct perf_thread *t, const struct chain *c,
                     struct user *u)
{
    if (u->end == UNW_CUT)
        s->counts.short_copies++;
    if (u->end == UNW_ROOT || (u->way == BY_TABLES && join(s, t, u)))
        return;
    if (u->way == BY_TABLES)
        extend_by_chain(t->process->space, c, u);
    if (ends_at_a_root(s, t, u))
        u->end = UNW_ROOT;
    else if (u->n && u->way != BY_CHAIN)
        u->parent = truncated_stack(s);
}

static void count_bare(struct perf_stacks *s, struct perf_thread *t, const struct user *u)
{
    uint32_t frame = frame_now(s, t->process->space, &u->frames[u->n - 1]);

    s->counts.bare++;
    s->bare_module = s->in->frame.v[frame - 1].module;
}

static void count(struct perf_stacks *s, struct perf_thread *t, const struct user *u)
{
    s->counts.all++;
    if (u->joined)
        s->counts.joined++;
    if (u->joined || u->end == UNW_ROOT)
        s->counts.complete++;
    else if (u->end == UNW_CUT || u->end == UNW_FULL)
        s->counts.cut++;
    else if (u->end == UNW_BARE)
        count_bare(s, t, u);
    else {
        s->counts.lost++;
        s->counts.chains += u->way == BY_CHAIN;
    }
}

/* Only the name of the last function shows whether a chain reached the root. */
static void note_end(struct perf_stacks *s, struct perf_thread *t, const struct user *u)
{
    uint32_t frame = frame_now(s, t->process->space, &u->frames[u->n - 1]);

    umap_put(&s->ends, frame, umap_find(&s->ends, frame) + 1);
}

static uint32_t intern_joint(struct perf_stacks *s, uint32_t parent, uint32_t frame)
{
    struct frame f = s->in->frame.v[frame - 1];

    f.flags |= FRAME_JOINED;
    return intern_stack(s->in, parent, intern_frame(s->in, &f));
}

static uint32_t intern_user(struct perf_stacks *s, struct perf_thread *t, const struct user *u,
                            size_t same)
{
    uint32_t parent = same ? t->last.v[same - 1].stack : u->parent;

    vec_reserve(&t->last, u->n);
    for (size_t i = same; i < u->n; i++) {
        const struct unw_frame *f = &u->frames[u->n - 1 - i];
        uint32_t frame = frame_now(s, t->process->space, f);

        if (u->end == UNW_ROOT && u->way != BY_ADDRESS && i == 0)
            umap_put(&s->root_frames, frame, 1);
        parent = u->joined && i == u->joint ? intern_joint(s, parent, frame)
                                     : intern_stack(s->in, parent, frame);
        t->last.v[i] = (struct perf_step){ f->pc, f->sp, parent, f->is_return };
        if (u->end == UNW_ROOT && f->sp)
            joint_put(&s->joints, (struct joint){ t->joints, f->pc, f->sp }, parent);
    }
    t->last.n = u->n;
    t->last_space = t->process->space;
    t->last_generation = t->process->space->generation;
    t->last_root = u->parent;
    return parent;
}

/* During exec the registers are still those of the old program. */
static bool is_before_exec(const struct perf_thread *t, const struct perf_record *r)
{
    return r->has_regs && (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL &&
           !unw_space_find(t->process->space->unw, r->regs.pc);
}

static uint32_t user_part(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r,
                          const struct chain *c)
{
    struct user u;
    size_t same = 0, n_items = s->in->frame.n + s->in->stack.n;
    uint32_t stack;

    /* A walk through an unloaded module is a guess: load it and repeat. */
    for (int i = 0; i < MAX_LOADS; i++) {
        walk(s, t, r, c, &u);
        limit_joined(s, &u);
        same = same_as_last(t, &u);
        if (load_modules(s, t, &u, same))
            continue;
        if ((u.end != UNW_BARE && u.end != UNW_LOST) ||
            !perf_process_reread(s->processes, t->process, r->time_ns))
            break;
    }
    if (!u.n || is_before_exec(t, r))
        return 0;
    if (u.way == BY_TABLES)
        drop_own(t->process->space, &u);
    complete(s, t, c, &u);
    count(s, t, &u);
    if (u.way == BY_CHAIN && u.end != UNW_ROOT)
        note_end(s, t, &u);
    same = u.joined ? 0 : same_as_last(t, &u);
    stack = intern_user(s, t, &u, same);
    if (u.way == BY_BRANCHES && u.joined)
        perf_work_spend(&s->processes->work,
                        (s->in->frame.n + s->in->stack.n - n_items) * PERF_WORK_ITEM);
    perf_process_grew(s->processes, t->process);
    return stack;
}

/* --- the kernel part --- */

static uint32_t kernel_module(struct perf_stacks *s)
{
    if (!s->kernel_module)
        s->kernel_module = intern_module(
            s->in, &(struct module){ .path = intern_cstr(s->in, s->kernel_path),
                                     .kind = MODULE_KERNEL });
    return s->kernel_module;
}

void perf_stack_ksymbol(struct perf_stacks *s, const struct perf_record *r)
{
    struct function f = { .name = intern_cstr(s->in, r->text), .module = kernel_module(s) };
    struct perf_work *work = &s->processes->work;
    uint32_t frame;

    if (!*r->text)
        return;
    if (s->ksymbols->n >= MOST_KSYMBOLS ||
        !perf_work_spend(work, perf_work_of_map(s->ksymbols, r->start))) {
        work->ignored++;
        return;
    }
    frame = intern_named_frame(s->in, FRAME_KERNEL, intern_function(s->in, &f), 0);
    cfi_space_map(s->ksymbols, r->start, r->start + r->size, 0, NULL, frame);
    umap_clear(&s->kernel_frames);
}

static uint32_t find_ksymbol(const struct perf_stacks *s, uint64_t pc)
{
    const struct unw_range *r = unw_space_find(s->ksymbols, pc);

    return r ? r->module : 0;
}

static uint32_t kernel_frame(struct perf_stacks *s, uint64_t pc, bool is_return)
{
    uint32_t id = umap_find(&s->kernel_frames, pc * 2 + is_return);
    struct frame f = { .kind = FRAME_KERNEL, .flags = is_return ? FRAME_RETURN : 0,
                       .address = pc + s->kernel_shift };

    if (id)
        return id;
    f.module = kernel_module(s);
    id = find_ksymbol(s, pc - is_return);
    if (!id)
        id = intern_frame(s->in, &f);
    umap_put(&s->kernel_frames, pc * 2 + is_return, id);
    return id;
}

static uint32_t kernel_part(struct perf_stacks *s, const struct perf_record *r,
                            const struct chain *c, uint32_t parent)
{
    if (!c->kernel.n && perf_record_in_kernel(r) && r->ip)
        return intern_stack(s->in, parent, kernel_frame(s, r->ip, false));
    for (size_t i = c->kernel.n; i-- > 0;)
        parent = intern_stack(s->in, parent,
                              kernel_frame(s, perf_word(c->words, c->kernel.from + i), i > 0));
    return parent;
}

uint32_t perf_stack_of_user(struct perf_stacks *s, struct perf_thread *t,
                            const struct perf_record *r)
{
    struct chain c = split_chain(r);

    return t->user_stack = user_part(s, t, r, &c);
}

uint32_t perf_stack_of(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r)
{
    struct chain c = split_chain(r);

    t->user_stack = user_part(s, t, r, &c);
    return kernel_part(s, r, &c, t->user_stack);
}
