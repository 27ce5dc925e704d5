/* audit.c: see audit.h. */
#include "support/audit.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/core.h"

enum { AUDIT = 1, TOLD };

void audit_open(struct audit *a) {
  lua_State *L = a->L = luaL_newstate();
  luaL_openlibs(L);
  core_install(L);
  if (luaL_dofile(L, "tests/support/crash_audit.lua") != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
  lua_newtable(L);
  a->told = 0;
}

void audit_close(struct audit *a) {
  lua_close(a->L);
}

void audit_forget(struct audit *a) {
  lua_newtable(a->L);
  lua_replace(a->L, TOLD);
  a->told = 0;
}

void audit_told(struct audit *a, const char *json, size_t size) {
  lua_pushlstring(a->L, json, size);
  lua_rawseti(a->L, TOLD, ++a->told);
}

char *audit_summary(struct audit *a, const char *directory, bool any_order,
                    struct audit_found *found) {
  lua_State *L = a->L;
  lua_settop(L, TOLD);
  lua_pushvalue(L, AUDIT);
  lua_pushstring(L, directory);
  lua_pushvalue(L, TOLD);
  lua_pushboolean(L, any_order);
  char *summary;
  if (lua_pcall(L, 3, 4, 0) == LUA_OK) {
    summary = strdup(lua_tostring(L, TOLD + 1));
    *found =
        (struct audit_found){(long)lua_tointeger(L, TOLD + 2), (long)lua_tointeger(L, TOLD + 3),
                             (long)lua_tointeger(L, TOLD + 4)};
  } else {
    summary = strdup(lua_tostring(L, -1));
    *found = (struct audit_found){.lost = (long)a->told};
  }
  lua_settop(L, TOLD);
  return summary;
}
