/* table.h - aligned tables.
 *
 * Define the columns, add cells row by row, print.  A column with only empty cells is omitted.  On
 * a terminal, columns marked TABLE_NAME share the remaining width, and long cells are shortened in
 * the middle; elsewhere nothing is shortened.  Untrusted text is sanitized here.  Start with
 * table_init, end with table_release.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_TABLE_H
#define FATHOM_TEXT_TABLE_H

#include "base/mem.h"
#include "text/out.h"
#include "text/term.h"

enum table_kind {
    TABLE_NUMBER, /* right-aligned, never cut */
    TABLE_TEXT,   /* left-aligned, never cut */
    TABLE_NAME,   /* left-aligned, may be shortened in the middle */
};

struct table_column {
    const char *title;
    enum table_kind kind;
};

struct table_cell {
    const char *s;
    uint32_t n, columns;
    enum term_style style;
};

struct table {
    const struct table_column *column;
    size_t n_columns;
    int indent; /* columns before each line */
    struct arena arena;
    VEC(struct table_cell) cell;
};

void table_init(struct table *t, const struct table_column *columns, size_t n);
void table_release(struct table *t);
void table_text(struct table *t, const char *s);
void table_printf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_style(struct table *t, enum term_style s); /* of the cell just added */
void table_print(const struct table *t, struct out *o, const struct term *term);
/* One comma-separated value, quoted as in RFC 4180. */
void table_csv_cell(struct out *o, const char *s, bool first);

/* S cut in the middle to at most COLUMNS display columns, into OUT. */
void table_cut(struct buf *out, const char *s, size_t n, size_t columns);

#endif
