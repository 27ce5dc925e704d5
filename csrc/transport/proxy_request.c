/* proxy_request.c: a plain request of a program to a place that has a header of ours: it is sent on
 * by TLS with that header, whole, and its answer comes back whole. The program has no part in
 * either connection. See proxy_inside.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "transport/proxy_inside.h"

/* Of the request and of the answer: what libcurl or we say ourselves. */
static const char *const ours[] = {"host",
                                   "connection",
                                   "accept-encoding",
                                   "content-length",
                                   "expect",
                                   "transfer-encoding",
                                   "content-encoding",
                                   "keep-alive",
                                   "trailer",
                                   "upgrade",
                                   NULL};

static bool is_field(const char *line, size_t length, const char *name) {
  size_t size = strlen(name);
  return length > size && line[size] == ':' && strncasecmp(line, name, size) == 0;
}

static bool is_ours(const char *line, size_t length) {
  for (const char *const *one = ours; *one; one++)
    if (is_field(line, length, *one)) return true;
  return false;
}

/* ---- headers of ours ---- */

static bool header_is_sane(const char *header) {
  size_t name = strspn(header, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
  if (name == 0 || header[name] != ':' || is_ours(header, strlen(header))) return false;
  for (const char *at = header; *at; at++)
    if ((unsigned char)*at < 32 || (unsigned char)*at == 127) return false;
  return true;
}

bool proxy_key_add(struct proxy *proxy, const char *text, struct error *e) {
  struct proxy_key *key = &proxy->keys[proxy->key_count];
  const char *header = strchr(text, ' ');
  size_t length = header ? (size_t)(header - text) : 0;
  char place[PROXY_NAME + 16];
  if (length == 0 || length >= sizeof place || !header_is_sane(header + 1) ||
      strlen(header + 1) >= sizeof key->header)
    return error_set(e, ERROR_INVALID,
                     "sandbox: headers: %.100s: write PLACE = \"Name: value\", in one line of at "
                     "most %d bytes",
                     length ? "a place's header is none" : "a place has no header",
                     (int)PROXY_HEADER - 1);
  if (proxy->key_count == PROXY_KEYS)
    return error_set(e, ERROR_LIMIT, "sandbox: headers: more than %d places", (int)PROXY_KEYS);
  snprintf(place, sizeof place, "%.*s", (int)length, text);
  if (!proxy_list_add(&proxy->list, place, e)) return false;
  const struct proxy_place *added = &proxy->list.places[proxy->list.count - 1];
  if (strcmp(place, "registries") == 0 || added->name[0] == '*')
    return error_set(e, ERROR_INVALID, "sandbox: headers: %.200s is more than one place", place);
  if (proxy_key_of(proxy, added))
    return error_set(e, ERROR_INVALID, "sandbox: headers: %.200s has two", place);
  key->to = *added;
  snprintf(key->header, sizeof key->header, "%s", header + 1);
  proxy->key_count++;
  return true;
}

const struct proxy_key *proxy_key_of(const struct proxy *proxy, const struct proxy_place *to) {
  for (size_t i = 0; i < proxy->key_count; i++)
    if (proxy->keys[i].to.port == to->port && strcmp(proxy->keys[i].to.name, to->name) == 0)
      return &proxy->keys[i];
  return NULL;
}

/* ---- the request ---- */

static bool read_length(struct proxy_request *request, const char *digits, size_t length) {
  size_t number = 0;
  while (length > 0 && (*digits == ' ' || *digits == '\t'))
    digits++, length--;
  if (length == 0 || length > 9 || request->has_length) return false;
  for (size_t i = 0; i < length; i++) {
    if (digits[i] < '0' || digits[i] > '9') return false;
    number = number * 10 + (size_t)(digits[i] - '0');
  }
  request->has_length = true;
  request->left = number;
  return true;
}

/* What it says itself of the header that is ours is dropped. */
static bool read_field(struct proxy_request *request, const char *line, size_t length,
                       struct error *e) {
  const char *name = request->key->header;
  size_t size = strcspn(name, ":");
  if (is_field(line, length, "content-length")) {
    if (!read_length(request, line + 15, length - 15))
      return error_set(e, ERROR_INVALID, "400 Bad Request");
    return request->left <= PROXY_BODY ? true : error_set(e, ERROR_LIMIT, "413 Content Too Large");
  }
  if (is_field(line, length, "transfer-encoding"))
    return error_set(e, ERROR_INVALID, "411 Length Required");
  bool same = length > size && line[size] == ':' && strncasecmp(line, name, size) == 0;
  if (same || is_ours(line, length)) return true;
  return strings_add(&request->task.http.headers, request->task.sys, line, length, e);
}

/* Other methods echo what came, and so would reveal the header. */
static bool read_first(struct proxy_request *request, const char *line, size_t length,
                       struct error *e) {
  static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", NULL};
  const char *path = memchr(line, ' ', length), *const *one = methods;
  const char *end = path ? memchr(path + 1, ' ', length - (size_t)(path - line) - 1) : NULL;
  char url[PROXY_ANSWER + PROXY_NAME], place[PROXY_NAME + 16];
  if (!end) return error_set(e, ERROR_INVALID, "400 Bad Request");
  size_t method = (size_t)(path - line);
  while (*one && (strlen(*one) != method || memcmp(line, *one, method) != 0))
    one++;
  if (!*one) return error_set(e, ERROR_INVALID, "405 Method Not Allowed");
  proxy_place_text(&request->key->to, place, sizeof place);
  snprintf(url, sizeof url, "https://%s%.*s", place, (int)(end - path) - 1, path + 1);
  return task_set(&request->task, &request->task.http.method, *one, e) &&
         task_set(&request->task, &request->task.target, url, e);
}

/* Where it may be sent: as any connection to this place. */
static bool set_addresses(struct proxy_request *request, struct error *e) {
  const struct proxy *proxy = request->link->proxy;
  const struct proxy_place *to = &request->key->to;
  char text[PROXY_ADDRESSES] = "public";
  size_t used = strlen(text);
  if (strcmp(to->name, "localhost") == 0)
    used += (size_t)snprintf(text + used, sizeof text - used, " 127.0.0.1 ::1");
  for (size_t i = 0; i < proxy->list.count; i++) {
    const struct proxy_place *one = &proxy->list.places[i];
    if (one->port == to->port && proxy_place_is_address(one) && used + PROXY_NAME < sizeof text)
      used += (size_t)snprintf(text + used, sizeof text - used, " %s", one->name);
  }
  return task_set(&request->task, &request->task.http.addresses, text, e);
}

static void on_done(struct exchange *, const struct reply *);

struct proxy_request *proxy_request_begin(struct proxy_link *link, const struct proxy_key *key,
                                          struct error *e) {
  const struct sys *sys = link->proxy->sys;
  const char *line = link->head.answer, *end = line + link->head.answer_length - 2;
  struct proxy_request *request = sys_alloc(sys, sizeof *request);
  if (!request) return error_set(e, ERROR_MEMORY, "503 Service Unavailable"), NULL;
  request->link = link;
  request->key = key;
  request->exchange = (struct exchange){.done = on_done, .owner = request};
  task_init(&request->task, sys);
  buffer_init(&request->answer, sys, (size_t)PROXY_BODY + (1 << 20));
  request->task.kind = TASK_HTTP;
  request->task.unwatched = true;
  request->task.max_body = PROXY_BODY;
  bool fine = set_addresses(request, e), is_first = true;
  if (fine && link->proxy->ca_file[0])
    fine = task_set(&request->task, &request->task.http.ca_file, link->proxy->ca_file, e);
  for (; fine && line < end; is_first = false) {
    const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
    size_t length = (size_t)(stop - line);
    fine = is_first ? read_first(request, line, length, e) : read_field(request, line, length, e);
    line = stop + 2;
  }
  if (fine)
    fine = strings_add(&request->task.http.headers, sys, key->header, strlen(key->header), e);
  if (!fine && e->code == ERROR_MEMORY) error_set(e, ERROR_MEMORY, "503 Service Unavailable");
  if (!fine) proxy_request_free(&request);
  return request;
}

/* More than it said belongs to nothing. */
bool proxy_request_take(struct proxy_request *request, const char *bytes, size_t length) {
  struct error ignored;
  size_t size = length < request->left ? length : request->left;
  if (size > 0 && !buffer_append(&request->task.body, bytes, size, &ignored)) return false;
  request->left -= size;
  return true;
}

bool proxy_request_send(struct proxy_request *request, struct error *e) {
  const struct proxy *proxy = request->link->proxy;
  const struct transport_owner *owner = proxy->owner;
  request->http = owner && owner->http ? owner->http(owner->data, e) : NULL;
  if (!owner || !owner->http) error_set(e, ERROR_MISSING, "nothing here sends HTTP");
  return request->http &&
         request->http->ops->send(request->http, &request->exchange, &request->task, e);
}

/* ---- the answer ---- */

/* What is secret of a header, or all of it: what stands behind its last blank. */
static struct span secret_of(const struct proxy_key *key) {
  const char *value = strchr(key->header, ':') + 1, *last = strrchr(value, ' ');
  if (last && last[1]) value = last + 1;
  return (struct span){value, strlen(value)};
}

static bool holds(struct span text, struct span secret) {
  return text.length > 0 && secret.length > 0 &&
         memmem(text.data, text.length, secret.data, secret.length) != NULL;
}

static bool put_fields(struct buffer *to, struct span lines, struct error *e) {
  const char *end = lines.data + lines.length;
  for (const char *line = lines.data, *stop; line < end; line = stop + 1) {
    stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    size_t length = (size_t)(stop - line);
    if (length == 0 || is_ours(line, length)) continue;
    if (!buffer_append(to, line, length, e) || !buffer_string(to, "\r\n", e)) return false;
  }
  return true;
}

static bool put_answer(struct buffer *to, const struct reply *reply, struct error *e) {
  return buffer_format(to, e, "HTTP/1.1 %d Answered\r\n", reply->code) &&
         put_fields(to, reply->extra, e) &&
         buffer_format(to, e, "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                       reply->body.length) &&
         buffer_append(to, reply->body.data ? reply->body.data : "", reply->body.length, e);
}

static void on_done(struct exchange *exchange, const struct reply *reply) {
  struct proxy_request *request = exchange->owner;
  struct span secret = secret_of(request->key);
  struct error e;
  const char *why = strstr(reply->message, ": "); /* behind its place */
  if (request->link->state != LINK_ASKED) return; /* it is gone */
  if (reply->status != REPLY_OK)
    proxy_link_answered(request->link, why ? why + 2 : reply->message);
  else if (holds(reply->body, secret) || holds(reply->extra, secret))
    proxy_link_answered(request->link, "sent the added header back: its answer is dropped");
  else if (!put_answer(&request->answer, reply, &e))
    proxy_link_answered(request->link, "answered too much");
  else
    proxy_link_answered(request->link, NULL);
}

void proxy_request_cancel(struct proxy_request *request) {
  if (request && request->http && request->exchange.handle)
    request->http->ops->cancel(request->http, &request->exchange, true);
}

void proxy_request_free(struct proxy_request **to) {
  struct proxy_request *request = *to;
  *to = NULL;
  if (!request) return;
  const struct sys *sys = request->task.sys;
  task_clear(&request->task);
  buffer_clear(&request->answer);
  sys_free(sys, request, sizeof *request);
}
