/* ask.c: see ask.h. Knows the stack and the limits of a call, no question by name. */
#include "lua/ask.h"

#include <assert.h>
#include <lauxlib.h>

#include "lua/raised.h"

enum { AT_HANDLER = 1, AT_NEWS = AT_BLOBS + 1 };

static int add_traceback(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING) return 1;
  luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

void ask_open(struct script *script, lua_State *L, int at) {
  script->L = lua_newthread(L);
  script->anchor = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushcfunction(script->L, add_traceback);
  lua_pushvalue(L, at);
  lua_getfield(L, at, "out");
  lua_getfield(L, at, "blobs");
  lua_pushliteral(L, "news"); /* its name: to look for it outside a call takes no memory */
  lua_xmove(L, script->L, 4);
}

bool ask_has_news(const struct script *script) {
  lua_State *L = script->L;
  lua_pushvalue(L, AT_NEWS);
  bool has_news = lua_rawget(L, AT_POLICY) == LUA_TNIL || lua_toboolean(L, -1);
  lua_pop(L, 1);
  return has_news;
}

bool ask(struct question *question, lua_CFunction body, struct error *error) {
  struct script *script = question->script;
  lua_State *L = script->L;
  assert(lua_gettop(L) == AT_NEWS && "a question inside a question");
  if (!lua_checkstack(L, 24))
    return error_set(error, ERROR_MEMORY, "not enough memory for the script");
  static struct interrupt none; /* what calls no function of a script takes the time it takes */
  if (!limits_enter(script->limits, L, question->own ? &none : script->interrupt))
    return error_set(error, ERROR_LIMIT, "runs nested too deep");
  limits_question(script->limits, 1);
  script->interrupt->since_ns = 0;
  lua_sethook(L, NULL, 0, 0);
  if (!question->own) limits_bound(script->limits, L);
  script->said.code = ERROR_NONE;
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, question);
  lua_pushvalue(L, AT_POLICY);
  lua_pushvalue(L, AT_OUT);
  lua_pushvalue(L, AT_BLOBS);
  int status = lua_pcall(L, 4, 0, AT_HANDLER);
  if (status != LUA_OK) {
    raised_take(L, status, error);
    if (script->said.code >= ERROR_LOST) error->code = script->said.code;
    if (error->code == ERROR_STOPPED && interrupt_why(script->interrupt)) {
      /* before L is left: what it is asked next, it has to answer */
      limits_calm(script->limits, script->interrupt);
      interrupt_notice(script->interrupt);
    }
    lua_settop(L, -2);
  }
  limits_leave(script->limits);
  limits_question(script->limits, -1);
  return status == LUA_OK;
}

struct question *ask_begin(lua_State *L, int *self) {
  struct question *question = lua_touserdata(L, 1);
  *self = AT_POLICY; /* here, too: the second argument, and the lists behind it */
  lua_getfield(L, AT_POLICY, question->method);
  lua_pushvalue(L, AT_POLICY);
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
