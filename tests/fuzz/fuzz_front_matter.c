/* fuzz_front_matter.c: libFuzzer feeds texts to the readers of skill documents in a Lua of its own.
 * Reading must never raise, and every finding has a place (tests/support/document_probe.lua).
 * Each line of Lua that runs counts as coverage. Runs in the root of the tree. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lualib.h>

#include "lua/bind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char driver[] = "package.path = './lua/?.lua;./?.lua;' .. package.path\n"
                             "return require 'tests.support.document_probe'\n";

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
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_skillrt_core);
  lua_setfield(L, -2, "skillrt.core");
  lua_pop(L, 1);
  if (luaL_loadstring(L, driver) || lua_pcall(L, 0, 1, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
  lua_sethook(L, count_line, LUA_MASKLINE, 0);
  return L; /* with the probe on its stack */
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
