/* bind_serve.c: core.serve: what a command that serves others waits for: lines on standard input,
 * programs that it starts, some of which outlive it, and whatever its loop watches.
 *
 * lines(longest, program | nil) -> lines of that program, or of standard input; lines:next() ->
 * text | nil, "none", "long" (one was left out) or "closed". start(argv, input, leaves) -> program
 * | nil, message, code; without an input it talks with us by its standard input, a socket, and says
 * all else where we say our messages. program:say(text), or core.serve.say(text) to who started us;
 * program:code() -> exit code, 128 + signal, or nil while it runs; program:output(most) -> the end
 * of what it said; program:stop(now). wait(ms, lines | nil, programs, listener | descriptor | nil)
 * -> true | nil: a signal came. terminate(pid) -> true | nil, message, code. drain(programs): asks
 * those that are left to end, and waits for them. Called by bind_core.c. */
#include "lua/bind.h"
#include "lua/bind_loop.h"

#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/loop.h"

#define LINES_TYPE "skillrt.lines"
#define PROGRAM_TYPE "skillrt.program"

enum { READ_SIZE = 64 << 10, OUTPUT_MAX = 1 << 20, ARGS_MAX = 256 };
enum { PAUSE_MS = 10, QUIET_MS = 500 }; /* of the wait for programs that end */

/* ---- lines ---- */

struct program {
  const struct sys *sys;
  pid_t pid;                  /* 0: it was reaped */
  int ended, output, channel; /* descriptors; -1: none */
  int code;
};

struct lines {
  struct buffer bytes;
  const struct program *program;  /* NULL: of standard input */
  size_t start, scanned, longest; /* where the next line begins; up to where none ends */
  bool ready, closed, skipping;
};

static int lines_clear(lua_State *L) {
  buffer_clear(&((struct lines *)luaL_checkudata(L, 1, LINES_TYPE))->bytes);
  return 0;
}

static int serve_lines(lua_State *L) {
  lua_Integer longest = luaL_checkinteger(L, 1);
  luaL_argcheck(L, longest > 0 && longest <= 1 << 30, 1, "a line has from 1 byte to 1 GiB");
  const struct program *program =
      lua_isnoneornil(L, 2) ? NULL : luaL_checkudata(L, 2, PROGRAM_TYPE);
  struct lines *lines = lua_newuserdatauv(L, sizeof *lines, 1);
  *lines = (struct lines){.longest = (size_t)longest, .program = program, .ready = program != NULL};
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 1); /* keeps it */
  buffer_init(&lines->bytes, bind_sys(L), lines->longest + 2 * READ_SIZE);
  luaL_setmetatable(L, LINES_TYPE);
  return 1;
}

/* A line that ends within what was read, or NULL; what was given before is dropped then. */
static char *lines_end(struct lines *lines) {
  struct buffer *bytes = &lines->bytes;
  size_t left = bytes->length - lines->scanned;
  char *end = left ? memchr(bytes->data + lines->scanned, '\n', left) : NULL;
  if (end) return end;
  if (lines->skipping || bytes->length - lines->start > lines->longest) {
    lines->skipping = true;
    buffer_reset(bytes);
  } else if (lines->start) {
    buffer_drop(bytes, lines->start);
  }
  lines->start = 0;
  lines->scanned = bytes->length;
  return NULL;
}

static ssize_t lines_take(const struct lines *lines, char *to) {
  const struct sys *sys = lines->bytes.sys;
  if (!lines->program) return sys->read(sys, STDIN_FILENO, to, READ_SIZE);
  ssize_t got = recv(lines->program->channel, to, READ_SIZE, MSG_DONTWAIT);
  return got < 0 ? -errno : got;
}

/* Whether there was something to read, or nothing more comes. */
static bool lines_read(struct lines *lines) {
  struct error error;
  char *room = buffer_room(&lines->bytes, READ_SIZE, &error);
  ssize_t got = room ? lines_take(lines, room) : 0;
  lines->ready = lines->program != NULL; /* to read from it does not wait */
  if (got > 0)
    lines->bytes.length += (size_t)got;
  else
    lines->closed = got != -EINTR && got != -EAGAIN;
  return got > 0 || lines->closed;
}

static int lines_next(lua_State *L) {
  struct lines *lines = luaL_checkudata(L, 1, LINES_TYPE);
  struct buffer *bytes = &lines->bytes;
  const char *why = "none";
  for (;;) {
    const char *end = lines_end(lines);
    if (!end && lines->closed && bytes->length)
      end = bytes->data + bytes->length; /* the last one */
    if (end) {
      const char *from = bytes->data + lines->start;
      bool left_out = lines->skipping || (size_t)(end - from) > lines->longest;
      lines->skipping = false;
      lines->start = lines->scanned =
          (size_t)(end - bytes->data) + (end < bytes->data + bytes->length);
      why = "long";
      if (left_out) break;
      lua_pushlstring(L, from, (size_t)(end - from));
      return 1;
    }
    if (lines->closed) why = lines->skipping ? "long" : "closed";
    if (lines->closed) lines->skipping = false;
    if (lines->closed || !lines->ready || !lines_read(lines)) break;
  }
  lua_pushnil(L);
  lua_pushstring(L, why);
  return 2;
}

/* ---- programs ---- */

static void program_close(const struct program *program, int *fd) {
  if (*fd >= 0) program->sys->close(program->sys, *fd);
  *fd = -1;
}

static int program_clear(lua_State *L) {
  struct program *program = luaL_checkudata(L, 1, PROGRAM_TYPE);
  program_close(program, &program->ended);
  program_close(program, &program->output);
  program_close(program, &program->channel);
  return 0;
}

/* Our end of a socket is not its own, so it hears when we are gone. */
static int program_talk(struct program *program, const char *const *argv) {
  const struct sys *sys = program->sys;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
  struct sys_spawn wish = {.argv = argv, .env = (const char *const *)environ, .in = ends[1]};
  wish.out = wish.err = STDERR_FILENO;
  program->channel = ends[0];
  int failed = sys->spawn(sys, &wish, &program->pid, &program->ended);
  sys->close(sys, ends[1]);
  return failed;
}

/* It leaves our group and session, and says what it says into a file in memory. */
static int program_spawn(struct program *program, const char *const *argv, struct span said,
                         bool leaves) {
  const struct sys *sys = program->sys;
  int in = sys->memory_file(sys, "skillrt-input");
  if (in < 0) return in;
  struct error error;
  if (!sys_write_all(sys, in, said.data, said.length, "its input", &error) ||
      sys->seek(sys, in, 0, SEEK_SET) < 0)
    return sys->close(sys, in), -ENOSPC;
  program->output = sys->memory_file(sys, "skillrt-output");
  struct sys_spawn wish = {.argv = argv, .env = (const char *const *)environ, .leaves = leaves};
  wish.in = in;
  wish.out = wish.err = program->output;
  int failed = program->output < 0 ? program->output
                                   : sys->spawn(sys, &wish, &program->pid, &program->ended);
  sys->close(sys, in);
  return failed;
}

static int serve_start(lua_State *L) {
  const char *argv[ARGS_MAX + 1];
  struct span said;
  said.data = luaL_optlstring(L, 2, NULL, &said.length);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 1);
  luaL_argcheck(L, count > 0 && count <= ARGS_MAX, 1, "from 1 to 256 words");
  luaL_checkstack(L, ARGS_MAX + 4, "too many words");
  for (lua_Integer i = 0; i < count; i++) {
    lua_geti(L, 1, i + 1);
    argv[i] = luaL_checkstring(L, -1);
  }
  argv[count] = NULL;
  struct program *program = lua_newuserdatauv(L, sizeof *program, 0);
  *program = (struct program){.sys = bind_sys(L), .ended = -1, .output = -1, .channel = -1};
  luaL_setmetatable(L, PROGRAM_TYPE);
  int failed = said.data ? program_spawn(program, argv, said, lua_toboolean(L, 3))
                         : program_talk(program, argv);
  if (failed >= 0) return 1;
  struct error error;
  error_system(&error, -failed, "%s: cannot be started", argv[0]);
  return bind_fail(L, &error);
}

static int program_code(lua_State *L) {
  struct program *program = luaL_checkudata(L, 1, PROGRAM_TYPE);
  int status;
  if (program->pid && program->sys->reap(program->sys, program->pid, &status) == 0) {
    program->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    program->pid = 0;
    program_close(program, &program->ended);
  }
  if (program->pid) return 0;
  lua_pushinteger(L, program->code);
  return 1;
}

/* stop(now): asks it to end, or kills it. */
static int program_stop(lua_State *L) {
  const struct program *program = luaL_checkudata(L, 1, PROGRAM_TYPE);
  if (program->pid)
    program->sys->kill_group(program->sys, program->pid, lua_toboolean(L, 2) ? SIGKILL : SIGTERM);
  return 0;
}

/* Whether all of it was sent. */
static bool say(int fd, const char *text, size_t size) {
  while (size > 0) {
    ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    text += sent > 0 ? sent : 0;
    size -= sent > 0 ? (size_t)sent : 0;
  }
  return true;
}

static int program_say(lua_State *L) {
  const struct program *program = luaL_checkudata(L, 1, PROGRAM_TYPE);
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  lua_pushboolean(L, say(program->channel, text, size));
  return 1;
}

static int serve_say(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  lua_pushboolean(L, say(STDIN_FILENO, text, size));
  return 1;
}

/* As the __close of a list of programs it has its time also where a signal ends all Lua. What we
 * say about a stop that takes its time is not said besides. Programs that have nothing to end are
 * gone before anything is said. */
static int serve_drain(lua_State *L) {
  lua_settop(L, 1);
  lua_Integer count = luaL_len(L, 1);
  int pauses = 0;
  if (count > 0) alarm(0);
  for (lua_Integer i = 1; i <= 2 * count; i++) {
    lua_geti(L, 1, (i - 1) % count + 1);
    struct program *program = luaL_checkudata(L, -1, PROGRAM_TYPE);
    const struct sys *sys = program->sys;
    int status;
    if (i <= count && program->pid) sys->kill_group(sys, program->pid, SIGUSR1);
    while (i > count && program->pid && sys->reap(sys, program->pid, &status) == -EAGAIN) {
      sys->pause(sys, PAUSE_MS);
      if (++pauses == QUIET_MS / PAUSE_MS)
        fprintf(stderr, "skillrt: draining: calls that may be repeated are canceled, the others "
                        "end; a second signal ends all at once\n");
    }
    if (i > count) program->pid = 0;
    lua_pop(L, 1);
  }
  return 0;
}

static int program_output(lua_State *L) {
  struct program *program = luaL_checkudata(L, 1, PROGRAM_TYPE);
  lua_Integer most = luaL_checkinteger(L, 2);
  luaL_argcheck(L, most > 0 && most <= OUTPUT_MAX, 2, "from 1 byte to 1 MiB");
  const struct sys *sys = program->sys;
  int64_t size = program->output < 0 ? 0 : sys->seek(sys, program->output, 0, SEEK_END);
  int64_t from = size > most ? size - most : 0;
  luaL_Buffer text;
  char *to = luaL_buffinitsize(L, &text, (size_t)most);
  ssize_t got = size > 0 ? sys->pread(sys, program->output, to, (size_t)(size - from), from) : 0;
  luaL_pushresultsize(&text, got > 0 ? (size_t)got : 0);
  return 1;
}

/* Asks a process to end, which ends what it has started: who asks has looked whose it is. */
static int serve_terminate(lua_State *L) {
  lua_Integer pid = luaL_checkinteger(L, 1);
  luaL_argcheck(L, pid > 1 && pid <= INT32_MAX, 1, "is no process");
  const struct sys *sys = bind_sys(L);
  int failed = sys->kill_process(sys, (pid_t)pid, SIGTERM);
  struct error error;
  if (failed < 0) {
    error_system(&error, -failed, "process %d", (int)pid);
    return bind_fail(L, &error);
  }
  lua_pushboolean(L, true);
  return 1;
}

/* ---- waiting ---- */

static size_t watch_programs(lua_State *L, struct loop_watch *watches, size_t count) {
  for (lua_Integer i = 1; count < LOOP_WATCHES_MAX && lua_geti(L, 3, i) != LUA_TNIL; i++) {
    struct program *program = luaL_checkudata(L, -1, PROGRAM_TYPE);
    if (program->ended >= 0) watches[count++] = (struct loop_watch){.fd = program->ended};
    if (program->pid && program->channel >= 0 && count < LOOP_WATCHES_MAX)
      watches[count++] = (struct loop_watch){.fd = program->channel};
    lua_pop(L, 1);
  }
  return count;
}

static int serve_wait(lua_State *L) {
  lua_Integer ms = luaL_checkinteger(L, 1);
  luaL_argcheck(L, ms >= 0 && ms <= 60000, 1, "from 0 to 60000 ms");
  struct lines *lines = lua_isnil(L, 2) ? NULL : luaL_checkudata(L, 2, LINES_TYPE);
  luaL_checktype(L, 3, LUA_TTABLE);
  int other = lua_isinteger(L, 4) ? (int)lua_tointeger(L, 4) : bind_listen_fd(L, 4);
  struct error error = {0};
  struct loop *loop = bind_loop(L, &error);
  if (!loop) return luaL_error(L, "%s", error.text);
  struct loop_watch watches[LOOP_WATCHES_MAX] = {
      {.fd = lines && !lines->closed ? STDIN_FILENO : -1}, {.fd = other}};
  if (!loop_wait(loop, watches, watch_programs(L, watches, 2), ms)) return 0;
  if (lines) lines->ready = lines->ready || watches[0].ready;
  lua_pushboolean(L, true);
  return 1;
}

static void make_type(lua_State *L, const char *name, lua_CFunction clear,
                      const luaL_Reg *methods) {
  luaL_newmetatable(L, name);
  lua_pushcfunction(L, clear);
  lua_setfield(L, -2, "__gc");
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

int bind_serve(lua_State *L) {
  static const luaL_Reg lines[] = {{"next", lines_next}, {NULL, NULL}};
  static const luaL_Reg program[] = {{"code", program_code},
                                     {"stop", program_stop},
                                     {"output", program_output},
                                     {"say", program_say},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {{"lines", serve_lines}, {"start", serve_start},
                                       {"say", serve_say},     {"terminate", serve_terminate},
                                       {"wait", serve_wait},   {"listen", bind_listen},
                                       {"drain", serve_drain}, {NULL, NULL}};
  make_type(L, LINES_TYPE, lines_clear, lines);
  make_type(L, PROGRAM_TYPE, program_clear, program);
  bind_listen_type(L);
  luaL_newlib(L, functions);
  return 1;
}
