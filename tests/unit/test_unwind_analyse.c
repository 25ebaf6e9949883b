/* test_unwind_analyse.c - rules derived from code.  The strongest test is a library with call-frame
 * information: its code is analysed without it, and every instruction compared.
 * SPDX-License-Identifier: Apache-2.0 */
#ifdef __x86_64__
#include "test.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "cfi/cfi_analyse.h"
#include "cfi/cfi_go.h"
#include "cfi/cfi_table.h"
#include "disasm/disasm.h"

struct tally {
    unsigned long same, missing, wrong, not_described;
};

static bool agree(const struct unw_rule *ours, const struct unw_rule *cfi)
{
    if (ours->cfa != cfi->cfa || ours->cfa_off != cfi->cfa_off || ours->extra != cfi->extra)
        return false;
    return unw_rule_at(ours, UNW_PC) == unw_rule_at(cfi, UNW_PC) &&
           unw_rule_off(ours, UNW_PC) == unw_rule_off(cfi, UNW_PC);
}

static struct cfi_spans analyse(struct cfi_elf *elf)
{
    const struct cfi_range all = { 0, UINT64_MAX };
    struct cfi_spans spans = { 0 };

    cfi_elf_read_sections(elf);
    cfi_analyse(elf, &all, 1, &spans);
    return spans;
}

static const struct unw_rule *span_rule(const struct cfi_spans *s, uint64_t at)
{
    size_t low = 0, high = s->v.n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (s->v.v[mid].end <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->v.n && s->v.v[low].start <= at ? &s->v.v[low].rule : NULL;
}

/* Whether the instruction at CODE only fills space. */
static bool is_padding(const unsigned char *code)
{
    while (*code == 0x66 || *code == 0x2e)
        code++;
    return *code == 0x90 || *code == 0xcc || (*code == 0x0f && code[1] == 0x1f);
}

static void compare_section(struct tally *t, struct cfi_elf *elf, const struct elf_segment *s,
                            const struct cfi_spans *spans, const struct unw_table *table)
{
    const unsigned char *code = cfi_elf_code(elf, s->address, s->size);
    struct disasm_effect e;

    for (uint64_t at = 0; code && at < s->size; at += e.size) {
        const struct unw_rule *cfi = unw_table_rule(table, s->address + at);
        const struct unw_rule *ours = span_rule(spans, s->address + at);

        if (!disasm_effect(code + at, s->size - at, 0, &e))
            e.size = 1;
        if (!cfi || cfi->flags & UNW_RULE_ANALYSED || (!ours && is_padding(code + at)))
            t->not_described++;
        else if (!ours)
            t->missing++;
        else if (agree(ours, cfi))
            t->same++;
        else
            t->wrong++;
    }
}

static struct tally compare_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct unw_table *table = cfi_table_open(fd, NULL, 0, NULL);
    struct cfi_elf elf = { 0 };
    struct cfi_spans spans;
    struct tally t = { 0 };

    CHECK(table && cfi_elf_open(&elf, fd, NULL, 0, NULL) == 0);
    spans = analyse(&elf);
    for (size_t i = 0; i < elf.n_code; i++)
        compare_section(&t, &elf, &elf.code[i], &spans, table);
    printf("# %s: %lu same, %lu missing (%.2f %%), %lu wrong (%.3f %%)\n", path, t.same, t.missing,
           100.0 * (double)t.missing / (double)(t.same + t.missing + t.wrong), t.wrong,
           100.0 * (double)t.wrong / (double)(t.same + t.missing + t.wrong));
    vec_release(&spans.v);
    cfi_elf_release(&elf);
    cfi_table_free(table);
    close(fd);
    return t;
}

/* Landing pads are reached by no jump, and the assembly of some functions moves the stack pointer
 * without telling so in its CFI: a few rows per thousand differ. */
static void check_file(const char *path, unsigned long rows)
{
    struct tally t = compare_file(path);

    CHECK(t.same > rows);
    CHECK(t.wrong * 1000 <= 3 * t.same);
    CHECK(t.missing * 10 <= t.same);
}

static void need_analysis(void)
{
    if (!cfi_analyse_version())
        test_skip("a build without a disassembler");
}

TEST(unwind_analysis_of_the_c_library_equals_its_call_frame_information)
{
    Dl_info info;

    need_analysis();
    CHECK(dladdr(&fopen, &info) != 0);
    check_file(info.dli_fname, 100000);
}

TEST(unwind_analysis_of_zlib_equals_its_call_frame_information)
{
    Dl_info info;

    need_analysis();
    CHECK(dladdr(&crc32, &info) != 0);
    check_file(info.dli_fname, 5000);
}

/* --- single functions --- */

enum { CODE = 0x10000 };

/* Machine code, assembled with this file; labels mark addresses in it. */
#define ASSEMBLED(name, text)                                                       \
    __asm__(".pushsection .rodata\n.balign 16\n" #name ":\n" text "\n" #name "_end:\n" \
            ".byte 0x90\n.popsection");                                             \
    extern const unsigned char name[], name##_end[]

#define LABEL(label) extern const unsigned char label[]

static struct cfi_spans spans;
static const unsigned char *base;

/* Analyse the code from FIRST to END.  ENTRY is the entry point of the file, or NULL. */
static void analyse_code(const unsigned char *first, const unsigned char *end,
                         const unsigned char *entry)
{
    const struct cfi_range all = { 0, UINT64_MAX };
    uint64_t size = (uint64_t)(end - first);
    struct elf_segment segment = { 0, size, CODE, size, true };
    struct cfi_elf elf = { .machine = &unw_x86_64, .n_code = 1, .code = { segment },
                           .file = { .image = first, .fd = -1, .size = size, .n_segments = 1,
                                     .segment = { segment } } };

    need_analysis();
    elf.file.entry = entry ? CODE + (uint64_t)(entry - first) : 0;
    base = first;
    vec_release(&spans.v);
    cfi_analyse(&elf, &all, 1, &spans);
    cfi_elf_release(&elf);
}

/* The rule at LABEL; all zero if there is none. */
static struct unw_rule at(const unsigned char *label)
{
    const struct unw_rule *r = span_rule(&spans, CODE + (uint64_t)(label - base));

    return r ? *r : (struct unw_rule){ 0 };
}

static void check_cfa(const unsigned char *label, enum unw_cfa cfa, int off)
{
    struct unw_rule r = at(label);

    CHECK_EQ(r.cfa, cfa);
    CHECK_EQ(r.cfa_off, off);
    CHECK(cfa == UNW_CFA_NONE || r.flags & UNW_RULE_ANALYSED);
}

static void check_fp(const unsigned char *label, enum unw_where where, int off)
{
    struct unw_rule r = at(label);

    CHECK_EQ(unw_rule_at(&r, UNW_FP), where);
    CHECK_EQ(unw_rule_off(&r, UNW_FP), off);
}

static bool is_root(const unsigned char *label)
{
    struct unw_rule r = at(label);

    return unw_rule_at(&r, UNW_PC) == UNW_AT_ROOT;
}

ASSEMBLED(plain, "push %rbx\nplain_1: push %rbp\nplain_2: sub $0x28, %rsp\n"
                 "plain_3: xor %ebp, %ebp\nplain_4: add $0x28, %rsp\n"
                 "pop %rbp\nplain_5: pop %rbx\nplain_6: ret");
LABEL(plain_1); LABEL(plain_2); LABEL(plain_3); LABEL(plain_4); LABEL(plain_5); LABEL(plain_6);

TEST(unwind_analysis_follows_pushes_and_moves_of_the_stack_pointer)
{
    struct unw_rule r;

    analyse_code(plain, plain_end, NULL);
    check_cfa(plain, UNW_CFA_SP, 8);
    check_cfa(plain_1, UNW_CFA_SP, 16);
    check_cfa(plain_2, UNW_CFA_SP, 24);
    check_cfa(plain_3, UNW_CFA_SP, 64);
    check_fp(plain_3, UNW_AT_SAME, 0);
    check_fp(plain_4, UNW_AT_CFA, -24); /* rbp is zero there, but saved: no root */
    CHECK(!is_root(plain_4));
    check_cfa(plain_5, UNW_CFA_SP, 16);
    check_fp(plain_5, UNW_AT_SAME, 0);
    check_cfa(plain_6, UNW_CFA_SP, 8);
    r = at(plain_4);
    CHECK_EQ(unw_rule_at(&r, UNW_PC), UNW_AT_CFA);
    CHECK_EQ(unw_rule_off(&r, UNW_PC), -8);
    CHECK_EQ(unw_rule_at(&r, UNW_BX), UNW_AT_SAME); /* saved, but not changed */
}

/* Each prefix could belong to padding that starts there. */
TEST(unwind_analysis_of_a_long_row_of_prefixes_is_linear)
{
    enum { SIZE = 2 << 20, MOST_CPU_SECONDS = 60 }; /* hours if it is quadratic */
    const struct rlimit most = { MOST_CPU_SECONDS, MOST_CPU_SECONDS };
    unsigned char *code = mem_alloc(SIZE);

    memset(code, 0x66, SIZE);
    CHECK_EQ(setrlimit(RLIMIT_CPU, &most), 0);
    analyse_code(code, code + SIZE, NULL);
    CHECK_EQ(spans.v.n, 0);
    free(code);
}

ASSEMBLED(framed, "push %rbp\nmov %rsp, %rbp\nframed_1: sub %rdi, %rsp\nframed_2: test %edi, %edi\n"
                  "je 1f\nframed_3: leave\nframed_4: ret\n1: mov %rbp, %rsp\nframed_5: pop %rbp\n"
                  "framed_6: ret");
LABEL(framed_1); LABEL(framed_2); LABEL(framed_3);
LABEL(framed_4); LABEL(framed_5); LABEL(framed_6);

TEST(unwind_analysis_follows_frames_of_variable_size)
{
    analyse_code(framed, framed_end, NULL);
    check_cfa(framed_1, UNW_CFA_FP, 16);
    check_cfa(framed_2, UNW_CFA_FP, 16);
    check_fp(framed_2, UNW_AT_CFA, -16);
    check_cfa(framed_3, UNW_CFA_FP, 16);
    check_cfa(framed_4, UNW_CFA_SP, 8);
    check_fp(framed_4, UNW_AT_SAME, 0);
    check_cfa(framed_5, UNW_CFA_FP, 16);
    check_cfa(framed_6, UNW_CFA_SP, 8);
}

ASSEMBLED(aligned, "lea 8(%rsp), %r10\nand $-32, %rsp\naligned_1: push -8(%r10)\npush %rbp\n"
                   "mov %rsp, %rbp\npush %r10\naligned_2: sub $0x60, %rsp\naligned_3: call *%rax\n"
                   "mov -8(%rbp), %r10\nleave\naligned_4: lea -8(%r10), %rsp\naligned_5: ret");
LABEL(aligned_1); LABEL(aligned_2); LABEL(aligned_3); LABEL(aligned_4); LABEL(aligned_5);

TEST(unwind_analysis_follows_a_realigned_stack)
{
    analyse_code(aligned, aligned_end, NULL);
    check_cfa(aligned_1, UNW_CFA_R10, 0);
    check_cfa(aligned_2, UNW_CFA_FP_DEREF, -8);
    check_cfa(aligned_3, UNW_CFA_FP_DEREF, -8);
    check_fp(aligned_3, UNW_AT_FP, 0);
    check_cfa(aligned_4, UNW_CFA_R10, 0);
    check_cfa(aligned_5, UNW_CFA_SP, 8);
}

/* Like the assembly of libcrypto: the stack pointer waits in another register or on the stack. */
ASSEMBLED(moved, "mov %rsp, %rax\nsub $0x100, %rsp\nand $-64, %rsp\nmov %rax, 0x80(%rsp)\n"
                 "moved_1: xor %eax, %eax\nmov 0x80(%rsp), %rsi\nlea (%rsi), %rsp\nmoved_2: ret");
LABEL(moved_1); LABEL(moved_2);

TEST(unwind_analysis_follows_copies_of_the_stack_pointer)
{
    analyse_code(moved, moved_end, NULL);
    check_cfa(moved_1, UNW_CFA_SP_DEREF, 0x80);
    CHECK_EQ(at(moved_1).extra, 8);
    check_cfa(moved_2, UNW_CFA_SP, 8);
}

ASSEMBLED(wrong, "sub $8, %rsp\ncall wrong_0\ncall wrong_3\ncall wrong_5\ncall wrong_6\ncall wrong_8\n"
                 "add $8, %rsp\nret\n"
                 "wrong_0: test %edi, %edi\nje 1f\nwrong_1: push %rax\n1: xor %eax, %eax\nwrong_2: ret\n"
                 ".balign 16\nwrong_3: push %rbx\nwrong_4: ret\n.balign 16\n"
                 "wrong_5: sub $8, %rsp\nadd $8, %rsp\nret\n.balign 16\n"
                 "wrong_6: sub $8, %rsp\nwrong_7: add $8, %rsp\njmp wrong_2\n.balign 16\n"
                 "wrong_8: push %rbp\nmov %rsp, %rbp\nadd $8, %rsp\nret");
LABEL(wrong_0); LABEL(wrong_1); LABEL(wrong_2); LABEL(wrong_3); LABEL(wrong_4); LABEL(wrong_5);
LABEL(wrong_6); LABEL(wrong_7); LABEL(wrong_8);

TEST(unwind_analysis_has_no_rule_where_paths_contradict_each_other)
{
    analyse_code(wrong, wrong_end, NULL);
    check_cfa(wrong_0, UNW_CFA_SP, 8);
    check_cfa(wrong_1, UNW_CFA_SP, 8);
    check_cfa(wrong_2, UNW_CFA_NONE, 0);
    check_cfa(wrong_3, UNW_CFA_NONE, 0); /* it would return to what it pushed */
    check_cfa(wrong_4, UNW_CFA_NONE, 0);
    check_cfa(wrong_5, UNW_CFA_SP, 8);
    check_cfa(wrong_7, UNW_CFA_SP, 16); /* it continues where there is no rule */
    check_cfa(wrong_8, UNW_CFA_NONE, 0); /* it would return with its own frame pointer */
}

/* The call of the first function does not return: its end is not a way into the second one. */
ASSEMBLED(final, "push %rbx\ntest %edi, %edi\nje 1f\npop %rbx\nret\n1: final_1: call final_9\n"
                 ".balign 16\nfinal_2: test %eax, %eax\nret\n"
                 ".balign 16\nfinal_9: sub $8, %rsp\n1: jmp 1b");
LABEL(final_1); LABEL(final_2); LABEL(final_9);

TEST(unwind_analysis_ends_a_path_at_a_call_that_does_not_return)
{
    analyse_code(final, final_end, NULL);
    check_cfa(final_1, UNW_CFA_SP, 16);
    check_cfa(final_2, UNW_CFA_SP, 8);
    check_cfa(final_9, UNW_CFA_SP, 8);
}

/* Compiled for size, functions follow each other without padding.  It is not the last call before the
 * return that cannot return, but the one before the first push. */
ASSEMBLED(tight, "sub $8, %rsp\ncall tight_1\nadd $8, %rsp\nret\n"
                 "tight_1: push %rbx\ntest %edi, %edi\nje 1f\npop %rbx\nret\n"
                 "1: mov %eax, %edi\ncall tight_9\n"
                 "tight_2: push %rbp\npush %rbx\ntight_3: call *%rax\ntight_4: pop %rbx\n"
                 "pop %rbp\nret\ntight_9: jmp tight_9");
LABEL(tight_2); LABEL(tight_3); LABEL(tight_4);

TEST(unwind_analysis_finds_which_call_does_not_return)
{
    analyse_code(tight, tight_end, NULL);
    check_cfa(tight_2, UNW_CFA_SP, 8);
    check_cfa(tight_3, UNW_CFA_SP, 24);
    check_cfa(tight_4, UNW_CFA_SP, 24);
}

/* The stack pointer at the return was that after no call: the last call before what looks like a
 * function is the one that does not return, not the last one. */
ASSEMBLED(suspect, "sub $0x18, %rsp\ncall suspect_9\nsuspect_1: push %rbx\ncall suspect_9\n"
                 "add $0x30, %rsp\nret\n.balign 16\nsuspect_9: jmp *%rax");
LABEL(suspect_1);

TEST(unwind_analysis_blames_the_call_before_what_looks_like_a_function)
{
    analyse_code(suspect, suspect_end, NULL);
    check_cfa(suspect_1, UNW_CFA_SP, 8);
}

/* Where the paths meet the stack pointers differ, because the call before does not return. */
ASSEMBLED(meet, "push %rbx\ntest %edi, %edi\nje meet_1\npush %rax\ncall meet_9\n"
                "meet_1: pop %rbx\nmeet_2: ret\n.balign 16\nmeet_9: jmp *%rax");
LABEL(meet_1); LABEL(meet_2);

TEST(unwind_analysis_finds_a_call_that_does_not_return_where_paths_meet)
{
    analyse_code(meet, meet_end, NULL);
    check_cfa(meet_1, UNW_CFA_SP, 16);
    check_cfa(meet_2, UNW_CFA_SP, 8);
}

/* The nearest call before the meeting is the one that does not return. */
ASSEMBLED(nearest, "push %rbx\ntest %edi, %edi\nje 1f\ncall nearest_9\nnop\nnop\nnop\nnop\njmp nearest_1\n"
                   "1: push %rax\ncall nearest_9\nnop\n"
                   "nearest_1: pop %rbx\nnearest_2: ret\n.balign 16\nnearest_9: jmp *%rax");
LABEL(nearest_1); LABEL(nearest_2);

TEST(unwind_analysis_blames_the_nearest_call_before_paths_meet)
{
    analyse_code(nearest, nearest_end, NULL);
    check_cfa(nearest_1, UNW_CFA_SP, 16);
    check_cfa(nearest_2, UNW_CFA_SP, 8);
}

/* The instruction after the call is the function that it calls. */
ASSEMBLED(here, "sub $0x18, %rsp\ncall here_1\nhere_1: call *%rax\nhere_2: jmp here_1");
LABEL(here_1); LABEL(here_2);

TEST(unwind_analysis_starts_a_function_at_a_call_of_the_next_instruction)
{
    analyse_code(here, here_end, NULL);
    check_cfa(here, UNW_CFA_SP, 8);
    check_cfa(here_1, UNW_CFA_SP, 8);
    check_cfa(here_2, UNW_CFA_SP, 8);
}

ASSEMBLED(stored, "sub $0x18, %rsp\nmov %rbp, (%rsp)\nmov %rax, 8(%rsp)\nxor %ebp, %ebp\n"
                  "stored_1: movq $0, (%rsp)\nstored_2: add $0x18, %rsp\nret");
LABEL(stored_1); LABEL(stored_2);

TEST(unwind_analysis_forgets_a_saved_register_only_when_it_is_overwritten)
{
    analyse_code(stored, stored_end, NULL);
    check_fp(stored_1, UNW_AT_CFA, -32);
    check_fp(stored_2, UNW_AT_UNKNOWN, 0);
}

/* A saved CFA that is farther away than a rule can tell. */
ASSEMBLED(far, "lea -0x100(%rsp), %rax\nsub $0x100, %rsp\nand $-64, %rsp\nmov %rax, 0x80(%rsp)\n"
               "far_1: xor %eax, %eax\nmov 0x80(%rsp), %rsi\nlea 0x100(%rsi), %rsp\nfar_2: ret");
LABEL(far_1); LABEL(far_2);
ASSEMBLED(above, "lea 0x10(%rsp), %rax\nsub $0x100, %rsp\nand $-64, %rsp\nmov %rax, 0x80(%rsp)\n"
                 "above_1: xor %eax, %eax\nmov 0x80(%rsp), %rsi\nlea -0x10(%rsi), %rsp\nabove_2: ret");
LABEL(above_1); LABEL(above_2);

TEST(unwind_analysis_has_no_rule_for_a_saved_address_that_is_not_near_the_cfa)
{
    analyse_code(far, far_end, NULL);
    check_cfa(far_1, UNW_CFA_NONE, 0);
    check_cfa(far_2, UNW_CFA_SP, 8);
    analyse_code(above, above_end, NULL);
    check_cfa(above_1, UNW_CFA_NONE, 0);
    check_cfa(above_2, UNW_CFA_SP, 8);
}

ASSEMBLED(twice, "mov %rsp, %rax\nsub $0x100, %rsp\nand $-32, %rsp\nmov %rax, 0x80(%rsp)\n"
                 "twice_1: sub $0x20, %rsp\nand $-64, %rsp\ntwice_2: mov %rax, %rsp\ntwice_3: ret");
LABEL(twice_1); LABEL(twice_2); LABEL(twice_3);

TEST(unwind_analysis_does_not_follow_a_stack_that_is_aligned_twice)
{
    analyse_code(twice, twice_end, NULL);
    check_cfa(twice_1, UNW_CFA_SP_DEREF, 0x80);
    check_cfa(twice_2, UNW_CFA_NONE, 0);
    check_cfa(twice_3, UNW_CFA_SP, 8);
}

/* The frame pointer is not where ABIs put it. */
ASSEMBLED(low, "push %rbp\npush %rbx\nmov %rsp, %rbp\nsub %rdi, %rsp\nlow_1: mov %rbp, %rsp\n"
               "pop %rbx\npop %rbp\nlow_2: ret");
LABEL(low_1); LABEL(low_2);

TEST(unwind_analysis_follows_a_frame_pointer_below_other_registers)
{
    analyse_code(low, low_end, NULL);
    check_cfa(low_1, UNW_CFA_FP, 24);
    check_fp(low_1, UNW_AT_CFA, -16);
    check_cfa(low_2, UNW_CFA_SP, 8);
}

ASSEMBLED(table, "push %rbx\nsub $0x10, %rsp\ncmp $2, %edi\nja 2f\nlea 9f(%rip), %rdx\n"
                 "movslq (%rdx,%rdi,4), %rax\nadd %rdx, %rax\njmp *%rax\n"
                 "table_0: inc %eax\njmp 2f\ntable_1: dec %eax\njmp 2f\ntable_2: add $3, %eax\n"
                 "2: add $0x10, %rsp\npop %rbx\nret\n"
                 ".balign 4\n9: .long table_0 - 9b, table_1 - 9b, table_2 - 9b, 0x100");
LABEL(table_0); LABEL(table_1); LABEL(table_2);

TEST(unwind_analysis_follows_a_jump_table)
{
    analyse_code(table, table_end, NULL);
    check_cfa(table_0, UNW_CFA_SP, 32);
    check_cfa(table_1, UNW_CFA_SP, 32);
    check_cfa(table_2, UNW_CFA_SP, 32);
}

/* Nothing tells how long the table is; it ends where an entry is another function. */
ASSEMBLED(endless, "sub $8, %rsp\ncall endless_9\nadd $8, %rsp\nret\n.balign 16\n"
                   "endless_1: push %rbx\nlea 9f(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\n"
                   "add %rdx, %rax\njmp *%rax\nendless_2: pop %rbx\nret\n"
                   ".balign 16\nendless_9: xor %eax, %eax\nret\n"
                   ".balign 4\n9: .long endless_2 - 9b, endless_9 - 9b");
LABEL(endless_2); LABEL(endless_9);

TEST(unwind_analysis_ends_a_jump_table_without_a_bound_at_another_function)
{
    analyse_code(endless, endless_end, NULL);
    check_cfa(endless_2, UNW_CFA_SP, 16);
    check_cfa(endless_9, UNW_CFA_SP, 8);
}

/* What looks like a prologue starts a function only at the alignment of one. */
ASSEMBLED(pushed, "sub $8, %rsp\ncall *%rcx\npush %rbx\npushed_1: mov %eax, %ebx\npop %rbx\n"
                  "add $8, %rsp\npushed_2: ret");
LABEL(pushed_1); LABEL(pushed_2);

TEST(unwind_analysis_goes_on_after_a_call_before_a_push)
{
    analyse_code(pushed, pushed_end, NULL);
    check_cfa(pushed_1, UNW_CFA_SP, 24);
    check_cfa(pushed_2, UNW_CFA_SP, 8);
}

/* No padding separates functions of -Os, and the one before this cannot be followed. */
ASSEMBLED(packed, "lea packed_2(%rip), %rdi\ncall packed_0\nhlt\n"
                  "packed_0: push %rbx\npacked_1: ret\n"
                  "packed_2: push %rbx\npacked_3: call packed_0\npacked_4: pop %rbx\nret\n"
                  ".skip 64, 0x90");
LABEL(packed_1); LABEL(packed_3); LABEL(packed_4);

TEST(unwind_analysis_follows_a_pointed_function_without_padding_before_it)
{
    analyse_code(packed, packed_end, packed);
    CHECK_EQ(at(packed_1).cfa, UNW_CFA_NONE); /* or this tests nothing */
    check_cfa(packed_3, UNW_CFA_SP, 16);
    check_cfa(packed_4, UNW_CFA_SP, 16);
}

/* As in musl.  The parent returns; the child has no caller. */
ASSEMBLED(clone_like, "mov $56, %eax\nmov %rdi, %r11\nsyscall\ntest %eax, %eax\njnz 1f\n"
                      "xor %ebp, %ebp\nchild_1: pop %rdi\ncall *%r9\nchild_2: mov %eax, %edi\n"
                      "mov $60, %eax\nsyscall\nhlt\n1: child_3: ret\n.set child_call, child_2 - 1");
LABEL(child_1); LABEL(child_call); LABEL(child_3);

TEST(unwind_analysis_takes_the_child_of_a_clone_for_a_root)
{
    analyse_code(clone_like, clone_like_end, NULL);
    check_cfa(clone_like, UNW_CFA_SP, 8);
    CHECK(!is_root(clone_like));
    CHECK(is_root(child_1));
    CHECK(is_root(child_call)); /* of a return address, the byte before is looked up */
    CHECK(!is_root(child_3));
    check_cfa(child_3, UNW_CFA_SP, 8);
}

ASSEMBLED(zeroed, "sub $8, %rsp\ncall zeroed_0\nadd $8, %rsp\nret\nzeroed_0: xor %ebp, %ebp\nzeroed_1: call *%rax\nzeroed_2: ret");
LABEL(zeroed_1); LABEL(zeroed_2);

TEST(unwind_analysis_does_not_take_a_zero_frame_pointer_for_a_root)
{
    analyse_code(zeroed, zeroed_end, NULL);
    CHECK(!is_root(zeroed_1));
    check_cfa(zeroed_1, UNW_CFA_SP, 8);
    check_fp(zeroed_1, UNW_AT_UNKNOWN, 0);
}

ASSEMBLED(start_like, "xor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall start_main\n"
                      "start_main: sub $8, %rsp\nstart_1: call *%rax\nadd $8, %rsp\nret\n"
                      ".set start_call, start_main - 1");
LABEL(start_call); LABEL(start_1);

TEST(unwind_analysis_takes_the_entry_point_of_a_program_for_a_root)
{
    analyse_code(start_like, start_like_end, start_like);
    CHECK(is_root(start_like));
    CHECK(is_root(start_call));
    CHECK(!is_root(start_1));
    check_cfa(start_1, UNW_CFA_SP, 16);
}

ASSEMBLED(restore, "nop\nrestore_1: mov $15, %rax\nsyscall\n.balign 16\nmov $15, %eax\nsyscall\n"
                   ".balign 16\nrestore_2: mov $16, %eax\nsyscall\nret\n"
                   ".set restore_0, restore_1 - 1\n.set restore_short, restore + 16");
LABEL(restore_0); LABEL(restore_short); LABEL(restore_2);

TEST(unwind_analysis_finds_the_code_that_a_signal_handler_returns_to)
{
    struct unw_rule r;

    analyse_code(restore, restore_end, NULL);
    r = at(restore_0);
    CHECK(r.flags & UNW_RULE_SIGNAL);
    CHECK_EQ(r.cfa, UNW_CFA_SP_DEREF);
    CHECK_EQ(r.cfa_off, 160);
    CHECK_EQ(unw_rule_off(&r, UNW_PC), 168);
    CHECK_EQ(unw_rule_off(&r, UNW_FP), 120);
    CHECK(at(restore_short).flags & UNW_RULE_SIGNAL);
    CHECK(!(at(restore_2).flags & UNW_RULE_SIGNAL));
    check_cfa(restore_2, UNW_CFA_SP, 8);
}

ASSEMBLED(linkage, ".byte 0xff, 0x35\n.long 0\nlinkage_1: .byte 0xff, 0x25\n.long 0\n"
                   ".byte 0x0f, 0x1f, 0x40, 0\n"
                   "linkage_2: .byte 0xff, 0x25\n.long 0\n.byte 0x68\n.long 0\n.byte 0xe9\n.long 0");
LABEL(linkage_1); LABEL(linkage_2);

TEST(unwind_analysis_knows_the_entries_of_lazy_binding)
{
    analyse_code(linkage, linkage_end, NULL);
    check_cfa(linkage, UNW_CFA_SP, 16);
    check_cfa(linkage_1, UNW_CFA_SP, 24);
    check_cfa(linkage_2, UNW_CFA_PLT, 8);
    CHECK_EQ(at(linkage_2).extra, 11);
}

/* --- Go --- */

/* The table of a program with functions at CODE (the first one of its stack), CODE + 0x20 and
 * CODE + 0x40, as MAGIC's version writes it. */
static struct buf go_table(uint32_t magic, size_t flags_at)
{
    enum { HEADER = 8 + 8 * 8, FUNCTIONS = 3 * 8 + 4, DESCRIPTION = 48 };
    struct buf b = { 0 };

    buf_u32(&b, magic);
    buf_add(&b, "\0\0\1\10", 4);
    buf_u64(&b, 3);
    buf_u64(&b, 0);
    buf_u64(&b, CODE);
    for (int i = 0; i < 4; i++)
        buf_u64(&b, 0);
    buf_u64(&b, HEADER);
    for (uint32_t i = 0; i < 3; i++) {
        buf_u32(&b, i * 0x20);
        buf_u32(&b, FUNCTIONS + i * DESCRIPTION);
    }
    buf_u32(&b, 0x60);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < DESCRIPTION; k++)
            buf_u8(&b, i == 0 && k == flags_at ? 1 : 0);
    return b;
}

static void note_function(void *arg, uint64_t start, uint64_t end, bool is_top)
{
    unsigned *seen = arg;
    bool is_first = start == CODE;

    CHECK(end == start + 0x20 && is_top == is_first);
    *seen |= 1u << (start - CODE) / 0x20;
}

static void ignore_function(void *arg, uint64_t start, uint64_t end, bool is_top)
{
    CHECK(end > start);
}

static void functions_of_any(const struct buf *bytes)
{
    struct cfi_elf elf = { .file = { .image = bytes->data, .fd = -1, .size = bytes->n },
                           .go_table = { .size = bytes->n } };

    cfi_go_each(&elf, ignore_function, NULL);
    cfi_elf_release(&elf);
}

static unsigned functions_of(const struct buf *bytes)
{
    struct cfi_elf elf = { .file = { .image = bytes->data, .fd = -1, .size = bytes->n },
                           .go_table = { .size = bytes->n } };
    unsigned seen = 0;

    cfi_go_each(&elf, note_function, &seen);
    cfi_elf_release(&elf);
    return seen;
}

TEST(unwind_analysis_reads_the_functions_of_go)
{
    static const struct {
        uint32_t magic;
        size_t flags_at;
    } versions[] = { { 0xfffffff0u, 37 }, { 0xfffffff1u, 41 } };

    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct buf b = go_table(versions[i].magic, versions[i].flags_at);
        size_t n = b.n;

        CHECK_EQ(functions_of(&b), 7);
        for (b.n = 0; b.n < n; b.n++) { /* truncated: no function that is not there */
            struct buf part = { 0 };

            buf_add(&part, b.data, b.n);
            functions_of_any(&part);
            buf_release(&part);
        }
        buf_release(&b);
    }
    {
        struct buf placed = go_table(0xfffffff1u, 41); /* position-independent */
        struct cfi_elf elf = { .file = { .image = placed.data, .fd = -1, .size = placed.n },
                               .go_table = { .size = placed.n }, .text = CODE };
        unsigned seen = 0;

        memset(placed.data + 8 + 2 * 8, 0, 8);
        cfi_go_each(&elf, note_function, &seen);
        CHECK_EQ(seen, 7);
        cfi_elf_release(&elf);
        buf_release(&placed);
    }
    {
        struct buf other = go_table(0xfffffffbu, 37); /* Go 1.2 */

        CHECK_EQ(functions_of(&other), 0);
        buf_release(&other);
    }
}

TEST(unwind_analysis_sorts_sections_with_code_and_drops_those_that_overlap)
{
    static const uint64_t at[][2] = { { 0x3000, 0x10 }, { 0x1000, 0x20 }, { 0x1010, 0x1000 },
                                      { UINT64_MAX - 1, 2 }, { 0x1020, 0x10 }, { 0x2000, 0 } };
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr section[ARRAY_LEN(at)];
    } file = { .head = { .e_ident = ELFMAG, .e_machine = EM_X86_64, .e_shoff = sizeof file.head,
                         .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = ARRAY_LEN(at) } };
    struct cfi_elf elf = { 0 };
    struct err e = { 0 };

    file.head.e_ident[EI_CLASS] = ELFCLASS64;
    file.head.e_ident[EI_DATA] = ELFDATA2LSB;
    for (size_t i = 0; i < ARRAY_LEN(at); i++)
        file.section[i] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_flags = SHF_EXECINSTR,
                                        .sh_addr = at[i][0], .sh_size = at[i][1] };
    CHECK_EQ(cfi_elf_open(&elf, -1, &file, sizeof file, &e), 0);
    cfi_elf_read_sections(&elf);
    CHECK_EQ(elf.n_code, 4);
    CHECK_EQ(elf.code[0].address, 0x1000);
    CHECK_EQ(elf.code[1].address, 0x1020);
    CHECK_EQ(elf.code[2].address, 0x2000);
    CHECK_EQ(elf.code[3].address, 0x3000);
    cfi_elf_release(&elf);
}

/* Any bytes: the analysis ends, and what it finds can be used. */
/* One function: N times push and pop, and a return. */
static void analyse_pushes(size_t n)
{
    unsigned char *code = malloc(2 * n + 1);

    CHECK(code);
    for (size_t i = 0; i < n; i++)
        memcpy(code + 2 * i, "\x50\x58", 2); /* push %rax; pop %rax */
    code[2 * n] = 0xc3;
    analyse_code(code, code + 2 * n + 1, NULL);
    free(code);
}

TEST(unwind_analysis_follows_functions_of_a_limited_length)
{
    analyse_pushes(30000);
    check_cfa(base + 1, UNW_CFA_SP, 16);
    check_cfa(base + 59999, UNW_CFA_SP, 16);
    analyse_pushes(40000);
    check_cfa(base + 1, UNW_CFA_NONE, 0);
}

TEST(unwind_analysis_leaves_huge_parts_alone)
{
    enum { MOST = 16 << 20 };
    unsigned char *code = calloc(1, MOST + 1);

    CHECK(code);
    code[0] = 0x50;
    code[1] = 0x58;
    code[2] = 0xc3;
    analyse_code(code, code + MOST, NULL);
    check_cfa(code + 1, UNW_CFA_SP, 16);
    analyse_code(code, code + MOST + 1, NULL);
    check_cfa(code + 1, UNW_CFA_NONE, 0);
    free(code);
}

TEST(unwind_analysis_ends_for_any_bytes)
{
    static const unsigned char jumps[] = { 0xe8, 0xe9, 0xeb, 0x74, 0xc3, 0x55 };
    unsigned char code[4096];
    uint32_t seed = 1;

    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof code; i++) {
            seed = seed * 1103515245 + 12345;
            /* Many jumps, calls and returns. */
            code[i] = seed >> 28 < sizeof jumps ? jumps[seed >> 28] : (unsigned char)(seed >> 16);
        }
        analyse_code(code, code + sizeof code, code);
        for (size_t i = 0; i < spans.v.n; i++) {
            CHECK(spans.v.v[i].start < spans.v.v[i].end);
            CHECK(i == 0 || spans.v.v[i - 1].end <= spans.v.v[i].start);
        }
    }
}
#endif
