/* intern.h - assign an id to each distinct item and define it in a sink once.
 *
 * A producer uses one intern per sink and defines everything through it.  intern_x() returns the
 * id of an item and calls sink_x() only if the item is new.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_INTERN_H
#define FATHOM_PROFILE_INTERN_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/mem.h"
#include "profile/sink.h"

struct intern_text {
    const char *s;
    uint32_t n;
};
struct intern_node {
    uint32_t parent, frame;
};

struct intern {
    struct sink *out;
    struct arena arena;
    struct index strings, functions, modules, frames, named, stacks, tag_sets;
    VEC(struct intern_text) string;
    VEC(struct function) function;
    VEC(struct module) module;
    VEC(struct frame) frame;
    VEC(struct location) named_frame; /* by frame id - 1: its only location; {0} unless named */
    VEC(struct intern_node) stack;
    VEC(struct tag) tag;
    uint32_t n_metrics, n_processes, n_threads;
};

void intern_init(struct intern *in, struct sink *out);
void intern_release(struct intern *in);

uint32_t intern_string(struct intern *in, const char *s, size_t n);
uint32_t intern_cstr(struct intern *in, const char *s); /* NULL or "" is 0 */
uint32_t intern_module(struct intern *in, const struct module *m); /* equal by path, build id */
/* The module at PATH, a string; its kind follows from the path. */
uint32_t intern_path(struct intern *in, uint32_t path);
uint32_t intern_frame(struct intern *in, const struct frame *f);
uint32_t intern_function(struct intern *in, const struct function *f);
/* Define a frame that is only a name, and resolve it to FUNCTION at LINE. */
uint32_t intern_named_frame(struct intern *in, enum frame_kind kind, uint32_t function,
                            uint32_t line);
uint32_t intern_stack(struct intern *in, uint32_t parent, uint32_t frame);
/* Return the tag set PARENT plus one pair.  The value is a text, or a number with a unit (NULL or
 * "" for none). */
uint32_t intern_tag(struct intern *in, uint32_t parent, const char *key, const char *text);
uint32_t intern_tag_number(struct intern *in, uint32_t parent, const char *key, int64_t number,
                           const char *unit);
uint32_t intern_tag_of(struct intern *in, const struct tag *t);
/* These always define a new item. */
uint32_t intern_metric(struct intern *in, const struct metric *m);
uint32_t intern_process(struct intern *in, const struct process *p);
uint32_t intern_thread(struct intern *in, const struct thread *t);

/* Return the text of string ID, "" for 0.  NUL-terminated, valid until intern_release(). */
const char *intern_text_of(const struct intern *in, uint32_t id);

#endif
