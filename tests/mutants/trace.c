/* trace.c: writes down which lines of Lua a process runs, once each, into the file that TRACE_LINES
 * names.
 *
 * Built twice: as a library that is preloaded into programs that link liblua, and (TRACE_MAIN) as
 * an interpreter for specs, as the system's has Lua inside, where nothing can be put in its place.
 * Coroutines inherit the hook; where skillrt takes its own hook away ours comes back. Used by
 * covered.lua only. */
#include <dlfcn.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
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

__attribute__((visibility("default"))) void lua_sethook(lua_State *L, lua_Hook f, int mask,
                                                        int count) {
  void (*real)(lua_State *, lua_Hook, int, int) =
      (void (*)(lua_State *, lua_Hook, int, int))dlsym(RTLD_NEXT, "lua_sethook");
  bool ours = !f && getenv("TRACE_LINES");
  real(L, ours ? hook : f, ours ? LUA_MASKLINE : mask, count);
}

#ifdef TRACE_MAIN
#include <lualib.h>

/* trace-lua -e CODE SCRIPT ARG...: what tests/all.lua asks of an interpreter. */
int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  int script = argc > 3 && strcmp(argv[1], "-e") == 0 ? 3 : 1;
  lua_createtable(L, argc, 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
  bool ok = script == 1 || luaL_dostring(L, argv[2]) == LUA_OK;
  if (ok && script < argc) {
    ok = luaL_loadfile(L, argv[script]) == LUA_OK;
    for (int i = script + 1; ok && i < argc; i++)
      lua_pushstring(L, argv[i]);
    ok = ok && lua_pcall(L, argc - script - 1, 0, 0) == LUA_OK;
  }
  if (!ok) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return ok ? 0 : 1;
}
#endif
