/* bind_claims.c: core.claims, label, pause, hold: runs that wait for a process; for `worker`,
 * `submit` and `pause`.
 *
 * claims(url, queue) -> claims | nil, message, code; claims:take(count) -> { url ... } | nil,
 * message, code; claims:settle(url, later). While it is open, core.serve.wait returns when there
 * may be more to claim. Called by bind_core.c. */
#include "lua/bind.h"
#include "lua/bind_loop.h"
#include "lua/bind_store.h"

#include <lauxlib.h>

#include "engine/loop.h"
#include "store/store.h"

#define CLAIMS_TYPE "skillrt.claims"
#define HOLD_TYPE "skillrt.hold"

struct worker {
  struct claims *claims;
  struct watch *watch;
};

/* Nothing to do: a worker that was woken takes claims in any case. */
static void noticed(void *data) {
  (void)data;
}

static struct claims *check_claims(lua_State *L) {
  return ((struct worker *)luaL_checkudata(L, 1, CLAIMS_TYPE))->claims;
}

static int claims_collect(lua_State *L) {
  struct worker *worker = luaL_checkudata(L, 1, CLAIMS_TYPE);
  watch_close(&worker->watch);
  claims_close(&worker->claims);
  return 0;
}

/* If Lua has no memory for one, it is skipped: a later claim gives it again. */
static int list_one_body(lua_State *L) {
  lua_pushstring(L, lua_touserdata(L, 2));
  lua_rawseti(L, 1, luaL_len(L, 1) + 1);
  return 0;
}

static bool list_one(void *data, const char *url) {
  lua_State *L = data;
  lua_pushcfunction(L, list_one_body);
  lua_pushvalue(L, 3);
  lua_pushlightuserdata(L, bind_unconst(url));
  if (lua_pcall(L, 2, 0, 0) == LUA_OK) return true;
  lua_pop(L, 1);
  return false;
}

static int claims_take(lua_State *L) {
  struct claims *claims = check_claims(L);
  lua_Integer count = luaL_checkinteger(L, 2);
  struct error error = {0};
  lua_settop(L, 2);
  lua_newtable(L);
  return claims->ops->take(claims, count, list_one, L, &error) ? 1 : bind_fail(L, &error);
}

static int claims_settle(lua_State *L) {
  struct claims *claims = check_claims(L);
  claims->ops->settle(claims, luaL_checkstring(L, 2), lua_toboolean(L, 3));
  return 0;
}

static int core_claims(lua_State *L) {
  const char *url = bind_url(L, 1), *queue = luaL_checkstring(L, 2);
  struct error error = {0};
  struct loop *loop = bind_loop(L, &error); /* before the watch, so that it is finalized after it */
  if (!loop) return bind_fail(L, &error);
  struct worker *worker = lua_newuserdatauv(L, sizeof *worker, 0);
  *worker = (struct worker){.claims = NULL};
  luaL_setmetatable(L, CLAIMS_TYPE);
  if (!claims_open(bind_sys(L), url, queue, &worker->claims, &error) ||
      !worker->claims->ops->watch(worker->claims, loop_uv(loop), noticed, NULL, &worker->watch,
                                  &error))
    return bind_fail(L, &error);
  return 1;
}

static int64_t number_of(lua_State *L, int at, const char *field) {
  lua_getfield(L, at, field);
  int64_t number = luaL_optinteger(L, -1, 0);
  lua_pop(L, 1);
  return number;
}

static const char *text_of(lua_State *L, int at, const char *field) {
  lua_getfield(L, at, field);
  const char *text = luaL_optstring(L, -1, NULL);
  lua_pop(L, 1);
  return text;
}

void bind_label(lua_State *L, int at, struct label *label) {
  luaL_checktype(L, at, LUA_TTABLE);
  at = lua_absindex(L, at);
  *label = (struct label){.queue = text_of(L, at, "queue"),
                          .prio = number_of(L, at, "prio"),
                          .key = text_of(L, at, "key"),
                          .most = number_of(L, at, "most"),
                          .rate = number_of(L, at, "rate"),
                          .rate_ms = number_of(L, at, "rate_ms")};
  luaL_argcheck(L, label->queue != NULL, at, "names no queue");
}

/* label(url, { queue, prio, key, most, rate, rate_ms }) -> true | nil, message, code; each of them
 * by its name, and as struct label has it. */
static int core_label(lua_State *L) {
  const char *url = bind_url(L, 1);
  struct label label;
  bind_label(L, 2, &label);
  struct error error = {0};
  if (!store_label(bind_sys(L), url, &label, &error)) return bind_fail(L, &error);
  lua_pushboolean(L, true);
  return 1;
}

/* pause(url, queue, paused) -> true | nil, message, code */
static int core_pause(lua_State *L) {
  const char *url = bind_url(L, 1), *queue = luaL_checkstring(L, 2);
  struct error error = {0};
  if (!store_pause(bind_sys(L), url, queue, lua_toboolean(L, 3), &error))
    return bind_fail(L, &error);
  lua_pushboolean(L, true);
  return 1;
}

static int hold_collect(lua_State *L) {
  hold_close(luaL_checkudata(L, 1, HOLD_TYPE));
  return 0;
}

/* hold(url) -> a value to be closed | nil, message, code: see store_hold */
static int core_hold(lua_State *L) {
  const char *url = bind_url(L, 1);
  struct error error = {0};
  struct hold **hold = lua_newuserdatauv(L, sizeof(struct hold *), 0);
  *hold = NULL;
  luaL_setmetatable(L, HOLD_TYPE);
  return store_hold(bind_sys(L), url, hold, &error) ? 1 : bind_fail(L, &error);
}

int bind_claims(lua_State *L) {
  static const luaL_Reg functions[] = {{"claims", core_claims},
                                       {"label", core_label},
                                       {"pause", core_pause},
                                       {"hold", core_hold},
                                       {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"take", claims_take}, {"settle", claims_settle}, {NULL, NULL}};
  luaL_newmetatable(L, CLAIMS_TYPE);
  lua_pushcfunction(L, claims_collect);
  lua_setfield(L, -2, "__gc");
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_newmetatable(L, HOLD_TYPE);
  lua_pushcfunction(L, hold_collect);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__close");
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
  return 0;
}
