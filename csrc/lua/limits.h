/* limits.h: stopping a script from outside, also inside an endless loop.
 *
 * Lua's hooks are per coroutine and nothing tells which one runs, so the bindings note each
 * coroutine they enter here, and coroutine.resume and wrap are replaced by versions that do
 * the same. Interrupting sets a hook on all that are entered; it raises a table
 * { message = "interrupted", code = "stopped" } at the next instruction. */
#ifndef SKILLRT_LUA_LIMITS_H
#define SKILLRT_LUA_LIMITS_H

#include <lua.h>
#include <stdbool.h>

struct limits;
struct runtime;

/* The limits of this Lua state, made on first use; lives as long as the state. */
struct limits *limits_of(lua_State *L);
/* Replaces coroutine.resume and coroutine.wrap (a lua_CFunction). Without it only the
 * functions that skillrt itself calls can be interrupted. */
int limits_install(lua_State *L);

/* Between the two, L runs Lua code. Nests; false: too deep. */
bool limits_enter(struct limits *, lua_State *L);
/* Behind an enter of code that a script may have written: where the interruption was before,
 * it may take a moment to end in order, and is interrupted then. */
void limits_bound(struct limits *, lua_State *L);
void limits_leave(struct limits *);

/* The run that a stop is meant for; NULL: none. Gives the one before. */
struct runtime *limits_watch(struct limits *, struct runtime *);

/* Async-signal-safe. Stops the watched run and interrupts Lua code under way. */
void limits_interrupt(struct limits *, const char *why);
bool limits_interrupted(const struct limits *);
const char *limits_why(const struct limits *);
/* Whether an interruption has been noticed by Lua code or by the loop. */
bool limits_noticed(const struct limits *);
void limits_notice(struct limits *);
/* Takes the hooks off again; the interruption itself stays known. */
void limits_calm(struct limits *);

#endif
