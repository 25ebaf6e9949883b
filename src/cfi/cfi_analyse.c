/* cfi_analyse.c - see cfi_analyse.h.  First the functions that something names or calls, then what
 * the rest of the code seems to be.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_analyse.h"

#include "cfi/cfi_entries.h"
#include "cfi/cfi_known.h"
#include "cfi/cfi_paths.h"
#include "disasm/disasm.h"

enum { VERSION = 2 };

struct analysis {
    struct code code;
    struct paths function; /* the last one that was followed */
    size_t followed;       /* entries of the code that were */
};

static void take_function(struct analysis *a, uint64_t start, bool root)
{
    struct code_part *p = code_part_of(&a->code, start);

    if (!p || p->mark[start - p->start] != CODE_NO_MARK)
        return;
    if (paths_follow(&a->function, start, root))
        paths_commit(&a->function);
    else
        p->found[start - p->start] |= CODE_REFUSED;
}

static void take_entries(struct analysis *a)
{
    while (a->followed < a->code.entries.n)
        take_function(a, a->code.entries.v[a->followed++], false);
}

/* Follow the code at ADDRESS as if a function started there.  What belongs to a function that was
 * not understood, or is reached by a jump that was not, contradicts itself sooner or later.
 * Otherwise something must show that it is a function: its address is taken, it starts like one, or
 * it returns like one. */
static void guess_at(struct analysis *a, uint64_t address)
{
    struct paths *f = &a->function;
    const struct code_part *p = code_part_of(&a->code, address);
    uint64_t at = address - p->start;
    bool is_next = at && p->mark[at - 1] != CODE_NO_MARK; /* another function ends here */
    bool is_likely = p->found[at] & CODE_POINTED || code_is_prologue(&a->code, address) ||
                     (is_next && code_is_start(&a->code, address));

    f->guessing = !is_likely;
    if (paths_follow(f, address, false) && (is_likely || f->believed))
        paths_commit(f);
    f->guessing = false;
}

/* Follow the code that was not reached so far; AGAIN: where its address has become known since. */
static void guess(struct analysis *a, struct code_part *p, bool again)
{
    bool refused = false;

    for (uint64_t at = 0; at < p->size;) {
        uint64_t n;

        if (p->found[at] & CODE_ENTRY)
            refused = p->found[at] & CODE_REFUSED;
        if (p->mark[at] != CODE_NO_MARK) {
            at++;
            continue;
        }
        n = code_padding(p, at);
        if (n) {
            at += n;
            continue;
        }
        if (p->found[at] & CODE_POINTED || (!refused && !again))
            guess_at(a, p->start + at);
        take_entries(a);
        if (p->mark[at] != CODE_NO_MARK)
            continue;
        /* The rest of what was not followed belongs to it: try again after the next padding, or
         * where a function starts without padding before it. */
        do
            at++;
        while (at < p->size && p->mark[at] == CODE_NO_MARK && !(p->found[at] & CODE_POINTED) &&
               !code_padding(p, at));
    }
}

static void write_spans(const struct code *c, struct cfi_spans *out)
{
    for (size_t i = 0; i < c->parts.n; i++) {
        const struct code_part *p = &c->parts.v[i];

        for (uint64_t at = 0, end; at < p->size; at = end) {
            uint16_t mark = p->mark[at];

            for (end = at + 1; end < p->size && p->mark[end] == mark;)
                end++;
            if (mark >= CODE_FIRST_RULE)
                vec_push(&out->v, ((struct cfi_span){ p->start + at, p->start + end,
                                                      c->rules.v[mark - CODE_FIRST_RULE] }));
        }
    }
}

uint32_t cfi_analyse_version(void)
{
    return *disasm_refusal("x86_64") ? 0 : VERSION;
}

void cfi_analyse(struct cfi_elf *elf, const struct cfi_range *gaps, size_t n,
                 struct cfi_spans *out)
{
    struct analysis a = { .code.elf = elf };

    if (elf->machine->arch != UNW_X86_64 || !cfi_analyse_version())
        return;
    for (size_t i = 0; i < n; i++)
        code_add(&a.code, gaps[i].start, gaps[i].end);
    paths_init(&a.function, &a.code);
    known_mark(&a.code);
    entries_find(&a.code);
    take_function(&a, elf->file.entry, true);
    take_entries(&a);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < a.code.parts.n; i++)
            guess(&a, &a.code.parts.v[i], again);
    write_spans(&a.code, out);
    paths_release(&a.function);
    code_release(&a.code);
}
