/* bind_json.c: the JSON module as Lua sees it: its table, arguments, options and results.
 * Knows neither grammar nor traversal (see bind_json_decode.c and bind_json_encode.c).
 * Called by the core module. */
#include "lua/bind_json.h"

#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/sha256.h"

static int json_fail(lua_State *L, const struct error *e) {
  lua_pushnil(L);
  lua_pushstring(L, e->text);
  lua_pushstring(L, error_name(e->code));
  return 3;
}

static lua_Integer json_option_integer(lua_State *L, const char *name, lua_Integer least,
                                       lua_Integer most) {
  int whole;
  lua_Integer value = lua_tointegerx(L, -1, &whole);
  if (!whole || lua_type(L, -1) != LUA_TNUMBER || value < least || value > most)
    luaL_argerror(
        L, 2,
        lua_pushfstring(L, "option '%s' must be a whole number from %I to %I", name, least, most));
  return value;
}

/* One option, its value on top of the stack. */
static void json_option(lua_State *L, const char *name, bool encoding, struct json_options *to) {
  if (strcmp(name, "depth") == 0) {
    to->depth = (unsigned)json_option_integer(L, name, 1, JSON_DEPTH_MAX);
  } else if (strcmp(name, "size") == 0) {
    to->size = (size_t)json_option_integer(L, name, 1, LUA_MAXINTEGER / 4);
  } else if (strcmp(name, "name") == 0) {
    if (lua_type(L, -1) != LUA_TSTRING) luaL_argerror(L, 2, "option 'name' must be a string");
    lua_pushvalue(L, -1);
    lua_replace(L, 3); /* keeps it alive whatever becomes of the table */
    to->name = lua_tostring(L, 3);
  } else if (encoding && strcmp(name, "indent") == 0) {
    to->indent = (int)json_option_integer(L, name, 0, 16);
  } else if (encoding && strcmp(name, "sorted") == 0) {
    if (!lua_isboolean(L, -1)) luaL_argerror(L, 2, "option 'sorted' must be a boolean");
    to->sorted = lua_toboolean(L, -1);
  } else {
    luaL_argerror(L, 2, lua_pushfstring(L, "there is no option '%s'", name));
  }
}

/* Leaves the stack at three slots: argument, options, the name's string. */
static struct json_options json_options_check(lua_State *L, bool encoding) {
  struct json_options options = {.sorted = true,
                                 .depth = JSON_DEPTH_DEFAULT,
                                 .size = JSON_SIZE_DEFAULT,
                                 .name = encoding ? "value" : "JSON"};
  lua_settop(L, 3);
  if (lua_isnil(L, 2)) return options;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    if (lua_type(L, -2) != LUA_TSTRING) luaL_argerror(L, 2, "options have names");
    json_option(L, lua_tostring(L, -2), encoding, &options);
    lua_pop(L, 1);
  }
  return options;
}

static int json_lua_decode(lua_State *L) {
  struct span text;
  luaL_checktype(L, 1, LUA_TSTRING);
  text.data = lua_tolstring(L, 1, &text.length);
  struct json_options options = json_options_check(L, false);
  struct error e;
  return json_decode(L, text, &options, &e) ? 1 : json_fail(L, &e);
}

static int json_lua_encode(lua_State *L) {
  luaL_checkany(L, 1);
  struct json_options options = json_options_check(L, true);
  struct span text;
  struct error e;
  struct encoder *encoder = encoder_take(L);
  bool good = encoder_run(encoder, L, 1, &options, &text, &e);
  if (good) lua_pushlstring(L, text.data, text.length);
  encoder_give_back(encoder);
  return good ? 1 : json_fail(L, &e);
}

static int json_lua_digest(lua_State *L) {
  luaL_checkany(L, 1);
  struct json_options options = json_options_check(L, true);
  options.sorted = true;
  options.indent = 0;
  struct span text;
  struct error e;
  char hex[65];
  struct encoder *encoder = encoder_take(L);
  bool good = encoder_run(encoder, L, 1, &options, &text, &e);
  if (good) sha256_hex(text.data, text.length, hex);
  encoder_give_back(encoder);
  if (!good) return json_fail(L, &e);
  lua_pushlstring(L, hex, 64);
  return 1;
}

static int json_lua_array(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lua_newtable(L);
    lua_replace(L, 1);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_getmetatable(L, 1)) {
    if (!lua_rawequal(L, -1, lua_upvalueindex(JSON_ARRAY_MT)) &&
        !lua_rawequal(L, -1, lua_upvalueindex(JSON_EMPTY_ARRAY_MT)))
      luaL_argerror(L, 1, "has a metatable already");
    lua_pop(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(JSON_ARRAY_MT));
  lua_setmetatable(L, 1);
  return 1;
}

static int json_lua_is_array(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  bool array = false;
  struct json_marks marks;
  json_marks_init(L, &marks);
  if (lua_type(L, 1) == LUA_TTABLE) {
    enum json_mark mark;
    int table = 1;
    luaL_checkstack(L, 40, "is_array");
    if (!json_resolve(L, &marks, &table, &mark))
      array = mark == JSON_MARK_ARRAY || lua_rawgeti(L, table, 1) != LUA_TNIL;
  } else if (lua_type(L, 1) == LUA_TLIGHTUSERDATA) {
    array = json_is_empty_array(L, &marks, lua_touserdata(L, 1));
  }
  lua_pushboolean(L, array);
  return 1;
}

int bind_json(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"encode", json_lua_encode}, {"decode", json_lua_decode},     {"digest", json_lua_digest},
      {"array", json_lua_array},   {"is_array", json_lua_is_array}, {NULL, NULL},
  };
  /* One module in a state: a second set of marks would not be recognised by the first. */
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, functions) == LUA_TTABLE) return 1;
  lua_pop(L, 1);
  luaL_newlibtable(L, functions);
  int module = lua_gettop(L);
  lua_newtable(L); /* pushed in the order of enum json_upvalue */
  lua_pushvalue(L, -1);
  lua_setfield(L, module, "array_mt");
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, module, "empty_array_mt");
  lua_pushliteral(L, "__json_target");
  lua_pushliteral(L, "__pairs");
  encoder_push(L);
  luaL_setfuncs(L, functions, JSON_UPVALUES);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, module, "null");
  lua_pushlightuserdata(L, (void *)(uintptr_t)&json_empty_array);
  lua_setfield(L, module, "empty_array");
  lua_pushvalue(L, module);
  lua_rawsetp(L, LUA_REGISTRYINDEX, functions);
  return 1;
}
