/* meta.h - meta.def as a table.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_META_H
#define FATHOM_PROFILE_META_H

struct meta_key {
    const char *key, *unit, *about;
};
extern const struct meta_key meta_keys[]; /* terminated by a NULL key */

#endif
