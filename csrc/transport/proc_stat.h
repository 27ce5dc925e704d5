/* proc_stat.h: what the kernel says of a program that runs: /proc/PID/stat.
 *
 * Called by leftover.c and silence.c. */
#ifndef SKILLRT_TRANSPORT_PROC_STAT_H
#define SKILLRT_TRANSPORT_PROC_STAT_H

#include "base/sys.h"

struct proc_stat {
  char name[32]; /* of its program, cut by the kernel */
  char state;
  int parent, group, session;
  uint64_t used;    /* of the processor, by it and by the children it waited for; clock ticks */
  uint64_t started; /* clock ticks since the boot */
};

/* The text of a small file of /proc, cut to the room; false: there is none. */
bool proc_text(const struct sys *, const char *path, char *to, size_t room);
/* False: it is gone. */
bool proc_stat_read(const struct sys *, int64_t pid, struct proc_stat *);

#endif
