/* bind_run.c: core.open: runs for Lua.
 *
 * open(policy, options) -> run, report | nil, message, code. A run steps, waits, stops and
 * closes; it is a to-be-closed value. All runs of one Lua state share one loop. Called by
 * bind_core.c; used by lua/skillrt/run/runner.lua and skillrt.c. */
#include "lua/bind.h"
#include "lua/bind_loop.h"
#include "lua/bind_store.h"

#include <lauxlib.h>
#include <string.h>

#include "engine/runtime.h"
#include "lua/run.h"
#include "lua/script.h"
#include "transport/host.h"

#define RUN_TYPE "skillrt.run"

struct run {
  struct script script;
  struct runtime *runtime;
  bool told;              /* of an interruption */
  struct interrupt own[]; /* one, unless a host keeps it */
};

/* ---- options ---- */

static const char *text_option(lua_State *L, int at, const char *name) {
  const char *text = NULL;
  if (lua_getfield(L, at, name) != LUA_TNIL) text = luaL_checkstring(L, -1);
  lua_pop(L, 1); /* still held by the options table */
  return text;
}

static bool flag_option(lua_State *L, int at, const char *name) {
  lua_getfield(L, at, name);
  bool on = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return on;
}

static int choice_option(lua_State *L, int at, const char *name, const char *const *choices) {
  lua_getfield(L, at, name);
  int chosen = luaL_checkoption(L, -1, choices[0], choices);
  lua_pop(L, 1);
  return chosen;
}

static void read_options(lua_State *L, int at, struct runtime_options *options,
                         struct label *label) {
  static const char *const modes[] = {"create", "submit", "resume", NULL};
  static const enum store_open modes_of[] = {STORE_CREATE, STORE_SUBMIT, STORE_RESUME};
  static const char *const durabilities[] = {"power", "process", NULL};
  luaL_checktype(L, at, LUA_TTABLE);
  *options = (struct runtime_options){.sys = bind_sys(L)};
  if (lua_getfield(L, at, "directory") != LUA_TNIL) options->url = bind_url(L, -1);
  lua_pop(L, 1); /* still held by the options table */
  options->http_module = text_option(L, at, "http_module");
  options->store.mode = modes_of[choice_option(L, at, "mode", modes)];
  options->store.durability =
      choice_option(L, at, "durability", durabilities) ? DURABILITY_PROCESS : DURABILITY_POWER;
  options->store.run_id = text_option(L, at, "run_id");
  if (lua_getfield(L, at, "label") != LUA_TNIL) {
    bind_label(L, -1, label);
    options->store.label = label;
  }
  lua_pop(L, 1); /* still held by the options table */
  options->store.accept_edits = flag_option(L, at, "accept_edits");
  lua_getfield(L, at, "segment_bytes");
  options->store.segment_bytes = (uint64_t)luaL_optinteger(L, -1, 0);
  lua_pop(L, 1);
}

/* functions() -> the functions of the host: whether they may be called again, by their names */
static int core_functions(lua_State *L) {
  struct error error = {0};
  struct loop *loop = bind_loop(L, &error);
  if (!loop) return bind_fail(L, &error);
  const struct host_door *door = loop_door(loop);
  lua_newtable(L);
  for (size_t i = 0; door && host_door_name(door, i); i++) {
    const char *name = host_door_name(door, i);
    lua_pushboolean(L, host_door_find(door, name)->idempotent);
    lua_setfield(L, -2, name);
  }
  return 1;
}

/* ---- open ---- */

static int core_open(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  struct runtime_options options;
  struct label label;
  read_options(L, 2, &options, &label);
  lua_settop(L, 2);
  struct error error = {0};
  options.loop = bind_loop(L, &error); /* before the run, so that it is finalized after it */
  if (!options.loop) return bind_fail(L, &error);
  lua_getfield(L, 2, "interrupt");
  struct interrupt *lent = lua_touserdata(L, -1);
  lua_getfield(L, 2, "apart"); /* it may outlive what is under way now, and does not stop with it */
  bool inside = !lent && !lua_toboolean(L, -1);
  lua_pop(L, 2);
  size_t size = sizeof(struct run) + (lent ? 0 : sizeof *lent);
  struct run *run = lua_newuserdatauv(L, size, 1);
  memset(run, 0, size);
  run->script.anchor = run->script.kept = LUA_NOREF;
  luaL_setmetatable(L, RUN_TYPE);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, -2, 1);
  script_init(&run->script, L, 1, lent ? lent : run->own, inside);
  if (lua_getfield(L, 1, "newest") == LUA_TSTRING) /* stays where it is: the field keeps it */
    options.store.ending.data = lua_tolstring(L, -1, &options.store.ending.length);
  lua_pop(L, 1);
  options.policy = &run->script.policy;
  struct store_report report = {0};
  if (!runtime_open(&options, &run->runtime, &report, &error)) {
    script_clear(&run->script, L);
    return bind_fail(L, &error);
  }
  bind_report(L, &report);
  return 2;
}

struct run *run_at(lua_State *L, int at) {
  struct run *run = luaL_checkudata(L, at, RUN_TYPE);
  luaL_argcheck(L, run->runtime, at, "the run is closed");
  return run;
}

static struct run *check_run(lua_State *L) {
  return run_at(L, 1);
}

struct runtime *run_runtime(const struct run *run) {
  return run->runtime;
}

/* A stop from outside is meant for each run that is turned or waited for. */
static void pass_on_stop(struct run *run) {
  const char *why = interrupt_why(run->script.interrupt);
  if (run->told || !why) return;
  run->told = true;
  interrupt_notice(run->script.interrupt);
  runtime_stop(run->runtime, why);
}

static int run_step(lua_State *L) {
  static const char *const names[] = {"ready", "waiting", "stopped"};
  struct run *run = check_run(L);
  pass_on_stop(run);
  lua_pushstring(L, names[runtime_step(run->runtime)]);
  return 1;
}

/* turn() -> whether it has not stopped: all runs of this state do what they can without waiting */
static int run_turn(lua_State *L) {
  struct run *run = check_run(L);
  pass_on_stop(run);
  loop_turn(runtime_loop(run->runtime), false);
  lua_pushboolean(L, !runtime_stopped(run->runtime));
  return 1;
}

static int run_wait(lua_State *L) {
  struct run *run = check_run(L);
  pass_on_stop(run);
  runtime_step(run->runtime);
  while (!runtime_stopped(run->runtime)) {
    pass_on_stop(run);
    runtime_turn(run->runtime);
  }
  return 0;
}

void run_heed(struct run *run) {
  pass_on_stop(run);
}

static int run_stop(lua_State *L) {
  runtime_stop(check_run(L)->runtime, "user_exit");
  return 0;
}

/* event(source, bytes) -> true | nil, message, code: for the policy's event, with the next turn */
static int run_event(lua_State *L) {
  struct runtime *runtime = check_run(L)->runtime;
  const char *source = luaL_checkstring(L, 2);
  struct span bytes;
  bytes.data = luaL_checklstring(L, 3, &bytes.length);
  struct error error = {0};
  if (!runtime_event(runtime, source, bytes, &error)) return bind_fail(L, &error);
  lua_pushboolean(L, true);
  return 1;
}

/* stopped() -> whether it has */
static int run_stopped(lua_State *L) {
  lua_pushboolean(L, runtime_stopped(check_run(L)->runtime));
  return 1;
}

/* status() -> status, reason, message, code; "" status while it continues */
static int run_status(lua_State *L) {
  struct run *run = check_run(L);
  const struct error *error = runtime_error(run->runtime);
  lua_pushstring(L, runtime_status(run->runtime));
  lua_pushstring(L, runtime_reason(run->runtime));
  if (!error || error->code == ERROR_NONE) return 2;
  lua_pushstring(L, error->text);
  lua_pushstring(L, error_name(error->code));
  return 4;
}

static int run_stats(lua_State *L) {
  struct store *store = runtime_store(check_run(L)->runtime);
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, (lua_Integer)store->ops->seq(store));
  lua_setfield(L, -2, "seq");
  lua_pushinteger(L, (lua_Integer)store->ops->bytes(store));
  lua_setfield(L, -2, "bytes");
  lua_pushinteger(L, (lua_Integer)store->ops->syncs(store));
  lua_setfield(L, -2, "syncs");
  return 1;
}

/* loop() -> a descriptor, readable when a turn has work; ms after which it has some anyhow, or -1
 */
static int run_loop(lua_State *L) {
  struct loop *loop = runtime_loop(check_run(L)->runtime);
  lua_pushinteger(L, loop_fd(loop));
  lua_pushinteger(L, loop_timeout_ms(loop));
  return 2;
}

void run_close(lua_State *L, struct run *run) {
  struct runtime *runtime = run->runtime;
  run->runtime = NULL;
  runtime_close(runtime);
  script_clear(&run->script, L);
}

static int run_collect(lua_State *L) {
  run_close(L, luaL_checkudata(L, 1, RUN_TYPE));
  return 0;
}

int bind_run(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"step", run_step},     {"wait", run_wait},       {"stop", run_stop}, {"event", run_event},
      {"status", run_status}, {"stats", run_stats},     {"turn", run_turn}, {"loop", run_loop},
      {"close", run_collect}, {"stopped", run_stopped}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"open", core_open}, {"functions", core_functions}, {NULL, NULL}};
  if (luaL_newmetatable(L, RUN_TYPE)) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, run_collect);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, run_collect);
    lua_setfield(L, -2, "__close");
  }
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
  return 0;
}
