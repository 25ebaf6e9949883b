/* opts.c - see opts.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/opts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/nearest.h"

static bool takes_value(const struct option *o)
{
    return o->type != OPT_FLAG;
}

static const struct option *find(const struct opts_table *t, const char *name, size_t n,
                                 char letter, size_t *base)
{
    for (; t->options; t++)
        for (const struct option *o = t->options; o->name; o++)
            if (name ? strlen(o->name) == n && memcmp(o->name, name, n) == 0
                     : o->letter && o->letter == letter) {
                *base = t->base;
                return o;
            }
    return NULL;
}

/* The only option whose name begins with the N bytes of NAME: perf's --freq is --frequency. */
static const struct option *find_beginning(const struct opts_table *t, const char *name, size_t n,
                                           size_t *base)
{
    const struct option *found = NULL;

    for (; t->options; t++)
        for (const struct option *o = t->options; o->name; o++) {
            if (strncmp(o->name, name, n) != 0)
                continue;
            if (found)
                return NULL;
            found = o;
            *base = t->base;
        }
    return found;
}

static int bad_value(const struct option *o, const char *value, struct err *e)
{
    return err_set(e, ERR_USAGE, "--%s: \"%s\" is not a %s", o->name, value,
                   o->type == OPT_U64       ? "whole number"
                   : o->type == OPT_SECONDS ? "time in seconds"
                                            : "number");
}

static int set_number(const struct option *o, void *at, const char *value, struct err *e)
{
    char *end;
    double x = strtod(value, &end);

    if (end == value || !(x >= 0))
        return bad_value(o, value, e);
    if (o->type == OPT_U64 && *end && strchr("kKMG", *end)) {
        x *= *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1e3;
        end++;
    } else if (o->type == OPT_SECONDS && strcmp(end, "ms") == 0) {
        x /= 1000;
        end += 2;
    } else if (o->type == OPT_SECONDS && (*end == 's' || *end == 'm')) {
        x *= *end == 'm' ? 60 : 1;
        end++;
    } else if (o->type == OPT_DOUBLE && *end == '%') {
        end++;
    }
    if (*end)
        return bad_value(o, value, e);
    if (x > (o->type == OPT_SECONDS ? 1e9 : 1e18)) /* so that nanoseconds fit in 64 bits */
        return err_set(e, ERR_USAGE, "--%s: \"%s\" is too large", o->name, value);
    if (o->type == OPT_U64 && x != (double)(uint64_t)x)
        return bad_value(o, value, e);
    if (o->type == OPT_U64)
        *(uint64_t *)at = (uint64_t)x;
    else
        *(double *)at = x;
    return 0;
}

static int set(const struct option *o, void *at, const char *value, struct err *e)
{
    struct opt_list *list = at;

    switch (o->type) {
    case OPT_FLAG:
        *(bool *)at = true;
        return 0;
    case OPT_STR:
    case OPT_OPT_STR:
        *(const char **)at = value;
        return 0;
    case OPT_LIST:
        if (list->n == OPT_LIST_MAX)
            return err_set(e, ERR_USAGE, "--%s: given more than %d times", o->name, OPT_LIST_MAX);
        list->v[list->n++] = value;
        return 0;
    default:
        return set_number(o, at, value, e);
    }
}

struct walk {
    char **argv;
    int argc, i;
    const struct opts_table *tables;
    char *args;
    struct err *e;
};

static int unknown_option(struct walk *w, const char *arg, size_t n)
{
    struct nearest near = nearest_to(arg, n);

    for (const struct opts_table *t = w->tables; t->options; t++)
        for (const struct option *o = t->options; o->name; o++)
            nearest_offer(&near, o->name);
    err_set(w->e, ERR_USAGE, "unknown option --%.*s", (int)n, arg);
    if (near.best)
        err_hint(w->e, "did you mean --%s?", near.best);
    return -1;
}

static int parse_long(struct walk *w, const char *arg)
{
    const char *eq = strchr(arg, '='), *value = eq ? eq + 1 : NULL;
    size_t n = eq ? (size_t)(eq - arg) : strlen(arg), base = 0;
    const struct option *o = find(w->tables, arg, n, 0, &base);

    if (!o && n)
        o = find_beginning(w->tables, arg, n, &base);
    if (!o)
        return unknown_option(w, arg, n);
    if (!takes_value(o) && value)
        return err_set(w->e, ERR_USAGE, "--%s takes no value", o->name);
    if (takes_value(o) && !value) {
        if (o->type == OPT_OPT_STR)
            value = "";
        else if (w->i + 1 < w->argc)
            value = w->argv[++w->i];
        else
            return err_set(w->e, ERR_USAGE, "--%s needs a value", o->name);
    }
    return set(o, w->args + base + o->offset, value, w->e);
}

static int parse_short(struct walk *w, const char *arg)
{
    while (*arg) {
        size_t base = 0;
        const struct option *o = find(w->tables, NULL, 0, *arg, &base);
        const char *value = arg + 1;

        if (!o)
            return err_set(w->e, ERR_USAGE, "unknown option -%c", *arg);
        if (takes_value(o)) {
            if (!*value && o->type != OPT_OPT_STR) {
                if (w->i + 1 >= w->argc)
                    return err_set(w->e, ERR_USAGE, "-%c needs a value", *arg);
                value = w->argv[++w->i];
            }
            return set(o, w->args + base + o->offset, value, w->e);
        }
        if (set(o, w->args + base + o->offset, NULL, w->e) < 0)
            return -1;
        arg++;
    }
    return 0;
}

int opts_parse(int argc, char **argv, const struct opts_table *tables, void *args,
               int stop_at_operand, struct opts_rest *rest, struct err *e)
{
    struct walk w = { argv, argc, 1, tables, args, e };

    *rest = (struct opts_rest){ .v = argv + 1 };
    for (; w.i < argc; w.i++) {
        char *arg = argv[w.i];
        int rc = 0;

        if (strcmp(arg, "--") == 0) {
            rest->command = argv + w.i + 1;
            return 0;
        }
        if (arg[0] == '-' && arg[1] == '-')
            rc = parse_long(&w, arg + 2);
        else if (arg[0] == '-' && arg[1])
            rc = parse_short(&w, arg + 1);
        else if (stop_at_operand) {
            rest->command = argv + w.i;
            return 0;
        } else
            rest->v[rest->n++] = arg;
        if (rc < 0)
            return -1;
    }
    return 0;
}

void opts_help(const struct opts_table *tables, struct out *o)
{
    char left[64];

    for (const struct opts_table *t = tables; t->options; t++)
        for (const struct option *p = t->options; p->name; p++) {
            const char *gap = !p->value ? "" : p->type == OPT_OPT_STR ? "[=" : " ";

            if (p->letter)
                snprintf(left, sizeof left, "-%c, --%s%s%s%s", p->letter, p->name, gap,
                         p->value ? p->value : "", *gap == '[' ? "]" : "");
            else
                snprintf(left, sizeof left, "    --%s%s%s%s", p->name, gap,
                         p->value ? p->value : "", *gap == '[' ? "]" : "");
            out_printf(o, "  %-28s %s\n", left, p->help);
        }
}
