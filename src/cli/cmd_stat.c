/* cmd_stat.c - measure the time, memory, I/O and counters of a command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/an_stat.h"
#include "cli/command.h"
#include "collect/col_probe.h"
#include "collect/col_stat.h"
#include "cli/output.h"
#include "profile/profile.h"
#include "text/progress.h"

struct stat_args {
    uint64_t runs;
    const char *events, *pin, *output;
    bool json, csv;
};

enum { RUNS_MOST = 100000 };

/* What surrounded the runs, as the meta of a profile. */
static struct profile *facts_of(const struct col_surroundings *around)
{
    struct profile *p = profile_new();

    sink_meta_u64(profile_sink(p), "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    col_surroundings_write(around, profile_sink(p));
    return p;
}

static int run_all(const struct stat_args *a, struct col_stat_options *o, struct usage *runs,
                   struct err *e)
{
    struct progress line;
    int rc = 0;

    progress_init(&line, STDERR_FILENO);
    for (uint64_t i = 0; i < a->runs && rc == 0; i++) {
        if (i)
            progress_show(&line, "run %llu of %llu", (unsigned long long)i + 1,
                          (unsigned long long)a->runs);
        o->is_first = i == 0;
        rc = col_stat_run(o, &runs[i], e);
    }
    progress_clear(&line);
    return rc;
}

static enum result_form form_of(const struct stat_args *a)
{
    return a->json ? RESULT_AS_JSON : a->csv ? RESULT_AS_CSV : RESULT_AS_TEXT;
}

static int print(const struct stat_args *a, const struct an_stat *s, struct err *e)
{
    bool text = form_of(a) == RESULT_AS_TEXT;
    struct output file = { .fd = text ? STDERR_FILENO : STDOUT_FILENO };
    struct result r;
    struct term term;
    struct out o;
    int rc;

    if (a->output && output_open(&file, a->output, SAVE_SHARED, e) < 0)
        return -1;
    o = out_fd(file.fd);
    term = term_of(file.fd);
    result_init(&r);
    an_stat_result(s, &r);
    result_print(&r, form_of(a), &o, &term);
    result_release(&r);
    rc = out_close(&o, e);
    return output_close(&file, rc == 0, e);
}

/* Return the exit status of the last run that failed, for scripts. */
static int last_failure(const struct an_stat *s)
{
    for (size_t i = s->runs; i > 0; i--)
        if (s->run[i - 1].exit_status)
            return s->run[i - 1].exit_status;
    return EXIT_DONE;
}

static int stat_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct stat_args *a = args;
    struct col_events events = { 0 };
    struct col_surroundings around;
    struct col_stat_options o = { .command = rest->command, .events = &events, .pin = a->pin,
                                  .around = &around,
                                  .output_to_stderr = form_of(a) != RESULT_AS_TEXT && !a->output };
    struct usage *runs;
    struct an_stat s;
    int rc;

    if (!rest->command || !rest->command[0])
        return err_set(e, ERR_USAGE, "no command: give a command to run");
    if (a->json && a->csv)
        return err_set(e, ERR_USAGE, "--json and --csv cannot be combined");
    if (a->runs < 1 || a->runs > RUNS_MOST)
        return err_set(e, ERR_USAGE, "--repeat: must be from 1 to %d", RUNS_MOST);
    if (col_event_parse(a->events ? a->events : col_stat_events, &events, e) < 0 ||
        (a->events && col_stat_check(&events, e) < 0)) {
        vec_release(&events);
        return -1;
    }
    runs = mem_zalloc(a->runs * sizeof *runs);
    s = (struct an_stat){ .command = rest->command, .run = runs, .runs = a->runs };
    rc = run_all(a, &o, runs, e);
    if (rc == 0) {
        struct profile *facts = facts_of(&around);
        struct col_reason reason;

        s.facts = facts;
        if (runs[0].refused) {
            col_probe_explain(runs[0].refused, true, false, &reason);
            s.refused = reason.why;
            s.remedy = reason.remedy;
        }
        an_stat_build(&s);
        rc = print(a, &s, e);
        profile_free(facts);
    }
    if (rc == 0)
        rc = last_failure(&s);
    an_stat_release(&s);
    free(runs);
    vec_release(&events);
    return rc;
}

static const struct option stat_options[] = {
    { OPT_U64, 'r', "repeat", offsetof(struct stat_args, runs), "N",
      "run CMD N times and print medians with intervals" },
    { OPT_STR, 'e', "event", offsetof(struct stat_args, events), "EVENTS",
      "count these events, separated by commas" },
    { OPT_STR, 0, "pin", offsetof(struct stat_args, pin), "CPUS",
      "run the command on CPUS, such as 0,2-3" },
    { OPT_STR, 'o', "output", offsetof(struct stat_args, output), "FILE",
      "write the result to FILE" },
    { OPT_FLAG, 0, "json", offsetof(struct stat_args, json), NULL, "print one JSON object" },
    { OPT_FLAG, 0, "csv", offsetof(struct stat_args, csv), NULL, "print comma-separated values" },
    { 0 },
};

static const struct opts_table stat_tables[] = { { stat_options, 0 }, { 0 } };
static const struct stat_args stat_defaults = { .runs = 1 };

const struct command cmd_stat = {
    .name = "stat",
    .summary = "measure the time, memory, I/O and counters of a command",
    .usage = "stat [options] [--] CMD...",
    .examples = "  fathom stat -- ./prog              one run\n"
                "  fathom stat -r 20 -- ./prog        medians of 20 runs, with intervals\n"
                "  fathom stat -e page-faults -- ls   count other events",
    .options = stat_tables,
    .args_size = sizeof(struct stat_args),
    .defaults = &stat_defaults,
    .stop_at_operand = 1,
    .run = stat_run,
};
