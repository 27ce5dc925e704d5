/* fuzz_template.c: libFuzzer feeds templates to lua/skillrt/template.lua in a Lua of its own.
 * The input is up to three texts with a zero byte between: the template and the partials p and q.
 * Render must never raise and never run out of its limits. Runs in the root of the tree. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lualib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char driver[] =
    "package.path = './lua/?.lua;' .. package.path\n"
    "local template = require 'skillrt.template'\n"
    "local data = { x = '{{x}} $&', l = { 1, 'b', { x = 2 } }, o = { y = 'in' }, n = false, d = "
    "'q',\n"
    "  f = function(raw, render) return render and render(raw) or '{{x}}' end }\n"
    "local options = { max_steps = 20000, max_bytes = 1 << 20, max_depth = 30 }\n"
    "return function(input)\n"
    "  local text, p, q = input:match '^([^\\0]*)\\0?([^\\0]*)\\0?(.*)$'\n"
    "  local result, message, code = template.render(text, data, { p = p, q = q }, options)\n"
    "  assert(result or (type(message) == 'string' and code == 'invalid'))\n"
    "end\n";

static lua_State *open_driver(void) {
  lua_State *L = luaL_newstate();
  if (!L) abort();
  luaL_openlibs(L);
  if (luaL_loadstring(L, driver) || lua_pcall(L, 0, 1, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
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
