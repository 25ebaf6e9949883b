/* agent_bpf.c - see agent_bpf.h.  SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_bpf.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>

struct machine {
    uint32_t a, x, memory[BPF_MEMWORDS];
};

static bool load(struct machine *m, const struct sock_filter *c, const struct seccomp_data *call)
{
    uint32_t value = c->k;

    switch (BPF_MODE(c->code)) {
    case BPF_IMM:
        break;
    case BPF_LEN:
        value = sizeof *call;
        break;
    case BPF_MEM:
        if (c->k >= BPF_MEMWORDS)
            return false;
        value = m->memory[c->k];
        break;
    case BPF_ABS:
        if (BPF_CLASS(c->code) != BPF_LD || c->k % 4 || c->k > sizeof *call - 4)
            return false;
        memcpy(&value, (const char *)call + c->k, 4);
        break;
    default:
        return false;
    }
    *(BPF_CLASS(c->code) == BPF_LD ? &m->a : &m->x) = value;
    return true;
}

static bool store(struct machine *m, const struct sock_filter *c)
{
    if (c->k >= BPF_MEMWORDS)
        return false;
    m->memory[c->k] = BPF_CLASS(c->code) == BPF_ST ? m->a : m->x;
    return true;
}

static bool compute(struct machine *m, const struct sock_filter *c)
{
    uint32_t v = BPF_SRC(c->code) == BPF_X ? m->x : c->k;

    switch (BPF_OP(c->code)) {
    case BPF_ADD: m->a += v; return true;
    case BPF_SUB: m->a -= v; return true;
    case BPF_MUL: m->a *= v; return true;
    case BPF_DIV: m->a = v ? m->a / v : 0; return v != 0;
    case BPF_OR: m->a |= v; return true;
    case BPF_AND: m->a &= v; return true;
    case BPF_XOR: m->a ^= v; return true;
    case BPF_LSH: m->a = v < 32 ? m->a << v : 0; return true;
    case BPF_RSH: m->a = v < 32 ? m->a >> v : 0; return true;
    case BPF_NEG: m->a = -m->a; return true;
    default: return false;
    }
}

/* Instructions to skip; the kernel allows jumps forward only. */
static size_t jump(const struct machine *m, const struct sock_filter *c)
{
    uint32_t v = BPF_SRC(c->code) == BPF_X ? m->x : c->k;
    bool yes;

    switch (BPF_OP(c->code)) {
    case BPF_JA: return c->k;
    case BPF_JEQ: yes = m->a == v; break;
    case BPF_JGT: yes = m->a > v; break;
    case BPF_JGE: yes = m->a >= v; break;
    default: yes = m->a & v; break; /* BPF_JSET */
    }
    return yes ? c->jt : c->jf;
}

uint32_t agent_bpf_run(const struct sock_filter *code, size_t n, const struct seccomp_data *call)
{
    struct machine m = { 0 };
    bool valid = true;

    for (size_t i = 0; i < n && valid; i++) {
        const struct sock_filter *c = &code[i];

        switch (BPF_CLASS(c->code)) {
        case BPF_LD:
        case BPF_LDX: valid = load(&m, c, call); break;
        case BPF_ST:
        case BPF_STX: valid = store(&m, c); break;
        case BPF_ALU: valid = compute(&m, c); break;
        case BPF_JMP: i += jump(&m, c); break;
        case BPF_RET: return BPF_RVAL(c->code) == BPF_A ? m.a : c->k;
        default: /* BPF_MISC */
            if (BPF_MISCOP(c->code) == BPF_TXA)
                m.a = m.x;
            else
                m.x = m.a;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}
