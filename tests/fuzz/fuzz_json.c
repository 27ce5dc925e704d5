/* fuzz_json.c: libFuzzer feeds texts to the JSON reader and its Lua face. What decodes must
 * encode, indented too, and decode again to the same; a refusal must have a message. Runs with
 * one Lua state for all inputs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lualib.h>

#include "base/json.h"
#include "lua/bind_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char driver[] =
    "local json = ...\n"
    "local pretty, loose = { indent = 2, size = 1 << 30 }, { sorted = false, size = 1 << 30 }\n"
    "return function(input)\n"
    "  local value, message, code = json.decode(input)\n"
    "  if value == nil then\n"
    "    assert(type(message) == 'string' and (code == 'invalid' or code == 'limit'))\n"
    "    return false\n"
    "  end\n"
    "  local text = assert(json.encode(value, { size = 1 << 30 }))\n"
    "  for _, options in ipairs { pretty, loose } do\n"
    "    local other = assert(json.encode(value, options))\n"
    "    local back = json.decode(other, { size = 1 << 30 })\n"
    "    assert(json.encode(back, { size = 1 << 30 }) == text, text)\n"
    "  end\n"
    "  return true\n"
    "end\n";

static lua_State *open_driver(void) {
  lua_State *L = luaL_newstate();
  if (!L) abort();
  luaL_openlibs(L);
  if (luaL_loadstring(L, driver)) abort();
  bind_json(L);
  if (lua_pcall(L, 1, 1, 0)) abort();
  return L; /* with the checking function on its stack */
}

/* The reader alone, on the bytes themselves: a read beyond them is seen by ASan. */
static int reader_takes(const uint8_t *data, size_t size) {
  struct json_reader r;
  struct error e;
  enum json_token token;
  json_reader_init(&r, (struct span){(const char *)data, size}, JSON_DEPTH_DEFAULT);
  while ((token = json_next(&r)) != JSON_END && token != JSON_ERROR)
    if ((token == JSON_STRING || token == JSON_KEY) && r.escaped) {
      char *to = malloc(r.string.length);
      if (!to || json_unescape(r.string, to) >= r.string.length) abort();
      free(to);
    }
  if (token == JSON_ERROR) json_reader_error(&r, "input", &e);
  return token == JSON_END;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  if (!L) L = open_driver();
  int taken = reader_takes(data, size);
  lua_pushvalue(L, 1);
  lua_pushlstring(L, (const char *)data, size);
  if (lua_pcall(L, 1, 1, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
  if (lua_toboolean(L, -1) && !taken) abort(); /* Lua refuses more: duplicate keys */
  lua_settop(L, 1);
  return 0;
}
