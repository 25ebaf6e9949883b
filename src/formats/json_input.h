/* json_input.h - what importers of JSON share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_JSON_INPUT_H
#define FATHOM_FORMATS_JSON_INPUT_H

#include "formats/formats.h"
#include "profile/intern.h"
#include "text/json.h"

/* Is it an object with all KEYS (NULL-terminated, at most 8) among its members?  Reads as far as
 * needed; members' values are skipped. */
bool json_input_has_keys(const struct import_input *in, const char *const *keys);
/* The next value as a string of IN; 0 when it is another type (skipped) or empty. */
uint32_t json_input_string(struct json_reader *r, struct intern *in);
/* The same into TEXT, cut to CAP - 1 bytes. */
void json_input_text(struct json_reader *r, char *text, size_t cap);
/* Enter the array (object) that comes next; false when it is something else, which is skipped. */
bool json_input_array(struct json_reader *r);
bool json_input_object(struct json_reader *r);
/* In an array: is there another object, now entered, or number?  Anything else is refused. */
bool json_input_next_object(struct json_reader *r);
bool json_input_next_number(struct json_reader *r);
struct json_member { /* of an object; a table of them ends with {0} */
    const char *key;
    void (*read)(void *x); /* the value, which comes next */
};
/* Read all of IN, one object, with R, which is initialized here: its members by the table, others
 * are skipped.  -1 when it is not JSON, or was refused. */
int json_input_read(struct json_reader *r, const struct import_input *in,
                    const struct json_member *members, void *x, struct err *e);
/* After a token: skip the rest of the value it began, if it began one; after a key, its value. */
void json_input_rest(struct json_reader *r);

#endif
