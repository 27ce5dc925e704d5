/* leftover.c: see leftover.h. Reads /proc; knows no transport. */
#include "transport/leftover.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/proc_stat.h"

enum { TERM_MS = 2000, KILL_MS = 1000, LOOK_MS = 10 };

static void read_boot(const struct sys *sys, char to[37]) {
  char text[64] = "";
  proc_text(sys, "/proc/sys/kernel/random/boot_id", text, sizeof text);
  snprintf(to, 37, "%.36s", text);
}

void leftover_start(const struct sys *sys, int64_t pid, char to[LEFTOVER_START]) {
  struct proc_stat entry;
  char boot[37];
  to[0] = 0;
  if (!proc_stat_read(sys, pid, &entry)) return;
  read_boot(sys, boot);
  snprintf(to, LEFTOVER_START, "%" PRIu64 ".%d.%.13s", entry.started, entry.session, boot);
}

static bool look_at(void *data, const char *name, enum sys_kind kind) {
  struct leftover *s = data;
  struct proc_stat entry;
  char *end;
  long long pid = strtoll(name, &end, 10);
  (void)kind;
  if (*end || !proc_stat_read(s->sys, pid, &entry) || entry.group != s->group) return true;
  bool leader = pid == s->group;
  if (leader ? entry.started != s->started
             : entry.started < s->started || entry.session != s->session)
    s->strangers = true;
  else if (entry.state != 'Z' && entry.state != 'X')
    s->living++;
  return true;
}

static bool is_left(struct leftover *s) {
  s->living = 0;
  s->strangers = false;
  s->sys->list(s->sys, "/proc", look_at, s);
  if (s->strangers) s->living = 0;
  return s->living > 0;
}

bool leftover_find(const struct sys *sys, int64_t pid, const char *start, struct leftover *to,
                   struct error *e) {
  char then[37] = "", now[37];
  *to = (struct leftover){.sys = sys, .group = pid};
  if (pid <= 1 || pid > INT32_MAX ||
      sscanf(start, "%" SCNu64 ".%d.%36s", &to->started, &to->session, then) != 3)
    return error_set(e, ERROR_INVALID, "program %" PRId64 ": no start of a program: %.60s", pid,
                     start);
  read_boot(sys, now);
  if (strncmp(then, now, strlen(then)) == 0) is_left(to);
  return true;
}

/* Sends the signal, unless it is 0, to each group that still runs; returns the first of them. */
static const struct leftover *first_left(struct leftover *list, size_t count, int signal) {
  const struct leftover *first = NULL;
  for (size_t i = 0; i < count; i++) {
    if (list[i].living == 0 || !is_left(&list[i])) continue;
    if (signal) list[i].sys->kill_group(list[i].sys, (pid_t)list[i].group, signal);
    if (!first) first = &list[i];
  }
  return first;
}

bool leftover_end(struct leftover *list, size_t count, void (*pause)(void *data, int ms),
                  void *data, struct error *e) {
  static const int signals[] = {SIGTERM, SIGKILL}, patience_ms[] = {TERM_MS, KILL_MS};
  const struct leftover *left = NULL;
  for (int step = 0; step < 2; step++) {
    left = first_left(list, count, signals[step]);
    int64_t until_ns =
        left ? left->sys->mono_ns(left->sys) + patience_ms[step] * INT64_C(1000000) : 0;
    while (left && left->sys->mono_ns(left->sys) < until_ns) {
      pause(data, LOOK_MS);
      left = first_left(list, count, 0);
    }
    if (!left) return true;
  }
  return error_set(e, ERROR_BUSY, "program %" PRId64 ": still runs after SIGKILL; end it first",
                   left->group);
}
