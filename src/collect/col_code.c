/* col_code.c - see col_code.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/search.h"
#include "collect/col_proc.h"

enum {
    FIRST_MS = 2, /* read the maps again after this time, */
    LAST_MS = 1024, /* and each time after twice as long */
    COST = 50, /* a reading costs at most 1 / COST of the time */
    CHECK_MS = 1000, /* between looks at the maps of a process that does not report changes */
};

bool col_code_read(int64_t pid, uint64_t inode, struct buf *code)
{
    char path[64], number[32], *line = NULL;
    size_t cap = 0;
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", pid);
    snprintf(number, sizeof number, " %" PRIu64 " ", inode);
    f = fopen(path, "re");
    while (f && getline(&line, &cap, f) > 0) {
        const char *prot = strchr(line, ' ');

        if (prot && strlen(prot) > 4 && prot[3] == 'x')
            buf_add(code, line, strlen(line));
        else
            found |= strstr(line, "/memfd:fathom-agent") && strstr(line, number);
    }
    free(line);
    if (f)
        fclose(f);
    return found;
}

static uint64_t start_of(const char *line)
{
    return strtoull(line, NULL, 16);
}

/* Append to TO the lines of OLD that are not in NEW, without their files.  Both are in order of
 * address, and may be long. */
static void add_removed(struct buf *to, struct buf *old, struct buf *new)
{
    const char *in = buf_text(new), *line = buf_text(old);

    for (size_t n; (n = strcspn(line, "\n")) && line[n]; line += n + 1) {
        while (*in && start_of(in) < start_of(line))
            in += strcspn(in, "\n") + 1;
        if (strncmp(in, line, n + 1) != 0)
            buf_printf(to, "%.*s r-xp 0 00:00 0 \n", (int)strcspn(line, " "), line);
    }
}

static bool has_changed(const struct col_paced_process *x)
{
    struct buf code = { 0 };
    bool changed;

    col_code_read(x->pid, 0, &code);
    changed = code.n != x->code.n || (code.n && memcmp(code.data, x->code.data, code.n) != 0);
    buf_release(&code);
    return changed;
}

static void read_again(struct col_paced_process *x, struct col_batch *b, uint64_t now)
{
    struct buf code = { 0 }, all = { 0 };
    struct col_batch_event *e;

    col_code_read(x->pid, 0, &code);
    if (!code.n) /* it has ended */
        return;
    add_removed(&all, &x->code, &code);
    buf_add(&all, code.data, code.n);
    e = col_batch_add(b, COL_BATCH_MAPS, now, all.data, all.n);
    e->pid = e->tid = x->pid;
    buf_release(&all);
    buf_release(&x->code);
    x->code = code;
    x->has_ranges = false;
}

/* Now, and again after a while. */
static void reread(struct col_paced_process *x, struct col_batch *b, uint64_t now)
{
    read_again(x, b, now);
    x->maps_ns = x->maps_rest_ns < LAST_MS * (uint64_t)COL_PACED_NS_PER_MS ? now + x->maps_rest_ns
                                                                           : 0;
    x->maps_rest_ns *= 2;
}

void col_code_changed(struct col_paced_process *x, struct col_batch *b, uint64_t now)
{
    x->maps_rest_ns = FIRST_MS * (uint64_t)COL_PACED_NS_PER_MS;
    reread(x, b, now);
}

static void find_ranges(struct col_paced_process *x)
{
    const char *line = buf_text(&x->code);

    x->range.n = 0;
    for (size_t n; (n = strcspn(line, "\n")) && line[n]; line += n + 1) {
        char *end;
        uint64_t from = strtoull(line, &end, 16);

        if (*end == '-')
            vec_push(&x->range, ((struct col_paced_range){ from, strtoull(end + 1, NULL, 16) }));
    }
    x->has_ranges = true;
}

static bool is_known(struct col_paced_process *x, uint64_t pc)
{
    size_t at;

    if (!x->has_ranges)
        find_ranges(x);
    at = search(0, x->range.n, i, x->range.v[i].start <= pc);
    return at && pc < x->range.v[at - 1].end;
}

void col_code_need(struct col_paced_process *x, uint64_t pc, struct col_batch *b, uint64_t time_ns)
{
    uint64_t start = clock_mono_ns();

    if (start < x->need_ns || is_known(x, pc))
        return;
    read_again(x, b, time_ns);
    x->need_ns = start + COST * (clock_mono_ns() - start);
}

void col_code_exec(struct col_paced_process *x, struct col_batch *b, uint64_t time_ns)
{
    struct col_batch_event *e;
    char name[64];

    if (col_proc_comm(x->pid, x->pid, name, sizeof name) > 0)
        snprintf(x->name, sizeof x->name, "%.*s", (int)strcspn(name, "\n"), name);
    x->code.n = 0;
    x->has_ranges = false;
    col_code_read(x->pid, 0, &x->code);
    e = col_batch_add(b, COL_BATCH_EXEC, time_ns, x->code.data, x->code.n);
    e->pid = e->tid = x->pid;
    e->parent = col_proc_parent(x->pid);
    memcpy(e->name, x->name, sizeof e->name);
}

void col_code_refresh(struct col_paced_process *x, struct col_batch *b, uint64_t time_ns)
{
    struct buf code = { 0 };
    uint64_t start = clock_mono_ns();
    bool same;

    if (start < x->maps_ns)
        return;
    col_code_read(x->pid, 0, &code);
    same = code.n == x->code.n && (!code.n || memcmp(code.data, x->code.data, code.n) == 0);
    buf_release(&code);
    if (!same && col_paced_look_at_image(x))
        col_code_exec(x, b, time_ns);
    else if (!same)
        read_again(x, b, time_ns);
    x->maps_ns = start + COST * (clock_mono_ns() - start);
}

void col_code_look(struct col_paced_process *x, struct col_batch *b, uint64_t now)
{
    if (x->maps_ns && now >= x->maps_ns)
        reread(x, b, now);
    if (x->way == COL_PACED_ASKED && !x->hooked && now >= x->check_ns) {
        x->check_ns = now + CHECK_MS * (uint64_t)COL_PACED_NS_PER_MS;
        if (has_changed(x))
            col_code_changed(x, b, now);
    }
}
