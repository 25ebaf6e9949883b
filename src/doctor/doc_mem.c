/* doc_mem.c - CPU and memory latencies, measured with dependency chains, so that nothing overlaps.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "doctor/doc_measure.h"

enum { LINE = 64, PAGE = 4096 };

/* Make the compiler assume that X is changed and used. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* A dependent addition of two registers takes one cycle.  Recent CPUs add constants in no time,
 * while they rename registers. */
double doc_mem_cycle(char *note)
{
    enum { STEPS = 1000000 };
    uint64_t x = 1, y = 3, start;

    OPAQUE(y);
    start = clock_mono_ns();
    for (int i = 0; i < STEPS; i += 16) {
        x += y; OPAQUE(x); x += y; OPAQUE(x); x += y; OPAQUE(x); x += y; OPAQUE(x);
        x += y; OPAQUE(x); x += y; OPAQUE(x); x += y; OPAQUE(x); x += y; OPAQUE(x);
        x += y; OPAQUE(x); x += y; OPAQUE(x); x += y; OPAQUE(x); x += y; OPAQUE(x);
        x += y; OPAQUE(x); x += y; OPAQUE(x); x += y; OPAQUE(x); x += y; OPAQUE(x);
    }
    double ns = (double)(clock_mono_ns() - start) / STEPS;

    snprintf(note, DOC_NOTE, "%.2f GHz", 1 / ns);
    return ns;
}

struct chase {
    char *memory;
    size_t bytes, places;
    void **first;
};

/* A ring through PLACES lines in random order; the lines are STRIDE apart, and shifted within
 * their page so that they do not all fall into one set of the cache. */
static bool chase_open(struct chase *c, size_t places, size_t stride, bool huge)
{
    uint32_t *order = mem_alloc(places * sizeof *order);
    uint64_t seed = 88172645463325252u;

    c->places = places;
    c->bytes = places * stride + PAGE;
    c->memory = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c->memory == MAP_FAILED) {
        free(order);
        return false;
    }
    madvise(c->memory, c->bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (uint32_t i = 0; i < places; i++)
        order[i] = i;
    for (size_t i = places - 1; i > 0; i--) {
        size_t k = next_random(&seed) % (i + 1);
        uint32_t t = order[i];

        order[i] = order[k];
        order[k] = t;
    }
#define PLACE(i) (void **)(c->memory + (size_t)(i) * stride + \
                           (stride >= PAGE ? (size_t)(i) % (PAGE / LINE) * LINE : 0))
    for (size_t i = 0; i < places; i++)
        *PLACE(order[i]) = PLACE(order[(i + 1) % places]);
    c->first = PLACE(order[0]);
#undef PLACE
    free(order);
    return true;
}

static double chase_run(struct chase *c, size_t steps)
{
    void **at = c->first;
    uint64_t start;

    for (size_t i = 0; i < c->places && i < steps; i++)
        at = *at;
    start = clock_mono_ns();
    for (size_t i = 0; i < steps; i += 8) {
        at = *at; at = *at; at = *at; at = *at;
        at = *at; at = *at; at = *at; at = *at;
    }
    OPAQUE(at);
    return (double)(clock_mono_ns() - start) / (double)steps;
}

static double chase_once(size_t places, size_t stride, bool huge, size_t steps)
{
    struct chase c;
    double ns;

    if (!chase_open(&c, places, stride, huge))
        return NAN;
    ns = chase_run(&c, steps);
    munmap(c.memory, c.bytes);
    return ns;
}

/* Size of the data cache of LEVEL in bytes, 0 when unknown. */
static size_t cache_bytes(int level)
{
    for (int i = 0; i < 8; i++) {
        char path[96], text[32];
        char *end;
        size_t size;

        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (map_read_int(path, -1) != level)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (map_read_text(path, text, sizeof text) < 0 || strcmp(text, "Instruction") == 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (map_read_text(path, text, sizeof text) < 0)
            continue;
        size = strtoul(text, &end, 10);
        return size << (*end == 'K' ? 10 : *end == 'M' ? 20 : 0);
    }
    return 0;
}

/* Use a quarter of LEVEL (half of L1), but at least twice the size of the level below. */
static double cache_latency(int level, size_t otherwise, size_t steps, char *note)
{
    size_t size = cache_bytes(level), below = level > 1 ? cache_bytes(level - 1) : 0, use;

    if (level > 1 && !size && otherwise == 0) {
        snprintf(note, DOC_NOTE, "the kernel does not report this cache");
        return NAN;
    }
    use = (size ? size : otherwise) / (level == 1 ? 2 : 4);
    if (use < 2 * below)
        use = 2 * below;
    snprintf(note, DOC_NOTE, "%zu KB of %zu KB", use >> 10, (size ? size : otherwise) >> 10);
    return chase_once(use / LINE, LINE, true, steps);
}

double doc_mem_l1(char *note)
{
    return cache_latency(1, 32 << 10, 2000000, note);
}

double doc_mem_l2(char *note)
{
    return cache_latency(2, 256 << 10, 1000000, note);
}

double doc_mem_l3(char *note)
{
    return cache_latency(3, 0, 500000, note);
}

double doc_mem_dram(char *note)
{
    size_t last = cache_bytes(3), bytes = 4 * (last ? last : 8 << 20);
    size_t there = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);

    if (bytes < 64 << 20)
        bytes = 64 << 20;
    if (bytes > 512u << 20)
        bytes = 512u << 20;
    if (bytes > there / 4) {
        snprintf(note, DOC_NOTE, "not enough free memory");
        return NAN;
    }
    snprintf(note, DOC_NOTE, "%zu MB in random order, large pages if available",
             bytes >> 20);
    return chase_once(bytes / LINE, LINE, true, 1000000);
}

/* The same number of lines, once a page apart and once side by side; the difference is the address
 * translation. */
double doc_mem_tlb(char *note)
{
    enum { PAGES = 16384, STEPS = 1 << 19 };
    double apart = chase_once(PAGES, PAGE, false, STEPS);
    double dense = chase_once(PAGES, LINE, true, STEPS);

    snprintf(note, DOC_NOTE, "%d pages of 4 KB", PAGES);
    return apart > dense ? apart - dense : NAN;
}

/* Half of the branches on random bits are mispredicted. */
static double branches_ns(const uint8_t *bits, size_t n)
{
    uint64_t a = 0, b = 0, start = clock_mono_ns();

    for (size_t i = 0; i < n; i++) {
        if (bits[i]) {
            a += 3;
            OPAQUE(a);
        } else {
            b += 5;
            OPAQUE(b);
        }
    }
    return (double)(clock_mono_ns() - start) / (double)n;
}

double doc_mem_branch(char *note)
{
    enum { N = 400000 };
    uint8_t *bits = mem_alloc(N);
    uint64_t seed = 0x9e3779b97f4a7c15u;
    double random, steady;

    for (size_t i = 0; i < N; i++)
        bits[i] = next_random(&seed) >> 40 & 1;
    branches_ns(bits, N / 4);
    random = branches_ns(bits, N);
    memset(bits, 1, N);
    branches_ns(bits, N / 4);
    steady = branches_ns(bits, N);
    free(bits);
    snprintf(note, DOC_NOTE, "random minus predictable branches");
    return random > steady ? 2 * (random - steady) : NAN;
}

enum { BANDWIDTH_BYTES = 128 << 20 };

static char *filled(size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    madvise(p, n, MADV_HUGEPAGE);
    memset(p, 1, n);
    return p;
}

double doc_mem_read_gbs(char *note)
{
    uint64_t *p = (uint64_t *)filled(BANDWIDTH_BYTES), start, a = 0, b = 0, c = 0, d = 0;
    double ns;

    if (!p)
        return NAN;
    start = clock_mono_ns();
    for (size_t i = 0; i < BANDWIDTH_BYTES / sizeof *p; i += 4) {
        a += p[i];
        b += p[i + 1];
        c += p[i + 2];
        d += p[i + 3];
    }
    a += b + c + d;
    OPAQUE(a);
    ns = (double)(clock_mono_ns() - start);
    munmap(p, BANDWIDTH_BYTES);
    snprintf(note, DOC_NOTE, "%d MB", BANDWIDTH_BYTES >> 20);
    return BANDWIDTH_BYTES / ns;
}

double doc_mem_copy_gbs(char *note)
{
    char *p = filled(BANDWIDTH_BYTES);
    uint64_t start;
    double ns;

    if (!p)
        return NAN;
    start = clock_mono_ns();
    memcpy(p, p + BANDWIDTH_BYTES / 2, BANDWIDTH_BYTES / 2);
    __asm__ volatile("" : : "r"(p) : "memory");
    ns = (double)(clock_mono_ns() - start);
    munmap(p, BANDWIDTH_BYTES);
    snprintf(note, DOC_NOTE, "%d MB read and written", BANDWIDTH_BYTES >> 21);
    return BANDWIDTH_BYTES / ns; /* half is read, half written */
}
