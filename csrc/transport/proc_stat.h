/* proc_stat.h: reads /proc/PID/stat of a running program.
 *
 * Called by leftover.c and silence.c. */
#ifndef SKILLRT_TRANSPORT_PROC_STAT_H
#define SKILLRT_TRANSPORT_PROC_STAT_H

#include "base/sys.h"

struct proc_stat {
  char name[32]; /* the name of its program, truncated by the kernel */
  char state;
  int parent, group, session;
  uint64_t used;    /* processor time of it and of the children it waited for; clock ticks */
  uint64_t started; /* clock ticks since the boot */
};

/* The text of a small file of /proc, cut to the room; false: there is none. */
bool proc_text(const struct sys *, const char *path, char *to, size_t room);
/* False: the program has ended. */
bool proc_stat_read(const struct sys *, int64_t pid, struct proc_stat *);

#endif
