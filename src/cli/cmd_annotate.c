/* cmd_annotate.c - show the cost of source lines and instructions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/annotate.h"
#include "cli/command.h"
#include "cli/filters.h"
#include "cli/input.h"
#include "profile/limits.h"
#include "formats/formats.h"

struct annotate_args {
    struct filters filters;
    uint64_t functions;        /* UINT64_MAX: not given */
    double share_pct;          /* negative: not given */
    double min_pct;
    bool no_code, all_code, json, csv;
};

static const struct option annotate_options[] = {
    { OPT_U64, 'n', "functions", offsetof(struct annotate_args, functions), "N",
      "without FUNCTION: list at most N functions (default: 10)" },
    { OPT_DOUBLE, 0, "share", offsetof(struct annotate_args, share_pct), "PCT",
      "without FUNCTION: list functions up to PCT percent of the cost (default: 80)" },
    { OPT_FLAG, 0, "no-code", offsetof(struct annotate_args, no_code), NULL,
      "show source lines only" },
    { OPT_FLAG, 0, "all-code", offsetof(struct annotate_args, all_code), NULL,
      "show every instruction of a hot line" },
    { OPT_DOUBLE, 0, "min", offsetof(struct annotate_args, min_pct), "PCT",
      "show code and inlined calls of at least PCT percent of the cost (default: 1)" },
    { OPT_FLAG, 'j', "json", offsetof(struct annotate_args, json), NULL, "print JSON" },
    { OPT_FLAG, 0, "csv", offsetof(struct annotate_args, csv), NULL,
      "print comma-separated values" },
    { 0 },
};

static void print_result(const struct an_annotate *a, enum result_form form, struct out *o)
{
    struct result r;

    result_init(&r);
    an_annotate_result(a, &r);
    result_print(&r, form, o, NULL);
    result_release(&r);
}

static int annotate(const struct annotate_args *args, struct profile *p, const char *name,
                    struct err *e)
{
    const struct an_annotate_query q = {
        .name = name,
        .functions = args->functions == UINT64_MAX ? 10 : args->functions,
        .share_pct = args->share_pct < 0 ? 80 : args->share_pct,
        .min_pct = args->min_pct,
        .code = !args->no_code,
        .all_code = args->all_code,
    };
    struct out o = out_fd(STDOUT_FILENO);
    struct an_annotate a;
    struct an_view v;
    int rc;

    o.limit = LIMIT_EXPORT_BYTES;
    if (filters_apply(&args->filters, p, AN_VIEW_PLAIN, &v, e) < 0)
        return -1;
    rc = an_annotate_build(&a, p, &v, &q, e);
    if (rc == 0 && (args->json || args->csv))
        print_result(&a, args->json ? RESULT_AS_JSON : RESULT_AS_CSV, &o);
    else if (rc == 0)
        annotate_text(&a, &o, STDOUT_FILENO);
    if (out_close(&o, e) < 0)
        rc = -1;
    an_annotate_release(&a);
    an_view_release(&v);
    return rc;
}

static bool is_file(const char *path)
{
    struct stat st;

    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISDIR(st.st_mode));
}

/* Return the number of operands that are profiles.  The last operand is a function or source file
 * unless it is a profile.  A single operand that is a file counts as a profile, so that opening
 * it reports what is wrong with it.  With a command to record, one operand is always a function
 * or source file. */
static int count_profiles(const struct opts_rest *rest)
{
    const char *last = rest->n ? rest->v[rest->n - 1] : "";

    if (!rest->n || (rest->n == 1 ? is_file(last) : format_knows(last)))
        return rest->command && rest->n == 1 ? 0 : rest->n;
    return rest->n - 1;
}

/* Reject options that exclude each other or would have no effect. */
static int check(const struct annotate_args *a, const char *name, struct err *e)
{
    if (a->json && a->csv)
        return err_set(e, ERR_USAGE, "--json and --csv cannot be combined");
    if (a->no_code && a->all_code)
        return err_set(e, ERR_USAGE, "--no-code and --all-code cannot be combined");
    if (name && (a->functions != UINT64_MAX || a->share_pct >= 0))
        return err_set(e, ERR_USAGE, "-n and --share are for a list without a name");
    return 0;
}

static int annotate_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct annotate_args *a = args;
    struct opts_rest input = *rest;
    const char *name;
    struct profile *p;
    int rc;

    input.n = count_profiles(rest);
    name = input.n < rest->n ? rest->v[rest->n - 1] : NULL;
    if (check(a, name, e) < 0)
        return -1;
    p = input_open(&input, e);
    rc = p ? annotate(a, p, name, e) : -1;
    profile_free(p);
    return rc;
}

static const struct opts_table tables[] = {
    { annotate_options, 0 },
    { filters_options, offsetof(struct annotate_args, filters) },
    { 0 },
};
static const struct annotate_args defaults = {
    .functions = UINT64_MAX, .share_pct = -1, .min_pct = 1
};

const struct command cmd_annotate = {
    .name = "annotate",
    .summary = "show the cost of each source line and instruction",
    .usage = "annotate [options] [FILE...] [FUNCTION | SOURCE FILE]\n"
             "annotate [options] [FUNCTION] -- CMD...",
    .examples = "  fathom annotate                       the hottest functions of profile.fathom\n"
                "  fathom annotate p.fathom parse_line   one function\n"
                "  fathom annotate p.fathom src/lex.c    one source file\n"
                "  fathom annotate -- ./prog             record ./prog, annotate its functions",
    .options = tables,
    .args_size = sizeof(struct annotate_args),
    .defaults = &defaults,
    .run = annotate_run,
};
