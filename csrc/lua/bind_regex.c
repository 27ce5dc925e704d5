/* bind_regex.c: regular expressions for Lua, as PCRE2 has them.
 *
 * Expressions and texts are others': a match gives up after so many steps and so much memory,
 * whatever it is asked. Texts may hold bytes that are no UTF-8, which no character fits. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lua/bind.h"

#include <lauxlib.h>
#include <pcre2.h>

/* A step is about 20 ns. */
enum { MOST_STEPS = 2000000, MOST_KIB = 32 << 10 };

static const char regex_type[] = "skillrt.regex";

struct regex {
  pcre2_code *code;
  pcre2_match_data *data;
  pcre2_match_context *context;
};

static int regex_free(lua_State *L) {
  struct regex *regex = luaL_checkudata(L, 1, regex_type);
  pcre2_code_free(regex->code);
  pcre2_match_data_free(regex->data);
  pcre2_match_context_free(regex->context);
  *regex = (struct regex){0};
  return 0;
}

/* find(text) -> boolean: it is found | nil: that takes too long to tell */
static int regex_find(lua_State *L) {
  const struct regex *regex = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  int found = pcre2_match(regex->code, (PCRE2_SPTR)text, size, 0, 0, regex->data, regex->context);
  if (found < 0 && found != PCRE2_ERROR_NOMATCH) return 0;
  lua_pushboolean(L, found >= 0);
  return 1;
}

/* regex(expression, of_bytes) -> find | nil, what is wrong with it. `$` is the end of the text
 * alone. of_bytes: a character is a byte, for names of files, which may be no UTF-8. */
static int core_regex(lua_State *L) {
  size_t size, at;
  const char *text = luaL_checklstring(L, 1, &size);
  bool of_bytes = lua_toboolean(L, 2);
  struct regex *regex = lua_newuserdatauv(L, sizeof *regex, 0);
  *regex = (struct regex){0};
  if (luaL_newmetatable(L, regex_type)) {
    lua_pushcfunction(L, regex_free);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  int failed;
  uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX;
  if (!of_bytes) options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
  regex->code = pcre2_compile((PCRE2_SPTR)text, size, options, &failed, &at, NULL);
  if (!regex->code) {
    unsigned char words[128];
    pcre2_get_error_message(failed, words, sizeof words);
    lua_pushnil(L);
    lua_pushfstring(L, "%s at %d", (const char *)words, (int)at);
    return 2;
  }
  regex->data = pcre2_match_data_create(1, NULL);
  regex->context = pcre2_match_context_create(NULL);
  if (!regex->data || !regex->context) return luaL_error(L, "not enough memory");
  pcre2_set_match_limit(regex->context, MOST_STEPS);
  pcre2_set_heap_limit(regex->context, MOST_KIB);
  lua_pushcclosure(L, regex_find, 1);
  return 1;
}

int bind_regex(lua_State *L) {
  lua_pushcfunction(L, core_regex);
  return 1;
}
