/* module_kind.h - the kind of a module, by its path.
 *
 * Paths come from mappings of the kernel ("//anon", "[vdso]") and from other tools, which name
 * kernel modules "[ext4]".  Only this file knows these names; others use the kind.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_MODULE_KIND_H
#define FATHOM_PROFILE_MODULE_KIND_H

#include <stdbool.h>

#include "profile/sink.h"

/* MODULE_JIT: memory without a file, or the file in which a JIT compiler describes it.
 * MODULE_NONE: a special mapping such as "[vsyscall]", or an unrecognized name in brackets. */
enum module_kind module_kind_of(const char *path);
/* The same for the mapping of a process, which does not contain the kernel. */
enum module_kind module_kind_of_mapping(const char *path);
/* The kind of a frame with code of a module of KIND. */
enum frame_kind module_frame_kind(enum module_kind kind);
/* PATH is a jitdump, "jit-PID.dump".  A process maps it only to announce its path. */
bool module_is_jit_dump(const char *path);

#endif
