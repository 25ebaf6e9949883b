/* result.h - what a command found, once, for three printers: text, JSON and CSV.
 *
 * A result is facts (members of the JSON object) and tables.  A column has a title when people
 * see it and a key when programs do; a cell has a value, and may have a text of its own for
 * people: "12.3 ms" for 12300000.  Rows that are added are printed by every printer, so filters
 * and limits are applied before.  Text is copied only by result_copy and the *_printf calls:
 * everything else must live as long as the result.  Start with result_init, end with
 * result_release.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_RESULT_H
#define FATHOM_TEXT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "text/out.h"
#include "text/table.h"
#include "text/term.h"

enum result_kind {
    RESULT_NONE, /* the member is absent, the cell empty */
    RESULT_NULL, /* JSON null */
    RESULT_BOOL,
    RESULT_INT,
    RESULT_UINT,
    RESULT_REAL,
    RESULT_TEXT,
    RESULT_LIST,
    RESULT_OBJECT,
    RESULT_ROWS, /* a table inside a row; JSON only */
};

struct result_value {
    enum result_kind kind;
    int decimals; /* of a real number */
    union {
        bool truth;
        int64_t i;
        uint64_t u;
        double x;
        const char *s;
        struct result_group *group;
        struct result_table *rows;
    };
};

struct result_member { /* of a list, which has no keys, or an object */
    const char *key;
    struct result_value value;
    struct result_member *next;
};

struct result_group {
    struct result_member *first, *last;
};

struct result_column {
    const char *title;     /* heading in text; NULL: not in text */
    const char *key;       /* member in JSON, heading in CSV; NULL: in text alone */
    enum table_kind kind;  /* how text is aligned and cut */
    int min_width;         /* left out on a terminal that is narrower; 0: never */
};

struct result_cell {
    struct result_value value;
    const char *shown; /* for people; NULL: made from the value */
    const char *below; /* for people: in a line of its own below it; NULL: nothing */
    enum term_style style;
};

struct result_table {
    const char *key; /* member of the JSON object; NULL: in text alone */
    const struct result_column *column;
    size_t n_columns;
    struct arena *arena;
    VEC(struct result_cell) cell;
    /* Text: what stands before and after the table, and how many rows are shown of it. */
    const char *title; /* in bold, with an empty line above; NULL: none */
    const char *before, *after;
    size_t text_rows; /* SIZE_MAX: all */
    int indent;
};

struct result {
    struct arena arena;
    struct result_group *facts;
    VEC(struct result_table *) table; /* also those inside rows */
    VEC(struct result_table *) top;   /* in the order they are printed */
    struct result_table *main;        /* the one that CSV prints */
    struct buf head, tail;            /* text before and after the tables */
    bool pretty;                      /* JSON with a member a line */
};

void result_init(struct result *r);
void result_release(struct result *r);
const char *result_copy(struct result *r, const char *s);
const char *result_printf(struct result *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static inline struct result_value result_none(void)
{
    return (struct result_value){ 0 };
}
static inline struct result_value result_null(void)
{
    return (struct result_value){ .kind = RESULT_NULL };
}
static inline struct result_value result_bool(bool x)
{
    return (struct result_value){ .kind = RESULT_BOOL, .truth = x };
}
static inline struct result_value result_int(int64_t x)
{
    return (struct result_value){ .kind = RESULT_INT, .i = x };
}
static inline struct result_value result_uint(uint64_t x)
{
    return (struct result_value){ .kind = RESULT_UINT, .u = x };
}
static inline struct result_value result_real(double x, int decimals)
{
    return (struct result_value){ .kind = RESULT_REAL, .decimals = decimals, .x = x };
}
static inline struct result_value result_text(const char *s)
{
    return (struct result_value){ .kind = RESULT_TEXT, .s = s };
}
/* The rows of T inside an object. */
static inline struct result_value result_rows_of(struct result_table *t)
{
    return (struct result_value){ .kind = RESULT_ROWS, .rows = t };
}
struct result_value result_list(struct result *r);
struct result_value result_object(struct result *r);
/* Append to a list (KEY NULL) or an object. */
void result_put(struct result *r, struct result_value group, const char *key,
                struct result_value v);
/* A member of the JSON object. */
void result_fact(struct result *r, const char *key, struct result_value v);

/* A table of the result, or with result_rows one inside a row. */
struct result_table *result_table(struct result *r, const char *key,
                                  const struct result_column *columns, size_t n);
struct result_value result_rows(struct result *r, const struct result_column *columns, size_t n,
                                struct result_table **made);

/* Cells are added row by row, one for each column. */
void result_cell(struct result_table *t, struct result_value v);
/* The last cell: what people see instead ("" for nothing), copied; and how. */
void result_show(struct result_table *t, const char *shown);
void result_style(struct result_table *t, enum term_style s);
void result_below(struct result_table *t, const char *text); /* the last cell: a line below it */
size_t result_count(const struct result_table *t); /* rows */

enum result_form { RESULT_AS_TEXT, RESULT_AS_JSON, RESULT_AS_CSV };
void result_print(const struct result *r, enum result_form form, struct out *o,
                  const struct term *term);

#endif
