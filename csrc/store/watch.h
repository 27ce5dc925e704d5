/* watch.h: a folder that is watched by the system's own means (inotify), so that who waits for a
 * change costs nothing until one comes.
 *
 * Tells that something may have changed; reads nothing. Called by directory.c. */
#ifndef SKILLRT_STORE_WATCH_H
#define SKILLRT_STORE_WATCH_H

#include "store/store.h"

/* While there is no such folder, the nearest above it is watched, and the way down as it comes to
 * be. `path` has less than PATH_MAX bytes. As store_watch. */
bool watch_open(const struct sys *, struct uv_loop_s *, const char *path, void (*changed)(void *),
                void *data, struct watch **, struct error *);

/* The same for a folder of runs, which is there: whatever may change what a list of them says.
 * Where the system watches no more, that may be every two seconds. */
bool watch_runs_open(const struct sys *, struct uv_loop_s *, const char *path,
                     void (*changed)(void *), void *data, struct watch **, struct error *);

#endif
