/* col_room.c - see col_room.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_room.h"

#include <string.h>
#include <unistd.h>

#include "collect/col_words.h"

enum { ALIGNMENT = 16, MOST = 512, PAGE = 4096 };

/* Where the segment of O ends that contains its code; 0: it is not the only one there. */
static uint64_t end_of_code(const struct col_object *o)
{
    uint64_t end = 0;

    for (size_t i = 0; i < o->elf.n_segments; i++) {
        const struct elf_segment *s = &o->elf.segment[i];

        if (s->exec && s->address + o->bias >= o->start && s->address + o->bias < o->end)
            end = s->address + s->memory_size + o->bias;
    }
    for (size_t i = 0; i < o->elf.n_segments && end; i++) {
        uint64_t start = o->elf.segment[i].address + o->bias;

        if (start >= end && start < o->end)
            return 0;
    }
    return end;
}

/* The bytes are what the file has there, or zeros, or CODE. */
static bool is_unused(const struct col_image *m, const struct col_object *o, uint64_t at,
                      const void *code, size_t n)
{
    const struct col_area *a = col_image_area(m, at);
    unsigned char file[MOST] = { 0 };
    const unsigned char *now;
    ssize_t got;

    /* A shared mapping would pass our code on to its file. */
    if (!a || a->prot[3] != 'p' || at + n > a->end || col_words_bytes(m->pid, at, n, &now) < n)
        return false;
    got = pread(o->fd, file, n, (off_t)(at - a->start + a->file_offset));
    return got >= 0 && (memcmp(now, file, n) == 0 || memcmp(now, code, n) == 0);
}

uint64_t col_room_find(const struct col_image *m, const void *code, size_t n)
{
    for (size_t i = 0; i < m->object.n && n <= MOST; i++) {
        const struct col_object *o = &m->object.v[i];
        uint64_t end = end_of_code(o), at = (end + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);

        if (end && o->end - end < PAGE && at + n <= o->end && is_unused(m, o, at, code, n))
            return at;
    }
    return 0;
}
