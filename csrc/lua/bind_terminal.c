/* bind_terminal.c: core.terminal: reads from and writes to terminals and standard output.
 *
 * is_terminal(fd) size(fd) -> columns, rows; write(fd, text); lost() -> message; read_line() ->
 * text; edit_line(prompt) -> text; pause(ms); farewell(text). Writes whole, also on a slow
 * terminal. Called by bind_core.c. */
#include "lua/bind.h"
#include "lua/bind_loop.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "engine/loop.h"
#include "lua/edit.h"

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

/* Remembers the first output that could not be written, unless the reader has closed its pipe. */
static void remember_lost(lua_State *L, const struct error *error) {
  if (error->number == EPIPE || lua_rawgetp(L, LUA_REGISTRYINDEX, &lost_key) != LUA_TNIL) return;
  lua_pushstring(L, error->text);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &lost_key);
}

/* lost() -> why some of the output could not be written, or nil; also of what a script printed */
static int terminal_lost(lua_State *L) {
  int flushed = fflush(stdout), number = errno;
  bool reader_gone = loop_reader_gone(STDOUT_FILENO);
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

/* farewell(text): the text that main prints after "stopped" on an interrupt; nil: none */
static int terminal_farewell(lua_State *L) {
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, "skillrt.farewell");
  return 0;
}

static struct loop *loop_of(lua_State *L) {
  struct error error = {0};
  struct loop *loop = bind_loop(L, &error);
  if (!loop) luaL_error(L, "%s", error.text);
  return loop;
}

/* pause(ms) -> true; nil where a signal came before that */
static int terminal_pause(lua_State *L) {
  lua_Integer ms = luaL_checkinteger(L, 1);
  luaL_argcheck(L, ms >= 0 && ms <= 1000, 1, "from 0 to 1000 ms");
  if (!loop_wait(loop_of(L), NULL, 0, ms)) return 0;
  lua_pushboolean(L, 1);
  return 1;
}

enum input { INPUT_READY, INPUT_LATE, INPUT_INTERRUPTED };

/* Waits until standard input can be read, or until `until_ns` (0: no limit). */
static enum input input_wait(lua_State *L, struct loop *loop, int64_t until_ns) {
  const struct sys *sys = bind_sys(L);
  struct loop_watch input = {.fd = STDIN_FILENO};
  for (;;) {
    int64_t left = until_ns ? (until_ns - sys->mono_ns(sys) + 999999) / 1000000 : -1;
    if (until_ns && left < 0) left = 0;
    if (!loop_wait(loop, &input, 1, left)) return INPUT_INTERRUPTED;
    if (input.ready) return INPUT_READY;
    if (left == 0) return INPUT_LATE;
  }
}

/* The time until which is waited, from the milliseconds at an index; 0: no limit. */
static int64_t until_of(lua_State *L, int at) {
  lua_Number ms = luaL_optnumber(L, at, -1);
  const struct sys *sys = bind_sys(L);
  return ms < 0 ? 0 : sys->mono_ns(sys) + (int64_t)(ms < 1e12 ? ms : 1e12) * 1000000;
}

/* Discards text that was typed but not entered: no question waits for it any more. */
static int late(lua_State *L) {
  tcflush(STDIN_FILENO, TCIFLUSH);
  lua_pushnil(L);
  lua_pushliteral(L, "timeout");
  return 2;
}

/* Where the bytes of an edited line come from. */
struct typing {
  lua_State *L;
  struct loop *loop;
  int64_t until_ns;
  enum input came;
};

static int next_byte(void *data, char *byte) {
  struct typing *typing = data;
  const struct sys *sys = bind_sys(typing->L);
  typing->came = input_wait(typing->L, typing->loop, typing->until_ns);
  return typing->came == INPUT_READY && sys->read(sys, STDIN_FILENO, byte, 1) == 1 ? 1 : 0;
}

/* edit_line(prompt, ms?): as read_line, but the prompt is written, and a person edits the line
 * behind it; false where no line can be edited: then nothing was written. */
static int terminal_edit_line(lua_State *L) {
  const char *prompt = luaL_checkstring(L, 1);
  struct typing typing = {.L = L, .loop = loop_of(L), .until_ns = until_of(L, 2)};
  struct buffer *text = bind_buffer(L, 1 << 20);
  bool whole = false;
  if (!edit_line(prompt, next_byte, &typing, text, &whole)) {
    lua_pushboolean(L, false);
    return 1;
  }
  if (typing.came == INPUT_LATE) return late(L);
  if (!whole) return 0;
  lua_pushlstring(L, text->data ? text->data : "", text->length);
  buffer_clear(text);
  return 1;
}

/* read_line(ms?): one line of standard input without its newline; nil at the end or when
 * interrupted; nil, "timeout" where none begins to come within ms. */
static int terminal_read_line(lua_State *L) {
  const struct sys *sys = bind_sys(L);
  struct loop *loop = loop_of(L);
  int64_t until_ns = until_of(L, 1);
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  for (bool any = false;; any = true) {
    char byte;
    enum input came = input_wait(L, loop, any ? 0 : until_ns);
    if (came == INPUT_LATE) return late(L);
    ssize_t count = came == INPUT_READY ? sys->read(sys, STDIN_FILENO, &byte, 1) : 0;
    if (count <= 0 && !any) return 0;
    if (count <= 0 || byte == '\n') break;
    luaL_addchar(&line, byte);
  }
  luaL_pushresult(&line);
  return 1;
}

/* is_plain(text) -> whether it is all printable ASCII: most is, and then needs no escape */
static int terminal_is_plain(lua_State *L) {
  size_t length, i = 0;
  const char *text = luaL_checklstring(L, 1, &length);
  while (i < length && text[i] >= ' ' && text[i] <= '~')
    i++;
  lua_pushboolean(L, i == length);
  return 1;
}

int bind_terminal(lua_State *L) {
  static const luaL_Reg functions[] = {{"is_terminal", terminal_is_terminal},
                                       {"is_plain", terminal_is_plain},
                                       {"size", terminal_size},
                                       {"write", terminal_write},
                                       {"lost", terminal_lost},
                                       {"read_line", terminal_read_line},
                                       {"edit_line", terminal_edit_line},
                                       {"pause", terminal_pause},
                                       {"farewell", terminal_farewell},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
