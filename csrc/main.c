/* main.c: the program `skillrt`: opens Lua, puts the core into it, hands over to skillrt.cli.
 *
 * The only place with exit; signals.c has the signal handlers and globals. */
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/bind.h"
#include "lua/core.h"
#include "lua/limits.h"
#include "signals.h"

static struct limits *the_limits;

static int add_traceback(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  if (!message) return 1;
  luaL_traceback(L, L, message, 1);
  return 1;
}

/* Modules in C (http.so, and LPeg and others where they are not the system's) are also looked
 * for beside the program and in the lib folder above it. */
static void extend_cpath(lua_State *L) {
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  if (size <= 0) return;
  path[size] = 0;
  *strrchr(path, '/') = 0;
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "cpath");
  lua_pushfstring(L, "%s/lib/?.so;%s/../lib/lua/5.4/?.so;%s", path, path, lua_tostring(L, -1));
  lua_setfield(L, -3, "cpath");
  lua_pop(L, 2);
}

#ifdef SKILLRT_BUNDLED /* make static: uses the modules inside the program, even if the system has \
                          them */
int luaopen_lpeg(lua_State *), luaopen_yaml(lua_State *), luaopen_cjson(lua_State *),
    luaopen_cjson_safe(lua_State *);

static void install_bundled(lua_State *L) {
  static const luaL_Reg bundled[] = {{"lpeg", luaopen_lpeg},
                                     {"yaml", luaopen_yaml},
                                     {"cjson", luaopen_cjson},
                                     {"cjson.safe", luaopen_cjson_safe},
                                     {NULL, NULL}};
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  luaL_setfuncs(L, bundled, 0);
  lua_pop(L, 1);
}
#else
static void install_bundled(lua_State *L) {
  (void)L;
}
#endif

/* Closes the journal before the program ends, and returns the documented exit codes. */
static int refuse_exit(lua_State *L) {
  return luaL_error(L, "os.exit: a script must not end skillrt, whose exit code tells how the run "
                       "ended; return from the function instead: nil and a message is a failure");
}

static void remove_exit(lua_State *L) {
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_pushcfunction(L, refuse_exit);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
}

/* A child of skillrt that runs untrusted Lua code: lua/skillrt/cli/guest.lua. */
static int run_guest(lua_State *L) {
  luaL_openlibs(L);
  core_install(L);
  install_bundled(L);
  extend_cpath(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "skillrt.cli.guest");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "serve");
  lua_call(L, 0, 0);
  return 0;
}

static int run_cli(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  luaL_openlibs(L);
  remove_exit(L);
  bind_set_sys(L, signals_world());
  core_install(L);
  install_bundled(L);
  limits_install(L);
  the_limits = limits_of(L);
  signals_install(the_limits);
  extend_cpath(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "skillrt.cli");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "main");
  luaL_checkstack(L, argc + 4, "too many arguments");
  for (int i = 1; i < argc; i++)
    lua_pushstring(L, argv[i]);
  lua_call(L, argc - 1, 1);
  return 1;
}

/* Frees nothing: the process ends. */
static void *last_allocate(void *data, void *block, size_t old_size, size_t new_size) {
  (void)data, (void)old_size;
  return new_size ? realloc(block, new_size) : NULL;
}

/* Closes everything, but does not free memory, which would take an eighth of a short run's time. */
static void close_at_end(lua_State *L) {
#ifndef __SANITIZE_ADDRESS__
  lua_setallocf(L, last_allocate, NULL);
#else
  (void)last_allocate;
#endif
  signals_end_ticks();
  lua_close(L);
}

int main(int argc, char **argv) {
  signals_prepare();
  lua_State *L = luaL_newstate();
  if (!L) {
    fputs("skillrt: not enough memory\n", stderr);
    return 1;
  }
  lua_pushcfunction(L, add_traceback);
  lua_pushcfunction(L, argc == 2 && strcmp(argv[1], "--guest") == 0 ? run_guest : run_cli);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  int code;
  if (lua_pcall(L, 2, 1, 1) == LUA_OK) {
    code = (int)lua_tointeger(L, -1);
    if (code == 128 + SIGINT && signals_first()) code = 128 + signals_first();
  } else if (the_limits && limits_interrupted(the_limits)) {
    fputs(isatty(STDERR_FILENO) ? "\nskillrt: stopped\n" : "skillrt: stopped\n", stderr);
    if (lua_getfield(L, LUA_REGISTRYINDEX, "skillrt.farewell") == LUA_TSTRING)
      fputs(lua_tostring(L, -1), stderr);
    code = 128 + signals_first();
  } else {
    const char *message = lua_tostring(L, -1);
    fprintf(stderr, "skillrt: %s\n", message ? message : "an error that is not a text");
    code = 70;
  }
  if (the_limits) limits_calm(the_limits, NULL);
  close_at_end(L);
  return code;
}
