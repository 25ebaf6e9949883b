/* rules.c - see rules.h.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RULE(name) extern const struct rule rule_##name;
#include "rules/rules.def"
#undef RULE

#define RULE(name) &rule_##name,
const struct rule *const rules[] = {
#include "rules/rules.def"
    NULL
};
#undef RULE

static enum rule_language language_of(const char *file)
{
    static const struct {
        const char *suffix;
        enum rule_language language;
    } list[] = { { "cc", RULE_CXX },  { "cpp", RULE_CXX }, { "cxx", RULE_CXX },
                 { "C", RULE_CXX },   { "hpp", RULE_CXX }, { "hh", RULE_CXX },
                 { "hxx", RULE_CXX }, { "rs", RULE_RUST }, { "py", RULE_PYTHON } };
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && i < sizeof list / sizeof list[0]; i++)
        if (strcmp(dot + 1, list[i].suffix) == 0)
            return list[i].language;
    return RULE_C;
}

static const char *example_of(const struct rule *r, const char *file)
{
    const char *own = r->example[language_of(file)];

    return own ? own : r->example[RULE_C];
}

/* Priority by gain: a quarter is 1.33x, a tenth 1.11x. */
static const char *priority_of(double gain)
{
    return gain >= 0.25 ? "HIGH" : gain >= 0.1 ? "MEDIUM" : "LOW";
}

/* Make room for a finding of GAIN: a free slot, or that of the weakest finding if it is weaker. */
static struct finding *make_room(struct findings *out, double gain)
{
    struct finding *weakest = out->v;

    if (out->n < out->cap)
        return &out->v[out->n++];
    out->dropped++;
    for (int i = 1; i < out->n; i++)
        if (out->v[i].gain < weakest->gain)
            weakest = &out->v[i];
    return out->n && weakest->gain < gain ? weakest : NULL;
}

struct finding *finding_add(struct findings *out, double gain)
{
    const struct zone_rows *zones = out->facts->zones;
    struct finding *f;

    gain = gain < 0 ? 0 : gain > 1 ? 1 : gain;
    f = make_room(out, gain);
    if (!f)
        return NULL;
    *f = (struct finding){ .rule = out->rule, .gain = gain, .priority = priority_of(gain),
                           .name = zones->row[out->row].name,
                           .example = example_of(out->rule, zones->row[out->row].file) };
    zone_rows_path(zones, out->row, '/', f->path, sizeof f->path);
    return f;
}

#define WRITE_TO(part)                          \
    va_list ap;                                 \
                                                \
    va_start(ap, fmt);                          \
    vsnprintf(f->part, sizeof f->part, fmt, ap); \
    va_end(ap)

void finding_title(struct finding *f, const char *fmt, ...)
{
    WRITE_TO(title);
}

void finding_evidence(struct finding *f, const char *fmt, ...)
{
    WRITE_TO(evidence);
}

void finding_bound(struct finding *f, const char *fmt, ...)
{
    WRITE_TO(bound);
}

void finding_bound_by_gain(struct finding *f)
{
    if (f->gain > 0 && f->gain < 0.999)
        finding_bound(f, "at most %.0f %% of the time in zones (%.2fx faster) if eliminated",
                      100 * f->gain, 1 / (1 - f->gain));
}

/* Strongest first; findings of equal gain keep their order. */
static void sort_findings(struct findings *out)
{
    for (int i = 1; i < out->n; i++) {
        struct finding f = out->v[i];
        int at = i;

        for (; at > 0 && out->v[at - 1].gain < f.gain; at--)
            out->v[at] = out->v[at - 1];
        out->v[at] = f;
    }
}

static uint32_t rows_of(const struct facts *f, enum rule_needs needs)
{
    switch (needs) {
    case RULE_ZONES: return f->zones ? f->zones->n : 0;
    }
    return 0;
}

void rules_run(const struct facts *f, struct findings *out)
{
    out->facts = f;
    for (size_t k = 0; rules[k]; k++) {
        uint32_t n = rows_of(f, rules[k]->needs);

        out->rule = rules[k];
        for (out->row = 0; out->row < n; out->row++)
            rules[k]->check(f, out->row, out);
    }
    sort_findings(out);
}
