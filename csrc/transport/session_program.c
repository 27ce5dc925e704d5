/* session_program.c: one program of a session: what it says, its time and end.
 *
 *   state     entered by                       left by
 *   RUNS      a task that names it             its end; retire; an answer that must not be missed
 *   CLOSING   retire: its input is closed      its end; 500 ms: SIGTERM (2 s, then SIGKILL)
 *   GONE      its end, or SIGTERM              the loop has closed its handles
 *
 * An exchange without an id takes the next message. Where one is given up, the answers are out of
 * step and the program is ended. The program itself is an exchange of the session's own process
 * transport, whose output is handed on. Called by session.c. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "transport/session_inside.h"
#include "transport/session_message.h"

enum {
  QUESTIONS_KEPT = 1 << 20,
  MAX_MESSAGE = 16 << 20,
  MAX_OUT = 64 << 20,
  ERRORS_KEPT = 64 << 10,
  ERRORS_TOLD = 4096
};

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
  reply->retry_after_ms = -1;
  reply->elapsed_ms = (sys->mono_ns(sys) - w->started_ns) / 1000000;
  sys_free(sys, w, sizeof *w);
  if (!exchange) return;
  exchange->handle = NULL;
  exchange->done(exchange, reply);
}

void program_end(struct program *p, enum reply_status verdict, const struct error *why) {
  struct session *s = p->owner;
  if (p->state == PROGRAM_GONE) return;
  if (p->verdict == REPLY_OK) {
    p->verdict = verdict;
    p->why = *why;
  }
  s->processes->ops->cancel(s->processes, &p->exchange, false); /* on_end follows at once */
}

static void on_output(struct exchange *exchange, struct span bytes) {
  struct program *p = exchange->owner;
  struct error e;
  if (!buffer_append(&p->in, bytes.data, bytes.length, &e)) {
    bool large = e.code == ERROR_LIMIT;
    error_set(&e, e.code, large ? "%s: a message of more than %zu bytes" : "%s: out of memory",
              p->task.target, p->in.maximum);
    program_end(p, large ? REPLY_TOO_LARGE : REPLY_BROKEN, &e);
    return;
  }
  heard_take(p);
}

/* ---- its input ---- */

static void on_closed(uv_handle_t *handle) {
  struct program *p = handle->data;
  struct session *s = p->owner;
  if (--p->handles > 0) return;
  buffer_clear(&p->in);
  buffer_clear(&p->out);
  buffer_clear(&p->fed);
  buffer_clear(&p->held);
  buffer_clear(&p->questions);
  task_clear(&p->task);
  buffer_clear(&p->task.body);
  sys_free(s->sys, p, sizeof *p);
  session_release(s);
}

static void input_close(struct program *p) {
  if (p->in_fd < 0) return;
  uv_poll_stop(&p->writable);
  p->owner->sys->close(p->owner->sys, p->in_fd);
  p->in_fd = -1;
  uv_close((uv_handle_t *)&p->writable, on_closed);
}

/* A host need not ignore SIGPIPE: it is kept away and taken back. */
static ssize_t write_quietly(const struct program *p) {
  const struct sys *sys = p->owner->sys;
  const struct timespec at_once = {0};
  sigset_t pipes, before, pending;
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipes, &before);
  ssize_t wrote = sys->write(sys, p->in_fd, p->out.data, p->out.length);
  if (wrote == -EPIPE && !sigismember(&pending, SIGPIPE)) sigtimedwait(&pipes, NULL, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return wrote;
}

static void on_writable(uv_poll_t *poll, int status, int events) {
  struct program *p = poll->data;
  (void)status, (void)events; /* an error shows itself in the write */
  ssize_t wrote = p->out.length ? write_quietly(p) : 0;
  if (wrote == -EINTR || wrote == -EAGAIN) return;
  if (wrote >= 0) buffer_drop(&p->out, (size_t)wrote);
  if (wrote < 0)
    input_close(p); /* it reads no more: what it says, or its end, tells the rest */
  else if (p->out.length == 0)
    uv_poll_stop(poll);
}

void program_write(struct program *p) {
  if (p->in_fd >= 0 && p->out.length > 0) uv_poll_start(&p->writable, UV_WRITABLE, on_writable);
}

/* ---- its time ---- */

static void on_timer(uv_timer_t *timer);

void program_arm(struct program *p) {
  uint64_t next = p->state == PROGRAM_CLOSING ? p->close_until : UINT64_MAX;
  uint64_t now = uv_now(p->owner->loop);
  if (*question_taker(p)) next = now + 1; /* at 0 it rings in this very turn */
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
  struct reply reply = {.status = status, .sent = is_fed};
  struct error e;
  bool out_of_step = !(*at)->reply_id || !is_fed;
  const char *last = p->state == PROGRAM_RUNS && !out_of_step ? (*at)->task->withdraw : NULL;
  if (last && message_write(&p->out, (struct span){last, strlen(last)}, p->framed, &e))
    program_write(p);
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
  if (*at && message_next(&p->questions, p->framed, &question, &used) == MESSAGE_WHOLE) {
    struct reply reply = {.status = REPLY_OK, .sent = true, .body = question};
    program_answer(at, &reply);
    buffer_drop(&p->questions, used);
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
                       .extra = end->extra};
  if (p->verdict != REPLY_OK) {
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

/* The process transport's reply: the program has ended, or SIGTERM is on its way. */
static void on_end(struct exchange *exchange, const struct reply *end) {
  struct program *p = exchange->owner;
  struct session *s = p->owner;
  bool closing = p->state == PROGRAM_CLOSING;
  s->living++; /* a done call may close us */
  tell_end(p, end);
  p->state = PROGRAM_GONE;
  *p->link = p->next;
  if (p->next) p->next->link = p->link;
  input_close(p);
  while (p->first) {
    struct reply reply;
    reply_of_end(p->first, end, &reply);
    program_answer(&p->first, &reply);
  }
  uv_close((uv_handle_t *)&p->timer, on_closed);
  if (closing) session_settled(s);
  session_release(s);
}

static void on_started(struct exchange *exchange, int64_t pid, const char *start) {
  struct program *p = exchange->owner;
  const struct waiting *w = p->first;
  while (w && !w->exchange)
    w = w->next;
  struct exchange *starter = w ? w->exchange : NULL;
  if (starter && starter->started) starter->started(starter, pid, start);
}

static bool copy_list(struct task *to, struct strings *list, const struct strings *from,
                      struct error *e) {
  for (size_t i = 0; i < from->count; i++)
    if (!strings_add(list, to->sys, from->items[i], strlen(from->items[i]), e)) return false;
  return true;
}

static bool program_fill(struct program *p, const struct task *task, struct error *e) {
  task_init(&p->task, p->owner->sys);
  p->task.kind = TASK_PROCESS;
  p->task.streams = true;
  p->task.total_ms = INT64_MAX / 4;
  p->task.max_extra = ERRORS_KEPT;
  p->task.takes_questions = task->takes_questions;
  return task_set(&p->task, &p->task.target, task->target, e) &&
         copy_list(&p->task, &p->task.opening, &task->opening, e) &&
         task_set(&p->task, &p->task.cwd, task->cwd, e) &&
         copy_list(&p->task, &p->task.fed_ids, &task->fed_ids, e) &&
         copy_list(&p->task, &p->task.args, &task->args, e) &&
         copy_list(&p->task, &p->task.env, &task->env, e);
}

static bool program_connect(struct program *p, struct error *e) {
  struct session *s = p->owner;
  int ends[2];
  int failed = s->sys->pipe(s->sys, ends);
  if (failed < 0) return error_system(e, -failed, "%s: a pipe for its input", p->task.target);
  p->in_fd = ends[1];
  p->task.input = ends[0];
  failed = uv_poll_init(s->loop, &p->writable, p->in_fd); /* makes it non-blocking */
  if (failed == 0) p->handles++;
  p->writable.data = p;
  p->exchange =
      (struct exchange){.done = on_end, .progress = on_output, .started = on_started, .owner = p};
  if (failed < 0) error_system(e, -failed, "%s: a pipe for its input", p->task.target);
  if (failed == 0 && s->processes->ops->send(s->processes, &p->exchange, &p->task, e)) return true;
  s->sys->close(s->sys, ends[0]);
  if (failed < 0) s->sys->close(s->sys, ends[1]);
  if (failed < 0) p->in_fd = -1;
  return false;
}

struct program *program_start(struct session *s, const struct task *task, struct error *e) {
  struct program *p = sys_alloc(s->sys, sizeof *p);
  if (!p) {
    error_set(e, ERROR_MEMORY, "session %.90s: out of memory", task->target);
    return NULL;
  }
  p->owner = s;
  p->in_fd = -1;
  p->epoch = task->epoch;
  p->repeats = task->fed.count > 0;
  p->framed = task->framed;
  buffer_init(&p->in, s->sys, task->max_body ? task->max_body : MAX_MESSAGE);
  buffer_init(&p->out, s->sys, MAX_OUT);
  buffer_init(&p->fed, s->sys, MAX_OUT);
  buffer_init(&p->held, s->sys, MAX_OUT);
  buffer_init(&p->questions, s->sys, QUESTIONS_KEPT);
  uv_timer_init(s->loop, &p->timer);
  p->timer.data = p;
  p->handles = 1;
  s->living++;
  if (program_fill(p, task, e) && opening_go_on(p, e) && program_connect(p, e)) {
    p->link = &s->programs;
    p->next = s->programs;
    if (p->next) p->next->link = &p->next;
    s->programs = p;
    return p;
  }
  p->state = PROGRAM_GONE;
  input_close(p);
  uv_close((uv_handle_t *)&p->timer, on_closed);
  return NULL;
}

void program_retire(struct program *p) {
  if (p->state != PROGRAM_RUNS) return;
  p->state = PROGRAM_CLOSING;
  p->close_until = uv_now(p->owner->loop) + SESSION_CLOSE_MS;
  input_close(p);
  program_arm(p);
}
