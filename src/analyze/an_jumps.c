/* an_jumps.c - see an_jumps.h.  Short jumps get the columns nearest to the code, so that lines
 * nest.  A jump without a free column is not drawn; its instruction still names the target.
 * SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_jumps.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum cell { EMPTY, UPRIGHT, FROM_TOP, FROM_BOTTOM, FLAT, ARROW, CROSS };

struct jump {
    size_t from, to; /* rows */
};

static size_t row_of(const struct an_instr *instr, size_t n, uint64_t address)
{
    size_t at = search(0, n, i, instr[i].d.address < address);

    return at < n && instr[at].d.address == address ? at : SIZE_MAX;
}

static size_t span_of(const struct jump *j)
{
    return j->from > j->to ? j->from - j->to : j->to - j->from;
}

static int shorter(const void *a, const void *b)
{
    size_t x = span_of(a), y = span_of(b);

    return x < y ? -1 : x > y;
}

static size_t collect(const struct an_instr *instr, size_t n, struct jump *jump)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        const struct disasm_line *d = &instr[i].d;
        size_t to;

        if ((d->kind != DISASM_JUMP && d->kind != DISASM_BRANCH) || !d->target)
            continue;
        to = row_of(instr, n, d->target);
        if (to != SIZE_MAX && to != i)
            jump[count++] = (struct jump){ i, to };
    }
    qsort(jump, count, sizeof *jump, shorter);
    return count;
}

static int free_column(const unsigned char (*grid)[AN_JUMPS_COLUMNS], size_t top, size_t bottom)
{
    for (int c = AN_JUMPS_COLUMNS - 2; c >= 0; c--) {
        size_t row = top;

        while (row <= bottom && grid[row][c] == EMPTY)
            row++;
        if (row > bottom)
            return c;
    }
    return -1;
}

static void draw(unsigned char (*grid)[AN_JUMPS_COLUMNS], const struct jump *j)
{
    size_t top = j->from < j->to ? j->from : j->to, bottom = j->from < j->to ? j->to : j->from;
    int c = free_column((const unsigned char (*)[AN_JUMPS_COLUMNS])grid, top, bottom);
    const size_t ends[2] = { j->from, j->to };

    if (c < 0)
        return;
    for (size_t row = top + 1; row < bottom; row++)
        grid[row][c] = UPRIGHT;
    grid[top][c] = FROM_TOP;
    grid[bottom][c] = FROM_BOTTOM;
    for (int e = 0; e < 2; e++)
        for (int k = c + 1; k < AN_JUMPS_COLUMNS; k++) {
            unsigned char *cell = &grid[ends[e]][k];

            if (k == AN_JUMPS_COLUMNS - 1)
                *cell = e == 1 || *cell == ARROW ? ARROW : FLAT;
            else
                *cell = *cell == UPRIGHT ? CROSS : *cell == EMPTY ? FLAT : *cell;
        }
}

char (*an_jumps_draw(const struct an_instr *instr, size_t n))[AN_JUMPS_BYTES]
{
    static const char *const shape[] = { " ", "│", "┌", "└", "─", "▶", "┼" };
    unsigned char (*grid)[AN_JUMPS_COLUMNS] = mem_zalloc((n + 1) * sizeof *grid);
    char (*text)[AN_JUMPS_BYTES] = mem_zalloc((n + 1) * sizeof *text);
    struct jump *jump = mem_alloc((n + 1) * sizeof *jump);
    size_t count = collect(instr, n, jump);

    for (size_t i = 0; i < count; i++)
        draw(grid, &jump[i]);
    for (size_t row = 0; row < n; row++)
        for (int c = 0; c < AN_JUMPS_COLUMNS; c++)
            strncat(text[row], shape[grid[row][c]], 3);
    free(jump);
    free(grid);
    return text;
}
