/* http_reply.c: collects a server's reply within its limits, and judges the whole of it.
 * The callbacks only append bytes: they run inside libcurl, where nothing may be canceled.
 *
 * A body that ends with the connection looks complete to libcurl. It is taken as whole only if
 * the server announced that it would close (`Connection: close`, or HTTP/1.0), and never inside an
 * event; without a length, chunks or that header, a cut connection looks like the end. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "transport/http_call.h"

/* --- as it arrives ------------------------------------------------------------------ */

void http_reply_reset(struct call *call) {
  call->stage = HEAD_NONE;
  call->status = 0;
  call->head_bytes = 0;
  call->sent = 0;
  call->taken = 0;
  call->why[0] = 0;
  call->cut = call->connected = call->events = call->answered = call->head_told = false;
  buffer_reset(&call->event_id);
  buffer_reset(&call->head);
  buffer_reset(&call->body);
  http_events_reset(call);
}

static bool head_line(struct call *call, const char *line, size_t length) {
  struct buffer *head = &call->head;
  struct error e;
  if (*line == ' ' || *line == '\t') { /* an old folded line continues the one before */
    if (head->length == 0) return true;
    head->data[head->length - 1] = ' ';
  } else {
    const char *colon = memchr(line, ':', length);
    if (!colon || colon == line) return true;
    size_t at = head->length, name = (size_t)(colon - line);
    if (!buffer_append(head, line, name, &e) || !buffer_append(head, ": ", 2, &e)) return false;
    for (size_t i = at; i < at + name; i++)
      if (head->data[i] >= 'A' && head->data[i] <= 'Z') head->data[i] = (char)(head->data[i] + 32);
    length -= name + 1;
    line = colon + 1;
  }
  for (; length > 0 && (*line == ' ' || *line == '\t'); line++)
    length--;
  return buffer_append(head, line, length, &e) && buffer_byte(head, '\n', &e);
}

static void head_status(struct call *call, const char *line, size_t length) {
  const char *space = memchr(line, ' ', length);
  call->status = 0;
  for (const char *at = space ? space + 1 : line; at < line + length && isdigit((unsigned char)*at);
       at++)
    call->status = call->status < 1000 ? call->status * 10 + (*at - '0') : call->status;
  call->old_version = length >= 8 && memcmp(line, "HTTP/1.0", 8) == 0;
  call->stage = HEAD_LINES;
  buffer_reset(&call->head);
}

static bool is_event_stream(const struct call *call) {
  static const char wanted[] = "text/event-stream";
  struct span type = http_header(call, "content-type");
  size_t length = sizeof wanted - 1;
  return type.length >= length && strncasecmp(type.data, wanted, length) == 0 &&
         (type.length == length || strchr("; \t", type.data[length]));
}

size_t http_on_head(char *line, size_t size, size_t count, void *data) {
  struct call *call = data;
  size_t all = size * count, length = all;
  call->last_at = uv_now(call->owner->loop);
  call->head_bytes += all;
  if (call->head_bytes > call->max_head) {
    call->head_large = true;
    return 0;
  }
  while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r' ||
                        line[length - 1] == ' ' || line[length - 1] == '\t'))
    length--;
  bool interim = call->status >= 100 && call->status < 200;
  if (call->stage == HEAD_NONE || (call->stage == HEAD_DONE && interim)) {
    head_status(call, line, length);
  } else if (call->stage == HEAD_LINES && length == 0) {
    call->stage = HEAD_DONE;
    call->events = is_event_stream(call);
    if (call->exchange && call->exchange->head) http_mark_fresh(call);
  } else if (call->stage == HEAD_LINES && !head_line(call, line, length)) {
    call->starved = true;
    return 0;
  } /* else a trailer: counted, never merged into the headers */
  return all;
}

size_t http_on_body(char *bytes, size_t size, size_t count, void *data) {
  struct call *call = data;
  bool streams = call->events && call->task && call->task->streams; /* what is handed on is gone */
  size_t all = size * count;
  size_t room = streams ? call->body.maximum - call->body.length : call->max_body - call->taken;

  size_t take = all < room ? all : room;
  struct error e;
  call->last_at = uv_now(call->owner->loop);
  if (take > 0 && !buffer_append(&call->body, bytes, take, &e)) {
    call->starved = true;
    return 0;
  }
  call->taken += take;
  if (call->events) http_mark_fresh(call);
  if (take == all) return all;
  call->body_large = true;
  return 0;
}

/* --- as a whole --------------------------------------------------------------------- */

struct span http_header(const struct call *call, const char *name) {
  size_t length = strlen(name);
  const char *at = call->head.data, *end = at ? at + call->head.length : at;
  while (at < end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (!line_end) break;
    if ((size_t)(line_end - at) >= length + 2 && memcmp(at, name, length) == 0 && at[length] == ':')
      return (struct span){at + length + 2, (size_t)(line_end - at) - length - 2};
    at = line_end + 1;
  }
  return (struct span){NULL, 0};
}

/* Whether a comma-separated header names the word. */
static bool header_names(const struct call *call, const char *name, const char *word) {
  struct span value = http_header(call, name);
  size_t length = strlen(word);
  for (size_t at = 0; at < value.length;) {
    while (at < value.length && strchr(", \t", value.data[at]))
      at++;
    size_t start = at;
    while (at < value.length && !strchr(",; \t", value.data[at]))
      at++;
    if (at - start == length && strncasecmp(value.data + start, word, length) == 0) return true;
    while (at < value.length && value.data[at] != ',')
      at++;
  }
  return false;
}

static bool ends_with_connection(const struct call *call) {
  long version = 0;
  curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
  if (version != CURL_HTTP_VERSION_1_1 && version != CURL_HTTP_VERSION_1_0) return false;
  if (call->task->http.method && strcmp(call->task->http.method, "HEAD") == 0) return false;
  if (call->status == 204 || call->status == 304 || call->status < 200) return false;
  if (http_header(call, "content-length").data) return false;
  return !header_names(call, "transfer-encoding", "chunked");
}

static void judge_end(struct call *call, struct outcome *outcome) {
  if (!ends_with_connection(call)) return;
  if (!call->old_version && !header_names(call, "connection", "close"))
    http_outcome(call, outcome, REPLY_BROKEN,
                 "the reply ended with its connection after %zu bytes, and may be incomplete",
                 call->taken);
  else if (call->events && http_events_cut(call))
    http_outcome(call, outcome, REPLY_BROKEN, "the connection ended inside an event");
}

void http_outcome(const struct call *call, struct outcome *outcome, enum reply_status status,
                  const char *format, ...) {
  outcome->status = status;
  int used = snprintf(outcome->message, sizeof outcome->message, "%s: ", call->place);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(outcome->message + used, sizeof outcome->message - (size_t)used, format, arguments);
  va_end(arguments);
}

static enum reply_status status_of(CURLcode code) {
  switch (code) {
  case CURLE_URL_MALFORMAT:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_CIPHER:
  case CURLE_SSL_ISSUER_ERROR:
  case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
  case CURLE_SSL_INVALIDCERTSTATUS:
  case CURLE_SSL_CLIENTCERT:
    return REPLY_REFUSED;
  case CURLE_OPERATION_TIMEDOUT:
    return REPLY_TIMEOUT;
  default: /* unresolved, refused, reset, cut, garbled: worth another try */
    return REPLY_BROKEN;
  }
}

/* libcurl says "could not connect" of a socket that could not be opened, and "could not resolve" of
 * one that the resolver could not open. 0: it was not that. */
static int lacking_socket(struct call *call, CURLcode code) {
  struct http *owner = call->owner;
  if (call->connected) return 0;
  if (code == CURLE_COULDNT_CONNECT) return owner->no_socket;
  if (code != CURLE_COULDNT_RESOLVE_HOST) return 0;
  int fd = owner->sys->socket(owner->sys, AF_INET, SOCK_STREAM, 0);
  if (fd >= 0) owner->sys->close(owner->sys, fd);
  return fd == -EMFILE || fd == -ENFILE ? -fd : 0;
}

static void judge_failure(struct call *call, CURLcode code, struct outcome *outcome) {
  int lacking = lacking_socket(call, code);
  int64_t limit = call->task->http.connect_ms > 0 ? call->task->http.connect_ms : HTTP_CONNECT_MS;
  if (*call->forbidden)
    http_outcome(call, outcome, REPLY_REFUSED, "%s is not an address that may be requested",
                 call->forbidden);
  else if (call->cut)
    http_outcome(call, outcome, REPLY_BROKEN, "the connection ended before it answered");
  else if (lacking)
    http_outcome(call, outcome, REPLY_BROKEN, "no socket: %s", strerror(lacking));
  else if (code == CURLE_OPERATION_TIMEDOUT)
    http_outcome(call, outcome, REPLY_TIMEOUT, "not connected after %lld ms", (long long)limit);
  else if (code == CURLE_PARTIAL_FILE)
    http_outcome(call, outcome, REPLY_BROKEN, "the reply broke off after %zu bytes: %s",
                 call->taken, call->why);
  else if (code == CURLE_SSL_CACERT_BADFILE && call->task->http.ca_file)
    http_outcome(call, outcome, REPLY_REFUSED, "the CA file %.120s cannot be used",
                 call->task->http.ca_file);
  else if (code == CURLE_SEND_ERROR) /* libcurl's text for it is about select and poll */
    http_outcome(call, outcome, REPLY_BROKEN, "the connection was reset after %zu bytes",
                 call->taken);
  else
    http_outcome(call, outcome, status_of(code), "%s",
                 *call->why ? call->why : curl_easy_strerror(code));
}

void http_judge(struct call *call, CURLcode code, struct outcome *outcome) {
  outcome->message[0] = 0;
  outcome->status = REPLY_OK;
  /* libcurl has a limit of its own for one header line, and calls it out of memory */
  bool long_line = code == CURLE_OUT_OF_MEMORY && call->connected && call->stage != HEAD_DONE;
  if (call->body_large)
    http_outcome(call, outcome, REPLY_TOO_LARGE, "more than %zu bytes in the reply",
                 call->max_body);
  else if (call->head_large)
    http_outcome(call, outcome, REPLY_TOO_LARGE, "more than %zu bytes of headers", call->max_head);
  else if (call->starved)
    http_outcome(call, outcome, REPLY_BROKEN, "out of memory after %zu bytes", call->taken);
  else if (long_line)
    http_outcome(call, outcome, REPLY_TOO_LARGE, "a header line of more than 100 KB");
  else if (code != CURLE_OK)
    judge_failure(call, code, outcome);
  else
    judge_end(call, outcome);
}
