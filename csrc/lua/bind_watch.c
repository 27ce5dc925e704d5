/* bind_watch.c: core.watch: waits until something is appended to a run of another process; with
 * `runs`, until any of the runs at a place may have changed.
 *
 * watch(url, runs?) -> watch | nil, message, code; watch:wait(ms) -> true: changed, or was not
 * asked yet; false: the time has passed, nil: a signal came. A to-be-closed value. Called by
 * bind_core.c. */
#include "lua/bind.h"
#include "lua/bind_loop.h"
#include "lua/bind_store.h"

#include <lauxlib.h>

#include "engine/loop.h"
#include "store/store.h"

#define WATCH_TYPE "skillrt.watch"

struct watcher {
  struct loop_member member; /* first: turned where something changed */
  struct watch *watch;
  struct loop *loop;
  bool changed;
};

static void turned(struct loop_member *member) {
  ((struct watcher *)member)->changed = true;
}

static void noticed(void *data) {
  loop_ready(&((struct watcher *)data)->member);
}

static int watcher_close(lua_State *L) {
  struct watcher *watcher = luaL_checkudata(L, 1, WATCH_TYPE);
  watch_close(&watcher->watch);
  loop_leave(&watcher->member);
  return 0;
}

static int watcher_wait(lua_State *L) {
  struct watcher *watcher = luaL_checkudata(L, 1, WATCH_TYPE);
  lua_Integer ms = luaL_checkinteger(L, 2);
  luaL_argcheck(L, watcher->watch, 1, "the watch is closed");
  luaL_argcheck(L, ms >= 0 && ms <= 60000, 2, "from 0 to 60000 ms");
  if (!watcher->changed && !loop_wait(watcher->loop, NULL, 0, ms)) return 0;
  lua_pushboolean(L, watcher->changed);
  watcher->changed = false;
  return 1;
}

/* changed() -> whether something has since it was asked last; for who waits by core.serve. */
static int watcher_changed(lua_State *L) {
  struct watcher *watcher = luaL_checkudata(L, 1, WATCH_TYPE);
  lua_pushboolean(L, watcher->changed);
  watcher->changed = false;
  return 1;
}

static int core_watch(lua_State *L) {
  const char *url = bind_url(L, 1);
  bool all = lua_toboolean(L, 2);
  struct error error = {0};
  struct loop *loop = bind_loop(L, &error); /* before the watch, so that it is finalized after it */
  if (!loop) return bind_fail(L, &error);
  struct watcher *watcher = lua_newuserdatauv(L, sizeof *watcher, 0);
  *watcher = (struct watcher){.loop = loop, .changed = true};
  luaL_setmetatable(L, WATCH_TYPE);
  loop_attend(loop, &watcher->member, turned);
  if (!(all ? store_watch_runs : store_watch)(bind_sys(L), url, loop_uv(loop), noticed, watcher,
                                              &watcher->watch, &error))
    return bind_fail(L, &error);
  return 1;
}

int bind_watch(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"wait", watcher_wait}, {"changed", watcher_changed}, {NULL, NULL}};
  luaL_newmetatable(L, WATCH_TYPE);
  lua_pushcfunction(L, watcher_close);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, watcher_close);
  lua_setfield(L, -2, "__close");
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  lua_pushcfunction(L, core_watch);
  lua_setfield(L, -2, "watch");
  return 0;
}
