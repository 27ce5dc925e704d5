/* ask.c: see ask.h. Knows the stack and the limits of a call, no question by name. */
#include "lua/ask.h"

#include <lauxlib.h>

#include "lua/raised.h"

static int add_traceback(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING) return 1;
  luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

bool ask(struct question *question, lua_CFunction body, struct error *error) {
  struct script *script = question->script;
  lua_State *L = script->L;
  if (!lua_checkstack(L, 24))
    return error_set(error, ERROR_MEMORY, "not enough memory for the script");
  if (!limits_enter(script->limits, L))
    return error_set(error, ERROR_LIMIT, "runs nested too deep");
  int top = lua_gettop(L);
  lua_sethook(L, NULL, 0, 0);
  if (!question->own) limits_bound(script->limits, L);
  lua_pushcfunction(L, add_traceback);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, question);
  int status = lua_pcall(L, 1, 0, top + 1);
  if (status != LUA_OK) raised_take(L, status, error);
  if (status != LUA_OK && question->error.code >= ERROR_LOST) error->code = question->error.code;
  if (status != LUA_OK && error->code == ERROR_STOPPED && limits_interrupted(script->limits)) {
    limits_calm(script->limits); /* before L is left: what it is asked next, it has to answer */
    limits_notice(script->limits);
  }
  limits_leave(script->limits);
  lua_settop(L, top);
  return status == LUA_OK;
}

struct question *ask_begin(lua_State *L, int *self) {
  struct question *question = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, question->script->table);
  *self = lua_gettop(L);
  lua_getfield(L, *self, question->method);
  lua_pushvalue(L, *self);
  return question;
}

void ask_check(lua_State *L, bool good, const struct error *error) {
  if (good) return;
  lua_createtable(L, 0, 2);
  lua_pushstring(L, error->text);
  lua_setfield(L, -2, "message");
  lua_pushstring(L, error_name(error->code));
  lua_setfield(L, -2, "code");
  lua_error(L);
}
