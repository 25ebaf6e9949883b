/* cfi_blame.c - see cfi_blame.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_blame.h"

struct suspect { /* a call that might not return */
    uint32_t call;
    size_t steps;  /* since then */
    bool is_final; /* what follows looks like another function */
};

/* The last call on the path to node AT after which the stack pointer was SP: a function that starts
 * there would return with the same one. */
static bool find_culprit(const struct paths *f, uint32_t at, struct flow_value sp,
                         struct suspect *found)
{
    for (size_t steps = 0; steps < f->nodes.n; steps++) {
        const struct path_node *n = &f->nodes.v[at];
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
static bool find_suspect(const struct paths *f, uint32_t at, struct suspect *found)
{
    bool any = false;

    for (size_t steps = 0; steps < f->nodes.n; steps++) {
        const struct path_node *n = &f->nodes.v[at];

        if (n->after_call) {
            struct suspect s = { n->from, steps, code_is_start(f->code, n->at) };

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

enum path_outcome blame_path(struct paths *f, uint32_t at, struct flow_value sp)
{
    struct suspect s;

    if (f->guessing || !(find_culprit(f, at, sp, &s) || find_suspect(f, at, &s)))
        return PATH_CONTRADICTS;
    f->nodes.v[s.call].no_return = true;
    return PATH_AGAIN;
}

enum path_outcome blame_meeting(struct paths *f, uint32_t from, bool after_call, uint32_t to,
                                const struct flow_state *s)
{
    struct suspect old, new = { from, 0, true };
    bool any_old = find_suspect(f, to, &old);
    bool any_new = after_call || find_suspect(f, from, &new);

    if (f->guessing)
        return PATH_CONTRADICTS;
    if (any_old && any_new)
        any_old = old.is_final != new.is_final ? old.is_final : old.steps < new.steps;
    if (any_old || any_new) {
        f->nodes.v[any_old ? old.call : new.call].no_return = true;
        return PATH_AGAIN;
    }
    flow_merge(&f->nodes.v[to].state, s, true);
    return PATH_GOES_ON;
}
