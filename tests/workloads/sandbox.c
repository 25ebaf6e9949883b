/* sandbox.c - install a filter of system calls (seccomp) and work under it.
 *     sandbox KIND HOW MS     use about MS ms of CPU time under a filter that kills for all calls but
 *         strict     read, write, exit and the return from a handler (the mode without a filter)
 *         few        read, write and exit: not even a handler may return
 *         handlers   those of few, and the return from a handler
 *         most       all but those of a sampler (process_vm_readv)
 *     HOW it is installed: prctl, syscall, threads (syscall, for all threads)
 *     sandbox execs HOW MS    with the filter `most`, fork and execute `sandbox work`
 * build: sandbox gcc -O2 -g -fno-omit-frame-pointer -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t keep;
static volatile int ready, over;

static long chunks_per_ms;

/* No clock: the mode strict forbids even to read the counter of the CPU. */
__attribute__((noinline)) static void confined_work(long ms)
{
    uint64_t x = 88172645463325252u;

    for (long n = 0; n < ms * chunks_per_ms; n++) {
        for (int i = 0; i < 20000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        keep += x;
    }
}

static long cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void calibrate(void)
{
    long start = cpu_us(), used;

    chunks_per_ms = 100;
    confined_work(1);
    used = cpu_us() - start;
    chunks_per_ms = 100 * 1000 / (used > 0 ? used : 1) + 1;
}

#define ALLOW(number)                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),   \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter few[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_filter handlers[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group),
    ALLOW(SYS_rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_filter most[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
#define FILTER(code) (struct sock_fprog){ sizeof(code) / sizeof *(code), code }

static int confine(const char *kind, const char *how)
{
    struct sock_fprog f = strcmp(kind, "few") == 0        ? FILTER(few)
                          : strcmp(kind, "handlers") == 0 ? FILTER(handlers)
                                                          : FILTER(most);

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != -1 || errno != EFAULT)
        return -1; /* how programs ask whether filters exist */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(kind, "strict") == 0)
        return how[0] == 'p' ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                             : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
    if (how[0] == 'p') {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f) < 0)
            return -1;
        /* The first filter may forbid to look at the second before the kernel does. */
        return strcmp(kind, "most") != 0 ||
                       (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 8) == -1 && errno == EFAULT)
                   ? 0
                   : -1;
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        how[0] == 't' ? SECCOMP_FILTER_FLAG_TSYNC : 0, &f);
}

static void *other(void *unused)
{
    ready = 1;
    while (!over)
        confined_work(5);
    ready = 0;
    for (;;) /* it may not end by itself */
        keep++;
    return unused;
}

/* stdout may call fstat. */
static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(9);
}

static int start_programs(const char *self)
{
    for (int i = 0; i < 4; i++) {
        pid_t pid = i % 2 ? vfork() : fork();
        int status;

        if (pid == 0 && i < 2) {
            execl(self, self, "work", "-", "30", (char *)NULL);
            _exit(8);
        }
        if (pid == 0) {
            if (i == 2)
                confined_work(30);
            _exit(7);
        }
        waitpid(pid, &status, 0);
        printf("status %x\n", (unsigned)status);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
    long ms = argc > 3 ? atol(argv[3]) : 100;
    pthread_t thread;

    calibrate();
    if (strcmp(kind, "work") == 0) {
        confined_work(ms);
        return puts("worked") < 0;
    }
    confined_work(20);
    if (how[0] == 't') {
        if (pthread_create(&thread, NULL, other, NULL) != 0)
            return 2;
        while (!ready)
            ;
    }
    if (confine(kind, how) != 0)
        return 3;
    if (strcmp(kind, "execs") == 0)
        return start_programs(argv[0]);
    confined_work(ms);
    over = 1;
    say("done\n");
    syscall(how[0] == 't' ? SYS_exit_group : SYS_exit, 4);
    return 1;
}
