/* script.c: see script.h. The five questions, asked of Lua; knows no JSON and no files. */
#include "lua/script.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/ask.h"
#include "lua/bind.h"
#include "lua/script_read.h"
#include "lua/task_table.h"

enum { RECORD_MAX = 128 << 20 }; /* with its head, on its way; the store allows less */

/* ---- inside the protected call ---- */

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
    ask_check(L, store->ops->blob_put(store, luaL_checkstring(L, -2), value, &question->error),
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
    ask_check(L, batch_add(question->out, text, size, &question->error), &question->error);
    lua_pop(L, 1);
  }
  forget(L, count);
  lua_pop(L, 1);
}

static int load_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
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
  struct question *question = ask_begin(L, &self);
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
  struct question *question = ask_begin(L, &self);
  lua_pushinteger(L, (lua_Integer)question->number);
  lua_call(L, 2, 1);
  task_table_read(L, -1, question->task);
  take_records(L, self, question);
  return 0;
}

static int accept_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
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
  struct question *question = ask_begin(L, &self);
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
    ask_check(L, store->ops->view(store, luaL_checkstring(L, -2), content, &question->error),
              &question->error);
    lua_pop(L, 3);
  }
  return 0;
}

/* A notice: a number or a text or both, no answer. */
static int notice_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
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

static bool script_load(void *self, struct store *store, struct batch *out, struct error *error) {
  struct script *script = self;
  uint64_t records;
  script->store = store;
  if (!script_read(script, &records, error)) return false;
  struct question question = {.script = script, .method = "load", .number = records, .out = out};
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

/* read_record(seq) -> payload, or nil, message, code; upvalue: as above. */
static int read_record(lua_State *L) {
  struct script **box = lua_touserdata(L, lua_upvalueindex(1));
  lua_Integer seq = luaL_checkinteger(L, 1);
  struct error error = {0};
  luaL_argcheck(L, seq >= 0, 1, "a record's number");
  struct buffer *payload = bind_buffer(L, RECORD_MAX);
  struct store *store = *box ? (*box)->store : NULL;
  if (!store) return luaL_error(L, "read_record: the run is closed");
  if (!store->ops->record(store, (uint64_t)seq, payload, &error)) return bind_fail(L, &error);
  lua_pushlstring(L, payload->data ? payload->data : "", payload->length);
  buffer_clear(payload);
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
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, read_blob, 1); /* takes a box, as the next does */
  lua_setfield(L, at, "read_blob");
  lua_pushcclosure(L, read_record, 1);
  lua_setfield(L, at, "read_record");
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
