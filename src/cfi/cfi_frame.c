/* cfi_frame.c - see cfi_frame.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_frame.h"

#include "cfi/cfi_analyse.h"
#include "cfi/cfi_paths.h"
#include "cfi/cfi_read.h"

struct rules { /* of a function */
    uint64_t address;
    struct unw_rule first, there; /* at its start, and at ADDRESS */
    bool any;
};

static const struct cfi_fde *find_fde(const struct cfi *cfi, uint64_t address)
{
    for (size_t i = 0; i < cfi->fdes.n; i++)
        if (address - cfi->fdes.v[i].start < cfi->fdes.v[i].size)
            return &cfi->fdes.v[i];
    return NULL;
}

static void take_row(void *arg, uint64_t address, const struct unw_rule *rule)
{
    struct rules *r = arg;

    if (!r->any)
        r->first = *rule;
    if (address <= r->address)
        r->there = *rule;
    r->any = true;
}

/* A part of a function that the compiler moved elsewhere starts with the frame of the whole. */
static bool starts_with_a_call(const struct unw_rule *r)
{
    return r->cfa == UNW_CFA_SP && r->cfa_off == 8;
}

/* The state before the instruction that contains ADDRESS. */
static const struct flow_state *state_at(const struct paths *f, uint64_t address)
{
    for (size_t i = 0; i < f->nodes.n; i++) {
        const struct path_node *n = &f->nodes.v[i];

        if (n->reached && address - n->at < n->effect.size)
            return &n->state;
    }
    return NULL;
}

/* The instructions must agree with RULE. */
static bool follow(struct cfi_elf *elf, const struct cfi_fde *fde, uint64_t address,
                   const struct unw_rule *rule, int32_t *offset)
{
    struct code code = { .elf = elf };
    const struct flow_state *s = NULL;
    struct paths paths;
    bool found;

    code_add(&code, fde->start, fde->start + fde->size);
    paths_init(&paths, &code);
    if (paths_follow(&paths, fde->start, false))
        s = state_at(&paths, address);
    found = s && s->reg[FLOW_RSP].kind == FLOW_CFA && s->reg[FLOW_RBP].kind == FLOW_CFA &&
            s->reg[FLOW_RBP].n == -rule->cfa_off && s->reg[FLOW_RSP].n <= s->reg[FLOW_RBP].n;
    if (found)
        *offset = s->reg[FLOW_RBP].n - s->reg[FLOW_RSP].n;
    paths_release(&paths);
    code_release(&code);
    return found;
}

bool cfi_frame_find(struct cfi_elf *elf, uint64_t address, int32_t *offset)
{
    struct rules r = { .address = address };
    struct cfi cfi = { .elf = elf };
    const struct cfi_fde *fde;
    bool found = false;

    if (elf->machine->arch != UNW_X86_64 || !cfi_analyse_version())
        return false;
    cfi_read(&cfi, &elf->eh_frame, true);
    cfi_read(&cfi, &elf->debug_frame, false);
    fde = find_fde(&cfi, address);
    if (fde) {
        cfi_run(&cfi, fde, fde->start + fde->size, take_row, &r);
        found = starts_with_a_call(&r.first) && r.there.cfa == UNW_CFA_FP &&
                follow(elf, fde, address, &r.there, offset);
    }
    cfi_release(&cfi);
    return found;
}
