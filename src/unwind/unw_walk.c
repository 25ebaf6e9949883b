/* unw_walk.c - walk a stack, from each frame to its caller.
 *
 * A step applies the module's rule.  Without one the walk ends: the registers of such code prove
 * nothing.  Exceptions are code generated at run time, which keeps frame pointers if anything, and
 * an address outside all code, which was just called.  A step is accepted only after the rule of
 * the next frame was looked up: that look-up is needed anyway, and an address outside all mapped
 * code cannot be a caller.  If the step was not made by call-frame information, a call instruction
 * must precede the address.  SPDX-License-Identifier: Apache-2.0 */
#include "unwind/unw_machine.h"
#include "unwind/unw_table.h"

enum { SETS = 1 << 14, FAR = 8 << 20 }; /* FAR: stacks are rarely larger */

struct slot {
    uint64_t pc;
    uint32_t generation; /* of the space; 0 = free */
    bool has_table;
    uint8_t called; /* enum called */
    struct unw_rule rule; /* cfa NONE: code without a rule */
};

/* Whether a call ends right after the slot's address. */
enum called { CALLED_UNKNOWN, CALLED_YES, CALLED_NO };

struct set { /* one cache line */
    struct slot way[2];
};

struct unw_cache {
    struct set *set; /* after this struct, from the next cache line on */
    struct unw_walk_stats stats;
};

size_t unw_cache_bytes(void)
{
    return sizeof(struct unw_cache) + (SETS + 1) * sizeof(struct set);
}

struct unw_cache *unw_cache_init(void *memory)
{
    struct unw_cache *c = memory;

    c->set = (void *)(((uintptr_t)(c + 1) + 63) & ~(uintptr_t)63);
    return c;
}

const struct unw_walk_stats *unw_cache_stats(const struct unw_cache *c)
{
    return &c->stats;
}

struct walk {
    const struct unw_space *space;
    const struct unw_machine *machine;
    struct unw_cache *cache;
    const struct unw_stack *stack;
    struct unw_regs regs;
    bool leaf; /* or interrupted: pc is exact and the link register valid */
};

static bool look_up(const struct unw_space *s, uint64_t pc, struct slot *out)
{
    const struct unw_range *range = unw_space_find(s, pc);
    const struct unw_rule *rule;

    if (!range)
        return false;
    rule = range->table ? unw_table_rule(range->table, pc - range->bias) : NULL;
    out->pc = pc;
    out->generation = s->generation;
    out->has_table = range->table != NULL;
    out->called = CALLED_UNKNOWN;
    out->rule = rule ? *rule : (struct unw_rule){ 0 };
    return true;
}

/* Return the filled cache slot for PC, or a filled *OWN without a cache; NULL when PC is not
 * mapped. */
static struct slot *find_slot(const struct walk *w, uint64_t pc, struct slot *own)
{
    uint64_t h = (pc + ((uint64_t)w->space->generation << 40)) * 0x9e3779b97f4a7c15u;
    struct slot *way;

    if (!w->cache)
        return look_up(w->space, pc, own) ? own : NULL;
    way = w->cache->set[h >> (64 - 14)].way;
    if (way[0].pc == pc && way[0].generation == w->space->generation) {
        w->cache->stats.cache_hits++;
        return &way[0];
    }
    if (way[1].pc == pc && way[1].generation == w->space->generation) {
        w->cache->stats.cache_hits++;
        return &way[1];
    }
    if (!look_up(w->space, pc, own))
        return NULL;
    way[1] = way[0];
    way[0] = *own;
    return &way[0];
}

/* --- return addresses --- */

/* Whether a call ends at PC, as far as the bytes of the code are available. */
static bool follows_call(const struct unw_space *s, const struct unw_range *r, uint64_t pc)
{
    unsigned char code[UNW_CALL_BYTES];
    uint64_t n = pc - r->start;
    int64_t target;

    if (!r->table || !r->table->code)
        return true;
    n = n < sizeof code ? n : sizeof code;
    if (!r->table->code(r->table, pc - n - r->bias, code, n))
        return true;
    if (!s->machine->follows_call(code + n, n, &target))
        return false;
    return target == 0 || unw_space_find(s, pc + (uint64_t)target);
}

/* Code that is entered otherwise than by a call. */
static bool is_entered_without_call(const struct unw_rule *r)
{
    return r->flags & UNW_RULE_SIGNAL || unw_rule_at(r, UNW_PC) == UNW_AT_ROOT;
}

/* SLOT is that of PC - 1. */
static bool is_return(const struct walk *w, struct slot *slot, uint64_t pc)
{
    if (slot->called == CALLED_UNKNOWN)
        slot->called = is_entered_without_call(&slot->rule) ||
                       follows_call(w->space, unw_space_find(w->space, pc - 1), pc)
                           ? CALLED_YES : CALLED_NO;
    return slot->called == CALLED_YES;
}

bool unw_is_return(const struct unw_space *s, uint64_t pc)
{
    const struct unw_range *r = unw_space_find(s, pc - 1);
    struct slot slot;

    return r && (follows_call(s, r, pc) ||
                 (look_up(s, pc - 1, &slot) && is_entered_without_call(&slot.rule)));
}

bool unw_keeps_frame(const struct unw_space *s, uint64_t address)
{
    const struct unw_rule *chain = &s->machine->fp_chain;
    struct slot slot;

    if (!look_up(s, address, &slot))
        return false;
    return !slot.has_table || (slot.rule.cfa == chain->cfa && slot.rule.cfa_off == chain->cfa_off &&
                               slot.rule.off[UNW_FP] == chain->off[UNW_FP]);
}

/* --- one step by one rule --- */

enum step { STEP_OK, STEP_ROOT, STEP_CUT, STEP_BARE, STEP_LOST };

/* A word is missing: if it lies above the copy, the copy was too short. */
static enum step missing(const struct walk *w, uint64_t address)
{
    return address >= w->stack->base ? STEP_CUT : STEP_LOST;
}

static enum step find_cfa(const struct walk *w, const struct unw_rule *r, uint64_t *cfa)
{
    uint64_t off = (uint64_t)(int64_t)r->cfa_off, at;

    switch (r->cfa) {
    case UNW_CFA_SP: *cfa = w->regs.sp + off; return STEP_OK;
    case UNW_CFA_FP: *cfa = w->regs.fp + off; return STEP_OK;
    case UNW_CFA_PLT:
        *cfa = w->regs.sp + off + ((w->regs.pc & 15) >= r->extra ? 8 : 0);
        return STEP_OK;
    case UNW_CFA_SP_DEREF: case UNW_CFA_FP_DEREF:
        at = (r->cfa == UNW_CFA_SP_DEREF ? w->regs.sp : w->regs.fp) + off;
        if (!unw_load(w->stack, at, cfa))
            return missing(w, at);
        *cfa += r->extra;
        return STEP_OK;
    case UNW_CFA_BX: *cfa = w->regs.bx + off; return w->regs.bx ? STEP_OK : STEP_LOST;
    case UNW_CFA_R10: *cfa = w->regs.r10 + off; return w->regs.r10 ? STEP_OK : STEP_LOST;
    default: return STEP_LOST;
    }
}

/* The caller's value of COLUMN; SAME is the callee's value. */
static inline __attribute__((always_inline)) enum step
load_column(const struct walk *w, const struct unw_rule *r, uint64_t cfa, enum unw_column column,
            uint64_t same, uint64_t *to)
{
    unsigned where = unw_rule_at(r, column);
    uint64_t at;

    if (where < UNW_AT_CFA) {
        *to = where == UNW_AT_SAME ? same : 0;
        return STEP_OK;
    }
    at = where == UNW_AT_CFA ? cfa : where == UNW_AT_SP ? w->regs.sp : w->regs.fp;
    at += (uint64_t)unw_rule_off(r, column);
    if (at < w->regs.sp && where == UNW_AT_CFA) { /* popped: CFI does not record this */
        *to = same;
        return STEP_OK;
    }
    return unw_load(w->stack, at, to) ? STEP_OK : missing(w, at);
}

/* Functions that realign their stack save fp at *fp, and the CFI of gcc still records that after
 * it was popped.  While it is saved, a copy of the return address lies above it. */
static bool fp_is_popped(const struct walk *w, const struct unw_rule *r, uint64_t pc)
{
    uint64_t copy;

    return w->leaf && (r->cfa == UNW_CFA_SP || r->cfa == UNW_CFA_R10) &&
           unw_rule_at(r, UNW_FP) == UNW_AT_FP && unw_load(w->stack, w->regs.fp + 8, &copy) &&
           copy != pc;
}

/* Compute the caller's registers by rule R into *TO, which is zeroed. */
static enum step apply(const struct walk *w, const struct unw_rule *r, struct unw_regs *to)
{
    uint64_t cfa, link = w->leaf ? w->regs.lr : 0;
    unsigned pc_at = unw_rule_at(r, UNW_PC);
    enum step s;

    if (pc_at == UNW_AT_ROOT)
        return STEP_ROOT;
    if ((s = find_cfa(w, r, &cfa)) != STEP_OK ||
        (s = load_column(w, r, cfa, UNW_FP, w->regs.fp, &to->fp)) != STEP_OK ||
        (s = load_column(w, r, cfa, UNW_BX, w->regs.bx, &to->bx)) != STEP_OK ||
        (s = load_column(w, r, cfa, UNW_PC, link, &to->pc)) != STEP_OK)
        return s;
    if (r->flags & UNW_RULE_SIGNAL) /* where the kernel puts it on aarch64; unused elsewhere */
        unw_load(w->stack, w->regs.sp + (uint64_t)unw_rule_off(r, UNW_PC) - 16, &to->lr);
    if (fp_is_popped(w, r, to->pc))
        to->fp = w->regs.fp;
    to->pc &= w->machine->pc_mask;
    to->sp = cfa;
    /* Stacks grow down: only a leaf may have used none, only a signal may change stacks. */
    if (cfa < w->regs.sp + !w->leaf && !(r->flags & UNW_RULE_SIGNAL))
        return STEP_LOST;
    if (pc_at < UNW_AT_CFA)
        return to->pc ? STEP_OK : STEP_LOST; /* location unknown */
    return to->pc ? STEP_OK : STEP_ROOT;
}

/* --- which rule --- */

/* Apply R.  Accept it when it leads to mapped code, whose slot is stored in *NEXT.  A rule that is
 * not PROVEN by call-frame information must also lead behind a call: a zero word proves nothing. */
static enum step try_rule(struct walk *w, const struct unw_rule *r, bool proven,
                          struct slot **next, struct slot *own)
{
    bool signal = r->flags & UNW_RULE_SIGNAL; /* R may be in a slot that find_slot replaces */
    bool no_caller = unw_rule_at(r, UNW_PC) == UNW_AT_ROOT;
    struct unw_regs to = { 0 };
    enum step s = apply(w, r, &to);
    struct slot *slot;

    if (s == STEP_ROOT)
        return proven || no_caller ? STEP_ROOT : STEP_LOST;
    if (s != STEP_OK)
        return s;
    slot = find_slot(w, to.pc - !signal, own);
    if (!slot || !(proven || signal || is_return(w, slot, to.pc)))
        return STEP_LOST;
    *next = slot;
    w->regs = to;
    w->leaf = signal;
    return STEP_OK;
}

static void count(struct walk *w, enum step s, size_t offset)
{
    if (s == STEP_OK && w->cache)
        ++*(uint64_t *)((char *)&w->cache->stats + offset);
}

/* Whether FP points at a saved frame pointer and a return address.  Frame pointers increase; where
 * one does not, the caller used the register otherwise and must have a rule itself. */
static bool fp_is_plausible(struct walk *w, uint64_t fp, struct slot *own)
{
    const struct slot *caller;
    uint64_t saved, pc;

    if (!unw_load(w->stack, fp, &saved) || !unw_load(w->stack, fp + 8, &pc))
        return false;
    if (saved == 0 || saved > fp)
        return true;
    caller = find_slot(w, (pc & w->machine->pc_mask) - 1, own);
    return caller && caller->rule.cfa;
}

static enum step try_fp(struct walk *w, struct slot **next, struct slot *own)
{
    uint64_t fp = w->regs.fp, above = w->stack->base + w->stack->size;
    enum step s;

    if (fp < w->regs.sp || fp % 8 != 0)
        return STEP_BARE;
    if (fp + 16 > above)
        return fp < above + FAR ? STEP_CUT : STEP_BARE;
    if (!fp_is_plausible(w, fp, own))
        return STEP_BARE;
    s = try_rule(w, &w->machine->fp_chain, false, next, own);
    count(w, s, offsetof(struct unw_walk_stats, by_fp));
    return s == STEP_LOST ? STEP_BARE : s;
}

static enum step try_leaf(struct walk *w, struct slot **next, struct slot *own)
{
    enum step s = w->leaf ? try_rule(w, &w->machine->leaf, false, next, own) : STEP_BARE;

    count(w, s, offsetof(struct unw_walk_stats, by_guess));
    return s == STEP_LOST ? STEP_BARE : s;
}

static enum step advance(struct walk *w, struct slot **slot, struct slot *own)
{
    const struct slot *at = *slot;
    enum step s;

    if (!at) /* a call through a bad pointer */
        return try_leaf(w, slot, own);
    if (unw_rule_is_set(&at->rule)) {
        s = try_rule(w, &at->rule, !(at->rule.flags & UNW_RULE_ANALYSED), slot, own);
        count(w, s, offsetof(struct unw_walk_stats, by_rule));
        return s;
    }
    if (at->has_table)
        return STEP_BARE;
    s = try_fp(w, slot, own);
    return s == STEP_BARE && w->leaf ? try_leaf(w, slot, own) : s;
}

enum unw_end unw_walk(const struct unw_space *s, struct unw_cache *cache, struct unw_regs regs,
                      const struct unw_stack *stack, struct unw_frame *frames, size_t cap,
                      size_t *n)
{
    static const enum unw_end ends[] = { [STEP_ROOT] = UNW_ROOT, [STEP_CUT] = UNW_CUT,
                                         [STEP_BARE] = UNW_BARE, [STEP_LOST] = UNW_LOST };
    struct walk w = { s, s->machine, cache, stack, regs, true };
    struct slot own;
    struct slot *slot = find_slot(&w, regs.pc, &own);
    enum step step = STEP_OK;

    for (*n = 0; *n < cap && step == STEP_OK; ) {
        frames[(*n)++] = (struct unw_frame){ w.regs.pc, w.regs.sp, !w.leaf };
        step = advance(&w, &slot, &own);
    }
    if (cache)
        cache->stats.frames += *n;
    return step == STEP_OK ? UNW_FULL : ends[step];
}
