/* skillrt.c: one run of the C library (skillrt.h), in its host's Lua state or in one of its own.
 *
 * Everything that could raise happens inside a protected call. The Lua side is
 * lua/skillrt/host.lua, which opens the run and hands back the core's userdata. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "engine/loop.h"
#include "engine/runtime.h"
#include "lua/hosted.h"
#include "lua/limits.h"
#include "lua/run.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- what Lua tells us ---- */

static int deliver(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *json = luaL_checklstring(L, 1, &size);
  run->on_record(run->data, json, size);
  return 0;
}

static int ask(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *json = luaL_checklstring(L, 1, &size);
  run->on_question(run->data, json, size);
  return 0;
}

static int progress(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *id = luaL_checkstring(L, 1), *bytes = luaL_checklstring(L, 2, &size);
  run->on_progress(run->data, id, bytes, size);
  return 0;
}

static void set_function(lua_State *L, const char *field, lua_CFunction function, void *data) {
  lua_pushlightuserdata(L, data);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, field);
}

/* ---- options ---- */

static void set_text(lua_State *L, const char *field, const char *value) {
  if (value) {
    lua_pushstring(L, value);
    lua_setfield(L, -2, field);
  }
}

static void set_flag(lua_State *L, const char *field, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, field);
}

static void set_list(lua_State *L, const char *field, const char *const *list) {
  if (!list) return;
  lua_newtable(L);
  for (lua_Integer i = 0; list[i]; i++) {
    lua_pushstring(L, list[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, field);
}

static void push_options(lua_State *L, struct skillrt *run) {
  const struct skillrt_options *options = run->options;
  lua_createtable(L, 0, 16);
  set_text(L, "script", options->script);
  set_text(L, "work_dir", options->work_dir);
  set_text(L, "input_json", options->input_json);
  set_text(L, "agent", options->agent);
  set_text(L, "strategy", options->strategy);
  set_text(L, "durability", options->durability);
  set_text(L, "context", options->context);
  set_text(L, "answer", options->answer);
  set_text(L, "from", options->from);
  set_text(L, "decide", options->decide);
  set_text(L, "http_module", options->http_module ? options->http_module : run->host->http_module);
  set_flag(L, "wait", options->wait);
  set_flag(L, "resume", options->resume);
  set_flag(L, "retry", options->retry);
  set_flag(L, "accept_changes", options->accept_changes);
  set_flag(L, "accept_edits", options->accept_edits);
  set_flag(L, "yes", options->yes);
  set_flag(L, "shared", run->state == &run->host->state && !run->alone);
  set_list(L, "args", options->args);
  if (options->script_text) {
    lua_pushlstring(L, options->script_text, options->script_size);
    lua_setfield(L, -2, "script_text");
  }
  if (run->on_record) set_function(L, "on_record", deliver, run);
  if (run->on_progress) set_function(L, "on_progress", progress, run);
  if (run->on_question) set_function(L, "on_question", ask, run);
}

/* ---- a run's life ---- */

/* host.open(options) -> { run =, work_dir =, message =, state_json = } | nil, message */
static int open_body(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, 1);
  host_state_push(L, "open");
  push_options(L, run);
  lua_call(L, 1, 2);
  if (lua_isnil(L, -2)) return luaL_error(L, "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
  lua_getfield(L, -1, "run");
  run->run = run_at(L, -1);
  lua_getfield(L, -2, "work_dir");
  run->work_dir = luaL_checkstring(L, -1);
  run->runtime = run_runtime(run->run);
  run->interrupt = run_interrupt(run->run);
  lua_pop(L, 2);
  run->held = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

static bool run_fill(struct skillrt *run, const struct skillrt_options *options,
                     struct error *error) {
  struct skillrt_host *host = run->host;
  bool own = options->own_state || (run->alone && options->memory_limit > 0);
  run->state = own ? &run->own : &host->state;
  if (own && !host_state_open(&run->own, host->sys, options->memory_limit, host->loop, error))
    return false;
  run->options = options;
  bool good = host_state_call(run->state, open_body, run, error);
  run->options = NULL;
  if (good) runtime_belongs(run->runtime, run);
  return good;
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
  run->held = LUA_NOREF;
  run->on_record = options->on_record;
  run->on_progress = options->on_progress;
  run->on_question = options->on_question;
  run->data = options->data;
  run->next = host->runs;
  run->link = &host->runs;
  if (run->next) run->next->link = &run->next;
  host->runs = run;
  return run;
}

EXPORT struct skillrt *skillrt_open(const struct skillrt_options *given, char *error, size_t size) {
  struct skillrt_options options;
  struct error why = {0};
  if (!hosted_options(&options, sizeof options, given, "skillrt_options", error, size)) return NULL;
  struct skillrt *run = run_new(&options, error, size);
  if (!run || run_fill(run, &options, &why)) return run;
  snprintf(error, size, "%s", why.text);
  skillrt_close(run);
  return NULL;
}

EXPORT void skillrt_close(struct skillrt *run) {
  if (!run) return;
  struct skillrt_host *host = run->host;
  bool alone = run->alone;
  *run->link = run->next;
  if (run->next) run->next->link = run->link;
  if (run->run) run_close(run->state->L, run->run);
  if (run->state && run->state->L) luaL_unref(run->state->L, LUA_REGISTRYINDEX, run->held);
  host_state_close(&run->own);
  sys_free(host->sys, run, sizeof *run);
  if (alone) skillrt_host_close(host);
}

EXPORT enum skillrt_state skillrt_step(struct skillrt *run) {
  return skillrt_stopped(run) || run_turn(run->run) ? SKILLRT_STOPPED : SKILLRT_RUNNING;
}

EXPORT bool skillrt_stopped(const struct skillrt *run) {
  return runtime_stopped(run->runtime);
}

EXPORT int skillrt_fd(const struct skillrt *run) {
  return loop_fd(run->host->loop);
}

EXPORT int skillrt_timeout_ms(const struct skillrt *run) {
  return loop_timeout_ms(run->host->loop);
}

EXPORT void skillrt_stop(struct skillrt *run) {
  interrupt_set(run->interrupt, "user_exit");
  runtime_stop(run->runtime, "user_exit");
}

/* ---- what became of it ---- */

EXPORT const char *skillrt_status(const struct skillrt *run) {
  return runtime_status(run->runtime);
}

EXPORT const char *skillrt_reason(const struct skillrt *run) {
  return runtime_reason(run->runtime);
}

static int named(const char *name, const char *const *names, int other) {
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0) return i;
  return other;
}

EXPORT enum skillrt_status_code skillrt_status_code(const struct skillrt *run) {
  static const char *const names[] = {"", "completed", "failed", "aborted", "paused", NULL};
  return (enum skillrt_status_code)named(skillrt_status(run), names, SKILLRT_GOING);
}

EXPORT enum skillrt_reason_code skillrt_reason_code(const struct skillrt *run) {
  static const char *const names[] = {"",
                                      " ",
                                      "task_completed",
                                      "all_phases_completed",
                                      "user_exit",
                                      "waiting_for_person",
                                      "waiting_for_event",
                                      "waiting_for_time",
                                      "needs_decision",
                                      "blocked",
                                      "no_action_selected",
                                      "no_progress",
                                      "max_iterations",
                                      "error_limit",
                                      "phase_failed",
                                      "action_failed",
                                      "run_timeout",
                                      "call_limit",
                                      "usage_limit",
                                      "strategy_error",
                                      "script_error",
                                      "output_failed",
                                      "store_failed",
                                      "store_lost",
                                      "sync_failed",
                                      "out_of_memory",
                                      "internal",
                                      NULL};
  return (enum skillrt_reason_code)named(skillrt_reason(run), names, SKILLRT_OTHER_REASON);
}

enum { ARGUMENTS = 3 };

struct wish {
  const struct skillrt *run;
  const char *name;
  const char *arguments[ARGUMENTS]; /* texts; NULL: nil */
  bool done;                        /* true is wanted, else a text */
  const char *text;
  size_t size;
};

/* Calls the function of that name in what host.open gave, and keeps its text there. */
static int wish_body(lua_State *L) {
  struct wish *wish = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, wish->run->held);
  lua_getfield(L, 2, wish->name);
  for (int i = 0; i < ARGUMENTS; i++)
    lua_pushstring(L, wish->arguments[i]);
  lua_call(L, ARGUMENTS, 2);
  if (wish->done && !lua_toboolean(L, 3)) return luaL_error(L, "%s", lua_tostring(L, 4));
  if (wish->done) return 0;
  wish->text = luaL_checklstring(L, 3, &wish->size);
  lua_settop(L, 3);
  lua_setfield(L, 2, "text");
  return 0;
}

static const char *host_text(const struct skillrt *run, const char *name, size_t *size) {
  struct wish wish = {.run = run, .name = name};
  struct error ignored;
  if (!host_state_call(run->state, wish_body, &wish, &ignored)) return NULL;
  if (size) *size = wish.size;
  return wish.text;
}

static bool host_tell(struct wish *wish, char *error, size_t size) {
  struct error why;
  wish->done = true;
  if (host_state_call(wish->run->state, wish_body, wish, &why)) return true;
  snprintf(error, size, "%s", why.text);
  return false;
}

EXPORT const char *skillrt_questions_json(struct skillrt *run, size_t *size) {
  return host_text(run, "questions_json", size);
}

EXPORT bool skillrt_answer(struct skillrt *run, long long question, const char *json,
                           const char *nonce, char *error, size_t size) {
  char number[32];
  snprintf(number, sizeof number, "%lld", question);
  struct wish wish = {.run = run, .name = "answer", .arguments = {number, json, nonce}};
  return host_tell(&wish, error, size);
}

EXPORT bool skillrt_event(struct skillrt *run, const char *name, const char *json, const char *id,
                          char *error, size_t size) {
  struct wish wish = {.run = run, .name = "event", .arguments = {name, json, id}};
  return host_tell(&wish, error, size);
}

EXPORT const char *skillrt_message(const struct skillrt *run) {
  const struct error *error = runtime_error(run->runtime);
  if (error && error->code != ERROR_NONE) return error->text;
  const char *text = host_text(run, "message", NULL);
  return text ? text : "";
}

EXPORT const char *skillrt_work_dir(const struct skillrt *run) {
  return run->work_dir;
}

EXPORT const char *skillrt_state_json(struct skillrt *run, size_t *size) {
  return host_text(run, "state_json", size);
}
