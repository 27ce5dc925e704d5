/* session_stream.c: one request of a session behind a URL, and what comes with its reply: messages,
 * as JSON or as events as they come. A stream that breaks off is taken up behind its last event.
 *
 *   kind     sent                               over
 *   CALL     a message with an id               its answer came; it broke off; nobody waits
 *   NOTE     any other message                  it was taken, or refused
 *   LISTEN   GET, once the opening is done      the session ends; the server offers none
 *   LAST     DELETE, when the run is over       answered, whatever it is; 2 s
 *
 * What comes of it says session_url.c. Requests are exchanges of the transport of HTTP. */
#include <stdio.h>
#include <string.h>

#include "transport/session_frame.h"
#include "transport/session_url.h"

enum {
  AGAIN_MAX = 50,     /* how often one that says nothing is taken up again */
  AGAIN_MS = 1000,    /* after which time, where it does not say so itself */
  AGAIN_MOST = 60000, /* ... at most */
  STEADY_MS = 10000,  /* one that stood so long may be taken up again for ever */
  LISTEN_MS = 250,    /* ... at least, of what answers nothing */
  HEAD_MS = 2000,     /* until the standing request is answered */
  LEAVE_MS = 250,
  NOTE_MS = 60000,
  LAST_MS = 2000
};

static void on_head(struct exchange *, int code, struct span lines);
static void on_event(struct exchange *, struct span);
static void on_done(struct exchange *, const struct reply *);
static void on_timer(uv_timer_t *);

/* ---- a request ---- */

static bool add_header(struct task *task, const char *name, const char *value, size_t length,
                       struct error *e) {
  char line[8192];
  int size = snprintf(line, sizeof line, "%s: %.*s", name, (int)length, value);
  if (size >= (int)sizeof line) return error_set(e, ERROR_LIMIT, "%s: too long", name);
  return strings_add(&task->http.headers, task->sys, line, (size_t)size, e);
}

static bool add_text(struct task *task, const char *name, const char *value, struct error *e) {
  return add_header(task, name, value, strlen(value), e);
}

static bool fill_headers(const struct stream *s, struct task *task, struct error *e) {
  const struct program *p = s->program;
  bool posts = !task->http.method;
  return strings_copy(&task->http.headers, task->sys, &p->task.session.headers, e) &&
         (!posts || add_text(task, "Content-Type", "application/json", e)) &&
         add_text(task, "Accept",
                  posts ? "application/json, text/event-stream" : "text/event-stream", e) &&
         (!p->url->session || add_text(task, p->task.session.keeps, p->url->session, e)) &&
         strings_copy(&task->http.headers, task->sys, &p->url->lasting, e) &&
         (s->event_id.length == 0 ||
          add_header(task, "Last-Event-ID", s->event_id.data, s->event_id.length, e));
}

/* The body of the task is filled. */
static bool request(struct stream *s, const char *method, struct error *e) {
  struct program *p = s->program;
  struct task *task = &s->task;
  bool stays = s->kind == STREAM_CALL || s->kind == STREAM_LISTEN;
  task->kind = TASK_HTTP;
  task->streams = true;
  task->max_body = p->in.maximum;
  task->total_ms = stays ? INT64_MAX / 4 : s->kind == STREAM_NOTE ? NOTE_MS : LAST_MS;
  task->idle_ms = task->total_ms;
  s->began = uv_now(p->owner->loop);
  s->exchange =
      (struct exchange){.done = on_done, .progress = on_event, .head = on_head, .owner = s};
  return task_set(task, &task->target, p->task.session.url, e) &&
         task_set(task, &task->http.method, method, e) &&
         task_set(task, &task->http.ca_file, p->task.session.ca_file, e) &&
         fill_headers(s, task, e) && p->url->http->ops->send(p->url->http, &s->exchange, task, e);
}

static void on_closed(uv_handle_t *handle) {
  struct stream *s = handle->data;
  struct program *p = s->program;
  const struct sys *sys = p->owner->sys;
  task_clear(&s->task);
  buffer_clear(&s->task.body);
  buffer_clear(&s->event_id);
  if (s->id) sys_free(sys, s->id, strlen(s->id) + 1);
  sys_free(sys, s, sizeof *s);
  program_release(p);
}

void stream_close(struct stream *s) {
  if (s->closed) return;
  s->closed = true;
  if (s->next) s->next->link = s->link;
  *s->link = s->next;
  if (s->exchange.handle)
    s->program->url->http->ops->cancel(s->program->url->http, &s->exchange, true);
  uv_close((uv_handle_t *)&s->timer, on_closed);
}

void stream_leave(struct stream *s) {
  s->is_over = true;
  uv_timer_start(&s->timer, on_timer, LEAVE_MS, 0);
}

bool stream_send(struct program *p, enum stream_kind kind, struct span message, const char *id,
                 struct error *e) {
  const struct sys *sys = p->owner->sys;
  struct stream *s = sys_alloc(sys, sizeof *s);
  if (!s) return error_set(e, ERROR_MEMORY, "session %.90s: out of memory", p->task.target);
  s->program = p;
  s->kind = kind;
  task_init(&s->task, sys);
  buffer_init(&s->event_id, sys, AGAIN_MS);
  uv_timer_init(p->owner->loop, &s->timer);
  s->timer.data = s;
  p->handles++;
  s->link = &p->url->streams;
  s->next = p->url->streams;
  if (s->next) s->next->link = &s->next;
  p->url->streams = s;
  s->id = id ? sys_alloc(sys, strlen(id) + 1) : NULL;
  if (s->id) strcpy(s->id, id);
  const char *method = kind == STREAM_LISTEN ? "GET" : kind == STREAM_LAST ? "DELETE" : NULL;
  bool sent = !id || s->id ? buffer_append(&s->task.body, message.data, message.length, e) &&
                                 request(s, method, e)
                           : error_set(e, ERROR_MEMORY, "session: out of memory");
  if (sent && kind == STREAM_LISTEN) uv_timer_start(&s->timer, on_timer, HEAD_MS, 0);
  if (!sent) stream_close(s);
  return sent;
}

/* ---- what comes ---- */

struct span stream_header(struct span lines, const char *name) {
  size_t length = strlen(name);
  const char *at = lines.data, *end = at + lines.length;
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    if ((size_t)(stop - at) >= length + 2 && strncasecmp(at, name, length) == 0 &&
        at[length] == ':')
      return (struct span){at + length + 2, (size_t)(stop - at) - length - 2};
    at = stop + 1;
  }
  return (struct span){"", 0};
}

static bool is_stream(struct span lines) {
  static const char wanted[] = "text/event-stream";
  struct span type = stream_header(lines, "content-type");
  return type.length >= sizeof wanted - 1 && strncasecmp(type.data, wanted, sizeof wanted - 1) == 0;
}

static void on_head(struct exchange *exchange, int code, struct span lines) {
  struct stream *s = exchange->owner;
  struct program *p = s->program;
  bool fine = code >= 200 && code <= 299;
  if (s->kind == STREAM_CALL && fine && !p->is_open && p->task.session.keeps)
    url_session(p, stream_header(lines, p->task.session.keeps));
  if (s->kind == STREAM_LISTEN && fine && is_stream(lines)) {
    p->url->hears = true;
    url_listening(p);
  }
}

/* One message, or each of several, until the stream is closed. */
static void take(struct stream *s, struct span text) {
  struct program *p = s->program;
  struct message m;
  heard_read(p, &m, text);
  bool opens = s->kind == STREAM_CALL && !s->id && opening_takes(p, &m);
  p->origin = s->kind == STREAM_CALL ? s->id : NULL;
  for (size_t i = 0; m.form == MESSAGE_LIST && i < m.parts.count && !s->closed; i++)
    take(s, (struct span){m.parts.items[i], strlen(m.parts.items[i])});
  if (m.form != MESSAGE_LIST) heard_one(p, &m);
  p->origin = NULL;
  if (opens && !s->closed) stream_leave(s);
  message_clear(&m);
}

static void on_event(struct exchange *exchange, struct span data) {
  struct stream *s = exchange->owner;
  if (s->kind == STREAM_LISTEN) s->again = 0;
  if (data.length > 0) take(s, data);
}

/* ---- its end ---- */

static void fail(struct stream *s, const struct reply *reply) {
  stream_close(s); /* its id lives until the loop has turned */
  if (s->kind == STREAM_CALL || s->id || !s->program->is_open) url_failed(s->program, s->id, reply);
}

static void fail_lost(struct stream *s) {
  fail(s, &(struct reply){.status = REPLY_BROKEN,
                          .sent = true,
                          .retry_after_ms = -1,
                          .message = "its stream ended without the answer"});
}

/* Begins again: GET, behind the last event. */
static void take_up(struct stream *s) {
  struct error e;
  buffer_reset(&s->task.body);
  task_clear(&s->task);
  if (request(s, "GET", &e)) return;
  if (s->kind == STREAM_CALL)
    fail_lost(s);
  else
    stream_close(s);
}

static bool goes_on(struct stream *s, const struct reply *reply) {
  struct error e;
  bool listens = s->kind == STREAM_LISTEN;
  int64_t wait = reply->retry_after_ms >= 0 ? reply->retry_after_ms : AGAIN_MS;
  if (listens && uv_now(s->program->owner->loop) - s->began >= STEADY_MS) s->again = 0;
  if (listens && wait < LISTEN_MS) wait = LISTEN_MS;
  if (reply->event_id.length > 0) {
    buffer_reset(&s->event_id);
    if (!buffer_append(&s->event_id, reply->event_id.data, reply->event_id.length, &e))
      buffer_reset(&s->event_id);
  }
  if (s->again++ >= AGAIN_MAX || (!listens && s->event_id.length == 0)) return false;
  uv_timer_start(&s->timer, on_timer, (uint64_t)(wait < AGAIN_MOST ? wait : AGAIN_MOST), 0);
  return true;
}

static void call_done(struct stream *s, const struct reply *reply) {
  struct program *p = s->program;
  bool fine = reply->status == REPLY_OK && reply->code >= 200 && reply->code <= 299;
  bool was_taken_up = s->task.http.method != NULL;
  if (fine && p->is_open) p->url->accepted = true;
  if (fine && !is_stream(reply->extra)) take(s, reply->body);
  if (s->closed) return;
  bool broke_off = fine || reply->status == REPLY_BROKEN || reply->status == REPLY_TIMEOUT;
  if (s->is_over)
    stream_close(s);
  else if (broke_off && (s->event_id.length > 0 || reply->event_id.length > 0) && goes_on(s, reply))
    return;
  else if (fine || was_taken_up)
    fail_lost(s);
  else
    fail(s, reply);
}

static void listen_done(struct stream *s, const struct reply *reply) {
  struct program *p = s->program;
  bool forgot = p->url->hears && reply->status == REPLY_OK && reply->code == 404;
  bool stood = reply->status == REPLY_OK && reply->code == 200 && is_stream(reply->extra);
  bool broke_off = reply->status == REPLY_BROKEN || reply->status == REPLY_TIMEOUT ||
                   reply->status == REPLY_TOO_LARGE || reply->code >= 500 || stood;
  if (forgot)
    url_forgotten(p);
  else if (!broke_off || !goes_on(s, reply))
    stream_close(s); /* none is offered */
  p->url->unheard = reply->status == REPLY_OK && (reply->code == 401 || reply->code == 403);
  url_listening(p);
}

static void on_done(struct exchange *exchange, const struct reply *reply) {
  struct stream *s = exchange->owner;
  struct program *p = s->program;
  if (s->closed) return;
  if (s->kind == STREAM_CALL) {
    call_done(s, reply);
  } else if (s->kind == STREAM_LISTEN) {
    listen_done(s, reply);
  } else if (s->kind == STREAM_LAST) {
    url_end(p);
  } else if (p->url->retires ||
             (reply->status == REPLY_OK && reply->code >= 200 && reply->code <= 299)) {
    stream_close(s);
    url_noted(p);
  } else {
    fail(s, reply);
  }
}

static void on_timer(uv_timer_t *timer) {
  struct stream *s = timer->data;
  if (s->is_over)
    stream_close(s);
  else if (!s->exchange.handle)
    take_up(s);
  else
    url_listening(s->program);
}
