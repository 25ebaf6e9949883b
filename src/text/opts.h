/* opts.h - a command's options are a table; the parser, -h, the documentation test and shell
 * completion all read it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_OPTS_H
#define FATHOM_TEXT_OPTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "text/out.h"

enum option_type {
    OPT_FLAG,     /* bool: set true */
    OPT_STR,      /* const char * into argv */
    OPT_OPT_STR,  /* const char *; the value may be missing ("" then): -gfp, -g, --call-graph=fp */
    OPT_LIST,     /* struct opt_list: repeatable */
    OPT_U64,      /* uint64_t; k, M, G suffixes allowed */
    OPT_DOUBLE,   /* double; a trailing % is allowed */
    OPT_SECONDS,  /* double seconds; ms, s, m suffixes */
};

enum { OPT_LIST_MAX = 32 };
struct opt_list {
    const char *v[OPT_LIST_MAX];
    size_t n;
};

struct option {
    enum option_type type;
    char letter;        /* 0 when none */
    const char *name;   /* long name without dashes; NULL ends the table */
    size_t offset;      /* into the command's argument struct */
    const char *value;  /* name of the value for help, NULL for flags */
    const char *help;
};

struct opts_rest { /* arguments that are not options */
    char **v;
    int n;          /* operands before "--" */
    char **command; /* after "--": NULL-terminated, or NULL */
};

/* Parse ARGV[1..ARGC) into ARGS by the tables in TABLES (NULL-terminated list; a table may be
 * shared by commands and applies to the same struct through its offset plus BASES[i]).
 * STOP_AT_OPERAND: the first operand begins the command, as for record.  Reorders ARGV. */
struct opts_table {
    const struct option *options;
    size_t base;
};
int opts_parse(int argc, char **argv, const struct opts_table *tables, void *args,
               int stop_at_operand, struct opts_rest *rest, struct err *e);
void opts_help(const struct opts_table *tables, struct out *o);

#endif
