/* trace.c: writes down which lines of Lua a process runs, once each, into the file that TRACE_LINES
 * names.
 *
 * Preloaded into programs that link liblua, whose states it hooks as they are made; into the
 * interpreter, which has Lua inside, it comes by LUA_INIT and package.loadlib. Coroutines inherit
 * the hook. Used by covered.lua only. */
#include <dlfcn.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BITS = 1 << 23 };
static unsigned char
    seen[BITS / 8]; /* two lines that share a bit: one of them is not told, now and then */

static void tell(const char *source, int line) {
  const char *name = strstr(source, "skillrt/");
  if (!name || source[0] != '@') return;
  char text[512];
  int length = snprintf(text, sizeof text, "%s:%d\n", name, line);
  int file = open(getenv("TRACE_LINES"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, text, (size_t)length) < 0) abort();
  close(file);
}

static void hook(lua_State *L, lua_Debug *ar) {
  if (!lua_getinfo(L, "Sl", ar)) return;
  uint64_t key =
      ((uint64_t)(uintptr_t)ar->source >> 3) * 1000003u + (uint64_t)ar->currentline * 2654435761u;
  uint64_t bit = (key ^ key >> 29) % BITS;
  if (seen[bit / 8] >> (bit % 8) & 1) return;
  seen[bit / 8] = (unsigned char)(seen[bit / 8] | 1u << (bit % 8));
  tell(ar->source, ar->currentline);
}

static lua_State *hooked(lua_State *L) {
  if (L && getenv("TRACE_LINES")) lua_sethook(L, hook, LUA_MASKLINE, 0);
  return L;
}

__attribute__((visibility("default"))) lua_State *luaL_newstate(void) {
  lua_State *(*real)(void) = (lua_State * (*)(void)) dlsym(RTLD_NEXT, "luaL_newstate");
  return hooked(real ? real() : NULL);
}

__attribute__((visibility("default"))) lua_State *lua_newstate(lua_Alloc alloc, void *data) {
  lua_State *(*real)(lua_Alloc, void *) =
      (lua_State * (*)(lua_Alloc, void *)) dlsym(RTLD_NEXT, "lua_newstate");
  return hooked(real ? real(alloc, data) : NULL);
}

__attribute__((visibility("default"))) int trace_this(lua_State *L) {
  hooked(L);
  return 0;
}
