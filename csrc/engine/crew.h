/* crew.h: slow work of the runs of a loop, on libuv's threads.
 *
 * Many runs that write at the same time are handed over together: a thread takes a share of what
 * waits, so that a run among many does not cost a wake-up of a thread. Called by loop.c, runtime.c.
 */
#ifndef SKILLRT_ENGINE_CREW_H
#define SKILLRT_ENGINE_CREW_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sys.h"

struct crew;
struct chore;
struct uv_loop_s;

bool crew_new(const struct sys *, struct uv_loop_s *, struct crew **, struct error *);
void crew_free(struct crew *); /* after the loop has ended; NULL is fine */

/* The place for one piece of work at a time. */
bool chore_new(const struct sys *, struct chore **, struct error *);
/* Calls `work` on a thread and then `after` on the loop's, from inside the loop. */
void crew_do(struct crew *, struct chore *, void (*work)(void *), void (*after)(void *),
             void *argument);
/* Waits for its work, if there is any, and calls `after`; then the chore is gone. NULL is fine. */
void crew_leave(struct crew *, struct chore *);

#endif
