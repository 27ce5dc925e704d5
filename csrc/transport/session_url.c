/* session_url.c: the way to a server behind a URL of a session (streamable HTTP): each message is a
 * POST, what the server says comes with the replies or on a standing GET, which is asked for behind
 * the opening and answered before the first call leaves.
 *
 * A server that has forgotten the session (404) is told nothing more; who waits there still may be
 * answered. When the run is over the session is given up (DELETE). What a message is and which
 * headers go along says the session's owner. Called by session_program.c. */
#include <stdio.h>
#include <string.h>

#include "transport/session_frame.h"
#include "transport/session_url.h"

enum { SESSION_ID_MAX = 1024, RETIRE_MS = 2500 };

/* ---- its headers ---- */

bool url_headers(struct program *p, const struct task *task, struct error *e) {
  struct strings *ours = &p->task.session.headers;
  strings_clear(ours, p->task.sys);
  if (!strings_copy(ours, p->task.sys, &task->session.headers, e)) return false;
  if (p->url && p->url->unheard && stream_send(p, STREAM_LISTEN, (struct span){0}, NULL, e))
    p->url->unheard = false;
  return true;
}

bool url_lasting(struct program *p, const struct strings *headers, struct error *e) {
  const struct sys *sys = p->owner->sys;
  strings_clear(&p->url->lasting, sys);
  return strings_copy(&p->url->lasting, sys, headers, e);
}

/* What is none is not sent along. */
void url_session(struct program *p, struct span id) {
  const struct sys *sys = p->owner->sys;
  bool fits = id.length > 0 && id.length <= SESSION_ID_MAX && !p->url->session;
  for (size_t i = 0; fits && i < id.length; i++)
    fits = id.data[i] > ' ' && id.data[i] < 127;
  char *copy = fits ? sys_alloc(sys, id.length + 1) : NULL;
  if (!copy) return;
  memcpy(copy, id.data, id.length);
  p->url->session = copy;
}

/* ---- what is said ---- */

static void refused(struct waiting **at, const struct error *e) {
  struct reply reply = {.status = REPLY_BROKEN, .retry_after_ms = -1};
  snprintf(reply.message, sizeof reply.message, "%.*s", (int)sizeof reply.message - 1, e->text);
  program_answer(at, &reply);
}

/* The opening, what is answered at once, and what is withdrawn. */
static bool say_own(struct program *p, struct error *e) {
  struct span message;
  size_t used;
  bool ok = true;
  while (ok && frame_next(&p->out, true, &message, &used) == FRAME_WHOLE) {
    bool asks = p->opens_with && p->asks_at == 0;
    ok = stream_send(p, asks ? STREAM_CALL : STREAM_NOTE, message, NULL, e);
    buffer_drop(&p->out, used);
    p->asks_at -= used;
  }
  return ok || p->is_open;
}

/* One of those who wait may be anywhere when another was refused. */
static bool say_next(struct program *p) {
  struct error e;
  struct waiting **at = &p->first;
  while (*at && ((*at)->posted || !(*at)->exchange))
    at = &(*at)->next;
  struct waiting *w = *at;
  if (!w || !p->is_open || p->state != PROGRAM_RUNS) return false;
  struct span message = buffer_span(&w->task->body);
  w->posted = true;
  enum stream_kind kind = w->task->session.follows ? STREAM_NOTE : STREAM_CALL;
  if (stream_send(p, kind, message, w->reply_id, &e)) return true;
  w->posted = false;
  refused(at, &e);
  return true;
}

static void on_turn(uv_timer_t *timer) {
  struct program *p = timer->data;
  struct error e;
  if (!say_own(p, &e)) {
    program_end(p, REPLY_BROKEN, &e);
    return;
  }
  while (say_next(p))
    ;
  if (p->state != PROGRAM_GONE) program_arm(p);
}

static void url_write(struct program *p) {
  if (!p->url->stopped) uv_timer_start(&p->url->turn, on_turn, 0, 0);
}

/* ---- what comes of it ---- */

static void on_closed(uv_handle_t *handle) {
  program_release(handle->data);
}

static void stop(struct program *p) {
  struct url *u = p->url;
  while (u->streams)
    stream_close(u->streams);
  if (u->stopped) return;
  u->stopped = true;
  uv_close((uv_handle_t *)&u->turn, on_closed);
}

/* The session is given up behind what is still said, as that a call is withdrawn. */
static void give_back(struct program *p) {
  struct error e;
  for (const struct stream *s = p->url->streams; s; s = s->next)
    if (s->kind == STREAM_NOTE) return;
  bool is_left = p->url->session && !p->url->forgotten;
  if (!is_left || !stream_send(p, STREAM_LAST, (struct span){0}, NULL, &e)) url_end(p);
}

void url_noted(struct program *p) {
  if (p->url->retires)
    give_back(p);
  else if (p->is_open)
    p->url->accepted = true;
  else if (p->state == PROGRAM_RUNS)
    heard_go_on(p, opening_go_on);
}

void url_listening(struct program *p) {
  if (p->url->ready || p->state != PROGRAM_RUNS) return;
  p->url->ready = true;
  heard_go_on(p, opening_go_on);
}

static bool url_ready(struct program *p) {
  struct url *u = p->url;
  struct error e;
  if (!u || u->ready) return u != NULL;
  for (const struct stream *s = u->streams; s; s = s->next)
    if (s->kind == STREAM_NOTE) return false;
  if (u->listens || p->out.length > 0) return false;
  u->listens = true;
  u->ready = !stream_send(p, STREAM_LISTEN, (struct span){0}, NULL, &e);
  return u->ready;
}

static void url_over(struct program *p, const char *id, bool at_once) {
  for (struct stream *s = p->url->streams, *next; s; s = next) {
    next = s->next;
    if (s->kind != STREAM_CALL || !s->id || strcmp(s->id, id) != 0 || s->is_over) continue;
    if (at_once)
      stream_close(s);
    else
      stream_leave(s);
  }
  if (p->url->forgotten && !p->first) url_end(p);
}

static struct reply gone_of(const struct program *p) {
  struct reply gone = {.status = REPLY_GONE, .retry_after_ms = -1};
  snprintf(gone.message, sizeof gone.message, "%.200s: the server forgot the session",
           p->task.target);
  return gone;
}

void url_forgotten(struct program *p) {
  if (p->state != PROGRAM_RUNS) return;
  p->url->forgotten = true;
  p->state = PROGRAM_CLOSING;
  p->close_until = UINT64_MAX;
  for (struct stream *s = p->url->streams, *next; s; s = next) {
    next = s->next;
    if (s->kind == STREAM_LISTEN) stream_close(s);
  }
  p->owner->living++; /* a done call may close us */
  for (struct waiting **at = &p->first; *at;) {
    struct reply gone = gone_of(p);
    bool leaves = !(*at)->posted;
    if (leaves) program_answer(at, &gone);
    at = leaves ? &p->first : &(*at)->next;
  }
  if (!p->first) url_end(p);
  session_release(p->owner);
}

static struct waiting **find(struct program *p, const char *id) {
  struct waiting **at = &p->first;
  while (*at && !((*at)->reply_id && strcmp((*at)->reply_id, id) == 0))
    at = &(*at)->next;
  return at;
}

/* A session that is forgotten before it took anything is begun anew once: then its server does not
 * know its own. */
static bool forgets(struct program *p, const struct reply *reply) {
  struct session *s = p->owner;
  bool is_known = p->url->session && p->is_open && !p->url->forgotten;
  if (!is_known || reply->status != REPLY_OK || reply->code != 404) return false;
  bool again = p->url->accepted || !s->forgot;
  s->forgot = !p->url->accepted;
  return again;
}

void url_failed(struct program *p, const char *id, const struct reply *given) {
  struct reply reply = *given;
  if (p->state == PROGRAM_GONE) return;
  if (!p->is_open) {
    stop(p);
    program_over(p, given);
    return;
  }
  bool gone = forgets(p, given);
  bool unknown = gone || (given->status == REPLY_OK && given->code == 404 && p->url->session);
  if (gone) reply = gone_of(p);
  struct waiting **at = id ? find(p, id) : NULL;
  p->owner->living++; /* a done call may close us */
  if (at && *at)
    program_answer(at, &reply);
  else if (id)
    asked_fail(p, id, &reply);
  if (unknown) url_forgotten(p);
  session_release(p->owner);
}

/* ---- its life ---- */

static bool url_open(struct program *p, const struct task *task, struct error *e) {
  const struct transport_owner *ours = &p->owner->base.owner;
  if (!ours->http)
    return error_set(e, ERROR_MISSING, "session %.90s: no HTTP here", p->task.target);
  struct transport *http = ours->http(ours->data, e);
  if (!http || !url_headers(p, task, e)) return false;
  struct url *u = p->url = sys_alloc(p->owner->sys, sizeof *u);
  if (!u) return error_set(e, ERROR_MEMORY, "session %.90s: out of memory", p->task.target);
  u->http = http;
  uv_timer_init(p->owner->loop, &u->turn);
  u->turn.data = p;
  p->handles++;
  url_write(p);
  return true;
}

void url_free(struct program *p) {
  const struct sys *sys = p->owner->sys;
  struct url *u = p->url;
  if (!u) return;
  if (u->session) sys_free(sys, u->session, strlen(u->session) + 1);
  strings_clear(&u->lasting, sys);
  sys_free(sys, u, sizeof *u);
}

void url_end(struct program *p) {
  struct reply end = {.status = REPLY_CANCELED, .sent = true, .retry_after_ms = -1};
  if (p->state == PROGRAM_GONE) return;
  snprintf(end.message, sizeof end.message, "the session is over");
  stop(p);
  program_over(p, &end);
}

static void url_retire(struct program *p) {
  struct error e;
  p->close_until = uv_now(p->owner->loop) + RETIRE_MS;
  uv_timer_stop(&p->url->turn);
  p->url->retires = say_own(p, &e);
  for (struct stream *s = p->url->streams, *next; s; s = next) {
    next = s->next;
    if (s->kind != STREAM_NOTE) stream_close(s);
  }
  give_back(p);
}

const struct way url_way = {.open = url_open,
                            .write = url_write,
                            .ready = url_ready,
                            .end = url_end,
                            .retire = url_retire,
                            .over = url_over};
