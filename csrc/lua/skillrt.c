/* skillrt.c: the life of one run of the C library (skillrt.h), in its host's Lua state or in one of
 * its own.
 *
 * Everything that could raise happens inside a protected call. The Lua side is
 * lua/skillrt/cli/host.lua, which opens the run and hands back the core's userdata. */
#include <lauxlib.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "engine/runtime.h"
#include "lua/hosted.h"
#include "lua/run.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- open ---- */

static void raise_pair(lua_State *L, int message) {
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, message);
  lua_setfield(L, -2, "message");
  lua_pushvalue(L, message + 1);
  lua_setfield(L, -2, "code");
  lua_error(L);
}

/* host.open(options) -> { run =, work_dir = } | nil, message, code */
static int open_body(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, 1);
  host_state_push(L, "open");
  hosted_push(L, run);
  lua_call(L, 1, 3);
  if (lua_isnil(L, 2)) raise_pair(L, 3);
  lua_settop(L, 2);
  lua_getfield(L, 2, "run");
  struct run *opened = run_at(L, -1);
  lua_getfield(L, 2, "work_dir");
  const char *work_dir = luaL_checkstring(L, -1);
  if (!run->work_dir && !(run->work_dir = hosted_copy(run->host, work_dir)))
    return luaL_error(L, "not enough memory");
  lua_settop(L, 2);
  run->held = luaL_ref(L, LUA_REGISTRYINDEX);
  run->run = opened;
  run->runtime = run_runtime(opened);
  return 0;
}

static void stopped(void *user) {
  parked_look(user);
}

bool hosted_open(struct skillrt *run, struct error *error) {
  struct skillrt_host *host = run->host;
  const struct skillrt_options *o = &run->options;
  if (run->state) luaL_unref(run->state->L, LUA_REGISTRYINDEX, run->told);
  run->told = LUA_NOREF;
  bool own = o->own_state || (run->alone && (o->memory_limit > 0 || o->lua_ms > 0));
  run->state = own ? &run->own : &host->state;
  if (own && !host_state_open(&run->own, host->sys, o->memory_limit, host->loop, error))
    return false;
  if (own) limits_spend(limits_of(run->own.L), (int64_t)o->lua_ms * 1000000);
  if (host_state_call(run->state, open_body, run, error)) {
    runtime_belongs(run->runtime, run, stopped);
    return true;
  }
  hosted_close(run);
  return false;
}

/* due(hosted) -> UTC ms, or nothing */
static int due_body(lua_State *L) {
  void **pair = lua_touserdata(L, 1);
  const struct skillrt *run = pair[0];
  host_state_push(L, "due");
  lua_rawgeti(L, LUA_REGISTRYINDEX, run->held);
  lua_call(L, 1, 1);
  *(int64_t *)pair[1] = (int64_t)luaL_optinteger(L, -1, -1);
  return 0;
}

bool hosted_due(struct skillrt *run, int64_t *ms) {
  struct error ignored;
  void *pair[2] = {run, ms};
  return host_state_call(run->state, due_body, pair, &ignored);
}

/* ---- its life ---- */

/* A stop that was asked for by another thread, on ours. */
static void heard(struct loop_member *member) {
  struct skillrt *run =
      (struct skillrt *)(void *)((char *)member - offsetof(struct skillrt, member));
  if (run->run)
    run_heed(run->run);
  else
    parked_stop(run);
}

/* A limit of time was met, maybe between two functions of the run. */
static void limited(struct interrupt *interrupt) {
  char *at = (char *)interrupt - offsetof(struct skillrt, interrupt);
  loop_signal(&((struct skillrt *)(void *)at)->member);
}

static struct skillrt *run_new(const struct skillrt_options *options, char *error, size_t size) {
  struct skillrt_host_options alone = {.size = sizeof alone, .sys = options->sys};
  struct skillrt_host *host =
      options->host ? options->host : skillrt_host_open(&alone, error, size);
  if (!host) return NULL;
  struct skillrt *run = sys_alloc(host->sys, sizeof *run);
  if (!run) {
    snprintf(error, size, "not enough memory");
    if (!options->host) skillrt_host_close(host);
    return NULL;
  }
  run->host = host;
  run->alone = !options->host;
  run->held = run->told = LUA_NOREF;
  run->options = *options;
  run->interrupt.tell = limited;
  loop_attend(host->loop, &run->member, heard);
  run->next = host->runs;
  run->link = &host->runs;
  if (run->next) run->next->link = &run->next;
  host->runs = run;
  return run;
}

EXPORT struct skillrt *skillrt_open(const struct skillrt_options *given, char *error, size_t size) {
  struct skillrt_options options;
  struct error why = {.code = ERROR_SYSTEM};
  if (!hosted_options(&options, sizeof options, given, "skillrt_options", error, size)) return NULL;
  struct skillrt *run = run_new(&options, error, size);
  if (run && hosted_open(run, &why) && hosted_keep(run, &why)) return run;
  if (run) snprintf(error, size, "%s", why.text);
  if (options.code) *options.code = error_name(why.code);
  skillrt_close(run);
  return NULL;
}

void hosted_close(struct skillrt *run) {
  lua_State *L = run->state ? run->state->L : NULL;
  if (run->run) run_close(L, run->run);
  if (L) luaL_unref(L, LUA_REGISTRYINDEX, run->held);
  if (L) luaL_unref(L, LUA_REGISTRYINDEX, run->told);
  run->held = run->told = LUA_NOREF;
  run->run = NULL;
  run->runtime = NULL;
  host_state_close(&run->own);
  run->state = &run->host->state;
}

EXPORT void skillrt_close(struct skillrt *run) {
  if (!run) return;
  struct skillrt_host *host = run->host;
  bool alone = run->alone;
  *run->link = run->next;
  if (run->next) run->next->link = run->link;
  parked_forget(run);
  loop_leave(&run->member);
  hosted_close(run);
  hosted_forget(run);
  hosted_free(host, run->work_dir);
  hosted_free(host, run->trouble);
  sys_free(host->sys, run, sizeof *run);
  if (alone) skillrt_host_close(host);
}

EXPORT enum skillrt_state skillrt_step(struct skillrt *run) {
  if (skillrt_stopped(run)) return SKILLRT_STOPPED;
  if (run->run) run_heed(run->run);
  skillrt_host_step(run->host);
  return skillrt_stopped(run) ? SKILLRT_STOPPED : SKILLRT_RUNNING;
}

EXPORT bool skillrt_stopped(const struct skillrt *run) {
  return run->runtime ? runtime_stopped(run->runtime) && run->place == PLACE_OPEN && !run->listed
                      : run->place == PLACE_CLOSED;
}

EXPORT int skillrt_fd(const struct skillrt *run) {
  return skillrt_host_fd(run->host);
}

EXPORT int skillrt_timeout_ms(const struct skillrt *run) {
  return skillrt_host_timeout_ms(run->host);
}

EXPORT void skillrt_stop(struct skillrt *run) {
  interrupt_set(&run->interrupt, "user_exit");
  loop_signal(&run->member);
}
