/* col_agent.c - see col_agent.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/program.h"
#include "base/trust.h"
#include "collect/col_admit.h"
#include "collect/col_inject.h"
#include "collect/col_proc.h"
#include "collect/col_watch.h"
#include "perf/perf_blocked.h"

static const char variable[] = "LD_PRELOAD";

/* --- the program and the library --- */

const char *col_agent_why(enum program_fit fit)
{
    static const char *const why[] = {
        [PROGRAM_FITS] = "it was started without the agent",
        [PROGRAM_MISSING] = "its file cannot be read",
        [PROGRAM_UNREADABLE] = "its file cannot be read",
        [PROGRAM_STATIC] = "it is statically linked",
        [PROGRAM_OTHER_CPU] = "it is for another CPU or a 32-bit program",
        [PROGRAM_OTHER_LIBC] = "it uses another C library than glibc",
        [PROGRAM_SANITIZED] = "it is built with a sanitizer",
        [PROGRAM_ELEVATED] = "it runs with more rights than its user",
    };

    return why[fit];
}

const char *col_agent_refuses(const char *name)
{
    char path[PATH_MAX];
    const char *found = program_find(name, getenv("PATH"), path, sizeof path);
    enum program_fit fit = found ? program_fit_path(found) : PROGRAM_MISSING;

    if (fit == PROGRAM_FITS || fit == PROGRAM_MISSING) /* exec reports what is missing */
        return NULL;
    return col_agent_why(fit);
}

/* The library lies beside the tool, in the build or installed. */
static int find_library(char path[PATH_MAX], struct err *e)
{
    static const char *const places[] = { "src/agent", "../" FATHOM_LIBDIR };
    char self[PATH_MAX], beside[2 * PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n <= 0)
        return err_sys(e, "/proc/self/exe");
    self[n] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(beside, sizeof beside, "%s/%s/%s", self, places[i], AGENT_LIBRARY);
        if (access(beside, R_OK) < 0)
            continue;
        return trust_path(beside, path)
                   ? 0
                   : err_set(e, ERR_REFUSED, "another user can exchange %s", beside);
    }
    return err_set(e, ERR_MISSING, "%s is not installed beside fathom", AGENT_LIBRARY);
}

/* --- the memory --- */

static int open_memory(struct col_agent *a, bool follow, struct err *e)
{
    a->fd = memfd_create("fathom-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (a->fd < 0 || ftruncate(a->fd, sizeof *a->memory) < 0 ||
        fallocate(a->fd, 0, 0, sizeof *a->memory) < 0 ||
        fcntl(a->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return err_sys(e, "cannot allocate %zu kB of shared memory", sizeof *a->memory >> 10);
    a->memory = mmap(NULL, sizeof *a->memory, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
    if (a->memory == MAP_FAILED) {
        a->memory = NULL;
        return err_sys(e, "cannot map shared memory");
    }
    a->memory->magic = AGENT_MAGIC;
    a->memory->size = sizeof *a->memory;
    a->memory->recorder = (uint32_t)getpid();
    a->memory->follow = follow;
    return 0;
}

int col_agent_open(struct col_agent *a, struct perf_engine *engine, const struct col_guard *folder,
                   uint64_t hz, bool follow, struct err *e)
{
    char library[PATH_MAX], memory[64];
    struct stat st;

    *a = (struct col_agent){ .engine = engine, .fd = -1 };
    errno = folder->error;
    if (!folder->folder[0])
        return err_sys(e, "cannot create a temporary folder");
    if (find_library(library, e) < 0 || open_memory(a, follow, e) < 0)
        return -1;
    snprintf(memory, sizeof memory, "/proc/%d/fd/%d", (int)getpid(), a->fd);
    if (col_guard_link(folder, AGENT_LIBRARY, library) < 0 ||
        col_guard_link(folder, AGENT_MEMORY, memory) < 0)
        return err_sys(e, "%s", folder->folder);
    if (fstat(a->fd, &st) < 0)
        return err_sys(e, "shared memory");
    col_pacer_init(&a->pacer, a->memory, st.st_ino, hz);
    return 0;
}

void col_agent_open_stops(struct col_agent *a, struct perf_engine *engine, uint64_t hz)
{
    *a = (struct col_agent){ .engine = engine, .fd = -1 };
    col_pacer_init(&a->pacer, NULL, 0, hz);
}

int col_agent_show(struct col_agent *a, const struct col_guard *folder, struct err *e)
{
    const char *others = getenv(variable);
    char *list;

    if (strpbrk(folder->folder, " :"))
        return err_set(e, ERR_SYSTEM, "cannot preload a library from %s: its name contains a space "
                                      "or a colon", folder->folder);
    a->is_shown = true;
    a->preload = others ? mem_strdup(others) : NULL;
    list = mem_printf("%s/%s%s%s", folder->folder, AGENT_LIBRARY, others ? ":" : "",
                      others ? others : "");
    setenv(variable, list, 1);
    free(list);
    return 0;
}

void col_agent_hide(struct col_agent *a)
{
    if (!a->is_shown)
        return;
    a->is_shown = false;
    if (a->preload)
        setenv(variable, a->preload, 1);
    else
        unsetenv(variable);
    free(a->preload);
    a->preload = NULL;
}

int col_agent_watch(struct col_agent *a, struct err *e)
{
    a->looks = perf_engine_attr(a->engine, &(struct perf_attr){ .in_wait = true,
                                                               .no_metric = true });
    errno = col_pacer_watch(&a->pacer);
    return errno ? err_sys(e, "cannot start a thread") : 0;
}

int col_agent_attach(struct col_agent *a, const struct col_guard *folder, int64_t pid,
                     struct err *e)
{
    return col_inject(pid, folder->folder, a->memory, e);
}

int col_agent_start(struct col_agent *a, uint64_t begin_ns, struct err *e)
{
    a->begin_ns = begin_ns;
    errno = col_pacer_start(&a->pacer);
    return errno ? err_sys(e, "cannot start a thread") : 0;
}

uint64_t col_agent_cpu_ns(const struct col_agent *a)
{
    uint64_t sampled = a->engine->attrs.v.v[0]->weight;
    uint64_t used = a->pacer.cpu_ns > a->skipped_ns ? a->pacer.cpu_ns - a->skipped_ns : 0;

    return used > sampled ? used : sampled; /* one may have ended unsure */
}

/* --- records --- */

static struct perf_record *add_record(struct col_agent *a, uint32_t type,
                                      const struct col_batch_event *e)
{
    vec_push(&a->records, ((struct perf_record){
        .type = type, .cpu = -1, .pid = (uint32_t)e->pid, .tid = (uint32_t)e->tid,
        .time_ns = e->time_ns, .attr = a->engine->attrs.v.v[0] }));
    return &a->records.v[a->records.n - 1];
}

/* TEXT are lines of a maps file. */
static void add_mappings(struct col_agent *a, const struct col_batch_event *e, char *text,
                         size_t n)
{
    for (char *line = text, *end; n && (end = memchr(line, '\n', (size_t)(text + n - line)));
         line = end + 1) {
        struct perf_mapping w;
        struct perf_record *r;

        *end = 0;
        if (!col_proc_maps_line(line, &w))
            continue;
        r = add_record(a, PERF_RECORD_MMAP2, e);
        r->start = w.start;
        r->size = w.end - w.start;
        r->file_offset = w.file_offset;
        r->major = major(w.device);
        r->minor = minor(w.device);
        r->inode = w.inode;
        r->prot = PROT_READ | PROT_EXEC;
        r->text = w.path;
    }
}

static void add_sample(struct col_agent *a, const struct col_batch_event *e,
                       const unsigned char *stack)
{
    uint64_t since_ns = e->time_ns > a->begin_ns ? e->time_ns - a->begin_ns : 0;
    uint64_t weight = e->weight < since_ns ? e->weight : since_ns;
    struct perf_record *r;

    a->skipped_ns += e->weight - weight;
    if (!weight)
        return;
    r = add_record(a, PERF_RECORD_SAMPLE, e);
    r->misc = PERF_RECORD_MISC_USER;
    r->ip = e->regs.pc;
    r->period = weight;
    r->has_regs = r->has_stack = true;
    r->regs = e->regs;
    r->stack = (struct unw_stack){ e->regs.sp, stack, e->n };
}

/* A thread leaves the CPU or returns.  A wait that began before the samples is cut. */
static void add_switch(struct col_agent *a, const struct col_batch_event *e, uint16_t misc)
{
    struct perf_record *r = add_record(a, PERF_RECORD_SWITCH, e);

    r->misc = misc;
    if (r->time_ns < a->begin_ns)
        r->time_ns = a->begin_ns;
    if (e->kind == COL_BATCH_LEAVES && e->call != COL_OFFCPU_NO_CALL)
        r->waits_for = perf_blocked_by_call(e->call);
}

static void add_look(struct col_agent *a, const struct col_batch_event *e,
                     const unsigned char *stack)
{
    struct perf_record *r = add_record(a, PERF_RECORD_SAMPLE, e);

    r->attr = a->engine->attrs.v.v[a->looks];
    r->misc = PERF_RECORD_MISC_USER;
    r->ip = e->regs.pc;
    r->has_regs = r->has_stack = r->no_fp = true;
    r->regs = e->regs;
    r->stack = (struct unw_stack){ e->regs.sp, stack, e->n };
    if (e->call != COL_OFFCPU_NO_CALL)
        r->waits_for = perf_blocked_by_call(e->call);
}

static void add_event(struct col_agent *a, const struct col_batch_event *e)
{
    unsigned char *bytes = a->batch.bytes.data + e->at;
    struct perf_record *r;

    switch (e->kind) {
    case COL_BATCH_SAMPLE:
        add_sample(a, e, bytes);
        break;
    case COL_BATCH_LEAVES:
        add_switch(a, e, PERF_RECORD_MISC_SWITCH_OUT);
        break;
    case COL_BATCH_QUEUES:
        add_switch(a, e, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
        break;
    case COL_BATCH_RETURNS:
        add_switch(a, e, 0);
        break;
    case COL_BATCH_LOOK:
        add_look(a, e, bytes);
        break;
    case COL_BATCH_EXEC:
        r = add_record(a, PERF_RECORD_COMM, e);
        r->misc = PERF_RECORD_MISC_COMM_EXEC;
        r->text = e->name;
        add_mappings(a, e, (char *)bytes, e->n);
        break;
    case COL_BATCH_NAME:
        add_record(a, PERF_RECORD_COMM, e)->text = e->name;
        break;
    case COL_BATCH_FORK:
        r = add_record(a, PERF_RECORD_FORK, e);
        r->parent_pid = r->parent_tid = (uint32_t)e->parent;
        add_mappings(a, e, (char *)bytes, e->n);
        break;
    case COL_BATCH_MAPS:
        add_mappings(a, e, (char *)bytes, e->n);
        break;
    case COL_BATCH_END:
        add_record(a, PERF_RECORD_EXIT, e);
        break;
    }
}

/* --- the source --- */

static void drain(void *with, uint64_t now_ns)
{
    struct col_agent *a = with;

    (void)now_ns;
    col_pacer_take(&a->pacer, &a->batch);
    col_batch_sort(&a->batch);
    a->records.n = a->at = 0;
    for (size_t i = 0; i < a->batch.v.n; i++)
        add_event(a, &a->batch.v.v[i]);
}

static const struct perf_record *next(void *with)
{
    struct col_agent *a = with;

    return a->at < a->records.n ? &a->records.v[a->at++] : NULL;
}

static void finish(void *with, uint64_t stop_ns)
{
    struct col_agent *a = with;

    col_pacer_stop(&a->pacer);
    a->engine->counts.lost += a->pacer.lost + (a->memory ? a->memory->n_dropped : 0);
    drain(a, stop_ns);
    a->others = col_others_list(&a->pacer, a->pacer.cpu_ns, !a->memory, &a->without);
}

static void quality(void *with, struct sink *out)
{
    struct col_agent *a = with;
    uint64_t interrupted = a->pacer.halt.interrupted;

    for (size_t i = 0; a->memory && i < AGENT_PROCESSES; i++)
        interrupted += a->memory->process[i].interrupted;
    sink_meta_u64(out, "quality.calls_interrupted", interrupted);
    sink_meta_u64(out, "quality.unanswered", a->pacer.silent);
    if (a->without.n)
        sink_meta(out, "quality.without_agent", buf_text(&a->without));
    if (!a->memory || a->pacer.halt.stops) {
        sink_meta_u64(out, "quality.stops", a->pacer.halt.stops);
        sink_meta_u64(out, "quality.stopped_ns", a->pacer.halt.stopped_ns);
    }
    if (a->pacer.watch)
        sink_meta_u64(out, "quality.waits_unsure_ns", col_watch_unsure(a->pacer.watch));
}

void col_agent_release(struct col_agent *a)
{
    col_pacer_release(&a->pacer);
    if (a->pacer.is_stuck)
        return;
    buf_release(&a->without);
    col_batch_release(&a->batch);
    vec_release(&a->records);
    if (a->memory)
        munmap(a->memory, sizeof *a->memory);
    if (a->fd > 0) /* 0: not used */
        close(a->fd);
    free(a->preload);
}

struct col_source col_agent_source(struct col_agent *a)
{
    return (struct col_source){ .with = a, .drain = drain, .next = next, .finish = finish,
                                .quality = quality };
}
