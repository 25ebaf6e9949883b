/* ifunc.c - a stripped library with resolvers of its own, whose choices are known.  `work` is bound
 * lazily by the program, `step` by the library for itself; both resolvers choose the second variant.
 * The first variants and `victim` run too, but nobody chose them, although the program says so of
 * `victim`: it writes its address where the linker stored that of `work`.
 * build: libifunc-full.so gcc -O2 -g -shared -fPIC -DLIBRARY -Wl,-soname,libifunc.so -o @OUT@ @IN@
 * build: libifunc.so objcopy -S @DIR@/libifunc-full.so @OUT@
 * build: ifunc gcc -O2 -fPIE -pie -o @OUT@ @IN@ @DIR@/libifunc.so -Wl,-z,lazy -Wl,-Ttext-segment=0x10000 -Wl,-rpath,'$ORIGIN'
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

typedef uint64_t function(long n);
function work, run_steps;
function *get_first_work(void), *get_first_step(void), *get_victim(void);

#ifdef LIBRARY
function step;
/* As in the C library, internal calls do not go through the exported name. */
function step_inside __attribute__((visibility("hidden"), ifunc("choose_step")));

#define FUNCTION(name, a, b)                                    \
    static __attribute__((noinline)) uint64_t name(long n)      \
    {                                                           \
        uint64_t x = 88172645463325252u;                        \
                                                                \
        for (long i = 0; i < n; i++) {                          \
            x ^= x << (a);                                      \
            x ^= x >> (b);                                      \
        }                                                       \
        return x;                                               \
    }
FUNCTION(work_one, 13, 7)
FUNCTION(work_two, 7, 9)
FUNCTION(step_one, 11, 5)
FUNCTION(step_two, 5, 19)
FUNCTION(victim, 3, 21)

static volatile int second = 1;

#define RESOLVER(name, one, two)                                \
    static function *choose_##name(void)                        \
    {                                                           \
        return second ? (two) : (one);                          \
    }                                                           \
    uint64_t name(long n) __attribute__((ifunc("choose_" #name)));
RESOLVER(work, work_one, work_two)
RESOLVER(step, step_one, step_two)

uint64_t run_steps(long n)
{
    return step_inside(n);
}

function *get_first_work(void)
{
    return work_one;
}

function *get_first_step(void)
{
    return step_one;
}

function *get_victim(void)
{
    return victim;
}
#else
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static function *volatile bound = work; /* a slot that the program can change */

/* ifunc ROUNDS: wait for the end of the input, work, print a line, and wait for a signal other than
 * SIGINT. */
int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    uint64_t x = 0;

    signal(SIGINT, SIG_IGN);
    bound = get_victim();
    while (getchar() != EOF)
        ;
    for (long i = 0; i < rounds; i++) {
        x += work(200000) + run_steps(200000);
        x += get_first_work()(200000) + get_first_step()(200000) + bound(200000);
    }
    printf("%lu\n", (unsigned long)x);
    fflush(stdout);
    for (;;)
        pause();
}
#endif
