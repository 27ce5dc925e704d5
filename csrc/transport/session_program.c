/* session_program.c: one program of a session, or one who is behind a URL: its time and end.
 *
 *   state     entered by                       left by
 *   RUNS      a task that names it             its end; retire; an answer that must not be missed
 *   CLOSING   retire: its input is closed      its end; 500 ms: SIGTERM (2 s, then SIGKILL)
 *   GONE      its end, or SIGTERM              the loop has closed its handles
 *
 * An exchange without an id takes the next message. Where one is given up, the answers are out of
 * step and the program is ended. How messages travel is session_pipe.c's and session_url.c's.
 * Called by session.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "transport/session_inside.h"
#include "transport/session_frame.h"

enum { QUESTIONS_KEPT = 1 << 20, MAX_MESSAGE = 16 << 20, MAX_OUT = 64 << 20, ERRORS_TOLD = 4096 };

/* ---- answers ---- */

static struct waiting **find_waiting(struct program *p, const struct exchange *exchange) {
  struct waiting **at = &p->first;
  while (*at && (*at)->exchange != exchange)
    at = &(*at)->next;
  return at;
}

/* The last its caller does with it; `done` may do anything. */
void program_answer(struct waiting **at, struct reply *reply) {
  struct waiting *w = *at;
  const struct sys *sys = w->program->owner->sys;
  struct exchange *exchange = w->exchange;
  *at = w->next;
  if (w->reply_id) asked_over(w->program, w->reply_id, reply->status != REPLY_OK);
  reply->elapsed_ms = (sys->mono_ns(sys) - w->started_ns) / 1000000;
  sys_free(sys, w, sizeof *w);
  if (!exchange) return;
  exchange->handle = NULL;
  exchange->done(exchange, reply);
}

void program_end(struct program *p, enum reply_status verdict, const struct error *why) {
  if (p->state == PROGRAM_GONE) return;
  if (p->verdict == REPLY_OK) {
    p->verdict = verdict;
    p->why = *why;
  }
  p->way->end(p);
}

void program_release(struct program *p) {
  struct session *s = p->owner;
  if (--p->handles > 0) return;
  asked_clear(p);
  url_free(p);
  buffer_clear(&p->in);
  buffer_clear(&p->out);
  buffer_clear(&p->fed);
  buffer_clear(&p->held);
  buffer_clear(&p->questions);
  task_clear(&p->task);
  task_clear(&p->process);
  sys_free(s->sys, p, sizeof *p);
  session_release(s);
}

static void on_closed(uv_handle_t *handle) {
  program_release(handle->data);
}

/* ---- its time ---- */

static void on_timer(uv_timer_t *timer);

void program_arm(struct program *p) {
  uint64_t next = p->state == PROGRAM_CLOSING ? p->close_until : UINT64_MAX;
  uint64_t now = uv_now(p->owner->loop);
  if (*question_taker(p) || *asked_taker(p)) next = now + 1; /* at 0 it rings in this very turn */
  for (const struct waiting *w = p->first; w; w = w->next)
    if (w->deadline < next) next = w->deadline;
  if (next == UINT64_MAX)
    uv_timer_stop(&p->timer);
  else
    uv_timer_start(&p->timer, on_timer, next > now ? next - now : 0, 0);
}

/* Without its answer those of others would be taken for it. */
static void give_up(struct program *p, struct waiting **at, enum reply_status status,
                    const char *why) {
  bool is_fed = waiting_left(*at);
  struct reply reply = {.status = status, .sent = is_fed, .retry_after_ms = -1};
  struct error e;
  bool out_of_step = !(*at)->reply_id || !(is_fed || (p->url && p->is_open));
  const char *last =
      p->state == PROGRAM_RUNS && is_fed && !out_of_step ? (*at)->task->session.withdraw : NULL;
  if (last && frame_write(&p->out, (struct span){last, strlen(last)}, p->framed, &e))
    p->way->write(p);
  snprintf(reply.message, sizeof reply.message, "%s: %s", p->task.target, why);
  p->owner->living++; /* until we are through */
  program_answer(at, &reply);
  if (out_of_step) {
    error_set(&e, ERROR_STOPPED,
              is_fed ? "%s: ended, as an answer without an id was given up"
                     : "%s: ended, as it did not answer what it was told first",
              p->task.target);
    program_end(p, REPLY_BROKEN, &e);
  }
  session_release(p->owner);
}

static void on_timer(uv_timer_t *timer) {
  struct program *p = timer->data;
  uint64_t now = uv_now(p->owner->loop);
  struct waiting **at = question_taker(p);
  struct span question;
  size_t used;
  if (*at && frame_next(&p->questions, p->framed, &question, &used) == FRAME_WHOLE) {
    asked_tell(at, question);
    buffer_drop(&p->questions, used);
    if (p->state != PROGRAM_GONE) program_arm(p);
    return;
  }
  if (*(at = asked_taker(p))) {
    asked_give(at);
    if (p->state != PROGRAM_GONE) program_arm(p);
    return;
  }
  at = &p->first;
  while (*at && (*at)->deadline > now)
    at = &(*at)->next;
  if (*at) {
    give_up(p, at, REPLY_TIMEOUT, "no answer in time");
  } else if (p->state == PROGRAM_CLOSING && now >= p->close_until) {
    struct error e;
    error_set(&e, ERROR_STOPPED, "%s: the run is over", p->task.target);
    program_end(p, REPLY_CANCELED, &e);
  }
  if (p->state != PROGRAM_GONE) program_arm(p);
}

void program_give_up(struct program *p, struct exchange *exchange, enum reply_status status,
                     const char *why) {
  give_up(p, find_waiting(p, exchange), status, why);
}

/* ---- its life ---- */

static void reply_of_end(const struct waiting *w, const struct reply *end, struct reply *to) {
  const struct program *p = w->program;
  *to = (struct reply){.status = end->status,
                       .sent = end->sent && waiting_left(w),
                       .code = end->code,
                       .extra = end->extra,
                       .retry_after_ms = -1};
  if (p->url && p->verdict == REPLY_OK) { /* as its request was answered */
    *to = *end;
    to->sent = end->sent && waiting_left(w);
  } else if (p->verdict != REPLY_OK) {
    to->status = p->verdict;
    snprintf(to->message, sizeof to->message, "%.*s", (int)sizeof to->message - 1, p->why.text);
  } else if (end->status == REPLY_OK) {
    to->status = REPLY_BROKEN;
    snprintf(to->message, sizeof to->message, "%.80s: ended with exit code %d before it answered",
             p->task.target, end->code);
  } else {
    snprintf(to->message, sizeof to->message, "%.80s: %.170s", p->task.target, end->message);
  }
}

/* How it ended: c and its exit code or s and a signal, with the end of its errors; or w, with why
 * we ended it. One whose run is over ends as it should. */
static void tell_end(const struct program *p, const struct reply *end) {
  const struct transport_owner *ours = &p->owner->base.owner;
  char source[SESSION_NAME_MAX + 64];
  bool by_us = p->verdict != REPLY_OK;
  char how = by_us ? 'w' : end->status == REPLY_KILLED ? 's' : 'c';
  struct span bytes = by_us ? (struct span){p->why.text, strlen(p->why.text)} : end->extra;
  if (!ours->notice || p->state == PROGRAM_CLOSING) return;
  if (bytes.length > ERRORS_TOLD)
    bytes = (struct span){bytes.data + bytes.length - ERRORS_TOLD, ERRORS_TOLD};
  snprintf(source, sizeof source, "ended:%" PRId64 ":%c%d:%s", p->epoch, how, end->code,
           p->task.target);
  ours->notice(ours->data, source, bytes);
}

void program_over(struct program *p, const struct reply *end) {
  struct session *s = p->owner;
  bool closing = p->state == PROGRAM_CLOSING;
  s->living++; /* a done call may close us */
  tell_end(p, end);
  p->state = PROGRAM_GONE;
  *p->link = p->next;
  if (p->next) p->next->link = p->link;
  while (p->first) {
    struct reply reply;
    reply_of_end(p->first, end, &reply);
    program_answer(&p->first, &reply);
  }
  uv_close((uv_handle_t *)&p->timer, on_closed);
  if (closing) session_settled(s);
  session_release(s);
}

static bool program_fill(struct program *p, const struct task *from, struct error *e) {
  const struct session_task *s = &from->session;
  struct task *own = &p->task;
  task_init(own, p->owner->sys);
  own->kind = TASK_SESSION;
  own->session.takes_questions = s->takes_questions;
  return task_set(own, &own->target, from->target, e) &&
         task_set(own, &own->session.url, s->url, e) &&
         task_set(own, &own->session.ca_file, s->ca_file, e) &&
         task_set(own, &own->session.keeps, s->keeps, e) &&
         strings_copy(&own->session.opening_ids, own->sys, &s->opening_ids, e) &&
         strings_copy(&own->session.opening, own->sys, &s->opening, e) &&
         strings_copy(&own->session.fed_ids, own->sys, &s->fed_ids, e);
}

struct program *program_start(struct session *s, const struct task *task, struct error *e) {
  struct program *p = sys_alloc(s->sys, sizeof *p);
  if (!p) {
    error_set(e, ERROR_MEMORY, "session %.90s: out of memory", task->target);
    return NULL;
  }
  p->owner = s;
  task_init(&p->process, s->sys);
  p->in_fd = -1;
  p->epoch = task->session.epoch;
  p->repeats = task->session.fed.count > 0;
  p->way = task->session.url ? &url_way : &pipe_way;
  p->framed = task->session.framed || task->session.url;
  buffer_init(&p->in, s->sys, task->max_body ? task->max_body : MAX_MESSAGE);
  buffer_init(&p->out, s->sys, MAX_OUT);
  buffer_init(&p->fed, s->sys, MAX_OUT);
  buffer_init(&p->held, s->sys, MAX_OUT);
  buffer_init(&p->questions, s->sys, QUESTIONS_KEPT);
  uv_timer_init(s->loop, &p->timer);
  p->timer.data = p;
  p->handles = 1;
  s->living++;
  if (program_fill(p, task, e) && opening_go_on(p, e) && p->way->open(p, task, e)) {
    p->link = &s->programs;
    p->next = s->programs;
    if (p->next) p->next->link = &p->next;
    s->programs = p;
    return p;
  }
  p->state = PROGRAM_GONE;
  uv_close((uv_handle_t *)&p->timer, on_closed);
  return NULL;
}

void program_retire(struct program *p) {
  bool is_left = p->state == PROGRAM_CLOSING && p->close_until == UINT64_MAX;
  if (p->state != PROGRAM_RUNS && !is_left) return;
  p->state = PROGRAM_CLOSING;
  p->way->retire(p);
  if (p->state != PROGRAM_GONE) program_arm(p);
}
