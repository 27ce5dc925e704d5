/* bind_loop.h: the loop of a Lua state. Called by bind_run.c and skillrt.c. */
#ifndef SKILLRT_LUA_BIND_LOOP_H
#define SKILLRT_LUA_BIND_LOOP_H

#include <lua.h>

#include "base/error.h"

struct loop;

/* Pushes what keeps the loop open, for its users to hold, so that they are collected before it.
 * The first call opens it, unless one was lent. NULL with `error` filled. */
struct loop *bind_loop(lua_State *, struct error *);
/* The loop of another, who closes it after this Lua state. Before the first bind_loop. */
void bind_loop_lend(lua_State *, struct loop *);

#endif
