/* leftover.h: finds and ends programs that a process of ours left running when it died.
 *
 * The system may have given the pid to another program since: the start time, the session and the
 * boot distinguish them. Called by process.c, session.c and
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
  bool strangers; /* another group has this number now */
};

/* The start of a program that runs or was not reaped yet; "" where it cannot be read. */
void leftover_start(const struct sys *, int64_t pid, char to[LEFTOVER_START]);
/* Looks for the group of the program with this pid and start: `living` says whether any process of
 * it still runs. False: the text is no start. */
bool leftover_find(const struct sys *, int64_t pid, const char *start, struct leftover *,
                   struct error *);
/* Ends all of them together: SIGTERM, and SIGKILL 2 s later; calls `pause`, which waits, until they
 * have ended. False: one of them does not end. */
bool leftover_end(struct leftover *, size_t count, void (*pause)(void *data, int ms), void *data,
                  struct error *);

#endif
