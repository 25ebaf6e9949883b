/* perf_build.c - see perf_build.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf_build.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>

#include "test.h"
#include "unw_self.h"

enum {
    TRAILER = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
    SAMPLE = TRAILER | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
    FIRST_ID = 100,
    ATTR_BYTES = 128,
    FILE_HEADER = 104,
};

void pb_init(struct pb *b)
{
    static const char *const names[PB_EVENTS] = { "cpu-clock", "page-faults" };

    memset(b, 0, sizeof *b);
    b->n_attrs = PB_EVENTS;
    for (size_t i = 0; i < PB_EVENTS; i++)
        b->attr[i] = (struct perf_attr){ .type = PERF_TYPE_SOFTWARE,
                                         .config = i ? PERF_COUNT_SW_PAGE_FAULTS
                                                     : PERF_COUNT_SW_CPU_CLOCK,
                                         .period = 1000000, .sample_type = SAMPLE,
                                         .has_trailer = true, .is_clock = i == 0,
                                         .name = names[i] };
}

void pb_stacks(struct pb *b)
{
    for (size_t i = 0; i < b->n_attrs; i++) {
        b->attr[i].sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        b->attr[i].regs_user = perf_decode_regs_mask();
    }
}

void pb_release(struct pb *b)
{
    buf_release(&b->bytes);
    vec_release(&b->record);
}

/* --- records --- */

static void begin(struct pb *b, uint64_t time, uint32_t type, uint16_t misc, bool side)
{
    vec_push(&b->record, ((struct pb_record){ time, b->cpu, side, b->bytes.n, 0 }));
    buf_u32(&b->bytes, type);
    buf_u16(&b->bytes, misc);
    buf_u16(&b->bytes, 0); /* the size, set by close_record */
}

static void close_record(struct pb *b)
{
    struct pb_record *r = &b->record.v[b->record.n - 1];
    uint16_t n = (uint16_t)(b->bytes.n - r->at);

    r->n = n;
    memcpy(b->bytes.data + r->at + 6, &n, 2);
}

static void end(struct pb *b, uint32_t pid, uint32_t tid)
{
    const struct pb_record *r = &b->record.v[b->record.n - 1];

    buf_u32(&b->bytes, pid);
    buf_u32(&b->bytes, tid);
    buf_u64(&b->bytes, r->time_ns);
    buf_u32(&b->bytes, (uint32_t)b->cpu);
    buf_u32(&b->bytes, 0);
    buf_u64(&b->bytes, r->side ? 999 : FIRST_ID); /* side records have an unknown event id */
    close_record(b);
}

static void add_text(struct buf *b, const char *text)
{
    static const char nothing[8];
    size_t n = strlen(text);

    buf_add(b, text, n);
    buf_add(b, nothing, 8 - n % 8);
}

void pb_comm(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, const char *name, bool exec)
{
    begin(b, time, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, true);
    buf_u32(&b->bytes, pid);
    buf_u32(&b->bytes, tid);
    add_text(&b->bytes, name);
    end(b, pid, tid);
}

void pb_map(struct pb *b, uint64_t time, uint32_t pid, uint64_t start, uint64_t size,
            uint64_t offset, const char *path)
{
    static const unsigned char id[20] = { 1, 2, 3, 4 };

    begin(b, time, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, true);
    buf_u32(&b->bytes, pid);
    buf_u32(&b->bytes, pid);
    buf_u64(&b->bytes, start);
    buf_u64(&b->bytes, size);
    buf_u64(&b->bytes, offset);
    buf_u32(&b->bytes, 20);
    buf_add(&b->bytes, id, 20);
    buf_u32(&b->bytes, 5); /* r-x */
    buf_u32(&b->bytes, 2);
    add_text(&b->bytes, path);
    end(b, pid, pid);
}

static void add_task(struct pb *b, uint64_t time, uint32_t type, const uint32_t numbers[4])
{
    begin(b, time, type, 0, true);
    for (int i = 0; i < 4; i++)
        buf_u32(&b->bytes, numbers[i]);
    buf_u64(&b->bytes, time);
    end(b, numbers[0], numbers[2]);
}

void pb_fork(struct pb *b, uint64_t time, uint32_t pid, uint32_t parent, uint32_t tid,
             uint32_t parent_tid)
{
    add_task(b, time, PERF_RECORD_FORK, (uint32_t[]){ pid, parent, tid, parent_tid });
}

void pb_exit(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid)
{
    add_task(b, time, PERF_RECORD_EXIT, (uint32_t[]){ pid, pid, tid, tid });
}

void pb_switch(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, uint16_t misc)
{
    begin(b, time, PERF_RECORD_SWITCH, misc, true);
    end(b, pid, tid);
}

void pb_lost(struct pb *b, uint64_t time, uint64_t n)
{
    begin(b, time, PERF_RECORD_LOST, 0, false);
    buf_u64(&b->bytes, FIRST_ID);
    buf_u64(&b->bytes, n);
    end(b, 0, 0);
}

void pb_lost_samples(struct pb *b, uint64_t time, uint64_t n)
{
    begin(b, time, PERF_RECORD_LOST_SAMPLES, 0, false);
    buf_u64(&b->bytes, n);
    end(b, 0, 0);
}

void pb_throttle(struct pb *b, uint64_t time)
{
    begin(b, time, PERF_RECORD_THROTTLE, 0, false);
    buf_u64(&b->bytes, time);
    buf_u64(&b->bytes, FIRST_ID);
    buf_u64(&b->bytes, 0);
    end(b, 0, 0);
}

void pb_ksymbol(struct pb *b, uint64_t time, uint64_t start, uint32_t size, const char *name)
{
    begin(b, time, PERF_RECORD_KSYMBOL, 0, true);
    buf_u64(&b->bytes, start);
    buf_u32(&b->bytes, size);
    buf_u32(&b->bytes, 1); /* created by BPF */
    add_text(&b->bytes, name);
    end(b, 0, 0);
}

void pb_deferred(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, uint64_t cookie,
                 const uint64_t *chain)
{
    size_t n = 0;

    while (chain[n])
        n++;
    begin(b, time, PERF_RECORD_CALLCHAIN_DEFERRED_, 0, false);
    buf_u64(&b->bytes, cookie);
    buf_u64(&b->bytes, n);
    for (size_t i = 0; i < n; i++)
        buf_u64(&b->bytes, chain[i]);
    end(b, pid, tid);
}

/* --- samples --- */

static void add_regs(struct buf *b, uint64_t mask, const struct pb_sample *s)
{
#if defined(__aarch64__)
    enum { FP = 29, SP = 31, PC = 32 };
#else
    enum { FP = 6, SP = 7, PC = 8 };
#endif

    buf_u64(b, s->pc ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
    for (unsigned i = 0; s->pc && i < 64; i++)
        if (mask >> i & 1)
            buf_u64(b, i == FP ? s->fp : i == SP ? s->sp : i == PC ? s->pc : 0);
}

static void add_stack(struct buf *b, const struct pb_sample *s)
{
    buf_u64(b, s->n_stack * 8);
    for (size_t i = 0; i < s->n_stack; i++)
        buf_u64(b, s->stack[i]);
    if (s->n_stack)
        buf_u64(b, s->n_stack * 8);
}

void pb_sample(struct pb *b, const struct pb_sample *s)
{
    const struct perf_attr *a = &b->attr[s->event];
    size_t n = 0, leaf = 0;

    while (s->chain && s->chain[n])
        n++;
    while (leaf < n && s->chain[leaf] >= (uint64_t)PERF_CONTEXT_MAX)
        leaf++;
    begin(b, s->time, PERF_RECORD_SAMPLE,
          s->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER, false);
    buf_u64(&b->bytes, (uint64_t)(FIRST_ID + s->event));
    buf_u64(&b->bytes, leaf < n ? s->chain[leaf] : s->pc);
    buf_u32(&b->bytes, s->pid);
    buf_u32(&b->bytes, s->tid ? s->tid : s->pid);
    buf_u64(&b->bytes, s->time);
    buf_u32(&b->bytes, (uint32_t)b->cpu);
    buf_u32(&b->bytes, 0);
    buf_u64(&b->bytes, s->period ? s->period : a->period);
    buf_u64(&b->bytes, n);
    for (size_t i = 0; i < n; i++)
        buf_u64(&b->bytes, s->chain[i]);
    if (a->sample_type & PERF_SAMPLE_REGS_USER)
        add_regs(&b->bytes, a->regs_user, s);
    if (a->sample_type & PERF_SAMPLE_STACK_USER)
        add_stack(&b->bytes, s);
    close_record(b);
}

void pb_chain(struct pb *b, uint64_t time, uint32_t pid, const uint64_t *chain)
{
    uint64_t marked[64] = { (uint64_t)PERF_CONTEXT_USER };

    for (size_t i = 0; chain[i] && i < 62; i++)
        marked[i + 1] = chain[i];
    pb_sample(b, &(struct pb_sample){ .time = time, .pid = pid, .chain = marked });
}

/* --- the stream --- */

void pb_attrs(const struct pb *b, struct perf_engine *e)
{
    for (uint32_t i = 0; i < b->n_attrs; i++)
        perf_engine_id(e, FIRST_ID + i, perf_engine_attr(e, &b->attr[i]));
}

struct perf_raw pb_raw(const struct pb *b, size_t i)
{
    const struct pb_record *r = &b->record.v[i];
    struct cursor c = cursor_of(b->bytes.data + r->at, r->n);
    struct perf_raw raw = { 0 };

    perf_decode_header(&c, &raw);
    return raw;
}

void pb_feed(const struct pb *b, struct perf_engine *e, uint64_t stop_ns)
{
    for (size_t i = 0; i < b->record.n; i++) {
        struct perf_raw raw = pb_raw(b, i);

        perf_engine_add(e, &raw);
    }
    perf_engine_finish(e, stop_ns);
}

static void add_attr(struct buf *out, const struct perf_attr *a, uint64_t ids_at)
{
    size_t at = out->n;

    buf_u32(out, a->type);
    buf_u32(out, ATTR_BYTES);
    buf_u64(out, a->config);
    buf_u64(out, a->period);
    buf_u64(out, a->sample_type);
    buf_u64(out, a->read_format);
    buf_u64(out, (uint64_t)a->is_frequency << 10 | (uint64_t)a->has_trailer << 18);
    buf_u64(out, 0); /* wake-up, breakpoint type */
    buf_u64(out, 0);
    buf_u64(out, 0);
    buf_u64(out, a->branch_type);
    buf_u64(out, a->regs_user);
    while (out->n < at + ATTR_BYTES)
        buf_u8(out, 0);
    buf_u64(out, ids_at);
    buf_u64(out, 8);
}

void pb_perfdata(const struct pb *b, struct buf *out)
{
    uint64_t ids_at = FILE_HEADER, attrs_at = ids_at + 8 * b->n_attrs;
    uint64_t data_at = attrs_at + (ATTR_BYTES + 16) * b->n_attrs;

    buf_str(out, "PERFILE2");
    buf_u64(out, FILE_HEADER);
    buf_u64(out, ATTR_BYTES + 16);
    buf_u64(out, attrs_at);
    buf_u64(out, (ATTR_BYTES + 16) * b->n_attrs);
    buf_u64(out, data_at);
    buf_u64(out, b->bytes.n);
    while (out->n < FILE_HEADER) /* event types and features: none */
        buf_u8(out, 0);
    for (size_t i = 0; i < b->n_attrs; i++)
        buf_u64(out, FIRST_ID + i);
    for (size_t i = 0; i < b->n_attrs; i++)
        add_attr(out, &b->attr[i], ids_at + 8 * i);
    buf_add(out, b->bytes.data, b->bytes.n);
}

/* --- a program with unwind information --- */

/* One FDE of SIZE bytes at START with the instructions OPS, for the only CIE, at offset 0. */
static void put_fde(struct buf *b, uint64_t start, uint64_t size, const char *ops, size_t n)
{
    buf_u32(b, (uint32_t)(4 + 16 + 1 + n));
    buf_u32(b, (uint32_t)b->n);
    buf_u64(b, start);
    buf_u64(b, size);
    buf_u8(b, 0);
    buf_add(b, ops, n);
}

static int find_program(const char *path, const uint8_t *build_id, size_t build_id_size)
{
    struct buf frame = { 0 }, elf;
    int fd;

    buf_u32(&frame, 4 + 16);
    buf_u32(&frame, 0);
    buf_add(&frame, "\1zR\0\1\x78\x10\1\0\x0c\6\x10\x86\2\x90\1", 16);
    put_fde(&frame, 0x1000, 0x3f0, "", 0);
    put_fde(&frame, 0x13f0, 0x10, "\7\x10", 2);
    elf = unw_self_elf(EM_X86_64, ".eh_frame", 0, &frame);
    fd = open(test_file(elf.data, elf.n), O_RDONLY | O_CLOEXEC);
    buf_release(&frame);
    buf_release(&elf);
    return fd;
}

const struct perf_host pb_host_with_program = { .find = find_program };
