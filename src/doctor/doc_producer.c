/* doc_producer.c - the compiler's record of the build: GCC writes its options into DW_AT_producer
 * of each unit; clang writes only its version by default.  SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doc_build.h"
#include "symbol/sym_dwarf_file.h"

enum { UNITS_MOST = 20000, KINDS = 16 };

/* Counts of distinct strings; only the first KINDS are kept. */
struct tally {
    char text[KINDS][96];
    size_t count[KINDS], n;
};

static void count(struct tally *t, const char *text, size_t len)
{
    size_t i = 0;

    if (len >= sizeof t->text[0])
        len = sizeof t->text[0] - 1;
    while (i < t->n && (strlen(t->text[i]) != len || memcmp(t->text[i], text, len) != 0))
        i++;
    if (i == KINDS)
        return;
    if (i == t->n) {
        memcpy(t->text[i], text, len);
        t->n++;
    }
    t->count[i]++;
}

static void most(const struct tally *t, char *text, size_t cap)
{
    size_t best = 0;

    for (size_t i = 1; i < t->n; i++)
        if (t->count[i] > t->count[best])
            best = i;
    snprintf(text, cap, "%s", t->n ? t->text[best] : "");
}

static const char *word_end(const char *at)
{
    return at + strcspn(at, " ");
}

/* The last word that begins with PREFIX, because later options win; NULL if there is none. */
static const char *last_word(const char *text, const char *prefix)
{
    const char *found = NULL;

    for (const char *at = text; (at = strstr(at, prefix)); at++)
        if (at == text || at[-1] == ' ')
            found = at;
    return found;
}

struct tallies {
    struct tally compiler, level, march;
};

static bool has_option(const char *text, const char *option)
{
    const char *at = last_word(text, option);

    return at && (size_t)(word_end(at) - at) == strlen(option);
}

static void take_options(struct doc_producer *p, struct tallies *t, const char *text)
{
    const char *level = last_word(text, "-O"), *march = last_word(text, "-march=");
    const char *keep = last_word(text, "-fno-omit-frame-pointer");
    const char *omit = last_word(text, "-fomit-frame-pointer");

    if (level) {
        p->with_level++;
        p->optimized += level[2] != '0' && level[2] != ' ' && level[2];
        count(&t->level, level, (size_t)(word_end(level) - level));
    } else if (strncmp(text, "GNU ", 4) == 0 && strncmp(text, "GNU AS", 6) != 0) {
        p->with_level++; /* GCC records the level unless it is the default */
        count(&t->level, "-O0", 3);
    }
    if (march)
        count(&t->march, march, (size_t)(word_end(march) - march));
    p->lto |= last_word(text, "-flto") != NULL || strstr(text, "GNU GIMPLE") != NULL;
    p->pg |= has_option(text, "-pg") || has_option(text, "-p") ||
             has_option(text, "-finstrument-functions");
    p->sanitized |= last_word(text, "-fsanitize=") != NULL;
    p->keeps_frame_pointer |= keep && (!omit || keep > omit);
}

/* Shorten "GNU C17 12.2.0 -O2 ..." to "GNU C17 12.2.0". */
static void take_unit(struct doc_producer *p, struct tallies *t, Dwarf_Die *die)
{
    Dwarf_Attribute a;
    const char *text = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_producer, &a));
    const char *options;

    if (!text || strncmp(text, "GNU AS", 6) == 0)
        return;
    p->units++;
    options = strstr(text, " -");
    count(&t->compiler, text, options ? (size_t)(options - text) : strlen(text));
    take_options(p, t, text);
}

void doc_producer_read(struct doc_producer *p, struct sym_module *m, struct sym_image *debug)
{
    struct tallies *t = mem_zalloc(sizeof *t);
    struct sym_dwarf_file file;
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    uint8_t type;

    *p = (struct doc_producer){ 0 };
    sym_dwarf_file_open(&file, m, debug, debug->elf);
    for (int i = 0; file.dwarf && i < UNITS_MOST; i++) {
        if (dwarf_get_units(file.dwarf, cu, &cu, NULL, &type, NULL, NULL) != 0)
            break;
        if ((type == DW_UT_compile || type == DW_UT_skeleton) &&
            sym_dwarf_file_unit(&file, cu, &die, &split))
            take_unit(p, t, &die);
    }
    most(&t->compiler, p->compiler, sizeof p->compiler);
    most(&t->level, p->level, sizeof p->level);
    most(&t->march, p->march, sizeof p->march);
    free(t);
    sym_dwarf_file_close(&file);
}
