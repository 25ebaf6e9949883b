/* view_data.h - convert a profile to the columns that the viewer reads; docs/internals/viewer.md
 * describes them.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_VIEW_DATA_H
#define FATHOM_FORMATS_VIEW_DATA_H

#include "analyze/an_tree.h"
#include "base/buf.h"
#include "formats/view_tags.h"

enum view_column {
    VIEW_STRINGS,       /* text, each terminated by a line end */
    VIEW_SYMBOL_KIND,   /* byte: enum frame_kind, + 128 when inlined */
    VIEW_SYMBOL_MODULE, /* uleb: string, 0 none */
    VIEW_SYMBOL_FILE,   /* uleb: string, 0 none */
    VIEW_SYMBOL_LINE,   /* uleb */
    VIEW_NODE_UP,       /* uleb: levels to go up from the previous node to reach the parent */
    VIEW_NODE_SYMBOL,   /* low bytes of all nodes, then the next bytes ... */
    VIEW_WEIGHT_NODE,   /* uleb: distance from the previous node in the group */
    VIEW_WEIGHT_VALUE,  /* zigzag */
    VIEW_WEIGHT_COUNT,  /* uleb */
    VIEW_COLUMNS,
};

struct view_group { /* the weights of one metric on one thread with one set of tags */
    uint32_t metric, thread, tags; /* tags: the page's number */
    uint64_t n;
};

struct view_data {
    struct buf column[VIEW_COLUMNS];
    VEC(struct view_group) group;
    struct view_tags tags;
    uint64_t n_symbols, n_nodes, n_strings;
    unsigned symbol_bytes; /* bytes of a symbol number in VIEW_NODE_SYMBOL */
};

void view_data_init(struct view_data *v, const struct profile *p);
void view_data_release(struct view_data *v);
extern const char *const view_column_names[VIEW_COLUMNS];

#endif
