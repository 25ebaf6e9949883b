/* test_unwind_oracle.c - compare every row of every loaded module with elfutils' reading of the
 * same CFI.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "unw_self.h"
#include "cfi/cfi_table.h"

/* Rules are compared by their results for synthetic registers and memory. */
enum { SP_VALUE = 0x7ffe1230, FP_VALUE = 0x7fff4560, BX_VALUE = 0x1122330, R10_VALUE = 0x3344550 };

struct values {
    const struct unw_machine *machine;
    uint64_t pc;
    bool other_register; /* an expression used a register that fathom does not track */
};

static uint64_t memory_at(uint64_t address)
{
    return hash_fixed_u64(address);
}

static uint64_t register_value(struct values *v, uint64_t reg)
{
    if (reg == v->machine->sp)
        return SP_VALUE;
    if (reg == v->machine->fp)
        return FP_VALUE;
    if (reg == v->machine->bx)
        return BX_VALUE;
    if (reg == v->machine->r10)
        return R10_VALUE;
    if (reg == 16 && v->machine->arch == UNW_X86_64)
        return v->pc;
    v->other_register = true;
    return 0;
}

/* Evaluate the result of elfutils; CFA is the value of DW_OP_call_frame_cfa. */
static uint64_t evaluate(struct values *v, const Dwarf_Op *ops, size_t n, uint64_t cfa)
{
    uint64_t stack[16] = { 0 };
    unsigned top = 0;

    for (size_t i = 0; i < n; i++) {
        uint8_t op = ops[i].atom;

        CHECK(top < 15);
        if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
            stack[top++] = register_value(v, op - DW_OP_breg0) + ops[i].number;
        else if (op == DW_OP_bregx)
            stack[top++] = register_value(v, ops[i].number) + ops[i].number2;
        else if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
            stack[top++] = op - DW_OP_lit0;
        else if (op == DW_OP_call_frame_cfa)
            stack[top++] = cfa;
        else if (op == DW_OP_deref)
            stack[top - 1] = memory_at(stack[top - 1]);
        else if (op == DW_OP_plus_uconst)
            stack[top - 1] += ops[i].number;
        else if (op == DW_OP_const1u || op == DW_OP_const2u || op == DW_OP_const4u ||
                 op == DW_OP_constu || op == DW_OP_const1s || op == DW_OP_consts)
            stack[top++] = ops[i].number;
        else if (op == DW_OP_plus)
            top--, stack[top - 1] += stack[top];
        else if (op == DW_OP_minus)
            top--, stack[top - 1] -= stack[top];
        else if (op == DW_OP_and)
            top--, stack[top - 1] &= stack[top];
        else if (op == DW_OP_shl)
            top--, stack[top - 1] <<= stack[top];
        else if (op == DW_OP_ge)
            top--, stack[top - 1] = stack[top - 1] >= stack[top];
        else
            v->other_register = true;
    }
    return top ? stack[top - 1] : 0;
}

static uint64_t our_cfa(const struct unw_rule *r, uint64_t pc)
{
    switch (r->cfa) {
    case UNW_CFA_SP: return SP_VALUE + (int64_t)r->cfa_off;
    case UNW_CFA_FP: return FP_VALUE + (int64_t)r->cfa_off;
    case UNW_CFA_BX: return BX_VALUE + (int64_t)r->cfa_off;
    case UNW_CFA_R10: return R10_VALUE + (int64_t)r->cfa_off;
    case UNW_CFA_SP_DEREF: return memory_at(SP_VALUE + (int64_t)r->cfa_off) + r->extra;
    case UNW_CFA_FP_DEREF: return memory_at(FP_VALUE + (int64_t)r->cfa_off) + r->extra;
    case UNW_CFA_PLT: return SP_VALUE + r->cfa_off + ((pc & 15) >= r->extra) * 8;
    default: return 0;
    }
}

static uint64_t our_place(unsigned where, int64_t off, uint64_t cfa)
{
    uint64_t base = where == UNW_AT_CFA ? cfa : where == UNW_AT_SP ? SP_VALUE : FP_VALUE;

    return base + off;
}

struct tally {
    const char *file;
    unsigned long rows, not_followed, gaps, gap, gap_ruled;
};

/* Compare one saved register; 0 if both agree. */
static void compare_register(const struct tally *t, struct values *v, Dwarf_Frame *frame,
                             int reg, const struct unw_rule *r, enum unw_column column,
                             uint64_t cfa)
{
    unsigned where = unw_rule_at(r, column);
    int64_t off = unw_rule_off(r, column);
    bool is_pc = column == UNW_PC;
    Dwarf_Op mem[3], *ops;
    size_t n;
    uint64_t want;

    v->other_register = false;
    CHECK_EQ(dwarf_frame_register(frame, reg, mem, &ops, &n), 0);
    if (n == 0 && column == UNW_BX) { /* elfutils treats rax as call-saved, not rbx */
        CHECK(where <= UNW_AT_SAME);
        return;
    }
    if (n == 0) { /* same value, or undefined */
        if (where != (ops ? is_pc ? UNW_AT_ROOT : UNW_AT_UNKNOWN : UNW_AT_SAME) &&
            !(ops && is_pc && where == UNW_AT_UNKNOWN))
            test_fail(__FILE__, __LINE__, "%s at %#lx: register %d is at %u", t->file,
                      (unsigned long)v->pc, reg, where);
        return;
    }
    want = evaluate(v, ops, n, cfa);
    if (ops[n - 1].atom == DW_OP_stack_value || v->other_register) {
        CHECK_EQ(where, UNW_AT_UNKNOWN);
        return;
    }
    if (where < UNW_AT_CFA || our_place(where, off, cfa) != want)
        test_fail(__FILE__, __LINE__, "%s at %#lx: register %d: %u%+ld", t->file,
                  (unsigned long)v->pc, reg, where, (long)off);
}

static void compare_row(struct tally *t, struct values *v, Dwarf_Frame *frame, bool signal,
                        const struct unw_rule *r)
{
    static const struct unw_rule none;
    Dwarf_Op *ops;
    size_t n;
    uint64_t cfa;
    int pc_column = v->machine->arch == UNW_AARCH64 ? 30 : 16;

    r = r ? r : &none;
    t->rows++;
    CHECK_EQ(dwarf_frame_cfa(frame, &ops, &n), 0);
    v->other_register = false;
    cfa = evaluate(v, ops, n, 0);
    if (v->other_register || n == 0) {
        CHECK_EQ(r->cfa, UNW_CFA_NONE);
        t->not_followed++;
        return;
    }
    if (our_cfa(r, v->pc) != cfa)
        test_fail(__FILE__, __LINE__, "%s at %#lx: cfa kind %u offset %d", t->file,
                  (unsigned long)v->pc, r->cfa, r->cfa_off);
    CHECK_EQ(r->flags & UNW_RULE_SIGNAL, signal);
    compare_register(t, v, frame, v->machine->fp, r, UNW_FP, cfa);
    compare_register(t, v, frame, pc_column, r, UNW_PC, cfa);
    if (v->machine->bx != UNW_NO_REGISTER)
        compare_register(t, v, frame, v->machine->bx, r, UNW_BX, cfa);
}

/* Padding of up to 15 bytes may have a rule; a longer gap only one derived from its code. */
static void compare_gap(struct tally *t, const struct unw_table *table, uint64_t address)
{
    const struct unw_rule *r = unw_table_rule(table, address);

    t->gaps++;
    t->gap++;
    t->gap_ruled += r && !(r->flags & UNW_RULE_ANALYSED);
    if (t->gap > 15 && t->gap_ruled)
        test_fail(__FILE__, __LINE__, "%s at %#lx: a rule in a gap", t->file,
                  (unsigned long)address);
}

/* The end of the row of elfutils that contains ADDRESS; compares its first and last byte. */
static uint64_t compare_at(struct tally *t, Dwarf_CFI *cfi, const struct unw_machine *machine,
                           const struct unw_table *table, uint64_t address)
{
    struct values v = { .machine = machine, .pc = address };
    Dwarf_Frame *frame;
    Dwarf_Addr start, end;
    bool signal;

    if (dwarf_cfi_addrframe(cfi, address, &frame) != 0) {
        compare_gap(t, table, address);
        return address + 1;
    }
    t->gap = t->gap_ruled = 0;
    dwarf_frame_info(frame, &start, &end, &signal);
    compare_row(t, &v, frame, signal, unw_table_rule(table, address));
    v.pc = end - 1;
    if (end - 1 != address)
        compare_row(t, &v, frame, signal, unw_table_rule(table, end - 1));
    free(frame);
    return end;
}

/* Returns the number of rows: 0 for a file without code. */
static unsigned long compare_file(const char *path)
{
    struct tally t = { .file = path };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
    struct unw_table *table = cfi ? cfi_table_open(fd, NULL, 0, NULL) : NULL;
    struct cfi_table_info info;

    if (table) {
        info = cfi_table_info(table);
        for (uint64_t a = info.low; a < info.high;)
            a = compare_at(&t, cfi, unw_machine_of(info.arch), table, a);
        printf("# %s: %lu rows, %lu not followed, %lu bytes in gaps\n", path, t.rows,
               t.not_followed, t.gaps);
        CHECK(t.not_followed * 50 <= t.rows + 500); /* 2 % */
    }
    cfi_table_free(table);
    if (cfi)
        dwarf_cfi_end(cfi);
    elf_end(elf);
    close(fd);
    return t.rows;
}

static int each_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    unsigned long *rows = arg;

    if (info->dlpi_name[0] == '/' && !strstr(info->dlpi_name, "san.so"))
        *rows += compare_file(info->dlpi_name);
    return 0;
}

TEST(unwind_tables_equal_elfutils_for_every_loaded_module)
{
    unsigned long rows = 0;

    elf_version(EV_CURRENT);
    dl_iterate_phdr(each_module, &rows);
    CHECK(rows > 1000);
}

TEST(unwind_table_equals_elfutils_for_this_program)
{
    elf_version(EV_CURRENT);
    CHECK(compare_file("/proc/self/exe") > 100);
}

TEST(unwind_table_equals_elfutils_for_aarch64)
{
    static const char *const libraries[] = { "/usr/aarch64-linux-gnu/lib/libc.so.6",
                                             "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1" };
    const char *path = unw_self_workload("unwind-arm");

    if (!path)
        test_skip("no aarch64 program was built");
    elf_version(EV_CURRENT);
    CHECK(compare_file(path) > 100);
    for (size_t i = 0; i < 2; i++)
        if (access(libraries[i], R_OK) == 0)
            compare_file(libraries[i]);
}
