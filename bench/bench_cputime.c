/* bench_cputime.c - bench-cputime FILE CMD...: run CMD and write its user + system seconds,
 * including children, to FILE.  A recorder runs it as a wrapper of the target, to separate the
 * CPU time of the two.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage u;
    int status;
    pid_t pid;
    FILE *f;

    if (argc < 3)
        return 2;
    pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
        return 1;
    f = fopen(argv[1], "w");
    if (!f)
        return 1;
    fprintf(f, "%.6f\n", (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                             (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
    fclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
