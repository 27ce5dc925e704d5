/* bind_store.c: core.read, salvage, recover, holder, list, inbox: runs and their stores for Lua.
 *
 * Goes through store.h alone. Called by bind_core.c; used by the commands that look at runs. */
#include "lua/bind_store.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/bind.h"
#include "lua/raised.h"

#define INBOX_TYPE "skillrt.inbox"

const char *bind_url(lua_State *L, int at) {
  const char *url = luaL_checkstring(L, at);
  if (!store_needs_module(url)) return url;
  luaL_checkstack(L, 6, NULL);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchpath");
  lua_pushliteral(L, "skillrt.postgres");
  lua_getfield(L, -3, "cpath");
  lua_call(L, 2, 1);
  if (lua_type(L, -1) == LUA_TSTRING) store_module(lua_tostring(L, -1));
  lua_pop(L, 2);
  return url;
}

void bind_report(lua_State *L, const struct store_report *report) {
  lua_createtable(L, 0, 10);
  lua_pushstring(L, report->run_id);
  lua_setfield(L, -2, "run_id");
  lua_pushinteger(L, (lua_Integer)report->records);
  lua_setfield(L, -2, "records");
  lua_pushinteger(L, (lua_Integer)report->last);
  lua_setfield(L, -2, "last");
  lua_pushinteger(L, (lua_Integer)report->view_seq);
  lua_setfield(L, -2, "view_seq");
  lua_pushboolean(L, report->cut_doubtful);
  lua_setfield(L, -2, "cut_doubtful");
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

/* What `each` raised; of the world, where it says so: { message, code }. */
static int read_raised(lua_State *L) {
  struct error error = {0};
  if (lua_type(L, -1) != LUA_TTABLE) return lua_error(L);
  raised_take(L, LUA_ERRRUN, &error);
  return bind_fail(L, &error);
}

/* What is wanted of a read: `from`, the first record; `ending`, to begin at the last record that
 * ends so; `whole`, to check all before anything is reported. */
static uint64_t read_wishes(lua_State *L, int at, struct store_options *options) {
  lua_getfield(L, at, "whole");
  options->whole = lua_toboolean(L, -1);
  if (lua_getfield(L, at, "ending") == LUA_TSTRING) /* the table keeps it */
    options->ending.data = lua_tolstring(L, -1, &options->ending.length);
  lua_getfield(L, at, "from");
  lua_Integer from = luaL_optinteger(L, -1, 0);
  luaL_argcheck(L, from >= 0, at, "from: a record's number");
  lua_pop(L, 3);
  return (uint64_t)from;
}

/* read(url, each(payload, seq) -> more?, wishes?) -> report | nil, message, code;
 * wishes.blob(digest) gives blobs until it returns. Takes no lock; a bad place may show only when
 * it is met. */
static int core_read(lua_State *L) {
  const char *url = bind_url(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 3);
  struct store_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  box->store = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, store_collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, 4);
  /* The journal tells how the run stands, whatever somebody wrote into a view. */
  struct store_options options = {.mode = STORE_READ, .accept_edits = true};
  uint64_t from = 0;
  if (!lua_isnil(L, 3)) from = read_wishes(L, 3, &options);
  struct store_report report = {0};
  struct error error = {0};
  if (!store_open(bind_sys(L), url, &options, &box->store, &report, &error))
    return bind_fail(L, &error);
  if (!lua_isnil(L, 3)) {
    lua_pushvalue(L, 4);
    lua_pushcclosure(L, read_store_blob, 1);
    lua_setfield(L, 3, "blob");
  }
  struct reader reader = {.L = L, .each = 2};
  if (report.newest > from) from = report.newest;
  bool ok = box->store->ops->read(box->store, from, read_one, &reader, &error);
  store_close(&box->store);
  if (reader.raised) return read_raised(L);
  if (!ok && error.code != ERROR_NONE) return bind_fail(L, &error);
  bind_report(L, &report);
  return 1;
}

/* salvage(url, each(payload, seq) -> more?): the records in front of the bad place for which
 * read refused the journal */
static int core_salvage(lua_State *L) {
  const char *url = bind_url(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  struct reader reader = {.L = L, .each = 2};
  store_salvage(bind_sys(L), url, read_one, &reader);
  return reader.raised ? lua_error(L) : 0;
}

/* recover(url) -> report | nil, message, code: the journal ends in front of the first bad place;
 * what stood behind is kept beside it */
static int core_recover(lua_State *L) {
  const char *url = bind_url(L, 1);
  struct store_options options = {.mode = STORE_RESUME, .accept_edits = true, .cut = true};
  struct store *store = NULL;
  struct store_report report;
  struct error error = {0};
  if (!store_open(bind_sys(L), url, &options, &store, &report, &error)) return bind_fail(L, &error);
  store_close(&store);
  bind_report(L, &report);
  return 1;
}

/* holder(url) -> pid, host, start of the process that advances the run; nil: none does */
static int core_holder(lua_State *L) {
  char line[STORE_HOLDER], pid[32], host[128], start[64];
  if (!store_holder(bind_sys(L), bind_url(L, 1), line)) return 0;
  int count = sscanf(line, "%31s %127s %63s", pid, host, start);
  lua_pushstring(L, count == 3 ? pid : "?");
  lua_pushstring(L, count == 3 ? host : "?");
  lua_pushstring(L, count == 3 ? start : "?");
  return 3;
}

/* is_own_name(name) -> boolean: whether it is a store's, in the folder of a run */
static int core_is_own_name(lua_State *L) {
  lua_pushboolean(L, store_owns(luaL_checkstring(L, 1)));
  return 1;
}

/* ---- list ---- */

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

/* Upvalues: the function that takes the rows, and what was said of the last run: most are as
 * others. */
static int list_row(lua_State *L) {
  const struct listing *run = lua_touserdata(L, 1);
  const char *rest, *last = lua_tostring(L, lua_upvalueindex(2));
  int64_t at = header_at(&run->header, &rest);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushstring(L, run->url);
  lua_pushstring(L, run->header.status);
  lua_pushboolean(L, run->is_held);
  lua_pushstring(L, run->problem);
  if (at > 0) {
    lua_pushinteger(L, (lua_Integer)at);
    if (strcmp(last + 1, rest) != 0) {
      lua_pushfstring(L, "{%s", rest);
      lua_replace(L, lua_upvalueindex(2));
    }
    lua_pushvalue(L, lua_upvalueindex(2));
  }
  lua_call(L, lua_gettop(L) - 2, 1);
  return 1;
}

static bool list_one(void *data, const struct listing *run) {
  struct reader *reader = data;
  lua_State *L = reader->L;
  lua_pushvalue(L, reader->each);
  lua_pushlightuserdata(L, bind_unconst(run));
  reader->raised = lua_pcall(L, 1, 1, 0) != LUA_OK;
  if (reader->raised) return false;
  bool more = lua_toboolean(L, -1) || lua_isnil(L, -1);
  lua_pop(L, 1);
  return more;
}

/* list(url, each(url, status, is_held, problem?, at?, about?) -> more?) -> true | nil, message,
 * code: the runs there, in the order of store_list */
static int core_list(lua_State *L) {
  const char *url = bind_url(L, 1);
  struct error error = {0};
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_pushliteral(L, "{");
  lua_pushcclosure(L, list_row, 2);
  struct reader reader = {.L = L, .each = 2};
  bool good = store_list(bind_sys(L), url, list_one, &reader, &error);
  if (reader.raised) return lua_error(L);
  lua_pushboolean(L, true);
  return good ? 1 : bind_fail(L, &error);
}

/* ---- the inbox ---- */

struct inbox_box {
  struct inbox *inbox;
};

static struct inbox *check_inbox(lua_State *L) {
  return ((struct inbox_box *)luaL_checkudata(L, 1, INBOX_TYPE))->inbox;
}

static int inbox_collect(lua_State *L) {
  inbox_close(&((struct inbox_box *)luaL_checkudata(L, 1, INBOX_TYPE))->inbox);
  return 0;
}

/* put(text, key?, durable?) -> name */
static int inbox_put(lua_State *L) {
  struct inbox *inbox = check_inbox(L);
  struct span text;
  text.data = luaL_checklstring(L, 2, &text.length);
  char name[ARRIVAL_NAME];
  struct error error = {0};
  if (!inbox->ops->put(inbox, luaL_optstring(L, 3, NULL), text, lua_toboolean(L, 4), name, &error))
    return bind_fail(L, &error);
  lua_pushstring(L, name);
  return 1;
}

/* take() -> { { name, came, text or problem } ... } the oldest first, what was not taken yet; and
 * whether nothing failed in a way that may pass */
static int inbox_take(lua_State *L) {
  struct inbox *inbox = check_inbox(L);
  struct arrival one;
  struct error error = {0};
  bool whole = true;
  lua_newtable(L);
  for (lua_Integer count = 0;;) {
    bool good = inbox->ops->take(inbox, &one, &error);
    whole = whole && good && !one.again;
    if (!good || !one.name) break;
    if (one.again) continue;
    lua_createtable(L, 0, 3);
    set_text(L, "name", one.name);
    set_text(L, "problem", one.problem);
    if (!one.problem) {
      lua_pushlstring(L, one.text.data, one.text.length);
      lua_setfield(L, -2, "text");
    }
    lua_pushinteger(L, one.came);
    lua_setfield(L, -2, "came");
    lua_rawseti(L, -2, ++count);
  }
  lua_pushboolean(L, whole);
  return 2;
}

/* acknowledge(name), refuse(name) -> true | nil, message, code */
static int inbox_settle(lua_State *L,
                        bool (*settle)(struct inbox *, const char *, struct error *)) {
  struct error error = {0};
  if (!settle(check_inbox(L), luaL_checkstring(L, 2), &error)) return bind_fail(L, &error);
  lua_pushboolean(L, true);
  return 1;
}

static int inbox_acknowledge(lua_State *L) {
  return inbox_settle(L, check_inbox(L)->ops->acknowledge);
}

static int inbox_refuse(lua_State *L) {
  return inbox_settle(L, check_inbox(L)->ops->refuse);
}

/* fate(name) -> "waits", "refused", "taken" */
static int inbox_fate(lua_State *L) {
  static const char *const words[] = {"waits", "refused", "taken"};
  struct inbox *inbox = check_inbox(L);
  enum arrival_fate fate;
  struct error error = {0};
  if (!inbox->ops->fate(inbox, luaL_checkstring(L, 2), &fate, &error)) return bind_fail(L, &error);
  lua_pushstring(L, words[fate]);
  return 1;
}

/* waiting() -> how many arrivals wait */
static int inbox_waiting(lua_State *L) {
  struct inbox *inbox = check_inbox(L);
  size_t count = 0;
  struct error error = {0};
  if (!inbox->ops->waiting(inbox, &count, &error)) return bind_fail(L, &error);
  lua_pushinteger(L, (lua_Integer)count);
  return 1;
}

/* inbox(url) -> inbox: that of a run, whether it was begun or not */
static int core_inbox(lua_State *L) {
  const char *url = bind_url(L, 1);
  struct error error = {0};
  struct inbox_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  box->inbox = NULL;
  luaL_setmetatable(L, INBOX_TYPE);
  return inbox_open(bind_sys(L), url, &box->inbox, &error) ? 1 : bind_fail(L, &error);
}

/* exists(url) -> boolean: whether a run was begun there */
static int core_exists(lua_State *L) {
  lua_pushboolean(L, store_exists(bind_sys(L), bind_url(L, 1)));
  return 1;
}

/* prepare(url, lease_ms, only_check?) -> text | nil, message, code: makes the tables that a
 * database has to have; a line for each thing that is not as it has to be */
static int core_prepare(lua_State *L) {
  const char *url = bind_url(L, 1);
  struct store_setup setup = {luaL_checkinteger(L, 2), lua_toboolean(L, 3)};
  struct error error = {0};
  struct buffer *missing = bind_buffer(L, 64 << 10);
  if (!store_prepare(bind_sys(L), url, &setup, missing, &error)) return bind_fail(L, &error);
  lua_pushlstring(L, missing->data ? missing->data : "", missing->length);
  return 1;
}

/* retire(url, before, only_look) -> text | nil, message, code: as store_retire */
static int core_retire(lua_State *L) {
  const char *url = bind_url(L, 1), *before = luaL_checkstring(L, 2);
  struct error error = {0};
  struct buffer *months = bind_buffer(L, 1 << 20);
  if (!store_retire(bind_sys(L), url, before, lua_toboolean(L, 3), months, &error))
    return bind_fail(L, &error);
  lua_pushlstring(L, months->data ? months->data : "", months->length);
  return 1;
}

/* departed(url) -> { run_id, known_as, ended } | false: no run left it | nil, message, code */
static int core_departed(lua_State *L) {
  struct departure to;
  struct error error = {0};
  if (!store_departed(bind_sys(L), bind_url(L, 1), &to, &error)) return bind_fail(L, &error);
  if (!to.known_as[0]) {
    lua_pushboolean(L, false);
    return 1;
  }
  lua_createtable(L, 0, 3);
  lua_pushstring(L, to.run_id);
  lua_setfield(L, -2, "run_id");
  lua_pushstring(L, to.known_as);
  lua_setfield(L, -2, "known_as");
  lua_pushboolean(L, to.ended);
  lua_setfield(L, -2, "ended");
  return 1;
}

/* settle(from, to | nil, stays) -> whether it has arrived | nil, message, code: as
 * store_move_settle */
static int core_settle(lua_State *L) {
  const char *from = bind_url(L, 1), *to = lua_isnil(L, 2) ? NULL : bind_url(L, 2);
  struct error error = {0};
  bool arrived;
  if (!store_move_settle(bind_sys(L), from, to, lua_toboolean(L, 3), &arrived, &error))
    return bind_fail(L, &error);
  lua_pushboolean(L, arrived);
  return 1;
}

/* move(from, to, digests, known_as) -> true | nil, message, code: a run, with its blobs of these
 * digests; as store_move */
static int core_move(lua_State *L) {
  const char *from = bind_url(L, 1), *to = bind_url(L, 2), *known_as = luaL_checkstring(L, 4);
  luaL_checktype(L, 3, LUA_TTABLE);
  size_t count = (size_t)luaL_len(L, 3);
  const char **digests = lua_newuserdatauv(L, (count + 1) * sizeof *digests, 0);
  struct error error = {0};
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 3, (lua_Integer)i + 1); /* the table keeps it */
    digests[i] = luaL_checkstring(L, -1);
    lua_pop(L, 1);
  }
  if (!store_move(bind_sys(L), from, to, known_as, digests, count, &error))
    return bind_fail(L, &error);
  lua_pushboolean(L, true);
  return 1;
}

int bind_store(lua_State *L) {
  static const luaL_Reg functions[] = {{"read", core_read},
                                       {"salvage", core_salvage},
                                       {"holder", core_holder},
                                       {"recover", core_recover},
                                       {"is_own_name", core_is_own_name},
                                       {"list", core_list},
                                       {"inbox", core_inbox},
                                       {"exists", core_exists},
                                       {"prepare", core_prepare},
                                       {"retire", core_retire},
                                       {"departed", core_departed},
                                       {"settle", core_settle},
                                       {"move", core_move},
                                       {NULL, NULL}};
  static const luaL_Reg methods[] = {{"put", inbox_put},
                                     {"take", inbox_take},
                                     {"acknowledge", inbox_acknowledge},
                                     {"refuse", inbox_refuse},
                                     {"fate", inbox_fate},
                                     {"waiting", inbox_waiting},
                                     {NULL, NULL}};
  if (luaL_newmetatable(L, INBOX_TYPE)) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, inbox_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
  return 0;
}
