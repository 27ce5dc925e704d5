/* http.c: the transport that speaks HTTP, over libcurl's socket interface on the loop.
 * One multi handle, so that connections are used again; deadlines and replies are here, what is
 * sent in http_request.c, what comes back in http_reply.c. Built into a module of its own,
 * skillrt/http.so, with a copy of the base objects: only plain structs cross. Knows nothing of
 * steps; the engine reaches it through transport.h. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "transport/http_call.h"
#include "transport/retry_after.h"

enum { IDLE_CONNECTIONS = 64 };

/* A socket libcurl wants watched. */
struct watch {
  uv_poll_t poll;
  struct http *owner;
  curl_socket_t fd;
};

static void http_pump(struct http *);

/* --- ends of life ------------------------------------------------------------------- */

static void http_release(struct http *owner) {
  if (--owner->living == 0) sys_free(owner->sys, owner, sizeof *owner);
}

static void on_watch_closed(uv_handle_t *handle) {
  struct watch *watch = handle->data;
  struct http *owner = watch->owner;
  sys_free(owner->sys, watch, sizeof *watch);
  http_release(owner);
}

static void on_timer_closed(uv_handle_t *handle) {
  http_release(handle->data);
}

static void on_call_closed(uv_handle_t *handle) {
  struct call *call = handle->data;
  struct http *owner = call->owner;
  buffer_clear(&call->head);
  buffer_clear(&call->body);
  buffer_clear(&call->event_id);
  sse_clear(&call->sse);
  sys_free(owner->sys, call, sizeof *call);
  http_release(owner);
}

static void call_unmark(struct call *call) {
  if (!call->fresh_link) return;
  if (call->fresh_next) call->fresh_next->fresh_link = call->fresh_link;
  *call->fresh_link = call->fresh_next;
  call->fresh_link = NULL;
}

/* Takes it out of every list and of libcurl; its bytes live until the loop turned. */
static void call_discard(struct call *call) {
  call_unmark(call);
  if (call->next) call->next->link = call->link;
  *call->link = call->next;
  if (call->added) curl_multi_remove_handle(call->owner->multi, call->easy);
  if (call->easy) curl_easy_cleanup(call->easy);
  curl_slist_free_all(call->headers);
  call->easy = NULL;
  call->headers = NULL;
  call->added = false;
  uv_close((uv_handle_t *)&call->timer, on_call_closed);
}

/* Replies, once; nothing may touch the call afterwards. */
static void call_finish(struct call *call, const struct outcome *outcome) {
  struct exchange *exchange = call->exchange;
  const struct sys *sys = call->owner->sys;
  struct reply reply = {
      .status = outcome->status,
      .sent = call->connected || call->redirects > 0,
      .code = call->status,
      .body = buffer_span(&call->body),
      .extra = buffer_span(&call->head),
      .retry_after_ms = -1,
  };
  struct span wish = http_header(call, "retry-after");
  if (wish.data)
    reply.retry_after_ms = retry_after_ms(wish, http_header(call, "date"), sys->wall_ms(sys));
  if (call->task->streams && call->events) {
    reply.retry_after_ms = sse_retry_ms(&call->sse);
    reply.event_id = buffer_span(&call->event_id);
  }
  if (call->started_ns) reply.elapsed_ms = (sys->mono_ns(sys) - call->started_ns) / 1000000;
  snprintf(reply.message, sizeof reply.message, "%s", outcome->message);
  call->exchange = exchange->handle = NULL;
  call->task = NULL;
  call_discard(call);
  exchange->done(exchange, &reply);
}

/* --- deadlines ---------------------------------------------------------------------- */

static uint64_t limit(int64_t given, int64_t otherwise) {
  return (uint64_t)(given > 0 ? given : otherwise);
}

static void on_deadline(uv_timer_t *timer) {
  struct call *call = timer->data;
  struct outcome outcome;
  uint64_t now = uv_now(call->owner->loop), idle = limit(call->task->idle_ms, HTTP_IDLE_MS);
  uint64_t total = limit(call->task->total_ms, HTTP_TOTAL_MS), spent = now - call->started_at;
  uint64_t silent = call->connected ? now - call->last_at : 0; /* before, libcurl's own counts */
  if (spent >= total) {
    http_outcome(call, &outcome, REPLY_TIMEOUT, "no complete reply after %llu ms",
                 (unsigned long long)total);
    call_finish(call, &outcome);
  } else if (silent >= idle) {
    http_outcome(call, &outcome, REPLY_TIMEOUT, "silent for %llu ms", (unsigned long long)idle);
    call_finish(call, &outcome);
  } else {
    uint64_t rest = total - spent;
    uv_timer_start(timer, on_deadline, idle - silent < rest ? idle - silent : rest, 0);
  }
}

static void on_start(uv_timer_t *timer) {
  struct call *call = timer->data;
  struct outcome outcome;
  call->started_ns = call->owner->sys->mono_ns(call->owner->sys);
  uv_update_time(call->owner->loop); /* deadlines count from here, not from a stale clock */
  call->started_at = call->last_at = uv_now(call->owner->loop);
  if (!http_request_prepare(call, &outcome)) {
    call_finish(call, &outcome);
    return;
  }
  CURLMcode failed = curl_multi_add_handle(call->owner->multi, call->easy);
  if (failed) {
    http_outcome(call, &outcome, REPLY_BROKEN, "%s", curl_multi_strerror(failed));
    call_finish(call, &outcome);
    return;
  }
  call->added = true;
  on_deadline(timer);
}

/* --- libcurl and the loop ----------------------------------------------------------- */

void http_mark_fresh(struct call *call) {
  if (call->fresh_link) return;
  call->fresh_next = call->owner->fresh;
  if (call->fresh_next) call->fresh_next->fresh_link = &call->fresh_next;
  call->fresh_link = &call->owner->fresh;
  call->owner->fresh = call;
}

static void call_ended(struct call *call, CURLcode code) {
  struct http *owner = call->owner;
  struct outcome outcome;
  http_judge(call, code, &outcome);
  bool moved = outcome.status == REPLY_OK && http_is_redirect(call->status) &&
               http_header(call, "location").data;
  curl_multi_remove_handle(owner->multi, call->easy);
  call->added = false;
  if (moved && http_redirect(call, &outcome)) {
    CURLMcode failed = curl_multi_add_handle(owner->multi, call->easy);
    call->added = !failed;
    if (!failed) return;
    http_outcome(call, &outcome, REPLY_BROKEN, "%s", curl_multi_strerror(failed));
  }
  call_finish(call, &outcome);
}

static void tell_head(struct call *call) {
  struct exchange *exchange = call->exchange;
  bool is_there = exchange && exchange->head && call->stage == HEAD_DONE && call->status >= 200;
  if (!is_there || call->head_told) return;
  call->head_told = true;
  exchange->head(exchange, call->status, buffer_span(&call->head));
}

/* Hands on what libcurl brought. Each callback may cancel, send or close, so every round looks
 * at the lists afresh; the caller keeps `owner` alive. */
static void http_pump(struct http *owner) {
  while (owner->multi && owner->fresh) {
    struct call *call = owner->fresh;
    struct outcome outcome;
    call_unmark(call);
    tell_head(call);
    if (!call->exchange || !call->events) continue;
    bool fed = http_events_feed(call, &outcome);
    if (!call->exchange || (fed && !call->answered)) continue;
    if (fed) /* nothing more of the stream is waited for */
      outcome = (struct outcome){.status = REPLY_OK};
    call_finish(call, &outcome);
  }
  while (owner->multi && owner->starved && owner->calls) {
    struct outcome outcome;
    http_outcome(owner->calls, &outcome, REPLY_BROKEN, "out of memory");
    call_finish(owner->calls, &outcome);
  }
  owner->starved = false;
  for (int left; owner->multi;) {
    CURLMsg *message = curl_multi_info_read(owner->multi, &left);
    if (!message) break;
    if (message->msg != CURLMSG_DONE) continue;
    struct call *call = NULL;
    CURLcode code = message->data.result; /* gone once the handle is removed */
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
    call_ended(call, code);
  }
}

static void http_act(struct http *owner, curl_socket_t fd, int events) {
  int running;
  owner->living++; /* a done call may close us */
  curl_multi_socket_action(owner->multi, fd, events, &running);
  http_pump(owner);
  http_release(owner);
}

static void on_ready(uv_poll_t *poll, int status, int events) {
  struct watch *watch = poll->data;
  int what = status < 0 ? CURL_CSELECT_ERR : 0;
  if (events & UV_READABLE) what |= CURL_CSELECT_IN;
  if (events & UV_WRITABLE) what |= CURL_CSELECT_OUT;
  http_act(watch->owner, watch->fd, what);
}

static void on_curl_timer(uv_timer_t *timer) {
  http_act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_wish(CURLM *multi, long ms, void *data) {
  (void)multi;
  struct http *owner = data;
  if (ms < 0)
    uv_timer_stop(&owner->timer);
  else
    uv_timer_start(&owner->timer, on_curl_timer, (uint64_t)ms, 0);
  return 0;
}

static struct watch *watch_open(struct http *owner, curl_socket_t fd) {
  struct watch *watch = sys_alloc(owner->sys, sizeof *watch);
  if (!watch) return NULL;
  if (uv_poll_init_socket(owner->loop, &watch->poll, fd) < 0) {
    sys_free(owner->sys, watch, sizeof *watch);
    return NULL;
  }
  watch->poll.data = watch;
  watch->owner = owner;
  watch->fd = fd;
  owner->living++;
  curl_multi_assign(owner->multi, fd, watch);
  return watch;
}

static int on_socket_wish(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data) {
  (void)easy;
  struct http *owner = data;
  struct watch *watch = socket_data;
  if (what == CURL_POLL_REMOVE) {
    if (!watch) return 0;
    uv_poll_stop(&watch->poll); /* libuv: libcurl may close the descriptor from here on */
    curl_multi_assign(owner->multi, fd, NULL);
    uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
    return 0;
  }
  if (!watch) watch = watch_open(owner, fd);
  int events =
      ((what & CURL_POLL_IN) ? UV_READABLE : 0) | ((what & CURL_POLL_OUT) ? UV_WRITABLE : 0);
  if (!watch || uv_poll_start(&watch->poll, events, on_ready) < 0) {
    owner->starved = true; /* -1 would make the multi handle useless for ever */
    uv_timer_start(&owner->timer, on_curl_timer, 0, 0);
  }
  return 0;
}

/* --- the transport ------------------------------------------------------------------ */

static bool http_send(struct transport *base, struct exchange *exchange, const struct task *task,
                      struct error *e) {
  struct http *owner = (struct http *)base;
  if (owner->closed) return error_set(e, ERROR_STOPPED, "http transport: already closed");
  struct call *call = sys_alloc(owner->sys, sizeof *call);
  if (!call) return error_set(e, ERROR_MEMORY, "http task: out of memory");
  call->owner = owner;
  call->exchange = exchange;
  call->task = task;
  call->max_body = task->max_body ? task->max_body : HTTP_MAX_BODY;
  call->max_head = task->max_extra ? task->max_extra : HTTP_MAX_EXTRA;
  snprintf(call->place, sizeof call->place, "%s", "http task");
  buffer_init(&call->body, owner->sys, call->max_body + (task->streams ? HTTP_AT_ONCE : 0));
  buffer_init(&call->event_id, owner->sys, HTTP_MAX_EVENT_ID);
  buffer_init(&call->head, owner->sys, 2 * call->max_head); /* "a:b" becomes "a: b" */
  http_reply_reset(call);
  uv_timer_init(owner->loop, &call->timer);
  call->timer.data = call;
  call->link = &owner->calls;
  call->next = owner->calls;
  if (call->next) call->next->link = &call->next;
  owner->calls = call;
  owner->living++;
  exchange->handle = call;
  uv_timer_start(&call->timer, on_start, 0, 0); /* done never comes from in here */
  return true;
}

static void http_cancel(struct transport *base, struct exchange *exchange, bool at_once) {
  (void)base, (void)at_once;
  struct call *call = exchange->handle;
  struct outcome outcome;
  if (!call) return;
  http_outcome(call, &outcome, REPLY_CANCELED, "canceled");
  call_finish(call, &outcome);
}

static void http_close(struct transport *base) {
  struct http *owner = (struct http *)base;
  if (owner->closed) return;
  owner->closed = true; /* a done call must not send again */
  owner->living++;
  while (owner->calls)
    http_cancel(base, owner->calls->exchange, true);
  curl_multi_cleanup(owner->multi); /* closes the idle connections; their watches go with them */
  owner->multi = NULL;
  uv_close((uv_handle_t *)&owner->timer, on_timer_closed);
  http_release(owner);
}

static CURLcode curl_started;

static void start_curl(void) {
  curl_started = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static bool http_open_multi(struct http *owner) {
  CURLM *multi = owner->multi = curl_multi_init();
  return multi && !curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket_wish) &&
         !curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, owner) &&
         !curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer_wish) &&
         !curl_multi_setopt(multi, CURLMOPT_TIMERDATA, owner) &&
         !curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
}

http_open_function skillrt_http_open;

__attribute__((visibility("default"))) bool skillrt_http_open(const struct sys *sys,
                                                              struct uv_loop_s *loop,
                                                              struct transport **to,
                                                              struct error *e) {
  static const struct transport_ops ops = {http_send, http_cancel, http_close, NULL, NULL};
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_curl);
  if (curl_started != CURLE_OK)
    return error_set(e, ERROR_SYSTEM, "libcurl: %s", curl_easy_strerror(curl_started));
  struct http *owner = sys_alloc(sys, sizeof *owner);
  if (!owner) return error_set(e, ERROR_MEMORY, "http transport: out of memory");
  owner->base.ops = &ops;
  owner->sys = sys;
  owner->loop = loop;
  if (!http_open_multi(owner)) {
    if (owner->multi) curl_multi_cleanup(owner->multi);
    sys_free(sys, owner, sizeof *owner);
    return error_set(e, ERROR_MEMORY, "http transport: libcurl has no memory");
  }
  uv_timer_init(loop, &owner->timer);
  owner->timer.data = owner;
  owner->living = 1;
  *to = &owner->base;
  return true;
}
