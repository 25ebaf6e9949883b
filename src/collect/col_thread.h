/* col_thread.h - a thread beside the recorder's.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_THREAD_H
#define FATHOM_COLLECT_COL_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Run a thread that needs little stack.  It blocks all signals: they are for the main thread. */
bool col_thread_start(pthread_t *thread, void *(*run)(void *with), void *with);

#endif
