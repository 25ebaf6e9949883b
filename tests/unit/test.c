/* test.c - unit-tests [WORD]: run all tests, or those whose name contains WORD.  Prints TAP.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, SECONDS_EACH = 600 };

static struct test *first;
static char scratch[64];

void test_register(struct test *t)
{
    struct test **at = &first;

    while (*at && strcmp((*at)->name, t->name) < 0)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    fprintf(stdout, "# %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stdout, fmt, ap);
    va_end(ap);
    fputc('\n', stdout);
    fflush(stdout);
    _exit(1);
}

const char *test_workload(const char *name)
{
    static char path[PATH_MAX + 64];
    const char *folder = getenv("FATHOM_WORKLOADS");
    char exe[PATH_MAX] = "";

    if (folder) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
    } else {
        CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
        snprintf(path, sizeof path, "%s/../workloads/%s", dirname(exe), name);
    }
    if (access(path, R_OK) < 0)
        test_skip("the workloads are not built in this variant");
    return path;
}

void test_skip(const char *why)
{
    printf("# skipped: %s\n", why);
    fflush(stdout);
    _exit(SKIPPED);
}

const char *test_dir(void)
{
    static char dir[96];
    static int n;

    snprintf(dir, sizeof dir, "mkdir -m 700 -p %s/%d", scratch, ++n);
    if (system(dir) != 0)
        test_fail(__FILE__, __LINE__, "cannot make a folder");
    snprintf(dir, sizeof dir, "%s/%d", scratch, n);
    return dir;
}

const char *test_file(const void *data, size_t n)
{
    static char path[96];
    static int count;
    FILE *f;

    snprintf(path, sizeof path, "%s/file%d", scratch, ++count);
    f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0)
        test_fail(__FILE__, __LINE__, "cannot write %s", path);
    return path;
}

void test_make_dirs(const char *path)
{
    char part[4096];

    snprintf(part, sizeof part, "%s", path);
    for (char *s = part + 1; *s; s++)
        if (*s == '/') {
            *s = 0;
            if (mkdir(part, 0700) < 0 && errno != EEXIST)
                test_fail(__FILE__, __LINE__, "cannot create %s", part);
            *s = '/';
        }
}

void test_write(const char *path, const void *data, size_t n)
{
    FILE *f;

    test_make_dirs(path);
    f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fchmod(fileno(f), 0600) != 0 || fclose(f) != 0)
        test_fail(__FILE__, __LINE__, "cannot write %s", path);
}

static int run_one(const struct test *t)
{
    int status;
    pid_t pid;
    char remove[96];

    strcpy(scratch, "/tmp/fathom-unit-XXXXXX");
    if (!mkdtemp(scratch))
        exit(1);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        alarm(SECONDS_EACH);
        t->run();
        fflush(stdout);
        exit(0);
    }
    waitpid(pid, &status, 0);
    snprintf(remove, sizeof remove, "rm -rf %s", scratch);
    if (system(remove) != 0)
        fprintf(stderr, "cannot remove %s\n", scratch);
    if (WIFSIGNALED(status))
        printf("# killed by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    int n = 0, failed = 0;

    for (const struct test *t = first; t; t = t->next) {
        int rc;

        if (argc > 1 && !strstr(t->name, argv[1]))
            continue;
        rc = run_one(t);
        failed += rc != 0 && rc != SKIPPED;
        printf("%s %d - %s%s\n", rc == 0 || rc == SKIPPED ? "ok" : "not ok", ++n, t->name,
               rc == SKIPPED ? " # SKIP" : "");
    }
    printf("1..%d\n", n);
    return failed != 0;
}
