/* bench_import.c - bench-import FILE [RUNS]: measure how fast a file is imported into memory.
 * Prints CPU seconds, MB/s and samples of the best run.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "formats/formats.h"

int main(int argc, char **argv)
{
    struct err e = { 0 };
    struct stat st;
    double best = 1e9;
    size_t samples = 0;
    long runs = argc > 2 ? strtol(argv[2], NULL, 10) : 3;

    if (argc < 2 || stat(argv[1], &st) < 0) {
        fprintf(stderr, "bench-import FILE [RUNS]\n");
        return 2;
    }
    for (long i = 0; i < runs; i++) {
        uint64_t start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        struct profile *p = format_open(argv[1], &e);
        double s = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e9;

        if (!p) {
            fprintf(stderr, "bench-import: %s\n", e.msg);
            return 1;
        }
        samples = p->sample.n;
        best = s < best ? s : best;
        profile_free(p);
    }
    printf("%.5f s  %.0f MB/s  %zu samples\n", best, (double)st.st_size / 1e6 / best, samples);
    return 0;
}
