/* raised.c: see raised.h. */
#include "lua/raised.h"

#include <string.h>

#include <lauxlib.h>

static enum error_code code_named(const char *name) {
  for (int code = ERROR_NONE; code <= ERROR_STORE; code++)
    if (strcmp(error_name((enum error_code)code), name) == 0) return (enum error_code)code;
  return ERROR_SCRIPT;
}

void raised_take(lua_State *L, int status, struct error *error) {
  if (status == LUA_ERRMEM) {
    error_set(error, ERROR_MEMORY, "not enough memory for the script");
  } else if (lua_type(L, -1) == LUA_TSTRING) {
    error_set(error, ERROR_SCRIPT, "%s", lua_tostring(L, -1));
  } else if (lua_type(L, -1) == LUA_TTABLE) {
    const char *message = "error without a message", *code = "script";
    lua_pushnil(L);
    while (lua_next(L, -2)) { /* not lua_getfield: it would make its key's string */
      if (lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING) {
        if (strcmp(lua_tostring(L, -2), "message") == 0)
          message = lua_tostring(L, -1);
        else if (strcmp(lua_tostring(L, -2), "code") == 0)
          code = lua_tostring(L, -1);
      }
      lua_pop(L, 1);
    }
    error_set(error, code_named(code), "%s", message);
  } else {
    error_set(error, ERROR_SCRIPT, "the script raised a %s", luaL_typename(L, -1));
  }
}
