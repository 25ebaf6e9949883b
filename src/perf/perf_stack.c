/* perf_stack.c - see perf_stack.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_stack.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LOADS = 64 }; /* modules of one stack that are met for the first time */

struct user { /* the user part of a stack, leaf first */
    struct unw_frame *frames;
    size_t n;
    enum unw_end end;
    uint32_t parent; /* stack the outermost frame is put on; 0 for none */
    bool joined;
    size_t joint; /* frame, counted from the outermost, below which all is joined */
};

void perf_stack_init(struct perf_stacks *s, struct intern *in, struct perf_processes *p,
                    enum perf_graph graph)
{
    memset(s, 0, sizeof *s);
    s->in = in;
    s->processes = p;
    s->graph = graph;
    s->frames = mem_alloc(PERF_MAX_FRAMES * sizeof *s->frames);
    joint_init(&s->joints);
    s->rules = cfi_cache_new();
}

void perf_stack_release(struct perf_stacks *s)
{
    free(s->frames);
    joint_release(&s->joints);
    cfi_cache_free(s->rules);
    umap_release(&s->kernel_frames);
    umap_release(&s->root_frames);
    umap_release(&s->ends);
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

/* Frame id of F; 0 with *LOADED when its module had to be loaded first. */
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

        frame.kind = m->kind == MODULE_JIT ? FRAME_JIT : FRAME_NATIVE;
        frame.module = m->id;
        frame.address = f->pc - r->bias;
    }
    id = intern_frame(s->in, &frame);
    if (r)
        umap_put(&space->frame_by_pc, frame_key(f), id);
    return id;
}

/* How many of the outermost frames are those of the thread's last stack. */
static size_t same_as_last(const struct perf_thread *t, const struct user *u)
{
    size_t same = 0;

    if (t->last_space != t->process->space || t->last_generation != t->process->space->generation ||
        t->last_root != u->parent)
        return 0;
    while (same < u->n && same < t->last.n) {
        const struct unw_frame *f = &u->frames[u->n - 1 - same];
        const struct perf_step *l = &t->last.v[same];

        if (f->pc != l->pc || f->sp != l->sp)
            break;
        same++;
    }
    return same;
}

/* Load the modules of the frames that are new; true when the walk must be repeated. */
static bool load_modules(struct perf_stacks *s, struct perf_thread *t, const struct user *u,
                         size_t same)
{
    bool loaded = false;

    for (size_t i = 0; i + same < u->n && !loaded; i++)
        frame_of(s, t->process->space, &u->frames[i], &loaded);
    return loaded;
}

/* --- joining --- */

/* Put what was walked on the callers that an earlier stack had at the same place. */
static bool join(struct perf_stacks *s, const struct perf_thread *t, struct user *u)
{
    for (size_t i = u->n; i-- > 1;) {
        const struct unw_frame *f = &u->frames[i];
        uint32_t stack = joint_find(&s->joints, (struct joint){ t->id, f->pc, f->sp });

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

static bool is_mark(uint64_t pc)
{
    return pc >= (uint64_t)PERF_CONTEXT_MAX;
}

static struct part chain_part(const struct perf_words *chain, uint64_t mark)
{
    struct part p = { 0, 0 };
    bool inside = false;

    for (size_t i = 0; i < chain->n; i++) {
        uint64_t x = perf_word(chain, i);

        if (is_mark(x)) {
            inside = x == mark;
            if (inside)
                p = (struct part){ i + 1, 0 }; /* of several the last */
        } else if (inside) {
            p.n++;
        }
    }
    return p;
}

static size_t chain_frames(const struct perf_words *chain, struct part p, size_t skip,
                           struct unw_frame *to, size_t cap)
{
    size_t n = 0;

    for (size_t i = skip; i < p.n && n < cap; i++)
        to[n++] = (struct unw_frame){ perf_word(chain, p.from + i), 0, i > 0 };
    return n;
}

/* The chain may go on where the walk stopped: after the walk's last frame. */
static void extend_by_chain(struct perf_stacks *s, const struct perf_words *chain, struct user *u)
{
    struct part p = chain_part(chain, PERF_CONTEXT_USER);
    uint64_t last = u->n ? u->frames[u->n - 1].pc : 0;

    for (size_t i = 0; i + 1 < p.n; i++)
        if (u->n && perf_word(chain, p.from + i) == last) {
            u->n += chain_frames(chain, p, i + 1, u->frames + u->n, PERF_MAX_FRAMES - u->n);
            return;
        }
    if (p.n > u->n)
        u->n = chain_frames(chain, p, 0, u->frames, PERF_MAX_FRAMES);
}

/* --- the user part --- */

static void walk_branches(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r,
                          struct user *u)
{
    struct perf_lbr_stack b = perf_lbr_walk(r, &t->calls, &s->lbr_depth, u->frames,
                                            PERF_MAX_FRAMES);

    if ((r->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER) {
        u->frames++; /* the address is the kernel's */
        b.n--;
    }
    u->n = b.n;
    u->end = b.whole ? UNW_ROOT : UNW_CUT;
    u->joined = b.stitched > 0;
    u->joint = b.stitched;
}

static void walk(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r,
                 struct user *u)
{
    *u = (struct user){ .frames = s->frames, .end = UNW_LOST };
    if (s->graph == PERF_GRAPH_LBR) {
        walk_branches(s, t, r, u);
    } else if (s->graph == PERF_GRAPH_NONE) {
        u->frames[0] = (struct unw_frame){ .pc = r->ip };
        u->n = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
        u->end = UNW_ROOT;
    } else if (r->has_regs && s->graph != PERF_GRAPH_FP) {
        u->end = unw_walk(t->process->space->unw, s->rules, r->regs, &r->stack, u->frames,
                          PERF_MAX_FRAMES, &u->n);
    } else {
        u->n = chain_frames(&r->chain, chain_part(&r->chain, PERF_CONTEXT_USER), 0, u->frames,
                            PERF_MAX_FRAMES);
    }
}

static bool ends_at_a_root(struct perf_stacks *s, struct perf_thread *t, const struct user *u)
{
    bool loaded = false;

    return u->n && umap_find(&s->root_frames,
                             frame_of(s, t->process->space, &u->frames[u->n - 1], &loaded));
}

/* Where the walk did not reach the root: look for the rest elsewhere. */
static void complete(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r,
                     struct user *u)
{
    if (u->end == UNW_CUT)
        s->counts.short_copies++;
    if (u->end == UNW_ROOT || (s->graph != PERF_GRAPH_LBR && join(s, t, u)))
        return;
    if (s->graph == PERF_GRAPH_AUTO)
        extend_by_chain(s, &r->chain, u);
    if (ends_at_a_root(s, t, u))
        u->end = UNW_ROOT;
    else if (u->n && s->graph != PERF_GRAPH_FP)
        u->parent = truncated_stack(s);
}

static void count(struct perf_stacks *s, const struct user *u)
{
    s->counts.all++;
    if (u->joined)
        s->counts.joined++;
    if (u->joined || u->end == UNW_ROOT)
        s->counts.complete++;
    else if (u->end == UNW_CUT || u->end == UNW_FULL)
        s->counts.cut++;
    else
        s->counts.lost++;
}

/* Whether a chain reached the root can only be told by the name of its last function. */
static void note_end(struct perf_stacks *s, struct perf_thread *t, const struct user *u)
{
    bool loaded = false;
    uint32_t frame = frame_of(s, t->process->space, &u->frames[u->n - 1], &loaded);

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
    bool loaded = false;

    vec_reserve(&t->last, u->n);
    for (size_t i = same; i < u->n; i++) {
        const struct unw_frame *f = &u->frames[u->n - 1 - i];
        uint32_t frame = frame_of(s, t->process->space, f, &loaded);

        if (u->end == UNW_ROOT && i == 0)
            umap_put(&s->root_frames, frame, 1);
        parent = u->joined && i == u->joint ? intern_joint(s, parent, frame)
                                     : intern_stack(s->in, parent, frame);
        t->last.v[i] = (struct perf_step){ f->pc, f->sp, parent };
        if (u->end == UNW_ROOT && f->sp)
            joint_put(&s->joints, (struct joint){ t->id, f->pc, f->sp }, parent);
    }
    t->last.n = u->n;
    t->last_space = t->process->space;
    t->last_generation = t->process->space->generation;
    t->last_root = u->parent;
    return parent;
}

/* In the middle of exec the registers are still those of the program before. */
static bool is_before_exec(const struct perf_thread *t, const struct perf_record *r)
{
    return r->has_regs && (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL &&
           !unw_space_find(t->process->space->unw, r->regs.pc);
}

static uint32_t user_part(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r)
{
    struct user u;
    size_t same = 0;

    /* A walk through a module that is not loaded guesses; load it and walk again. */
    for (int i = 0; i < MAX_LOADS; i++) {
        walk(s, t, r, &u);
        same = same_as_last(t, &u);
        if (!load_modules(s, t, &u, same))
            break;
    }
    if (!u.n || is_before_exec(t, r))
        return 0;
    complete(s, t, r, &u);
    count(s, &u);
    if (s->graph == PERF_GRAPH_FP && u.end != UNW_ROOT)
        note_end(s, t, &u);
    same = u.joined ? 0 : same_as_last(t, &u);
    return intern_user(s, t, &u, same);
}

/* --- the kernel part --- */

static uint32_t kernel_frame(struct perf_stacks *s, uint64_t pc, bool is_return)
{
    uint32_t id = umap_find(&s->kernel_frames, pc * 2 + is_return);
    struct frame f = { .kind = FRAME_KERNEL, .flags = is_return ? FRAME_RETURN : 0,
                       .address = pc };

    if (id)
        return id;
    if (!s->kernel_module) {
        struct module m = { .path = intern_cstr(s->in, "[kernel]"), .kind = MODULE_KERNEL };

        s->kernel_module = intern_module(s->in, &m);
    }
    f.module = s->kernel_module;
    id = intern_frame(s->in, &f);
    umap_put(&s->kernel_frames, pc * 2 + is_return, id);
    return id;
}

static uint32_t kernel_part(struct perf_stacks *s, const struct perf_record *r, uint32_t parent)
{
    struct part p = chain_part(&r->chain, PERF_CONTEXT_KERNEL);

    if (!p.n && (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
        return intern_stack(s->in, parent, kernel_frame(s, r->ip, false));
    for (size_t i = p.n; i-- > 0;)
        parent = intern_stack(s->in, parent,
                              kernel_frame(s, perf_word(&r->chain, p.from + i), i > 0));
    return parent;
}

uint32_t perf_stack_of_user(struct perf_stacks *s, struct perf_thread *t,
                            const struct perf_record *r)
{
    return t->user_stack = user_part(s, t, r);
}

uint32_t perf_stack_of(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r)
{
    return kernel_part(s, r, perf_stack_of_user(s, t, r));
}
