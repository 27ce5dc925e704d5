/* limits.h: stopping a script from outside, also inside an endless loop.
 *
 * To interrupt is to set an atomic flag. In a host, where that may happen in any thread, a hook
 * looks at it now and then, on the thread that runs Lua, for a tenth of a script's time; in the
 * program it happens in a signal handler on that very thread, which can set the hook when it is
 * needed. It raises a table { message = "interrupted", code = "stopped" }. Hooks are per coroutine
 * and nothing tells which one runs, so the bindings note each they enter here; coroutine.resume and
 * wrap are replaced by versions that do the same. */
#ifndef SKILLRT_LUA_LIMITS_H
#define SKILLRT_LUA_LIMITS_H

#include <lua.h>
#include <stdbool.h>

struct limits;
struct loop;

/* The limits of this Lua state, made on first use; lives as long as the state. */
struct limits *limits_of(lua_State *L);
/* Replaces coroutine.resume and coroutine.wrap (a lua_CFunction). Without it only the
 * functions that skillrt itself calls can be interrupted. */
int limits_install(lua_State *L);

/* From here on interruptions may come from any thread. Once, behind limits_install. */
void limits_poll(struct limits *);

/* Between the two, L runs Lua code. Nests; false: too deep. */
bool limits_enter(struct limits *, lua_State *L);
/* Behind an enter of code that a script may have written: it can be interrupted. Where that has
 * been before, it may take a moment to end in order. */
void limits_bound(struct limits *, lua_State *L);
void limits_leave(struct limits *);

/* The loop that an interruption wakes; NULL: none. Whoever turns it looks whether to stop. */
void limits_watch(struct limits *, struct loop *);

/* Async-signal-safe on the thread that runs Lua; behind limits_poll from any thread, while the Lua
 * state is open. `why`: a literal. */
void limits_interrupt(struct limits *, const char *why);
bool limits_interrupted(const struct limits *);
const char *limits_why(const struct limits *);
/* Whether an interruption has been noticed by Lua code or by the loop. */
bool limits_noticed(const struct limits *);
void limits_notice(struct limits *);
/* What runs from here on hears no more of it; the interruption itself stays known. */
void limits_calm(struct limits *);

#endif
