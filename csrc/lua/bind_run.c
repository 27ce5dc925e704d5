/* bind_run.c: core.open, core.read and core.salvage: runs for Lua.
 *
 * open(policy, options) -> run, report | nil, message, code. A run steps, waits, stops and
 * closes; it is a to-be-closed value. All runs of one Lua state share one loop. Called by
 * bind_core.c; used by lua/skillrt/run/runner.lua and skillrt.c. */
#include "lua/bind.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "engine/runtime.h"
#include "lua/run.h"
#include "lua/script.h"
#include "store/lock.h"

#define RUN_TYPE "skillrt.run"
#define LOOP_TYPE "skillrt.loop"

struct run {
  struct script script;
  struct runtime *runtime;
  bool told; /* of an interruption */
};

/* ---- the loop ---- */

struct loop_box {
  struct loop *loop;
};

static const char loop_key;

static int loop_collect(lua_State *L) {
  struct loop_box *box = lua_touserdata(L, 1);
  if (box->loop) limits_watch(limits_of(L), NULL);
  loop_close(box->loop);
  box->loop = NULL;
  return 0;
}

/* Pushes the userdata that owns the loop; a run keeps it as its user value, so that it is
 * collected after the run. */
static struct loop *push_loop(lua_State *L, struct error *error) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &loop_key) == LUA_TUSERDATA)
    return ((struct loop_box *)lua_touserdata(L, -1))->loop;
  lua_pop(L, 1);
  struct loop_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  box->loop = NULL;
  if (luaL_newmetatable(L, LOOP_TYPE)) {
    lua_pushcfunction(L, loop_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  if (!loop_open(bind_sys(L), &box->loop, error)) return NULL;
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &loop_key);
  limits_watch(limits_of(L), box->loop);
  return box->loop;
}

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

static void read_options(lua_State *L, int at, struct runtime_options *options) {
  static const char *const modes[] = {"create", "resume", NULL};
  static const char *const durabilities[] = {"power", "process", NULL};
  luaL_checktype(L, at, LUA_TTABLE);
  *options = (struct runtime_options){.sys = bind_sys(L)};
  options->directory = text_option(L, at, "directory");
  options->http_module = text_option(L, at, "http_module");
  options->store.mode = choice_option(L, at, "mode", modes) ? STORE_RESUME : STORE_CREATE;
  options->store.durability =
      choice_option(L, at, "durability", durabilities) ? DURABILITY_PROCESS : DURABILITY_POWER;
  options->store.run_id = text_option(L, at, "run_id");
  options->store.accept_edits = flag_option(L, at, "accept_edits");
  lua_getfield(L, at, "segment_bytes");
  options->store.segment_bytes = (uint64_t)luaL_optinteger(L, -1, 0);
  lua_pop(L, 1);
}

static void push_report(lua_State *L, const struct directory_report *report) {
  lua_createtable(L, 0, 7);
  lua_pushstring(L, report->run_id);
  lua_setfield(L, -2, "run_id");
  lua_pushinteger(L, (lua_Integer)report->records);
  lua_setfield(L, -2, "records");
  lua_pushinteger(L, (lua_Integer)report->cut_bytes);
  lua_setfield(L, -2, "cut_bytes");
  lua_pushstring(L, report->cut_file);
  lua_setfield(L, -2, "cut_file");
  lua_pushboolean(L, report->unclean);
  lua_setfield(L, -2, "unclean");
  lua_pushboolean(L, report->view_missing);
  lua_setfield(L, -2, "view_missing");
  lua_pushboolean(L, report->view_edited);
  lua_setfield(L, -2, "view_edited");
}

/* ---- open ---- */

static int core_open(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  struct runtime_options options;
  read_options(L, 2, &options);
  lua_settop(L, 2);
  struct error error = {0};
  options.loop = push_loop(L, &error); /* before the run, so that it is finalized after it */
  if (!options.loop) return bind_fail(L, &error);
  struct run *run = lua_newuserdatauv(L, sizeof *run, 1);
  memset(run, 0, sizeof *run);
  run->script.anchor = run->script.table = run->script.kept = LUA_NOREF;
  luaL_setmetatable(L, RUN_TYPE);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, -2, 1);
  script_init(&run->script, L, 1);
  options.policy = &run->script.policy;
  struct directory_report report = {0};
  if (!runtime_open(&options, &run->runtime, &report, &error)) {
    script_clear(&run->script, L);
    return bind_fail(L, &error);
  }
  push_report(L, &report);
  return 2;
}

struct runtime *run_runtime(lua_State *L, int at) {
  struct run *run = luaL_checkudata(L, at, RUN_TYPE);
  luaL_argcheck(L, run->runtime, at, "the run is closed");
  return run->runtime;
}

static struct run *check_run(lua_State *L) {
  run_runtime(L, 1);
  return lua_touserdata(L, 1);
}

/* A stop from outside is meant for each run that is turned or waited for. */
static void pass_on_stop(struct run *run) {
  struct limits *limits = run->script.limits;
  if (run->told || !limits_interrupted(limits)) return;
  run->told = true;
  limits_notice(limits);
  runtime_stop(run->runtime, limits_why(limits));
}

static int run_step(lua_State *L) {
  static const char *const names[] = {"ready", "waiting", "stopped"};
  struct run *run = check_run(L);
  pass_on_stop(run);
  lua_pushstring(L, names[runtime_step(run->runtime)]);
  return 1;
}

static int run_wait(lua_State *L) {
  struct run *run = check_run(L);
  struct loop *loop = runtime_loop(run->runtime);
  pass_on_stop(run);
  runtime_step(run->runtime);
  while (!runtime_stopped(run->runtime)) {
    pass_on_stop(run);
    loop_turn(loop, true);
  }
  return 0;
}

bool run_turn(lua_State *L, int at) {
  struct run *run = lua_touserdata(L, at);
  pass_on_stop(run);
  loop_turn(runtime_loop(run->runtime), false);
  return runtime_stopped(run->runtime);
}

static int run_stop(lua_State *L) {
  runtime_stop(check_run(L)->runtime, "user_exit");
  return 0;
}

/* status() -> status, reason, message, code; "" status while it goes on */
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

static int run_loop(lua_State *L) {
  struct run *run = check_run(L);
  (void)run;
  struct error error;
  struct loop *loop = push_loop(L, &error);
  lua_pushinteger(L, loop_fd(loop));
  lua_pushinteger(L, loop_timeout_ms(loop));
  return 2;
}

static int run_close(lua_State *L) {
  struct run *run = luaL_checkudata(L, 1, RUN_TYPE);
  if (run->runtime) {
    struct runtime *runtime = run->runtime;
    run->runtime = NULL;
    runtime_close(runtime);
  }
  script_clear(&run->script, L);
  return 0;
}

/* ---- read: a run from outside, without its lock ---- */

struct reader {
  lua_State *L;
  int each;
  bool raised;
};

/* each(payload, seq), with all that may raise inside the protected call. */
static int read_one_body(lua_State *L) {
  const struct record *record = lua_touserdata(L, 2);
  lua_settop(L, 1);
  lua_pushlstring(L, record->payload.data, record->payload.length);
  lua_pushinteger(L, (lua_Integer)record->seq);
  lua_call(L, 2, 1);
  return 1;
}

static bool read_one(void *data, const struct record *record, struct error *error) {
  struct reader *reader = data;
  lua_State *L = reader->L;
  if (!lua_checkstack(L, 8)) return error_set(error, ERROR_MEMORY, "not enough memory");
  lua_pushcfunction(L, read_one_body);
  lua_pushvalue(L, reader->each);
  lua_pushlightuserdata(L, bind_unconst(record));
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) {
    reader->raised = true;
    return false;
  }
  bool more = lua_toboolean(L, -1) || lua_isnil(L, -1);
  lua_pop(L, 1);
  return more || error_set(error, ERROR_NONE, "enough");
}

struct store_box {
  struct store *store;
};

static int store_collect(lua_State *L) {
  store_close(&((struct store_box *)lua_touserdata(L, 1))->store);
  return 0;
}

/* blob(digest) of the store that is being read; upvalue: the box. */
static int read_store_blob(lua_State *L) {
  struct store_box *box = lua_touserdata(L, lua_upvalueindex(1));
  struct error error = {0};
  struct buffer *value = bind_buffer(L, (size_t)1 << 30);
  if (!box->store || !box->store->ops->blob_get(box->store, luaL_checkstring(L, 1), value, &error))
    return bind_fail(L, &error);
  lua_pushlstring(L, value->data ? value->data : "", value->length);
  return 1;
}

/* read(directory, each(payload, seq) -> more?, with_blobs?(blob)) -> report | nil, message, code */
static int core_read(lua_State *L) {
  const char *directory = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 3);
  struct store_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  box->store = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, store_collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, 4);
  /* The journal tells how the run stands, whatever somebody wrote into a view. */
  struct directory_options options = {.mode = STORE_READ, .accept_edits = true};
  struct directory_report report = {0};
  struct error error = {0};
  if (!directory_open(bind_sys(L), directory, &options, &box->store, &report, &error))
    return bind_fail(L, &error);
  if (!lua_isnil(L, 3)) {
    lua_pushvalue(L, 4);
    lua_pushcclosure(L, read_store_blob, 1);
    lua_setfield(L, 3, "blob");
  }
  struct reader reader = {.L = L, .each = 2};
  bool ok = box->store->ops->read(box->store, read_one, &reader, &error);
  store_close(&box->store);
  if (reader.raised) return lua_error(L);
  if (!ok && error.code != ERROR_NONE) return bind_fail(L, &error);
  push_report(L, &report);
  return 1;
}

/* salvage(directory, each(payload, seq) -> more?): the records in front of the bad place for which
 * read refused the journal */
static int core_salvage(lua_State *L) {
  const char *directory = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  struct reader reader = {.L = L, .each = 2};
  directory_salvage(bind_sys(L), directory, read_one, &reader);
  return reader.raised ? lua_error(L) : 0;
}

/* holder(directory) -> pid, host, start of the process that advances the run; nil: none does */
static int core_holder(lua_State *L) {
  char line[256], pid[32], host[128], start[64];
  if (!lock_held(bind_sys(L), luaL_checkstring(L, 1), line, sizeof line)) return 0;
  int count = sscanf(line, "%31s %127s %63s", pid, host, start);
  lua_pushstring(L, count == 3 ? pid : "?");
  lua_pushstring(L, count == 3 ? host : "?");
  lua_pushstring(L, count == 3 ? start : "?");
  return 3;
}

int bind_run(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"step", run_step},   {"wait", run_wait}, {"stop", run_stop},   {"status", run_status},
      {"stats", run_stats}, {"loop", run_loop}, {"close", run_close}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", core_open},
                                       {"read", core_read},
                                       {"salvage", core_salvage},
                                       {"holder", core_holder},
                                       {NULL, NULL}};
  if (luaL_newmetatable(L, RUN_TYPE)) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, run_close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, run_close);
    lua_setfield(L, -2, "__close");
  }
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
  return 0;
}
