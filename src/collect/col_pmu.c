/* col_pmu.c - parse PMU events by the names and bit fields that the kernel lists in /sys.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "collect/col_event.h"

static const char folder[] = "/sys/bus/event_source/devices";

/* Spread VALUE over the bits of "config:0-7,32-35". */
static bool place_bits(const char *format, uint64_t value, struct col_event *ev)
{
    uint64_t *word = strncmp(format, "config2:", 8) == 0   ? &ev->config2
                     : strncmp(format, "config1:", 8) == 0 ? &ev->config1
                     : strncmp(format, "config:", 7) == 0  ? &ev->config
                                                           : NULL;
    const char *p = strchr(format, ':');

    if (!word)
        return false;
    while (*p) {
        char *end;
        unsigned long low = strtoul(p + 1, &end, 10), high = low;

        if (end == p + 1)
            return false;
        if (*end == '-')
            high = strtoul(end + 1, &end, 10);
        if (high > 63 || low > high || (*end && *end != ','))
            return false;
        for (unsigned long bit = low; bit <= high; bit++, value >>= 1)
            *word |= (value & 1) << bit;
        p = end;
    }
    return true;
}

static int set_term(const char *pmu, const char *key, uint64_t value, struct col_event *ev,
                    struct err *e)
{
    char path[320], format[128];

    if (strcmp(key, "config") == 0 || strcmp(key, "config1") == 0 || strcmp(key, "config2") == 0) {
        *(key[6] == '1' ? &ev->config1 : key[6] == '2' ? &ev->config2 : &ev->config) = value;
        return 0;
    }
    snprintf(path, sizeof path, "%s/%s/format/%s", folder, pmu, key);
    if (map_read_text(path, format, sizeof format) < 0 || !place_bits(format, value, ev))
        return err_set(e, ERR_USAGE, "PMU %s has no field \"%s\"", pmu, key);
    return 0;
}

/* Names do not nest: the text of an event contains fields only. */
static int set_terms(const char *pmu, char *terms, bool names, struct col_event *ev, struct err *e)
{
    char *rest = NULL;

    for (char *t = strtok_r(terms, ",", &rest); t; t = strtok_r(NULL, ",", &rest)) {
        char *eq = strchr(t, '='), path[320], text[256];
        uint64_t value = eq ? strtoull(eq + 1, NULL, 0) : 1;

        if (eq)
            *eq = 0;
        snprintf(path, sizeof path, "%s/%s/events/%s", folder, pmu, t);
        if (!eq && names && map_read_text(path, text, sizeof text) >= 0) {
            if (set_terms(pmu, text, false, ev, e) < 0)
                return -1;
        } else if (set_term(pmu, t, value, ev, e) < 0)
            return -1;
    }
    return 0;
}

int col_pmu_parse(const char *pmu, const char *terms, struct col_event *ev, struct err *e)
{
    char path[320], text[256];
    int64_t type;

    if (strchr(pmu, '.') || strchr(terms, '/') || strstr(terms, "..") ||
        strlen(terms) >= sizeof text)
        return err_set(e, ERR_USAGE, "event %s/%s/ does not have the form PMU/FIELD=VALUE,.../",
                       pmu, terms);
    snprintf(path, sizeof path, "%s/%s/type", folder, pmu);
    type = map_read_int(path, -1);
    if (type < 0)
        return err_set(e, ERR_MISSING, "this machine has no PMU \"%s\" (see %s)", pmu, folder);
    ev->type = (uint32_t)type;
    ev->is_hardware = true;
    snprintf(text, sizeof text, "%s", terms);
    return set_terms(pmu, text, true, ev, e);
}
