/* hosted.h: shared by the files of the C library, included by no other: host.c (a host), skillrt.c
 * (one run), parked.c (runs that are unloaded), host_options.c, host_told.c.
 *
 * The states of a run:
 *
 *   from      when                                                        to
 *   OPEN      it has the option `wait`, and has only waited for park_ms   PARKED
 *   OPEN      it has stopped, in a host, with its journal in order        CLOSED
 *   PARKED    its time has come, or it got an answer or event             OPEN
 *   PARKED    skillrt_stop; or it cannot be opened again                  CLOSED
 *
 * OPEN holds Lua objects, a journal and a lock; the other states only hold struct skillrt. */
#ifndef SKILLRT_LUA_HOSTED_H
#define SKILLRT_LUA_HOSTED_H

#include "engine/loop.h"
#include "lua/host_state.h"
#include "lua/limits.h"
#include "skillrt.h"

struct run;
struct runtime;

/* The text of a script given in memory: consecutive runs with the same text share it. */
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
  struct given_text *newest; /* NULL: no run had one yet */
  int64_t park_ms;           /* -1: never */
  size_t parked;             /* how many runs are */
  struct skillrt **due;      /* a heap of parked ones that have a time */
  size_t due_count, due_room;
  struct skillrt *first,
      *last;       /* runs for parked_turn to check, after this turn or before the next */
  int64_t full_ns; /* opens no run before this time, because descriptors were short */
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
  struct skillrt_options options; /* the caller's, in skillrt_open; then our copies */
  struct given_text *text;        /* NULL: its script is in a file */
  struct run *run;                /* its userdata is held by `held`; NULL unless OPEN */
  struct runtime *runtime;
  struct interrupt interrupt; /* what stops its Lua functions */
  struct loop_member member;  /* gets a turn when a stop was requested */
  int held; /* registry reference: the object of skillrt.cli.host, which holds the run */
  int told; /* and the text that the caller got last */
  char *work_dir;
  char status[16], reason[64];  /* unless OPEN */
  char *trouble;                /* why it cannot be opened again, or NULL */
  int64_t due_ns;               /* PARKED: when to open it again, on the monotonic clock */
  size_t due_at;                /* its place in the heap, from 1; 0: not there */
  int64_t parked_ms, parked_ns; /* both clocks when it was parked */
  struct skillrt *after;        /* in the list of runs to check */
  bool listed;
  bool given; /* something came into its inbox when it was about to stop */
};

/* ---- host_options.c ---- */

/* Copies `size` bytes of the caller's options over `all` bytes of zeros; false with a message where
 * the caller has not set the size. */
bool hosted_options(void *to, size_t all, const void *from, const char *name, char *error,
                    size_t size);
/* Pushes the options of the run as a table, for skillrt.cli.host. Raises. */
void hosted_push(lua_State *, struct skillrt *);
/* Copies those of the caller's options that opening the run again needs, with its work_dir, which
 * is known by now. */
bool hosted_keep(struct skillrt *, struct error *);
void hosted_forget(struct skillrt *);
char *hosted_copy(const struct skillrt_host *, const char *text); /* NULL: no memory, or no text */
void hosted_free(const struct skillrt_host *, char *text);

/* ---- skillrt.c ---- */

/* Opens the run by its options; nothing is left open where it fails. */
bool hosted_open(struct skillrt *, struct error *);
/* Frees all that an OPEN run holds. */
void hosted_close(struct skillrt *);
/* When a waiting run is due: UTC ms; -1: never. False: no memory. */
bool hosted_due(struct skillrt *, int64_t *ms);

/* ---- parked.c ---- */

/* The run has stopped, or may be opened again: parked_turn will check it. */
void parked_look(struct skillrt *);
/* Removes a run from heap and list. */
void parked_forget(struct skillrt *);
/* skillrt_stop for a run that is not open. */
void parked_stop(struct skillrt *);
/* Parks runs that only wait, and opens those whose time has come. */
void parked_turn(struct skillrt_host *);
/* Milliseconds until parked_turn has work; -1: unknown. */
int parked_timeout_ms(const struct skillrt_host *);

#endif
