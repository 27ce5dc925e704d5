/* leftover.h: programs that a dead process left running, found again and ended.
 *
 * A number may be another program's by now: what tells them apart is when it started, as the
 * kernel counts it, in which session and in which boot. Called by process.c, session.c and
 * csrc/lua/bind_core.c. */
#ifndef SKILLRT_TRANSPORT_LEFTOVER_H
#define SKILLRT_TRANSPORT_LEFTOVER_H

#include "base/sys.h"

enum { LEFTOVER_START = 64 };

/* The start of a program that runs, or was not reaped yet; "" where the system does not tell. */
void leftover_start(const struct sys *, int64_t pid, char to[LEFTOVER_START]);
/* Ends the group of the program that had this pid and start: SIGTERM, 2 s, SIGKILL; waits until it
 * is gone. `found` says whether any of it was left. False: it cannot be ended. */
bool leftover_end(const struct sys *, int64_t pid, const char *start, bool *found, struct error *);

#endif
