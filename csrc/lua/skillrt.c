/* skillrt.c: the C library (skillrt.h): a Lua state of its own around one run.
 *
 * Everything that could raise happens inside a protected call. The Lua side is
 * lua/skillrt/host.lua, which opens the run and hands back the core's userdata. */
#include "skillrt.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "engine/loop.h"
#include "engine/runtime.h"
#include "lua/bind.h"
#include "lua/core.h"
#include "lua/limits.h"
#include "lua/raised.h"
#include "lua/run.h"

#define EXPORT __attribute__((visibility("default")))

struct skillrt {
  const struct sys *sys;
  lua_State *L;
  struct limits *limits;
  struct runtime *runtime;               /* inside the userdata at RUN */
  const struct skillrt_options *options; /* during skillrt_open only */
  void (*on_record)(void *data, const char *json, size_t size);
  void *data;
  bool stopped;
  const char *work_dir; /* a Lua string held on the stack */
};

enum { HOST = 1, RUN, WORK_DIR, KEPT }; /* stack slots of a run's Lua state */

static void *allocate(void *data, void *block, size_t old_size, size_t new_size) {
  const struct sys *sys = data;
  return sys->alloc(sys, block, block ? old_size : 0, new_size);
}

static int deliver(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *json = luaL_checklstring(L, 1, &size);
  run->on_record(run->data, json, size);
  return 0;
}

static void set_text(lua_State *L, const char *field, const char *value) {
  if (value) {
    lua_pushstring(L, value);
    lua_setfield(L, -2, field);
  }
}

static void push_options(lua_State *L, struct skillrt *run) {
  const struct skillrt_options *options = run->options;
  lua_createtable(L, 0, 8);
  set_text(L, "script", options->script);
  set_text(L, "work_dir", options->work_dir);
  set_text(L, "answer", options->answer);
  set_text(L, "input_json", options->input_json);
  set_text(L, "http_module", options->http_module);
  lua_pushboolean(L, options->resume);
  lua_setfield(L, -2, "resume");
  lua_pushboolean(L, options->accept_changes);
  lua_setfield(L, -2, "accept_changes");
  if (run->on_record) {
    lua_pushlightuserdata(L, run);
    lua_pushcclosure(L, deliver, 1);
    lua_setfield(L, -2, "on_record");
  }
}

/* A library does not end its host. */
static int refuse_exit(lua_State *L) {
  return luaL_error(L, "os.exit: a script must not end its host; return from the action instead");
}

/* Leaves the host table, the run and its directory in their slots. */
static int open_body(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, 1);
  lua_settop(L, 0);
  luaL_openlibs(L);
  bind_set_sys(L, run->sys);
  core_install(L);
  limits_install(L);
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_pushcfunction(L, refuse_exit);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
  run->limits = limits_of(L);
  limits_poll(run->limits);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "skillrt.host");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "open");
  push_options(L, run);
  lua_call(L, 1, 3);
  if (lua_isnil(L, 2)) return luaL_error(L, "%s", lua_tostring(L, 3));
  lua_remove(L, 4);
  run->runtime = run_runtime(L, RUN);
  run->work_dir = lua_tostring(L, WORK_DIR);
  return 3;
}

EXPORT struct skillrt *skillrt_open(const struct skillrt_options *options, char *error,
                                    size_t size) {
  const struct sys *sys = options->sys ? options->sys : sys_real();
  struct skillrt *run = sys_alloc(sys, sizeof *run);
  lua_State *L = run ? lua_newstate(allocate, bind_unconst(sys)) : NULL;
  if (!L) {
    snprintf(error, size, "not enough memory");
    sys_free(sys, run, sizeof *run);
    return NULL;
  }
  *run = (struct skillrt){.sys = sys,
                          .L = L,
                          .options = options,
                          .on_record = options->on_record,
                          .data = options->data};
  lua_pushcfunction(L, open_body);
  lua_pushlightuserdata(L, run);
  int status = lua_pcall(L, 1, 3, 0);
  if (status != LUA_OK) {
    struct error why;
    raised_take(L, status, &why);
    snprintf(error, size, "%s", why.text);
    skillrt_close(run);
    return NULL;
  }
  run->options = NULL;
  return run;
}

EXPORT enum skillrt_state skillrt_step(struct skillrt *run) {
  if (run->stopped) return SKILLRT_STOPPED;
  run->stopped = run_turn(run->L, RUN);
  return run->stopped ? SKILLRT_STOPPED : SKILLRT_RUNNING;
}

EXPORT int skillrt_fd(const struct skillrt *run) {
  return loop_fd(runtime_loop(run->runtime));
}

EXPORT int skillrt_timeout_ms(const struct skillrt *run) {
  return loop_timeout_ms(runtime_loop(run->runtime));
}

EXPORT void skillrt_stop(struct skillrt *run) {
  limits_interrupt(run->limits, "user_exit");
}

EXPORT const char *skillrt_status(const struct skillrt *run) {
  return runtime_status(run->runtime);
}

EXPORT const char *skillrt_reason(const struct skillrt *run) {
  return runtime_reason(run->runtime);
}

/* Calls host[name]() and leaves the text it gives in slot KEPT. */
static int ask_host(lua_State *L) {
  lua_getfield(L, 1, lua_touserdata(L, 2));
  lua_call(L, 0, 1);
  return 1;
}

static const char *host_text(struct skillrt *run, const char *name, size_t *size) {
  lua_State *L = run->L;
  if (run->stopped) limits_calm(run->limits); /* a stop after the end is none */
  lua_settop(L, KEPT - 1);
  if (!lua_checkstack(L, 8)) return NULL;
  lua_pushcfunction(L, ask_host);
  lua_pushvalue(L, HOST);
  lua_pushlightuserdata(L, bind_unconst(name)); /* a string would be made outside of the call */
  if (lua_pcall(L, 2, 1, 0) != LUA_OK || lua_type(L, KEPT) != LUA_TSTRING) return NULL;
  return lua_tolstring(L, KEPT, size);
}

EXPORT const char *skillrt_message(const struct skillrt *run) {
  const struct error *error = runtime_error(run->runtime);
  if (error && error->code != ERROR_NONE) return error->text;
  const char *text = host_text(bind_unconst(run), "message", NULL);
  return text ? text : "";
}

EXPORT const char *skillrt_work_dir(const struct skillrt *run) {
  return run->work_dir;
}

EXPORT const char *skillrt_state_json(struct skillrt *run, size_t *size) {
  return host_text(run, "state_json", size);
}

EXPORT void skillrt_close(struct skillrt *run) {
  if (!run) return;
  lua_close(run->L); /* the run's and the loop's userdata close what they hold */
  sys_free(run->sys, run, sizeof *run);
}
