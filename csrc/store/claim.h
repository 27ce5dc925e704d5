/* claim.h: runs of a folder that wait for a process, as store.h has them; called by store.c only.
 *
 * "<run>/label" says how a run is to be claimed. In "<folder>/.fleet" are the lock of each queue's
 * worker, a file for each queue that is paused, for each key with a rate when its runs were
 * claimed, and one file that changes when a label was put. */
#ifndef SKILLRT_STORE_CLAIM_H
#define SKILLRT_STORE_CLAIM_H

#include "store/store.h"

bool directory_label(const struct sys *, const char *path, const struct label *, struct error *);
bool directory_pause(const struct sys *, const char *path, const char *queue, bool paused,
                     struct error *);
bool directory_claims(const struct sys *, const char *path, const char *queue, struct claims **,
                      struct error *);

#endif
