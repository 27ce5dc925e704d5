/* server.c: where the server listens, its connections, and what is due in time.
 *
 * libmicrohttpd runs without a thread: its epoll descriptor is waited for with all else. */
#include "serve/server_inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { BACKLOG = 128, LOOK_MS = 1000 };

int64_t server_now_ms(const struct server *s) {
  return s->sys->mono_ns(s->sys) / 1000000;
}

/* ---- where it listens ---- */

/* Whether somebody listens at a socket of the file system. */
static bool is_alive(const struct sys *sys, const struct sockaddr_un *at) {
  int fd = sys->socket(sys, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0) return true;
  bool alive = connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno == EAGAIN;
  sys->close(sys, fd);
  return alive;
}

static bool make_room(const struct sys *sys, const struct sockaddr_un *at, struct error *error) {
  struct sys_stat stat;
  int failed = sys->stat(sys, at->sun_path, &stat);
  if (failed == -ENOENT) return true;
  if (failed < 0) return error_system(error, -failed, "%s", at->sun_path);
  if (stat.kind != SYS_OTHER)
    return error_set(error, ERROR_EXISTS, "%s: is not a socket: name another path", at->sun_path);
  if (is_alive(sys, at))
    return error_set(error, ERROR_BUSY, "%s: another process listens there", at->sun_path);
  failed = sys->unlink(sys, at->sun_path);
  return failed < 0 ? error_system(error, -failed, "%s", at->sun_path) : true;
}

static bool listen_at_path(struct server *s, const char *path, struct error *error) {
  const struct sys *sys = s->sys;
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  size_t size = strlen(path) + 1;
  if (size > sizeof at.sun_path)
    return error_set(error, ERROR_INVALID, "%s: the path of a socket has at most %zu bytes", path,
                     sizeof at.sun_path - 1);
  memcpy(at.sun_path, path, size);
  if (!make_room(sys, &at, error)) return false;
  s->listener = sys->socket(sys, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (s->listener < 0) return error_system(error, -s->listener, "%s", path);
  mode_t before = umask(0177);
  int failed = bind(s->listener, (const struct sockaddr *)&at, sizeof at) < 0 ? errno : 0;
  umask(before);
  if (failed) return error_system(error, failed, "%s", path);
  s->path = sys_alloc(sys, size);
  if (!s->path) return error_set(error, ERROR_MEMORY, "%s: no memory", path);
  memcpy(s->path, path, size);
  failed = sys->stat(sys, path, &s->socket);
  if (failed < 0) return error_system(error, -failed, "%s", path);
  if (listen(s->listener, BACKLOG) < 0) return error_system(error, errno, "%s", path);
  return true;
}

static bool listen_at_port(struct server *s, const struct server_address *address,
                           struct error *error) {
  const char *host = address->host ? address->host : "127.0.0.1";
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(address->port)};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};
  bool is_six =
      inet_pton(AF_INET6, host, &six.sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
  bool is_four = inet_pton(AF_INET, host, &four.sin_addr) == 1 &&
                 ntohl(four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  if (!is_six && !is_four)
    return error_set(error, ERROR_INVALID,
                     "%s: is not an address of this machine alone: use 127.0.0.1 or ::1", host);
  struct sockaddr *at = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
  socklen_t size = is_six ? sizeof six : sizeof four;
  int on = 1;
  s->listener = s->sys->socket(s->sys, at->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (s->listener < 0 || setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      bind(s->listener, at, size) < 0 || listen(s->listener, BACKLOG) < 0 ||
      getsockname(s->listener, at, &size) < 0)
    return error_system(error, s->listener < 0 ? -s->listener : errno, "%s port %d", host,
                        (int)address->port);
  s->port = ntohs(is_six ? six.sin6_port : four.sin_port);
  return true;
}

/* The socket, where it is still the one that was made here. */
static void remove_socket(struct server *s) {
  struct sys_stat now;
  if (!s->path) return;
  if (s->sys->stat(s->sys, s->path, &now) == 0 && now.inode == s->socket.inode &&
      now.device == s->socket.device)
    s->sys->unlink(s->sys, s->path);
  sys_free(s->sys, s->path, strlen(s->path) + 1);
}

/* ---- connections ---- */

static void guest_leaves(struct server *s, struct guest *guest) {
  if (guest->previous)
    guest->previous->next = guest->next;
  else
    s->guests = guest->next;
  if (guest->next) guest->next->previous = guest->previous;
  sys_free(s->sys, guest, sizeof *guest);
}

static void guest_comes(struct server *s, struct MHD_Connection *connection, void **context) {
  struct guest *guest = sys_alloc(s->sys, sizeof *guest);
  *context = guest;
  if (!guest) return; /* without it no exchange is made */
  guest->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  guest->since_ms = server_now_ms(s);
  guest->next = s->guests;
  if (s->guests) s->guests->previous = guest;
  s->guests = guest;
}

static void guest_notified(void *server, struct MHD_Connection *connection, void **context,
                           enum MHD_ConnectionNotificationCode what) {
  struct server *s = server;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    guest_comes(s, connection, context);
    return;
  }
  if (*context) guest_leaves(s, *context);
  s->again = true; /* those that wait because there were as many as there may be are taken then */
}

void guest_shut(struct guest *guest) {
  if (!guest->shut) shutdown(guest->fd, SHUT_RDWR);
  guest->shut = true;
}

/* ---- the server ---- */

static bool start(struct server *s, struct error *error) {
  int held[3];
  sys_hold_standard(held);
  s->daemon = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, exchange_handle, s,
      MHD_OPTION_LISTEN_SOCKET, s->listener, MHD_OPTION_NOTIFY_COMPLETED, exchange_completed, s,
      MHD_OPTION_NOTIFY_CONNECTION, guest_notified, s, MHD_OPTION_CONNECTION_LIMIT,
      (unsigned)SERVER_GUESTS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_HEAD_MAX,
      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVER_PATIENCE_MS / 1000,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 0, MHD_OPTION_END);
  sys_release_standard(held);
  return s->daemon ? true : error_set(error, ERROR_SYSTEM, "libmicrohttpd: cannot start");
}

bool server_open(const struct sys *sys, const struct server_address *address, struct server **to,
                 struct error *error) {
  struct server *s = sys_alloc(sys, sizeof *s);
  if (!s) return error_set(error, ERROR_MEMORY, "server: no memory");
  s->sys = sys;
  s->listener = -1;
  bool listens =
      address->path ? listen_at_path(s, address->path, error) : listen_at_port(s, address, error);
  if (listens && start(s, error)) return *to = s, true;
  if (s->listener >= 0) sys->close(sys, s->listener);
  remove_socket(s);
  sys_free(sys, s, sizeof *s);
  return false;
}

void server_close(struct server *s) {
  if (!s) return;
  s->closing = true;
  remove_socket(s);
  for (struct exchange *x = s->first; x; x = x->next)
    exchange_resume(x);
  MHD_stop_daemon(s->daemon); /* closes the listener, too */
  sys_free(s->sys, s, sizeof *s);
}

uint16_t server_port(const struct server *s) {
  return s->port;
}

int server_fd(const struct server *s) {
  return MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

static int64_t deadline_ms(const struct guest *guest) {
  return guest->waits_for_us || guest->shut ? INT64_MAX : guest->since_ms + SERVER_PATIENCE_MS;
}

int server_patience(const struct server *s) {
  MHD_UNSIGNED_LONG_LONG due;
  int64_t now = server_now_ms(s), least = now + SERVER_PATIENCE_MS;
  if (s->again) return 0;
  if (MHD_get_timeout(s->daemon, &due) == MHD_YES && now + (int64_t)due < least)
    least = now + (int64_t)due;
  for (const struct guest *guest = s->guests; guest; guest = guest->next)
    if (deadline_ms(guest) < least) least = deadline_ms(guest);
  for (const struct exchange *x = s->first; x; x = x->next)
    if (x->state == EXCHANGE_STREAMING && s->looked_ms + LOOK_MS < least)
      least = s->looked_ms + LOOK_MS;
  return least > now ? (int)(least - now) : 0;
}

void server_turn(struct server *s) {
  int64_t now = server_now_ms(s);
  for (struct guest *guest = s->guests; guest; guest = guest->next)
    if (deadline_ms(guest) <= now) guest_shut(guest);
  if (s->looked_ms + LOOK_MS <= now) {
    s->looked_ms = now;
    for (struct exchange *x = s->first; x; x = x->next)
      exchange_look(x);
  }
  s->again = false;
  MHD_run(s->daemon);
}

struct exchange *server_take(struct server *s) {
  for (struct exchange *x = s->first; x; x = x->next)
    if (x->state == EXCHANGE_ASKED) {
      x->state = EXCHANGE_TAKEN;
      return x;
    }
  return NULL;
}

struct exchange *server_find(struct server *s, uint64_t id) {
  for (struct exchange *x = s->first; x; x = x->next)
    if (x->id == id && x->state != EXCHANGE_READING && x->state != EXCHANGE_ASKED) return x;
  return NULL;
}
