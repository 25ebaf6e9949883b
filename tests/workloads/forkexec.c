/* forkexec.c - start itself N times (500) as a child that works for about a millisecond in
 * child_work().
 * build: forkexec gcc -O2 -g -o @OUT@ @IN@
 * build: forkexec-static gcc -O2 -g -static -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t keep;

__attribute__((noinline)) static void child_work(void)
{
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < 600000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep = x;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 500;

    if (n == 0) {
        child_work();
        return 0;
    }
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            execl("/proc/self/exe", "child", "0", (char *)NULL);
            _exit(127);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            return 1;
    }
    return 0;
}
