/* proc_stat.c: see proc_stat.h. */
#include "transport/proc_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool proc_text(const struct sys *sys, const char *path, char *to, size_t room) {
  int fd = sys_open(sys, path, O_RDONLY, 0);
  if (fd < 0) return false;
  ssize_t got = sys->read(sys, fd, to, room - 1);
  sys->close(sys, fd);
  to[got > 0 ? got : 0] = 0;
  return got > 0;
}

bool proc_stat_read(const struct sys *sys, int64_t pid, struct proc_stat *to) {
  char path[48], text[1024];
  uint64_t times[4] = {0};
  snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
  if (!proc_text(sys, path, text, sizeof text)) return false;
  const char *name = strchr(text, '('), *behind = strrchr(text, ')'); /* it may hold anything */
  if (!name || !behind || behind < name) return false;
  snprintf(to->name, sizeof to->name, "%.*s", (int)(behind - name - 1), name + 1);
  int count = sscanf(behind + 1,
                     " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64
                     " %" SCNu64 " %*d %*d %*d %*d %" SCNu64,
                     &to->state, &to->parent, &to->group, &to->session, &times[0], &times[1],
                     &times[2], &times[3], &to->started);
  to->used = times[0] + times[1] + times[2] + times[3];
  return count == 9;
}
