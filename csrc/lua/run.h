/* run.h: the run inside the userdata that core.open gives. Called by skillrt.c. */
#ifndef SKILLRT_LUA_RUN_H
#define SKILLRT_LUA_RUN_H

#include <lua.h>
#include <stdbool.h>

struct run;
struct runtime;

/* The open run at `at`; raises where there is none. Valid while Lua keeps it. */
struct run *run_at(lua_State *L, int at);
struct runtime *run_runtime(const struct run *);
/* Where its interrupt was set, it begins to stop. */
void run_heed(struct run *);
/* As its Lua method does. */
void run_close(lua_State *L, struct run *);

#endif
