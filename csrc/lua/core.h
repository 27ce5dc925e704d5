/* core.h: puts skillrt into a Lua state of ours. Called by main.c and skillrt.c. */
#ifndef SKILLRT_LUA_CORE_H
#define SKILLRT_LUA_CORE_H

#include <lua.h>

/* A lua_CFunction: preloads skillrt.core and lets `require` find the embedded Lua files
 * before any on disk. */
int core_install(lua_State *L);

#endif
