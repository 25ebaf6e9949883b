/* rt_env.c - a small pipeline without reports in its code: the environment requests them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fathom.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned keep;

static void work(int n)
{
    for (int i = 0; i < n; i++)
        keep += (unsigned)i;
}

static void load(void)
{
    FATHOM_ZONE("load");
    work(30000);
}

static void compute(int i)
{
    FATHOM_OP("compute", (uint64_t)(1000 + i), "cpu");
    work(90000);
    FATHOM_COUNT("items", 2);
    FATHOM_GAUGE("depth", i);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;

    for (int i = 0; i < rounds; i++) {
        FATHOM_ZONE("step \"quoted\";, name");
        load();
        compute(i);
        FATHOM_INSTANT("tick");
    }
    if (argc > 3 && !strcmp(argv[2], "exec"))
        return execvp(argv[3], argv + 3);
    if (argc > 2 && !strcmp(argv[2], "baseline")) {
        struct fathom_slower *none = NULL;

        (void)none;
        if (fathom_save_baseline(argv[3]) < 0)
            return 3;
        return 40 + fathom_check_baseline(argv[3], 1000, NULL, NULL);
    }
    return 0;
}
