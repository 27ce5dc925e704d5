/* run.h: the run inside the userdata that core.open gives. Called by skillrt.c. */
#ifndef SKILLRT_LUA_RUN_H
#define SKILLRT_LUA_RUN_H

#include <lua.h>
#include <stdbool.h>

struct runtime;

/* The runtime of the open run at `at`; raises where there is none. */
struct runtime *run_runtime(lua_State *L, int at);
/* Does what is ready on the loop of the run at `at`, which is one; true: it has stopped. */
bool run_turn(lua_State *L, int at);

#endif
