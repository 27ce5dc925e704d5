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
/* Handles what is ready; with `wait` sleeps until something is. */
void loop_turn(struct loop *, bool wait);
/* Makes a sleeping loop_turn return; safe in a signal handler and from another thread. */
void loop_wake(struct loop *);
struct uv_loop_s *loop_uv(struct loop *);

/* A descriptor of who waits, as a terminal's; -1: none. Ready: it can be read, or is at its end. */
struct loop_watch {
  int fd;
  bool ready;
};
enum { LOOP_WATCHES_MAX = 64 };
/* Sleeps until one of them is ready, a member was turned, or `ms` have passed; -1: however
 * long it takes. False: a signal came. Inside a member's turn the loop itself has to wait. */
bool loop_wait(struct loop *, struct loop_watch *, size_t count, int64_t ms);
/* Whether who reads what is written to a descriptor went away. Waits for nothing. */
bool loop_reader_gone(int fd);

/* Where the functions of a host are: opened on first use; NULL with `error` filled. */
struct host_door *loop_open_door(struct loop *, struct error *);
struct host_door *loop_door(const struct loop *); /* NULL: it was not opened */
/* Whether slow work leaves its thread even where nobody else would be held up. */
void loop_offload(struct loop *, bool always);

/* The same for who waits for this member. A member whose turn waits for another turns the others
 * meanwhile; deep inside such waits the others have to wait, so that they end. */
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
/* The same for one that is only signaled: it is no member that others are turned beside. */
void loop_attend(struct loop *, struct loop_member *, void (*turn)(struct loop_member *));
void loop_leave(struct loop_member *); /* idempotent */
void loop_ready(struct loop_member *); /* please turn me; idempotent */
/* The same, safe in a signal handler and from another thread. */
void loop_signal(struct loop_member *);
size_t loop_members(const struct loop *);
bool loop_is_shared(const struct loop *); /* slow work must leave its thread */
struct transports *loop_transports(struct loop *);

#endif
