/* pprof.h - field numbers of pprof's profile.proto, for export and import.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_PPROF_H
#define FATHOM_FORMATS_PPROF_H

#include "formats/formats.h"

enum pprof_profile {
    PPROF_SAMPLE_TYPE = 1,
    PPROF_SAMPLE = 2,
    PPROF_MAPPING = 3,
    PPROF_LOCATION = 4,
    PPROF_FUNCTION = 5,
    PPROF_STRING = 6,
    PPROF_DURATION = 10,
    PPROF_PERIOD_TYPE = 11,
    PPROF_PERIOD = 12,
    PPROF_COMMENT = 13,
    PPROF_DEFAULT_TYPE = 14,
};
enum pprof_value_type { PPROF_TYPE_TYPE = 1, PPROF_TYPE_UNIT = 2 };
enum pprof_sample { PPROF_SAMPLE_LOCATION = 1, PPROF_SAMPLE_VALUE = 2, PPROF_SAMPLE_LABEL = 3 };
enum pprof_label {
    PPROF_LABEL_KEY = 1,
    PPROF_LABEL_TEXT = 2,
    PPROF_LABEL_NUMBER = 3,
    PPROF_LABEL_UNIT = 4,
};
enum pprof_mapping {
    PPROF_MAPPING_ID = 1,
    PPROF_MAPPING_START = 2,
    PPROF_MAPPING_LIMIT = 3,
    PPROF_MAPPING_OFFSET = 4,
    PPROF_MAPPING_FILE = 5,
    PPROF_MAPPING_BUILD_ID = 6,
    PPROF_MAPPING_HAS_FUNCTIONS = 7,
    PPROF_MAPPING_HAS_FILES = 8,
    PPROF_MAPPING_HAS_LINES = 9,
    PPROF_MAPPING_HAS_INLINES = 10,
};
enum pprof_location {
    PPROF_LOCATION_ID = 1,
    PPROF_LOCATION_MAPPING = 2,
    PPROF_LOCATION_ADDRESS = 3,
    PPROF_LOCATION_LINE = 4,
};
enum pprof_line { PPROF_LINE_FUNCTION = 1, PPROF_LINE_LINE = 2 };
enum pprof_function {
    PPROF_FUNCTION_ID = 1,
    PPROF_FUNCTION_NAME = 2,
    PPROF_FUNCTION_SYSTEM_NAME = 3,
    PPROF_FUNCTION_FILE = 4,
    PPROF_FUNCTION_LINE = 5,
};

#define PPROF_COMMAND "command: " /* prefix of the comment with the command line */

int pprof_recognize(const struct import_input *in);
int pprof_import(const struct import_input *in, struct sink *out, struct err *e);
/* -1 if it has more than MOST_BYTES before compression. */
int pprof_export(const struct profile *p, uint64_t most_bytes, struct out *out, struct err *e);

#endif
