/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_stub.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/col_image.h"
#include "collect/col_quiet.h"
#include "collect/col_room.h"
#include "test.h"

static bool has_small_stacks(uint64_t bytes, const char *guard)
{
    struct col_area area[] = { { .start = 0x1000, .end = 0x2000, .prot = "", .path = "" },
                               { .start = 0x2000, .end = 0x2000 + bytes, .prot = "rw-p",
                                 .path = "" } };
    struct col_image m = { .area = { .v = area, .n = 2 } };

    memcpy(area[0].prot, guard, 4);
    return col_image_small_stacks(&m);
}

TEST(col_image_finds_stacks_without_room_for_a_handler)
{
    CHECK(has_small_stacks(16 << 10, "---p"));
    CHECK(!has_small_stacks(64 << 10, "---p"));
    CHECK(!has_small_stacks(16 << 10, "r--p")); /* no guard */
}

#if defined(__x86_64__)
enum { CODE = 0x33, SP = 0x7ffffff01238 };

static struct col_ptrace_regs interrupted(long call, long result)
{
    return (struct col_ptrace_regs){
        .v = { .rip = 0x401002, .rsp = SP, .cs = CODE, .orig_rax = (unsigned long)call,
               .rax = (unsigned long)result },
        .n = sizeof(struct user_regs_struct) };
}

TEST(col_stub_repeats_a_call_that_the_kernel_would_repeat)
{
    for (long result = -512; result >= -514; result--) {
        struct col_ptrace_regs r = interrupted(SYS_read, result);
        struct col_stub_frame f = { 0 };

        CHECK(col_stub_interrupted(&r) == SYS_read);
        CHECK(col_stub_prepare(&f, &r));
        CHECK(f.registers.ax == SYS_read && f.registers.pc == 0x401000);
    }
}

TEST(col_stub_continues_a_sleep_with_what_is_left)
{
    struct col_ptrace_regs r = interrupted(SYS_nanosleep, -516);
    struct col_stub_frame f = { 0 };

    CHECK(col_stub_prepare(&f, &r));
    CHECK(f.registers.ax == SYS_restart_syscall && f.registers.pc == 0x401000);
}

TEST(col_stub_keeps_the_result_of_a_call_that_is_done)
{
    static const long results[] = { 0, 5, -4, -11, -515 };

    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        struct col_ptrace_regs r = interrupted(SYS_read, results[i]);
        struct col_stub_frame f = { 0 };

        CHECK(col_stub_interrupted(&r) == -1);
        CHECK(col_stub_prepare(&f, &r));
        CHECK((long)f.registers.ax == results[i] && f.registers.pc == 0x401002);
    }
}

TEST(col_stub_lies_below_the_red_zone_and_is_aligned)
{
    struct col_ptrace_regs r = interrupted(-1, 0);
    struct col_stub_frame f = { 0 };

    CHECK(col_stub_prepare(&f, &r));
    CHECK(f.call.registers + sizeof f.registers == SP - COL_STUB_RED_ZONE);
    CHECK(f.at + sizeof f.call <= f.call.registers && f.at % COL_STUB_ALIGNMENT == 0);
    col_stub_enter(&f, &r, 0x500000);
    CHECK(r.v.rip == 0x500000 && r.v.rsp == f.at && (long)r.v.orig_rax == -1);
}

TEST(col_stub_refuses_32_bit_code)
{
    struct col_ptrace_regs r = interrupted(-1, 0);
    struct col_stub_frame f = { 0 };

    r.v.cs = 0x23;
    CHECK(!col_stub_prepare(&f, &r));
    r.v.cs = CODE;
    r.n = 68;
    CHECK(!col_stub_prepare(&f, &r));
}
#endif

TEST(col_image_finds_functions_of_libc)
{
    struct col_image m;
    struct col_object *libc;

    CHECK(col_image_open(&m, getpid()));
    libc = col_image_object(&m, "libc.so.6");
    CHECK(libc != NULL);
    CHECK(libc && col_image_function(libc, "getppid") == (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "getppid"));
    CHECK(libc && col_image_function(libc, "no such function") == 0);
    CHECK(col_image_object(&m, "no such file") == NULL);
    CHECK(col_image_area(&m, (uint64_t)(uintptr_t)&m) != NULL);
    CHECK(col_image_area(&m, 0) == NULL);
    col_image_release(&m);
}

TEST(col_room_finds_bytes_in_code_that_no_segment_contains)
{
    static const unsigned char code[256] = { 0xcc };
    const struct col_area *a;
    struct col_image m;
    uint64_t at;

    CHECK(col_image_open(&m, getpid()));
    at = col_room_find(&m, code, sizeof code);
    a = col_image_area(&m, at);
    CHECK(at != 0 && a && a->prot[2] == 'x' && at + sizeof code <= a->end);
    for (size_t i = 0; i < m.object.n; i++) {
        const struct col_object *o = &m.object.v[i];

        for (size_t k = 0; k < o->elf.n_segments; k++) {
            uint64_t start = o->elf.segment[k].address + o->bias;

            CHECK(at + sizeof code <= start || at >= start + o->elf.segment[k].memory_size);
        }
    }
    CHECK(col_room_find(&m, code, 8192) == 0);
    col_image_release(&m);
}

TEST(col_quiet_repeats_waits_but_never_close)
{
    CHECK(col_quiet_call(SYS_read) && col_quiet_call(SYS_futex) && col_quiet_call(SYS_nanosleep));
    CHECK(!col_quiet_call(SYS_close) && !col_quiet_call(SYS_mmap) && !col_quiet_call(SYS_clone));
}
