/* directory.h: a run in a directory, as store.h has it; called by store.c only.
 *
 * Its truth is the journal in it; the lock says which process advances it. The store checks both
 * with each batch: where a file was removed or replaced, the process has lost the run. */
#ifndef SKILLRT_STORE_DIRECTORY_H
#define SKILLRT_STORE_DIRECTORY_H

#include "store/store.h"

bool directory_open(const struct sys *, const char *path, const struct store_options *,
                    struct store **, struct store_report *, struct error *);
void directory_salvage(const struct sys *, const char *path,
                       bool (*each)(void *data, const struct record *, struct error *), void *data);
bool directory_holder(const struct sys *, const char *path, char line[STORE_HOLDER]);
bool directory_exists(const struct sys *, const char *path);
bool directory_watch(const struct sys *, const char *path, struct uv_loop_s *,
                     void (*changed)(void *), void *data, struct watch **, struct error *);
bool directory_watch_runs(const struct sys *, const char *path, struct uv_loop_s *,
                          void (*changed)(void *), void *data, struct watch **, struct error *);

#endif
