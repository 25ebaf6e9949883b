/* doc_ladder.c - try each rung of the recorder's ladder, and look for useful programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/col_probe.h"
#include "collect/col_stoppable.h"
#include "doctor/doctor.h"

static void try_rung(struct doc_rungs *out, const char *name, const char *gives, bool no_kernel,
                     bool system_wide)
{
    struct col_event clock = col_event_clock();
    int errnum = col_probe_open(&clock, no_kernel, system_wide, false);
    struct doc_rung *r = vec_add(&out->v);
    struct col_reason reason;

    *r = (struct doc_rung){ .name = name, .gives = gives, .holds = errnum == 0 };
    if (!errnum)
        return;
    col_probe_explain(errnum, no_kernel, system_wide, &reason);
    snprintf(r->why, sizeof r->why, "%s", reason.why);
    snprintf(r->remedy, sizeof r->remedy, "%s", reason.remedy);
}

static void try_stops(struct doc_rungs *out, const struct col_rung *rung)
{
    struct doc_rung *r = vec_add(&out->v);
    struct col_reason reason;

    *r = (struct doc_rung){ .name = rung->name, .gives = rung->gives };
    r->holds = col_stoppable_children(&reason);
    snprintf(r->why, sizeof r->why, "%s", reason.why);
    snprintf(r->remedy, sizeof r->remedy, "%s", reason.remedy);
}

void doc_ladder(struct doc_rungs *out)
{
    try_rung(out, "system-wide", "record -a: every process, kernel and user space", false, true);
    for (const struct col_rung *r = col_rungs; r->name; r++)
        if (r->stops)
            try_stops(out, r);
        else if (r->in_process)
            vec_push(&out->v, ((struct doc_rung){ .name = r->name, .gives = r->gives,
                                                  .holds = true }));
        else
            try_rung(out, r->name, r->gives, r->no_kernel, false);
}

static bool on_path(const char *name, char *found, size_t cap)
{
    const char *path = getenv("PATH");

    for (size_t n; path && *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        snprintf(found, cap, "%.*s/%s", (int)n, path, name);
        if (n && access(found, X_OK) == 0)
            return true;
    }
    return false;
}

void doc_tools(struct doc_facts *f)
{
    static const struct {
        const char *name, *use;
    } tools[] = {
        { "valgrind", "simulated caches and branches, memory errors" },
        { "perf", "comparison; fathom reads its perf.data files" },
        { "gdb", "attaching the agent to a running Python" },
        { "debuginfod-find", "fetching debug files" },
        { "python3", "the fathom module" },
        { "gcc", "building" },
        { "clang", "building" },
    };
    char found[512];

    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        bool there = on_path(tools[i].name, found, sizeof found);

        if (there || i < 2)
            doc_add(f, DOC_PLAIN, tools[i].name, tools[i].name, NULL, "%s (%s)",
                    there ? found : "not found", tools[i].use);
    }
    doc_add(f, getenv("DEBUGINFOD_URLS") ? DOC_GOOD : DOC_PLAIN, "debuginfod", "DEBUGINFOD_URLS",
            getenv("DEBUGINFOD_URLS")
                ? NULL
                : "set DEBUGINFOD_URLS=https://debuginfod.debian.net for names in system libraries",
            "%s", getenv("DEBUGINFOD_URLS") ? getenv("DEBUGINFOD_URLS") : "not set");
}
