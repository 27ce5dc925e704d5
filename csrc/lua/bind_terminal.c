/* bind_terminal.c: core.terminal: what reports need to know of the descriptors people look at.
 *
 * is_terminal(fd) size(fd) -> columns, rows; write(fd, text); lost() -> message; read_line() ->
 * text; pause(ms); farewell(text). Writes whole, also on a slow terminal. Called by bind_core.c. */
#include "lua/bind.h"

#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static int terminal_is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* Columns and rows, or nil where the descriptor is no terminal. */
static int terminal_size(lua_State *L) {
  struct winsize size;
  if (ioctl((int)luaL_checkinteger(L, 1), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 0;
  lua_pushinteger(L, size.ws_col);
  lua_pushinteger(L, size.ws_row);
  return 2;
}

static const char lost_key;

/* The first output that could not be written is remembered, but for a reader that went away. */
static void remember_lost(lua_State *L, const struct error *error) {
  if (error->number == EPIPE || lua_rawgetp(L, LUA_REGISTRYINDEX, &lost_key) != LUA_TNIL) return;
  lua_pushstring(L, error->text);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &lost_key);
}

/* lost() -> why some of the output could not be written, or nil; also of what a script printed */
static int terminal_lost(lua_State *L) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  int flushed = fflush(stdout), number = errno;
  bool reader_gone = poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &lost_key) != LUA_TNIL || reader_gone) return 1;
  if (flushed != 0)
    lua_pushfstring(L, "standard output: %s", strerror(number));
  else if (ferror(stdout))
    lua_pushliteral(L, "standard output: an error of writing");
  return 1;
}

static int terminal_write(lua_State *L) {
  int fd = (int)luaL_checkinteger(L, 1);
  luaL_argcheck(L, fd == 1 || fd == 2, 1, "1 (output) or 2 (messages)");
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  const struct sys *sys = bind_sys(L);
  struct error error = {0};
  if (!sys_write_all(sys, fd, text, size, fd == 1 ? "standard output" : "standard error", &error)) {
    if (fd == 1) remember_lost(L, &error);
    return bind_fail(L, &error);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* farewell(text): what main says behind "stopped" where the program is interrupted; nil: nothing */
static int terminal_farewell(lua_State *L) {
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, "skillrt.farewell");
  return 0;
}

/* pause(ms) -> true; nil where a signal came before that */
static int terminal_pause(lua_State *L) {
  lua_Integer ms = luaL_checkinteger(L, 1);
  luaL_argcheck(L, ms >= 0 && ms <= 1000, 1, "from 0 to 1000 ms");
  if (poll(NULL, 0, (int)ms) != 0) return 0;
  lua_pushboolean(L, 1);
  return 1;
}

/* Whether standard input says something within `ms`; what was typed and not entered by then is
 * forgotten, as nobody asks for it any more. */
static bool input_comes(int ms) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  if (poll(&input, 1, ms) != 0) return true; /* a signal: reading tells */
  tcflush(STDIN_FILENO, TCIFLUSH);
  return false;
}

/* read_line(ms?): one line of standard input without its newline; nil at the end or when
 * interrupted; nil, "timeout" where none begins to come within ms. */
static int terminal_read_line(lua_State *L) {
  lua_Integer ms = luaL_optinteger(L, 1, -1);
  if (ms >= 0 && !input_comes(ms < INT_MAX ? (int)ms : INT_MAX)) {
    lua_pushnil(L);
    lua_pushliteral(L, "timeout");
    return 2;
  }
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  const struct sys *sys = bind_sys(L);
  bool any = false, ended = false;
  while (!ended) {
    char byte;
    ssize_t count = sys->read(sys, STDIN_FILENO, &byte, 1);
    if (count <= 0 && !any) return 0;
    ended = count <= 0 || byte == '\n';
    any = true;
    if (!ended) luaL_addchar(&line, byte);
  }
  luaL_pushresult(&line);
  return 1;
}

int bind_terminal(lua_State *L) {
  static const luaL_Reg functions[] = {{"is_terminal", terminal_is_terminal},
                                       {"size", terminal_size},
                                       {"write", terminal_write},
                                       {"lost", terminal_lost},
                                       {"read_line", terminal_read_line},
                                       {"pause", terminal_pause},
                                       {"farewell", terminal_farewell},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
