/* limits.h: stopping a script from outside, also inside an endless loop.
 *
 * An interruption sets an atomic flag, of one run or of the whole Lua state. In a host any thread
 * may set it, so a count hook on the thread that runs Lua reads it now and then, which costs a
 * tenth of a script's time. In the program a signal handler on that same thread sets it, and sets
 * the hook only then. The hook raises a table { message = "interrupted", code = "stopped" }. Hooks
 * belong to one coroutine, and Lua does not say which one runs, so the bindings note each coroutine
 * that they enter; coroutine.resume and wrap are replaced by versions that do the same.
 *
 * Lua code that runs too long without yielding is stopped in the same way: a tick of the program,
 * or the hook in a host, reads the clock. */
#ifndef SKILLRT_LUA_LIMITS_H
#define SKILLRT_LUA_LIMITS_H

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct limits;
struct loop;

/* A request to stop one run (or other unit): set from outside, read on the thread that runs Lua. A
 * unit inside another one (`above`) stops with it. */
struct interrupt {
  struct interrupt *above;   /* NULL: the whole Lua state */
  _Atomic(const char *) why; /* NULL: not interrupted */
  atomic_bool raising;       /* the Lua code that runs has not been interrupted yet */
  atomic_bool noticed;
  int64_t stretch_ns;               /* how long Lua may run without yielding; 0: no limit */
  int64_t until_ns;                 /* monotonic time after which Lua is interrupted; 0: none */
  int64_t since_ns;                 /* when a tick first saw this stretch of Lua code; 0: not yet */
  void (*tell)(struct interrupt *); /* called when a time limit sets it; NULL: no function */
  char where[160]; /* file and line that was interrupted; "": none, it was waiting */
};

/* Async-signal-safe, from any thread. `why`: a literal. Does not wake the loop. */
void interrupt_set(struct interrupt *, const char *why);
/* The reason set for it, or for a unit around it; NULL: it continues. */
const char *interrupt_why(const struct interrupt *);
void interrupt_notice(struct interrupt *);

/* The limits of this Lua state, made on first use; lives as long as the state. */
struct limits *limits_of(lua_State *L);
/* Replaces coroutine.resume and coroutine.wrap (a lua_CFunction). Without it only the
 * functions that skillrt itself calls can be interrupted. */
int limits_install(lua_State *L);

/* From here on interruptions may come from any thread. Once, behind limits_install. */
void limits_poll(struct limits *);

/* Between these two calls, L runs Lua code that `interrupt` stops; NULL: the same as before. Nests;
 * false: too deep. */
bool limits_enter(struct limits *, lua_State *L, struct interrupt *);
/* To be called after limits_enter for code that a script may have written, which can be
 * interrupted. If the interruption came before, the code has a moment to end. */
void limits_bound(struct limits *, lua_State *L);
void limits_leave(struct limits *);
/* A question to a policy begins (1) or is over (-1). What skillrt's own Lua code does for it is not
 * interrupted, but the script's functions are that it calls. */
void limits_question(struct limits *, int by);
/* What the names of skillrt's own chunks begin with: where its modules were found. */
void limits_own(struct limits *, const char *source);
/* For a C function that waits: raises the interruption of the running code, if there is one. */
bool limits_raising(struct limits *);
int limits_raise(lua_State *L);
/* Interrupts the running code if it has run for too long, with `why` "step_timeout" or
 * "run_timeout". Async-signal-safe on the thread that runs Lua; to be called regularly. */
void limits_tick(struct limits *);
/* Sets how long Lua code of `interrupt` may run; calls `start` of limits_ticker. */
void limits_allow(struct limits *, struct interrupt *, int64_t stretch_ns, int64_t until_ns);
/* Sets the processor time for all Lua code of this Lua state, as the hook measures it; the code
 * that runs when the time is up is interrupted, with `why` "out_of_time". 0: no limit. */
void limits_spend(struct limits *, int64_t ns);
/* Sets the functions that start and stop the program's ticks; a host uses the hook instead. */
void limits_ticker(struct limits *, void (*start)(void));

/* The interrupt of the whole Lua state. */
struct interrupt *limits_whole(struct limits *);
/* The interrupt of the code that was entered last. */
struct interrupt *limits_current(struct limits *);

/* The loop that limits_interrupt wakes; NULL: none. Its caller has to check whether to stop. */
void limits_watch(struct limits *, struct loop *);

/* Stops all code of this Lua state. Async-signal-safe on the thread that runs Lua; after
 * limits_poll from any thread, while the Lua state is open. */
void limits_interrupt(struct limits *, const char *why);
/* Whether limits_interrupt was called, and whether Lua code or the loop has noticed it. */
bool limits_interrupted(const struct limits *);
bool limits_noticed(const struct limits *);
/* Requests a drain (running calls finish, no new ones start), from the same places; and whether one
 * was requested. */
void limits_drain(struct limits *);
bool limits_draining(const struct limits *);
/* Code that runs from here on is not interrupted any more, but the reason remains set. NULL: the
 * interrupt of the whole Lua state. */
void limits_calm(struct limits *, struct interrupt *);

#endif
