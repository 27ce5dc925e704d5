/* bind_listen.c: core.serve.listen: a port of this machine that a browser is sent back to.
 *
 * listen(port) -> listener, port | nil, message, code; 0 is any free one. listener:take() -> the
 * target of a request that has come, or nil: none has, not all of it, or it did not say within a
 * second what it wants. Nothing but its first line is looked at, and each is answered by the same
 * page. Waited for by core.serve.wait. Called by bind_serve.c. */
#include "lua/bind.h"

#include <errno.h>
#include <lauxlib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define LISTENER_TYPE "skillrt.listener"

enum { REQUEST_MAX = 16 << 10, PATIENCE_MS = 1000, BACKLOG = 8 };

static const char PAGE[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                           "\r\nGo back to the terminal; this page may be closed.\n";

struct listener {
  const struct sys *sys;
  int fd, guest; /* who has come and is listened to; -1: none */
  int64_t until_ns;
  size_t length;
  char head[REQUEST_MAX]; /* what the guest has said */
};

static void drop_guest(struct listener *listener) {
  listener->sys->close(listener->sys, listener->guest);
  listener->guest = -1;
}

static int listener_clear(lua_State *L) {
  struct listener *listener = luaL_checkudata(L, 1, LISTENER_TYPE);
  if (listener->fd >= 0) listener->sys->close(listener->sys, listener->fd);
  listener->fd = -1;
  if (listener->guest >= 0) drop_guest(listener);
  return 0;
}

int bind_listen_fd(lua_State *L, int index) {
  const struct listener *listener = luaL_testudata(L, index, LISTENER_TYPE);
  if (!listener) return -1;
  return listener->guest >= 0 ? listener->guest : listener->fd;
}

/* Takes in what there is of a request. Whether it is all there, or will never be. */
static bool guest_read(struct listener *listener) {
  const struct sys *sys = listener->sys;
  for (;;) {
    size_t room = sizeof listener->head - 1 - listener->length;
    ssize_t got =
        room ? sys->read(sys, listener->guest, listener->head + listener->length, room) : 0;
    if (got == -EAGAIN || got == -EINTR) return sys->mono_ns(sys) > listener->until_ns;
    if (got <= 0) return true;
    listener->length += (size_t)got;
    listener->head[listener->length] = 0;
    if (strstr(listener->head, "\r\n\r\n"))
      return true; /* a socket that is closed over what was not read resets */
  }
}

static int listener_take(lua_State *L) {
  struct listener *listener = luaL_checkudata(L, 1, LISTENER_TYPE);
  const struct sys *sys = listener->sys;
  if (listener->guest < 0) {
    listener->guest = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    listener->length = 0;
    listener->until_ns = sys->mono_ns(sys) + (int64_t)PATIENCE_MS * 1000000;
  }
  if (listener->guest < 0 || !guest_read(listener)) return 0;
  const char *head = listener->head;
  size_t length = listener->length;
  const char *end =
      length > 4 && memcmp(head, "GET ", 4) == 0 ? memchr(head + 4, ' ', length - 4) : NULL;
  if (end) send(listener->guest, PAGE, sizeof PAGE - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  drop_guest(listener);
  if (!end) return 0;
  lua_pushlstring(L, head + 4, (size_t)(end - head - 4));
  return 1;
}

int bind_listen(lua_State *L) {
  lua_Integer port = luaL_checkinteger(L, 1);
  luaL_argcheck(L, port >= 0 && port <= 65535, 1, "from 0 to 65535");
  struct listener *listener = lua_newuserdatauv(L, sizeof *listener, 0);
  *listener = (struct listener){.sys = bind_sys(L), .fd = -1, .guest = -1};
  luaL_setmetatable(L, LISTENER_TYPE);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  int fd = listener->sys->socket(listener->sys, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
  listener->fd = fd;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      bind(fd, (const struct sockaddr *)&at, size) < 0 || listen(fd, BACKLOG) < 0 ||
      getsockname(fd, (struct sockaddr *)&at, &size) < 0) {
    struct error error;
    error_system(&error, fd < 0 ? -fd : errno, "port %d", (int)port);
    return bind_fail(L, &error);
  }
  lua_pushinteger(L, ntohs(at.sin_port));
  return 2;
}

void bind_listen_type(lua_State *L) {
  luaL_newmetatable(L, LISTENER_TYPE);
  lua_pushcfunction(L, listener_clear);
  lua_setfield(L, -2, "__gc");
  lua_newtable(L);
  lua_pushcfunction(L, listener_take);
  lua_setfield(L, -2, "take");
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
