/* script.c: see script.h. The five questions, asked of Lua; knows no JSON and no files. */
#include "lua/script.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/ask.h"
#include "lua/bind.h"
#include "lua/script_read.h"
#include "lua/task_table.h"

enum { RECORD_MAX = 128 << 20 }; /* of a record with its head; the store allows less */

/* ---- inside the protected call ---- */

static void forget(lua_State *L, lua_Integer count) {
  for (lua_Integer i = count; i >= 1; i--) {
    lua_pushnil(L);
    lua_rawseti(L, -2, i);
  }
}

/* blobs = { { digest, text } ... }: of the records of the same batch. */
static void take_blobs(lua_State *L, struct question *question) {
  lua_pushvalue(L, AT_BLOBS);
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    struct span value;
    value.data = luaL_checklstring(L, -1, &value.length);
    struct error *said = &question->script->said;
    ask_check(L, batch_blob(question->out, luaL_checkstring(L, -2), value, said), said);
    lua_pop(L, 3);
  }
  forget(L, count);
  lua_pop(L, 1);
}

/* Called last in a question: if the question fails before, its records stay in the policy's list
 * for the next one, because the policy counts them as recorded; nothing after it can fail. */
static void take_records(lua_State *L, struct question *question) {
  lua_pushvalue(L, AT_OUT);
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  if (count > 0) take_blobs(L, question);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    size_t size;
    const char *text = luaL_checklstring(L, -1, &size);
    struct error *said = &question->script->said;
    ask_check(L, batch_add(question->out, text, size, said), said);
    lua_pop(L, 1);
  }
  forget(L, count);
  lua_pop(L, 1);
}

/* How long Lua may run: policy.stretch_ms without yielding, policy.left_ms in all from now on; nil:
 * no limit. */
static void allow(lua_State *L, int self, struct script *script) {
  int64_t ns[2];
  static const char *const names[] = {"stretch_ms", "left_ms"};
  for (int i = 0; i < 2; i++) {
    bool is_bound = lua_getfield(L, self, names[i]) != LUA_TNIL;
    ns[i] = is_bound ? (int64_t)luaL_checkinteger(L, -1) * 1000000 + 1 : 0;
    lua_pop(L, 1);
  }
  if (ns[1]) ns[1] += sys_real()->mono_ns(sys_real());
  if (ns[0] || ns[1]) limits_allow(script->limits, script->interrupt, ns[0], ns[1]);
}

static int load_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  const struct store_report *report = &question->script->store->report;
  lua_pushboolean(L, question->number == 0);
  lua_pushstring(L, report->cut_doubtful ? "" : report->cut_file);
  lua_call(L, 3, 0);
  take_records(L, question);
  allow(L, self, question->script);
  return 0;
}

enum { LIST_PERFORM, LIST_START, LIST_CANCEL, LISTS };

/* All numbers of a decision are in a userdata of the policy, which is reused while it is large
 * enough. */
static uint64_t *room_for_numbers(lua_State *L, int self, struct script *script, size_t count) {
  if (count > script->numbers_room) {
    size_t room = 2 * count + 6;
    uint64_t *numbers = lua_newuserdatauv(L, room * sizeof *numbers, 0);
    lua_setfield(L, self, "_numbers");
    script->numbers = numbers;
    script->numbers_room = room;
  }
  return script->numbers;
}

static size_t list_length(lua_State *L, int at) {
  if (lua_isnil(L, at)) return 0;
  luaL_checktype(L, at, LUA_TTABLE);
  return lua_rawlen(L, at);
}

/* Removes each item that it reads, so that the policy can fill the list again. */
static void read_numbers(lua_State *L, int at, uint64_t *to, size_t count) {
  for (size_t i = count; i-- > 0;) {
    lua_rawgeti(L, at, (lua_Integer)i + 1);
    to[i] = (uint64_t)luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    lua_pushnil(L);
    lua_rawseti(L, at, (lua_Integer)i + 1);
  }
}

/* Three lists from `at` on, each may be nil. */
static void read_lists(lua_State *L, int at, int self, struct question *question) {
  size_t counts[LISTS], all = 0;
  for (int i = 0; i < LISTS; i++)
    all += counts[i] = list_length(L, at + i);
  if (all == 0) return;
  uint64_t *numbers = room_for_numbers(L, self, question->script, all);
  struct decision *decision = question->decision;
  struct numbers *const lists[LISTS] = {&decision->perform, &decision->start, &decision->cancel};
  for (int i = 0; i < LISTS; numbers += counts[i++]) {
    read_numbers(L, at + i, numbers, counts[i]);
    *lists[i] = (struct numbers){numbers, counts[i]};
  }
}

/* "go", performs, starts, cancels, wait_ms, events, load; or "stop", status, reason, due, about */
static int choose_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  lua_call(L, 1, 7);
  static const char *const kinds[] = {"go", "stop", NULL};
  static const enum decision_kind values[] = {DECIDE_GO, DECIDE_STOP};
  struct decision *decision = question->decision;
  int answer = AT_BLOBS + 1;
  decision->kind = values[luaL_checkoption(L, answer, NULL, kinds)];
  if (decision->kind == DECIDE_STOP) {
    snprintf(decision->status, sizeof decision->status, "%s", luaL_checkstring(L, answer + 1));
    snprintf(decision->reason, sizeof decision->reason, "%s", luaL_optstring(L, answer + 2, ""));
    decision->due = (int64_t)luaL_optinteger(L, answer + 3, 0);
    size_t length;
    const char *about = luaL_optlstring(L, answer + 4, "", &length);
    if (length < sizeof decision->about) memcpy(decision->about, about, length + 1);
  } else {
    read_lists(L, answer + 1, self, question);
    decision->wait_ms = (int64_t)luaL_optinteger(L, answer + 4, -1);
    decision->events = lua_toboolean(L, answer + 5);
    decision->load = lua_toboolean(L, answer + 6);
  }
  take_records(L, question);
  return 0;
}

static int request_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  lua_pushinteger(L, (lua_Integer)question->number);
  lua_call(L, 2, 1);
  task_table_read(L, -1, question->task);
  take_records(L, question);
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
  lua_call(L, 3, 2);
  static const char *const verdicts[] = {"over", "again", NULL};
  static const enum verdict values[] = {VERDICT_OVER, VERDICT_AGAIN};
  *question->verdict = values[luaL_checkoption(L, -2, NULL, verdicts)];
  *question->after_ms = (int64_t)luaL_optinteger(L, -1, 0);
  take_records(L, question);
  return 0;
}

static int event_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  lua_pushstring(L, question->why);
  lua_pushlstring(L, question->bytes.data, question->bytes.length);
  lua_call(L, 3, 0);
  take_records(L, question);
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
    struct error *said = &question->script->said;
    ask_check(L, store->ops->view(store, luaL_checkstring(L, -2), content, said), said);
    lua_pop(L, 3);
  }
  return 0;
}

static int awaits_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  lua_pushinteger(L, (lua_Integer)question->number);
  lua_pushlstring(L, question->bytes.data, question->bytes.length);
  lua_call(L, 3, 1);
  question->awaited = lua_toboolean(L, -1);
  return 0;
}

/* A notice: a word, or a number and maybe bytes; no answer. */
static int notice_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  int count = 1;
  if (question->why) {
    lua_pushstring(L, question->why);
  } else {
    lua_pushinteger(L, (lua_Integer)question->number);
  }
  count++;
  if (question->bytes.data) {
    lua_pushlstring(L, question->bytes.data, question->bytes.length);
    count++;
  }
  lua_call(L, count, 0);
  if (question->out) take_records(L, question);
  return 0;
}

/* ---- struct policy ---- */

/* The first time it gets the records, and what the store reports of them. */
static bool ask_load(struct script *script, struct batch *out, struct error *error) {
  struct question question = {.script = script, .method = "reload", .out = out};
  if (script->loaded) return ask(&question, notice_body, error);
  question.method = "load";
  script->loaded = true;
  return script_read(script, &question.number, error) && ask(&question, load_body, error);
}

static bool script_load(void *self, struct store *store, struct batch *out, struct error *error) {
  struct script *script = self;
  script->store = store;
  bool ok = ask_load(script, out, error);
  script->store = NULL;
  return ok;
}

static bool script_choose(void *self, struct batch *out, struct decision *decision,
                          struct error *error) {
  struct question question = {.script = self, .method = "choose", .out = out, .decision = decision};
  return ask(&question, choose_body, error);
}

static bool script_request(void *self, uint64_t number, struct task *task, struct batch *out,
                           struct error *error) {
  struct question question = {
      .script = self, .method = "request", .number = number, .out = out, .task = task};
  return ask(&question, request_body, error);
}

static bool script_accept(void *self, uint64_t number, const struct reply *reply, struct batch *out,
                          enum verdict *verdict, int64_t *after_ms, struct error *error) {
  struct question question = {.script = self,
                              .method = "accept",
                              .number = number,
                              .out = out,
                              .reply = reply,
                              .verdict = verdict,
                              .after_ms = after_ms};
  return ask(&question, accept_body, error);
}

static bool script_event(void *self, const char *source, struct span bytes, struct batch *out,
                         struct error *error) {
  struct question question = {
      .script = self, .method = "event", .out = out, .why = source, .bytes = bytes};
  return ask(&question, event_body, error);
}

static bool script_save(void *self, uint64_t seq, struct store *store, struct error *error) {
  struct question question = {
      .script = self, .method = "save", .number = seq, .store = store, .own = true};
  return ask(&question, save_body, error);
}

/* Where the policy cannot be asked, the message is kept, because it may be awaited. */
static bool script_awaits(void *self, uint64_t number, struct span message) {
  struct question question = {
      .script = self, .method = "awaits", .number = number, .bytes = message, .own = true};
  struct error ignored;
  return !ask(&question, awaits_body, &ignored) || question.awaited;
}

static void script_durable(void *self, uint64_t seq) {
  if (!ask_has_news(self)) return;
  struct question question = {.script = self, .method = "durable", .number = seq, .own = true};
  struct error ignored;
  ask(&question, notice_body, &ignored);
}

static void script_progress(void *self, uint64_t number, struct span bytes) {
  struct question question = {
      .script = self, .method = "progress", .number = number, .bytes = bytes};
  struct error ignored;
  ask(&question, notice_body, &ignored);
}

static void script_tick(void *self) {
  struct question question = {.script = self, .method = "tick"};
  struct error ignored;
  ask(&question, notice_body, &ignored);
}

static void script_stop(void *self, const char *why) {
  struct script *script = self;
  const char *said =
      interrupt_why(script->interrupt); /* a limit's reason, which the engine does not know yet */
  if (said && strcmp(why, "user_exit") == 0) why = said;
  struct question question = {.script = script, .method = "stop", .why = why, .own = true};
  struct error ignored;
  if (script->interrupt->where[0])
    question.bytes = (struct span){script->interrupt->where, strlen(script->interrupt->where)};
  limits_calm(script->limits, script->interrupt);
  interrupt_notice(script->interrupt);
  ask(&question, notice_body, &ignored);
}

static struct store *readable_store(lua_State *L, struct error *error) {
  struct script **box = lua_touserdata(L, lua_upvalueindex(1));
  struct store *store = *box ? (*box)->store : NULL;
  if (!store) error_set(error, ERROR_INVALID, "the store is read only while load is asked");
  return store;
}

/* read_blob(digest) -> text, or nil, message, code; upvalue: a box with the script, empty once
 * that is gone. */
static int read_blob(lua_State *L) {
  const char *digest = luaL_checkstring(L, 1);
  struct error error = {0};
  struct buffer *value = bind_buffer(L, (size_t)1 << 30);
  struct store *store = readable_store(L, &error);
  if (!store || !store->ops->blob_get(store, digest, value, &error)) return bind_fail(L, &error);
  lua_pushlstring(L, value->data ? value->data : "", value->length);
  buffer_clear(value);
  return 1;
}

/* read_record(seq) -> payload, or nil, message, code; upvalue: as above. */
static int read_record(lua_State *L) {
  lua_Integer seq = luaL_checkinteger(L, 1);
  struct error error = {0};
  luaL_argcheck(L, seq >= 0, 1, "a record's number");
  struct buffer *payload = bind_buffer(L, RECORD_MAX);
  struct store *store = readable_store(L, &error);
  if (!store || !store->ops->record(store, (uint64_t)seq, payload, &error))
    return bind_fail(L, &error);
  lua_pushlstring(L, payload->data ? payload->data : "", payload->length);
  buffer_clear(payload);
  return 1;
}

/* Any of these may raise; script_clear frees what was allocated until then. */
void script_init(struct script *script, lua_State *L, int at, struct interrupt *interrupt,
                 bool inside) {
  *script = (struct script){.anchor = LUA_NOREF, .kept = LUA_NOREF};
  luaL_checktype(L, at, LUA_TTABLE);
  ask_open(script, L, at);
  script->limits = limits_of(L);
  script->interrupt = interrupt;
  interrupt->stretch_ns = interrupt->until_ns = interrupt->since_ns = 0;
  interrupt->above = inside ? limits_current(script->limits) : limits_whole(script->limits);
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
                                   .event = script_event,
                                   .save = script_save,
                                   .awaits = script_awaits,
                                   .durable = script_durable,
                                   .stop = script_stop};
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, read_blob, 1); /* takes a box, as the next does */
  lua_setfield(L, at, "read_blob");
  lua_pushcclosure(L, read_record, 1);
  lua_setfield(L, at, "read_record");
  if (lua_getfield(L, at, "tick") == LUA_TFUNCTION) script->policy.tick = script_tick;
  if (lua_getfield(L, at, "progress") == LUA_TFUNCTION) script->policy.progress = script_progress;
  lua_getfield(L, at, "starts");
  script->policy.starts = lua_toboolean(L, -1);
  lua_pop(L, 3);
}

void script_clear(struct script *script, lua_State *L) {
  if (script->box) *script->box = NULL;
  luaL_unref(L, LUA_REGISTRYINDEX, script->kept);
  luaL_unref(L, LUA_REGISTRYINDEX, script->anchor);
  script->anchor = script->kept = LUA_NOREF;
  script->box = NULL;
  script->store = NULL;
}
