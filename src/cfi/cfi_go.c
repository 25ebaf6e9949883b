/* cfi_go.c - see cfi_go.h; the layout is that of Go's runtime/symtab.go.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_go.h"

#include "base/cursor.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

enum {
    QUANTUM = 1, POINTER = 8,          /* of x86-64 */
    HEADER_SKIPPED = 8,                /* number of files */
    TO_FUNCTIONS = 4 * 8,              /* offsets of names, units, files and line tables */
    FLAGS_1_18 = 37, FLAGS_1_20 = 41,  /* in the description of a function */
    TOP_FRAME = 1,
};

struct go_table {
    struct cursor functions; /* pairs of offsets: of the code, and of the description in here */
    uint64_t n, text;
    size_t flags_at;
};

static bool go_table_read(struct cfi_elf *elf, struct go_table *t)
{
    struct cfi_section s = cfi_elf_go_table(elf);
    struct cursor c = cursor_of(s.data, s.size);
    uint32_t magic = cur_u32(&c);
    uint64_t at;

    cur_skip(&c, 2);
    if (c.failed || (magic != MAGIC_1_18 && magic != MAGIC_1_20) || cur_u8(&c) != QUANTUM ||
        cur_u8(&c) != POINTER)
        return false;
    t->flags_at = magic == MAGIC_1_18 ? FLAGS_1_18 : FLAGS_1_20;
    t->n = cur_u64(&c);
    cur_skip(&c, HEADER_SKIPPED);
    t->text = cur_u64(&c);
    if (t->text == 0) /* filled in when a position-independent program is loaded */
        t->text = elf->text;
    cur_skip(&c, TO_FUNCTIONS);
    at = cur_u64(&c);
    if (c.failed || at > s.size)
        return false;
    t->functions = cursor_of(s.data + at, s.size - at);
    return t->n < cur_left(&t->functions) / 8;
}

static bool is_top(const struct go_table *t, uint32_t at)
{
    struct cursor c = t->functions;

    cur_skip(&c, at + t->flags_at);
    return cur_u8(&c) & TOP_FRAME && !c.failed;
}

void cfi_go_each(struct cfi_elf *elf, cfi_go_function *each, void *arg)
{
    struct go_table t = { .n = 0 };
    struct cursor c;
    uint32_t start, next, at;

    if (!go_table_read(elf, &t))
        return;
    c = t.functions;
    next = cur_u32(&c);
    for (uint64_t i = 0; i < t.n; i++) {
        start = next;
        at = cur_u32(&c);
        next = cur_u32(&c);
        if (c.failed || next <= start)
            return;
        each(arg, t.text + start, t.text + next, is_top(&t, at));
    }
}
