/* task_table.c: see task_table.h. */
#include "lua/task_table.h"

#include <lauxlib.h>
#include <string.h>

static void raise(lua_State *L, const struct error *error) {
  luaL_error(L, "%s", error->text);
}

static int64_t milliseconds(lua_State *L, int at, const char *field) {
  lua_getfield(L, at, field);
  lua_Number seconds = lua_isnil(L, -1) ? 0 : luaL_checknumber(L, -1);
  if (!(seconds >= 0 && seconds <= 1e9))
    luaL_error(L, "task: %s must be seconds from 0 to 1e9", field);
  lua_pop(L, 1);
  return (int64_t)(seconds * 1000 + 0.5);
}

static size_t size_field(lua_State *L, int at, const char *field) {
  lua_getfield(L, at, field);
  lua_Integer size = lua_isnil(L, -1) ? 0 : luaL_checkinteger(L, -1);
  if (size < 0) luaL_error(L, "task: %s must not be negative", field);
  lua_pop(L, 1);
  return (size_t)size;
}

static bool flag_field(lua_State *L, int at, const char *field) {
  lua_getfield(L, at, field);
  bool is_set = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_set;
}

/* A string without NUL bytes: it becomes a C string. */
static const char *plain(lua_State *L, int at, const char *what) {
  size_t size;
  const char *text = luaL_checklstring(L, at, &size);
  if (strlen(text) != size) luaL_error(L, "task: %s holds a NUL byte", what);
  return text;
}

static void text_field(lua_State *L, int at, const char *field, struct task *task, char **to) {
  struct error error;
  lua_getfield(L, at, field);
  if (!lua_isnil(L, -1) && !task_set(task, to, plain(L, -1, field), &error)) raise(L, &error);
  lua_pop(L, 1);
}

static void body_field(lua_State *L, int at, const char *field, struct task *task) {
  struct error error;
  lua_getfield(L, at, field);
  if (!lua_isnil(L, -1)) {
    size_t size;
    const char *text = luaL_checklstring(L, -1, &size);
    if (!buffer_append(&task->body, text, size, &error)) raise(L, &error);
  }
  lua_pop(L, 1);
}

static void list_field(lua_State *L, int at, const char *field, struct task *task,
                       struct strings *to) {
  struct error error;
  lua_getfield(L, at, field);
  lua_Integer count = lua_isnil(L, -1) ? 0 : luaL_len(L, -1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    const char *text = plain(L, -1, field);
    if (!strings_add(to, task->sys, text, strlen(text), &error)) raise(L, &error);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* { name = value } as "name<separator>value"; names must be strings. */
static void map_field(lua_State *L, int at, const char *field, const char *separator,
                      struct task *task, struct strings *to) {
  struct error error;
  lua_getfield(L, at, field);
  if (lua_istable(L, -1)) {
    lua_pushnil(L);
    while (lua_next(L, -2)) {
      if (lua_type(L, -2) != LUA_TSTRING) luaL_error(L, "task: %s must map names to values", field);
      lua_pushvalue(L, -1);
      lua_pushfstring(L, "%s%s%s", plain(L, -3, field), separator, plain(L, -1, field));
      const char *text = lua_tostring(L, -1);
      if (strchr(text, '\n') || strchr(text, '\r'))
        if (separator[0] == ':') luaL_error(L, "task: a header holds a line break");
      if (!strings_add(to, task->sys, text, strlen(text), &error)) raise(L, &error);
      lua_pop(L, 3);
    }
  }
  lua_pop(L, 1);
}

static enum task_kind read_kind(lua_State *L, int at) {
  static const char *const names[] = {"command", "http", "session", "message", "host", NULL};
  static const enum task_kind kinds[] = {TASK_PROCESS, TASK_HTTP, TASK_SESSION, TASK_MESSAGE,
                                         TASK_HOST};
  lua_getfield(L, at, "kind");
  enum task_kind kind = kinds[luaL_checkoption(L, -1, NULL, names)];
  lua_pop(L, 1);
  return kind;
}

static enum silence_end silence_field(lua_State *L, int at) {
  static const char *const names[] = {"end", "spare", "report", "ask", NULL};
  static const enum silence_end ends[] = {SILENCE_ENDS, SILENCE_SPARES, SILENCE_TELLS,
                                          SILENCE_TELLS};
  lua_getfield(L, at, "silence");
  int end = luaL_checkoption(L, -1, names[0], names);
  lua_pop(L, 1);
  return ends[end];
}

static void read_http(lua_State *L, int at, struct task *task) {
  text_field(L, at, "url", task, &task->target);
  text_field(L, at, "method", task, &task->http.method);
  text_field(L, at, "ca_file", task, &task->http.ca_file);
  text_field(L, at, "addresses", task, &task->http.addresses);
  map_field(L, at, "headers", ": ", task, &task->http.headers);
  task->http.awaits = flag_field(L, at, "awaits");
  list_field(L, at, "joins", task, &task->http.joins);
  body_field(L, at, "body", task);
  task->max_body = size_field(L, at, "max_reply");
  task->http.max_redirects = size_field(L, at, "max_redirects");
  task->http.connect_ms = milliseconds(L, at, "connect_timeout");
}

static void read_command(lua_State *L, int at, struct task *task) {
  list_field(L, at, "argv", task, &task->process.args);
  map_field(L, at, "env", "=", task, &task->process.env);
  list_field(L, at, "jail", task, &task->process.jail);
  text_field(L, at, "cwd", task, &task->process.cwd);
  text_field(L, at, "noise", task, &task->process.noise);
  task->process.silence = silence_field(L, at);
  body_field(L, at, "stdin", task);
  task->max_body = size_field(L, at, "max_output");
}

static void read_session(lua_State *L, int at, struct task *task) {
  text_field(L, at, "session", task, &task->target);
  list_field(L, at, "argv", task, &task->session.args);
  map_field(L, at, "env", "=", task, &task->session.env);
  list_field(L, at, "jail", task, &task->session.jail);
  text_field(L, at, "cwd", task, &task->session.cwd);
  task->session.framed = flag_field(L, at, "framed");
  task->max_body = size_field(L, at, "max_reply");
}

static void read_message(lua_State *L, int at, struct task *task) {
  lua_getfield(L, at, "to");
  task->message.to = (uint64_t)luaL_optinteger(L, -1, 0);
  lua_pop(L, 1);
  body_field(L, at, "message", task);
}

static void read_host(lua_State *L, int at, struct task *task) {
  text_field(L, at, "name", task, &task->target);
  text_field(L, at, "key", task, &task->host.key);
  body_field(L, at, "body", task);
  task->max_body = size_field(L, at, "max_reply");
}

void task_table_read(lua_State *L, int at, struct task *task) {
  at = lua_absindex(L, at);
  luaL_checktype(L, at, LUA_TTABLE);
  luaL_checkstack(L, 12, "task");
  task->kind = read_kind(L, at);
  task->total_ms = milliseconds(L, at, "timeout");
  task->idle_ms = milliseconds(L, at, "idle_timeout");
  task->unwatched = flag_field(L, at, "unwatched");
  task->streams = flag_field(L, at, "streams");
  if (task->kind == TASK_HTTP)
    read_http(L, at, task);
  else if (task->kind == TASK_SESSION)
    read_session(L, at, task);
  else if (task->kind == TASK_MESSAGE)
    read_message(L, at, task);
  else if (task->kind == TASK_HOST)
    read_host(L, at, task);
  else
    read_command(L, at, task);
}

static const char *status_name(enum reply_status status) {
  switch (status) {
  case REPLY_OK:
    return "ok";
  case REPLY_TIMEOUT:
    return "timeout";
  case REPLY_CANCELED:
    return "canceled";
  case REPLY_TOO_LARGE:
    return "too_large";
  case REPLY_BROKEN:
    return "broken";
  case REPLY_REFUSED:
    return "refused";
  case REPLY_KILLED:
    return "killed";
  case REPLY_LAPSED:
    return "lapsed";
  case REPLY_GONE:
    return "gone";
  }
  return "broken";
}

static void push_span(lua_State *L, struct span span, const char *field) {
  lua_pushlstring(L, span.length ? span.data : "", span.length);
  lua_setfield(L, -2, field);
}

void task_table_push_reply(lua_State *L, const struct reply *reply) {
  luaL_checkstack(L, 4, "reply");
  lua_createtable(L, 0, 8);
  lua_pushstring(L, status_name(reply->status));
  lua_setfield(L, -2, "status");
  lua_pushboolean(L, reply->sent);
  lua_setfield(L, -2, "sent");
  lua_pushinteger(L, reply->code);
  lua_setfield(L, -2, "code");
  push_span(L, reply->body, "body");
  push_span(L, reply->extra, "extra");
  lua_pushinteger(L, reply->retry_after_ms);
  lua_setfield(L, -2, "retry_after_ms");
  lua_pushinteger(L, reply->elapsed_ms);
  lua_setfield(L, -2, "elapsed_ms");
  lua_pushstring(L, reply->message);
  lua_setfield(L, -2, "message");
  if (reply->refused[0]) {
    lua_pushstring(L, reply->refused);
    lua_setfield(L, -2, "refused");
  }
  if (reply->event_id.length > 0) push_span(L, reply->event_id, "event_id");
}
