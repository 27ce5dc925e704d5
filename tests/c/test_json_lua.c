/* test_json_lua.c: the Lua face of JSON where memory fails: at every n-th allocation a call
 * either works, returns nil with a message, or raises Lua's memory error; nothing leaks, and the
 * next call works. */
#include "support/check.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/bind.h"
#include "lua/bind_json_out.h"

struct poor {
  long left; /* allocations until they fail; negative: never */
  size_t loaned;
};

static void *poor_alloc(void *data, void *block, size_t old_size, size_t new_size) {
  struct poor *poor = data;
  if (!block) old_size = 0;
  if (new_size == 0) {
    poor->loaned -= old_size;
    free(block);
    return NULL;
  }
  if (new_size > old_size && poor->left >= 0) {
    if (poor->left == 0) return NULL;
    poor->left--;
  }
  void *moved = realloc(block, new_size);
  if (moved) poor->loaned += new_size - old_size;
  return moved;
}

static int open_json(lua_State *L) {
  luaL_openlibs(L);
  bind_json(L);
  lua_setglobal(L, "json");
  return 0;
}

static const char prepare[] =
    "local long = ('x'):rep(3000) .. '\\n' .. ('y'):rep(3000)\n"
    "local wide = {}\n"
    "for i = 1, 700 do wide['key' .. i] = i / 7 end\n"
    "local value = { a = { 1, 2.5, 'three', true }, b = { c = {}, d = { e = json.null } },\n"
    "  long = long, wide = wide, list = json.array() }\n"
    "text = assert(json.encode(value))\n"
    "escaped = '[\"' .. ('\\\\u00e9'):rep(300) .. '\"]'\n"
    "function all()\n"
    "  local back, message, code = json.decode(text)\n"
    "  if not back then return message, code end\n"
    "  local again\n"
    "  again, message, code = json.encode(back)\n"
    "  if not again then return message, code end\n"
    "  assert(again == text)\n"
    "  again, message, code = json.encode(back, { sorted = false, indent = 2, name = 'it' })\n"
    "  if not again then return message, code end\n"
    "  local one, two = json.decode(escaped), json.digest(back)\n"
    "  assert(one and #one[1] == 600)\n"
    "end\n";

/* One run of all() that may allocate `n` times; true if it ran to its end. */
static bool run(lua_State *L, struct poor *poor, long n) {
  lua_settop(L, 0);
  lua_getglobal(L, "all");
  poor->left = n;
  int status = lua_pcall(L, 0, 2, 0);
  poor->left = -1;
  CHECK(status == LUA_OK || status == LUA_ERRMEM);
  if (status != LUA_OK) return false;
  if (lua_isnil(L, 1)) return true;
  CHECK_STR(lua_tostring(L, 2), "memory");
  CHECK(strstr(lua_tostring(L, 1), ": out of memory") != NULL);
  return false;
}

static void test_every_allocation(void) {
  TEST("at every n-th failing allocation nothing leaks and the next call works") {
    struct poor poor = {.left = -1};
    lua_State *L = lua_newstate(poor_alloc, &poor, 0);
    lua_pushcfunction(L, open_json);
    CHECK(lua_pcall(L, 0, 0, 0) == LUA_OK);
    CHECK(luaL_dostring(L, prepare) == LUA_OK);
    lua_gc(L, LUA_GCCOLLECT);
    long n = 0;
    while (n < 20000 && !run(L, &poor, n)) {
      if (n % 16 == 0) CHECK(run(L, &poor, -1));
      n += n < 200 ? 1 : 7;
    }
    CHECK(n > 20 && n < 20000);
    lua_close(L);
    CHECK(poor.loaned == 0);
  }
  TEST("opening the module with failing memory leaks nothing") {
    bool good = false;
    for (long n = 0; n < 2000 && !good; n++) {
      struct poor poor = {.left = -1};
      lua_State *L = lua_newstate(poor_alloc, &poor, 0);
      lua_pushcfunction(L, open_json);
      poor.left = n;
      good = lua_pcall(L, 0, 0, 0) == LUA_OK;
      poor.left = -1;
      lua_close(L);
      CHECK(poor.loaned == 0);
    }
    CHECK(good);
  }
}

static void test_memory_kept(void) {
  TEST("a large encoding gives its memory back at once") {
    struct poor poor = {.left = -1};
    lua_State *L = lua_newstate(poor_alloc, &poor, 0);
    lua_pushcfunction(L, open_json);
    CHECK(lua_pcall(L, 0, 0, 0) == LUA_OK);
    CHECK(luaL_dostring(
              L, "local s = ('x'):rep(1 << 20) value = {} for i = 1, 8 do value[i] = s end") ==
          LUA_OK);
    lua_gc(L, LUA_GCCOLLECT);
    size_t before = poor.loaned;
    CHECK(luaL_dostring(L, "json.digest(value)") == LUA_OK);
    CHECK(poor.loaned < before + (200 << 10));
    lua_close(L);
    CHECK(poor.loaned == 0);
  }
  TEST("a finalizer may encode while an encoding runs") {
    lua_State *L = luaL_newstate();
    open_json(L);
    int status = luaL_dostring(
        L, "local wide = {}\n"
           "for i = 1, 3000 do wide['k' .. i] = i end\n"
           "local want, done, good, other = json.encode(wide), 0, 0, { a = 1, b = 2 }\n"
           "local text = json.encode(other)\n"
           "local function finalize()\n"
           "  done = done + 1\n"
           "  if json.encode(other) == text then good = good + 1 end\n"
           "end\n"
           "collectgarbage('incremental', 100, 1000, 40)\n"
           "collectgarbage('stop')\n"
           "for i = 1, 50 do setmetatable({}, { __gc = finalize }) end\n"
           "collectgarbage('restart')\n"
           "local got = json.encode(wide)\n"
           "assert(done == 50 and good == 50, done .. ' ' .. good)\n"
           "assert(got == want)");
    CHECK_STR(status == LUA_OK ? "" : lua_tostring(L, -1), "");
    lua_close(L);
  }
}

enum { NAMES = 5000, NAME_ROOM = 24 };

/* Orders that part badly: as the names are, reversed, rising and falling, and the one in which the
 * middle of three is the next smallest again and again. */
static unsigned place_of(unsigned order, unsigned i) {
  switch (order) {
  case 0:
    return i;
  case 1:
    return NAMES - 1 - i;
  case 2:
    return i < NAMES / 2 ? 2 * i : 2 * (NAMES - i) - 1;
  case 3:
    return i % 2 ? i / 2 : NAMES / 2 + i / 2;
  default:
    return (i * 2654435761u) % NAMES;
  }
}

static void test_sort(void) {
  static char names[NAMES][NAME_ROOM];
  static struct entry entries[NAMES];
  for (unsigned order = 0; order < 10; order++) {
    TEST("names are sorted in place, whatever order they come in") {
      for (unsigned i = 0; i < NAMES; i++) {
        const char *form = order < 5 ? "%05u" : "the same in front %05u";
        int length = snprintf(names[i], NAME_ROOM, form, place_of(order % 5, i));
        entries[i] = (struct entry){.key = names[i], .length = (uint32_t)length};
        entries[i].prefix = encode_prefix(names[i], (size_t)length);
      }
      encode_sort(entries, NAMES);
      bool good = true;
      for (unsigned i = 1; i < NAMES; i++)
        good = good && strcmp(entries[i - 1].key, entries[i].key) <= 0;
      CHECK(good);
    }
  }
}

int main(void) {
  test_sort();
  test_every_allocation();
  test_memory_kept();
  return check_finish();
}
