/* doctor_json.c - the findings as JSON; docs/json.md describes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "cli/doctor_print.h"

static void put_facts(struct json *j, const char *key, const struct doc_facts *f)
{
    static const char *const states[] = { "plain", "good", "poor" };

    json_key(j, key);
    json_array(j);
    for (size_t i = 0; i < f->v.n; i++) {
        json_object(j);
        json_put_str(j, "key", f->v.v[i].key);
        json_put_str(j, "value", f->v.v[i].value);
        json_put_str(j, "state", states[f->v.v[i].state]);
        json_put_str(j, "advice", f->v.v[i].advice);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_rungs(struct json *j, const struct doc_rungs *r)
{
    json_key(j, "ladder");
    json_array(j);
    for (size_t i = 0; i < r->v.n; i++) {
        json_object(j);
        json_put_str(j, "name", r->v.v[i].name);
        json_put_bool(j, "holds", r->v.v[i].holds);
        json_put_str(j, "gives", r->v.v[i].gives);
        json_put_str(j, "why", r->v.v[i].why);
        json_put_str(j, "remedy", r->v.v[i].remedy);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_binary(struct json *j, const struct doctor_findings *f)
{
    json_key(j, "binary");
    json_object(j);
    json_put_str(j, "target", f->target);
    json_put_str(j, "verdict", f->binary.verdict);
    json_put_bool(j, "fast", f->binary.fast);
    json_put_bool(j, "instrumented", f->binary.instrumented);
    json_put_str(j, "command", f->binary.command);
    put_facts(j, "facts", &f->binary.facts);
    json_end_object(j);
}

static void put_latencies(struct json *j, const struct doctor_findings *f)
{
    json_key(j, "latencies");
    json_array(j);
    for (size_t i = 0; i < f->latencies.v.n; i++) {
        const struct doc_latency *l = &f->latencies.v.v[i];

        json_object(j);
        json_put_str(j, "key", l->key);
        json_put_str(j, "label", l->label);
        json_put_str(j, "unit", l->unit);
        json_put_num(j, "value", l->value, 3); /* null when it could not be measured */
        json_put_str(j, "note", l->note);
        json_end_object(j);
    }
    json_end_array(j);
    json_put_str(j, "saved", f->saved);
}

static void put_costs(struct json *j, const struct doctor_findings *f)
{
    json_key(j, "overhead");
    json_object(j);
    json_put_u64(j, "rounds", f->rounds);
    json_put_num(j, "bare_cpu_ns", f->costs.bare_cpu_ns, 0);
    json_put_num(j, "bare_wall_ns", f->costs.bare_wall_ns, 0);
    json_key(j, "ways");
    json_array(j);
    for (size_t i = 0; i < f->costs.v.n; i++) {
        const struct doc_cost *c = &f->costs.v.v[i];

        json_object(j);
        json_put_str(j, "call_graph", c->graph);
        json_put_u64(j, "hz", c->hz);
        json_put_str(j, "refused", c->why);
        json_put_num(j, "cpu_pct", c->cpu_pct, 3);
        json_put_num(j, "cpu_low_pct", c->cpu.low, 3);
        json_put_num(j, "cpu_high_pct", c->cpu.high, 3);
        json_put_num(j, "wall_pct", c->wall_pct, 3);
        json_put_num(j, "wall_low_pct", c->wall.low, 3);
        json_put_num(j, "wall_high_pct", c->wall.high, 3);
        json_put_num(j, "confidence", c->cpu.confidence, 4);
        json_put_num(j, "recorder_pct", c->recorder_pct, 3);
        json_put_num(j, "samples", c->samples, 0);
        json_put_num(j, "lost", c->lost, 0);
        json_put_num(j, "complete_pct", c->complete_pct, 3);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
}

static void put_flags(struct json *j, const struct doctor_findings *f)
{
    json_key(j, "flags");
    json_array(j);
    for (const struct doc_flags *x = doc_flags; x->profile; x++) {
        if (strcmp(x->profile, f->profile) != 0 || (f->lang && strcmp(x->lang, f->lang) != 0))
            continue;
        json_object(j);
        json_put_str(j, "profile", x->profile);
        json_put_str(j, "lang", x->lang);
        json_put_str(j, "flags", x->flags);
        json_put_str(j, "how", x->how);
        json_end_object(j);
    }
    json_end_array(j);
}

void doctor_json(const struct doctor_findings *f, struct out *o)
{
    struct json j = { .out = o };

    json_object(&j);
    json_put_u64(&j, "version", 1);
    if (f->machine.v.n) {
        put_facts(&j, "machine", &f->machine);
        put_facts(&j, "processor", &f->cpu);
        put_rungs(&j, &f->rungs);
        put_facts(&j, "tools", &f->tools);
    }
    if (f->target)
        put_binary(&j, f);
    if (f->latencies.v.n)
        put_latencies(&j, f);
    if (f->costs.v.n)
        put_costs(&j, f);
    if (f->profile)
        put_flags(&j, f);
    json_end_object(&j);
    out_char(o, '\n');
}
