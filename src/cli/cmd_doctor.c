/* cmd_doctor.c - check a machine or binary and suggest changes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "doctor/doc_result.h"
#include "text/progress.h"

struct doctor_args {
    bool measure, overhead, json;
    uint64_t rounds; /* UINT64_MAX: not given */
    const char *flags, *lang;
};

static void show_label(void *context, const char *label)
{
    progress_show(context, "measuring: %s", label);
}

static void show_run(void *context, size_t run, size_t runs)
{
    progress_show(context, "run %zu of %zu", run + 1, runs);
}

static int check_flags(const struct doctor_args *a, struct err *e)
{
    bool profile = false, lang = false;

    if (!a->flags)
        return a->lang ? err_set(e, ERR_USAGE, "--lang requires --flags") : 0;
    for (const struct doc_flags *x = doc_flags; x->profile; x++) {
        profile |= strcmp(x->profile, a->flags) == 0;
        lang |= !a->lang || strcmp(x->lang, a->lang) == 0;
    }
    if (!profile)
        return err_set(e, ERR_USAGE, "--flags: unknown profile \"%s\": use fast or instrumented",
                       a->flags);
    if (lang)
        return 0;
    err_set(e, ERR_USAGE, "--lang: unknown language or build system \"%s\"", a->lang);
    err_hint(e, "use c, rust, cmake, meson, cargo, pybind11 or pyo3");
    return -1;
}

static int check(const struct doctor_args *a, const struct opts_rest *rest, struct err *e)
{
    if (rest->n > 1)
        return err_set(e, ERR_USAGE, "give only one binary or process");
    if (a->overhead && (!rest->command || !rest->command[0]))
        return err_set(e, ERR_USAGE, "--overhead requires a command: --overhead -- CMD");
    if (rest->command && !a->overhead)
        return err_set(e, ERR_USAGE, "a command requires --overhead");
    if (a->rounds != UINT64_MAX && (a->rounds < 1 || a->rounds > 1000))
        return err_set(e, ERR_USAGE, "--rounds: must be from 1 to 1000");
    if (a->rounds != UINT64_MAX && !a->overhead)
        return err_set(e, ERR_USAGE, "--rounds requires --overhead");
    return check_flags(a, e);
}

static int gather(struct doc_findings *f, const struct doctor_args *a,
                  const struct opts_rest *rest, struct progress *line, struct err *e)
{
    if (!a->measure && !a->overhead && !a->flags && !rest->n) {
        doc_machine(&f->machine);
        doc_cpu(&f->cpu);
        doc_ladder(&f->rungs);
        doc_tools(&f->tools);
    }
    f->profile = a->flags;
    f->lang = a->lang;
    if (rest->n) {
        if (doc_binary(&f->binary, rest->v[0], e) < 0)
            return -1;
        f->target = rest->v[0];
    }
    if (a->measure) {
        if (getloadavg(&f->load, 1) != 1)
            f->load = 0;
        doc_measure(&f->latencies, show_label, line);
        if (doc_measure_save(&f->latencies, f->saved, sizeof f->saved, NULL) < 0)
            f->saved[0] = 0;
    }
    f->rounds = a->rounds == UINT64_MAX ? 5 : a->rounds;
    return a->overhead ? doc_overhead(&f->costs, rest->command, f->rounds, show_run, line, e) : 0;
}

static void release(struct doc_findings *f)
{
    doc_facts_release(&f->machine);
    doc_facts_release(&f->cpu);
    doc_facts_release(&f->tools);
    vec_release(&f->rungs.v);
    doc_binary_release(&f->binary);
    vec_release(&f->latencies.v);
    vec_release(&f->costs.v);
}

static void print(const struct doc_findings *f, bool json, struct out *o)
{
    struct term term = term_of(STDOUT_FILENO);
    struct result r;

    result_init(&r);
    doc_result(f, &r);
    result_print(&r, json ? RESULT_AS_JSON : RESULT_AS_TEXT, o, &term);
    result_release(&r);
}

static int doctor_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct doctor_args *a = args;
    struct doc_findings f = { 0 };
    struct out o = out_fd(STDOUT_FILENO);
    struct progress line;
    int rc;

    if (check(a, rest, e) < 0)
        return -1;
    progress_init(&line, STDERR_FILENO);
    rc = gather(&f, a, rest, &line, e);
    progress_clear(&line);
    if (rc == 0)
        print(&f, a->json, &o);
    if (out_close(&o, rc == 0 ? e : NULL) < 0)
        rc = -1;
    release(&f);
    return rc;
}

static const struct option doctor_options[] = {
    { OPT_FLAG, 0, "measure", offsetof(struct doctor_args, measure), NULL,
      "measure latencies and bandwidths of this machine" },
    { OPT_FLAG, 0, "overhead", offsetof(struct doctor_args, overhead), NULL,
      "measure the overhead of recording CMD" },
    { OPT_U64, 'r', "rounds", offsetof(struct doctor_args, rounds), "N",
      "number of --overhead rounds (default: 5)" },
    { OPT_STR, 0, "flags", offsetof(struct doctor_args, flags), "PROFILE",
      "print compiler flags: fast or instrumented" },
    { OPT_STR, 0, "lang", offsetof(struct doctor_args, lang), "LANG",
      "limit --flags to c, rust, cmake, meson, cargo, pybind11, pyo3" },
    { OPT_FLAG, 0, "json", offsetof(struct doctor_args, json), NULL, "print one JSON object" },
    { 0 },
};

static const struct opts_table doctor_tables[] = { { doctor_options, 0 }, { 0 } };
static const struct doctor_args doctor_defaults = { .rounds = UINT64_MAX };

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "check a machine or binary and suggest changes",
    .usage = "doctor [options] [BINARY | PID]\ndoctor --overhead [options] -- CMD...",
    .examples = "  fathom doctor                      this machine\n"
                "  fathom doctor ./prog               how ./prog was built and how to record it\n"
                "  fathom doctor --measure            caches, memory, system calls, disk\n"
                "  fathom doctor --overhead -- ./prog the overhead of each way to record it\n"
                "  fathom doctor --flags instrumented --lang cmake",
    .options = doctor_tables,
    .args_size = sizeof(struct doctor_args),
    .defaults = &doctor_defaults,
    .run = doctor_run,
};
