/* inbox.h: a folder in which others put files while the run is going on.
 *
 * Tells that something may lie there; reads nothing. Called by runtime.c. */
#ifndef SKILLRT_ENGINE_INBOX_H
#define SKILLRT_ENGINE_INBOX_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sys.h"

struct inbox;
struct uv_loop_s;

/* Makes the folder (mode 0700) where it is not there. `changed` is called from the loop, also for
 * what concerns nobody; never from within this call. */
bool inbox_open(const struct sys *, struct uv_loop_s *, const char *path, void (*changed)(void *),
                void *data, struct inbox **, struct error *);
/* NULL is fine; `changed` is not called any more. */
void inbox_close(struct inbox *);

#endif
