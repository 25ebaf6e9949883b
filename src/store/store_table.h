/* store_table.h - store.def as tables, and the records of chunks that have no struct in sink.h.
 * Private to src/store.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_TABLE_H
#define FATHOM_STORE_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "profile/sink.h"

enum store_kind {
    STORE_UINT,   /* LEB128 */
    STORE_INT,    /* zigzag LEB128 */
    STORE_DELTA,  /* difference from the previous record (0 for the first), modulo 2^64, as INT */
    STORE_REF,    /* an id or 0, encoded as DELTA */
    STORE_ID,     /* the same, never 0 */
    STORE_PARENT, /* own id minus this id, as UINT; 0 for none */
    STORE_REAL,   /* 8 bytes, IEEE 754 */
    STORE_DURATION, /* of a sample: 0 when equal to the weight, else the value + 1, as UINT */
    STORE_TEXT,   /* UTF-8: all lengths as UINT, then all bytes */
    STORE_BYTES,  /* the same for bytes that are not text */
};

static inline bool store_kind_is_text(enum store_kind kind)
{
    return kind == STORE_TEXT || kind == STORE_BYTES;
}

struct store_text { /* a TEXT or BYTES field */
    const unsigned char *p;
    size_t n;
};
struct store_meta {
    struct store_text key, value;
};
struct store_string {
    struct store_text text;
};
struct store_process_update { /* the fields are those of struct process */
    uint32_t id, name, command;
    int64_t pid, parent_pid;
    uint64_t start_ns, end_ns;
};
struct store_thread_update {
    uint32_t id, process, name;
    int64_t tid;
    uint64_t start_ns, end_ns;
};
struct store_module {
    uint32_t path, kind;
    struct store_text build_id;
};
struct store_module_update {
    uint32_t id, symbols, problem, advice;
};
struct store_frame {
    uint32_t kind, flags, module;
    uint64_t address;
};
struct store_location { /* one link of a frame's chain; inlined: continues the previous record */
    uint32_t frame, function, line, inlined;
};
struct store_stack {
    uint32_t parent, frame;
};
struct store_line { /* one link of a row's chain, as in store_location */
    uint32_t module, function, line, inlined;
    uint64_t address;
};
struct store_source {
    uint32_t file;
    struct store_text text;
};
struct store_code {
    uint32_t module;
    uint64_t address;
    struct store_text bytes;
};
struct store_total { /* number of records of a type in the whole file */
    uint32_t type;
    uint64_t records;
};

enum store_type {
    STORE_none,
#define CHUNK(type, name, record, defines) STORE_##name = type,
#define COLUMN(name, column, kind, refers)
#include "store/store.def"
#undef CHUNK
#undef COLUMN
    STORE_TYPES, /* one past the last */
};

enum { STORE_MAX_COLUMNS = 12 };

struct store_column {
    const char *name;
    enum store_kind kind;
    enum store_type refers; /* STORE_none unless REF, ID or PARENT */
    uint16_t offset, size;  /* in the record */
    bool is_signed;         /* of the field */
};

struct store_chunk {
    const char *name;
    uint16_t record_size;
    bool defines;
    uint8_t n_columns;
    const struct store_column *column;
};

/* Indexed by type; [0] is unused. */
extern const struct store_chunk store_chunks[STORE_TYPES];

/* The duration of most samples is their weight or 0; either compresses to almost nothing.  FIELD
 * is duration_ns; the weight is decoded before it. */
static inline uint64_t store_weight_beside(const unsigned char *field)
{
    uint64_t weight;

    memcpy(&weight, field + offsetof(struct sample, weight) - offsetof(struct sample, duration_ns),
           sizeof weight);
    return weight;
}

static inline uint64_t store_pack_duration(const unsigned char *field, uint64_t x)
{
    return x == store_weight_beside(field) || x == UINT64_MAX ? 0 : x + 1;
}

static inline uint64_t store_unpack_duration(const unsigned char *field, uint64_t x)
{
    return x ? x - 1 : store_weight_beside(field);
}

/* Return the number in a FIELD of four or eight bytes, sign-extended if it is signed. */
static inline uint64_t store_table_field(const unsigned char *field, const struct store_column *k)
{
    uint64_t x;
    uint32_t small;

    if (k->size == 8) {
        memcpy(&x, field, 8);
        return x;
    }
    memcpy(&small, field, 4);
    return k->is_signed ? (uint64_t)(int32_t)small : small;
}

#endif
