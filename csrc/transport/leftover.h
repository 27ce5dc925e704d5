/* leftover.h: programs that a dead process left running, found again and ended.
 *
 * A number may be another program's by now: what tells them apart is when it started, as the
 * kernel counts it, in which session and in which boot. Called by process.c, session.c and
 * csrc/lua/bind_core.c. */
#ifndef SKILLRT_TRANSPORT_LEFTOVER_H
#define SKILLRT_TRANSPORT_LEFTOVER_H

#include "base/sys.h"

enum { LEFTOVER_START = 64 };

struct leftover {
  const struct sys *sys;
  int64_t group;
  uint64_t started;
  int session;
  size_t living;
  bool strangers; /* the number is another group's by now */
};

/* The start of a program that runs, or was not reaped yet; "" where the system does not tell. */
void leftover_start(const struct sys *, int64_t pid, char to[LEFTOVER_START]);
/* Looks for the group of the program that had this pid and start: `living` says whether any of it
 * is left. False: this is no start. */
bool leftover_find(const struct sys *, int64_t pid, const char *start, struct leftover *,
                   struct error *);
/* Ends them all at once: SIGTERM, 2 s, SIGKILL; calls `pause`, which waits, until they are gone.
 * False: one cannot be ended. */
bool leftover_end(struct leftover *, size_t count, void (*pause)(void *data, int ms), void *data,
                  struct error *);

#endif
