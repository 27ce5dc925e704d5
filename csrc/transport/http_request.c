/* http_request.c: turns a task into a request of libcurl: URL, method, headers, TLS, sockets.
 * Must not know deadlines or replies. Called by http.c when a call starts. */
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "transport/http_address.h"
#include "transport/http_call.h"

/* --- where -------------------------------------------------------------------------- */

void http_origin_clear(struct origin *origin) {
  curl_free(origin->scheme);
  curl_free(origin->host);
  curl_free(origin->port);
  *origin = (struct origin){0};
}

CURLUcode http_origin(const char *url, struct origin *to) {
  *to = (struct origin){0};
  CURLU *parts = curl_url();
  if (!parts) return CURLUE_OUT_OF_MEMORY;
  CURLUcode code = curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME);
  if (!code) code = curl_url_get(parts, CURLUPART_SCHEME, &to->scheme, 0);
  if (!code && strcmp(to->scheme, "http") != 0 && strcmp(to->scheme, "https") != 0)
    code = CURLUE_UNSUPPORTED_SCHEME;
  if (!code) code = curl_url_get(parts, CURLUPART_HOST, &to->host, 0);
  if (!code) code = curl_url_get(parts, CURLUPART_PORT, &to->port, CURLU_DEFAULT_PORT);
  curl_url_cleanup(parts);
  if (code) http_origin_clear(to);
  return code;
}

static bool is_loopback(const char *host) {
  size_t length = strlen(host), local = strlen(".localhost");
  if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0) return true;
  if (length > local && strcasecmp(host + length - local, ".localhost") == 0) return true;
  return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == length;
}

static bool request_place(struct call *call, bool *loopback, struct outcome *outcome) {
  const char *url = call->task->target ? call->task->target : "";
  if (!*url) {
    http_outcome(call, outcome, REPLY_REFUSED, "no URL");
    return false;
  }
  struct origin origin;
  CURLUcode code = http_origin(url, &origin);
  if (code) { /* without its query, which may hold secrets */
    snprintf(call->place, sizeof call->place, "%.*s", (int)strcspn(url, "?#"), url);
    http_outcome(call, outcome, code == CURLUE_OUT_OF_MEMORY ? REPLY_BROKEN : REPLY_REFUSED,
                 code == CURLUE_UNSUPPORTED_SCHEME ? "only http and https URLs are supported"
                                                   : "not a URL for HTTP: %s",
                 curl_url_strerror(code));
    return false;
  }
  *loopback = is_loopback(origin.host);
  snprintf(call->place, sizeof call->place, "%s:%s", origin.host, origin.port);
  http_origin_clear(&origin);
  return true;
}

/* --- headers ------------------------------------------------------------------------ */

static bool request_add_header(struct call *call, const char *line) {
  struct curl_slist *longer = curl_slist_append(call->headers, line);
  if (longer) call->headers = longer;
  return longer != NULL;
}

/* A line break would add another header or request. */
static bool header_is_sane(const char *line) {
  size_t name = strcspn(line, ":");
  if (name == 0 || line[name] != ':') return false;
  for (const char *at = line; *at; at++) {
    unsigned char byte = (unsigned char)*at;
    if ((byte < ' ' && byte != '\t') || byte == 127) return false;
    if (at < line + name && (byte == ' ' || byte == '\t' || byte > 127)) return false;
  }
  return true;
}

/* libcurl's "Name:" removes a header; one with an empty value is spelled "Name;". */
static bool request_header(struct call *call, const char *line) {
  size_t name = strcspn(line, ":");
  if (line[name + 1 + strspn(line + name + 1, " \t")]) return request_add_header(call, line);
  char empty[256];
  if (name >= sizeof empty - 1) return request_add_header(call, line);
  snprintf(empty, sizeof empty, "%.*s;", (int)name, line);
  return request_add_header(call, empty);
}

static bool request_headers(struct call *call, struct outcome *outcome) {
  const struct strings *wanted = &call->task->http.headers;
  bool typed = false, fine = request_add_header(call, "Expect:"); /* its answer costs a second */
  for (size_t i = 0; fine && i < wanted->count; i++) {
    const char *line = wanted->items[i];
    if (!header_is_sane(line)) {
      http_outcome(call, outcome, REPLY_REFUSED, "header %zu is not \"Name: value\" in one line",
                   i + 1);
      return false;
    }
    typed = typed || strncasecmp(line, "Content-Type:", 13) == 0;
    fine = request_header(call, line);
  }
  if (fine && !typed) fine = request_add_header(call, "Content-Type:"); /* not a form */
  if (!fine) http_outcome(call, outcome, REPLY_BROKEN, "out of memory");
  return fine;
}

/* --- sockets ------------------------------------------------------------------------ */

static curl_socket_t on_open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *at) {
  (void)purpose;
  struct call *call = data; /* it is this call that opens a connection, whoever uses it later */
  struct http *owner = call->owner;
  const char *policy = call->task ? call->task->http.addresses : NULL;
  if (policy && !http_address_allowed(policy, &at->addr)) {
    http_address_text(&at->addr, call->forbidden, sizeof call->forbidden);
    return CURL_SOCKET_BAD;
  }
  int fd = owner->sys->socket(owner->sys, at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
  owner->no_socket = fd < 0 ? -fd : 0;
  return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_close_socket(void *data, curl_socket_t fd) {
  const struct http *owner = data; /* outlives every connection, as a call does not */
  return owner->sys->close(owner->sys, fd) < 0;
}

/* --- liveness ----------------------------------------------------------------------- */

bool http_reads(const struct task *task) {
  const char *method = task->http.method ? task->http.method : "POST";
  return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static int on_connected(void *data, char *there, char *here, int there_port, int here_port) {
  (void)here, (void)there_port, (void)here_port;
  struct call *call = data;
  const char *policy = call->task ? call->task->http.addresses : NULL;
  if (policy && !http_address_text_allowed(policy, there)) { /* of a connection that was there */
    snprintf(call->forbidden, sizeof call->forbidden, "%s", there);
    return CURL_PREREQFUNC_ABORT;
  }
  /* libcurl repeats a request by itself where a reused connection ends before any reply;
   * what may act is not sent twice */
  call->cut = call->connected && call->task && !http_reads(call->task);
  if (call->cut) return CURL_PREREQFUNC_ABORT;
  call->connected = true;
  call->last_at = uv_now(call->owner->loop);
  return CURL_PREREQFUNC_OK;
}

static int on_progress(void *data, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                       curl_off_t up) {
  (void)down_all, (void)down, (void)up_all;
  struct call *call = data;
  if (up != call->sent) call->last_at = uv_now(call->owner->loop);
  call->sent = up;
  return 0;
}

/* --- all of it ---------------------------------------------------------------------- */

static bool method_is_sane(const char *method) {
  return *method &&
         !method[strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_")];
}

#define SET(option, value) (code = code ? code : curl_easy_setopt(call->easy, option, value))

static CURLcode request_method(struct call *call) {
  const struct task *task = call->task;
  const char *method = task->http.method ? task->http.method : "POST";
  CURLcode code = CURLE_OK;
  bool posts = strcmp(method, "POST") == 0, has_body = task->body.length > 0;
  if (strcmp(method, "HEAD") == 0) {
    SET(CURLOPT_NOBODY, 1L);
    return code;
  }
  if (posts || has_body) {
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)task->body.length);
    SET(CURLOPT_POSTFIELDS, has_body ? task->body.data : "");
  } else {
    SET(CURLOPT_HTTPGET, 1L);
  }
  if (!posts && (has_body || strcmp(method, "GET") != 0)) SET(CURLOPT_CUSTOMREQUEST, method);
  return code;
}

static CURLcode request_manners(struct call *call, bool loopback) {
  const struct task *task = call->task;
  CURLcode code = CURLE_OK;
  SET(CURLOPT_PROTOCOLS_STR, "http,https");
  SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
  SET(CURLOPT_NOSIGNAL, 1L);
  SET(CURLOPT_QUICK_EXIT, 1L); /* a cancel must not wait for a hanging name lookup */
  SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
  SET(CURLOPT_FOLLOWLOCATION, 0L);
  SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  SET(CURLOPT_ACCEPT_ENCODING, ""); /* every coding it knows; the cap counts decoded bytes */
  SET(CURLOPT_USERAGENT, "skillrt/" SKILLRT_VERSION);
  SET(CURLOPT_TCP_KEEPALIVE, 1L);
  SET(CURLOPT_CONNECTTIMEOUT_MS,
      (long)(task->http.connect_ms > 0 ? task->http.connect_ms : HTTP_CONNECT_MS));
  SET(CURLOPT_SSL_VERIFYPEER, 1L);
  SET(CURLOPT_SSL_VERIFYHOST, 2L);
  if (task->http.ca_file) SET(CURLOPT_CAINFO, task->http.ca_file);
  /* Else http_proxy, https_proxy, no_proxy are honoured; a proxy's address is not the one asked
   * for. */
  if (loopback || task->http.addresses) SET(CURLOPT_PROXY, "");
  if (task->http.addresses) SET(CURLOPT_FRESH_CONNECT, 1L);
  return code;
}

static CURLcode request_callbacks(struct call *call) {
  CURLcode code = CURLE_OK;
  SET(CURLOPT_PRIVATE, call);
  SET(CURLOPT_ERRORBUFFER, call->why);
  SET(CURLOPT_HTTPHEADER, call->headers);
  SET(CURLOPT_HEADERFUNCTION, http_on_head);
  SET(CURLOPT_HEADERDATA, call);
  SET(CURLOPT_WRITEFUNCTION, http_on_body);
  SET(CURLOPT_WRITEDATA, call);
  SET(CURLOPT_PREREQFUNCTION, on_connected);
  SET(CURLOPT_PREREQDATA, call);
  SET(CURLOPT_NOPROGRESS, 0L);
  SET(CURLOPT_XFERINFOFUNCTION, on_progress);
  SET(CURLOPT_XFERINFODATA, call);
  SET(CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
  SET(CURLOPT_OPENSOCKETDATA, call);
  SET(CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
  SET(CURLOPT_CLOSESOCKETDATA, call->owner);
  return code;
}

bool http_request_prepare(struct call *call, struct outcome *outcome) {
  bool loopback = false;
  if (!request_place(call, &loopback, outcome)) return false;
  if (call->task->http.method && !method_is_sane(call->task->http.method)) {
    http_outcome(call, outcome, REPLY_REFUSED, "\"%.40s\" is not a method",
                 call->task->http.method);
    return false;
  }
  if (!request_headers(call, outcome)) return false;
  call->easy = curl_easy_init();
  CURLcode code = call->easy ? CURLE_OK : CURLE_OUT_OF_MEMORY;
  SET(CURLOPT_URL, call->task->target);
  if (!code) code = request_method(call);
  if (!code) code = request_manners(call, loopback);
  if (!code) code = request_callbacks(call);
  if (!code) return true;
  http_outcome(call, outcome, code == CURLE_OUT_OF_MEMORY ? REPLY_BROKEN : REPLY_REFUSED, "%s",
               curl_easy_strerror(code));
  return false;
}
