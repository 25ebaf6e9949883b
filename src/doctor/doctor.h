/* doctor.h - check a machine or binary and suggest changes.
 *
 * Results are lists of facts: each has a key for programs, a label for people, a value, and advice
 * if something could be better.  Start lists from {0}; doc_facts_release frees.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DOCTOR_DOCTOR_H
#define FATHOM_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

enum doc_state { DOC_PLAIN, DOC_GOOD, DOC_POOR };

struct doc_fact {
    const char *key, *label;
    enum doc_state state;
    char value[320];
    char advice[256]; /* "" if nothing should change */
};

struct doc_facts {
    VEC(struct doc_fact) v;
};

/* ADVICE may be NULL. */
void doc_add(struct doc_facts *f, enum doc_state state, const char *key, const char *label,
             const char *advice, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void doc_facts_release(struct doc_facts *f);

/* Kernel, permissions, processor, clock, tools (doc_machine.c, doc_cpu.c). */
void doc_machine(struct doc_facts *f);
void doc_cpu(struct doc_facts *f);
void doc_tools(struct doc_facts *f);

/* One rung of the privilege ladder, and whether it works on this machine. */
struct doc_rung {
    const char *name, *gives;
    bool holds;
    char why[200];    /* why it does not work; "" if it does */
    char remedy[320];
};
struct doc_rungs {
    VEC(struct doc_rung) v;
};
void doc_ladder(struct doc_rungs *r);

/* How a binary was built. */
struct doc_binary {
    struct doc_facts facts;
    char verdict[160];
    char command[256]; /* how to record it */
    bool fast, instrumented;
    bool is_process;
};
/* PATH is an ELF file or a process id; -1 if it is neither. */
int doc_binary(struct doc_binary *b, const char *path, struct err *e);
struct sym_module;
/* The same for an open module; TARGET is the end of the "fathom record" command. */
int doc_binary_module(struct doc_binary *b, struct sym_module *m, const char *target,
                      struct err *e);
void doc_binary_release(struct doc_binary *b);

#endif
