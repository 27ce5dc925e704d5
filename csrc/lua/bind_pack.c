/* bind_pack.c: Lua values as bytes, between a process and the guest that it asks (bind_guest.c).
 *
 * Exact, as JSON of the core is: integers, doubles, marks of arrays, null. What cannot be copied (a
 * function, a table with a metatable) goes by a name that the caller's hook gives. What is read was
 * written by a stranger: each length is checked, depth and number of values are bounded. */
#include "lua/bind.h"

#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

#include "lua/guest.h"

enum { DEPTH = 100, VALUES = 1 << 20 };
enum { UP_ARRAY = 1, UP_EMPTY_ARRAY, UP_BUFFER };
enum { KEPT = 64 << 10 }; /* bytes of a buffer that stays for the next message */

enum tag {
  TAG_NIL = 'z',
  TAG_TRUE = 't',
  TAG_FALSE = 'f',
  TAG_INTEGER = 'i',
  TAG_DOUBLE = 'n',
  TAG_STRING = 's',
  TAG_TABLE = 'T',
  TAG_ARRAY = 'A',
  TAG_EMPTY_ARRAY = 'E',
  TAG_END = 'X',
  TAG_NULL = '0',
  TAG_NAMED = 'R'
};

/* ---- pack ---- */

static void put(lua_State *L, struct buffer *to, const void *bytes, size_t size) {
  struct error error;
  if (!buffer_append(to, bytes, size, &error)) luaL_error(L, "too much is handed over at once");
}

static void put_tag(lua_State *L, struct buffer *to, enum tag tag) {
  char byte = (char)tag;
  put(L, to, &byte, 1);
}

static void put_number(lua_State *L, struct buffer *to, int at) {
  if (lua_isinteger(L, at)) {
    lua_Integer number = lua_tointeger(L, at);
    put_tag(L, to, TAG_INTEGER);
    put(L, to, &number, sizeof number);
  } else {
    lua_Number number = lua_tonumber(L, at);
    put_tag(L, to, TAG_DOUBLE);
    put(L, to, &number, sizeof number);
  }
}

static void put_string(lua_State *L, struct buffer *to, int at) {
  size_t size;
  const char *text = lua_tolstring(L, at, &size);
  uint32_t length = (uint32_t)size;
  if (size > GUEST_FRAME) luaL_error(L, "too much is handed over at once");
  put_tag(L, to, TAG_STRING);
  put(L, to, &length, sizeof length);
  put(L, to, text, size);
}

static void put_value(lua_State *L, struct buffer *to, int at, int depth);

static void put_table(lua_State *L, struct buffer *to, int at, int depth, enum tag tag) {
  put_tag(L, to, tag);
  lua_pushnil(L);
  while (lua_next(L, at)) {
    put_value(L, to, lua_gettop(L) - 1, depth + 1);
    put_value(L, to, lua_gettop(L), depth + 1);
    lua_pop(L, 1);
  }
  put_tag(L, to, TAG_END);
}

/* hook(value) -> a letter and a number; or a value that goes in its place, as it is. The hook is at
 * 1. */
static void put_named(lua_State *L, struct buffer *to, int at, int depth) {
  lua_pushvalue(L, 1);
  lua_pushvalue(L, at);
  lua_call(L, 1, 2);
  if (lua_istable(L, -2)) {
    put_table(L, to, lua_gettop(L) - 1, depth, TAG_TABLE);
  } else if (lua_isnil(L, -1)) {
    put_value(L, to, lua_gettop(L) - 1, depth + 1);
  } else {
    const char *kind = luaL_checkstring(L, -2);
    lua_Integer number = luaL_checkinteger(L, -1);
    put_tag(L, to, TAG_NAMED);
    put(L, to, kind, 1);
    put(L, to, &number, sizeof number);
  }
  lua_pop(L, 2);
}

static bool is_mark(lua_State *L, int upvalue) {
  return lua_rawequal(L, -1, lua_upvalueindex(upvalue));
}

static void put_marked(lua_State *L, struct buffer *to, int at, int depth) {
  if (!lua_getmetatable(L, at)) {
    put_table(L, to, at, depth, TAG_TABLE);
    return;
  }
  enum tag tag = is_mark(L, UP_ARRAY)         ? TAG_ARRAY
                 : is_mark(L, UP_EMPTY_ARRAY) ? TAG_EMPTY_ARRAY
                                              : TAG_NAMED;
  lua_pop(L, 1);
  if (tag == TAG_NAMED)
    put_named(L, to, at, depth);
  else
    put_table(L, to, at, depth, tag);
}

static void put_value(lua_State *L, struct buffer *to, int at, int depth) {
  if (depth > DEPTH)
    luaL_error(L, "a table is handed over that is deeper than %d, or holds itself", DEPTH);
  luaL_checkstack(L, 8, "a table that is handed over");
  switch (lua_type(L, at)) {
  case LUA_TNIL:
    put_tag(L, to, TAG_NIL);
    break;
  case LUA_TBOOLEAN:
    put_tag(L, to, lua_toboolean(L, at) ? TAG_TRUE : TAG_FALSE);
    break;
  case LUA_TNUMBER:
    put_number(L, to, at);
    break;
  case LUA_TSTRING:
    put_string(L, to, at);
    break;
  case LUA_TTABLE:
    put_marked(L, to, at, depth);
    break;
  case LUA_TFUNCTION:
    put_named(L, to, at, depth);
    break;
  case LUA_TLIGHTUSERDATA:
    if (!lua_touserdata(L, at)) {
      put_tag(L, to, TAG_NULL);
      break;
    } /* fall through */
  default:
    luaL_error(L, "a %s cannot be handed over", luaL_typename(L, at));
  }
}

/* pack(hook, ...) -> a message: the length of what follows, and that */
static int pack(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  int count = lua_gettop(L);
  struct buffer *to = lua_touserdata(L, lua_upvalueindex(UP_BUFFER));
  uint32_t length = 0;
  buffer_reset(to);
  put(L, to, &length, sizeof length);
  for (int i = 2; i <= count; i++)
    put_value(L, to, i, 0);
  length = (uint32_t)(to->length - sizeof length);
  memcpy(to->data, &length, sizeof length);
  lua_pushlstring(L, to->data, to->length);
  if (to->capacity > KEPT) buffer_clear(to);
  return 1;
}

/* ---- unpack ---- */

struct reader {
  const char *at, *end;
  int values;
};

static void take(lua_State *L, struct reader *from, void *to, size_t size) {
  if ((size_t)(from->end - from->at) < size) luaL_error(L, "a message ends early");
  memcpy(to, from->at, size);
  from->at += size;
}

static void take_string(lua_State *L, struct reader *from) {
  uint32_t length;
  take(L, from, &length, sizeof length);
  if ((size_t)(from->end - from->at) < length) luaL_error(L, "a message ends early");
  lua_pushlstring(L, from->at, length);
  from->at += length;
}

static bool take_value(lua_State *L, struct reader *from, int depth);

static bool is_key(lua_State *L) {
  return !lua_isnil(L, -1) &&
         !(lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) != lua_tonumber(L, -1));
}

static void take_table(lua_State *L, struct reader *from, int depth, enum tag tag) {
  lua_newtable(L);
  while (take_value(L, from, depth + 1)) {
    if (!is_key(L) || !take_value(L, from, depth + 1)) luaL_error(L, "a message is damaged");
    lua_rawset(L, -3);
  }
  if (tag == TAG_TABLE) return;
  lua_pushvalue(L, lua_upvalueindex(tag == TAG_ARRAY ? UP_ARRAY : UP_EMPTY_ARRAY));
  lua_setmetatable(L, -2);
}

/* hook(letter, number) -> the value */
static void take_named(lua_State *L, struct reader *from) {
  char kind;
  lua_Integer number;
  take(L, from, &kind, 1);
  take(L, from, &number, sizeof number);
  lua_pushvalue(L, 1);
  lua_pushlstring(L, &kind, 1);
  lua_pushinteger(L, number);
  lua_call(L, 2, 1);
}

static void take_integer(lua_State *L, struct reader *from) {
  lua_Integer number;
  take(L, from, &number, sizeof number);
  lua_pushinteger(L, number);
}

static void take_double(lua_State *L, struct reader *from) {
  lua_Number number;
  take(L, from, &number, sizeof number);
  lua_pushnumber(L, number);
}

/* False: the end of a table; nothing is pushed. */
static bool take_value(lua_State *L, struct reader *from, int depth) {
  char tag;
  if (depth > DEPTH || ++from->values > VALUES) luaL_error(L, "a message holds too much");
  luaL_checkstack(L, 8, "a message");
  take(L, from, &tag, 1);
  switch (tag) {
  case TAG_END:
    if (depth == 0) luaL_error(L, "a message is damaged");
    return false;
  case TAG_NIL:
    lua_pushnil(L);
    return true;
  case TAG_TRUE:
    lua_pushboolean(L, true);
    return true;
  case TAG_FALSE:
    lua_pushboolean(L, false);
    return true;
  case TAG_INTEGER:
    take_integer(L, from);
    return true;
  case TAG_DOUBLE:
    take_double(L, from);
    return true;
  case TAG_STRING:
    take_string(L, from);
    return true;
  case TAG_NULL:
    lua_pushlightuserdata(L, NULL);
    return true;
  case TAG_NAMED:
    take_named(L, from);
    return true;
  case TAG_TABLE:
  case TAG_ARRAY:
  case TAG_EMPTY_ARRAY:
    take_table(L, from, depth, (enum tag)tag);
    return true;
  default:
    return luaL_error(L, "a message is damaged");
  }
}

/* unpack(hook, text) -> ...: of a message without its length */
static int unpack(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  struct reader from = {.at = text, .end = text + size};
  lua_settop(L, 2);
  while (from.at < from.end)
    take_value(L, &from, 0);
  return lua_gettop(L) - 2;
}

void bind_pack(lua_State *L) {
  static const luaL_Reg functions[] = {{"pack", pack}, {"unpack", unpack}, {NULL, NULL}};
  bind_json(L);
  lua_getfield(L, -1, "array_mt");
  lua_getfield(L, -2, "empty_array_mt");
  lua_remove(L, -3);
  bind_buffer(L, GUEST_FRAME);
  luaL_setfuncs(L, functions, 3);
}
