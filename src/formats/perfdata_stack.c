/* perfdata_stack.c - a sample's addresses as a stack of frames: the kernel's part from the call
 * chain, the program's from its registers and stack bytes where they were kept, else from the
 * chain.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "formats/perfdata.h"

/* Marks inside a call chain are the largest 4,095 numbers. */
static const uint64_t context_max = (uint64_t)-4095;
enum context {
    CONTEXT_HV = -32,
    CONTEXT_KERNEL = -128,
    CONTEXT_USER = -512,
    CONTEXT_USER_DEFERRED = -640,
    CONTEXT_GUEST = -2048,
    CONTEXT_GUEST_KERNEL = -2176,
};
enum { MAX_UNWIND = 512, ABI_64 = 2 };
/* Places in perf's register numbering. */
enum { X86_BP = 6, X86_SP = 7, X86_IP = 8, ARM_FP = 29, ARM_LR = 30, ARM_SP = 31, ARM_PC = 32 };

static void add_frame(struct perf_stacker *k, uint32_t id)
{
    vec_push(&k->frame, id);
}

static const struct perf_ksymbol *find_ksymbol(const struct perf_world *w, uint64_t address)
{
    for (size_t i = w->ksymbol.n; i--;)
        if (address >= w->ksymbol.v[i].start && address < w->ksymbol.v[i].end)
            return &w->ksymbol.v[i];
    return NULL;
}

static void add_kernel(struct perf_stacker *k, uint64_t address, bool is_return)
{
    const struct perf_ksymbol *s = find_ksymbol(k->w, address);

    if (s)
        add_frame(k, s->frame);
    else
        add_frame(k, intern_frame(k->w->in, &(struct frame){ .kind = FRAME_KERNEL,
                                                   .flags = is_return ? FRAME_RETURN : 0,
                                                   .module = perfdata_kernel_module(k->w),
                                                   .address = address +
                                                              k->w->kernel_shift }));
}

static void add_user(struct perf_stacker *k, const struct unw_space *space, uint64_t address,
                     unsigned flags)
{
    const struct unw_range *r = unw_space_find(space, address - !!(flags & FRAME_RETURN));
    struct frame f = { .kind = FRAME_NATIVE, .flags = (uint16_t)flags, .address = address };

    if (r) {
        f.module = r->module;
        f.address = address - r->bias;
        if (k->w->in->module.v[r->module - 1].kind == MODULE_JIT)
            f.kind = FRAME_JIT;
    }
    add_frame(k, intern_frame(k->w->in, &f));
}

static void add_truncated(struct perf_stacker *k)
{
    struct intern *in = k->w->in;

    if (!k->truncated) {
        struct location at = { intern_function(in, &(struct function){
                                   .name = intern_cstr(in, "[truncated]") }), 0 };

        k->truncated = intern_frame(in, &(struct frame){ .kind = FRAME_NOTE,
                                                         .flags = FRAME_TRUNCATED });
        sink_resolve(in->out, k->truncated, &at, 1);
    }
    add_frame(k, k->truncated);
}

/* Register NUMBER out of those that MASK says were kept. */
static uint64_t reg(const struct perf_sample *s, unsigned number)
{
    uint64_t mask = s->attr->regs_user;
    struct cursor c = s->regs;

    if (!(mask >> number & 1))
        return 0;
    cur_skip(&c, 8 * (size_t)__builtin_popcountll(mask & (((uint64_t)1 << number) - 1)));
    return cur_u64(&c);
}

static struct unw_regs registers(const struct perf_file *f, const struct perf_sample *s)
{
    if (perfdata_arch(f) == UNW_AARCH64)
        return (struct unw_regs){ .pc = reg(s, ARM_PC), .sp = reg(s, ARM_SP),
                                  .fp = reg(s, ARM_FP), .lr = reg(s, ARM_LR) };
    return (struct unw_regs){ .pc = reg(s, X86_IP), .sp = reg(s, X86_SP), .fp = reg(s, X86_BP) };
}

/* Until the stack has an id, by which others can be joined to it. */
static void keep_walked(struct perf_stacker *k, uint32_t tid, const struct unw_frame *frames,
                        size_t n)
{
    vec_reserve(&k->walked, n);
    for (size_t i = 0; i < n; i++)
        k->walked.v[i] = (struct joint){ tid, frames[i].pc, frames[i].sp };
    k->walked.n = n;
}

/* Callers of one of the N frames, known from an earlier stack of the thread that was whole: the
 * frames above it stay.  False when there are none. */
static bool join(struct perf_stacker *k, uint32_t tid, const struct unw_frame *frames, size_t *n)
{
    for (size_t i = *n; k->joints.slot && i-- > 1;) {
        k->below = joint_find(&k->joints, (struct joint){ tid, frames[i].pc, frames[i].sp });
        if (k->below) {
            *n = i;
            return true;
        }
    }
    return false;
}

static void count(struct perf_unwound *u, enum unw_end end, bool joined)
{
    u->joined += joined;
    if (end == UNW_ROOT || joined)
        u->complete++;
    else if (end == UNW_CUT || end == UNW_FULL)
        u->cut++;
    else
        u->lost++;
}

static void unwind(struct perf_stacker *k, const struct perf_sample *s,
                   const struct unw_space *space)
{
    struct unw_frame frames[MAX_UNWIND];
    struct unw_regs regs = registers(k->w->file, s);
    struct unw_stack stack = { regs.sp, s->stack.p, cur_left(&s->stack) };
    size_t n = 0;
    bool joined;
    enum unw_end end;

    if (!k->cache)
        k->cache = cfi_cache_new();
    end = unw_walk(space, k->cache, regs, &stack, frames, MAX_UNWIND, &n);
    joined = end != UNW_ROOT && join(k, s->tid, frames, &n);
    if (end == UNW_ROOT || joined)
        keep_walked(k, s->tid, frames, n);
    for (size_t i = 0; i < n; i++)
        add_user(k, space, frames[i].pc,
                 (frames[i].is_return ? FRAME_RETURN : 0u) |
                     (joined && i + 1 == n ? FRAME_JOINED : 0u));
    count(&k->unwound, end, joined);
    if (end != UNW_ROOT && !joined)
        add_truncated(k);
}

static bool is_kernel_mode(uint16_t misc)
{
    unsigned mode = misc & PERF_MISC_CPUMODE;

    return mode == PERF_MISC_KERNEL || mode == PERF_MISC_HYPERVISOR ||
           mode == PERF_MISC_GUEST_KERNEL;
}

struct chain_state {
    bool kernel, first; /* whose addresses these are; the next one is not a return address */
    bool skip;          /* of a guest */
    bool skip_user;     /* the unwinder says it better */
};

static void enter_context(struct chain_state *at, uint64_t mark)
{
    int64_t c = (int64_t)mark;

    at->kernel = c == CONTEXT_KERNEL || c == CONTEXT_HV;
    at->skip = c <= CONTEXT_GUEST && c != CONTEXT_USER;
    at->first = true;
}

static void walk_chain(struct perf_stacker *k, const struct unw_space *space,
                       struct cursor chain, struct chain_state at)
{
    while (cur_left(&chain) >= 8) {
        uint64_t a = cur_u64(&chain);

        if (a >= context_max) {
            if ((int64_t)a == CONTEXT_USER_DEFERRED)
                k->deferred = cur_u64(&chain);
            enter_context(&at, a);
            continue;
        }
        if (at.kernel && !at.skip)
            add_kernel(k, a, !at.first);
        else if (!at.skip && !at.skip_user)
            add_user(k, space, a, at.first ? 0 : FRAME_RETURN);
        at.first = false;
    }
}

void perfdata_stack_resume(struct perf_stacker *k, const uint32_t *frames, size_t n)
{
    vec_clear(&k->frame);
    vec_clear(&k->walked);
    k->below = 0;
    for (size_t i = 0; i < n; i++)
        vec_push(&k->frame, frames[i]);
}

/* Was the kernel's part left out of the call chain (perf record --user-callchains)? */
static bool lacks_kernel(struct cursor chain)
{
    return cur_left(&chain) < 8 || (int64_t)cur_u64(&chain) == CONTEXT_USER;
}

void perfdata_stack_begin(struct perf_stacker *k, const struct perf_sample *s)
{
    const struct unw_space *space = perfdata_process(k->w, s->pid)->space;
    bool unwindable = s->regs_abi == ABI_64 && cur_left(&s->regs) && cur_left(&s->stack);
    bool kernel = is_kernel_mode(s->misc);

    perfdata_stack_resume(k, NULL, 0);
    k->deferred = 0;
    if (kernel && s->ip && lacks_kernel(s->chain))
        add_kernel(k, s->ip, false);
    walk_chain(k, space, s->chain,
               (struct chain_state){ .kernel = kernel, .first = true, .skip_user = unwindable });
    if (unwindable)
        unwind(k, s, space);
    if (!k->frame.n && s->ip)
        add_user(k, space, s->ip, 0);
}

void perfdata_stack_user(struct perf_stacker *k, uint32_t pid, struct cursor chain)
{
    walk_chain(k, perfdata_process(k->w, pid)->space, chain,
               (struct chain_state){ .first = true });
}

uint32_t perfdata_stack_end(struct perf_stacker *k)
{
    uint32_t stack = k->below;
    size_t first = k->frame.n - k->walked.n; /* of the frames we walked */

    if (k->walked.n && !k->joints.slot)
        joint_init(&k->joints);
    for (size_t i = k->frame.n; i--;) {
        stack = intern_stack(k->w->in, stack, k->frame.v[i]);
        if (k->walked.n && i >= first && k->walked.v[i - first].sp)
            joint_put(&k->joints, k->walked.v[i - first], stack);
    }
    return stack;
}

void perfdata_stacker_release(struct perf_stacker *k)
{
    cfi_cache_free(k->cache);
    joint_release(&k->joints);
    vec_release(&k->walked);
    vec_release(&k->frame);
}
