/* starts.c - start processes and threads in every way, end in every way.
 *     execs N        execute itself N times
 *     ways           each function of exec and posix_spawn, and what the programs see
 *     forks N        N forks, some with threads in parent and child that allocate memory
 *     threads N      N threads that end at once
 *     cancel N       cancel N threads that work, wait, or run a shell
 *     libraries N    load and unload a library N times
 *     surroundings   closefrom, setsid, daemon, environ, limits, chroot
 *     ends HOW       exit, _exit, quick_exit, abort, thread, main, or a signal number
 *     work MS        use MS ms of CPU time
 * build: starts gcc -O2 -g -pthread -o @OUT@ @IN@ -ldl
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile uint64_t keep;
static volatile int over;

__attribute__((noinline)) static void start_work(long ms)
{
    struct timespec t;
    long end;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
    do {
        for (int i = 0; i < 20000; i++)
            keep += (uint64_t)i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
}

static int execs(const char *self, long n)
{
    char left[24];

    start_work(2);
    if (n == 0)
        return puts("executed") < 0;
    snprintf(left, sizeof left, "%ld", n - 1);
    execl(self, self, "execs", left, (char *)NULL);
    return 1;
}

/* What a started program sees: its environment, as far as it differs, and its arguments. */
static int see(int argc, char **argv)
{
    const char *list = getenv("LD_PRELOAD");
    size_t n = 0;

    for (char **e = environ; *e; e++)
        n += strncmp(*e, "FATHOM_", 7) != 0 && strncmp(*e, "_=", 2) != 0;
    printf("%d arguments, %zu variables, %s, %s, preload %s\n", argc, n, argv[argc - 1],
           getenv("MINE") ? getenv("MINE") : "nothing", list ? list : "unset");
    return 6;
}

static void report(const char *way, pid_t pid)
{
    int status = -1;

    waitpid(pid, &status, 0);
    printf("%s: %x\n", way, (unsigned)status);
}

/* Fork or vfork, evaluate CALL in the child, and print what it saw. */
#define WAY(fork, call)          \
    do {                         \
        pid_t pid_ = fork();     \
        if (pid_ == 0) {         \
            call;                \
            _exit(99);           \
        }                        \
        report(#call, pid_);     \
    } while (0)

static void ways(const char *self)
{
    char *const argv[] = { (char *)self, (char *)"see", (char *)"v", NULL };
    char *const env[] = { (char *)"MINE=env", (char *)"LD_PRELOAD=", NULL }, *const none[] = { NULL };
    char *const preload[] = { (char *)"LD_PRELOAD=libdl.so.2", NULL };
    const char *name = strrchr(self, '/') + 1;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t a;
    char folder[4096];
    sigset_t all;
    pid_t pid;
    int rc;

    snprintf(folder, sizeof folder, "%.*s", (int)(name - self), self);
    setenv("PATH", folder, 1);
    setenv("MINE", "mine", 1);
    WAY(fork, execl(self, self, "see", "l", (char *)NULL));
    WAY(vfork, execl(self, self, "see", "l", (char *)NULL));
    WAY(vfork, execlp(name, self, "see", "lp", (char *)NULL));
    WAY(vfork, execle(self, self, "see", "le", (char *)NULL, env));
    WAY(vfork, execv(self, argv));
    WAY(vfork, execvp(name, argv));
    WAY(vfork, execve(self, argv, none));
    WAY(vfork, execve(self, argv, preload));
    WAY(vfork, execvpe(name, argv, env));
    WAY(fork, fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, env));
    WAY(fork, syscall(SYS_execve, self, argv, env));
    WAY(vfork, execv("/nowhere", argv));
    WAY(vfork, execvp("nowhere", argv));
    WAY(vfork, execv("/dev/null", argv));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 9, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 9, 0);
    posix_spawn_file_actions_addclose(&actions, 9);
    posix_spawnattr_init(&a);
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&a, &all);
    posix_spawnattr_setsigmask(&a, &all);
    posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    rc = posix_spawn(&pid, self, &actions, &a, argv, environ);
    report(rc ? "no posix_spawn" : "posix_spawn", pid);
    rc = posix_spawnp(&pid, name, NULL, NULL, argv, env);
    report(rc ? "no posix_spawnp" : "posix_spawnp", pid);
    printf("missing: %s\n", strerror(posix_spawn(&pid, "/nowhere", NULL, NULL, argv, environ)));
    clearenv();
    WAY(vfork, execl(self, self, "see", "clear", (char *)NULL));
    putenv((char *)"MINE=put");
    WAY(vfork, execl(self, self, "see", "put", (char *)NULL));
    putenv((char *)"LD_PRELOAD=libdl.so.2");
    WAY(vfork, execl(self, self, "see", "preload", (char *)NULL));
    environ = (char **)env;
    WAY(vfork, execl(self, self, "see", "environ", (char *)NULL));
    environ = NULL;
    WAY(vfork, execl(self, self, "see", "environ", (char *)NULL));
    printf("system %x\n", (unsigned)system("exit 3"));
}

static void *allocate(void *unused)
{
    while (!over) {
        void *p[64];

        for (int i = 0; i < 64; i++)
            p[i] = malloc((size_t)(i + 1) * 100);
        for (int i = 0; i < 64; i++)
            free(p[i]);
    }
    return unused;
}

static int forks(long n)
{
    pthread_t thread[2], child;
    int failed = 0;

    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, allocate, NULL);
    for (long i = 0; i < n; i++) {
        pid_t pid = i % 4 == 3 ? vfork() : fork();
        int status = -1;

        if (pid == 0 && i % 4 == 3)
            _exit(0);
        if (pid == 0) {
            free(malloc(1000));
            if (i % 4 == 1) {
                pthread_create(&child, NULL, allocate, NULL);
                start_work(3);
                over = 1;
                pthread_join(child, NULL);
            }
            _exit(0);
        }
        waitpid(pid, &status, 0);
        failed += status != 0;
    }
    over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    printf("%ld processes, %d failed\n", n, failed);
    return 0;
}

static void *brief(void *n)
{
    *(long *)n += 1;
    return NULL;
}

static int threads(long n)
{
    long sum = 0;

    for (long i = 0; i < n; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, brief, &sum) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    printf("%ld threads\n", sum);
    return 0;
}

static void count(void *n)
{
    ++*(long *)n;
}

static void *cancelled(void *how)
{
    static long n;
    static long cleaned;

    pthread_cleanup_push(count, &cleaned);
    switch (n++ % 5) {
    case 0:
        for (;;)
            nanosleep(&(struct timespec){ 0, 1000 }, NULL);
    case 1:
        for (;;) {
            pthread_testcancel();
            keep++;
        }
    case 2:
        pause();
        break;
    case 3:
        if (read(*(int *)how, how, 1) < 0)
            puts("failed");
        break;
    default:
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        for (;;)
            keep++;
    }
    pthread_cleanup_pop(0);
    return how;
}

static int cancel(long n)
{
    long ended = 0;
    int pipes[2];

    if (pipe(pipes) < 0)
        return 1;
    for (long i = 0; i < n; i++) {
        pthread_t thread;
        void *result;

        pthread_create(&thread, NULL, cancelled, &pipes[0]);
        start_work(2);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        ended += result == PTHREAD_CANCELED;
    }
    printf("%ld cancelled\n", ended);
    return 0;
}

static int libraries(long n)
{
    double sum = 0;

    for (long i = 0; i < n; i++) {
        void *m = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        double (*f)(double) = m ? (double (*)(double))(uintptr_t)dlsym(m, "sin") : NULL;

        if (!f)
            return 1;
        for (int k = 0; k < 2000; k++)
            sum += f(k);
        dlclose(m);
    }
    printf("%.3f\n", sum / (double)n);
    return 0;
}

static void files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    printf("%d files\n", n - 3);
}

static void *lock_stack(void *unused)
{
    start_work(20);
    return unused;
}

static int surroundings(const char *self)
{
    char folder[] = "/tmp/fathom-starts-XXXXXX";
    pthread_t thread;
    pid_t pid;

    setvbuf(stdout, NULL, _IONBF, 0);
    start_work(20);
    closefrom(3);
    files();
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    start_work(10);
    printf("system %x\n", (unsigned)system("exit 5"));
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4, 4 });
    WAY(vfork, execl(self, self, "work", "10", (char *)NULL));
    setrlimit(RLIMIT_NPROC, &(struct rlimit){ 10000, 10000 });
    /* With a limit, the program itself may have no room for its stack. */
    if (setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }) == 0)
        mlockall(MCL_CURRENT | MCL_FUTURE);
    pthread_create(&thread, NULL, lock_stack, NULL);
    pthread_join(thread, NULL);
    munlockall();
    setrlimit(RLIMIT_AS, &(struct rlimit){ 400 << 20, 400 << 20 });
    printf("%s\n", malloc(500 << 20) ? "memory" : strerror(errno));
    WAY(fork, execl(self, self, "work", "10", (char *)NULL));
    pid = fork();
    if (pid == 0) {
        setsid();
        start_work(10);
        if (mkdtemp(folder) && chroot(folder) == 0) {
            execl("/bin/true", "true", (char *)NULL);
            start_work(10);
        }
        rmdir(folder);
        _exit(3);
    }
    report("chroot", pid);
    pid = fork();
    if (pid == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(4);
        start_work(20);
        execl(self, self, "work", "10", (char *)NULL);
        _exit(4);
    }
    report("setuid", pid);
    pid = fork();
    if (pid == 0) {
        int pipes[2];
        char c;

        setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4, 4 });
        if (pipe(pipes) == 0)
            _exit(1);
        if (daemon(1, 1) < 0)
            _exit(1);
        start_work(20);
        printf("daemon\n");
        _exit(read(0, &c, 1) < 0);
    }
    report("daemon", pid);
    return 0;
}

static void *end_thread(void *how)
{
    start_work(10);
    exit(*(int *)how);
}

static void at_exit(void)
{
    puts("at exit");
    fflush(stdout);
}

static int ends(const char *how)
{
    static int status = 7;
    pthread_t thread;

    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    atexit(at_exit);
    at_quick_exit(at_exit);
    start_work(20);
    if (strcmp(how, "_exit") == 0)
        _exit(status);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(status);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "thread") == 0) {
        pthread_create(&thread, NULL, end_thread, &status);
        for (;;)
            keep++;
    }
    if (strcmp(how, "main") == 0) {
        pthread_create(&thread, NULL, end_thread, &status);
        pthread_exit(NULL);
    }
    if (atoi(how))
        kill(getpid(), atoi(how));
    return status;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 10;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(mode, "execs") == 0)
        return execs(argv[0], n);
    if (strcmp(mode, "see") == 0)
        return see(argc, argv);
    if (strcmp(mode, "forks") == 0)
        return forks(n);
    if (strcmp(mode, "threads") == 0)
        return threads(n);
    if (strcmp(mode, "cancel") == 0)
        return cancel(n);
    if (strcmp(mode, "libraries") == 0)
        return libraries(n);
    if (strcmp(mode, "surroundings") == 0)
        return surroundings(argv[0]);
    if (strcmp(mode, "ends") == 0)
        return ends(argv[2]);
    if (strcmp(mode, "ways") == 0)
        ways(argv[0]);
    else
        start_work(n);
    return 0;
}
