/* cfi_paths.c - see cfi_paths.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_paths.h"

#include <stdlib.h>

#include "cfi/cfi_blame.h"

enum {
    MOST_NODES = 1 << 16, /* instructions of one function */
    MOST_TRIES = 64,      /* of one function, each with one more call that does not return */
    MOST_TABLE = 1024,    /* entries of a jump table without a known bound */
    STEPS_PER_BYTE = 32,
    WORD = 8,
};

void paths_init(struct paths *f, struct code *code)
{
    *f = (struct paths){ .code = code, .steps = code->size * STEPS_PER_BYTE };
}

void paths_release(struct paths *f)
{
    vec_release(&f->nodes);
    vec_release(&f->queue);
    vec_release(&f->callees);
}

/* Node of the instruction at ADDRESS; NULL if there is none. */
static struct path_node *node_at(struct paths *f, uint64_t address)
{
    const struct code_part *p = code_part_of(f->code, address);
    uint32_t at = p ? p->node[address - p->start] : 0;
    struct path_node *n;
    struct disasm_effect e;

    if (at && at <= f->nodes.n && f->nodes.v[at - 1].at == address)
        return &f->nodes.v[at - 1];
    if (!p || f->nodes.n == MOST_NODES ||
        !disasm_effect(p->code + (address - p->start), p->size - (address - p->start), address, &e))
        return NULL;
    n = vec_add(&f->nodes);
    n->at = address;
    n->effect = e;
    n->reached = n->queued = n->no_return = n->after_call = false;
    p->node[address - p->start] = (uint32_t)f->nodes.n;
    return n;
}

static uint32_t index_of(const struct paths *f, const struct path_node *n)
{
    return (uint32_t)(n - f->nodes.v);
}

static void enqueue(struct paths *f, struct path_node *n)
{
    if (n->queued)
        return;
    n->queued = true;
    vec_push(&f->queue, index_of(f, n));
}

/* The function is left in state S, as for a call of another one. */
static enum path_outcome leave(struct paths *f, uint32_t from, bool is_jump,
                               const struct flow_state *s)
{
    f->leaves = true;
    f->believed |= is_jump && flow_returns(s) == FLOW_RETURNS;
    return flow_returns(s) == FLOW_CANNOT_RETURN ? blame_path(f, from, s->reg[FLOW_RSP])
                                                 : PATH_GOES_ON;
}

/* Code that another function owns is shared only where both have the same rule. */
static enum path_outcome join_marked(struct paths *f, uint32_t from, bool after_call,
                                     const struct flow_state *s, uint16_t mark)
{
    struct unw_rule rule = flow_rule(s), *other;
    struct flow_value sp;
    bool same = mark == code_mark_of(f->code, &rule);

    if (after_call && !same) /* it does not return */
        return PATH_GOES_ON;
    f->leaves = true;
    f->believed |= same;
    if (same || mark == CODE_NO_RULE)
        return PATH_GOES_ON;
    sp = s->reg[FLOW_RSP];
    other = &f->code->rules.v[mark - CODE_FIRST_RULE];
    if (other->cfa != UNW_CFA_SP)
        sp = (struct flow_value){ 0 };
    sp.n += other->cfa_off - WORD;
    return blame_path(f, from, sp);
}

/* Continue from node FROM at TO in state S; AFTER_CALL: by the return of a call. */
static enum path_outcome go_on(struct paths *f, uint32_t from, uint64_t to, bool after_call,
                               bool is_jump, const struct flow_state *s)
{
    const struct code_part *p = code_part_of(f->code, to);
    struct path_node *n;

    if (p && to != f->start && p->found[to - p->start] & CODE_ENTRY) {
        if (after_call) /* the last instruction of a function is a call: it does not return */
            return PATH_GOES_ON;
        return leave(f, from, is_jump, s);
    }
    if (!p && (is_jump || after_call))
        return after_call ? PATH_GOES_ON : leave(f, from, is_jump, s);
    if (p && p->mark[to - p->start] != CODE_NO_MARK)
        return join_marked(f, from, after_call, s, p->mark[to - p->start]);
    n = node_at(f, to);
    if (!n) {
        if (after_call) {
            f->nodes.v[from].no_return = true;
            return PATH_GOES_ON;
        }
        return blame_path(f, from, (struct flow_value){ 0 });
    }
    if (!n->reached) {
        n->reached = true;
        n->state = *s;
        n->from = from;
        n->after_call = after_call;
        enqueue(f, n);
        return PATH_GOES_ON;
    }
    switch (flow_merge(&n->state, s, false)) {
    case FLOW_SAME: return PATH_GOES_ON;
    case FLOW_CHANGED: enqueue(f, n); return PATH_GOES_ON;
    case FLOW_CONFLICT: break;
    }
    enqueue(f, n);
    return blame_meeting(f, from, after_call, index_of(f, n), s);
}

/* Entry I of table V; false when it cannot be read, or does not lead into this code. */
static bool table_entry(const struct paths *f, struct flow_value v, int64_t i, uint64_t *to)
{
    uint64_t at = (uint64_t)(int64_t)v.n;
    int32_t offset;

    if (v.kind == FLOW_TARGET) {
        if (!cfi_elf_data(f->code->elf, at + (uint64_t)i * sizeof offset, &offset, sizeof offset))
            return false;
        *to = at + (uint64_t)(int64_t)offset;
    } else if (!cfi_elf_data(f->code->elf, at + (uint64_t)i * sizeof *to, to, sizeof *to)) {
        return false;
    }
    return code_part_of(f->code, *to) != NULL;
}

static struct flow_value jump_table(const struct path_node *n)
{
    const struct disasm_effect *e = &n->effect;
    struct flow_value none = { 0 }, v = none;

    if (e->scale == 8) {
        int64_t base = 0;

        if (e->base != DISASM_NO_REGISTER) {
            if (n->state.reg[e->base].kind != FLOW_NUMBER)
                return none;
            base = n->state.reg[e->base].n;
        }
        if (base + e->value != (int32_t)(base + e->value))
            return none;
        return (struct flow_value){ FLOW_POINTER, (int32_t)(base + e->value) };
    }
    if (e->reg != DISASM_NO_REGISTER)
        v = n->state.reg[e->reg];
    return v.kind == FLOW_TARGET || v.kind == FLOW_POINTER ? v : none;
}

static enum path_outcome jump_by_table(struct paths *f, uint32_t from, struct flow_value table)
{
    struct flow_state s = f->nodes.v[from].state;
    int64_t n = s.bound ? s.bound : MOST_TABLE;
    uint64_t to;

    s.bound = 0;
    for (int64_t i = 0; i < n && table_entry(f, table, i, &to); i++) {
        const struct code_part *p = code_part_of(f->code, to);
        enum path_outcome got;

        if (!f->nodes.v[from].state.bound && to != f->start &&
            p->found[to - p->start] & CODE_ENTRY)
            break; /* beyond the end of a table without a bound */
        got = go_on(f, from, to, false, true, &s);
        if (got != PATH_GOES_ON)
            return got;
    }
    return PATH_GOES_ON;
}

static enum path_outcome after_call(struct paths *f, uint32_t at, struct flow_state *s)
{
    const struct path_node *n = &f->nodes.v[at];
    uint64_t next = n->at + n->effect.size, target = n->effect.target;
    const uint8_t *found = target ? code_found_at(f->code, target) : NULL;

    if (target == next && code_is_pop(f->code, next)) { /* pushes its own address */
        struct disasm_effect push = { .op = DISASM_PUSH, .reg = DISASM_NO_REGISTER, .value = 8 };

        flow_step(s, &push);
        return go_on(f, at, next, false, true, s);
    }
    if (found)
        vec_push(&f->callees, target);
    if (target == next)
        return PATH_GOES_ON;
    if (n->no_return || (found && *found & CODE_NEVER_RETURNS) || code_is_prologue(f->code, next) ||
        (f->guessing && code_is_start(f->code, next)))
        return PATH_GOES_ON;
    flow_step(s, &n->effect);
    return go_on(f, at, next, true, false, s);
}

static enum path_outcome follow_jump(struct paths *f, uint32_t at, const struct flow_state *s)
{
    const struct path_node *n = &f->nodes.v[at];
    struct flow_value table;

    if (n->effect.target)
        return go_on(f, at, n->effect.target, false, true, s);
    table = jump_table(n);
    if (table.kind)
        return jump_by_table(f, at, table);
    /* A call of another function, or a table that is not understood.  Without a known stack it is
     * a change of stacks: longjmp. */
    f->leaves |= s->reg[FLOW_RSP].kind != FLOW_UNKNOWN;
    return PATH_GOES_ON;
}

static enum path_outcome follow(struct paths *f, uint32_t at)
{
    const struct path_node *n = &f->nodes.v[at];
    uint64_t next = n->at + n->effect.size, target = n->effect.target;
    struct flow_state s = n->state;
    enum path_outcome got;

    if (n->effect.op == DISASM_STOP)
        return PATH_GOES_ON;
    if (n->effect.op != DISASM_GO) {
        flow_step(&s, &n->effect);
        return go_on(f, at, next, false, false, &s);
    }
    switch ((enum disasm_kind)n->effect.kind) {
    case DISASM_CALL: return after_call(f, at, &s);
    case DISASM_RETURN:
        f->returns = true;
        f->believed |= flow_returns(&s) == FLOW_RETURNS;
        return flow_returns(&s) == FLOW_CANNOT_RETURN ? blame_path(f, at, s.reg[FLOW_RSP])
                                                      : PATH_GOES_ON;
    case DISASM_JUMP: return follow_jump(f, at, &s);
    default:
        got = go_on(f, at, target, false, true, &s);
        return got == PATH_GOES_ON ? go_on(f, at, next, false, false, &s) : got;
    }
}

static enum path_outcome follow_all(struct paths *f, bool root)
{
    struct path_node *first;

    for (size_t i = 0; i < f->nodes.n; i++)
        f->nodes.v[i].reached = f->nodes.v[i].queued = false;
    f->queue.n = f->callees.n = 0;
    f->returns = f->leaves = f->believed = false;
    first = node_at(f, f->start);
    if (!first)
        return PATH_CONTRADICTS;
    flow_enter(&first->state, root);
    first->reached = true;
    first->after_call = false;
    first->from = index_of(f, first);
    enqueue(f, first);
    while (f->queue.n) {
        uint32_t at = f->queue.v[--f->queue.n];
        enum path_outcome got;

        if (f->steps == 0)
            return PATH_CONTRADICTS;
        f->steps--;
        f->nodes.v[at].queued = false;
        got = follow(f, at);
        if (got != PATH_GOES_ON)
            return got;
    }
    return PATH_GOES_ON;
}

bool paths_follow(struct paths *f, uint64_t start, bool root)
{
    f->start = start;
    f->nodes.n = 0;
    for (int i = 0; i < MOST_TRIES; i++) {
        enum path_outcome got = follow_all(f, root);

        if (got != PATH_AGAIN)
            return got == PATH_GOES_ON;
    }
    return false;
}

void paths_commit(struct paths *f)
{
    for (size_t i = 0; i < f->nodes.n; i++) {
        const struct path_node *n = &f->nodes.v[i];
        struct unw_rule rule;
        uint8_t *found;

        if (!n->reached)
            continue;
        if (n->effect.op == DISASM_SET && n->effect.base == DISASM_NO_REGISTER &&
            (found = code_found_at(f->code, (uint64_t)n->effect.value)))
            *found |= CODE_POINTED;
        rule = flow_rule(&n->state);
        code_set_rule(f->code, code_part_of(f->code, n->at), n->at, n->effect.size, &rule);
    }
    if (!f->returns && !f->leaves)
        *code_found_at(f->code, f->start) |= CODE_NEVER_RETURNS;
    for (size_t i = 0; i < f->callees.n; i++)
        code_add_entry(f->code, f->callees.v[i], 0);
}
