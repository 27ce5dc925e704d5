/* bind_server.c: the module skillrt.server.
 *
 * open{ socket = PATH } | open{ host = ADDRESS, port = PORT } -> server | nil, message, code.
 * server:port(); fd(), patience() ms, turn(): see server.h; take() -> { id, method, path, query,
 * headers, body } | nil. reply(id, status, headers, body), stream(id, headers), push(id, text):
 * whether the client is still there; behind(id) -> bytes that it has not read; finish(id);
 * close(). */
#include <lauxlib.h>
#include <lua.h>
#include <microhttpd.h>
#include <strings.h>

#include "serve/server.h"

#define SERVER_TYPE "skillrt.server"

static const char *const HEADERS[] = {"host",
                                      "origin",
                                      "authorization",
                                      "accept",
                                      "last-event-id",
                                      "content-type",
                                      "idempotency-key",
                                      "webhook-id",
                                      "webhook-timestamp",
                                      "webhook-signature",
                                      "mcp-session-id"};

struct held {
  struct server *server; /* NULL: it was closed */
};

static struct server *check(lua_State *L) {
  const struct held *held = luaL_checkudata(L, 1, SERVER_TYPE);
  luaL_argcheck(L, held->server, 1, "the server is closed");
  return held->server;
}

static struct exchange *check_exchange(lua_State *L) {
  return server_find(check(L), (uint64_t)luaL_checkinteger(L, 2));
}

static int server_lua_close(lua_State *L) {
  struct held *held = luaL_checkudata(L, 1, SERVER_TYPE);
  server_close(held->server);
  held->server = NULL;
  return 0;
}

static int server_lua_open(lua_State *L) {
  struct server_address address = {0};
  struct error error = {0};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "socket");
  lua_getfield(L, 1, "host");
  lua_getfield(L, 1, "port");
  address.path = luaL_optstring(L, 2, NULL);
  address.host = luaL_optstring(L, 3, NULL);
  lua_Integer port = luaL_optinteger(L, 4, 0);
  luaL_argcheck(L, port >= 0 && port <= 65535, 1, "a port is from 0 to 65535");
  address.port = (uint16_t)port;
  struct held *held = lua_newuserdatauv(L, sizeof *held, 0);
  held->server = NULL;
  luaL_setmetatable(L, SERVER_TYPE);
  if (server_open(sys_real(), &address, &held->server, &error)) return 1;
  lua_pushnil(L);
  lua_pushstring(L, error.text);
  lua_pushstring(L, error_name(error.code));
  return 3;
}

static int server_lua_port(lua_State *L) {
  lua_pushinteger(L, server_port(check(L)));
  return 1;
}

static int server_lua_fd(lua_State *L) {
  lua_pushinteger(L, server_fd(check(L)));
  return 1;
}

static int server_lua_patience(lua_State *L) {
  lua_pushinteger(L, server_patience(check(L)));
  return 1;
}

static int server_lua_turn(lua_State *L) {
  server_turn(check(L));
  return 0;
}

/* The first value of a name, into the table at the top. */
static enum MHD_Result put_value(void *data, enum MHD_ValueKind kind, const char *name,
                                 const char *value) {
  lua_State *L = data;
  (void)kind;
  if (lua_getfield(L, -1, name) == LUA_TNIL) {
    lua_pushstring(L, value ? value : "");
    lua_setfield(L, -3, name);
  }
  lua_pop(L, 1);
  return MHD_YES;
}

static int server_lua_take(lua_State *L) {
  struct exchange *x = server_take(check(L));
  if (!x) return 0;
  struct MHD_Connection *connection = exchange_connection(x);
  lua_createtable(L, 0, 6);
  lua_pushinteger(L, (lua_Integer)exchange_id(x));
  lua_setfield(L, -2, "id");
  lua_pushstring(L, exchange_method(x));
  lua_setfield(L, -2, "method");
  lua_pushstring(L, exchange_path(x));
  lua_setfield(L, -2, "path");
  lua_newtable(L);
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, put_value, L);
  lua_setfield(L, -2, "query");
  lua_newtable(L);
  for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++) {
    lua_pushstring(L, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, HEADERS[i]));
    lua_setfield(L, -2, HEADERS[i]);
  }
  lua_setfield(L, -2, "headers");
  struct span body = exchange_body(x);
  lua_pushlstring(L, body.data ? body.data : "", body.length);
  lua_setfield(L, -2, "body");
  return 1;
}

/* The headers of the table at 4 or 3, for a response. */
static bool add_headers(lua_State *L, int index, struct MHD_Response *response) {
  bool added = true;
  lua_pushnil(L);
  while (lua_next(L, index)) {
    const char *value = lua_tostring(L, -1);
    if (lua_type(L, -2) != LUA_TSTRING || !value ||
        MHD_add_response_header(response, lua_tostring(L, -2), value) != MHD_YES)
      added = false;
    lua_pop(L, 1);
  }
  return added;
}

static int server_lua_reply(lua_State *L) {
  struct exchange *x = check_exchange(L);
  lua_Integer status = luaL_checkinteger(L, 3);
  size_t length;
  luaL_checktype(L, 4, LUA_TTABLE);
  const char *body = luaL_optlstring(L, 5, "", &length);
  luaL_argcheck(L, status >= 200 && status <= 599, 3, "is no status of a response");
  struct MHD_Response *response =
      x ? MHD_create_response_from_buffer(length, (char *)body, MHD_RESPMEM_MUST_COPY) : NULL;
  if (response && !add_headers(L, 4, response)) {
    MHD_destroy_response(response);
    return luaL_error(L, "a header cannot be sent");
  }
  lua_pushboolean(L, response && exchange_reply(x, (unsigned)status, response));
  return 1;
}

static bool stream_headers(void *data, struct MHD_Response *response) {
  return add_headers(data, 3, response);
}

static int server_lua_stream(lua_State *L) {
  struct exchange *x = check_exchange(L);
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_pushboolean(L, x && exchange_stream(x, stream_headers, L));
  return 1;
}

static int server_lua_push(lua_State *L) {
  struct exchange *x = check_exchange(L);
  struct span text;
  text.data = luaL_checklstring(L, 3, &text.length);
  lua_pushboolean(L, x && exchange_push(x, text));
  return 1;
}

static int server_lua_behind(lua_State *L) {
  const struct exchange *x = check_exchange(L);
  lua_pushinteger(L, x ? (lua_Integer)exchange_behind(x) : 0);
  return 1;
}

static int server_lua_finish(lua_State *L) {
  struct exchange *x = check_exchange(L);
  if (x) exchange_finish(x);
  return 0;
}

__attribute__((visibility("default"))) int luaopen_skillrt_server(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"port", server_lua_port},     {"fd", server_lua_fd},       {"patience", server_lua_patience},
      {"turn", server_lua_turn},     {"take", server_lua_take},   {"reply", server_lua_reply},
      {"stream", server_lua_stream}, {"push", server_lua_push},   {"behind", server_lua_behind},
      {"finish", server_lua_finish}, {"close", server_lua_close}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", server_lua_open}, {NULL, NULL}};
  luaL_newmetatable(L, SERVER_TYPE);
  lua_pushcfunction(L, server_lua_close);
  lua_setfield(L, -2, "__gc");
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  return 1;
}
