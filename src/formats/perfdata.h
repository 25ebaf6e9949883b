/* perfdata.h - the pieces of the perf.data importer, in the order a byte meets them:
 *
 *   perfdata_file.c     headers, events (attrs), feature sections: what the file says of itself
 *   perfdata_stream.c   the run of records, compressed ones unpacked
 *   perfdata_sample.c   one record's fields: sample body, trailer of the others
 *   perfdata_order.c    records of several CPUs brought into the order of time
 *   perfdata_process.c  processes, threads and what they have mapped
 *   perfdata_module.c   the files that were mapped: segments and unwind tables
 *   perfdata_stack.c    a sample's addresses as a stack of frames
 *   fmt_perfdata.c      what each record means, told to a sink
 *
 * The layout is the kernel's (include/uapi/linux/perf_event.h) and perf's own headers'; names
 * below are ours, so that an old kernel header on the building machine does not matter.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_PERFDATA_H
#define FATHOM_FORMATS_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/elf_file.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cfi/cfi.h"
#include "profile/intern.h"
#include "profile/joint.h"

enum perf_record_type {
    PERF_MMAP = 1,
    PERF_LOST = 2,
    PERF_COMM = 3,
    PERF_EXIT = 4,
    PERF_THROTTLE = 5,
    PERF_UNTHROTTLE = 6,
    PERF_FORK = 7,
    PERF_SAMPLE = 9,
    PERF_MMAP2 = 10,
    PERF_LOST_SAMPLES = 13,
    PERF_SWITCH = 14,
    PERF_SWITCH_CPU_WIDE = 15,
    PERF_KSYMBOL = 17,
    PERF_CALLCHAIN_DEFERRED = 22,
    PERF_KERNEL_RECORDS_END = 64, /* from here on perf's own, without a trailer */
    PERF_ATTR = 64,
    PERF_TRACING_DATA = 66,
    PERF_BUILD_ID = 67,
    PERF_FINISHED_ROUND = 68,
    PERF_AUXTRACE = 71,
    PERF_THREAD_MAP = 73,
    PERF_EVENT_UPDATE = 78,
    PERF_FEATURE = 80,
    PERF_COMPRESSED = 81,
    PERF_COMPRESSED2 = 83,
};

enum perf_misc {
    PERF_MISC_CPUMODE = 7, /* mask: 1 kernel, 2 user, 3 hypervisor, 4 guest kernel, 5 guest user */
    PERF_MISC_KERNEL = 1,
    PERF_MISC_HYPERVISOR = 3,
    PERF_MISC_GUEST_KERNEL = 4,
    PERF_MISC_COMM_EXEC = 1 << 13,
    PERF_MISC_MMAP_DATA = 1 << 13,
    PERF_MISC_SWITCH_OUT = 1 << 13,
    PERF_MISC_MMAP_BUILD_ID = 1 << 14,
    PERF_MISC_BUILD_ID_SIZE = 1 << 15,
};

enum perf_sample_bit {
    PERF_BIT_IP = 1u << 0,
    PERF_BIT_TID = 1u << 1,
    PERF_BIT_TIME = 1u << 2,
    PERF_BIT_ADDR = 1u << 3,
    PERF_BIT_READ = 1u << 4,
    PERF_BIT_CALLCHAIN = 1u << 5,
    PERF_BIT_ID = 1u << 6,
    PERF_BIT_CPU = 1u << 7,
    PERF_BIT_PERIOD = 1u << 8,
    PERF_BIT_STREAM_ID = 1u << 9,
    PERF_BIT_RAW = 1u << 10,
    PERF_BIT_BRANCH_STACK = 1u << 11,
    PERF_BIT_REGS_USER = 1u << 12,
    PERF_BIT_STACK_USER = 1u << 13,
    PERF_BIT_IDENTIFIER = 1u << 16,
};

struct perf_attr { /* one event */
    uint32_t type;
    uint64_t config, period, sample_type, read_format, branch_type, regs_user;
    bool is_frequency, has_trailer; /* freq, sample_id_all */
    char *name;      /* NULL until known */
    uint32_t metric; /* id in the sink, 0 until first used */
    bool is_time;    /* cpu-clock, task-clock: the period is nanoseconds */
};

struct perf_build_id {
    const char *path;
    uint8_t id[20];
    uint8_t n;
};

struct perf_file {
    struct arena arena;
    VEC(struct perf_attr) attr;
    struct umap attr_of_id; /* sample id -> index of attr + 1 */
    VEC(struct perf_build_id) build_id;
    const char *host, *release, *arch, *cpu, *command; /* "" when unknown */
    struct cursor data;                                /* the run of records */
    bool cut;  /* the file ends before its header says, or was never finished */
    bool pipe;
};

bool perfdata_is(const void *data, size_t n);
int perfdata_open(struct perf_file *f, const void *data, size_t n, struct err *e);
void perfdata_close(struct perf_file *f);
/* What arrives inside the run of records in pipe mode. */
void perfdata_add_attr(struct perf_file *f, struct cursor body);
void perfdata_add_feature(struct perf_file *f, uint64_t feature, struct cursor body);
void perfdata_add_build_id(struct perf_file *f, uint16_t misc, struct cursor body);
void perfdata_update_event(struct perf_file *f, struct cursor body);
const char *perfdata_event_name(const struct perf_attr *a); /* a general one when unnamed */
const struct perf_build_id *perfdata_find_build_id(const struct perf_file *f, const char *path);
enum unw_arch perfdata_arch(const struct perf_file *f);
bool perfdata_has_stacks(const struct perf_file *f); /* raw stacks to unwind */

struct perf_record {
    uint32_t type;
    uint16_t misc;
    struct cursor body;
    bool passing; /* the bytes are only valid until the next record is read */
};

struct perf_stream {
    struct cursor raw, packed;
    struct buf plain;
    size_t plain_at;
    void *zstd;
    bool cut; /* the last record was not whole */
};
void perfdata_stream_init(struct perf_stream *s, struct cursor data);
void perfdata_stream_release(struct perf_stream *s);
/* 1 and the next record, 0 at the end, -1 with *E when the bytes make no sense. */
int perfdata_stream_next(struct perf_stream *s, struct perf_record *r, struct err *e);

struct perf_sample { /* fields that are absent are 0 */
    struct perf_attr *attr;
    uint64_t id, ip, time, period, addr;
    uint32_t pid, tid;
    int32_t cpu; /* -1 when absent */
    uint16_t misc;
    struct cursor chain;  /* u64s */
    struct cursor read;   /* of PERF_BIT_READ, undecoded */
    uint64_t regs_abi;
    struct cursor regs;   /* u64s, one a bit of attr->regs_user */
    struct cursor stack;  /* valid bytes from the stack pointer up */
};
/* The event a record belongs to; NULL when that cannot be told. */
struct perf_attr *perfdata_attr_of(struct perf_file *f, const struct perf_record *r);
bool perfdata_sample(struct perf_file *f, const struct perf_record *r, struct perf_sample *s);
/* The same facts of a record that is not a sample, from its trailer, which is cut off *BODY. */
void perfdata_trailer(struct perf_file *f, const struct perf_record *r, struct cursor *body,
                      struct perf_sample *s);
uint64_t perfdata_time(struct perf_file *f, const struct perf_record *r);
/* Values of a group read: calls EACH for every (id, value). */
void perfdata_read_group(const struct perf_sample *s, void *with,
                         void (*each)(void *with, uint64_t id, uint64_t value));

/* Records of each CPU are in order, CPUs are not.  perf writes FINISHED_ROUND when everything
 * older than the newest record of the round before is in the file. */
struct perf_queued {
    uint64_t time, serial;
    struct perf_record r;
};
struct perf_queue {
    VEC(struct perf_queued) items;
    uint64_t serial, newest, safe;
    void (*deliver)(void *with, const struct perf_record *r);
    void *with;
};
void perfdata_order_add(struct perf_queue *q, const struct perf_record *r, uint64_t time);
void perfdata_order_round(struct perf_queue *q);
void perfdata_order_end(struct perf_queue *q); /* deliver the rest, free all */

struct perf_thread {
    struct thread t;
    uint32_t id;
    uint32_t last_stack;
    uint64_t out_ns; /* switched out since, 0 when running */
};

struct perf_process {
    struct process p;
    uint32_t id;
    struct unw_space *space;
};

struct perf_module { /* by its id in the intern */
    struct unw_table *table; /* NULL when not wanted or not to be had */
    struct elf_file elf;
    bool opened, found; /* found: elf is valid */
};
/* Find the file of module M by path and build id and read what unwinding needs (TABLES). */
void perfdata_module_open(struct perf_module *m, const struct module *what, const char *path,
                          bool tables);
void perfdata_module_close(struct perf_module *m);
/* What to subtract from an address in a mapping (START, OFFSET in the file) of it. */
uint64_t perfdata_module_bias(const struct perf_module *m, uint64_t start, uint64_t offset);

struct perf_ksymbol {
    uint64_t start, end;
    uint32_t frame;
};

struct perf_world {
    struct perf_file *file;
    bool tables; /* the file has raw stacks */
    struct intern *in;
    VEC(struct perf_process) process;
    VEC(struct perf_thread) thread;
    VEC(struct perf_module) module;
    VEC(int64_t) module_pid; /* by module, 0 for files: whose anonymous code it is */
    VEC(struct perf_ksymbol) ksymbol;
    struct umap process_of_pid, thread_of_tid; /* -> index + 1 */
    uint32_t kernel; /* module, 0 until needed */
    uint64_t kernel_shift; /* from its addresses in the recording to those of the running one */
};
void perfdata_world_init(struct perf_world *w, struct perf_file *f, struct intern *in);
void perfdata_world_release(struct perf_world *w);
/* Both make what does not exist yet.  Valid until the next call. */
struct perf_process *perfdata_process(struct perf_world *w, uint32_t pid);
struct perf_thread *perfdata_thread(struct perf_world *w, uint32_t pid, uint32_t tid);
void perfdata_comm(struct perf_world *w, uint32_t pid, uint32_t tid, const char *name, bool exec);
struct perf_task {
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time;
};
void perfdata_fork(struct perf_world *w, const struct perf_task *t);
void perfdata_exit(struct perf_world *w, const struct perf_task *t);
struct perf_mapping {
    uint32_t pid;
    uint64_t start, size, offset;
    const char *path;
    uint8_t build_id[20];
    uint8_t build_id_size;
    bool kernel;
};
void perfdata_map(struct perf_world *w, const struct perf_mapping *m);
uint32_t perfdata_kernel_module(struct perf_world *w);

/* Stack of a sample, through IN; 0 when it has none.  CACHE may be NULL. */
struct perf_unwound {
    uint64_t complete, cut, lost; /* stacks unwound by us, by how they ended */
    uint64_t joined;            /* of the complete: put on the callers of an earlier stack */
};
struct perf_stacker {
    struct perf_world *w;
    struct unw_cache *cache;
    struct perf_unwound unwound;
    VEC(uint32_t) frame; /* scratch, leaf first */
    VEC(struct joint) walked; /* the last of them, when their root is known */
    uint32_t below;           /* the stack they are joined to, else 0 */
    struct joints joints;
    uint32_t truncated;  /* the note's frame id, 0 until needed */
    uint64_t deferred;   /* cookie when the user part will follow, else 0 */
};
void perfdata_stack_begin(struct perf_stacker *k, const struct perf_sample *s);
/* Take up a stack again with the N frames it had, and add user addresses that came later
 * (CALLCHAIN_DEFERRED). */
void perfdata_stack_resume(struct perf_stacker *k, const uint32_t *frames, size_t n);
void perfdata_stack_user(struct perf_stacker *k, uint32_t pid, struct cursor chain);
uint32_t perfdata_stack_end(struct perf_stacker *k);
void perfdata_stacker_release(struct perf_stacker *k);

#endif
