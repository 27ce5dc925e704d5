/* http_call.h: one HTTP exchange under way, shared by http.c (multi handle, loop, deadlines),
 * http_request.c (what is sent), http_reply.c (what comes back), http_redirect.c (where it goes
 * on). Nobody else includes this; curl.h stays behind it. */
#ifndef SKILLRT_TRANSPORT_HTTP_CALL_H
#define SKILLRT_TRANSPORT_HTTP_CALL_H

#include <curl/curl.h>
#include <uv.h>

#include "base/sse.h"
#include "transport/transport.h"

enum {
  HTTP_CONNECT_MS = 10 * 1000,
  HTTP_IDLE_MS = 60 * 1000,
  HTTP_TOTAL_MS = 600 * 1000,
  HTTP_MAX_BODY = 16 << 20,
  HTTP_MAX_EXTRA = 256 << 10,
  HTTP_MAX_EVENT_ID = 4096,
  HTTP_AT_ONCE = 1 << 20 /* ... of the body of a stream that is passed on */
};

struct http {
  struct transport base; /* first: the engine sees only this */
  const struct sys *sys;
  uv_loop_t *loop;
  CURLM *multi;       /* NULL once closed */
  uv_timer_t timer;   /* libcurl's own */
  struct call *calls; /* not yet discarded */
  struct call *fresh; /* calls with new events */
  bool closed;
  size_t living; /* handles and calls not yet freed, and users of this struct */
  int no_socket; /* errno of the last socket that could not be opened; 0: the last was */
  bool starved;  /* a socket could not be watched: everything under way fails */
};

enum head_stage { HEAD_NONE, HEAD_LINES, HEAD_DONE };

struct call {
  struct http *owner;
  struct call *next, **link;             /* in the owner's list of calls */
  struct call *fresh_next, **fresh_link; /* in its list of fresh ones; NULL: not in it */
  struct exchange *exchange;             /* NULL once done was called; `task` is gone then */
  const struct task *task;
  uv_timer_t timer; /* starts the call; then its nearest deadline */
  char place[128];  /* "host:port": begins every message */

  CURL *easy; /* NULL: not started or over */
  struct curl_slist *headers;
  char why[CURL_ERROR_SIZE];
  bool added;                   /* to the multi handle */
  bool connected;               /* the connection stands, the request goes out */
  uint64_t started_at, last_at; /* loop time of the start and of the last byte */
  curl_off_t sent;
  int64_t started_ns; /* sys clock */
  size_t redirects;

  enum head_stage stage;
  int status;                  /* of the status line last seen */
  bool cut;                    /* it was sent, and the connection ended before any reply */
  char forbidden[64];          /* the forbidden address that it resolved to, if any */
  bool old_version;            /* HTTP/1.0 */
  size_t head_bytes, max_head; /* all header bytes as they came */
  size_t max_body;
  bool head_large, body_large, starved; /* why a callback stopped the transfer */
  struct buffer head;                   /* "name: value\n" */
  struct buffer body;
  bool events;            /* the body is an event stream */
  bool answered;          /* ... whose event was waited for came */
  bool head_told;         /* `head` was called */
  struct buffer event_id; /* of the last event */
  struct sse sse;
  size_t fed;   /* bytes of body that `sse` has seen, or are joined */
  size_t seen;  /* ... and in which the end of an event was looked for */
  size_t taken; /* bytes that came, as they came */
};

/* The result of a call, for its reply. */
struct outcome {
  enum reply_status status;
  char message[256];
};

/* In http_request.c. False: `outcome` says why nothing can be sent. */
bool http_request_prepare(struct call *, struct outcome *);
bool http_reads(const struct task *); /* by its method: it may be sent twice */
/* Puts a URL apart: scheme, host and port with the scheme's default. Each is curl_free'd. */
struct origin {
  char *scheme, *host, *port;
};
CURLUcode http_origin(const char *url, struct origin *);
void http_origin_clear(struct origin *);

/* In http_reply.c: libcurl's callbacks, which only append, and the judgment of a whole reply. */
size_t http_on_head(char *line, size_t size, size_t count, void *call);
size_t http_on_body(char *bytes, size_t size, size_t count, void *call);
void http_reply_reset(struct call *); /* before the first and each following request */
/* The value of a header by its lower-case name; an empty span if there is none. */
struct span http_header(const struct call *, const char *name);
void http_judge(struct call *, CURLcode, struct outcome *);
/* "host:port: text" */
void http_outcome(const struct call *, struct outcome *, enum reply_status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* In http_redirect.c. True: the next request is prepared, to the same origin. */
bool http_redirect(struct call *, struct outcome *);
bool http_is_redirect(int status);

/* In http_events.c: hands on the events that came since the last time; a listener may cancel the
 * call, so look at `exchange` afterwards. False: `outcome` says why not. */
bool http_events_feed(struct call *, struct outcome *);
bool http_events_cut(struct call *); /* did the body end inside an event? Nothing comes any more */
void http_events_reset(struct call *); /* before the first and each following request */

/* In http.c: bytes of an event stream are there to hand on. */
void http_mark_fresh(struct call *);

#endif
