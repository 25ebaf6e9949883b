/* sink.h - the interface between producers and consumers of profiles.
 *
 * A producer (recorder, importer, file reader) calls a sink.  A consumer (in-memory model, file
 * writer, streaming exporter) implements one.
 *
 * Rules
 * - Ids of each kind are dense and start at 1, in order of definition.  0 means none.
 * - A definition precedes its use.  Exception: resolve() may come at any time before end().
 * - Producers call sink_x(s, ...), which skips callbacks that are NULL.
 * - A sink keeps its first error and returns it from end().  The producer calls end() exactly
 *   once; end() frees nothing.
 * - Text is UTF-8, and not NUL-terminated unless noted.  Arguments are valid only during the
 *   call.
 * - Times are nanoseconds of one clock, which the meta key "clock" names; 0 means unknown.
 *
 * Stacks form a prefix tree: a stack is a frame and a parent stack, which is its caller.  A
 * stack with parent 0 is a root.  The stack id of a sample is that of its innermost frame.
 *
 * A frame is a place in a program: an address in a module, or only a name.  resolve() maps it to
 * source functions, outermost first: one for an ordinary frame, several where calls were inlined.
 * A frame that is never resolved is shown as its module and address.  One stack may mix frames
 * of all kinds.
 *
 * A sample covers the time from start_ns up to, but not including, start_ns + duration_ns:
 * - a sample of a clock ends when the timer fires, and its duration is its weight;
 * - a wait starts when the thread leaves the CPU and ends when it returns;
 * - an event such as a cache miss or an allocation is an instant: its duration is 0;
 * - a sum over the whole recording (METRIC_WHOLE) is an instant at the start of the recording.
 *
 * Tag sets form a prefix tree too: a set is a key and a value added to a parent set.  A key that
 * occurs twice has both values; the later one is used where only one is possible.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_SINK_H
#define FATHOM_PROFILE_SINK_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum metric_flag {
    METRIC_EXACT = 1,   /* counts everything, not sampled: no confidence interval */
    METRIC_OFF_CPU = 2, /* time spent waiting */
    METRIC_LIVE = 4,    /* what remains at the end of the recording, such as leaked bytes */
    METRIC_WHOLE = 8,   /* sums over the whole recording: its samples have no times of their own */
};

struct metric { /* "cpu" in "ns", "alloc" in "bytes", "cycles" in "events" ... */
    uint32_t name, unit, about; /* strings */
    uint32_t flags;             /* enum metric_flag */
    uint64_t period;            /* requested weight per sample, 0 when not sampled */
};

struct process {
    int64_t pid, parent_pid;
    uint32_t name;    /* string: comm */
    uint32_t command; /* string: command line, 0 when unknown */
    uint64_t start_ns, end_ns;
};

struct thread {
    uint32_t process; /* id of the process in this profile, not its pid */
    uint32_t name;    /* string */
    int64_t tid;
    uint64_t start_ns, end_ns;
};

enum module_kind {
    MODULE_FILE,
    MODULE_KERNEL,
    MODULE_VDSO,
    MODULE_JIT,
    MODULE_NONE,
};

struct module { /* a file or region that contains code */
    uint32_t path; /* string: as the target sees it; "[kernel]", "[vdso]", "[jit]" ... */
    uint32_t kind; /* enum module_kind */
    uint8_t build_id[20];
    uint8_t build_id_size; /* 0 when unknown */
    /* Strings about the names of its functions, set by update_module(). */
    uint32_t symbols; /* source of the names: "dwarf", "symtab" ..., "none" */
    uint32_t problem; /* why the module could not be read */
    uint32_t advice;  /* how to get more names */
};

enum frame_kind {
    FRAME_NATIVE,
    FRAME_KERNEL,
    FRAME_JIT,
    FRAME_PYTHON,
    FRAME_SCRIPT,
    FRAME_ZONE,
    FRAME_NOTE, /* a remark of fathom itself, such as "[truncated]" or "[lost]" */
};

enum frame_flag {
    FRAME_TRUNCATED = 1, /* "[truncated]": the callers of this frame are missing */
    FRAME_JOINED = 2,    /* the callers of this frame come from an earlier complete stack */
    FRAME_RETURN = 4,    /* the address is a return address: the call is just before it */
};

struct frame {
    uint16_t kind, flags; /* enum frame_kind, enum frame_flag */
    uint32_t module;  /* 0 when unknown */
    uint64_t address; /* ELF virtual address as in the module's file; 0 when only a name */
};

struct function {
    uint32_t name;        /* string, demangled */
    uint32_t linkage_name; /* string: name for the linker, 0 when the same */
    uint32_t file;        /* string, 0 when unknown */
    uint32_t line;        /* where it is declared, 0 when unknown */
    uint32_t module;      /* 0 when unknown */
};

struct location { /* one source position within a frame */
    uint32_t function;
    uint32_t line; /* 0 when unknown */
};

struct line_row { /* source position of the code from ADDRESS to the next row of the module */
    uint32_t module;
    uint64_t address; /* as in struct frame */
};

struct tag { /* a tag set: KEY and its value, added to the set PARENT */
    uint32_t parent;     /* tag set, 0 when this is the first pair */
    uint32_t key, text;  /* strings; the value is TEXT, or a number when TEXT is 0 */
    uint32_t unit;       /* string: unit of the number, 0 when it has none */
    int64_t value;
};
/* Keys that fathom itself reads. */
#define TAG_WAIT "wait"   /* wait kind: "futex", "disk" ... */
#define TAG_STACK "stack" /* "guessed": the stack is that of an earlier sample or wait */
#define TAG_FLOW "flow"   /* of a span of duration 0: a number that spans of other threads share
                             when work is passed from one thread to the next */
/* Wait kinds that fathom itself reads. */
#define WAIT_QUEUE "run queue" /* ready, but another thread ran */
#define WAIT_FAULT "page fault"
#define WAIT_UNKNOWN "unknown"
/* Keys of zones. */
#define TAG_CONTEXT "context" /* request or task that the zone belongs to */
#define TAG_BACKEND "backend" /* backend that executed it */
#define TAG_LABEL "label"     /* label given by the program */

struct sample {
    uint64_t start_ns, duration_ns;
    uint32_t thread, stack, metric;
    uint32_t tags;   /* tag set, 0 when none */
    int32_t cpu;     /* -1 when unknown */
    int64_t weight;  /* in the unit of the metric */
    uint64_t count;  /* number of events in the weight: 1 for one sample, n for n allocations */
};

/* Set the time of M, which was taken at END_NS (0 when unknown) and covers the DURATION_NS
 * before it. */
static inline void sample_ends_at(struct sample *m, uint64_t end_ns, uint64_t duration_ns)
{
    m->start_ns = end_ns > duration_ns ? end_ns - duration_ns : end_ns != 0;
    m->duration_ns = end_ns - m->start_ns;
}

struct span { /* one execution of a named piece of code on a thread */
    uint64_t start_ns, duration_ns;
    uint32_t thread, name, stack; /* stack 0 when none */
    uint32_t detail;              /* string: arguments, 0 when none */
    uint32_t tags;
};

struct counter {
    uint64_t time_ns;
    uint32_t process;    /* 0 when machine-wide */
    uint32_t name, unit; /* strings */
    uint32_t tags;
    double value;
};

/* Source text and machine code, stored so that a profile can be annotated on another machine. */
struct source_text {
    uint32_t file; /* string: path */
    const char *text;
    size_t size;
};
struct code_bytes {
    uint32_t module;
    uint64_t address; /* of bytes[0], as in struct frame */
    const unsigned char *bytes;
    size_t size;
};

struct sink {
    void (*meta)(struct sink *s, const char *key, const char *value); /* both NUL-terminated */
    void (*string)(struct sink *s, const char *text, size_t n);
    void (*metric)(struct sink *s, const struct metric *m);
    void (*process)(struct sink *s, const struct process *p);
    void (*thread)(struct sink *s, const struct thread *t);
    /* Change a process, thread or module that is already defined.  A field that is 0 keeps its
     * value.  Of a module, only symbols, problem and advice can change. */
    void (*update_process)(struct sink *s, uint32_t id, const struct process *p);
    void (*update_thread)(struct sink *s, uint32_t id, const struct thread *t);
    void (*update_module)(struct sink *s, uint32_t id, const struct module *m);
    void (*module)(struct sink *s, const struct module *m);
    void (*frame)(struct sink *s, const struct frame *f);
    void (*stack)(struct sink *s, uint32_t parent, uint32_t frame);
    void (*tag)(struct sink *s, const struct tag *t);
    void (*sample)(struct sink *s, const struct sample *m);
    void (*span)(struct sink *s, const struct span *p);
    void (*counter)(struct sink *s, const struct counter *c);
    void (*function)(struct sink *s, const struct function *f);
    void (*resolve)(struct sink *s, uint32_t frame, const struct location *chain, size_t n);
    void (*line)(struct sink *s, const struct line_row *row, const struct location *chain,
                 size_t n);
    void (*source)(struct sink *s, const struct source_text *t);
    void (*code)(struct sink *s, const struct code_bytes *c);
    int (*end)(struct sink *s, struct err *e);
};

/* Producers call the functions below, which skip callbacks that are NULL. */
#define SINK_CALL(name, ...)                                                                       \
    do {                                                                                           \
        if (s->name)                                                                               \
            s->name(s, __VA_ARGS__);                                                               \
    } while (0)

static inline void sink_meta(struct sink *s, const char *key, const char *value)
{
    SINK_CALL(meta, key, value);
}

static inline void sink_meta_u64(struct sink *s, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    sink_meta(s, key, text);
}

static inline void sink_string(struct sink *s, const char *text, size_t n)
{
    SINK_CALL(string, text, n);
}

static inline void sink_stack(struct sink *s, uint32_t parent, uint32_t frame)
{
    SINK_CALL(stack, parent, frame);
}

static inline void sink_update_process(struct sink *s, uint32_t id, const struct process *p)
{
    SINK_CALL(update_process, id, p);
}

static inline void sink_update_thread(struct sink *s, uint32_t id, const struct thread *t)
{
    SINK_CALL(update_thread, id, t);
}

static inline void sink_update_module(struct sink *s, uint32_t id, const struct module *m)
{
    SINK_CALL(update_module, id, m);
}

static inline void sink_line(struct sink *s, const struct line_row *row,
                             const struct location *chain, size_t n)
{
    SINK_CALL(line, row, chain, n);
}

static inline void sink_resolve(struct sink *s, uint32_t frame, const struct location *chain,
                                size_t n)
{
    SINK_CALL(resolve, frame, chain, n);
}

/* Functions that take one record: sink_metric(s, m), sink_process(s, p) ... */
#define SINK_RECORD(name, record)                                                                  \
    static inline void sink_##name(struct sink *s, const struct record *x)                         \
    {                                                                                              \
        SINK_CALL(name, x);                                                                        \
    }
SINK_RECORD(metric, metric)
SINK_RECORD(process, process)
SINK_RECORD(thread, thread)
SINK_RECORD(module, module)
SINK_RECORD(frame, frame)
SINK_RECORD(tag, tag)
SINK_RECORD(sample, sample)
SINK_RECORD(span, span)
SINK_RECORD(counter, counter)
SINK_RECORD(function, function)
SINK_RECORD(source, source_text)
SINK_RECORD(code, code_bytes)
#undef SINK_RECORD
#undef SINK_CALL

static inline int sink_end(struct sink *s, struct err *e)
{
    return s->end ? s->end(s, e) : 0;
}

#endif
