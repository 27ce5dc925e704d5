/* loop.h: the only sleeper. Wraps a libuv loop that any number of runs share.
 *
 * No signal handlers, no globals. A host that owns its own loop waits for loop_fd to become
 * readable or loop_timeout_ms to pass, then calls loop_turn. */
#ifndef SKILLRT_ENGINE_LOOP_H
#define SKILLRT_ENGINE_LOOP_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sys.h"

struct loop;
struct uv_loop_s;

bool loop_open(const struct sys *, struct loop **, struct error *);
void loop_close(struct loop *); /* NULL is fine; all runs have been closed before */
int loop_fd(const struct loop *);
int loop_timeout_ms(const struct loop *); /* -1: no limit; 0: loop_turn has work now */
/* Handles what is ready; with `wait` sleeps until something is. */
void loop_turn(struct loop *, bool wait);
/* Makes a sleeping loop_turn return; safe in a signal handler and from another thread. */
void loop_wake(struct loop *);
struct uv_loop_s *loop_uv(struct loop *);

#endif
