/* remedy.h - what to do when the machine refuses: a limit of the shell, a full disk, no memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_REMEDY_H
#define FATHOM_TEXT_REMEDY_H

/* Print what helps against the errno SYS, if anything is known to help. */
void remedy_print(int sys);
/* Let a write beyond the limit on file sizes fail with a message instead of ending the process. */
void remedy_survive_file_limit(void);

#endif
