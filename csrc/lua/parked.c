/* parked.c: runs of a host that are unloaded, because they only wait or have stopped.
 *
 * Such a run is a handle with its options and the time when it is due; its Lua objects, journal and
 * lock are freed. Opens and closes runs through skillrt.c, outside all Lua functions. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "engine/runtime.h"
#include "lua/hosted.h"

enum {
  AT_ONCE = 100, /* runs that are opened again in one turn */
  SPARE = 12,    /* free descriptors needed to open one, besides those that open runs need */
  LATER_MS = 20  /* the time until the next try where descriptors are short */
};

static const int64_t ms_ns = 1000000;

static int64_t now_ns(const struct skillrt_host *host) {
  return host->sys->mono_ns(host->sys);
}

/* ---- what is due: a binary heap, places from 1 ---- */

static void place(struct skillrt_host *host, struct skillrt *run, size_t at) {
  host->due[at - 1] = run;
  run->due_at = at;
}

static void settle(struct skillrt_host *host, struct skillrt *run, size_t at) {
  while (at > 1 && host->due[at / 2 - 1]->due_ns > run->due_ns) {
    place(host, host->due[at / 2 - 1], at);
    at /= 2;
  }
  for (size_t child; (child = 2 * at) <= host->due_count; at = child) {
    if (child < host->due_count && host->due[child]->due_ns < host->due[child - 1]->due_ns) child++;
    if (host->due[child - 1]->due_ns >= run->due_ns) break;
    place(host, host->due[child - 1], at);
  }
  place(host, run, at);
}

static void heap_remove(struct skillrt *run) {
  struct skillrt_host *host = run->host;
  size_t at = run->due_at;
  if (at == 0) return;
  struct skillrt *last = host->due[--host->due_count];
  run->due_at = 0;
  if (last != run) settle(host, last, at);
}

/* False: no memory. */
static bool heap_put(struct skillrt *run, int64_t due_ns) {
  struct skillrt_host *host = run->host;
  if (host->due_count == host->due_room) {
    size_t room = host->due_room ? 2 * host->due_room : 16, size = sizeof(struct skillrt *);
    void *due = host->sys->alloc(host->sys, host->due, host->due_room * size, room * size);
    if (!due) return false;
    host->due = due;
    host->due_room = room;
  }
  run->due_ns = due_ns;
  settle(host, run, ++host->due_count);
  return true;
}

/* ---- the list of runs to check ---- */

void parked_look(struct skillrt *run) {
  struct skillrt_host *host = run->host;
  if (run->listed || run->alone) return;
  run->listed = true;
  run->after = NULL;
  if (host->last)
    host->last->after = run;
  else
    host->first = run;
  host->last = run;
}

static struct skillrt *take_listed(struct skillrt_host *host) {
  struct skillrt *run = host->first;
  host->first = run->after;
  if (!host->first) host->last = NULL;
  run->listed = false;
  return run;
}

static void unlist(struct skillrt *run) {
  struct skillrt_host *host = run->host;
  struct skillrt **link = &host->first, *before = NULL;
  if (!run->listed) return;
  for (; *link != run; link = &(*link)->after)
    before = *link;
  *link = run->after;
  if (host->last == run) host->last = before;
  run->listed = false;
}

static void leave(struct skillrt *run, enum place to) {
  if (run->place == PLACE_PARKED) run->host->parked--;
  if (to == PLACE_PARKED) run->host->parked++;
  run->place = to;
}

void parked_forget(struct skillrt *run) {
  unlist(run);
  heap_remove(run);
  leave(run, PLACE_CLOSED);
}

void parked_stop(struct skillrt *run) {
  if (run->place != PLACE_PARKED) return;
  heap_remove(run);
  leave(run, PLACE_CLOSED);
}

/* ---- parking and opening ---- */

static bool only_waits(const struct skillrt *run) {
  static const char *const reasons[] = {"waiting_for_event", "waiting_for_person",
                                        "waiting_for_time", "needs_decision"};
  bool waits = false;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    waits = waits || strcmp(run->reason, reasons[i]) == 0;
  return waits && run->options.wait && run->host->park_ms >= 0 && !interrupt_why(&run->interrupt);
}

/* When the run is due, on the monotonic clock, because the wall clock may be set meanwhile. */
static bool put_due(struct skillrt *run, int64_t due_ms) {
  if (due_ms < 0) return true;
  int64_t left = due_ms - run->parked_ms;
  return heap_put(run, run->parked_ns + (left > 0 ? left : 0) * ms_ns);
}

/* Frees a run that has stopped. One that could not write its journal stays open, because its memory
 * has more than the journal. */
static void put_back(struct skillrt *run) {
  const struct sys *sys = run->host->sys;
  const struct error *error = runtime_error(run->runtime);
  int64_t due_ms = -1;
  if ((error && error->code != ERROR_NONE) || !runtime_keeps(run->runtime)) return;
  snprintf(run->status, sizeof run->status, "%s", runtime_status(run->runtime));
  snprintf(run->reason, sizeof run->reason, "%s", runtime_reason(run->runtime));
  bool parks = only_waits(run);
  if (parks && !hosted_due(run, &due_ms)) return;
  hosted_close(run);
  run->parked_ms = sys->wall_ms(sys);
  run->parked_ns = sys->mono_ns(sys);
  leave(run, parks ? PLACE_PARKED : PLACE_CLOSED);
  bool given = run->given;
  run->given = false;
  if (parks && (given || !put_due(run, due_ms)))
    parked_look(run); /* no timer: it stays open while it waits */
}

/* Leaves descriptors for open runs, which need them to finish. */
static bool has_room(struct skillrt_host *host) {
  const struct sys *sys = host->sys;
  int spare[SPARE], count = 0;
  while (count < SPARE && (spare[count] = sys->open(sys, "/dev/null", O_RDONLY, 0)) >= 0)
    count++;
  for (int i = 0; i < count; i++)
    sys->close(sys, spare[i]);
  return count == SPARE;
}

static void open_again(struct skillrt *run) {
  struct error error = {0};
  heap_remove(run);
  bool good = hosted_open(run, &error);
  if (!good) run->trouble = hosted_copy(run->host, error.text);
  leave(run, good ? PLACE_OPEN : PLACE_CLOSED);
}

static bool may_open(struct skillrt_host *host, int *left) {
  if (*left == 0) return false;
  if (has_room(host)) return (*left)-- > 0;
  host->full_ns = now_ns(host) + LATER_MS * ms_ns;
  *left = 0;
  return false;
}

void parked_turn(struct skillrt_host *host) {
  int64_t now = host->due_count > 0 ? now_ns(host) : 0;
  while (host->due_count > 0 && host->due[0]->due_ns <= now) {
    parked_look(host->due[0]);
    heap_remove(host->due[0]);
  }
  struct skillrt *last = host->last;
  int left = host->first && host->full_ns <= now_ns(host) ? AT_ONCE : 0;
  for (struct skillrt *run = NULL; host->first && run != last;) {
    run = take_listed(host);
    if (run->place == PLACE_OPEN && runtime_stopped(run->runtime))
      put_back(run);
    else if (run->place == PLACE_PARKED && may_open(host, &left))
      open_again(run);
    else if (run->place == PLACE_PARKED)
      parked_look(run);
  }
}

int parked_timeout_ms(const struct skillrt_host *host) {
  if (!host->first && host->due_count == 0) return -1;
  int64_t at = host->first ? host->full_ns : host->due[0]->due_ns;
  int64_t left = (at - now_ns(host) + ms_ns - 1) / ms_ns;
  return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}
