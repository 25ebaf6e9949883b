/* store_table.c - see store_table.h.  SPDX-License-Identifier: Apache-2.0 */
#include "store/store_table.h"

/* Number all columns of the file; the columns of a chunk start at FIRST_name. */
enum {
    BEFORE_FIRST_ = -1,
#define CHUNK(type, name, record, defines) FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define COLUMN(chunk, column, kind, refers) COLUMN_##chunk##_##column,
#include "store/store.def"
#undef CHUNK
#undef COLUMN
};

/* The struct of each chunk, so that a COLUMN row can name a field through its chunk. */
#define CHUNK(type, name, record, defines) typedef struct record record_of_##name;
#define COLUMN(chunk, column, kind, refers)
#include "store/store.def"
#undef CHUNK
#undef COLUMN

static const struct store_column columns[] = {
#define CHUNK(type, name, record, defines)
#define COLUMN(chunk, column, kind, refers)                          \
    { #column, STORE_##kind, STORE_##refers,                         \
      (uint16_t)offsetof(record_of_##chunk, column),                 \
      (uint16_t)sizeof(((record_of_##chunk *)0)->column),            \
      _Generic(((record_of_##chunk *)0)->column, int32_t: true, int64_t: true, default: false) },
#include "store/store.def"
#undef CHUNK
#undef COLUMN
};

/* Count the columns of a chunk as the size of a struct with one byte per column. */
#define CHUNK(type, name, record, defines) \
    };                                     \
    struct width_of_##name {
#define COLUMN(chunk, column, kind, refers) char column;
struct width_of_nothing_ {
    char none;
#include "store/store.def"
};
#undef CHUNK
#undef COLUMN

const struct store_chunk store_chunks[STORE_TYPES] = {
#define CHUNK(type, name, record, defines)                                    \
    [type] = { #name, sizeof(struct record), defines,                         \
               sizeof(struct width_of_##name), &columns[FIRST_##name] },
#define COLUMN(chunk, column, kind, refers)
#include "store/store.def"
#undef CHUNK
#undef COLUMN
};
