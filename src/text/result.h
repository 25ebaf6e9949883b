/* result.h - the result of a command, printed as text, JSON or CSV.
 *
 * A result consists of facts (members of the JSON object) and tables.  A column with a title is
 * shown in text; a column with a key is in JSON and CSV.  A cell has a value, and may have a
 * different form for text: "12.3 ms" for 12300000.  Every printer prints all rows, so apply filters
 * and limits before adding them.  Cells and members copy their text; keys, titles and columns
 * must live as long as the result.  Start with result_init(), end with result_release().
 * SPDX-License-Identifier: Apache-2.0 */
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
    RESULT_NONE, /* no member, an empty cell */
    RESULT_NULL, /* JSON null */
    RESULT_BOOL,
    RESULT_INT,
    RESULT_UINT,
    RESULT_REAL,
    RESULT_TEXT,
    RESULT_LIST,
    RESULT_OBJECT,
    RESULT_ROWS, /* a table in a cell; JSON only */
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

struct result_member { /* of an object, or of a list (without key) */
    const char *key;
    struct result_value value;
    struct result_member *next;
};

struct result_group {
    struct result_member *first, *last;
};

struct result_column {
    const char *title;     /* heading in text; NULL: not in text */
    const char *key;       /* member in JSON, heading in CSV; NULL: only in text */
    enum table_kind kind;  /* alignment and truncation in text */
    int min_width;         /* hidden on a narrower terminal; 0: never hidden */
};

struct result_cell {
    struct result_value value;
    const char *shown; /* form for text; NULL: derived from the value */
    const char *below; /* text: a line below the row; NULL: none */
    enum term_style style;
};

struct result_table {
    const char *key; /* member of the JSON object; NULL: only in text */
    const struct result_column *column;
    size_t n_columns;
    struct arena *arena;
    VEC(struct result_cell) cell;
    /* Text only: lines before and after the table, and the number of rows to print. */
    const char *title; /* in bold, with an empty line above; NULL: none */
    const char *before, *after;
    size_t text_rows; /* SIZE_MAX: all */
    int indent;
};

struct result {
    struct arena arena;
    struct result_group *facts;
    VEC(struct result_table *) table; /* including tables in cells */
    VEC(struct result_table *) top;   /* in print order */
    struct result_table *main;        /* the table that CSV prints */
    struct buf head, tail;            /* text before and after the tables */
    bool pretty;                      /* JSON with one member per line */
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
/* The rows of T as a member of an object. */
static inline struct result_value result_rows_of(struct result_table *t)
{
    return (struct result_value){ .kind = RESULT_ROWS, .rows = t };
}
struct result_value result_list(struct result *r);
struct result_value result_object(struct result *r);
/* Append to a list (KEY NULL) or an object. */
void result_put(struct result *r, struct result_value group, const char *key,
                struct result_value v);
/* Add a member to the JSON object. */
void result_fact(struct result *r, const char *key, struct result_value v);

/* Add a table to the result; result_rows() adds one to a cell. */
struct result_table *result_table(struct result *r, const char *key,
                                  const struct result_column *columns, size_t n);
struct result_value result_rows(struct result *r, const struct result_column *columns, size_t n,
                                struct result_table **made);

/* Add cells row by row, one for each column. */
void result_cell(struct result_table *t, struct result_value v);
/* Set the form of the last cell in text, copied ("" for empty), and its style. */
void result_show(struct result_table *t, const char *shown);
void result_style(struct result_table *t, enum term_style s);
void result_below(struct result_table *t, const char *text); /* line below the last cell */
size_t result_count(const struct result_table *t); /* rows */

enum result_form { RESULT_AS_TEXT, RESULT_AS_JSON, RESULT_AS_CSV };
void result_print(const struct result *r, enum result_form form, struct out *o,
                  const struct term *term);

#endif
