/* host_state.h: a Lua state for the runs of a host. Called by host.c and skillrt.c. */
#ifndef SKILLRT_LUA_HOST_STATE_H
#define SKILLRT_LUA_HOST_STATE_H

#include <lua.h>

#include "base/error.h"
#include "base/sys.h"

struct loop;

/* The runtime is loaded into it once, for all runs in it. Its address is the allocator's: it does
 * not move. */
struct host_state {
  const struct sys *sys;
  lua_State *L;
  size_t used, maximum; /* bytes; maximum 0: none */
};

/* The loop is lent: it is closed after the Lua state. */
bool host_state_open(struct host_state *, const struct sys *, size_t maximum, struct loop *,
                     struct error *);
/* Closes the runs in it, too; idempotent. */
void host_state_close(struct host_state *);

/* Calls `body` with `data` as its argument, a light userdata. What it raises is the error; what it
 * pushes is dropped. */
bool host_state_call(struct host_state *, lua_CFunction body, void *data, struct error *);
/* Inside of it: pushes the function `name` of lua/skillrt/cli/host.lua. */
void host_state_push(lua_State *, const char *name);

#endif
