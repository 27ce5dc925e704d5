/* claim.h: runs of a folder that wait for a process, as store.h has them; called by store.c only.
 *
 * "<run>/label" says how a run is to be claimed. The folder "<folder>/.fleet" holds: the lock of
 * each queue's worker; a file for each paused queue; for each key with a rate, a file with the
 * times of its claims; and one file that changes with each new label. */
#ifndef SKILLRT_STORE_CLAIM_H
#define SKILLRT_STORE_CLAIM_H

#include "store/store.h"

bool directory_label(const struct sys *, const char *path, const struct label *, struct error *);
/* The label of a run that is not there yet: wakes no worker. */
bool directory_label_ahead(const struct sys *, const char *path, const struct label *,
                           struct error *);
/* The run at this path may be claimed: wakes the workers of its folder. */
bool directory_wake(const struct sys *, const char *path, struct error *);
bool directory_pause(const struct sys *, const char *path, const char *queue, bool paused,
                     struct error *);
bool directory_claims(const struct sys *, const char *path, const char *queue, struct claims **,
                      struct error *);

#endif
