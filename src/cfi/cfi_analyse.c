/* cfi_analyse.c - see cfi_analyse.h.
 *
 * Every byte of the code to analyse has a mark: the rule of the instruction it belongs to, once a
 * function that contains it was followed without contradiction.  Work is limited in proportion to
 * the size of the code, because a hostile file can make functions overlap.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_analyse.h"

#include <elf.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/search.h"
#include "cfi/cfi_flow.h"
#include "cfi/cfi_go.h"

enum {
    VERSION = 2,
    MOST_CODE = 16 << 20,     /* bytes analysed of one file */
    NAMED_FROM = 512,         /* bytes of code from which on symbols are worth reading */
    MOST_NAME = 1024,         /* bytes of a symbol's name */
    MOST_NODES = 1 << 16,     /* instructions of one function */
    MOST_TRIES = 64,          /* of one function, each with one more call that does not return */
    MOST_TABLE = 1024,        /* entries of a jump table without a known bound */
    STEPS_PER_BYTE = 32,
    MOST_RULES = UINT16_MAX - 2,
    ALIGNMENT = 16,
    WORD = 8,
};

enum { NO_MARK, NO_RULE, FIRST_RULE }; /* marks */

struct part { /* a range with its code */
    uint64_t start, size;
    const unsigned char *code;
    uint16_t *mark; /* of each byte */
    uint8_t *found; /* of each byte: enum found */
    uint32_t *node; /* of each byte: index + 1, perhaps of an earlier function */
};

enum found {
    IS_ENTRY = 1,  /* something calls it, or a symbol names it */
    IS_CALLED = 2,
    IS_QUEUED = 4,
    IS_REFUSED = 8, /* a function starts here that contradicts itself */
    NEVER_RETURNS = 16,
    IS_POINTED = 32, /* an instruction computes its address */
};

struct node { /* an instruction of the function being followed */
    uint64_t at;
    struct disasm_effect effect;
    struct flow_state state;
    uint32_t from;   /* node before it on the path that found it */
    bool reached, queued;
    bool after_call; /* that path came from a return */
    bool no_return;  /* a call that does not return */
};

struct analysis {
    struct cfi_elf *elf;
    VEC(struct part) parts;
    uint64_t size;  /* of all parts */
    uint64_t bytes; /* of them, not counting padding */
    VEC(struct unw_rule) rules; /* of marks, from FIRST_RULE */
    struct umap rule_mark;      /* hash -> mark */
    VEC(uint64_t) entries;      /* to follow */
    size_t followed;            /* how many of them were */
    uint64_t steps;             /* left */
    /* The function being followed. */
    uint64_t start;
    VEC(struct node) nodes;
    VEC(uint32_t) queue;
    VEC(uint64_t) callees;
    bool returns, leaves; /* it has a return; a jump that may leave it */
    bool believed;        /* it returns or jumps to another function as functions do */
    bool guessing;        /* nothing names it: any contradiction refutes it */
};

/* --- code --- */

static struct part *part_of(const struct analysis *a, uint64_t address)
{
    size_t at = search(0, a->parts.n, i,
                       a->parts.v[i].start + a->parts.v[i].size <= address);

    return at < a->parts.n && a->parts.v[at].start <= address ? &a->parts.v[at] : NULL;
}

static uint8_t *found_at(const struct analysis *a, uint64_t address)
{
    struct part *p = part_of(a, address);

    return p ? &p->found[address - p->start] : NULL;
}

/* Length of the padding at byte AT of P. */
static uint64_t padding(const struct part *p, uint64_t at)
{
    uint64_t from = at;

    while (at < p->size && p->mark[at] == NO_MARK) {
        const unsigned char *c = p->code + at;
        uint64_t left = p->size - at, prefixes = 0;

        if (*c == 0 || *c == 0xcc || *c == 0x90) {
            at++;
            continue;
        }
        while (prefixes < left && (c[prefixes] == 0x66 || c[prefixes] == 0x2e))
            prefixes++;
        if (left - prefixes < 2)
            break;
        if (c[prefixes] == 0x90) { /* xchg %ax,%ax */
            at += prefixes + 1;
        } else if (c[prefixes] == 0x0f && c[prefixes + 1] == 0x1f) { /* nop with an operand */
            struct disasm_effect e;

            if (!disasm_effect(c, left, 0, &e))
                break;
            at += e.size;
        } else {
            break;
        }
    }
    return at - from;
}

static void add_part(struct analysis *a, uint64_t start, uint64_t end)
{
    uint64_t size = end - start;
    const unsigned char *code;

    if (size > MOST_CODE - a->size)
        return;
    code = cfi_elf_code(a->elf, start, size);
    if (!code)
        return;
    vec_push(&a->parts, ((struct part){ start, size, code, mem_zalloc(size * sizeof(uint16_t)),
                                        mem_zalloc(size), mem_zalloc(size * sizeof(uint32_t)) }));
    a->size += size;
    a->bytes += size - padding(&a->parts.v[a->parts.n - 1], 0);
}

/* The parts of GAPS that lie in sections of code. */
static void add_parts(struct analysis *a, const struct cfi_range *gaps, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < a->elf->n_code; k++) {
            const struct cfi_range s = { a->elf->code[k].address,
                                         a->elf->code[k].address + a->elf->code[k].size };
            uint64_t start = gaps[i].start > s.start ? gaps[i].start : s.start;
            uint64_t end = gaps[i].end < s.end ? gaps[i].end : s.end;

            if (start < end)
                add_part(a, start, end);
        }
}

/* Mark for RULE. */
static uint16_t mark_of(struct analysis *a, const struct unw_rule *rule)
{
    struct unw_rule_words w = unw_rule_words(rule);
    uint64_t key = hash_pair(w.a, w.b);
    uint32_t mark;

    if (w.a == 0 && w.b == 0)
        return NO_RULE;
    for (; (mark = umap_find(&a->rule_mark, key)); key++)
        if (unw_rule_equal(&a->rules.v[mark - FIRST_RULE], rule))
            return (uint16_t)mark;
    if (a->rules.n >= MOST_RULES)
        return NO_RULE;
    vec_push(&a->rules, *rule);
    mark = (uint32_t)(FIRST_RULE + a->rules.n - 1);
    umap_put(&a->rule_mark, key, mark);
    return (uint16_t)mark;
}

static void put_mark(struct part *p, uint64_t start, uint64_t size, uint16_t mark)
{
    uint64_t at = start - p->start;

    for (uint64_t i = at; i < at + size && i < p->size; i++)
        p->mark[i] = mark;
}

/* --- entries --- */

static void add_entry(struct analysis *a, uint64_t address, unsigned found)
{
    uint8_t *f = found_at(a, address);

    if (!f)
        return;
    if (!(*f & IS_QUEUED))
        vec_push(&a->entries, address);
    *f |= (uint8_t)(found | IS_ENTRY | IS_QUEUED);
}

/* The cold part of a function is named like a function, but entered by a jump. */
static bool is_cold(const char *name)
{
    const char *at = strstr(name, ".cold");

    return at && (at[5] == '.' || at[5] == 0);
}

/* Functions that end the program, or continue it elsewhere. */
static bool is_final(const char *name)
{
    static const char *const names[] = {
        "abort", "exit", "_exit", "_Exit", "quick_exit", "pthread_exit", "thrd_exit", "longjmp",
        "_longjmp", "siglongjmp", "__longjmp_chk", "__stack_chk_fail", "__stack_chk_fail_local",
        "__fortify_fail", "__chk_fail", "__assert_fail", "__assert_perror_fail", "__libc_fatal",
        "_Unwind_Resume", "__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "_ZSt9terminatev" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "_ZSt", 4) == 0 && strstr(name, "__throw_"); /* std::__throw_... */
}

/* Name of symbol S in TABLE; "" when it has none, or a long one. */
static const char *symbol_name(const struct cfi_symbols *table, const Elf64_Sym *s)
{
    return elf_file_name(table->names.data, table->names.size, s->st_name, MOST_NAME);
}

static void add_symbols(struct analysis *a, const struct cfi_symbols *table)
{
    size_t n = table->symbols.size / sizeof(Elf64_Sym);

    for (size_t i = 0; i < n; i++) {
        Elf64_Sym s;
        unsigned type;
        const char *name;

        memcpy(&s, table->symbols.data + i * sizeof s, sizeof s);
        type = ELF64_ST_TYPE(s.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s.st_shndx == SHN_UNDEF)
            continue;
        name = symbol_name(table, &s);
        if (!is_cold(name))
            add_entry(a, s.st_value, is_final(name) ? NEVER_RETURNS : 0);
    }
}

/* --- paths --- */

enum outcome { GOES_ON, AGAIN, CONTRADICTS };

/* Node of the instruction at ADDRESS; NULL if there is none. */
static struct node *node_at(struct analysis *a, uint64_t address)
{
    const struct part *p = part_of(a, address);
    uint32_t at = p ? p->node[address - p->start] : 0;
    struct node *n;
    struct disasm_effect e;

    if (at && at <= a->nodes.n && a->nodes.v[at - 1].at == address)
        return &a->nodes.v[at - 1];
    if (!p || a->nodes.n == MOST_NODES ||
        !disasm_effect(p->code + (address - p->start), p->size - (address - p->start), address, &e))
        return NULL;
    n = vec_add(&a->nodes);
    n->at = address;
    n->effect = e;
    n->reached = n->queued = n->no_return = n->after_call = false;
    p->node[address - p->start] = (uint32_t)a->nodes.n;
    return n;
}

static uint32_t index_of(const struct analysis *a, const struct node *n)
{
    return (uint32_t)(n - a->nodes.v);
}

struct suspect { /* a call that might not return */
    uint32_t call;
    size_t steps;  /* since then */
    bool is_final; /* what follows looks like another function */
};

/* Whether what follows a call at ADDRESS looks like another function: padding, or the first
 * instruction of one that has a frame. */
static bool is_start(const struct analysis *a, uint64_t address)
{
    const struct part *p = part_of(a, address);
    uint64_t at = p ? address - p->start : 0;
    struct disasm_effect e;

    return !p || padding(p, at) ||
           (disasm_effect(p->code + at, p->size - at, address, &e) &&
            ((e.op == DISASM_PUSH && e.reg != DISASM_NO_REGISTER) ||
             (e.op == DISASM_SET && e.reg == FLOW_RSP && e.base == FLOW_RSP && e.value < 0)));
}

/* The last call on the path to node AT after which the stack pointer was SP: a function that starts
 * there would return with the same one. */
static bool find_culprit(const struct analysis *a, uint32_t at, struct flow_value sp,
                         struct suspect *found)
{
    for (size_t steps = 0; steps < a->nodes.n; steps++) {
        const struct node *n = &a->nodes.v[at];
        struct flow_value after = n->state.reg[FLOW_RSP];

        if (n->after_call && sp.kind == FLOW_CFA && after.kind == sp.kind && after.n == sp.n) {
            *found = (struct suspect){ n->from, steps, true };
            return true;
        }
        if (n->from == at)
            break;
        at = n->from;
    }
    return false;
}

/* The call on the path to node AT that is the least likely to return: the last one before what
 * looks like another function, or else the last one; false if there is none. */
static bool find_suspect(const struct analysis *a, uint32_t at, struct suspect *found)
{
    bool any = false;

    for (size_t steps = 0; steps < a->nodes.n; steps++) {
        const struct node *n = &a->nodes.v[at];

        if (n->after_call) {
            struct suspect s = { n->from, steps, is_start(a, n->at) };

            if (!any || s.is_final)
                *found = s;
            any = true;
            if (s.is_final)
                return true;
        }
        if (n->from == at)
            break;
        at = n->from;
    }
    return any;
}

/* The path to node AT cannot be: assume that a call on it does not return.  SP is the stack pointer
 * with which the function that the path runs into was entered, if the contradiction tells. */
static enum outcome blame(struct analysis *a, uint32_t at, struct flow_value sp)
{
    struct suspect s;

    if (a->guessing || !(find_culprit(a, at, sp, &s) || find_suspect(a, at, &s)))
        return CONTRADICTS;
    a->nodes.v[s.call].no_return = true;
    return AGAIN;
}

/* Two paths meet with different stack pointers, at node TO and from node FROM. */
static enum outcome settle(struct analysis *a, uint32_t from, bool after_call, uint32_t to,
                           const struct flow_state *s)
{
    struct suspect old, new = { from, 0, true };
    bool any_old = find_suspect(a, to, &old);
    bool any_new = after_call || find_suspect(a, from, &new);

    if (a->guessing)
        return CONTRADICTS;
    if (any_old && any_new)
        any_old = old.is_final != new.is_final ? old.is_final : old.steps < new.steps;
    if (any_old || any_new) {
        a->nodes.v[any_old ? old.call : new.call].no_return = true;
        return AGAIN;
    }
    flow_merge(&a->nodes.v[to].state, s, true);
    return GOES_ON;
}

static void enqueue(struct analysis *a, struct node *n)
{
    if (n->queued)
        return;
    n->queued = true;
    vec_push(&a->queue, index_of(a, n));
}

/* The function is left in state S, as for a call of another one. */
static enum outcome leave(struct analysis *a, uint32_t from, bool is_jump,
                          const struct flow_state *s)
{
    a->leaves = true;
    a->believed |= is_jump && flow_returns(s) == FLOW_RETURNS;
    return flow_returns(s) == FLOW_CANNOT_RETURN ? blame(a, from, s->reg[FLOW_RSP]) : GOES_ON;
}

/* Code that another function owns is shared only where both have the same rule. */
static enum outcome join_marked(struct analysis *a, uint32_t from, bool after_call,
                                const struct flow_state *s, uint16_t mark)
{
    struct unw_rule rule = flow_rule(s), *other;
    struct flow_value sp;
    bool same = mark == mark_of(a, &rule);

    if (after_call && !same) /* it does not return */
        return GOES_ON;
    a->leaves = true;
    a->believed |= same;
    if (same || mark == NO_RULE)
        return GOES_ON;
    sp = s->reg[FLOW_RSP];
    other = &a->rules.v[mark - FIRST_RULE];
    if (other->cfa != UNW_CFA_SP)
        sp = (struct flow_value){ 0 };
    sp.n += other->cfa_off - WORD;
    return blame(a, from, sp);
}

/* Continue from node FROM at TO in state S; AFTER_CALL: by the return of a call. */
static enum outcome go_on(struct analysis *a, uint32_t from, uint64_t to, bool after_call,
                          bool is_jump, const struct flow_state *s)
{
    const struct part *p = part_of(a, to);
    struct node *n;

    if (p && to != a->start && p->found[to - p->start] & IS_ENTRY) {
        if (after_call) /* the last instruction of a function is a call: it does not return */
            return GOES_ON;
        return leave(a, from, is_jump, s);
    }
    if (!p && (is_jump || after_call))
        return after_call ? GOES_ON : leave(a, from, is_jump, s);
    if (p && p->mark[to - p->start] != NO_MARK)
        return join_marked(a, from, after_call, s, p->mark[to - p->start]);
    n = p ? node_at(a, to) : NULL;
    if (!n) {
        if (after_call) {
            a->nodes.v[from].no_return = true;
            return GOES_ON;
        }
        return blame(a, from, (struct flow_value){ 0 });
    }
    if (!n->reached) {
        n->reached = true;
        n->state = *s;
        n->from = from;
        n->after_call = after_call;
        enqueue(a, n);
        return GOES_ON;
    }
    switch (flow_merge(&n->state, s, false)) {
    case FLOW_SAME: return GOES_ON;
    case FLOW_CHANGED: enqueue(a, n); return GOES_ON;
    case FLOW_CONFLICT: break;
    }
    enqueue(a, n);
    return settle(a, from, after_call, index_of(a, n), s);
}

/* --- jump tables --- */

/* Entry I of table V; false when it cannot be read, or does not lead into this code. */
static bool table_entry(const struct analysis *a, struct flow_value v, int64_t i, uint64_t *to)
{
    uint64_t at = (uint64_t)(int64_t)v.n;
    int32_t offset;

    if (v.kind == FLOW_TARGET) {
        if (!cfi_elf_data(a->elf, at + (uint64_t)i * sizeof offset, &offset, sizeof offset))
            return false;
        *to = at + (uint64_t)(int64_t)offset;
    } else if (!cfi_elf_data(a->elf, at + (uint64_t)i * sizeof *to, to, sizeof *to)) {
        return false;
    }
    return part_of(a, *to) != NULL;
}

static struct flow_value jump_table(const struct node *n)
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

static enum outcome jump_by_table(struct analysis *a, uint32_t from, struct flow_value table)
{
    struct flow_state s = a->nodes.v[from].state;
    int64_t n = s.bound ? s.bound : MOST_TABLE;
    uint64_t to;

    s.bound = 0;
    for (int64_t i = 0; i < n && table_entry(a, table, i, &to); i++) {
        const struct part *p = part_of(a, to);
        enum outcome got;

        if (!a->nodes.v[from].state.bound && to != a->start && p->found[to - p->start] & IS_ENTRY)
            break; /* beyond the end of a table without a bound */
        got = go_on(a, from, to, false, true, &s);
        if (got != GOES_ON)
            return got;
    }
    return GOES_ON;
}

/* --- one function --- */

/* Whether the instruction at byte AT of P makes the stack pointer the frame pointer. */
static bool saves_frame(const struct part *p, uint64_t at)
{
    struct disasm_effect e;

    return disasm_effect(p->code + at, p->size - at, 0, &e) && e.op == DISASM_SET &&
           e.reg == FLOW_RBP && e.base == FLOW_RSP && e.value == 0;
}

/* Whether a function seems to start at ADDRESS or after padding there: it begins a frame, or, at a
 * multiple of its alignment, saves a register or makes room on the stack. */
static bool is_prologue(const struct analysis *a, uint64_t address)
{
    enum { SAVED = 1 << FLOW_RBX | 1 << FLOW_RBP | 0xf000 }; /* and r12 to r15 */
    const struct part *p = part_of(a, address);
    uint64_t at = p ? address - p->start : 0;
    struct disasm_effect e;

    if (!p)
        return false;
    at += padding(p, at);
    if (at == p->size || !disasm_effect(p->code + at, p->size - at, p->start + at, &e))
        return false;
    if (e.op == DISASM_PUSH && e.reg == FLOW_RBP && saves_frame(p, at + e.size))
        return true;
    if ((p->start + at) % ALIGNMENT)
        return false;
    return (e.op == DISASM_PUSH && SAVED >> e.reg & 1) ||
           (e.op == DISASM_SET && e.reg == FLOW_RSP && e.base == FLOW_RSP && e.value < 0);
}

static bool is_pop(const struct analysis *a, uint64_t address)
{
    const struct part *p = part_of(a, address);
    uint64_t at = p ? address - p->start : 0;
    struct disasm_effect e;

    return p && disasm_effect(p->code + at, p->size - at, address, &e) && e.op == DISASM_POP;
}

static enum outcome after_call(struct analysis *a, uint32_t at, struct flow_state *s)
{
    const struct node *n = &a->nodes.v[at];
    uint64_t next = n->at + n->effect.size, target = n->effect.target;
    const uint8_t *found = target ? found_at(a, target) : NULL;

    if (target == next && is_pop(a, next)) { /* pushes its own address */
        struct disasm_effect push = { .op = DISASM_PUSH, .reg = DISASM_NO_REGISTER, .value = 8 };

        flow_step(s, &push);
        return go_on(a, at, next, false, true, s);
    }
    if (found)
        vec_push(&a->callees, target);
    if (target == next)
        return GOES_ON;
    if (n->no_return || (found && *found & NEVER_RETURNS) || is_prologue(a, next) ||
        (a->guessing && is_start(a, next)))
        return GOES_ON;
    flow_step(s, &n->effect);
    return go_on(a, at, next, true, false, s);
}

static enum outcome follow_jump(struct analysis *a, uint32_t at, const struct flow_state *s)
{
    const struct node *n = &a->nodes.v[at];
    struct flow_value table;

    if (n->effect.target)
        return go_on(a, at, n->effect.target, false, true, s);
    table = jump_table(n);
    if (table.kind)
        return jump_by_table(a, at, table);
    /* A call of another function, or a table that is not understood.  Without a known stack it is
     * a change of stacks: longjmp. */
    a->leaves |= s->reg[FLOW_RSP].kind != FLOW_UNKNOWN;
    return GOES_ON;
}

static enum outcome follow(struct analysis *a, uint32_t at)
{
    const struct node *n = &a->nodes.v[at];
    uint64_t next = n->at + n->effect.size, target = n->effect.target;
    struct flow_state s = n->state;
    enum outcome got;

    if (n->effect.op == DISASM_STOP)
        return GOES_ON;
    if (n->effect.op != DISASM_GO) {
        flow_step(&s, &n->effect);
        return go_on(a, at, next, false, false, &s);
    }
    switch ((enum disasm_kind)n->effect.kind) {
    case DISASM_CALL: return after_call(a, at, &s);
    case DISASM_RETURN:
        a->returns = true;
        a->believed |= flow_returns(&s) == FLOW_RETURNS;
        return flow_returns(&s) == FLOW_CANNOT_RETURN ? blame(a, at, s.reg[FLOW_RSP]) : GOES_ON;
    case DISASM_JUMP: return follow_jump(a, at, &s);
    default:
        got = go_on(a, at, target, false, true, &s);
        return got == GOES_ON ? go_on(a, at, next, false, false, &s) : got;
    }
}

static enum outcome follow_all(struct analysis *a, bool root)
{
    struct node *first;

    for (size_t i = 0; i < a->nodes.n; i++)
        a->nodes.v[i].reached = a->nodes.v[i].queued = false;
    a->queue.n = a->callees.n = 0;
    a->returns = a->leaves = a->believed = false;
    first = node_at(a, a->start);
    if (!first)
        return CONTRADICTS;
    flow_enter(&first->state, root);
    first->reached = true;
    first->after_call = false;
    first->from = index_of(a, first);
    enqueue(a, first);
    while (a->queue.n) {
        uint32_t at = a->queue.v[--a->queue.n];
        enum outcome got;

        if (a->steps == 0)
            return CONTRADICTS;
        a->steps--;
        a->nodes.v[at].queued = false;
        got = follow(a, at);
        if (got != GOES_ON)
            return got;
    }
    return GOES_ON;
}

static bool follow_function(struct analysis *a, uint64_t start, bool root)
{
    a->start = start;
    a->nodes.n = 0;
    for (int i = 0; i < MOST_TRIES; i++) {
        enum outcome got = follow_all(a, root);

        if (got != AGAIN)
            return got == GOES_ON;
    }
    return false;
}

/* Mark the instructions of the function, and note what it calls. */
static void commit(struct analysis *a)
{
    for (size_t i = 0; i < a->nodes.n; i++) {
        const struct node *n = &a->nodes.v[i];
        struct unw_rule rule;
        uint8_t *found;

        if (!n->reached)
            continue;
        if (n->effect.op == DISASM_SET && n->effect.base == DISASM_NO_REGISTER &&
            (found = found_at(a, (uint64_t)n->effect.value)))
            *found |= IS_POINTED;
        rule = flow_rule(&n->state);
        put_mark(part_of(a, n->at), n->at, n->effect.size, mark_of(a, &rule));
    }
    if (!a->returns && !a->leaves)
        *found_at(a, a->start) |= NEVER_RETURNS;
    for (size_t i = 0; i < a->callees.n; i++)
        add_entry(a, a->callees.v[i], IS_CALLED);
}

static void take_function(struct analysis *a, uint64_t start, bool root)
{
    struct part *p = part_of(a, start);

    if (!p || p->mark[start - p->start] != NO_MARK)
        return;
    if (follow_function(a, start, root))
        commit(a);
    else
        p->found[start - p->start] |= IS_REFUSED;
}

static void take_entries(struct analysis *a)
{
    while (a->followed < a->entries.n)
        take_function(a, a->entries.v[a->followed++], false);
}

/* --- what nothing names --- */

/* Follow the code at ADDRESS as if a function started there.  What belongs to a function that was
 * not understood, or is reached by a jump that was not, contradicts itself sooner or later.
 * Otherwise something must show that it is a function: its address is taken, it starts like one, or
 * it returns like one. */
static void guess_at(struct analysis *a, uint64_t address)
{
    const struct part *p = part_of(a, address);
    uint64_t at = address - p->start;
    bool is_next = at && p->mark[at - 1] != NO_MARK; /* another function ends here */
    bool is_likely = p->found[at] & IS_POINTED || is_prologue(a, address) ||
                     (is_next && is_start(a, address));

    a->guessing = !is_likely;
    if (follow_function(a, address, false) && (is_likely || a->believed))
        commit(a);
    a->guessing = false;
}

/* Follow the code that was not reached so far; AGAIN: where its address has become known since. */
static void guess(struct analysis *a, struct part *p, bool again)
{
    bool refused = false;

    for (uint64_t at = 0; at < p->size;) {
        uint64_t n;

        if (p->found[at] & IS_ENTRY)
            refused = p->found[at] & IS_REFUSED;
        if (p->mark[at] != NO_MARK) {
            at++;
            continue;
        }
        n = padding(p, at);
        if (n) {
            at += n;
            continue;
        }
        if (p->found[at] & IS_POINTED || (!refused && !again))
            guess_at(a, p->start + at);
        take_entries(a);
        if (p->mark[at] != NO_MARK)
            continue;
        /* The rest of what was not followed belongs to it: try again after the next padding, or
         * where a function starts without padding before it. */
        do
            at++;
        while (at < p->size && p->mark[at] == NO_MARK && !(p->found[at] & IS_POINTED) &&
               !padding(p, at));
    }
}

/* --- the code that a signal handler returns to --- */

/* A system call rt_sigreturn (15), as C libraries write it.  Debuggers recognize it likewise. */
static size_t signal_return(const unsigned char *c, size_t left)
{
    static const unsigned char wide[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
    static const unsigned char narrow[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };

    if (left >= sizeof wide && memcmp(c, wide, sizeof wide) == 0)
        return sizeof wide;
    return left >= sizeof narrow && memcmp(c, narrow, sizeof narrow) == 0 ? sizeof narrow : 0;
}

/* Offsets from sp in the kernel's signal frame, after its return address was popped. */
enum { CONTEXT = 40, SAVED_RBP = CONTEXT + 80, SAVED_RBX = CONTEXT + 88, SAVED_RSP = CONTEXT + 120,
       SAVED_RIP = CONTEXT + 128 };

static void find_signal_returns(struct analysis *a)
{
    static const struct unw_rule rule = {
        .cfa = UNW_CFA_SP_DEREF, .cfa_off = SAVED_RSP,
        .flags = UNW_RULE_SIGNAL | UNW_RULE_ANALYSED,
        .off = { [UNW_FP] = SAVED_RBP / 8, [UNW_PC] = SAVED_RIP / 8, [UNW_BX] = SAVED_RBX / 8 },
        .where = UNW_WHERE(UNW_AT_SP, UNW_AT_SP, UNW_AT_SP) };

    for (size_t i = 0; i < a->parts.n; i++) {
        struct part *p = &a->parts.v[i];

        for (uint64_t at = 1; at < p->size; at++) {
            size_t n = signal_return(p->code + at, p->size - at);

            if (n) /* callers are looked up one byte before their address */
                put_mark(p, p->start + at - 1, n + 1, mark_of(a, &rule));
        }
    }
}

/* --- the entry point --- */

/* Nothing calls the entry point.  It computes the address of main, which nothing else may do. */
static void take_start(struct analysis *a)
{
    enum { LENGTH = 64 };
    uint64_t entry = a->elf->file.entry;
    const unsigned char *code = cfi_elf_code(a->elf, entry, LENGTH);
    uint8_t *found = found_at(a, entry);
    struct disasm_effect e;
    size_t left = code ? LENGTH : 0;

    if (found)
        *found |= IS_ENTRY;
    for (; disasm_effect(code, left, entry, &e); code += e.size, left -= e.size, entry += e.size)
        if (e.op == DISASM_SET && e.base == DISASM_NO_REGISTER &&
            (found = found_at(a, (uint64_t)e.value)))
            *found |= IS_POINTED;
    take_function(a, a->elf->file.entry, true);
}

/* --- Go --- */

/* The outermost functions of Go's stacks are entered without a call. */
static void take_go_function(void *arg, uint64_t start, uint64_t end, bool is_top)
{
    static const struct unw_rule root = { .flags = UNW_RULE_ANALYSED,
                                          .where = UNW_WHERE(0, UNW_AT_ROOT, 0) };
    struct analysis *a = arg;
    struct part *p = part_of(a, start);

    if (!p)
        return;
    add_entry(a, start, 0);
    if (is_top)
        put_mark(p, start, end - start, mark_of(a, &root));
}

/* --- linkage --- */

/* The entries of .plt push one word partway, and its first entry another one before. */
static void find_linkage(struct analysis *a)
{
    static const unsigned char push_got[] = { 0xff, 0x35 }, jump_got[] = { 0xff, 0x25 };
    enum { ENTRY = 16, PUSH = 6, PUSHED = 11 };
    struct unw_rule rule = {
        .cfa = UNW_CFA_SP, .cfa_off = 16, .flags = UNW_RULE_ANALYSED, .off = { [UNW_PC] = -1 },
        .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_CFA, UNW_AT_SAME) };

    for (size_t i = 0; i < a->parts.n; i++) {
        struct part *p = &a->parts.v[i];

        if (p->size < 2 * ENTRY || memcmp(p->code, push_got, sizeof push_got) != 0 ||
            memcmp(p->code + PUSH, jump_got, sizeof jump_got) != 0 ||
            memcmp(p->code + ENTRY, jump_got, sizeof jump_got) != 0)
            continue;
        rule.cfa_off = 16;
        put_mark(p, p->start, PUSH, mark_of(a, &rule));
        rule.cfa_off = 24;
        put_mark(p, p->start + PUSH, ENTRY - PUSH, mark_of(a, &rule));
        rule.cfa = UNW_CFA_PLT;
        rule.cfa_off = 8;
        rule.extra = PUSHED;
        put_mark(p, p->start + ENTRY, p->size - ENTRY, mark_of(a, &rule));
        rule.cfa = UNW_CFA_SP;
        rule.extra = 0;
    }
}

/* --- the result --- */

static void write_spans(struct analysis *a, struct cfi_spans *out)
{
    for (size_t i = 0; i < a->parts.n; i++) {
        const struct part *p = &a->parts.v[i];

        for (uint64_t at = 0, end; at < p->size; at = end) {
            uint16_t mark = p->mark[at];

            for (end = at + 1; end < p->size && p->mark[end] == mark;)
                end++;
            if (mark >= FIRST_RULE)
                vec_push(&out->v, ((struct cfi_span){ p->start + at, p->start + end,
                                                      a->rules.v[mark - FIRST_RULE] }));
        }
    }
}

static void release(struct analysis *a)
{
    for (size_t i = 0; i < a->parts.n; i++) {
        free(a->parts.v[i].mark);
        free(a->parts.v[i].found);
        free(a->parts.v[i].node);
    }
    vec_release(&a->parts);
    vec_release(&a->rules);
    vec_release(&a->entries);
    vec_release(&a->nodes);
    vec_release(&a->queue);
    vec_release(&a->callees);
    umap_release(&a->rule_mark);
}

uint32_t cfi_analyse_version(void)
{
    return *disasm_refusal("x86_64") ? 0 : VERSION;
}

void cfi_analyse(struct cfi_elf *elf, const struct cfi_range *gaps, size_t n,
                 struct cfi_spans *out)
{
    struct analysis a = { .elf = elf };

    if (elf->machine->arch != UNW_X86_64 || !cfi_analyse_version())
        return;
    add_parts(&a, gaps, n);
    a.steps = a.size * STEPS_PER_BYTE;
    find_signal_returns(&a);
    find_linkage(&a);
    if (a.bytes >= NAMED_FROM) {
        cfi_elf_read_symbols(elf);
        for (size_t i = 0; i < ARRAY_LEN(elf->symbols); i++)
            add_symbols(&a, &elf->symbols[i]);
    }
    cfi_go_each(elf, take_go_function, &a);
    take_start(&a);
    take_entries(&a);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < a.parts.n; i++)
            guess(&a, &a.parts.v[i], again);
    write_spans(&a, out);
    release(&a);
}
