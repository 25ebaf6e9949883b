/* mem.h - allocation that does not fail, an arena, a growable array.  For tool code only; never
 * call it inside a profiled program.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_MEM_H
#define FATHOM_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Called when an allocation fails; must not return.  The core does not define it: each program that
 * links the core does.  The tool prints a message and exits (cli/mem_failed.c); a host that must
 * survive, such as an extension module, uses longjmp to leave the core. */
_Noreturn void mem_failed(size_t bytes);

void *mem_alloc(size_t n);                 /* uninitialized */
void *mem_try_alloc(size_t n);             /* NULL when it fails: for sizes taken from input */
void *mem_zalloc(size_t n);                /* zeroed */
void *mem_realloc(void *p, size_t n);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Everything allocated from an arena lives until arena_release.  Start from {0}. */
struct arena {
    struct arena_block *last;
    char *at, *end;
    size_t used; /* bytes handed out */
};
void *arena_alloc(struct arena *a, size_t n); /* 16-aligned, uninitialized */
void *arena_try_alloc(struct arena *a, size_t n); /* NULL when it fails */
void *arena_zalloc(struct arena *a, size_t n);
char *arena_strndup(struct arena *a, const char *s, size_t n);
void arena_release(struct arena *a); /* back to {0} */

/* VEC(int) xs = {0}; *vec_add(&xs) = 3; xs.v[0]; vec_release(&xs) */
#define VEC(type)     \
    struct {          \
        type *v;      \
        size_t n, cap; \
    }
void *vec_grow_(void *v, size_t *cap, size_t need, size_t item);
#define vec_reserve(x, count)                                                           \
    ((x)->cap < (count)                                                                 \
         ? (void)((x)->v = vec_grow_((x)->v, &(x)->cap, (count), sizeof *(x)->v))       \
         : (void)0)
#define vec_add(x) (vec_reserve((x), (x)->n + 1), &(x)->v[(x)->n++])
#define vec_push(x, value) (*vec_add(x) = (value))
#define vec_clear(x) ((x)->n = 0)
#define vec_release(x) (free((x)->v), (x)->v = NULL, (x)->n = (x)->cap = 0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
