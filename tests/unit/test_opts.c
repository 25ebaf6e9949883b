/* test_opts.c - parse options by a table.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdbool.h>
#include <stddef.h>

#include "text/opts.h"

struct arguments {
    bool quiet;
    const char *name, *graph;
    struct opt_list only;
    uint64_t count;
    double share, wait;
};

static const struct option options[] = {
    { OPT_FLAG, 'q', "quiet", offsetof(struct arguments, quiet), NULL, "say less" },
    { OPT_STR, 'n', "name", offsetof(struct arguments, name), "NAME", "its name" },
    { OPT_OPT_STR, 'g', "graph", offsetof(struct arguments, graph), "HOW", "call graphs" },
    { OPT_LIST, 0, "only", offsetof(struct arguments, only), "WORD", "only these" },
    { OPT_U64, 'c', "count", offsetof(struct arguments, count), "N", "how many" },
    { OPT_DOUBLE, 0, "share", offsetof(struct arguments, share), "PCT", "the least share" },
    { OPT_SECONDS, 0, "wait", offsetof(struct arguments, wait), "SECONDS", "wait first" },
    { 0 },
};

static const struct opts_table tables[] = { { options, 0 }, { 0 } };

struct parsed {
    struct arguments args;
    struct opts_rest rest;
    struct err e;
    int rc;
    char text[400];
    char *argv[80];
};

/* Split LINE at spaces and parse it. */
static struct parsed *parse(const char *line, int stop)
{
    struct parsed *p = calloc(1, sizeof *p);
    int argc = 1;

    p->argv[0] = "test";
    snprintf(p->text, sizeof p->text, "%s", line);
    for (char *s = strtok(p->text, " "); s; s = strtok(NULL, " "))
        p->argv[argc++] = s;
    p->rc = opts_parse(argc, p->argv, tables, &p->args, stop, &p->rest, &p->e);
    return p;
}

TEST(opts_are_read_in_long_and_short_form)
{
    struct parsed *p = parse("-qn me file --only=a --only b -gfp -c2k other -- cmd -q", 0);

    CHECK_EQ(p->rc, 0);
    CHECK(p->args.quiet);
    CHECK_STR(p->args.name, "me");
    CHECK_STR(p->args.graph, "fp");
    CHECK_EQ(p->args.only.n, 2);
    CHECK_STR(p->args.only.v[1], "b");
    CHECK_EQ(p->args.count, 2000);
    CHECK_EQ(p->rest.n, 2);
    CHECK_STR(p->rest.v[1], "other");
    CHECK_STR(p->rest.command[0], "cmd");
    CHECK_STR(p->rest.command[1], "-q");
    free(p);
}

TEST(opts_stop_at_the_command)
{
    struct parsed *p = parse("-g cmd -q", 1);

    CHECK_EQ(p->rc, 0);
    CHECK_STR(p->args.graph, "");
    CHECK_STR(p->rest.command[0], "cmd");
    CHECK(!p->args.quiet);
    free(p);
}

static double seconds(const char *text)
{
    char line[60];
    struct parsed *p;
    double x;

    snprintf(line, sizeof line, "--wait %s", text);
    p = parse(line, 0);
    CHECK_EQ(p->rc, 0);
    x = p->args.wait;
    free(p);
    return x;
}

static uint64_t count(const char *text)
{
    char line[60];
    struct parsed *p;
    uint64_t x;

    snprintf(line, sizeof line, "--count=%s", text);
    p = parse(line, 0);
    CHECK_EQ(p->rc, 0);
    x = p->args.count;
    free(p);
    return x;
}

TEST(opts_numbers_have_units)
{
    struct parsed *p = parse("--share 2.5%", 0);

    CHECK(p->rc == 0 && p->args.share == 2.5);
    free(p);
    CHECK(seconds("1.5") == 1.5);
    CHECK(seconds("2s") == 2);
    CHECK(seconds("3m") == 180);
    CHECK(seconds("250ms") == 0.25);
    CHECK_EQ(count("7"), 7);
    CHECK_EQ(count("7K"), 7000);
    CHECK_EQ(count("1.5M"), 1500000);
    CHECK_EQ(count("3G"), 3000000000);
}

static void check_refused(const char *line, const char *about)
{
    struct parsed *p = parse(line, 0);

    CHECK_EQ(p->rc, -1);
    CHECK_EQ(p->e.code, ERR_USAGE);
    CHECK(strstr(p->e.msg, about));
    free(p);
}

TEST(opts_refuse_invalid_values)
{
    char many[400] = "";

    check_refused("--count 1.5", "--count");
    check_refused("--count -1", "--count");
    check_refused("--count 3x", "--count");
    check_refused("--wait -1", "--wait");
    check_refused("--share 5ms", "--share");
    check_refused("--wait soon", "--wait");
    check_refused("--quiet=yes", "--quiet");
    check_refused("--name", "--name");
    check_refused("-n", "-n");
    check_refused("-x", "-x");
    for (int i = 0; i <= OPT_LIST_MAX; i++)
        strncat(many, "--only x ", sizeof many - strlen(many) - 1);
    check_refused(many, "--only");
}

TEST(opts_refuse_numbers_that_do_not_fit_in_64_bits)
{
    check_refused("--count 1e10G", "--count: \"1e10G\" is too large");
    check_refused("--count inf", "too large");
    check_refused("--count nan", "not a whole number");
    check_refused("--wait 1e8m", "too large"); /* in nanoseconds */
    check_refused("--wait 1e10", "too large");
    check_refused("--wait nan", "not a time in seconds");
    check_refused("--share 1e300", "too large");
    CHECK_EQ(count("1e9G"), 1000000000000000000);
    CHECK(seconds("1e9") == 1e9);
}

TEST(opts_accept_unambiguous_abbreviations)
{
    struct parsed *p = parse("--na me --gr --sha 1", 0);

    CHECK_EQ(p->rc, 0);
    CHECK_STR(p->args.name, "me");
    CHECK(p->args.share == 1);
    free(p);
    p = parse("--qiet", 0);
    CHECK_EQ(p->rc, -1);
    CHECK(strstr(p->e.hint, "--quiet"));
    free(p);
}

static const struct option alike[] = {
    { OPT_FLAG, 0, "color", 0, NULL, "colors" }, { OPT_FLAG, 0, "column", 0, NULL, "columns" },
    { 0 },
};

TEST(opts_refuse_ambiguous_abbreviations)
{
    char *argv[] = { "test", "--col", NULL };
    struct opts_table both[] = { { alike, 0 }, { 0 } };
    struct opts_rest rest;
    struct err e = { 0 };
    bool flag = false;

    CHECK_EQ(opts_parse(2, argv, both, &flag, 0, &rest, &e), -1);
    CHECK(!flag);
}
