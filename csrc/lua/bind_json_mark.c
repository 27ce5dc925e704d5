/* bind_json_mark.c: what tells a JSON array from an object in Lua, and the proxies' way to say
 * which table they stand for: the only Lua code an encoding run calls. Used by the other
 * bind_json files. */
#include <lauxlib.h>

#include "lua/bind_json.h"

const char json_empty_array = 0;

enum { TARGETS_MAX = 16 }; /* proxies of proxies */

void json_marks_init(lua_State *L, struct json_marks *m) {
  *m = (struct json_marks){
      .array_mt = lua_topointer(L, lua_upvalueindex(JSON_ARRAY_MT)),
      .empty_array_mt = lua_topointer(L, lua_upvalueindex(JSON_EMPTY_ARRAY_MT)),
  };
}

/* Fields of a loaded lua-cjson: some releases have array marks, others none. */
static void marks_know_cjson(lua_State *L, struct json_marks *m) {
  int top = lua_gettop(L);
  m->cjson_known = true;
  lua_pushliteral(L, LUA_LOADED_TABLE);
  if (lua_rawget(L, LUA_REGISTRYINDEX) == LUA_TTABLE) {
    lua_pushliteral(L, "cjson");
    if (lua_rawget(L, -2) == LUA_TTABLE) {
      lua_pushliteral(L, "array_mt");
      lua_rawget(L, top + 2);
      m->cjson_array_mt = lua_topointer(L, -1);
      lua_pushliteral(L, "empty_array_mt");
      lua_rawget(L, top + 2);
      m->cjson_empty_array_mt = lua_topointer(L, -1);
      lua_pushliteral(L, "empty_array");
      lua_rawget(L, top + 2);
      m->cjson_empty_array = lua_touserdata(L, -1);
    }
  }
  lua_settop(L, top);
}

bool json_is_empty_array(lua_State *L, struct json_marks *m, const void *light) {
  if (light == &json_empty_array) return true;
  if (!m->cjson_known) marks_know_cjson(L, m);
  return light && light == m->cjson_empty_array;
}

static enum json_mark mark_of(lua_State *L, struct json_marks *m, const void *meta) {
  if (meta == m->array_mt) return JSON_MARK_ARRAY;
  if (meta == m->empty_array_mt) return JSON_MARK_EMPTY_ARRAY;
  if (!m->cjson_known) marks_know_cjson(L, m);
  if (meta == m->cjson_array_mt) return JSON_MARK_ARRAY;
  return meta == m->cjson_empty_array_mt ? JSON_MARK_EMPTY_ARRAY : JSON_MARK_NONE;
}

const char *json_resolve(lua_State *L, struct json_marks *m, int *index, enum json_mark *mark) {
  *mark = JSON_MARK_NONE;
  for (int i = 0; i < TARGETS_MAX; i++) {
    if (!lua_getmetatable(L, *index)) return NULL;
    const void *meta = lua_topointer(L, -1);
    *mark = mark_of(L, m, meta);
    if (*mark != JSON_MARK_NONE) {
      lua_pop(L, 1);
      return NULL;
    }
    lua_pushvalue(L, lua_upvalueindex(JSON_TARGET_NAME));
    int type = lua_rawget(L, -2);
    if (type == LUA_TFUNCTION) {
      lua_pushvalue(L, *index);
      lua_call(L, 1, 1);
      type = lua_type(L, -1);
    }
    if (type == LUA_TTABLE) {
      lua_remove(L, -2);
      *index = lua_gettop(L);
      continue;
    }
    lua_pushvalue(L, lua_upvalueindex(JSON_PAIRS_NAME));
    bool hidden = lua_rawget(L, -3) != LUA_TNIL;
    lua_pop(L, 3);
    return hidden ? "a table with __pairs but no __json_target" : NULL;
  }
  return "a proxy of a proxy without end";
}
