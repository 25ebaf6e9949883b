/* cfi_run.c - the call-frame instruction interpreter (DWARF 5, 6.4.2).  Its state is one unw_rule:
 * it tracks only sp, fp, bx and the return address.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_read.h"

enum { REMEMBERED = 32 }; /* compilers nest two or three deep */

struct cfa_state {
    const struct cfi *cfi;
    const struct unw_machine *machine;
    const struct cfi_cie *cie;
    struct cursor c;
    uint64_t loc, end;
    struct unw_rule rule;
    struct unw_rule remembered[REMEMBERED];
    unsigned depth;
    bool failed;
    cfi_row *row; /* NULL while a CIE runs */
    void *arg;
    struct unw_rule last; /* last passed to row */
    bool any;
};

static bool fits(int64_t x)
{
    return x == (int32_t)x;
}

/* --- expressions --- */

/* base + offset, dereferenced or not, + a constant: everything that compilers and glibc write. */
struct shape {
    uint64_t reg;
    int64_t offset, after;
    bool deref;
};

static bool shape_add(struct shape *s, int64_t x)
{
    int64_t *to = s->deref ? &s->after : &s->offset;

    return !__builtin_add_overflow(*to, x, to);
}

static bool shape_constant(uint8_t op, struct cursor *c, int64_t *x)
{
    if (op >= 0x30 && op <= 0x4f) { /* lit0..31 */
        *x = op - 0x30;
        return true;
    }
    switch (op) {
    case 0x08: *x = cur_u8(c); return true;
    case 0x09: *x = (int8_t)cur_u8(c); return true;
    case 0x0a: *x = cur_u16(c); return true;
    case 0x0b: *x = (int16_t)cur_u16(c); return true;
    case 0x0c: *x = cur_u32(c); return true;
    case 0x0d: *x = (int32_t)cur_u32(c); return true;
    case 0x10: *x = (int64_t)cur_uleb(c); return *x >= 0;
    case 0x11: *x = cur_sleb(c); return true;
    default: return false;
    }
}

static bool shape_step(struct shape *s, struct cursor *c)
{
    uint8_t op = cur_u8(c);
    int64_t x;

    if (op == 0x06) { /* deref */
        if (s->deref)
            return false;
        return s->deref = true;
    }
    if (op == 0x23) { /* plus_uconst */
        x = (int64_t)cur_uleb(c);
        return x >= 0 && shape_add(s, x);
    }
    if (!shape_constant(op, c, &x) || x == INT64_MIN)
        return false;
    op = cur_u8(c);
    return (op == 0x22 && shape_add(s, x)) || (op == 0x1c && shape_add(s, -x));
}

static bool shape_parse(struct shape *s, struct cursor c)
{
    uint8_t op = cur_u8(&c);

    *s = (struct shape){ 0 };
    if (op >= 0x70 && op <= 0x8f) /* breg0..31 */
        s->reg = op - 0x70u;
    else if (op == 0x92) /* bregx */
        s->reg = cur_uleb(&c);
    else
        return false;
    s->offset = cur_sleb(&c);
    while (cur_left(&c) && !c.failed)
        if (!shape_step(s, &c))
            return false;
    return !c.failed && fits(s->offset);
}

static void cfa_no_rule(struct unw_rule *r)
{
    r->cfa = UNW_CFA_NONE;
    r->extra = 0;
    r->cfa_off = 0;
}

static void cfa_expression(struct cfa_state *s, struct cursor c)
{
    struct unw_rule *r = &s->rule;
    struct shape shape;
    bool of_sp;

    cfa_no_rule(r);
    if (s->machine->expression(c, r) || !shape_parse(&shape, c))
        return;
    of_sp = shape.reg == s->machine->sp;
    if ((!of_sp && shape.reg != s->machine->fp) || shape.after < 0 || shape.after > UINT8_MAX)
        return;
    r->cfa_off = (int32_t)shape.offset;
    r->extra = (uint8_t)shape.after;
    if (shape.deref)
        r->cfa = of_sp ? UNW_CFA_SP_DEREF : UNW_CFA_FP_DEREF;
    else
        r->cfa = of_sp ? UNW_CFA_SP : UNW_CFA_FP;
}

/* --- rules of single registers --- */

/* Column of register REG, or UNW_COLUMNS when it is not tracked. */
static enum unw_column column_of(const struct cfa_state *s, uint64_t reg)
{
    if (reg == s->cie->return_column)
        return UNW_PC;
    if (reg == s->machine->fp)
        return UNW_FP;
    return reg == s->machine->bx ? UNW_BX : UNW_COLUMNS;
}

static void set_column(struct cfa_state *s, enum unw_column column, unsigned where, int64_t off)
{
    struct unw_rule *r = &s->rule;

    if (column == UNW_COLUMNS)
        return;
    if (off % 8 != 0 || off / 8 != (int16_t)(off / 8))
        where = UNW_AT_UNKNOWN;
    if (where == UNW_AT_UNKNOWN)
        off = 0;
    r->where = (uint16_t)((r->where & ~(15u << column * 4)) | where << column * 4);
    r->off[column] = (int16_t)(off / 8);
}

static void set_where(struct cfa_state *s, uint64_t reg, unsigned where)
{
    set_column(s, column_of(s, reg), where, 0);
}

static int64_t scaled(const struct cfa_state *s, int64_t factored)
{
    return (int64_t)((uint64_t)factored * (uint64_t)s->cie->data_align);
}

static void set_offset(struct cfa_state *s, uint64_t reg, int64_t factored)
{
    set_column(s, column_of(s, reg), UNW_AT_CFA, scaled(s, factored));
}

static void set_expression(struct cfa_state *s, uint64_t reg, struct cursor c)
{
    enum unw_column column = column_of(s, reg);
    struct shape shape;

    if (column == UNW_COLUMNS)
        return;
    if (!shape_parse(&shape, c) || shape.deref)
        set_column(s, column, UNW_AT_UNKNOWN, 0);
    else if (shape.reg == s->machine->sp)
        set_column(s, column, UNW_AT_SP, shape.offset);
    else if (shape.reg == s->machine->fp)
        set_column(s, column, UNW_AT_FP, shape.offset);
    else
        set_column(s, column, UNW_AT_UNKNOWN, 0);
}

static void restore(struct cfa_state *s, uint64_t reg)
{
    enum unw_column column = column_of(s, reg);

    if (column != UNW_COLUMNS)
        set_column(s, column, unw_rule_at(&s->cie->initial, column),
                   unw_rule_off(&s->cie->initial, column));
}

static void def_cfa_register(struct cfa_state *s, uint64_t reg)
{
    struct unw_rule *r = &s->rule;

    r->extra = 0;
    if (reg == s->machine->sp)
        r->cfa = UNW_CFA_SP;
    else if (reg == s->machine->fp)
        r->cfa = UNW_CFA_FP;
    else if (reg == s->machine->bx)
        r->cfa = UNW_CFA_BX;
    else if (reg == s->machine->r10)
        r->cfa = UNW_CFA_R10;
    else
        r->cfa = UNW_CFA_NONE; /* the offset stays, for a later def_cfa_register */
}

static void def_cfa_offset(struct cfa_state *s, int64_t off)
{
    if (fits(off))
        s->rule.cfa_off = (int32_t)off;
    else
        cfa_no_rule(&s->rule);
}

/* --- instructions --- */

static void emit(struct cfa_state *s)
{
    struct unw_rule r;

    if (s->any && unw_rule_equal(&s->rule, &s->last))
        return;
    s->any = true;
    s->last = r = s->rule;
    if (s->cie->signal)
        s->machine->signal_frame(&r);
    s->row(s->arg, s->loc, &r);
}

static void advance_to(struct cfa_state *s, uint64_t to)
{
    if (!s->row || to < s->loc) {
        s->failed = true;
        return;
    }
    if (to == s->loc)
        return;
    emit(s);
    s->loc = to;
}

static void advance(struct cfa_state *s, uint64_t delta)
{
    uint64_t by;

    if (__builtin_mul_overflow(delta, s->cie->code_align, &by) || by > s->end - s->loc)
        by = s->end - s->loc; /* the rest lies after the function */
    advance_to(s, s->loc + by);
}

static void set_loc(struct cfa_state *s)
{
    bool ok = true;
    uint64_t to = cfi_pointer(s->cfi->elf, s->cie->section, &s->c, s->cie->encoding, &ok);

    if (!ok)
        s->failed = true;
    else
        advance_to(s, to < s->end ? to : s->end);
}

static void remember(struct cfa_state *s)
{
    if (s->depth == REMEMBERED)
        s->failed = true;
    else
        s->remembered[s->depth++] = s->rule;
}

static void restore_state(struct cfa_state *s)
{
    if (s->depth == 0)
        s->failed = true;
    else
        s->rule = s->remembered[--s->depth];
}

static struct cursor block(struct cfa_state *s)
{
    return cur_sub(&s->c, cur_uleb(&s->c));
}

static void extended(struct cfa_state *s, uint8_t op)
{
    struct cursor *c = &s->c;
    uint64_t reg;

    switch (op) {
    case 0x00: break; /* nop */
    case 0x01: set_loc(s); break;
    case 0x02: advance(s, cur_u8(c)); break;
    case 0x03: advance(s, cur_u16(c)); break;
    case 0x04: advance(s, cur_u32(c)); break;
    case 0x05: reg = cur_uleb(c); set_offset(s, reg, (int64_t)cur_uleb(c)); break;
    case 0x06: restore(s, cur_uleb(c)); break;
    case 0x07: /* undefined: for the return address, there is no caller */
        reg = cur_uleb(c);
        set_where(s, reg, reg == s->cie->return_column ? UNW_AT_ROOT : UNW_AT_UNKNOWN);
        break;
    case 0x08: set_where(s, cur_uleb(c), UNW_AT_SAME); break;
    case 0x09: reg = cur_uleb(c); cur_uleb(c); set_where(s, reg, UNW_AT_UNKNOWN); break;
    case 0x0a: remember(s); break;
    case 0x0b: restore_state(s); break;
    case 0x0c: def_cfa_register(s, cur_uleb(c)); def_cfa_offset(s, (int64_t)cur_uleb(c)); break;
    case 0x0d: def_cfa_register(s, cur_uleb(c)); break;
    case 0x0e: def_cfa_offset(s, (int64_t)cur_uleb(c)); break;
    case 0x0f: cfa_expression(s, block(s)); break;
    case 0x10: reg = cur_uleb(c); set_expression(s, reg, block(s)); break;
    case 0x11: reg = cur_uleb(c); set_offset(s, reg, cur_sleb(c)); break;
    case 0x12:
        def_cfa_register(s, cur_uleb(c));
        def_cfa_offset(s, scaled(s, cur_sleb(c)));
        break;
    case 0x13: def_cfa_offset(s, scaled(s, cur_sleb(c))); break;
    case 0x14: case 0x15: /* val_offset: a value, not a place */
        reg = cur_uleb(c);
        cur_uleb(c);
        set_where(s, reg, UNW_AT_UNKNOWN);
        break;
    case 0x16: reg = cur_uleb(c); block(s); set_where(s, reg, UNW_AT_UNKNOWN); break;
    case 0x1d: advance(s, cur_u64(c)); break;
    case 0x2c: case 0x2d: break; /* aarch64: return address signed or not; always masked */
    case 0x2e: cur_uleb(c); break; /* GNU_args_size */
    case 0x2f: /* GNU_negative_offset_extended */
        reg = cur_uleb(c);
        set_offset(s, reg, (int64_t)(0 - cur_uleb(c)));
        break;
    default: s->failed = true;
    }
}

static void run(struct cfa_state *s)
{
    while (s->c.p < s->c.end && !s->failed && !s->c.failed) {
        uint8_t op = *s->c.p++;

        switch (op >> 6) {
        case 1: advance(s, op & 63); break;
        case 2: set_offset(s, op & 63, (int64_t)cur_uleb(&s->c)); break;
        case 3: restore(s, op & 63); break;
        default: extended(s, op);
        }
    }
}

bool cfi_run_initial(const struct cfi *cfi, struct cfi_cie *cie, struct cursor ops)
{
    struct cfa_state s;

    s.cfi = cfi;
    s.machine = cfi->elf->machine;
    s.cie = cie;
    s.c = ops;
    s.loc = s.end = 0;
    s.rule = cie->initial;
    s.depth = 0;
    s.failed = s.any = false;
    s.row = NULL;
    run(&s);
    cie->initial = s.rule;
    return !s.failed && !s.c.failed;
}

void cfi_run(const struct cfi *cfi, const struct cfi_fde *fde, uint64_t end,
                 cfi_row *row, void *arg)
{
    struct cfa_state s; /* not zeroed: the remembered rules are 512 bytes */

    s.cfi = cfi;
    s.machine = cfi->elf->machine;
    s.cie = &cfi->cies.v[fde->cie];
    s.c = cursor_of(fde->ops, fde->ops_size);
    s.loc = fde->start;
    s.end = end;
    s.rule = s.cie->initial;
    s.depth = 0;
    s.failed = s.any = false;
    s.row = row;
    s.arg = arg;
    run(&s);
    if (s.failed || s.c.failed)
        s.rule = s.machine->initial; /* everything after is unknown */
    if (s.loc < s.end)
        emit(&s);
}
