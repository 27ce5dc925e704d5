/* bind_guest.c: core.guest: a child of the same program that runs untrusted Lua code, confined
 * (jail/confine.h), and answers requests.
 *
 * Each request gets one answer, over two pipes, the child's standard input and output, which take
 * half of a socket's time. The caller waits, as it would for the function itself. A limit of its
 * run or a timeout of the request ends the wait, and with it the child. */
#include "lua/bind.h"

#include <errno.h>
#include <lauxlib.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "jail/confine.h"
#include "lua/guest.h"
#include "lua/limits.h"

#define GUEST_TYPE "skillrt.guest"

enum { SLICE_MS = 50, LAST_S = 2, GUEST_IN = 0, GUEST_OUT = 1, FIRST = 4096 };

struct guest {
  const struct sys *sys;
  pid_t pid; /* 0: it has ended */
  int to[2]; /* we hold its reading end, too, because writing to a pipe without a reader raises
                SIGPIPE */
  int from, ended;
  int cpu;    /* the processor it may run on: the caller's; -1: any */
  int status; /* of its end */
};

/* ---- bytes ---- */

enum outcome { DONE, OVER, AGAIN };

static enum outcome send_some(int fd, const char **at, size_t *left) {
  ssize_t sent = write(fd, *at, *left);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? AGAIN : OVER;
  *at += sent;
  *left -= (size_t)sent;
  return *left == 0 ? DONE : AGAIN;
}

static enum outcome read_some(int fd, char **at, size_t *left) {
  ssize_t got = read(fd, *at, *left);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? AGAIN : OVER;
  if (got == 0) return OVER;
  *at += got;
  *left -= (size_t)got;
  return *left == 0 ? DONE : AGAIN;
}

/* Reads a message: most arrive whole with one read, and no byte follows one. */
struct message {
  char first[FIRST];
  size_t have;
};

/* What there is of its text, once its length is there. */
static size_t message_length(const struct message *message, size_t *there) {
  uint32_t length;
  memcpy(&length, message->first, sizeof length);
  *there = message->have - sizeof length;
  return length;
}

static enum outcome message_begin(int fd, struct message *message) {
  char *at = message->first + message->have;
  size_t left = sizeof message->first - message->have;
  enum outcome outcome = read_some(fd, &at, &left);
  message->have = sizeof message->first - left;
  if (outcome == OVER) return OVER;
  return message->have >= sizeof(uint32_t) ? DONE : AGAIN;
}

/* ---- the side that asks ---- */

static void close_all(const struct sys *sys, const int *fds, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (fds[i] >= 0) sys->close(sys, fds[i]);
}

static void end(struct guest *guest) {
  const struct sys *sys = guest->sys;
  if (!guest->pid) return;
  close_all(sys, (const int[]){guest->to[0], guest->to[1], guest->from}, 3);
  sys->kill_group(sys, guest->pid, SIGKILL);
  while (sys->reap(sys, guest->pid, &guest->status) == -EAGAIN)
    sys->pause(sys, 1);
  if (guest->ended >= 0) sys->close(sys, guest->ended);
  guest->pid = 0;
}

static int open_pipe(const struct sys *sys, int ends[2]) {
  int failed = sys->pipe(sys, ends);
  if (failed < 0) ends[0] = ends[1] = -1;
  return failed;
}

static bool start(struct guest *guest, const char *program, struct error *error) {
  const struct sys *sys = guest->sys;
  const char *const argv[] = {program, "--guest", NULL}, *const env[] = {NULL};
  int none = sys->open(sys, "/dev/null", O_RDWR | O_CLOEXEC, 0), from[2] = {-1, -1};
  int failed = none < 0 ? none : open_pipe(sys, guest->to);
  if (failed >= 0) failed = open_pipe(sys, from);
  struct sys_spawn wish = {
      .argv = argv, .env = env, .in = guest->to[0], .out = from[1], .err = none};
  if (failed >= 0) failed = sys->spawn(sys, &wish, &guest->pid, &guest->ended);
  close_all(sys, (const int[]){none, from[1]}, 2);
  guest->from = from[0];
  if (failed < 0) {
    close_all(sys, (const int[]){guest->to[0], guest->to[1], from[0]}, 3);
    guest->pid = 0;
    return error_system(error, -failed, "a process of its own");
  }
  fcntl(guest->to[1], F_SETFL, O_NONBLOCK);
  fcntl(guest->from, F_SETFL, O_NONBLOCK);
  return true;
}

/* Binds the child to a processor: one of the two computes while the other waits, and waking another
 * processor for each message would cost several times as much as most functions. -1: any processor,
 * for a function that computes for long. */
static void follow(struct guest *guest, int cpu) {
  cpu_set_t set;
  if (guest->cpu == cpu || cpu >= CPU_SETSIZE) return;
  guest->cpu = cpu;
  CPU_ZERO(&set);
  if (cpu >= 0)
    CPU_SET((size_t)cpu, &set);
  else if (sched_getaffinity(0, sizeof set, &set) < 0)
    return;
  sched_setaffinity(guest->pid, sizeof set, &set);
}

/* start(program) -> guest | nil, message, code */
static int guest_start(lua_State *L) {
  const char *program = luaL_checkstring(L, 1);
  struct error error = {0};
  struct guest *guest = lua_newuserdatauv(L, sizeof *guest, 0);
  *guest = (struct guest){.sys = bind_sys(L), .to = {-1, -1}, .from = -1, .ended = -1, .cpu = -1};
  luaL_setmetatable(L, GUEST_TYPE);
  return start(guest, program, &error) ? 1 : bind_fail(L, &error);
}

/* Whether to continue to wait: the caller is not interrupted, and no time limit has passed. */
static bool waits(struct limits *limits, int64_t until) {
  limits_tick(limits);
  return !limits_raising(limits) && sys_real()->mono_ns(sys_real()) < until;
}

/* A run that is stopping may still call functions. */
static int64_t until_ns(struct limits *limits, double seconds) {
  if (interrupt_why(limits_current(limits)) && seconds > LAST_S) seconds = LAST_S;
  return sys_real()->mono_ns(sys_real()) + (int64_t)(seconds * 1e9);
}

static enum outcome send_all(struct guest *guest, struct limits *limits, int64_t until,
                             const void *bytes, size_t size) {
  const char *at = bytes;
  enum outcome outcome = send_some(guest->to[1], &at, &size);
  while (outcome == AGAIN && waits(limits, until)) {
    struct pollfd ends[] = {{.fd = guest->to[1], .events = POLLOUT},
                            {.fd = guest->from, .events = POLLIN}};
    if (poll(ends, 2, SLICE_MS) > 0)
      outcome = ends[1].revents ? OVER : send_some(guest->to[1], &at, &size);
  }
  return outcome;
}

/* Whether there is something to read; if not, the function computes for long. */
static bool is_heard(struct guest *guest) {
  struct pollfd end = {.fd = guest->from, .events = POLLIN};
  if (poll(&end, 1, SLICE_MS) > 0) return true;
  follow(guest, -1);
  return false;
}

static int ended(lua_State *L, struct guest *guest, enum outcome outcome) {
  bool late = outcome == AGAIN;
  end(guest);
  if (late && limits_raising(limits_of(L))) return limits_raise(L);
  lua_pushnil(L);
  if (late)
    lua_pushliteral(L, "took too long and was ended");
  else if (WIFSIGNALED(guest->status) && WTERMSIG(guest->status) != SIGKILL)
    lua_pushfstring(L, "ended by signal %d", WTERMSIG(guest->status));
  else
    lua_pushliteral(L, "ended");
  return 2;
}

/* guest:ask(message, seconds) -> the text of a message | nil, how it ended. Raises an interruption.
 */
static int guest_ask(lua_State *L) {
  struct guest *guest = luaL_checkudata(L, 1, GUEST_TYPE);
  size_t size, there = 0, length = 0;
  const char *text = luaL_checklstring(L, 2, &size);
  struct limits *limits = limits_of(L);
  int64_t until = until_ns(limits, luaL_checknumber(L, 3));
  struct message message = {.have = 0};
  if (!guest->pid) return ended(L, guest, OVER);
  follow(guest, sched_getcpu());
  enum outcome outcome = send_all(guest, limits, until, text, size);
  if (outcome != DONE) return ended(L, guest, outcome);
  /* most answers have arrived by now, as the child ran at once on this processor */
  for (outcome = message_begin(guest->from, &message); outcome == AGAIN && waits(limits, until);)
    if (is_heard(guest)) outcome = message_begin(guest->from, &message);
  if (outcome == DONE) length = message_length(&message, &there);
  if (outcome != DONE || length > GUEST_FRAME || there > length) return ended(L, guest, outcome);
  luaL_Buffer reply;
  char *to = luaL_buffinitsize(L, &reply, length);
  memcpy(to, message.first + sizeof(uint32_t), there);
  size_t left = length - there;
  char *at = to + there;
  for (outcome = left ? AGAIN : DONE; outcome == AGAIN && waits(limits, until);)
    if (is_heard(guest)) outcome = read_some(guest->from, &at, &left);
  if (outcome != DONE) return ended(L, guest, outcome);
  luaL_pushresultsize(&reply, length);
  return 1;
}

static int guest_close(lua_State *L) {
  end(luaL_checkudata(L, 1, GUEST_TYPE));
  return 0;
}

static int guest_pid(lua_State *L) {
  const struct guest *guest = luaL_checkudata(L, 1, GUEST_TYPE);
  lua_pushinteger(L, guest->pid);
  return 1;
}

/* ---- the guest's own side ---- */

/* Of all that Lua holds, in the only Lua state of the process. */
static struct { size_t used, most; } memory;

static void *count_memory(void *data, void *block, size_t old_size, size_t new_size) {
  (void)data;
  if (!block) old_size = 0; /* it says what kind of thing is made */
  if (new_size > old_size && new_size - old_size > memory.most - memory.used) return NULL;
  if (new_size == 0) free(block);
  void *now = new_size ? realloc(block, new_size) : NULL;
  if (now || new_size == 0) memory.used += new_size - old_size;
  return now;
}

/* confine(memory) -> true | nil, message, code. So much for Lua; the process has a quarter more. */
static int guest_confine(lua_State *L) {
  struct error error = {0};
  memory.most = (size_t)luaL_checkinteger(L, 1);
  if (!confine(memory.most + memory.most / 4, &error)) return bind_fail(L, &error);
  memory.used = (size_t)lua_gc(L, LUA_GCCOUNT) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB);
  lua_setallocf(L, count_memory, NULL);
  lua_pushboolean(L, true);
  return 1;
}

/* listen() -> the text of a message. Ends the process when the parent asks no more. */
static int guest_listen(lua_State *L) {
  struct message message = {.have = 0};
  enum outcome outcome = AGAIN;
  size_t there;
  while (outcome == AGAIN)
    outcome = message_begin(GUEST_IN, &message);
  if (outcome == OVER) _exit(0);
  size_t length = message_length(&message, &there);
  luaL_Buffer text;
  char *to = luaL_buffinitsize(L, &text, length), *at = to + there;
  memcpy(to, message.first + sizeof(uint32_t), there);
  for (size_t left = length - there; left > 0;)
    if (read_some(GUEST_IN, &at, &left) == OVER) _exit(0);
  luaL_pushresultsize(&text, length);
  return 1;
}

static bool write_whole(const void *bytes, size_t size) {
  const char *at = bytes;
  while (size > 0) {
    ssize_t sent = write(GUEST_OUT, at, size);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) at += sent, size -= (size_t)sent;
  }
  return true;
}

/* say(message) */
static int guest_say(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  if (!write_whole(text, size)) _exit(0);
  return 0;
}

int bind_guest(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"ask", guest_ask}, {"close", guest_close}, {"pid", guest_pid}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"start", guest_start},
                                       {"confine", guest_confine},
                                       {"listen", guest_listen},
                                       {"say", guest_say},
                                       {NULL, NULL}};
  if (luaL_newmetatable(L, GUEST_TYPE)) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, guest_close);
    lua_setfield(L, -2, "__gc");
  }
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  bind_pack(L);
  return 1;
}
