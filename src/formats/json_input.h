/* json_input.h - functions shared by importers of JSON.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_JSON_INPUT_H
#define FATHOM_FORMATS_JSON_INPUT_H

#include "formats/formats.h"
#include "profile/intern.h"
#include "text/json.h"

/* Whether IN is an object with all KEYS (NULL-terminated, at most 8).  Reads only as far as needed
 * and skips the values. */
bool json_input_has_keys(const struct import_input *in, const char *const *keys);
/* Intern the next value as a string; 0 when it is empty or of another type (skipped). */
uint32_t json_input_string(struct json_reader *r, struct intern *in);
/* Copy it to TEXT instead, truncated to CAP - 1 bytes. */
void json_input_text(struct json_reader *r, char *text, size_t cap);
/* Enter the next value if it is an array (object); otherwise skip it and return false. */
bool json_input_array(struct json_reader *r);
bool json_input_object(struct json_reader *r);
/* In an array: enter the next object, or read the next number.  False at the end; refuses anything
 * else. */
bool json_input_next_object(struct json_reader *r);
bool json_input_next_number(struct json_reader *r);
struct json_member { /* of an object; a table of them ends with {0} */
    const char *key;
    void (*read)(void *x); /* reads the value, which is next */
};
/* Initialize R and read IN, one object: call the table's function for each member, skip others.
 * -1 when it is not JSON, or was refused. */
int json_input_read(struct json_reader *r, const struct import_input *in,
                    const struct json_member *members, void *x, struct err *e);
/* After a token: skip the rest of the value that it opened, if any; after a key, its value. */
void json_input_rest(struct json_reader *r);

#endif
