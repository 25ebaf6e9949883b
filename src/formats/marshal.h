/* marshal.h - the subset of Python's marshal format used by saved profiles: dictionaries and tuples
 * of numbers and strings, with references to earlier objects.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_MARSHAL_H
#define FATHOM_FORMATS_MARSHAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/mem.h"

enum marshal_kind {
    MARSHAL_BAD,
    MARSHAL_END, /* the null that ends a dictionary */
    MARSHAL_NUMBER,
    MARSHAL_TEXT,
    MARSHAL_TUPLE, /* n items follow */
    MARSHAL_DICT,  /* keys and values follow until MARSHAL_END */
};

struct marshal_object {
    enum marshal_kind kind;
    double number;
    const char *text;
    size_t n;       /* bytes of text, items of a tuple */
    uint32_t known; /* number assigned to an earlier tuple with marshal_remember */
    uint32_t ref;   /* index among the references + 1, 0 when it has none */
};

struct marshal_reader {
    struct cursor c;
    VEC(struct marshal_object) ref;
};

/* The next object; its items are read by further calls, except when it refers to an earlier
 * tuple: then known is set and nothing follows. */
struct marshal_object marshal_next(struct marshal_reader *r);
/* Assign the number KNOWN to the tuple O, whose items have been read, for later references. */
void marshal_remember(struct marshal_reader *r, const struct marshal_object *o, uint32_t known);
void marshal_release(struct marshal_reader *r);

void marshal_dict(struct buf *b);
void marshal_dict_end(struct buf *b);
void marshal_tuple(struct buf *b, uint32_t n);
void marshal_int(struct buf *b, uint64_t x);
void marshal_double(struct buf *b, double x);
void marshal_text(struct buf *b, const char *s, size_t n);

#endif
