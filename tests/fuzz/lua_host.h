/* lua_host.h: what the fuzz targets of Lua code share: a Lua of its own with the core in it, that
 * runs a driver once and then feeds its function. Each line of Lua that runs counts as coverage,
 * so that libFuzzer sees into the Lua code. Header only; must not know what is fed. Called by
 * tests/fuzz/fuzz_{expr,template,front_matter}.c, in the root of the tree. */
#ifndef SKILLRT_TESTS_LUA_HOST_H
#define SKILLRT_TESTS_LUA_HOST_H

#include <lauxlib.h>
#include <lualib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lua/bind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A Lua state grows as it likes. libFuzzer would take that for a leak and look through the whole
 * memory after each input, which costs a hundred times what the input does. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  return 1;
}

/* libFuzzer reads this section as counters of its own; elsewhere it is plain memory */
enum { LUA_HOST_COUNTERS = 1 << 14 };
__attribute__((section("__libfuzzer_extra_counters"),
               used)) static uint8_t lua_host_counters[LUA_HOST_COUNTERS];

static inline void lua_host_count(lua_State *L, lua_Debug *ar) {
  if (!lua_getinfo(L, "S", ar)) return;
  uint32_t hash = 2166136261u;
  for (const char *c = ar->short_src; *c; c++)
    hash = (hash ^ (uint8_t)*c) * 16777619u;
  uint8_t *counter = &lua_host_counters[(hash ^ (uint32_t)ar->currentline) % LUA_HOST_COUNTERS];
  if (*counter < 255) (*counter)++;
}

static inline void lua_host_die(lua_State *L) {
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  abort();
}

/* With the driver's function on its stack. */
static inline lua_State *lua_host_open(const char *driver) {
  lua_State *L = luaL_newstate();
  if (!L) abort();
  luaL_openlibs(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_skillrt_core);
  lua_setfield(L, -2, "skillrt.core");
  lua_pop(L, 1);
  if (luaL_dostring(L, "package.path = './lua/?.lua;./lua/?/init.lua;./?.lua;' .. package.path"))
    lua_host_die(L);
  if (luaL_loadstring(L, driver) || lua_pcall(L, 0, 1, 0)) lua_host_die(L);
  lua_sethook(L, lua_host_count, LUA_MASKLINE, 0);
  return L;
}

/* Calls the function that `driver` returns with the bytes as a text; one that raises ends the
 * program. To be the body of LLVMFuzzerTestOneInput. */
static inline int lua_host_feed(const char *driver, const uint8_t *data, size_t size) {
  static lua_State *L;
  if (!L) L = lua_host_open(driver);
  lua_pushvalue(L, 1);
  lua_pushlstring(L, (const char *)data, size);
  if (lua_pcall(L, 1, 0, 0)) lua_host_die(L);
  return 0;
}

#endif
