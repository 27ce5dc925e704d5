/* host_state.c: see host_state.h. Knows the module skillrt.cli.host by name, and no run. */
#include "lua/host_state.h"

#include <lauxlib.h>
#include <lualib.h>

#include "lua/bind.h"
#include "lua/bind_loop.h"
#include "lua/core.h"
#include "lua/limits.h"
#include "lua/raised.h"

enum { GC_PAUSE = 140 }; /* percent: collect early, as many runs wait with little garbage each */

static const char module_key;

static void *allocate(void *data, void *block, size_t old_size, size_t new_size) {
  struct host_state *state = data;
  if (!block) old_size = 0; /* it says what kind of thing is made */
  if (state->maximum && new_size > old_size && state->used - old_size + new_size > state->maximum)
    return NULL;
  void *now = state->sys->alloc(state->sys, block, old_size, new_size);
  if (now || new_size == 0) state->used += new_size - old_size;
  return now;
}

/* `exit` in a script must not end the host's process. */
static int refuse_exit(lua_State *L) {
  return luaL_error(L, "os.exit: a script must not end its host; return from the action instead");
}

struct opening {
  struct host_state *state;
  struct loop *loop;
};

static int open_body(lua_State *L) {
  const struct opening *opening = lua_touserdata(L, 1);
  luaL_openlibs(L);
  lua_gc(L, LUA_GCINC, GC_PAUSE, 0, 0);
  bind_set_sys(L, opening->state->sys);
  core_install(L);
  limits_install(L);
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_pushcfunction(L, refuse_exit);
  lua_setfield(L, -2, "exit");
  limits_poll(limits_of(L));
  bind_loop_lend(L, opening->loop);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "skillrt.cli.host");
  lua_call(L, 1, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &module_key);
  return 0;
}

bool host_state_open(struct host_state *state, const struct sys *sys, size_t maximum,
                     struct loop *loop, struct error *error) {
  *state = (struct host_state){.sys = sys, .maximum = maximum};
  state->L = lua_newstate(allocate, state, luaL_makeseed(NULL));
  if (!state->L) return error_set(error, ERROR_MEMORY, "not enough memory");
  struct opening opening = {state, loop};
  if (host_state_call(state, open_body, &opening, error)) return true;
  host_state_close(state);
  return false;
}

/* close(): waits for output that is still being sent */
static int close_body(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &module_key) != LUA_TTABLE) return 0;
  host_state_push(L, "close");
  lua_call(L, 0, 0);
  return 0;
}

void host_state_close(struct host_state *state) {
  struct error ignored;
  if (!state->L) return;
  state->maximum = 0; /* finalizers must not be interrupted */
  host_state_call(state, close_body, NULL, &ignored);
  lua_close(state->L);
  state->L = NULL;
}

bool host_state_call(struct host_state *state, lua_CFunction body, void *data,
                     struct error *error) {
  lua_State *L = state->L;
  int top = lua_gettop(L);
  if (!lua_checkstack(L, 8)) return error_set(error, ERROR_MEMORY, "not enough memory");
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, data);
  int status = lua_pcall(L, 1, 0, 0);
  if (status != LUA_OK) raised_take(L, status, error);
  lua_settop(L, top);
  return status == LUA_OK;
}

void host_state_push(lua_State *L, const char *name) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &module_key);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}
