/* doc_binary.c - how a binary was built, how that affects a profile, and how to record it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doc_build.h"
#include "doctor/doctor.h"
#include "symbol/sym_locate.h"

/* Above: the build keeps frame pointers (tail calls and small functions need none); below: it
 * does not (a few functions need one for stack space of variable size). */
enum { MANY_PCT = 70, FEW_PCT = 20 };
/* More code without unwind tables than this was built without them: every program has a few
 * hundred bytes of assembly and start code that have none. */
enum { BARE_BYTES = 1024, BARE_PCT = 10 };

struct examined {
    struct sym_module *m;
    struct sym_image *file;
    struct doc_producer producer;
    struct doc_code code;
    bool dwarf, separate_dwarf, symtab, eh_frame, debug_frame, sanitizer, mcount;
    bool library; /* cannot be started */
    double frame_pointer_pct, spill_pct; /* of functions; -1 if no function was inspected */
};

static void add_shape(struct doc_binary *b, struct examined *x)
{
    char id[2 * SYM_BUILD_ID_MAX + 1];
    GElf_Ehdr eh;
    bool interpreted = false;
    size_t n = 0;

    if (!gelf_getehdr(x->file->elf, &eh))
        return;
    elf_getphdrnum(x->file->elf, &n);
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr ph;

        if (gelf_getphdr(x->file->elf, (int)i, &ph))
            interpreted |= ph.p_type == PT_INTERP;
    }
    x->library = eh.e_type == ET_DYN && !interpreted && !eh.e_entry;
    doc_add(&b->facts, DOC_PLAIN, "type", "kind", NULL, "%s, %s",
            eh.e_type == ET_EXEC              ? "fixed address (no PIE)"
            : eh.e_type == ET_DYN && interpreted ? "position-independent (PIE)"
            : x->library                      ? "shared library"
            : eh.e_type == ET_DYN             ? "static PIE, or an executable library"
                                              : "neither a program nor a library",
            eh.e_machine == EM_X86_64 ? "x86_64"
            : eh.e_machine == EM_AARCH64 ? "aarch64"
                                         : "other");
    sym_locate_hex(id, x->file->build_id, x->file->build_id_size);
    doc_add(&b->facts, x->file->build_id_size ? DOC_GOOD : DOC_POOR, "build_id", "build id",
            x->file->build_id_size ? NULL : "link with -Wl,--build-id", "%s",
            x->file->build_id_size ? id : "none");
}

static void add_symbols(struct doc_binary *b, struct examined *x)
{
    doc_add(&b->facts, x->symtab ? DOC_GOOD : DOC_POOR, "symbols", "symbols",
            x->symtab ? NULL : "do not strip the binary (-s, strip), or install its debug file",
            "%s", x->symtab ? "not stripped" : "stripped");
    doc_add(&b->facts, x->dwarf ? DOC_GOOD : DOC_POOR, "debug_info", "debug information",
            x->dwarf ? NULL : "compile with -g for lines and inlined functions; it costs no speed",
            "%s", !x->dwarf ? "none" : x->separate_dwarf ? "in a separate file" : "in the binary");
}

static void add_flags(struct doc_binary *b, struct examined *x)
{
    const struct doc_producer *p = &x->producer;
    char level[160] = "";

    if (!p->units) {
        if (x->spill_pct > 30)
            doc_add(&b->facts, DOC_POOR, "optimization", "optimization", "build with -O2",
                    "none, judging by the code (functions store their arguments on the stack)");
        else
            doc_add(&b->facts, DOC_PLAIN, "optimization", "optimization", NULL,
                    "not recorded (no debug information)%s",
                    x->spill_pct >= 0 ? "; the code looks optimized" : "");
        return;
    }
    doc_add(&b->facts, DOC_PLAIN, "compiler", "compiler", NULL, "%s", p->compiler);
    if (p->with_level)
        snprintf(level, sizeof level, "%s (%zu of %zu units above -O0)", p->level, p->optimized,
                 p->with_level);
    else
        snprintf(level, sizeof level, "not recorded by this compiler; the code looks %s",
                 x->spill_pct > 30 ? "unoptimized" : "optimized");
    doc_add(&b->facts,
            p->with_level ? (p->optimized * 2 >= p->with_level ? DOC_GOOD : DOC_POOR)
                          : (x->spill_pct > 30 ? DOC_POOR : DOC_PLAIN),
            "optimization", "optimization",
            p->with_level && p->optimized * 2 < p->with_level ? "build with -O2 before profiling"
                                                              : NULL,
            "%s", level);
    doc_add(&b->facts, DOC_PLAIN, "march", "instruction set", NULL, "%s",
            *p->march ? p->march : p->with_level ? "the compiler's default" : "not recorded");
}

static bool has_tables(const struct examined *x)
{
    return x->eh_frame || x->debug_frame;
}

static void add_tables(struct doc_binary *b, const struct examined *x)
{
    uint64_t all = x->code.bytes, bare = all - x->code.covered;

    if (x->eh_frame && !x->debug_frame && bare > BARE_BYTES && bare > all / 100 * BARE_PCT)
        doc_add(&b->facts, DOC_POOR, "unwind_tables", "unwind tables",
                "fathom analyses the rest; build all of it with -fasynchronous-unwind-tables",
                "in part: .eh_frame describes %.0f %% of the code",
                100.0 * (double)x->code.covered / (double)all);
    else
        doc_add(&b->facts, has_tables(x) ? DOC_GOOD : DOC_POOR, "unwind_tables", "unwind tables",
                has_tables(x) ? NULL : "compile with -fasynchronous-unwind-tables", "%s",
                x->eh_frame      ? "yes (.eh_frame)"
                : x->debug_frame ? "yes (.debug_frame)"
                                 : "none");
}

static void add_code(struct doc_binary *b, struct examined *x)
{
    double pct = x->frame_pointer_pct;

    if (pct < 0)
        doc_add(&b->facts, DOC_PLAIN, "frame_pointers", "frame pointers", NULL,
                "unknown: no function table");
    else
        doc_add(&b->facts, pct >= MANY_PCT ? DOC_GOOD : DOC_PLAIN, "frame_pointers",
                "frame pointers", NULL, "%s: %.0f %% of %zu non-leaf functions set one up",
                pct >= MANY_PCT ? "used" : pct <= FEW_PCT ? "not used" : "used in part", pct,
                x->code.functions);
    add_tables(b, x);
    doc_add(&b->facts, DOC_PLAIN, "lto", "link-time optimization", NULL, "%s",
            x->producer.lto     ? "yes"
            : x->producer.units ? "not detected"
                                : "unknown");
    doc_add(&b->facts, x->sanitizer || x->mcount ? DOC_POOR : DOC_GOOD, "instrumentation",
            "instrumentation",
            x->sanitizer || x->mcount ? "its timings differ from those of a normal build" : NULL,
            "%s",
            x->sanitizer ? "a sanitizer"
            : x->mcount  ? "-pg, coverage or function hooks"
                         : "none");
}

/* Symbols that only instrumented code refers to. */
static void find_instrumentation(struct examined *x, struct sym_image *im, uint32_t type)
{
    static const char *const sanitizers[] = { "__asan_init", "__tsan_init", "__msan_init",
                                              "__ubsan_handle_type_mismatch_v1",
                                              "__hwasan_init" };
    static const char *const hooks[] = { "mcount", "_mcount", "__fentry__", "__gcov_init",
                                         "__llvm_profile_runtime", "__cyg_profile_func_enter" };
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;

    while ((scn = elf_nextscn(im->elf, scn))) {
        Elf_Data *d;
        size_t n;

        if (!gelf_getshdr(scn, &sh) || sh.sh_type != type || !sh.sh_entsize)
            continue;
        x->symtab |= type == SHT_SYMTAB;
        d = elf_getdata(scn, NULL);
        n = d ? d->d_size / sh.sh_entsize : 0;
        for (size_t i = 0; i < n; i++) {
            GElf_Sym s;
            const char *name = gelf_getsym(d, (int)i, &s)
                                   ? elf_strptr(im->elf, sh.sh_link, s.st_name) : NULL;

            for (size_t k = 0; name && k < ARRAY_LEN(sanitizers); k++)
                x->sanitizer |= strcmp(name, sanitizers[k]) == 0;
            for (size_t k = 0; name && k < ARRAY_LEN(hooks); k++)
                x->mcount |= strcmp(name, hooks[k]) == 0;
        }
    }
}

static void examine(struct examined *x)
{
    struct sym_image *debug = sym_module_debug(x->m);
    struct sym_image *dwarf = sym_image_has_dwarf(x->file)             ? x->file
                              : debug && sym_image_has_dwarf(debug) ? debug
                                                                    : NULL;
    size_t n;

    x->dwarf = dwarf != NULL;
    x->separate_dwarf = dwarf && dwarf == debug;
    if (dwarf)
        doc_producer_read(&x->producer, x->m, dwarf);
    find_instrumentation(x, x->file, SHT_SYMTAB);
    find_instrumentation(x, x->file, SHT_DYNSYM);
    x->mcount |= x->producer.pg;
    x->sanitizer |= x->producer.sanitized;
    x->eh_frame = sym_image_bytes(x->file, ".eh_frame", &n) != NULL && n > 8;
    x->debug_frame = sym_image_bytes(x->file, ".debug_frame", &n) != NULL && n > 8;
    doc_code_read(&x->code, x->m);
    x->frame_pointer_pct = x->spill_pct = -1;
    if (x->code.functions) {
        x->frame_pointer_pct = 100.0 * (double)x->code.frame_pointers / (double)x->code.functions;
        x->spill_pct = 100.0 * (double)x->code.spills / (double)x->code.functions;
    }
}

static bool is_unoptimized(const struct examined *x)
{
    if (x->producer.with_level)
        return x->producer.optimized * 2 < x->producer.with_level;
    return x->spill_pct > 30;
}

/* The fast build is the one that ships.  The instrumented build adds debug information and frame
 * pointers for the profiler. */
static void judge(struct doc_binary *b, const struct examined *x, const char *target)
{
    bool fp = x->frame_pointer_pct >= MANY_PCT;
    /* Prefer unwind tables: the libraries that it calls have no frame pointers. */
    const char *graph = has_tables(x) ? "" : fp ? "-gfp " : "-gdwarf ";

    if (x->sanitizer || x->mcount)
        snprintf(b->verdict, sizeof b->verdict, "slowed build: it contains %s",
                 x->sanitizer ? "a sanitizer; profile a build without it"
                              : "function hooks; profile a build without them");
    else if (is_unoptimized(x))
        snprintf(b->verdict, sizeof b->verdict,
                 "unoptimized build: its profile differs from that of an optimized build");
    else if (x->dwarf && fp)
        snprintf(b->verdict, sizeof b->verdict,
                 "instrumented build: optimized, with debug information and frame pointers");
    else if (x->dwarf)
        snprintf(b->verdict, sizeof b->verdict,
                 "fast build with debug information: stacks come from unwind tables");
    else
        snprintf(b->verdict, sizeof b->verdict,
                 "fast build: no debug information, so no lines and no inlined functions");
    b->instrumented = x->dwarf && fp && !is_unoptimized(x) && !x->sanitizer && !x->mcount;
    b->fast = !b->instrumented && !is_unoptimized(x) && !x->sanitizer && !x->mcount;
    snprintf(b->command, sizeof b->command, "fathom record %s%s", graph,
             x->library ? "-- PROGRAM (a program that loads it)" : target);
}

static bool is_pid(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

int doc_binary_module(struct doc_binary *b, struct sym_module *m, const char *target,
                      struct err *e)
{
    struct examined x = { .m = m, .file = sym_module_file(m) };

    *b = (struct doc_binary){ 0 };
    if (!x.file) {
        const char *problem = sym_module_problem(m);

        return err_set(e, ERR_FORMAT, "%s", *problem ? problem : "not an ELF file");
    }
    examine(&x);
    add_shape(b, &x);
    add_symbols(b, &x);
    add_flags(b, &x);
    add_code(b, &x);
    judge(b, &x, target);
    return 0;
}

int doc_binary(struct doc_binary *b, const char *path, struct err *e)
{
    char real[4096], target[4200];
    const struct named_user *user = NULL;
    struct named_user found = { 0 };
    struct sym_module *m;
    struct stat st;
    int fd, rc;

    snprintf(real, sizeof real, "%s", path);
    snprintf(target, sizeof target, "-- %s%s", strchr(path, '/') ? "" : "./", path);
    if (is_pid(path) && access(path, F_OK) != 0) {
        snprintf(real, sizeof real, "/proc/%s/exe", path);
        snprintf(target, sizeof target, "-p %s", path);
        if (access(real, R_OK) != 0)
            return errno == ENOENT ? err_set(e, ERR_MISSING, "no process %s", path)
                                   : err_sys(e, "process %s", path);
        user = named_user_read(strtoll(path, NULL, 10), &found) ? &found : &named_nobody;
    }
    if (stat(real, &st) < 0)
        return err_sys(e, "%s", path);
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_FORMAT, "%s is a directory, not a program", path);
    /* The user named this file; what it names in turn is opened for the user of the process. */
    fd = named_open(NULL, real, NULL, NAMED_PROC_LINK, e);
    if (fd < 0) {
        named_user_release(&found);
        return err_wrap(e, "%s", path);
    }
    m = sym_module_open(&(struct sym_request){ .path = real, .file = fd, .user = user });
    rc = doc_binary_module(b, m, target, e);
    b->is_process = target[1] == 'p';
    sym_module_close(m);
    named_user_release(&found);
    close(fd);
    return rc;
}

void doc_binary_release(struct doc_binary *b)
{
    doc_facts_release(&b->facts);
}
