/* bind_loop.c: the loop that all runs of a Lua state share: its own, or one lent by a host.
 *
 * Knows nothing of runs. Called by bind_run.c and skillrt.c. */
#include "lua/bind_loop.h"

#include <lauxlib.h>

#include "engine/loop.h"
#include "lua/bind.h"
#include "lua/limits.h"

#define LOOP_TYPE "skillrt.loop"

struct loop_box {
  struct loop *loop;
  bool lent;
};

static const char loop_key;

static int loop_collect(lua_State *L) {
  struct loop_box *box = lua_touserdata(L, 1);
  if (box->loop) limits_watch(limits_of(L), NULL);
  if (!box->lent) loop_close(box->loop);
  box->loop = NULL;
  return 0;
}

static struct loop_box *push_box(lua_State *L) {
  struct loop_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (struct loop_box){0};
  if (luaL_newmetatable(L, LOOP_TYPE)) {
    lua_pushcfunction(L, loop_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return box;
}

/* Of the box on top. */
static void keep(lua_State *L, struct loop_box *box) {
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &loop_key);
  limits_watch(limits_of(L), box->loop);
}

struct loop *bind_loop(lua_State *L, struct error *error) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &loop_key) == LUA_TUSERDATA)
    return ((struct loop_box *)lua_touserdata(L, -1))->loop;
  lua_pop(L, 1);
  struct loop_box *box = push_box(L);
  if (!loop_open(bind_sys(L), &box->loop, error)) return NULL;
  keep(L, box);
  return box->loop;
}

void bind_loop_lend(lua_State *L, struct loop *loop) {
  struct loop_box *box = push_box(L);
  box->loop = loop;
  box->lent = true;
  keep(L, box);
  lua_pop(L, 1);
}
