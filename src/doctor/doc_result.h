/* doc_result.h - the doctor's findings as a result to print.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DOCTOR_DOC_RESULT_H
#define FATHOM_DOCTOR_DOC_RESULT_H

#include "doctor/doc_flags.h"
#include "doctor/doc_measure.h"
#include "doctor/doc_overhead.h"
#include "doctor/doctor.h"
#include "text/result.h"

struct doc_findings { /* only the requested parts are set */
    struct doc_facts machine, cpu, tools;
    struct doc_rungs rungs;
    const char *target; /* the binary or process, NULL when none */
    struct doc_binary binary;
    struct doc_latencies latencies;
    char saved[4096]; /* the file with the latencies, or "" */
    double load;      /* of the machine before they were measured; 0 unknown */
    struct doc_costs costs;
    size_t rounds;
    const char *profile, *lang; /* --flags; lang NULL: all */
};

void doc_result(const struct doc_findings *f, struct result *r);

#endif
