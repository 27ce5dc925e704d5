/* fuzz_expr.c: libFuzzer feeds texts to lua/skillrt/expr.lua in a Lua of its own.
 * Each line of Lua that runs counts as coverage, so that libFuzzer sees into the Lua code.
 * Compiling, evaluating, explaining and proving must never raise, and a constant condition must be
 * what it is said to be. Runs in the root of the tree. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lualib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char driver[] =
    "package.path = './lua/?.lua;' .. package.path\n"
    "local expr = require 'skillrt.expr'\n"
    "local list = setmetatable({}, { __is_json_array = true })\n"
    "local item = { name = 'b', n = -0.0, tags = { 'x', 2, true } }\n"
    "local state = { a = 1, b = 0.1, s = 'a\\u{1F600}b', x = false, n = 9007199254740993,\n"
    "  null = io.stdout, list = { 1, 'a', 0 / 0 }, none = list, items = { item, item, {} },\n"
    "  o = { k = 'k', deep = { list = { { 1 }, { 'z' } } } } }\n"
    "return function(text)\n"
    "  local condition, message, code = expr.compile(text, { max_steps = 20000 })\n"
    "  if not condition then\n"
    "    return assert(message:find '^%d+:%d+: ' and utf8.len(message) and code == 'invalid')\n"
    "  end\n"
    "  local truth = condition(state)\n"
    "  condition:evaluate(state)\n"
    "  assert(type(condition:explain(state)) == 'string')\n"
    "  local constant = expr.constant(condition)\n"
    "  assert(constant == nil or constant == truth)\n"
    "end\n";

/* libFuzzer reads this section as counters of its own; elsewhere it is plain memory */
enum { COUNTERS = 1 << 14 };
__attribute__((section("__libfuzzer_extra_counters"), used)) static uint8_t counters[COUNTERS];

static void count_line(lua_State *L, lua_Debug *ar) {
  if (!lua_getinfo(L, "S", ar)) return;
  uint32_t hash = 2166136261u;
  for (const char *c = ar->short_src; *c; c++)
    hash = (hash ^ (uint8_t)*c) * 16777619u;
  uint8_t *counter = &counters[(hash ^ (uint32_t)ar->currentline) % COUNTERS];
  if (*counter < 255) (*counter)++;
}

static lua_State *open_driver(void) {
  lua_State *L = luaL_newstate();
  if (!L) abort();
  luaL_openlibs(L);
  if (luaL_loadstring(L, driver) || lua_pcall(L, 0, 1, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
  lua_sethook(L, count_line, LUA_MASKLINE, 0);
  return L; /* with the checking function on its stack */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  if (!L) L = open_driver();
  lua_pushvalue(L, 1);
  lua_pushlstring(L, (const char *)data, size);
  if (lua_pcall(L, 1, 0, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
  return 0;
}
