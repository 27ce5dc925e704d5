/* exchange.c: one request and what is sent for it. See the table in server_inside.h. */
#include "serve/server_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { CHUNK = 16 << 10, STREAM_MAX = 64 << 20 };

static void suspend(struct exchange *x) {
  x->suspended = true;
  MHD_suspend_connection(x->connection);
}

void exchange_resume(struct exchange *x) {
  if (!x->suspended) return;
  MHD_resume_connection(x->connection);
  x->suspended = false;
  x->server->again = true;
}

static char *copy_text(const struct sys *sys, const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = sys_alloc(sys, size);
  if (copy) memcpy(copy, text, size);
  return copy;
}

static void exchange_free(struct exchange *x) {
  const struct sys *sys = x->server->sys;
  if (x->method) sys_free(sys, x->method, strlen(x->method) + 1);
  if (x->path) sys_free(sys, x->path, strlen(x->path) + 1);
  if (x->response) MHD_destroy_response(x->response);
  buffer_clear(&x->body);
  sys_free(sys, x, sizeof *x);
}

static struct exchange *exchange_new(struct server *s, struct MHD_Connection *connection,
                                     const char *method, const char *path) {
  struct exchange *x = sys_alloc(s->sys, sizeof *x);
  if (!x) return NULL;
  *x = (struct exchange){.server = s, .connection = connection, .id = ++s->ids};
  x->guest =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
  x->method = copy_text(s->sys, method);
  x->path = copy_text(s->sys, path);
  buffer_init(&x->body, s->sys, SERVER_BODY_MAX);
  if (!x->method || !x->path || !x->guest) return exchange_free(x), NULL;
  x->previous = s->last;
  if (s->last)
    s->last->next = x;
  else
    s->first = x;
  s->last = x;
  return x;
}

void exchange_completed(void *server, struct MHD_Connection *connection, void **of,
                        enum MHD_RequestTerminationCode why) {
  struct server *s = server;
  struct exchange *x = *of;
  (void)connection, (void)why;
  *of = NULL;
  if (!x) return;
  if (x->previous)
    x->previous->next = x->next;
  else
    s->first = x->next;
  if (x->next)
    x->next->previous = x->previous;
  else
    s->last = x->previous;
  x->guest->waits_for_us = false;
  x->guest->since_ms = server_now_ms(s);
  exchange_free(x);
}

static bool announces_too_much(struct MHD_Connection *connection) {
  const char *length =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return length && strtoull(length, NULL, 10) > SERVER_BODY_MAX;
}

static enum MHD_Result refuse_length(struct exchange *x) {
  static char text[] =
      "{\"error\":{\"code\":\"too_large\",\"message\":\"a body has at most 1 MiB\"}}\n";
  struct MHD_Response *response =
      MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
  if (!response) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
  x->state = EXCHANGE_ANSWERED;
  enum MHD_Result result = MHD_queue_response(x->connection, MHD_HTTP_CONTENT_TOO_LARGE, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result queue(struct exchange *x) {
  struct MHD_Response *response = x->response;
  x->response = NULL;
  enum MHD_Result result = MHD_queue_response(x->connection, x->status, response);
  MHD_destroy_response(response); /* the connection holds it */
  return result;
}

enum MHD_Result exchange_handle(void *server, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **of) {
  struct server *s = server;
  struct exchange *x = *of;
  (void)version;
  if (s->closing) return MHD_NO;
  if (!x) { /* its head is there */
    *of = x = exchange_new(s, connection, method, url);
    if (!x) return MHD_NO;
    return announces_too_much(connection) ? refuse_length(x) : MHD_YES;
  }
  if (*upload_size > 0) { /* a body that did not say how long it is has no answer but an end */
    bool fits = buffer_append(&x->body, upload, *upload_size, NULL);
    *upload_size = 0;
    return fits ? MHD_YES : MHD_NO;
  }
  if (x->response) return queue(x);
  if (x->state != EXCHANGE_READING) return MHD_NO;
  x->state = EXCHANGE_ASKED;
  x->guest->waits_for_us = true;
  suspend(x);
  return MHD_YES;
}

uint64_t exchange_id(const struct exchange *x) {
  return x->id;
}

const char *exchange_method(const struct exchange *x) {
  return x->method;
}

const char *exchange_path(const struct exchange *x) {
  return x->path;
}

struct span exchange_body(const struct exchange *x) {
  return buffer_span(&x->body);
}

struct MHD_Connection *exchange_connection(const struct exchange *x) {
  return x->connection;
}

static bool respond(struct exchange *x, enum exchange_state state, unsigned status,
                    struct MHD_Response *response) {
  if (!response || x->state != EXCHANGE_TAKEN) {
    if (response) MHD_destroy_response(response);
    return false;
  }
  x->state = state;
  x->status = status;
  x->response = response;
  exchange_resume(x); /* the next turn hands the response over */
  return true;
}

bool exchange_reply(struct exchange *x, unsigned status, struct MHD_Response *response) {
  return respond(x, EXCHANGE_ANSWERED, status, response);
}

/* ---- streams ---- */

static ssize_t stream_read(void *data, uint64_t at, char *to, size_t most) {
  struct exchange *x = data;
  size_t left = x->body.length - x->sent;
  (void)at;
  if (left == 0 && x->state == EXCHANGE_ENDING) return MHD_CONTENT_READER_END_OF_STREAM;
  if (left == 0) return suspend(x), 0;
  if (left > most) left = most;
  memcpy(to, x->body.data + x->sent, left);
  x->sent += left;
  if (x->sent == x->body.length) {
    buffer_clear(&x->body);
    x->sent = 0;
  }
  return (ssize_t)left;
}

bool exchange_stream(struct exchange *x, bool (*headers)(void *data, struct MHD_Response *),
                     void *data) {
  struct MHD_Response *response =
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK, stream_read, x, NULL);
  if (response && !headers(data, response)) {
    MHD_destroy_response(response);
    response = NULL;
  }
  buffer_clear(&x->body);
  buffer_init(&x->body, x->server->sys, STREAM_MAX);
  return respond(x, EXCHANGE_STREAMING, MHD_HTTP_OK, response);
}

size_t exchange_behind(const struct exchange *x) {
  return x->state == EXCHANGE_STREAMING ? x->body.length - x->sent : 0;
}

static void give_up(struct exchange *x) {
  x->state = EXCHANGE_ENDING;
  buffer_clear(&x->body);
  x->sent = 0;
  guest_shut(x->guest);
  exchange_resume(x);
}

bool exchange_push(struct exchange *x, struct span text) {
  if (x->state != EXCHANGE_STREAMING) return false;
  if (exchange_behind(x) > SERVER_BEHIND_MAX ||
      !buffer_append(&x->body, text.data, text.length, NULL)) {
    give_up(x);
    return false;
  }
  if (text.length > 0) exchange_resume(x);
  return true;
}

void exchange_finish(struct exchange *x) {
  if (x->state != EXCHANGE_STREAMING) return;
  x->state = EXCHANGE_ENDING;
  exchange_resume(x);
}

void exchange_look(struct exchange *x) {
  char byte;
  if (x->state != EXCHANGE_STREAMING || !x->suspended) return;
  ssize_t got = recv(x->guest->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) give_up(x);
}
