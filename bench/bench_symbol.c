/* bench_symbol.c - bench-symbol [FILE [ADDRESS...]]: measure the cost of resolving addresses.
 * FILE defaults to this program.  With addresses, prints the functions found there.  Without,
 * resolves 15,000 addresses spread over the file's code, as for a recording of a large program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/symbolizer.h"

enum { QUESTIONS = 15000 };

static void show(struct sym_module *m, uint64_t address)
{
    const struct sym_line *c;
    size_t n = sym_module_find(m, address, &c);

    printf("%#" PRIx64 ": %zu\n", address, n);
    for (size_t i = 0; i < n; i++)
        printf("  %s (%s) %s:%u, declared %s:%u, %#" PRIx64 "-%#" PRIx64 " by %s\n", c[i].name,
               c[i].linkage_name ? c[i].linkage_name : "", c[i].file ? c[i].file : "?",
               c[i].line, c[i].decl_file ? c[i].decl_file : "?", c[i].decl_line, c[i].start,
               c[i].end, sym_source_name(c[i].source));
}

static uint64_t place(const struct sym_image *im, uint64_t i)
{
    const struct sym_load *code = NULL;

    for (size_t k = 0; k < im->n_loads; k++)
        if (im->load[k].exec)
            code = &im->load[k];
    return code ? code->address + (i * 2654435761u) % code->size : 0;
}

int main(int argc, char **argv)
{
    char self[4096] = "";
    struct sym_module *m;
    uint64_t t0, t1, t2, found = 0, inlined = 0, by[8] = { 0 };
    const struct sym_line *c;

    t0 = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) /* links of /proc are not followed */
        return 1;
    m = sym_module_open(&(struct sym_request){ .path = argc > 1 ? argv[1] : self });
    for (int i = 2; i < argc; i++)
        show(m, strtoull(argv[i], NULL, 16));
    if (argc <= 2 && sym_module_file(m)) {
        sym_module_find(m, place(m->file, 1), &c);
        t1 = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        for (uint64_t i = 0; i < QUESTIONS; i++) {
            size_t n = sym_module_find(m, place(m->file, i), &c);

            found += n > 0;
            inlined += n > 1;
            by[n ? c[0].source : SYM_NONE]++;
        }
        t2 = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        printf("first %.1f ms, then %d in %.1f ms; named %" PRIu64 ", with inlined calls %" PRIu64
               "\n", (double)(t1 - t0) / 1e6, QUESTIONS, (double)(t2 - t1) / 1e6, found, inlined);
        for (size_t i = 0; i < 8; i++)
            if (by[i])
                printf("  by %s: %" PRIu64 "\n", sym_source_name((enum sym_source)i), by[i]);
    }
    t1 = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    printf("source %s; %s; %s", sym_source_name(sym_module_source(m)), sym_module_problem(m),
           sym_module_advice(m));
    t2 = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    printf(" (%.1f ms)\n", (double)(t2 - t1) / 1e6);
    sym_module_close(m);
    return argc <= 2 && !found;
}
