/* doc_facts.c - lists of facts.  SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor.h"

void doc_add(struct doc_facts *f, enum doc_state state, const char *key, const char *label,
             const char *advice, const char *fmt, ...)
{
    struct doc_fact *x = vec_add(&f->v);
    va_list ap;

    *x = (struct doc_fact){ .key = key, .label = label, .state = state };
    va_start(ap, fmt);
    vsnprintf(x->value, sizeof x->value, fmt, ap);
    va_end(ap);
    snprintf(x->advice, sizeof x->advice, "%s", advice ? advice : "");
}

void doc_facts_release(struct doc_facts *f)
{
    vec_release(&f->v);
}
