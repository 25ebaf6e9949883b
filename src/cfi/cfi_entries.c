/* cfi_entries.c - see cfi_entries.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_entries.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "cfi/cfi_go.h"
#include "disasm/disasm.h"

enum {
    NAMED_FROM = 512, /* bytes of code from which on symbols are worth reading */
    MOST_NAME = 1024, /* bytes of a symbol's name */
};

/* The cold part of a function is named like a function, but entered by a jump. */
static bool is_cold(const char *name)
{
    const char *at = strstr(name, ".cold");

    return at && (at[5] == '.' || at[5] == 0);
}

/* Functions that end the program, or continue it elsewhere. */
static bool is_final(const char *name)
{
    static const char *const names[] = {
        "abort", "exit", "_exit", "_Exit", "quick_exit", "pthread_exit", "thrd_exit", "longjmp",
        "_longjmp", "siglongjmp", "__longjmp_chk", "__stack_chk_fail", "__stack_chk_fail_local",
        "__fortify_fail", "__chk_fail", "__assert_fail", "__assert_perror_fail", "__libc_fatal",
        "_Unwind_Resume", "__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "_ZSt9terminatev" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "_ZSt", 4) == 0 && strstr(name, "__throw_"); /* std::__throw_... */
}

/* Name of symbol S in TABLE; "" when it has none, or a long one. */
static const char *symbol_name(const struct cfi_symbols *table, const Elf64_Sym *s)
{
    return elf_file_name(table->names.data, table->names.size, s->st_name, MOST_NAME);
}

static void add_symbols(struct code *c, const struct cfi_symbols *table)
{
    size_t n = table->symbols.size / sizeof(Elf64_Sym);

    for (size_t i = 0; i < n; i++) {
        Elf64_Sym s;
        unsigned type;
        const char *name;

        memcpy(&s, table->symbols.data + i * sizeof s, sizeof s);
        type = ELF64_ST_TYPE(s.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s.st_shndx == SHN_UNDEF)
            continue;
        name = symbol_name(table, &s);
        if (!is_cold(name))
            code_add_entry(c, s.st_value, is_final(name) ? CODE_NEVER_RETURNS : 0);
    }
}

/* The outermost functions of Go's stacks are entered without a call. */
static void add_go_function(void *arg, uint64_t start, uint64_t end, bool is_top)
{
    static const struct unw_rule root = { .flags = UNW_RULE_ANALYSED,
                                          .where = UNW_WHERE(0, UNW_AT_ROOT, 0) };
    struct code *c = arg;
    struct code_part *p = code_part_of(c, start);

    if (!p)
        return;
    code_add_entry(c, start, 0);
    if (is_top)
        code_set_rule(c, p, start, end - start, &root);
}

/* Nothing calls the entry point.  It computes the address of main, which nothing else may do. */
static void add_start(struct code *c)
{
    enum { LENGTH = 64 };
    uint64_t entry = c->elf->file.entry;
    const unsigned char *code = cfi_elf_code(c->elf, entry, LENGTH);
    uint8_t *found = code_found_at(c, entry);
    struct disasm_effect e;
    size_t left = code ? LENGTH : 0;

    if (found)
        *found |= CODE_ENTRY;
    for (; disasm_effect(code, left, entry, &e); code += e.size, left -= e.size, entry += e.size)
        if (e.op == DISASM_SET && e.base == DISASM_NO_REGISTER &&
            (found = code_found_at(c, (uint64_t)e.value)))
            *found |= CODE_POINTED;
}

void entries_find(struct code *c)
{
    if (c->bytes >= NAMED_FROM) {
        cfi_elf_read_symbols(c->elf);
        for (size_t i = 0; i < ARRAY_LEN(c->elf->symbols); i++)
            add_symbols(c, &c->elf->symbols[i]);
    }
    cfi_go_each(c->elf, add_go_function, c);
    add_start(c);
}
