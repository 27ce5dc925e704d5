/* hosted.h: what the files of the C library share, and no other file includes: host.c (a host),
 * skillrt.c (one run), parked.c (runs that are back in their books), host_options.c, host_told.c.
 *
 * A run's way:
 *
 *   from      when                                                        to
 *   OPEN      it only waits, `wait` was said, and has so for park_ms      PARKED
 *   OPEN      it has stopped, in a host, with its journal in order        CLOSED
 *   PARKED    its time has come, or something was given to it             OPEN
 *   PARKED    skillrt_stop; or it cannot be opened again                  CLOSED
 *
 * OPEN holds Lua objects, a journal and a lock; the others hold what is in struct skillrt. */
#ifndef SKILLRT_LUA_HOSTED_H
#define SKILLRT_LUA_HOSTED_H

#include "engine/loop.h"
#include "lua/host_state.h"
#include "lua/limits.h"
#include "skillrt.h"

struct run;
struct runtime;

/* A script that came from memory: runs that are given the same one after the other share it. */
struct given_text {
  size_t users, size;
  char text[];
};

struct skillrt_host {
  const struct sys *sys;
  struct loop *loop;
  struct host_state state;
  char *http_module;
  struct skillrt *runs;
  struct given_text *newest; /* NULL: none was given yet */
  int64_t park_ms;           /* -1: never */
  size_t parked;             /* how many runs are */
  struct skillrt **due;      /* a heap of parked ones that have a time */
  size_t due_count, due_room;
  struct skillrt *first, *last; /* to be looked at behind this turn, or before the next */
  int64_t full_ns;              /* no run is opened again before: there are no descriptors */
  unsigned turning;
};

enum place { PLACE_OPEN, PLACE_PARKED, PLACE_CLOSED };

struct skillrt {
  struct skillrt_host *host;
  struct skillrt *next, **link; /* in its host */
  struct host_state *state;     /* the host's, or its own */
  struct host_state own;
  bool alone; /* its host is its own */
  bool kept;  /* `options` are copies */
  enum place place;
  struct skillrt_options options; /* of the caller in skillrt_open; then what is kept of them */
  struct given_text *text;        /* NULL: its script lies in a file */
  struct run *run;                /* its userdata is held by `held`; NULL unless OPEN */
  struct runtime *runtime;
  struct interrupt interrupt; /* what stops its Lua functions */
  struct loop_member member;  /* turned when a stop was asked for */
  int held; /* registry reference: what skillrt.cli.host gave, with the run in it */
  int told; /* and the text that was given out last */
  char *work_dir;
  char status[16], reason[64];  /* unless OPEN */
  char *trouble;                /* why it cannot be opened again, or NULL */
  int64_t due_ns;               /* PARKED, and there is a time: of the monotonic clock */
  size_t due_at;                /* its place in the heap, from 1; 0: not there */
  int64_t parked_ms, parked_ns; /* what both clocks said then */
  struct skillrt *after;        /* in the list of those to be looked at */
  bool listed;
  bool given; /* something lies in its inbox that came when it was about to stop */
};

/* ---- host_options.c ---- */

/* Copies `size` bytes of the caller's options over `all` bytes of zeros; false with a message where
 * the size was forgotten. */
bool hosted_options(void *to, size_t all, const void *from, const char *name, char *error,
                    size_t size);
/* Pushes the options of the run as a table, for skillrt.cli.host. Raises. */
void hosted_push(lua_State *, struct skillrt *);
/* Of the caller's options those stay, as copies, that the run is opened again with; its work_dir is
 * known by now. */
bool hosted_keep(struct skillrt *, struct error *);
void hosted_forget(struct skillrt *);
char *hosted_copy(const struct skillrt_host *, const char *text); /* NULL: no memory, or no text */
void hosted_free(const struct skillrt_host *, char *text);

/* ---- skillrt.c ---- */

/* Opens the run by its options; nothing is left open where it fails. */
bool hosted_open(struct skillrt *, struct error *);
/* Gives back all that an OPEN run holds. */
void hosted_close(struct skillrt *);
/* When a run that only waits is due: UTC ms; -1: at no time. False: no memory. */
bool hosted_due(struct skillrt *, int64_t *ms);

/* ---- parked.c ---- */

/* The run has stopped, or may be opened again: it is looked at by parked_turn. */
void parked_look(struct skillrt *);
/* It is gone: out of heap and list. */
void parked_forget(struct skillrt *);
/* skillrt_stop of one that is not open. */
void parked_stop(struct skillrt *);
/* Runs that have come to a wait go back into their books, those whose time has come are opened. */
void parked_turn(struct skillrt_host *);
/* Milliseconds until parked_turn has work; -1: unknown. */
int parked_timeout_ms(const struct skillrt_host *);

#endif
