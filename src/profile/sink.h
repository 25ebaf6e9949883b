/* sink.h - the narrow waist.
 *
 * Whoever produces a profile (collector, importer, file reader) calls a sink; whoever consumes
 * one (the in-memory model, the file writer, a streaming exporter) is one.
 *
 * Rules.  Ids of each kind are dense from 1 in order of definition; 0 means none.  A
 * definition precedes its use, with one exception: resolve() may come any time before end().
 * Producers call sink_x(s, ...), which skips a NULL call.  A sink keeps its first failure and
 * reports it from end(), which is called exactly once and frees nothing.  Text is UTF-8 and not
 * NUL-terminated unless said; structs are only valid during the call.  Times are nanoseconds of
 * one clock, named by meta "clock"; 0 where unknown.
 *
 * Stacks are a prefix tree: a stack id names (parent stack, frame), and its parent is the
 * caller; parent 0 is a root.  A sample's stack id is its leaf.
 *
 * A frame is a place in a program: an address in a module, or only a name.  resolve() says
 * what source functions the frame stands for, outermost first: one for an ordinary frame,
 * more where calls were inlined.  A frame that is never resolved is shown as its module and
 * address.  One stack may mix frames of all kinds.
 *
 * A sample stands for the time from start_ns to start_ns + duration_ns (not included).  A sample
 * of a clock ends when the timer fires and lasts as long as it weighs; a wait lasts from leaving
 * the CPU to returning; an event such as a cache miss or an allocation is an instant with
 * duration 0.  A sum over the whole recording is an instant at its start.
 *
 * Tag sets are a prefix tree as well: a set is one key with a value added to a parent set.  A
 * key that occurs twice has both values, and the later one counts where only one can.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_SINK_H
#define FATHOM_PROFILE_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum metric_flag {
    METRIC_EXACT = 1,   /* counted or measured in full, not sampled: no confidence interval */
    METRIC_OFF_CPU = 2, /* time spent waiting */
    METRIC_LIVE = 4,    /* what is left at the end (leaked bytes), not what happened */
};

struct metric { /* "cpu" in "ns", "alloc" in "bytes", "cycles" in "events" ... */
    uint32_t name, unit, about; /* strings */
    uint32_t flags;             /* enum metric_flag */
    uint64_t period;            /* asked weight per sample, 0 when not sampled */
};

struct process {
    int64_t pid, parent_pid;
    uint32_t name;    /* string: comm */
    uint32_t command; /* string: command line, 0 when unknown */
    uint64_t start_ns, end_ns;
};

struct thread {
    uint32_t process; /* process id in this profile */
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

struct module { /* a file that code came from */
    uint32_t path; /* string: as the target saw it; "[kernel]", "[vdso]", "[jit]" ... */
    uint32_t kind; /* enum module_kind */
    uint8_t build_id[20];
    uint8_t build_id_size; /* 0 when unknown */
    /* What is known of its names; strings, told by update_module(). */
    uint32_t symbols; /* where they came from: "dwarf", "symtab" ..., "none" */
    uint32_t problem; /* why it could not be read */
    uint32_t advice;  /* what would give more names */
};

enum frame_kind {
    FRAME_NATIVE,
    FRAME_KERNEL,
    FRAME_JIT,
    FRAME_PYTHON,
    FRAME_SCRIPT,
    FRAME_ZONE,
    FRAME_NOTE, /* something we say, such as "[truncated]" or "[lost]" */
};

enum frame_flag {
    FRAME_TRUNCATED = 1, /* "[truncated]": the stack was cut below here */
    FRAME_JOINED = 2,    /* the rest below was taken from an earlier full stack */
    FRAME_RETURN = 4,    /* address is a return address: the call is before it */
};

struct frame {
    uint16_t kind, flags; /* enum frame_kind, enum frame_flag */
    uint32_t module;  /* 0 when unknown */
    uint64_t address; /* file-relative ELF virtual address in module, 0 when only a name */
};

struct function {
    uint32_t name;        /* string, demangled */
    uint32_t linkage_name; /* string as linked, 0 when the same */
    uint32_t file;        /* string, 0 when unknown */
    uint32_t line;        /* where it is declared, 0 when unknown */
    uint32_t module;      /* 0 when unknown */
};

struct location { /* one source position within a frame */
    uint32_t function;
    uint32_t line; /* 0 when unknown */
};

struct line_row { /* the source of the code from here to the next row of the module */
    uint32_t module;
    uint64_t address; /* file-relative as in struct frame */
};

struct tag { /* a tag set: KEY and its value, added to the set PARENT */
    uint32_t parent;     /* tag set, 0 when this is its first pair */
    uint32_t key, text;  /* strings; text 0: the value is a number */
    uint32_t unit;       /* string: of the number, 0 when it has none */
    int64_t value;
};
/* Keys that fathom itself reads. */
#define TAG_WAIT "wait"   /* what a sample off the CPU waited for: "futex", "run queue" ... */
#define TAG_STACK "stack" /* "guessed": the stack is that of an earlier sample or wait */
#define TAG_FLOW "flow"   /* of a span without duration: a number that other threads have too,
                             where work was handed from one to the next */
/* Of zones: for what they ran, which backend did it, the label of the call. */
#define TAG_CONTEXT "context"
#define TAG_BACKEND "backend"
#define TAG_LABEL "label"

struct sample {
    uint64_t start_ns, duration_ns;
    uint32_t thread, stack, metric;
    uint32_t tags;   /* tag set, 0 when none */
    int32_t cpu;     /* -1 when unknown */
    int64_t weight;  /* in the metric's unit: nanoseconds, bytes allocated */
    uint64_t count;  /* events that make up the weight: 1 for one sample, n for n allocations */
};

/* M was taken at END_NS, 0 when unknown, at the end of DURATION_NS that it stands for. */
static inline void sample_ends_at(struct sample *m, uint64_t end_ns, uint64_t duration_ns)
{
    m->start_ns = end_ns > duration_ns ? end_ns - duration_ns : end_ns != 0;
    m->duration_ns = end_ns - m->start_ns;
}

struct span { /* something with a name, a beginning and an end on a thread */
    uint64_t start_ns, duration_ns;
    uint32_t thread, name, stack; /* stack 0 when none */
    uint32_t detail;              /* string: arguments, 0 when none */
    uint32_t tags;
};

struct counter {
    uint64_t time_ns;
    uint32_t process, name, unit; /* strings; process 0 = machine-wide */
    uint32_t tags;
    double value;
};

/* Text of a source file, or bytes of code, kept so that a profile opens elsewhere. */
struct source_text {
    uint32_t file;
    const char *text;
    size_t size;
};
struct code_bytes {
    uint32_t module;
    uint64_t address; /* of bytes[0], file-relative as in struct frame */
    const unsigned char *bytes;
    size_t size;
};

struct sink {
    void (*meta)(struct sink *s, const char *key, const char *value); /* NUL-terminated */
    void (*string)(struct sink *s, const char *text, size_t n);
    void (*metric)(struct sink *s, const struct metric *m);
    void (*process)(struct sink *s, const struct process *p);
    void (*thread)(struct sink *s, const struct thread *t);
    /* Later facts about a process, thread or module already defined: name, end, symbols.
     * A field that is 0 keeps the value it has; of a module only symbols, problem and advice
     * are looked at. */
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

/* How a producer calls a sink: a NULL call is skipped. */
#define SINK_CALL(name, ...)                                                                       \
    do {                                                                                           \
        if (s->name)                                                                               \
            s->name(s, __VA_ARGS__);                                                               \
    } while (0)

static inline void sink_meta(struct sink *s, const char *key, const char *value)
{
    SINK_CALL(meta, key, value);
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

/* Calls that take one record: sink_metric(s, m), sink_process(s, p) ... */
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
