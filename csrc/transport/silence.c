/* silence.c: see silence.h. Reads /proc; knows no transport. */
#include "transport/silence.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "transport/proc_stat.h"

enum {
  DEEPEST = 64,   /* programs between one and its first parent */
  WORKS_ABOVE = 1 /* percent of a processor: a program that only waits uses less */
};

struct look {
  const struct sys *sys;
  int64_t pid;
  uint64_t used;
  uint64_t after; /* of the boot, in ticks: what was started since is a tool */
  char tool[32];  /* "": none runs */
};

static bool is_below(const struct sys *sys, int64_t parent, int64_t pid) {
  struct proc_stat stat;
  for (int depth = 0; parent > 1 && depth < DEEPEST; depth++) {
    if (parent == pid) return true;
    if (!proc_stat_read(sys, parent, &stat)) return false;
    parent = stat.parent;
  }
  return false;
}

static bool look_at(void *data, const char *name, enum sys_kind kind) {
  struct look *look = data;
  struct proc_stat stat;
  char *end;
  long long pid = strtoll(name, &end, 10);
  (void)kind;
  if (*end || !proc_stat_read(look->sys, pid, &stat)) return true;
  bool below = is_below(look->sys, stat.parent, look->pid);
  if (!below && pid != look->pid) return true;
  look->used += stat.used;
  if (below && stat.state != 'Z' && stat.started > look->after)
    snprintf(look->tool, sizeof look->tool, "%s", stat.name);
  return true;
}

uint64_t silence_used(const struct sys *sys, int64_t pid) {
  struct look look = {.sys = sys, .pid = pid, .after = UINT64_MAX};
  sys->list(sys, "/proc", look_at, &look);
  return look.used;
}

/* Ticks since the boot, `ms` ago. */
static uint64_t ticks_ago(const struct sys *sys, int64_t ms, double second) {
  char text[64];
  if (!proc_text(sys, "/proc/uptime", text, sizeof text)) return UINT64_MAX;
  double at = strtod(text, NULL) - (double)ms / 1000;
  return at > 0 ? (uint64_t)(at * second) : 0;
}

void silence_look(const struct sys *sys, int64_t pid, uint64_t before, int64_t ms, int64_t newer_ms,
                  char to[SILENCE_WORDS]) {
  double second = (double)sysconf(_SC_CLK_TCK);
  struct look look = {.sys = sys, .pid = pid};
  look.after = newer_ms > 0 ? ticks_ago(sys, newer_ms, second) : UINT64_MAX;
  sys->list(sys, "/proc", look_at, &look);
  double used = look.used > before ? (double)(look.used - before) / second : 0;
  to[0] = 0;
  if (look.tool[0])
    snprintf(to, SILENCE_WORDS, "runs %s", look.tool);
  else if (used * 1000 * 100 >= (double)ms * WORKS_ABOVE)
    snprintf(to, SILENCE_WORDS, "uses the processor");
}
