/* test_perf_process.c - what records change in processes and their address spaces.
 * SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_process.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "profile/profile.h"
#include "test.h"

enum { PAGE = 0x1000, CODE = 0x400000, PID = 10, RANGES_MAX = 1 << 23, ROOT = 1000 };

static struct profile *profile;
static struct intern in;
static struct perf_modules modules;
static struct perf_processes p;
static struct perf_mapping opened; /* the last one */
static int root_fd = -1;

static int open_mapped(const struct perf_mapping *w)
{
    opened = *w;
    return -1;
}

static bool user_of(int64_t pid, struct named_user *u)
{
    *u = (struct named_user){ .uid = (uint32_t)pid + 1000 };
    return true;
}

static void root_of(int64_t pid, uint64_t *mount_ns, int *fd)
{
    *fd = root_fd;
}

static int64_t inner_pid_of(int64_t pid)
{
    return pid - 9;
}

static void maps_of(int64_t pid, void (*each)(void *with, struct perf_mapping *w), void *with)
{
    struct perf_mapping empty = { .start = CODE, .end = CODE, .path = "/empty" },
                        code = { .start = CODE, .end = CODE + PAGE, .path = "/prog" };

    each(with, &empty);
    each(with, &code);
}

static const struct perf_host host = { .open = open_mapped, .user = user_of, .root = root_of,
                                       .inner_pid = inner_pid_of };
static const struct perf_host host_with_maps = { .maps = maps_of };

static void start(const struct perf_host *of)
{
    profile = profile_new();
    intern_init(&in, profile_sink(profile));
    perf_module_init(&modules, &in, of);
    perf_process_init(&p, &in, &modules);
}

static void finish(void)
{
    perf_process_release(&p);
    perf_module_release(&modules);
    intern_release(&in);
    profile_free(profile);
}

static void map(uint32_t pid, uint64_t at, const char *path, uint64_t inode, uint32_t prot)
{
    perf_process_record(&p, &(struct perf_record){
        .type = PERF_RECORD_MMAP2, .pid = pid, .tid = pid, .start = at, .size = PAGE, .text = path,
        .major = 8, .minor = 1, .inode = inode, .prot = prot });
}

static void comm(uint64_t time_ns, const char *name, bool exec)
{
    perf_process_record(&p, &(struct perf_record){
        .type = PERF_RECORD_COMM, .pid = PID, .tid = PID, .time_ns = time_ns, .text = name,
        .misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0 });
}

static void fork_to(uint32_t pid)
{
    perf_process_record(&p, &(struct perf_record){
        .type = PERF_RECORD_FORK, .pid = pid, .tid = pid, .parent_pid = PID, .parent_tid = PID });
}

static struct perf_process *process_of(int64_t pid)
{
    return perf_process_thread(&p, pid, pid)->process;
}

TEST(perf_process_opens_a_file_in_the_root_and_as_the_user_of_the_process)
{
    start(&host);
    root_fd = ROOT;
    map(PID, CODE, "/prog", 5, PROT_EXEC);
    CHECK_EQ(opened.device, makedev(8, 1));
    CHECK_EQ(opened.inode, 5);
    CHECK_EQ(opened.root_fd, ROOT);
    CHECK_EQ(opened.inner_pid, PID - 9);
    CHECK_EQ(opened.user->uid, PID + 1000);
    fork_to(20);
    map(20, CODE, "/child", 6, PROT_EXEC);
    CHECK_STR(opened.path, "/child");
    CHECK_EQ(opened.root_fd, ROOT);
    CHECK_EQ(opened.user->uid, PID + 1000);
    root_fd = -1;
    map(30, CODE, "/other", 7, PROT_EXEC);
    CHECK_EQ(opened.root_fd, -1);
    CHECK_EQ(opened.inner_pid, 30); /* our own names for processes */
    finish();
}

TEST(perf_process_maps_code_only)
{
    start(&host);
    map(PID, CODE, "/data", 5, PROT_READ | PROT_WRITE);
    CHECK_EQ(modules.v.n, 0);
    perf_process_record(&p, &(struct perf_record){
        .type = PERF_RECORD_MMAP, .pid = PID, .tid = PID, .start = CODE, .size = PAGE,
        .prot = PROT_EXEC, .misc = PERF_RECORD_MISC_KERNEL, .text = "[kernel.kallsyms]_text" });
    CHECK_EQ(modules.v.n, 0);
    map(PID, CODE, "/prog", 5, PROT_READ | PROT_EXEC);
    CHECK_EQ(modules.v.n, 1);
    finish();
    start(&host_with_maps);
    CHECK_EQ(perf_process_attach(&p, PID)->space->unw->n, 1);
    CHECK_EQ(modules.v.n, 1);
    finish();
}

TEST(perf_process_ignores_mappings_beyond_all_memory_for_them)
{
    start(&host);
    map(PID, CODE, "/a", 1, PROT_EXEC);
    p.n_ranges = RANGES_MAX - UNW_SPACE_ROOM + 1;
    map(PID, CODE + PAGE, "/b", 2, PROT_EXEC);
    CHECK_EQ(p.work.ignored, 1);
    CHECK_EQ(process_of(PID)->space->unw->n, 1);
    p.n_ranges--;
    map(PID, CODE + PAGE, "/b", 2, PROT_EXEC);
    CHECK_EQ(p.work.ignored, 1);
    CHECK_EQ(process_of(PID)->space->unw->n, 2);
    fork_to(20);
    p.n_ranges = RANGES_MAX - UNW_SPACE_ROOM - 1; /* of the two, one copy has room */
    map(20, CODE + 2 * PAGE, "/c", 3, PROT_EXEC);
    CHECK_EQ(p.work.ignored, 2);
    finish();
}

TEST(perf_process_loads_a_module_once_and_within_its_work)
{
    const struct unw_range *r;
    struct perf_space *s;
    bool loaded = false;

    start(&host);
    map(PID, CODE, "/prog", 5, PROT_EXEC);
    s = process_of(PID)->space;
    p.work.left = 0;
    CHECK(!perf_process_range(&p, s, CODE + 1, &loaded) && !loaded);
    p.work.left = 1 << 20;
    r = perf_process_range(&p, s, CODE + 1, &loaded);
    CHECK(r && loaded && r->module == 1);
    map(PID, CODE + PAGE, "/prog", 5, PROT_EXEC);
    r = unw_space_find(s->unw, CODE + PAGE);
    CHECK(r && r->module == 1);
    finish();
}

TEST(perf_process_lives_on_if_another_thread_executes_after_the_end_of_the_first)
{
    start(&host);
    comm(1, "one", true);
    perf_process_record(&p, &(struct perf_record){ .type = PERF_RECORD_EXIT, .pid = PID,
                                                   .tid = PID, .time_ns = 5 });
    CHECK(p.process.v[0]->ended);
    comm(6, "two", true);
    CHECK_EQ(p.process.n, 1);
    CHECK(!p.process.v[0]->ended);
    finish();
}

TEST(perf_process_forgets_the_stacks_of_a_thread_at_exec)
{
    struct perf_thread *t;
    uint64_t joints;

    start(&host);
    comm(1, "one", true);
    t = perf_process_find_thread(&p, PID);
    joints = t->joints;
    vec_reserve(&t->calls, 4);
    t->calls.n = 4;
    t->out_ns = 7;
    t->user_stack = t->last_stack = t->wait_stack = t->block_stack = t->switch_stack = 3;
    comm(8, "two", true);
    CHECK(t->joints != joints);
    CHECK_EQ(t->calls.n, 0);
    CHECK_EQ(t->out_ns, 0);
    CHECK(!t->user_stack && !t->last_stack && !t->wait_stack && !t->block_stack);
    CHECK_EQ(t->switch_stack, 0);
    finish();
}

static long no_words(int64_t pid, const uint64_t *address, size_t n, uint64_t *word)
{
    return -1;
}

static void add_frame(struct perf_process *x, uint64_t pc)
{
    umap_put(&x->space->frame_by_pc, pc, 1);
    perf_process_grew(&p, x);
}

TEST(perf_process_is_listed_once_while_it_has_new_frames)
{
    static const struct perf_host with_words = { .words = no_words };
    struct perf_process *x;

    start(&with_words);
    comm(1, "one", true);
    x = process_of(PID);
    perf_process_grew(&p, x);
    CHECK_EQ(p.fresh.n, 0); /* none */
    add_frame(x, CODE + 1);
    add_frame(x, CODE + 2);
    CHECK_EQ(p.fresh.n, 1);
    vec_clear(&p.fresh);
    x->is_fresh = false;
    add_frame(x, CODE + 2);
    CHECK_EQ(p.fresh.n, 0); /* not new */
    comm(2, "two", true);
    umap_put(&x->space->frame_by_pc, CODE + 3, 1);
    add_frame(x, CODE + 4); /* as many as before, in another program */
    CHECK_EQ(p.fresh.n, 1);
    finish();
}

TEST(perf_process_keeps_the_name_of_samples_under_an_earlier_name)
{
    static const char *const names[] = { "a", "b", "a", "c" }, *const items[] = { "a", "b", "c" };
    struct perf_thread *t;

    start(&host);
    comm(1, "main", true);
    t = perf_process_thread(&p, PID, 11);
    for (uint64_t i = 0; i < 4; i++) {
        perf_process_record(&p, &(struct perf_record){
            .type = PERF_RECORD_COMM, .pid = PID, .tid = 11, .time_ns = 10 * (i + 1),
            .text = names[i] });
        if (i < 2)
            perf_process_use(&p, t, 10 * (i + 1) + 1);
    }
    CHECK_EQ(profile->thread.n, 4); /* with the first */
    for (size_t i = 0; i < 3; i++)
        CHECK_STR(profile_string(profile, profile->thread.v[i + 1].name), items[i]);
    finish();
}

TEST(perf_process_takes_a_name_for_that_of_a_known_process)
{
    start(&host);
    perf_process_note(&p, PID);
    comm(1, "one", true);
    CHECK_EQ(p.process.n, 1);
    perf_process_use(&p, perf_process_find_thread(&p, PID), 2);
    comm(3, "one", false); /* the name that it has */
    CHECK_EQ(profile->process.n, 1);
    CHECK_EQ(profile->thread.n, 1);
    perf_process_record(&p, &(struct perf_record){
        .type = PERF_RECORD_COMM, .pid = 30, .tid = PID, .time_ns = 4, .text = "other" });
    CHECK_EQ(perf_process_find_thread(&p, PID)->process->pid, 30); /* the number was reused */
    finish();
}

TEST(perf_process_is_another_program_after_exec)
{
    struct perf_process *x;

    start(&host);
    comm(1, "one", true);
    x = process_of(PID);
    x->is_opaque = true;
    x->execs = 5;
    comm(2, "two", true);
    CHECK(!x->is_opaque);
    CHECK_EQ(x->execs, 6);
    finish();
}
