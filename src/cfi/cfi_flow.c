/* cfi_flow.c - see cfi_flow.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_flow.h"

#include <string.h>

enum { R10 = 10, WORD = 8, MOST_ENTRIES = 4096, MOST_FRAME = 1 << 28 };

/* rax, rcx, rdx, rsi, rdi, r8 to r11 */
enum { LOST_IN_CALL = 0x0fc7 };

static const struct flow_value unknown;

static struct flow_value value_of(enum flow_kind kind, int64_t n)
{
    if (n != (int32_t)n || ((kind == FLOW_CFA || kind == FLOW_ALIGNED) &&
                            (n > MOST_FRAME || n < -MOST_FRAME)))
        return unknown;
    return (struct flow_value){ (uint8_t)kind, (int32_t)n };
}

static bool is_same(struct flow_value a, struct flow_value b)
{
    return a.kind == b.kind && a.n == b.n;
}

/* V + N */
static struct flow_value plus(struct flow_value v, int64_t n)
{
    if (n == 0)
        return v;
    if (v.kind != FLOW_CFA && v.kind != FLOW_ALIGNED && v.kind != FLOW_NUMBER)
        return unknown;
    if (n > INT32_MAX || n < INT32_MIN)
        return unknown;
    return value_of(v.kind, v.n + n);
}

static bool is_place(struct flow_value v)
{
    return v.kind == FLOW_CFA || v.kind == FLOW_ALIGNED;
}

static bool is_entry(struct flow_value v, int reg)
{
    return v.kind == FLOW_ENTRY && v.n == reg;
}

/* Only what a rule or a restored stack pointer may need is kept. */
static bool is_worth_keeping(struct flow_value v)
{
    return is_place(v) || is_entry(v, FLOW_RBP) || is_entry(v, FLOW_RBX) || is_entry(v, R10);
}

void flow_enter(struct flow_state *s, bool root)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < FLOW_REGISTERS; i++)
        s->reg[i] = value_of(FLOW_ENTRY, i);
    s->reg[FLOW_RSP] = value_of(FLOW_CFA, -WORD);
    s->root = root;
}

/* --- the stack --- */

static void drop_slot(struct flow_state *s, int i)
{
    s->slot[i] = s->slot[--s->n_slots];
    memset(&s->slot[s->n_slots], 0, sizeof s->slot[0]);
}

/* SIZE bytes at AT are overwritten. */
static void forget(struct flow_state *s, struct flow_value at, int size)
{
    for (int i = s->n_slots; i-- > 0;)
        if (s->slot[i].at.kind == at.kind && s->slot[i].at.n < at.n + size &&
            s->slot[i].at.n + WORD > at.n)
            drop_slot(s, i);
}

/* Words below the stack pointer are gone. */
static void drop_dead(struct flow_state *s)
{
    struct flow_value sp = s->reg[FLOW_RSP];

    for (int i = s->n_slots; i-- > 0;)
        if (s->slot[i].at.kind == sp.kind && s->slot[i].at.n < sp.n)
            drop_slot(s, i);
}

static void keep(struct flow_state *s, struct flow_value at, struct flow_value value)
{
    forget(s, at, WORD);
    if (!is_worth_keeping(value))
        return;
    if (s->n_slots == FLOW_SLOTS)
        drop_dead(s);
    if (s->n_slots == FLOW_SLOTS)
        return;
    s->slot[s->n_slots++] = (struct flow_slot){ at, value };
}

static struct flow_value kept(const struct flow_state *s, struct flow_value at)
{
    for (int i = 0; i < s->n_slots; i++)
        if (is_same(s->slot[i].at, at))
            return s->slot[i].value;
    return unknown;
}

static struct flow_value value_in(const struct flow_state *s, unsigned reg)
{
    return reg < FLOW_REGISTERS ? s->reg[reg] : unknown;
}

static void set(struct flow_state *s, unsigned reg, struct flow_value v)
{
    if (reg < FLOW_REGISTERS)
        s->reg[reg] = v;
}

static void push(struct flow_state *s, struct flow_value v, int64_t size)
{
    struct flow_value sp = plus(s->reg[FLOW_RSP], -size);

    s->reg[FLOW_RSP] = sp;
    if (is_place(sp) && size == WORD)
        keep(s, sp, v);
}

static struct flow_value pop(struct flow_state *s, int64_t size)
{
    struct flow_value sp = s->reg[FLOW_RSP], v = kept(s, sp);

    s->reg[FLOW_RSP] = plus(sp, size);
    return is_place(sp) && size == WORD ? v : unknown;
}

/* --- instructions --- */

static bool is_saved(const struct flow_state *s, int reg)
{
    for (int i = 0; i < s->n_slots; i++)
        if (is_entry(s->slot[i].value, reg))
            return true;
    for (int i = 0; i < FLOW_REGISTERS; i++)
        if (i != reg && is_entry(s->reg[i], reg))
            return true;
    return false;
}

/* The ABI marks the outermost frame with a frame pointer of zero.  The child of a clone, which
 * starts after a system call, sets it without having saved it. */
static bool makes_root(const struct flow_state *s, const struct disasm_effect *e)
{
    return e->reg == FLOW_RBP && e->base == DISASM_NO_REGISTER && e->value == 0 &&
           s->in_syscall && is_entry(s->reg[FLOW_RBP], FLOW_RBP) && !is_saved(s, FLOW_RBP);
}

static struct flow_value sum(struct flow_value a, struct flow_value b)
{
    if (b.kind == FLOW_NUMBER && a.kind != FLOW_OFFSET)
        return plus(a, b.n);
    if (a.kind == FLOW_NUMBER && b.kind != FLOW_OFFSET)
        return plus(b, a.n);
    if ((a.kind == FLOW_OFFSET && b.kind == FLOW_NUMBER && a.n == b.n) ||
        (b.kind == FLOW_OFFSET && a.kind == FLOW_NUMBER && a.n == b.n))
        return value_of(FLOW_TARGET, a.n);
    return unknown;
}

static struct flow_value table_word(const struct flow_state *s, const struct disasm_effect *e)
{
    struct flow_value base = e->base == DISASM_NO_REGISTER ? value_of(FLOW_NUMBER, 0)
                                                           : value_in(s, e->base);

    if (base.kind != FLOW_NUMBER)
        base = value_in(s, e->index);
    base = base.kind == FLOW_NUMBER ? plus(base, e->value) : unknown;
    if (base.kind != FLOW_NUMBER)
        return unknown;
    return value_of(e->scale == 4 ? FLOW_OFFSET : FLOW_POINTER, base.n);
}

static void align(struct flow_state *s, const struct disasm_effect *e)
{
    if (e->reg == FLOW_RSP && !s->aligned && is_place(s->reg[FLOW_RSP])) {
        s->aligned = true;
        s->reg[FLOW_RSP] = value_of(FLOW_ALIGNED, 0);
    } else {
        set(s, e->reg, unknown);
    }
}

static void lose(struct flow_state *s, unsigned registers)
{
    for (int i = 0; i < FLOW_REGISTERS; i++)
        if (registers >> i & 1)
            s->reg[i] = unknown;
}

static void plain(struct flow_state *s, const struct disasm_effect *e)
{
    struct flow_value at = plus(value_in(s, e->store_base), e->store_at);

    if (e->store_size && is_place(at)) {
        if (e->stored != DISASM_NO_REGISTER)
            keep(s, at, value_in(s, e->stored));
        else
            forget(s, at, e->store_size);
    }
    lose(s, e->writes);
}

void flow_step(struct flow_state *s, const struct disasm_effect *e)
{
    struct flow_value v;

    switch ((enum disasm_op)e->op) {
    case DISASM_PLAIN: plain(s, e); break;
    case DISASM_PUSH: push(s, value_in(s, e->reg), e->value); break;
    case DISASM_POP:
        v = pop(s, e->value);
        set(s, e->reg, v);
        break;
    case DISASM_SET:
        if (makes_root(s, e))
            s->root = true;
        set(s, e->reg, e->base == DISASM_NO_REGISTER ? value_of(FLOW_NUMBER, e->value)
                                                     : plus(value_in(s, e->base), e->value));
        break;
    case DISASM_ADD: set(s, e->reg, sum(value_in(s, e->reg), value_in(s, e->base))); break;
    case DISASM_ALIGN: align(s, e); break;
    case DISASM_LOAD:
        v = plus(value_in(s, e->base), e->value);
        set(s, e->reg, is_place(v) ? kept(s, v) : unknown);
        break;
    case DISASM_EXTEND:
        v = value_in(s, e->base);
        set(s, e->reg, v.kind == FLOW_OFFSET ? v : unknown);
        break;
    case DISASM_TABLE: set(s, e->reg, table_word(s, e)); break;
    case DISASM_LIMIT:
        set(s, e->reg, unknown);
        s->bound = e->value >= 0 && e->value < MOST_ENTRIES ? (int32_t)e->value + 1 : 0;
        break;
    case DISASM_LEAVE:
        s->reg[FLOW_RSP] = s->reg[FLOW_RBP];
        s->reg[FLOW_RBP] = pop(s, WORD);
        break;
    case DISASM_SYSCALL:
        s->in_syscall = true;
        lose(s, e->writes);
        break;
    case DISASM_GO:
        if (e->kind == DISASM_CALL) {
            lose(s, LOST_IN_CALL);
            s->bound = 0;
        }
        break;
    case DISASM_STOP: break;
    }
}

/* --- where paths meet --- */

static bool merge_slots(struct flow_state *into, const struct flow_state *from)
{
    bool changed = false;

    for (int i = into->n_slots; i-- > 0;)
        if (!is_same(kept(from, into->slot[i].at), into->slot[i].value)) {
            drop_slot(into, i);
            changed = true;
        }
    return changed;
}

enum flow_merge flow_merge(struct flow_state *into, const struct flow_state *from, bool force)
{
    struct flow_value sp = into->reg[FLOW_RSP], other = from->reg[FLOW_RSP];
    bool changed = false;

    if (sp.kind != FLOW_UNKNOWN && other.kind != FLOW_UNKNOWN && !is_same(sp, other) && !force)
        return FLOW_CONFLICT;
    for (int i = 0; i < FLOW_REGISTERS; i++)
        if (into->reg[i].kind != FLOW_UNKNOWN && !is_same(into->reg[i], from->reg[i])) {
            into->reg[i] = unknown;
            changed = true;
        }
    changed |= merge_slots(into, from);
    if (into->bound != from->bound && into->bound) {
        into->bound = 0;
        changed = true;
    }
    if ((into->root && !from->root) || (into->in_syscall && !from->in_syscall)) {
        into->root &= from->root;
        into->in_syscall &= from->in_syscall;
        changed = true;
    }
    into->aligned |= from->aligned;
    return changed ? FLOW_CHANGED : FLOW_SAME;
}

enum flow_return flow_returns(const struct flow_state *s)
{
    struct flow_value sp = s->reg[FLOW_RSP], bp = s->reg[FLOW_RBP];

    if (s->root || (is_place(sp) && !is_same(sp, value_of(FLOW_CFA, -WORD))) || is_place(bp))
        return FLOW_CANNOT_RETURN;
    return is_place(sp) && is_entry(bp, FLOW_RBP) ? FLOW_RETURNS : FLOW_UNSURE;
}

/* --- rules --- */

static void set_column(struct unw_rule *r, enum unw_column column, unsigned where, int32_t off)
{
    if (off % WORD != 0 || off / WORD != (int16_t)(off / WORD))
        where = UNW_AT_UNKNOWN;
    r->where |= (uint16_t)(where << column * 4);
    r->off[column] = where == UNW_AT_UNKNOWN ? 0 : (int16_t)(off / WORD);
}

/* A word below the stack pointer may change at any time. */
static bool is_live(const struct flow_state *s, int slot)
{
    struct flow_value at = s->slot[slot].at, sp = s->reg[FLOW_RSP];

    return at.kind != sp.kind || at.n >= sp.n;
}

/* Where COLUMN of the caller is, which register REG held at the entry. */
static void find_column(const struct flow_state *s, struct unw_rule *r, enum unw_column column,
                        int reg)
{
    struct flow_value sp = s->reg[FLOW_RSP], bp = s->reg[FLOW_RBP];

    if (is_entry(s->reg[reg], reg)) {
        set_column(r, column, UNW_AT_SAME, 0);
        return;
    }
    for (int i = 0; i < s->n_slots; i++) {
        struct flow_value at = s->slot[i].at;

        if (!is_entry(s->slot[i].value, reg) || !is_live(s, i))
            continue;
        if (at.kind == FLOW_CFA)
            set_column(r, column, UNW_AT_CFA, at.n);
        else if (bp.kind == at.kind)
            set_column(r, column, UNW_AT_FP, at.n - bp.n);
        else if (sp.kind == at.kind)
            set_column(r, column, UNW_AT_SP, at.n - sp.n);
        else
            continue;
        return;
    }
}

/* A function that realigned its stack saved the CFA in a word near its frame pointer. */
static bool find_saved_cfa(const struct flow_state *s, struct unw_rule *r)
{
    struct flow_value sp = s->reg[FLOW_RSP], bp = s->reg[FLOW_RBP];

    for (int i = 0; i < s->n_slots; i++) {
        struct flow_value at = s->slot[i].at, v = s->slot[i].value;

        if (v.kind != FLOW_CFA || v.n > 0 || !is_live(s, i) || v.n < -UINT8_MAX ||
            (at.kind != bp.kind && at.kind != sp.kind))
            continue;
        r->cfa = at.kind == bp.kind ? UNW_CFA_FP_DEREF : UNW_CFA_SP_DEREF;
        r->cfa_off = at.n - (at.kind == bp.kind ? bp.n : sp.n);
        r->extra = (uint8_t)-v.n;
        return true;
    }
    return false;
}

static bool find_cfa(const struct flow_state *s, struct unw_rule *r)
{
    struct flow_value sp = s->reg[FLOW_RSP], bp = s->reg[FLOW_RBP], bx = s->reg[FLOW_RBX],
                      r10 = s->reg[R10];
    bool framed = bp.kind == FLOW_CFA && bp.n == -2 * WORD &&
                  is_entry(kept(s, bp), FLOW_RBP);

    if (framed || (sp.kind != FLOW_CFA && bp.kind == FLOW_CFA)) {
        r->cfa = UNW_CFA_FP;
        r->cfa_off = -bp.n;
    } else if (sp.kind == FLOW_CFA) {
        r->cfa = UNW_CFA_SP;
        r->cfa_off = -sp.n;
    } else if (find_saved_cfa(s, r)) {
        return true;
    } else if (r10.kind == FLOW_CFA) {
        r->cfa = UNW_CFA_R10;
        r->cfa_off = -r10.n;
    } else if (bx.kind == FLOW_CFA) {
        r->cfa = UNW_CFA_BX;
        r->cfa_off = -bx.n;
    }
    return r->cfa != UNW_CFA_NONE;
}

struct unw_rule flow_rule(const struct flow_state *s)
{
    struct unw_rule r = { .flags = UNW_RULE_ANALYSED };

    if (s->root) {
        set_column(&r, UNW_PC, UNW_AT_ROOT, 0);
        return r;
    }
    if (!find_cfa(s, &r))
        return (struct unw_rule){ 0 };
    set_column(&r, UNW_PC, UNW_AT_CFA, -WORD);
    find_column(s, &r, UNW_FP, FLOW_RBP);
    find_column(s, &r, UNW_BX, FLOW_RBX);
    return r;
}
