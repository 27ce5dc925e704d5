/* bind_terminal.c: core.terminal: what reports need to know of the descriptors people look at.
 *
 * is_terminal(fd) size(fd) -> columns, rows; write(fd, text); read_line() -> text.
 * Writes whole, also on a slow terminal. Called by bind_core.c. */
#include "lua/bind.h"

#include <errno.h>
#include <lauxlib.h>
#include <sys/ioctl.h>
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

static int terminal_write(lua_State *L) {
  int fd = (int)luaL_checkinteger(L, 1);
  luaL_argcheck(L, fd == 1 || fd == 2, 1, "1 (output) or 2 (messages)");
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  const struct sys *sys = bind_sys(L);
  struct error error = {0};
  if (!sys_write_all(sys, fd, text, size, fd == 1 ? "standard output" : "standard error", &error))
    return bind_fail(L, &error);
  lua_pushboolean(L, 1);
  return 1;
}

/* One line of standard input without its newline; nil at the end or when interrupted. */
static int terminal_read_line(lua_State *L) {
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
                                       {"read_line", terminal_read_line},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
