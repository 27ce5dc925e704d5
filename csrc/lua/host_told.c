/* host_told.c: status, questions, answers and events of a run, open or parked.
 *
 * Everything that could raise happens inside a protected call of lua/skillrt/cli/host.lua. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "engine/runtime.h"
#include "lua/hosted.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- its result ---- */

EXPORT const char *skillrt_status(const struct skillrt *run) {
  if (run->place == PLACE_PARKED) return "";
  return run->runtime ? runtime_status(run->runtime) : run->status;
}

EXPORT const char *skillrt_reason(const struct skillrt *run) {
  if (run->place == PLACE_PARKED) return "";
  return run->runtime ? runtime_reason(run->runtime) : run->reason;
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
                                      "step_timeout",
                                      "out_of_time",
                                      NULL};
  return (enum skillrt_reason_code)named(skillrt_reason(run), names, SKILLRT_OTHER_REASON);
}

enum { ARGUMENTS = 3 };

struct wish {
  struct skillrt *run;
  const char *name;
  const char *arguments[ARGUMENTS]; /* texts; NULL: nil */
  bool done;                        /* true is wanted, else a text */
  bool lies;                        /* and the arrival is in the inbox */
  const char *text;
  size_t size;
};

/* Calls the function of that name in skillrt.cli.host with the run's object or, where the run is
 * not open, with its folder; a returned text is valid until the next call. */
static int wish_body(lua_State *L) {
  struct wish *wish = lua_touserdata(L, 1);
  struct skillrt *run = wish->run;
  host_state_push(L, wish->name);
  if (run->runtime)
    lua_rawgeti(L, LUA_REGISTRYINDEX, run->held);
  else
    lua_pushstring(L, run->work_dir);
  for (int i = 0; i < ARGUMENTS; i++)
    lua_pushstring(L, wish->arguments[i]);
  lua_call(L, 1 + ARGUMENTS, 2);
  if (wish->done && !lua_toboolean(L, 2)) return luaL_error(L, "%s", lua_tostring(L, 3));
  wish->lies = wish->done && lua_toboolean(L, 3);
  if (wish->done) return 0;
  wish->text = luaL_checklstring(L, 2, &wish->size);
  lua_settop(L, 2);
  luaL_unref(L, LUA_REGISTRYINDEX, run->told);
  run->told = LUA_NOREF;
  run->told = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

static bool grant(struct wish *wish, struct error *error) {
  struct skillrt *run = wish->run;
  return host_state_call(run->runtime ? run->state : &run->host->state, wish_body, wish, error);
}

static const char *host_text(const struct skillrt *run, const char *name, size_t *size) {
  struct wish wish = {.run = (struct skillrt *)(uintptr_t)run, .name = name};
  struct error ignored;
  if (!grant(&wish, &ignored)) return NULL;
  if (size) *size = wish.size;
  return wish.text;
}

/* An answer or event for a parked run is put into its inbox, and wakes the run. */
static bool host_tell(struct wish *wish, char *error, size_t size) {
  struct error why;
  wish->done = true;
  if (grant(wish, &why)) {
    if (wish->run->place == PLACE_PARKED) parked_look(wish->run);
    wish->run->given = wish->run->given || wish->lies;
    return true;
  }
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
  const struct error *error = run->runtime ? runtime_error(run->runtime) : NULL;
  if (run->trouble) return run->trouble;
  if (error && error->code != ERROR_NONE) return error->text;
  const char *text = host_text(run, "message", NULL);
  return text ? text : "";
}

EXPORT bool skillrt_parked(const struct skillrt *run) {
  return run->place == PLACE_PARKED;
}

EXPORT const char *skillrt_work_dir(const struct skillrt *run) {
  return run->work_dir;
}

EXPORT const char *skillrt_state_json(struct skillrt *run, size_t *size) {
  return host_text(run, "state_json", size);
}
