/* annotate_json.c - a listing as JSON; docs/json.md describes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate.h"

#include <inttypes.h>
#include <stdio.h>

static void put_cost(struct json *j, const struct annotate_view *v, const char *name, int64_t x)
{
    char share[32];

    json_put_i64(j, name, x);
    snprintf(share, sizeof share, "%s_pct", name);
    json_put_num(j, share, v->whole ? 100.0 * (double)x / (double)v->whole : 0, 4);
}

static void put_inlined(struct json *j, const struct annotate_view *v, const struct an_listing *l,
                        const struct an_source_line *line)
{
    json_key(j, "inlined");
    json_array(j);
    for (uint32_t i = 0; i < line->n_inlined; i++) {
        const struct an_inlined *in = &l->inlined.v[line->first_inlined + i];

        json_object(j);
        json_put_str(j, "name",
                     profile_string(v->profile, v->profile->function.v[in->function - 1].name));
        put_cost(j, v, "self", in->self);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_instructions(struct json *j, const struct annotate_view *v,
                             const struct an_listing *l, const struct an_source_line *line)
{
    char address[24];

    json_key(j, "instructions");
    json_array(j);
    for (uint32_t i = 0; i < line->n_instr; i++) {
        const struct an_instr *in = &l->instr.v[line->first_instr + i];

        json_object(j);
        snprintf(address, sizeof address, "0x%" PRIx64, in->d.address);
        json_put_str(j, "address", address);
        json_put_str(j, "text", in->d.text);
        put_cost(j, v, "self", in->self);
        if (in->d.target) {
            snprintf(address, sizeof address, "0x%" PRIx64, in->d.target);
            json_put_str(j, "target", address);
        }
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_line(struct json *j, const struct annotate_view *v, const struct an_listing *l,
                     const struct an_source_line *line)
{
    size_t n;
    const char *s = an_listing_text(l, line->line, &n);

    json_object(j);
    json_put_u64(j, "line", line->line);
    json_key(j, "text");
    if (s)
        json_strn(j, s, n);
    else
        json_null(j);
    put_cost(j, v, "self", line->self);
    put_cost(j, v, "total", line->total);
    put_inlined(j, v, l, line);
    if (v->code)
        put_instructions(j, v, l, line);
    json_end_object(j);
}

void annotate_json(const struct annotate_view *v, const struct an_listing *l, struct json *j)
{
    json_object(j);
    json_put_str(j, "name", v->whole_file ? "" : l->name);
    json_put_str(j, "file", l->file);
    json_put_str(j, "module", l->module);
    put_cost(j, v, "self", l->self);
    put_cost(j, v, "total", l->total);
    json_key(j, "lines");
    json_array(j);
    for (size_t i = 0; i < l->line.n; i++)
        put_line(j, v, l, &l->line.v[i]);
    json_end_array(j);
    json_end_object(j);
}
