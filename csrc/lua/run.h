/* run.h: the runtime inside the userdata that core.open gives. Called by skillrt.c. */
#ifndef SKILLRT_LUA_RUN_H
#define SKILLRT_LUA_RUN_H

#include <lua.h>

struct runtime;

/* The runtime of the open run at `at`; raises where there is none. */
struct runtime *run_runtime(lua_State *L, int at);

#endif
