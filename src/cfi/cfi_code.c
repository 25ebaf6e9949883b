/* cfi_code.c - see cfi_code.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_code.h"

#include <stdlib.h>

#include "base/search.h"
#include "cfi/cfi_flow.h"

enum {
    MOST_CODE = 16 << 20, /* bytes analysed of one file */
    MOST_PREFIXES = 14, /* of an instruction, which has at most 15 bytes */
    MOST_RULES = UINT16_MAX - 2,
    ALIGNMENT = 16,
};

struct code_part *code_part_of(const struct code *c, uint64_t address)
{
    size_t at = search(0, c->parts.n, i,
                       c->parts.v[i].start + c->parts.v[i].size <= address);

    return at < c->parts.n && c->parts.v[at].start <= address ? &c->parts.v[at] : NULL;
}

uint8_t *code_found_at(const struct code *c, uint64_t address)
{
    struct code_part *p = code_part_of(c, address);

    return p ? &p->found[address - p->start] : NULL;
}

uint64_t code_padding(const struct code_part *p, uint64_t at)
{
    uint64_t from = at;

    while (at < p->size && p->mark[at] == CODE_NO_MARK) {
        const unsigned char *c = p->code + at;
        uint64_t left = p->size - at, prefixes = 0;

        if (*c == 0 || *c == 0xcc || *c == 0x90) {
            at++;
            continue;
        }
        while (prefixes < left && prefixes < MOST_PREFIXES &&
               (c[prefixes] == 0x66 || c[prefixes] == 0x2e))
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

static void add_part(struct code *c, uint64_t start, uint64_t end)
{
    uint64_t size = end - start;
    const unsigned char *code;

    if (size > MOST_CODE - c->size)
        return;
    code = cfi_elf_code(c->elf, start, size);
    if (!code)
        return;
    vec_push(&c->parts,
             ((struct code_part){ start, size, code, mem_zalloc(size * sizeof(uint16_t)),
                                  mem_zalloc(size), mem_zalloc(size * sizeof(uint32_t)) }));
    c->size += size;
    c->bytes += size - code_padding(&c->parts.v[c->parts.n - 1], 0);
}

void code_add(struct code *c, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < c->elf->n_code; i++) {
        const struct elf_segment *s = &c->elf->code[i];
        uint64_t from = start > s->address ? start : s->address;
        uint64_t to = end < s->address + s->size ? end : s->address + s->size;

        if (from < to)
            add_part(c, from, to);
    }
}

void code_release(struct code *c)
{
    for (size_t i = 0; i < c->parts.n; i++) {
        free(c->parts.v[i].mark);
        free(c->parts.v[i].found);
        free(c->parts.v[i].node);
    }
    vec_release(&c->parts);
    vec_release(&c->rules);
    vec_release(&c->entries);
    umap_release(&c->rule_mark);
}

uint16_t code_mark_of(struct code *c, const struct unw_rule *rule)
{
    struct unw_rule_words w = unw_rule_words(rule);
    uint64_t key = hash_pair(w.a, w.b);
    uint32_t mark;

    if (w.a == 0 && w.b == 0)
        return CODE_NO_RULE;
    for (; (mark = umap_find(&c->rule_mark, key)); key++)
        if (unw_rule_equal(&c->rules.v[mark - CODE_FIRST_RULE], rule))
            return (uint16_t)mark;
    if (c->rules.n >= MOST_RULES)
        return CODE_NO_RULE;
    vec_push(&c->rules, *rule);
    mark = (uint32_t)(CODE_FIRST_RULE + c->rules.n - 1);
    umap_put(&c->rule_mark, key, mark);
    return (uint16_t)mark;
}

static void put_mark(struct code_part *p, uint64_t start, uint64_t size, uint16_t mark)
{
    uint64_t at = start - p->start;

    for (uint64_t i = at; i < at + size && i < p->size; i++)
        p->mark[i] = mark;
}

void code_set_rule(struct code *c, struct code_part *p, uint64_t start, uint64_t size,
                   const struct unw_rule *rule)
{
    put_mark(p, start, size, code_mark_of(c, rule));
}

void code_add_entry(struct code *c, uint64_t address, unsigned found)
{
    uint8_t *f = code_found_at(c, address);

    if (!f)
        return;
    if (!(*f & CODE_QUEUED))
        vec_push(&c->entries, address);
    *f |= (uint8_t)(found | CODE_ENTRY | CODE_QUEUED);
}

bool code_is_start(const struct code *c, uint64_t address)
{
    const struct code_part *p = code_part_of(c, address);
    uint64_t at = p ? address - p->start : 0;
    struct disasm_effect e;

    return !p || code_padding(p, at) ||
           (disasm_effect(p->code + at, p->size - at, address, &e) &&
            ((e.op == DISASM_PUSH && e.reg != DISASM_NO_REGISTER) ||
             (e.op == DISASM_SET && e.reg == FLOW_RSP && e.base == FLOW_RSP && e.value < 0)));
}

/* Whether the instruction at byte AT of P makes the stack pointer the frame pointer. */
static bool saves_frame(const struct code_part *p, uint64_t at)
{
    struct disasm_effect e;

    return disasm_effect(p->code + at, p->size - at, 0, &e) && e.op == DISASM_SET &&
           e.reg == FLOW_RBP && e.base == FLOW_RSP && e.value == 0;
}

bool code_is_prologue(const struct code *c, uint64_t address)
{
    enum { SAVED = 1 << FLOW_RBX | 1 << FLOW_RBP | 0xf000 }; /* and r12 to r15 */
    const struct code_part *p = code_part_of(c, address);
    uint64_t at = p ? address - p->start : 0;
    struct disasm_effect e;

    if (!p)
        return false;
    at += code_padding(p, at);
    if (at == p->size || !disasm_effect(p->code + at, p->size - at, p->start + at, &e))
        return false;
    if (e.op == DISASM_PUSH && e.reg == FLOW_RBP && saves_frame(p, at + e.size))
        return true;
    if ((p->start + at) % ALIGNMENT)
        return false;
    return (e.op == DISASM_PUSH && SAVED >> e.reg & 1) ||
           (e.op == DISASM_SET && e.reg == FLOW_RSP && e.base == FLOW_RSP && e.value < 0);
}

bool code_is_pop(const struct code *c, uint64_t address)
{
    const struct code_part *p = code_part_of(c, address);
    uint64_t at = p ? address - p->start : 0;
    struct disasm_effect e;

    return p && disasm_effect(p->code + at, p->size - at, address, &e) && e.op == DISASM_POP;
}
