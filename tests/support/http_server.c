/* http_server.c: listens on loopback, a thread per connection, and reads requests.
 * Knows nothing of the program under test; what is answered is in http_replies.c. */
#include "support/http_server_inside.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 1024, MAX_KEYS = 4096, MAX_REQUEST_BODY = 64 << 20 };

struct connection {
  struct http_server *server;
  pthread_t thread;
  int fd; /* -1: over */
  int number;
};

struct http_server {
  int listener, port;
  int stop[2]; /* a pipe: readable once the server stops */
  pthread_t thread;
  pthread_mutex_t lock;
  struct connection connections[MAX_CONNECTIONS]; /* at once */
  int used;                                       /* of them: begun, and maybe over */
  struct http_counts counts;
  char *keys[MAX_KEYS];
  FILE *log;
  char plan[512], keep[512];
};

/* --- for the replies ---------------------------------------------------------------- */

bool http_send(struct request *request, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t sent = send(request->fd, bytes, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    length -= (size_t)sent;
  }
  return true;
}

void http_pause(struct request *request, int ms) {
  struct pollfd wait[2] = {{.fd = request->server->stop[0], .events = POLLIN},
                           {.fd = request->fd, .events = POLLRDHUP}};
  poll(wait, 2, ms);
}

bool http_reset_connection(struct request *request) {
  struct linger now = {1, 0};
  setsockopt(request->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  return false;
}

void http_decode(const char *from, char *to, size_t size) {
  size_t used = 0;
  for (; *from && used + 1 < size; from++) {
    char hex[3] = {0};
    if (*from == '%' && from[1] && from[2]) {
      memcpy(hex, from + 1, 2);
      to[used++] = (char)strtol(hex, NULL, 16);
      from += 2;
    } else {
      to[used++] = *from;
    }
  }
  to[used] = 0;
}

const char *http_query(const struct request *request, const char *name, char *to, size_t size) {
  size_t length = strlen(name);
  to[0] = 0;
  for (const char *at = request->query; at && *at;
       at = strchr(at, '&') ? strchr(at, '&') + 1 : "") {
    if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
    char raw[4096];
    snprintf(raw, sizeof raw, "%.*s", (int)strcspn(at + length + 1, "&"), at + length + 1);
    http_decode(raw, to, size);
    break;
  }
  return to;
}

long http_query_number(const struct request *request, const char *name, long otherwise) {
  char text[32];
  return *http_query(request, name, text, sizeof text) ? strtol(text, NULL, 10) : otherwise;
}

bool http_plan(struct request *request, char *to, size_t size) {
  FILE *file = *request->server->plan ? fopen(request->server->plan, "re") : NULL;
  bool found = false;
  if (!file) return false;
  char line[8192];
  for (int i = 0; i < request->number && fgets(line, sizeof line, file);) {
    line[strcspn(line, "\r\n")] = 0;
    if (!*line) continue;
    snprintf(to, size, "%s", line);
    found = true;
    i++;
  }
  fclose(file);
  return found;
}

/* --- one connection ----------------------------------------------------------------- */

static bool receive(int fd, char *to, size_t size, size_t *length) {
  ssize_t got;
  do
    got = recv(fd, to + *length, size - *length, 0);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  *length += (size_t)got;
  return true;
}

static const char *head_value(const struct request *request, const char *name) {
  size_t length = strlen(name);
  for (const char *at = strstr(request->head, "\r\n"); at; at = strstr(at + 2, "\r\n"))
    if (strncasecmp(at + 2, name, length) == 0 && at[2 + length] == ':')
      return at + 3 + length + strspn(at + 3 + length, " ");
  return NULL;
}

/* The head up to its empty line, and what of the body came with it. */
static bool read_request(struct request *request, char *rest, size_t *rest_length) {
  size_t length = 0;
  char *end = NULL;
  while (!end) {
    if (length >= sizeof request->head - 1) return false;
    if (!receive(request->fd, request->head, sizeof request->head - 1, &length)) return false;
    request->head[length] = 0;
    if (request->head[0] < 'A' || request->head[0] > 'Z') return false; /* TLS, say */
    end = strstr(request->head, "\r\n\r\n");
  }
  *rest_length = length - (size_t)(end + 4 - request->head);
  memcpy(rest, end + 4, *rest_length);
  end[4] = 0;
  char target[8192];
  if (sscanf(request->head, "%15s %8191s", request->method, target) != 2) return false;
  char *question = strchr(target, '?');
  snprintf(request->query, sizeof request->query, "%s", question ? question + 1 : "");
  if (question) *question = 0;
  snprintf(request->path, sizeof request->path, "%s", target);
  return true;
}

static bool read_body(struct request *request, const char *rest, size_t rest_length) {
  const char *length = head_value(request, "Content-Length");
  size_t wanted = length ? strtoul(length, NULL, 10) : 0, got = rest_length;
  if (wanted > MAX_REQUEST_BODY || rest_length > wanted) return false;
  request->body = malloc(wanted + 1);
  request->body_length = wanted;
  if (!request->body) return false;
  memcpy(request->body, rest, rest_length);
  while (got < wanted)
    if (!receive(request->fd, request->body, wanted, &got)) return false;
  request->body[wanted] = 0;
  return true;
}

static void note_key(struct http_server *server, const char *key) {
  int i = 0;
  for (; i < server->counts.keys; i++)
    if (strcmp(server->keys[i], key) == 0) return;
  if (i < MAX_KEYS && (server->keys[i] = strdup(key))) server->counts.keys++;
}

static void copy_value(const char *value, char *to, size_t size) {
  snprintf(to, size, "%.*s", value ? (int)strcspn(value, "\r\n") : 1, value ? value : "-");
}

static void count(struct request *request, const struct connection *connection) {
  struct http_server *server = request->server;
  char key[256], secret[256];
  if (strcmp(request->path, "/counts") == 0 || http_is_aside(request)) return;
  copy_value(head_value(request, "Idempotency-Key"), key, sizeof key);
  copy_value(head_value(request, "Authorization"), secret, sizeof secret);
  pthread_mutex_lock(&server->lock);
  request->number = ++server->counts.requests;
  if (strcmp(key, "-") != 0) note_key(server, key);
  if (server->log) {
    fprintf(server->log, "%d %d %s %s%s%s %s %s %zu\n", request->number, connection->number,
            request->method, request->path, *request->query ? "?" : "", request->query, key, secret,
            request->body_length);
    fflush(server->log);
  }
  pthread_mutex_unlock(&server->lock);
}

static void keep(const struct request *request) {
  char path[640];
  if (!*request->server->keep || request->number == 0) return;
  snprintf(path, sizeof path, "%s/%d", request->server->keep, request->number);
  FILE *file = fopen(path, "we");
  if (!file) return;
  fputs(request->head, file);
  fwrite(request->body, 1, request->body_length, file);
  fclose(file);
}

static void *serve(void *data) {
  struct connection *connection = data;
  struct request *request = calloc(1, sizeof *request);
  char *rest = malloc(sizeof request->head);
  bool more = request && rest;
  while (more) {
    size_t rest_length = 0;
    memset(request, 0, sizeof *request);
    request->server = connection->server;
    request->fd = connection->fd;
    more = read_request(request, rest, &rest_length) && read_body(request, rest, rest_length);
    if (more) {
      count(request, connection);
      keep(request);
      more = http_reply(request);
    }
    free(request->body);
  }
  free(rest);
  free(request);
  pthread_mutex_lock(&connection->server->lock);
  close(connection->fd);
  connection->fd = -1;
  pthread_mutex_unlock(&connection->server->lock);
  return NULL;
}

/* --- the server --------------------------------------------------------------------- */

/* A place for one more: of one that is over, else a fresh one; NULL: there is none. */
static struct connection *free_place(struct http_server *server) {
  for (int i = 0; i < server->used; i++) {
    struct connection *connection = &server->connections[i];
    if (connection->fd >= 0) continue;
    pthread_join(connection->thread, NULL); /* it only returns */
    return connection;
  }
  return server->used < MAX_CONNECTIONS ? &server->connections[server->used++] : NULL;
}

static void *listen_on(void *data) {
  struct http_server *server = data;
  struct pollfd wait[2] = {{.fd = server->stop[0], .events = POLLIN},
                           {.fd = server->listener, .events = POLLIN}};
  while (poll(wait, 2, -1) >= 0 && !wait[0].revents) {
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) continue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    pthread_mutex_lock(&server->lock);
    struct connection *connection = free_place(server);
    if (connection) {
      int number = ++server->counts.connections;
      *connection = (struct connection){.server = server, .fd = fd, .number = number};
      if (pthread_create(&connection->thread, NULL, serve, connection) != 0) abort();
    } else {
      close(fd);
    }
    pthread_mutex_unlock(&server->lock);
  }
  return NULL;
}

static bool listen_at(struct http_server *server, int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  socklen_t size = sizeof at;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  if (bind(server->listener, (struct sockaddr *)&at, size) < 0) return false;
  if (listen(server->listener, 64) < 0) return false;
  if (getsockname(server->listener, (struct sockaddr *)&at, &size) < 0) return false;
  server->port = ntohs(at.sin_port);
  return true;
}

struct http_server *http_server_start(const char *log, const char *plan, int port) {
  struct http_server *server = calloc(1, sizeof *server);
  if (!server) abort();
  pthread_mutex_init(&server->lock, NULL);
  if (plan) snprintf(server->plan, sizeof server->plan, "%s", plan);
  if (log) server->log = fopen(log, "ae");
  if ((log && !server->log) || pipe2(server->stop, O_CLOEXEC) < 0 || !listen_at(server, port) ||
      pthread_create(&server->thread, NULL, listen_on, server) != 0) {
    fprintf(stderr, "http_server: %s\n", strerror(errno));
    free(server);
    return NULL;
  }
  return server;
}

void http_server_keep(struct http_server *server, const char *folder) {
  snprintf(server->keep, sizeof server->keep, "%s", folder);
}

int http_server_port(const struct http_server *server) {
  return server->port;
}

struct http_counts http_server_counts(struct http_server *server) {
  pthread_mutex_lock(&server->lock);
  struct http_counts counts = server->counts;
  pthread_mutex_unlock(&server->lock);
  return counts;
}

void http_server_stop(struct http_server *server) {
  if (!server) return;
  close(server->stop[1]); /* everybody who waits sees the end of the pipe */
  pthread_join(server->thread, NULL);
  for (int i = 0; i < server->used; i++) {
    pthread_mutex_lock(&server->lock);
    if (server->connections[i].fd >= 0) shutdown(server->connections[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&server->lock);
    pthread_join(server->connections[i].thread, NULL);
  }
  for (int i = 0; i < server->counts.keys; i++)
    free(server->keys[i]);
  close(server->stop[0]);
  close(server->listener);
  if (server->log) fclose(server->log);
  pthread_mutex_destroy(&server->lock);
  free(server);
}
