/* bind_finder.c: whether a text holds one of some words, for Lua, in one pass over the text however
 * many words there are: each pair of bytes is looked up in a set of the words' beginnings. Knows
 * nothing of what the words are. */
#include "lua/bind.h"

#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

enum { PAIRS = 1 << 16, WORD = 64 };

struct finder {
  uint64_t beginnings[PAIRS / WORD]; /* a bit for each pair of bytes that begins a word */
  size_t count;
  struct {
    const char *bytes; /* of a string that the list, the function's other upvalue, holds */
    size_t length;
  } words[];
};

enum { FINDER = 1, LIST }; /* upvalues */

static unsigned pair_at(const char *bytes) {
  return (unsigned)(unsigned char)bytes[0] << 8 | (unsigned char)bytes[1];
}

static bool begins_with_word(const struct finder *finder, const char *bytes, size_t length) {
  for (size_t i = 0; i < finder->count; i++) {
    size_t needed = finder->words[i].length;
    if (needed <= length && memcmp(finder->words[i].bytes, bytes, needed) == 0) return true;
  }
  return false;
}

/* find(text) -> boolean: it holds one of the words */
static int finder_find(lua_State *L) {
  const struct finder *finder = lua_touserdata(L, lua_upvalueindex(FINDER));
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  bool found = false;
  for (size_t at = 0; !found && at + 1 < length; at++) {
    unsigned pair = pair_at(text + at);
    if (finder->beginnings[pair / WORD] >> pair % WORD & 1)
      found = begins_with_word(finder, text + at, length - at);
  }
  lua_pushboolean(L, found);
  return 1;
}

/* finder(words) -> find. Each word has two bytes or more. */
static int core_finder(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 1);
  struct finder *finder =
      lua_newuserdatauv(L, sizeof *finder + (size_t)count * sizeof finder->words[0], 0);
  memset(finder, 0, sizeof *finder);
  lua_createtable(L, (int)count, 0); /* the caller may change its own */
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(L, 1, i);
    if (lua_type(L, -1) != LUA_TSTRING || lua_rawlen(L, -1) < 2)
      return luaL_argerror(L, 1, "a list of strings of two bytes or more");
    const char *bytes = lua_tolstring(L, -1, &finder->words[finder->count].length);
    finder->words[finder->count++].bytes = bytes;
    unsigned pair = pair_at(bytes);
    finder->beginnings[pair / WORD] |= UINT64_C(1) << pair % WORD;
    lua_rawseti(L, -2, i);
  }
  lua_pushcclosure(L, finder_find, LIST);
  return 1;
}

int bind_finder(lua_State *L) {
  lua_pushcfunction(L, core_finder);
  return 1;
}
