/* host_options.c: the options of skillrt.h: passes them to Lua, and copies those that a parked run
 * needs to be opened again. Called by host.c and skillrt.c. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/hosted.h"

/* The caller may be compiled with another version: members that it lacks are 0. */
bool hosted_options(void *to, size_t all, const void *from, const char *name, char *error,
                    size_t size) {
  size_t given = from ? *(const size_t *)from : 0;
  memset(to, 0, all);
  if (from && (given < sizeof(size_t) || given % sizeof(void *) != 0 || given > 4096)) {
    snprintf(error, size, "%s: size is %zu; set it to sizeof(struct %s)", name, given, name);
    return false;
  }
  if (from) memcpy(to, from, given < all ? given : all);
  return true;
}

/* ---- for Lua ---- */

static int deliver(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *json = luaL_checklstring(L, 1, &size);
  run->options.on_record(run->options.data, json, size);
  return 0;
}

static int ask(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *json = luaL_checklstring(L, 1, &size);
  run->options.on_question(run->options.data, json, size);
  return 0;
}

static int progress(lua_State *L) {
  struct skillrt *run = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *id = luaL_checkstring(L, 1), *bytes = luaL_checklstring(L, 2, &size);
  run->options.on_progress(run->options.data, id, bytes, size);
  return 0;
}

static void set_function(lua_State *L, const char *field, lua_CFunction function, void *data) {
  lua_pushlightuserdata(L, data);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, field);
}

static void set_text(lua_State *L, const char *field, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
}

static void set_flag(lua_State *L, const char *field, bool value) {
  if (!value) return;
  lua_pushboolean(L, value);
  lua_setfield(L, -2, field);
}

static void set_integer(lua_State *L, const char *field, int64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
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

static void set_texts(lua_State *L, const struct skillrt_options *o) {
  set_text(L, "script", o->script);
  set_text(L, "work_dir", o->work_dir);
  set_text(L, "input_json", o->input_json);
  set_text(L, "agent", o->agent);
  set_text(L, "strategy", o->strategy);
  set_text(L, "durability", o->durability);
  set_text(L, "sandbox", o->sandbox);
  set_text(L, "context", o->context);
  set_text(L, "answer", o->answer);
  set_text(L, "from", o->from);
  set_text(L, "decide", o->decide);
  set_text(L, "trust", o->trust);
  set_text(L, "log", o->log);
  set_text(L, "traces", o->traces);
  set_list(L, "args", o->args);
  set_list(L, "agent_env", o->agent_env);
  set_list(L, "limits", o->limits);
  set_list(L, "add", o->add);
}

static void set_flags(lua_State *L, const struct skillrt_options *o) {
  set_flag(L, "wait", o->wait);
  set_flag(L, "resume", o->resume);
  set_flag(L, "retry", o->retry);
  set_flag(L, "accept_changes", o->accept_changes);
  set_flag(L, "accept_edits", o->accept_edits);
  set_flag(L, "yes", o->yes);
  set_flag(L, "dry_run", o->dry_run);
  set_flag(L, "strict", o->strict);
}

/* By how much the wall clock was put back since the run was parked. */
static int64_t shift_ms(const struct skillrt *run) {
  const struct sys *sys = run->host->sys;
  int64_t passed = (sys->mono_ns(sys) - run->parked_ns) / 1000000;
  return run->parked_ms + passed - sys->wall_ms(sys);
}

void hosted_push(lua_State *L, struct skillrt *run) {
  const struct skillrt_options *o = &run->options;
  lua_createtable(L, 0, 16);
  set_texts(L, o);
  set_flags(L, o);
  set_text(L, "http_module", o->http_module ? o->http_module : run->host->http_module);
  set_flag(L, "shared", run->state == &run->host->state && !run->alone);
  if (!run->alone && run->host->park_ms >= 0) set_integer(L, "park_ms", run->host->park_ms);
  if (run->place == PLACE_PARKED) set_integer(L, "shift", shift_ms(run));
  if (o->script_text) {
    lua_pushlstring(L, o->script_text, o->script_size);
    lua_setfield(L, -2, "script_text");
  }
  if (o->on_record) set_function(L, "on_record", deliver, run);
  if (o->on_progress) set_function(L, "on_progress", progress, run);
  if (o->on_question) set_function(L, "on_question", ask, run);
  lua_pushlightuserdata(L, &run->interrupt);
  lua_setfield(L, -2, "interrupt");
}

/* ---- kept ---- */

char *hosted_copy(const struct skillrt_host *host, const char *text) {
  char *copy = text ? sys_alloc(host->sys, strlen(text) + 1) : NULL;
  if (copy) strcpy(copy, text);
  return copy;
}

void hosted_free(const struct skillrt_host *host, char *text) {
  if (text) sys_free(host->sys, text, strlen(text) + 1);
}

static void text_leave(const struct skillrt_host *host, struct given_text *text) {
  if (text && --text->users == 0) sys_free(host->sys, text, sizeof *text + text->size);
}

/* The host itself uses the newest one. */
static struct given_text *text_keep(struct skillrt_host *host, const char *bytes, size_t size) {
  struct given_text *text = host->newest;
  if (!text || text->size != size || memcmp(text->text, bytes, size) != 0) {
    text = sys_alloc(host->sys, sizeof *text + size);
    if (!text) return NULL;
    text->size = size;
    memcpy(text->text, bytes, size);
    text->users = 1;
    text_leave(host, host->newest);
    host->newest = text;
  }
  text->users++;
  return text;
}

static bool keep_text(const struct skillrt_host *host, const char **to, const char *text) {
  *to = hosted_copy(host, text);
  return *to || !text;
}

static bool keep_list(const struct skillrt_host *host, const char *const **to,
                      const char *const *list) {
  size_t count = 0;
  while (list && list[count])
    count++;
  if (count == 0) return true;
  const char **copy = sys_alloc(host->sys, (count + 1) * sizeof *copy);
  if (!copy) return false;
  *to = copy;
  for (size_t i = 0; i < count; i++)
    if (!keep_text(host, &copy[i], list[i])) return false;
  return true;
}

bool hosted_keep(struct skillrt *run, struct error *error) {
  struct skillrt_host *host = run->host;
  const struct skillrt_options given = run->options;
  run->options = (struct skillrt_options){.size = sizeof given,
                                          .wait = given.wait,
                                          .own_state = given.own_state,
                                          .memory_limit = given.memory_limit,
                                          .lua_ms = given.lua_ms,
                                          .dry_run = given.dry_run,
                                          .on_record = given.on_record,
                                          .on_progress = given.on_progress,
                                          .on_question = given.on_question,
                                          .data = given.data};
  run->kept = true;
  if (run->alone) return true;
  run->options.work_dir = run->work_dir;
  run->options.resume = true;
  bool good = keep_text(host, &run->options.agent, given.agent) &&
              keep_text(host, &run->options.http_module, given.http_module) &&
              keep_text(host, &run->options.decide, given.decide) &&
              keep_text(host, &run->options.log, given.log) &&
              keep_text(host, &run->options.traces, given.traces) &&
              keep_list(host, &run->options.agent_env, given.agent_env);
  if (good && given.script_text) {
    run->text = text_keep(host, given.script_text, given.script_size);
    good = run->text && keep_text(host, &run->options.script, given.script);
    run->options.script_text = run->text ? run->text->text : NULL;
    run->options.script_size = given.script_size;
  }
  return good || error_set(error, ERROR_MEMORY, "not enough memory");
}

void hosted_forget(struct skillrt *run) {
  const struct skillrt_host *host = run->host;
  const struct skillrt_options *o = &run->options;
  if (!run->kept || run->alone) return;
  size_t count = 0;
  for (; o->agent_env && o->agent_env[count]; count++)
    hosted_free(host, (char *)(uintptr_t)o->agent_env[count]);
  if (o->agent_env)
    sys_free(host->sys, (void *)(uintptr_t)o->agent_env, (count + 1) * sizeof *o->agent_env);
  hosted_free(host, (char *)(uintptr_t)o->agent);
  hosted_free(host, (char *)(uintptr_t)o->http_module);
  hosted_free(host, (char *)(uintptr_t)o->decide);
  hosted_free(host, (char *)(uintptr_t)o->log);
  hosted_free(host, (char *)(uintptr_t)o->traces);
  hosted_free(host, (char *)(uintptr_t)o->script);
  text_leave(host, run->text);
}
