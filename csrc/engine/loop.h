/* loop.h: the only sleeper. Wraps a libuv loop that any number of runs share.
 *
 * No signal handlers, no globals. A host that owns its own loop waits for loop_fd to become
 * readable or loop_timeout_ms to pass, then calls loop_turn. */
#ifndef SKILLRT_ENGINE_LOOP_H
#define SKILLRT_ENGINE_LOOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sys.h"

struct crew;
struct host_door;
struct loop;
struct transports;
struct uv_loop_s;

bool loop_open(const struct sys *, struct loop **, struct error *);
/* NULL is fine; all runs have been closed before. Closes the transports the runs shared,
 * killing what they still had under way. */
void loop_close(struct loop *);
int loop_fd(const struct loop *);
int loop_timeout_ms(const struct loop *); /* -1: no limit; 0: loop_turn has work now */
/* Handles all that is ready; with `wait` sleeps until something is. */
void loop_turn(struct loop *, bool wait);
/* Makes a sleeping loop_turn return; safe in a signal handler and from another thread. */
void loop_wake(struct loop *);
struct uv_loop_s *loop_uv(struct loop *);

/* A descriptor that the caller waits for, such as a terminal's; -1: none. Ready: it can be read, or
 * is at its end. */
struct loop_watch {
  int fd;
  bool ready;
};
enum { LOOP_WATCHES_MAX = 64 };
/* Sleeps until a descriptor is ready, a member was turned, or `ms` have passed (-1: no limit).
 * False: a signal came. */
bool loop_wait(struct loop *, struct loop_watch *, size_t count, int64_t ms);
/* Whether the reader of a pipe or socket has closed it. Does not wait. */
bool loop_reader_gone(int fd);

/* The transport that calls a host's functions: opened on first use; NULL with `error` filled. */
struct host_door *loop_open_door(struct loop *, struct error *);
struct host_door *loop_door(const struct loop *); /* NULL: it was not opened */
/* Whether slow work runs on another thread even where it would delay no other run. */
void loop_offload(struct loop *, bool always);

/* As loop_turn, for a caller that waits for `only`. A member whose own turn waits for another
 * member turns all meanwhile; where such waits are nested too deeply, it turns `only` alone, so
 * that the nesting ends. */
struct loop_member;
void loop_turn_for(struct loop *, struct loop_member *, bool wait);

/* ---- for runs (runtime.c) ----
 * A member asks to be turned and is turned once by a later loop_turn, never from inside a
 * libuv callback. Embedded in its owner; costs nothing while it asks for nothing. */
struct loop_member {
  void (*turn)(struct loop_member *);
  struct loop *_Atomic loop;           /* NULL: not a member */
  struct loop_member *next, *previous; /* among those that asked */
  struct loop_member *next_signaled;
  bool ready, counts;
  _Atomic bool signaled;
};

void loop_join(struct loop *, struct loop_member *, void (*turn)(struct loop_member *));
/* The same for a member that only receives signals; it does not count among the loop's members. */
void loop_attend(struct loop *, struct loop_member *, void (*turn)(struct loop_member *));
void loop_leave(struct loop_member *); /* idempotent */
void loop_ready(struct loop_member *); /* asks for a turn; idempotent */
/* The same, safe in a signal handler and from another thread. */
void loop_signal(struct loop_member *);
size_t loop_members(const struct loop *);
bool loop_is_shared(const struct loop *); /* slow work must run on another thread */
struct transports *loop_transports(struct loop *);
struct crew *loop_crew(const struct loop *); /* for slow work on other threads */

#endif
