/* limits.h: stopping a script from outside, also inside an endless loop.
 *
 * To interrupt is to set an atomic flag, a run's or that of all. In a host, where that may happen
 * in any thread, a hook looks at it now and then, on the thread that runs Lua, for a tenth of a
 * script's time; in the program it happens in a signal handler on that very thread, which can set
 * the hook when it is needed. It raises a table { message = "interrupted", code = "stopped" }.
 * Hooks are per coroutine and nothing tells which one runs, so the bindings note each they enter
 * here; coroutine.resume and wrap are replaced by versions that do the same.
 *
 * In the same way Lua code is stopped that runs on for longer than it may without a wait: a tick of
 * the program's, or the hook of a host, looks at the clock. */
#ifndef SKILLRT_LUA_LIMITS_H
#define SKILLRT_LUA_LIMITS_H

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct limits;
struct loop;

/* That something is to stop: set from outside, looked at on the thread that runs Lua. What runs
 * inside of another thing (`above`) stops with it; all else continues. */
struct interrupt {
  struct interrupt *above;   /* NULL: the whole Lua state */
  _Atomic(const char *) why; /* NULL: not interrupted */
  atomic_bool raising;       /* what is entered has not heard of it yet */
  atomic_bool noticed;
  int64_t stretch_ns;               /* how long Lua may run on without a wait; 0: as it likes */
  int64_t until_ns;                 /* monotonic: Lua does not run on behind it; 0: none */
  int64_t since_ns;                 /* of this stretch, as far as a tick has seen it; 0: none has */
  void (*tell)(struct interrupt *); /* called when a limit has set it; NULL: no function */
  char where[160];                  /* file and line where it was interrupted; "": it was waiting */
};

/* Async-signal-safe, from any thread. `why`: a literal. Wakes nobody. */
void interrupt_set(struct interrupt *, const char *why);
/* Of itself, or of what it runs inside of; NULL: it continues. */
const char *interrupt_why(const struct interrupt *);
void interrupt_notice(struct interrupt *);

/* The limits of this Lua state, made on first use; lives as long as the state. */
struct limits *limits_of(lua_State *L);
/* Replaces coroutine.resume and coroutine.wrap (a lua_CFunction). Without it only the
 * functions that skillrt itself calls can be interrupted. */
int limits_install(lua_State *L);

/* From here on interruptions may come from any thread. Once, behind limits_install. */
void limits_poll(struct limits *);

/* Between the two, L runs Lua code of what `interrupt` stops; NULL: of what was entered before.
 * Nests; false: too deep. */
bool limits_enter(struct limits *, lua_State *L, struct interrupt *);
/* Behind an enter of code that a script may have written: it can be interrupted. Where that has
 * been before, it may take a moment to end in order. */
void limits_bound(struct limits *, lua_State *L);
void limits_leave(struct limits *);
/* Whether what runs is interrupted, and has not heard of it; raises that, from a function that
 * waits in C. */
bool limits_raising(struct limits *);
int limits_raise(lua_State *L);
/* Looks whether what runs has run for too long: then it is interrupted, with `why` "step_timeout"
 * or "run_timeout". Async-signal-safe on the thread that runs Lua; to be called now and then. */
void limits_tick(struct limits *);
/* Lua code of `interrupt` may run on for so long; `start` of limits_ticker begins to tick. */
void limits_allow(struct limits *, struct interrupt *, int64_t stretch_ns, int64_t until_ns);
/* All Lua code of this Lua state together may take so much of its thread's processor time, as the
 * hook sees it; what runs then is interrupted, with `why` "out_of_time". 0: as much as it likes. */
void limits_spend(struct limits *, int64_t ns);
/* Who ticks, and costs nothing while nobody has to; in a host the hook does. */
void limits_ticker(struct limits *, void (*start)(void));

/* What stops the whole Lua state. */
struct interrupt *limits_whole(struct limits *);
/* What was entered last. */
struct interrupt *limits_current(struct limits *);

/* The loop that limits_interrupt wakes; NULL: none. Whoever turns it looks whether to stop. */
void limits_watch(struct limits *, struct loop *);

/* All of this Lua state is to stop. Async-signal-safe on the thread that runs Lua; behind
 * limits_poll from any thread, while the Lua state is open. */
void limits_interrupt(struct limits *, const char *why);
/* Whether that has come, and whether Lua code or the loop has noticed. */
bool limits_interrupted(const struct limits *);
bool limits_noticed(const struct limits *);
/* What is under way may end, and nothing new is begun: asks for it, in the same places, and says
 * whether that was asked for. */
void limits_drain(struct limits *);
bool limits_draining(const struct limits *);
/* What runs from here on hears no more of it; the interruption itself stays known. NULL: that of
 * the whole Lua state. */
void limits_calm(struct limits *, struct interrupt *);

#endif
