/* watch.h: a folder that is watched by the system's own means (inotify), so that who waits for a
 * change costs nothing until one comes.
 *
 * Tells that something may have changed; reads nothing. Called by directory.c and
 * csrc/lua/bind_watch.c. */
#ifndef SKILLRT_STORE_WATCH_H
#define SKILLRT_STORE_WATCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sys.h"

struct watch;
struct uv_loop_s;

/* `changed` is called from the loop, also for what concerns nobody; never from within this call. */
bool watch_open(const struct sys *, struct uv_loop_s *, const char *path, void (*changed)(void *),
                void *data, struct watch **, struct error *);
/* NULL is fine; `changed` is not called any more. */
void watch_close(struct watch *);

#endif
