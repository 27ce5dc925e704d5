/* script.c: see script.h. The five questions, asked of Lua; knows no JSON and no files. */
#include "lua/script.h"

#include <assert.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/bind.h"
#include "lua/raised.h"
#include "lua/task_table.h"

/* One question on its way through the protected call. */
struct question {
  struct script *script;
  const char *method;
  uint64_t number; /* step or seq */
  struct batch *out;
  const struct reply *reply;
  struct span bytes;
  struct decision *decision;
  struct task *task;
  enum verdict *verdict;
  struct store *store;
  const char *why;
  bool own;           /* none of a script's functions is called: it takes the time it takes */
  struct error error; /* of C calls made inside */
};

/* ---- errors ---- */

static int add_traceback(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING) return 1;
  luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

static bool ask(struct question *question, lua_CFunction body, struct error *error) {
  struct script *script = question->script;
  lua_State *L = script->L;
  if (!lua_checkstack(L, 24))
    return error_set(error, ERROR_MEMORY, "not enough memory for the script");
  if (!limits_enter(script->limits, L))
    return error_set(error, ERROR_LIMIT, "runs nested too deep");
  int top = lua_gettop(L);
  lua_sethook(L, NULL, 0, 0);
  if (!question->own) limits_bound(script->limits, L);
  lua_pushcfunction(L, add_traceback);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, question);
  int status = lua_pcall(L, 1, 0, top + 1);
  if (status != LUA_OK) raised_take(L, status, error);
  if (status != LUA_OK && error->code == ERROR_STOPPED && limits_interrupted(script->limits)) {
    limits_calm(script->limits); /* before L is left: what it is asked next, it has to answer */
    limits_notice(script->limits);
  }
  limits_leave(script->limits);
  lua_settop(L, top);
  return status == LUA_OK;
}

/* ---- inside the protected call ---- */

static struct question *begin(lua_State *L, int *self) {
  struct question *question = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, question->script->table);
  *self = lua_gettop(L);
  lua_getfield(L, *self, question->method);
  lua_pushvalue(L, *self);
  return question;
}

static void check(lua_State *L, bool ok, const struct error *error) {
  if (ok) return;
  lua_createtable(L, 0, 2);
  lua_pushstring(L, error->text);
  lua_setfield(L, -2, "message");
  lua_pushstring(L, error_name(error->code));
  lua_setfield(L, -2, "code");
  lua_error(L);
}

static void forget(lua_State *L, lua_Integer count) {
  for (lua_Integer i = count; i >= 1; i--) {
    lua_pushnil(L);
    lua_rawseti(L, -2, i);
  }
}

/* blobs = { { digest, text } ... }: kept before the records that name them. When one cannot be
 * kept all stay for the next question: one that is there already is not written again. */
static void take_blobs(lua_State *L, int self, struct question *question) {
  lua_getfield(L, self, "blobs");
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    struct span value;
    value.data = luaL_checklstring(L, -1, &value.length);
    struct store *store = question->script->store;
    check(L, store->ops->blob_put(store, luaL_checkstring(L, -2), value, &question->error),
          &question->error);
    lua_pop(L, 3);
  }
  forget(L, count);
  lua_pop(L, 1);
}

/* Last in a question: what failed before leaves its records to the next one, as the books
 * know of them already, and nothing that fails behind it makes the engine forget them. */
static void take_records(lua_State *L, int self, struct question *question) {
  lua_getfield(L, self, "out");
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  if (count > 0) take_blobs(L, self, question);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    size_t size;
    const char *text = luaL_checklstring(L, -1, &size);
    check(L, batch_add(question->out, text, size, &question->error), &question->error);
    lua_pop(L, 1);
  }
  forget(L, count);
  lua_pop(L, 1);
}

static int record_body(lua_State *L) {
  int self;
  struct question *question = begin(L, &self);
  lua_pushlstring(L, question->bytes.data, question->bytes.length);
  lua_pushinteger(L, (lua_Integer)question->number);
  lua_call(L, 3, 0);
  return 0;
}

static int load_body(lua_State *L) {
  int self;
  struct question *question = begin(L, &self);
  lua_pushboolean(L, question->number == 0);
  lua_call(L, 2, 0);
  if (lua_getfield(L, self, "repeatable") == LUA_TBOOLEAN)
    question->script->policy.repeatable = lua_toboolean(L, -1);
  take_records(L, self, question);
  return 0;
}

/* The numbers live in a userdata of the policy's, which is used again while it is large enough. */
static uint64_t *room_for_steps(lua_State *L, int self, struct script *script, size_t count) {
  if (count > script->steps_room) {
    size_t room = 2 * count + 6;
    uint64_t *steps = lua_newuserdatauv(L, room * sizeof *steps, 0);
    lua_setfield(L, self, "_steps");
    script->steps = steps;
    script->steps_room = room;
  }
  return script->steps;
}

static void read_steps(lua_State *L, int self, struct question *question) {
  luaL_checktype(L, -2, LUA_TTABLE);
  lua_Integer count = luaL_len(L, -2);
  uint64_t *steps = room_for_steps(L, self, question->script, (size_t)count);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -2, i);
    steps[i - 1] = (uint64_t)luaL_checkinteger(L, -1);
    lua_pop(L, 1);
  }
  question->decision->steps = steps;
  question->decision->count = (size_t)count;
}

static int choose_body(lua_State *L) {
  int self;
  struct question *question = begin(L, &self);
  lua_call(L, 1, 3);
  static const char *const kinds[] = {"perform", "start", "wait", "stop", NULL};
  static const enum decision_kind values[] = {DECIDE_PERFORM, DECIDE_START, DECIDE_WAIT,
                                              DECIDE_STOP};
  struct decision *decision = question->decision;
  decision->kind = values[luaL_checkoption(L, -3, NULL, kinds)];
  switch (decision->kind) {
  case DECIDE_PERFORM:
  case DECIDE_START:
    read_steps(L, self, question);
    break;
  case DECIDE_WAIT:
    break;
  case DECIDE_STOP:
    snprintf(decision->status, sizeof decision->status, "%s", luaL_checkstring(L, -2));
    snprintf(decision->reason, sizeof decision->reason, "%s", luaL_optstring(L, -1, ""));
  }
  take_records(L, self, question);
  return 0;
}

static int request_body(lua_State *L) {
  int self;
  struct question *question = begin(L, &self);
  lua_pushinteger(L, (lua_Integer)question->number);
  lua_call(L, 2, 1);
  task_table_read(L, -1, question->task);
  take_records(L, self, question);
  return 0;
}

static int accept_body(lua_State *L) {
  int self;
  struct question *question = begin(L, &self);
  lua_pushinteger(L, (lua_Integer)question->number);
  if (question->reply)
    task_table_push_reply(L, question->reply);
  else
    lua_pushnil(L);
  lua_call(L, 3, 1);
  static const char *const verdicts[] = {"done", "exchange", "keep", NULL};
  static const enum verdict values[] = {VERDICT_DONE, VERDICT_EXCHANGE, VERDICT_KEEP};
  *question->verdict = values[luaL_checkoption(L, -1, NULL, verdicts)];
  take_records(L, self, question);
  return 0;
}

static int save_body(lua_State *L) {
  int self;
  struct question *question = begin(L, &self);
  lua_pushinteger(L, (lua_Integer)question->number);
  lua_call(L, 2, 1);
  lua_Integer count = luaL_len(L, -1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    struct span content;
    content.data = luaL_checklstring(L, -1, &content.length);
    struct store *store = question->store;
    check(L, store->ops->view(store, luaL_checkstring(L, -2), content, &question->error),
          &question->error);
    lua_pop(L, 3);
  }
  return 0;
}

/* A notice: a number or a text or both, no answer. */
static int notice_body(lua_State *L) {
  int self;
  struct question *question = begin(L, &self);
  int count = 1;
  if (question->why) {
    lua_pushstring(L, question->why);
    count++;
  } else {
    lua_pushinteger(L, (lua_Integer)question->number);
    count++;
    if (question->bytes.data) {
      lua_pushlstring(L, question->bytes.data, question->bytes.length);
      count++;
    }
  }
  lua_call(L, count, 0);
  if (question->out) take_records(L, self, question);
  return 0;
}

/* ---- struct policy ---- */

struct reading {
  struct question question;
  uint64_t count;
};

static bool read_record(void *data, const struct record *record, struct error *error) {
  struct reading *reading = data;
  reading->question.bytes = record->payload;
  reading->question.number = record->seq;
  reading->count++;
  return ask(&reading->question, record_body, error);
}

static bool script_load(void *self, struct store *store, struct batch *out, struct error *error) {
  struct script *script = self;
  script->store = store;
  struct reading reading = {.question = {.script = script, .method = "record"}};
  if (!store->ops->read(store, read_record, &reading, error)) return false;
  struct question question = {
      .script = script, .method = "load", .number = reading.count, .out = out};
  return ask(&question, load_body, error);
}

static bool script_choose(void *self, struct batch *out, struct decision *decision,
                          struct error *error) {
  struct question question = {.script = self, .method = "choose", .out = out, .decision = decision};
  return ask(&question, choose_body, error);
}

static bool script_request(void *self, uint64_t step, struct task *task, struct batch *out,
                           struct error *error) {
  struct question question = {
      .script = self, .method = "request", .number = step, .out = out, .task = task};
  return ask(&question, request_body, error);
}

static bool script_accept(void *self, uint64_t step, const struct reply *reply, struct batch *out,
                          enum verdict *verdict, struct error *error) {
  struct question question = {.script = self,
                              .method = "accept",
                              .number = step,
                              .out = out,
                              .reply = reply,
                              .verdict = verdict};
  return ask(&question, accept_body, error);
}

static bool script_save(void *self, uint64_t seq, struct store *store, struct error *error) {
  struct question question = {
      .script = self, .method = "save", .number = seq, .store = store, .own = true};
  return ask(&question, save_body, error);
}

static void script_durable(void *self, uint64_t seq, bool begun) {
  struct question question = {.script = self, .method = "durable", .number = seq, .own = true};
  if (begun) question.bytes = (struct span){"begun", 5};
  struct error ignored;
  ask(&question, notice_body, &ignored);
}

static void script_progress(void *self, uint64_t step, struct span bytes) {
  struct question question = {.script = self, .method = "progress", .number = step, .bytes = bytes};
  struct error ignored;
  if (bytes.length) ask(&question, notice_body, &ignored);
}

static void script_tick(void *self) {
  struct question question = {.script = self, .method = "tick"};
  struct error ignored;
  ask(&question, notice_body, &ignored);
}

static void script_stop(void *self, const char *why) {
  struct script *script = self;
  struct question question = {.script = script, .method = "stop", .why = why, .own = true};
  struct error ignored;
  limits_calm(script->limits);
  limits_notice(script->limits);
  ask(&question, notice_body, &ignored);
}

/* read_blob(digest) -> text, or nil, message, code; upvalue: a box with the script, empty once
 * that is gone. */
static int read_blob(lua_State *L) {
  struct script **box = lua_touserdata(L, lua_upvalueindex(1));
  const char *digest = luaL_checkstring(L, 1);
  struct error error = {0};
  struct buffer *value = bind_buffer(L, (size_t)1 << 30);
  struct store *store = *box ? (*box)->store : NULL;
  if (!store) return luaL_error(L, "read_blob: the run is closed");
  if (!store->ops->blob_get(store, digest, value, &error)) return bind_fail(L, &error);
  lua_pushlstring(L, value->data ? value->data : "", value->length);
  buffer_clear(value);
  return 1;
}

/* Any of these may raise: what was taken until then is given back by script_clear. */
void script_init(struct script *script, lua_State *L, int at) {
  *script = (struct script){.anchor = LUA_NOREF, .table = LUA_NOREF, .kept = LUA_NOREF};
  luaL_checktype(L, at, LUA_TTABLE);
  lua_pushvalue(L, at);
  script->table = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_State *thread = lua_newthread(L);
  script->anchor = luaL_ref(L, LUA_REGISTRYINDEX);
  script->L = thread;
  script->limits = limits_of(L);
  struct script **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  lua_pushvalue(L, -1);
  script->kept = luaL_ref(L, LUA_REGISTRYINDEX);
  script->box = box;
  *box = script;
  script->policy = (struct policy){.self = script,
                                   .load = script_load,
                                   .choose = script_choose,
                                   .request = script_request,
                                   .accept = script_accept,
                                   .save = script_save,
                                   .durable = script_durable,
                                   .progress = script_progress,
                                   .stop = script_stop};
  lua_pushcclosure(L, read_blob, 1); /* takes the box */
  lua_setfield(L, at, "read_blob");
  if (lua_getfield(L, at, "tick") == LUA_TFUNCTION) script->policy.tick = script_tick;
  lua_pop(L, 1);
}

void script_clear(struct script *script, lua_State *L) {
  if (script->box) *script->box = NULL;
  luaL_unref(L, LUA_REGISTRYINDEX, script->kept);
  luaL_unref(L, LUA_REGISTRYINDEX, script->anchor);
  luaL_unref(L, LUA_REGISTRYINDEX, script->table);
  script->anchor = script->table = script->kept = LUA_NOREF;
  script->box = NULL;
  script->store = NULL;
}
