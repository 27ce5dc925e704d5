/* session.c: the transport of programs that exchange messages with a run: each is an exchange that
 * lasts until its program has ended, or is given up.
 *
 *   state     entered by                     left by
 *   RUNS      send                           its end; cancel; output that is no message
 *   CLOSING   cancel: its input is closed    its end; SIGTERM after 500 ms, SIGKILL 2 s later
 *   GONE      its end, or SIGTERM was sent   the loop has closed its handles
 *
 * Its output is split into messages (session_frame.h), each passed on as progress; messages to it
 * are written as fast as it reads. The reply comes at its end: exit code or signal, and the end of
 * its stderr. The program itself is an exchange of a process transport that this one owns. Does not
 * look into messages. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "transport/session_frame.h"
#include "transport/transport.h"

enum {
  SESSION_NAME_MAX = 200,
  CLOSE_MS = 500,
  MAX_MESSAGE = 16 << 20,
  MAX_OUT = 64 << 20,
  ERRORS_KEPT = 64 << 10
};

enum program_state { PROGRAM_RUNS, PROGRAM_CLOSING, PROGRAM_GONE };

struct program {
  struct session *owner;
  struct program *next, **link; /* in the owner's list until it is gone */
  enum program_state state;
  struct exchange *asked; /* the engine's exchange; NULL: it was canceled, or has replied */
  const struct task *task;
  struct task process; /* its program, an exchange of the process transport */
  struct exchange exchange;
  struct buffer in, out;
  int in_fd; /* the program's input; -1: closed */
  uv_poll_t writable;
  uv_timer_t timer;
  unsigned handles;
  enum reply_status verdict; /* why we ended it; REPLY_OK: we did not */
  struct error why;
};

struct session {
  struct transport base;
  const struct sys *sys;
  uv_loop_t *loop;
  struct transport *processes;
  struct program *programs;
  size_t living; /* programs not freed, and ourselves until closed */
};

static void session_release(struct session *s) {
  if (--s->living == 0) sys_free(s->sys, s, sizeof *s);
}

static bool session_ending(const struct transport *base) {
  const struct session *s = (const struct session *)base;
  for (const struct program *p = s->programs; p; p = p->next)
    if (p->state == PROGRAM_CLOSING) return true;
  return s->processes->ops->ending(s->processes);
}

static void session_settled(void *data) {
  struct session *s = data;
  if (s->base.owner.settled && !session_ending(&s->base)) s->base.owner.settled(s->base.owner.data);
}

static struct transport *session_http(void *data, struct error *e) {
  struct session *s = data;
  if (s->base.owner.http) return s->base.owner.http(s->base.owner.data, e);
  error_set(e, ERROR_MISSING, "nothing here sends HTTP");
  return NULL;
}

/* ---- its handles ---- */

static void on_closed(uv_handle_t *handle) {
  struct program *p = handle->data;
  struct session *s = p->owner;
  if (--p->handles > 0) return;
  buffer_clear(&p->in);
  buffer_clear(&p->out);
  task_clear(&p->process);
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

/* ---- its end ---- */

/* `done` may do anything. */
static void program_reply(struct program *p, struct reply *reply) {
  struct exchange *exchange = p->asked;
  if (!exchange) return;
  p->asked = exchange->handle = NULL;
  p->task = NULL;
  exchange->done(exchange, reply);
}

/* The process transport's reply: the program has ended, or SIGTERM is on its way. */
static void on_end(struct exchange *exchange, const struct reply *end) {
  struct program *p = exchange->owner;
  struct session *s = p->owner;
  bool closing = p->state == PROGRAM_CLOSING;
  struct reply reply = *end;
  s->living++; /* a done call may close us */
  input_close(p);
  p->state = PROGRAM_GONE;
  *p->link = p->next;
  if (p->next) p->next->link = p->link;
  if (p->verdict != REPLY_OK) {
    reply.status = p->verdict;
    snprintf(reply.message, sizeof reply.message, "%.*s", (int)sizeof reply.message - 1,
             p->why.text);
  }
  program_reply(p, &reply);
  uv_close((uv_handle_t *)&p->timer, on_closed);
  if (closing) session_settled(s);
  session_release(s);
}

/* Its reply follows before this returns. */
static void program_end(struct program *p, enum reply_status verdict, const struct error *why) {
  struct transport *processes = p->owner->processes;
  p->verdict = verdict;
  p->why = *why;
  processes->ops->cancel(processes, &p->exchange, false);
}

static void on_timer(uv_timer_t *timer) {
  struct program *p = timer->data;
  struct error e;
  error_set(&e, ERROR_STOPPED, "%s: canceled", p->process.target);
  if (p->state == PROGRAM_CLOSING) program_end(p, REPLY_CANCELED, &e);
}

/* ---- messages from it and to it ---- */

/* Passes on each whole message; its listener may cancel the session. */
static enum frame_found cut(struct program *p) {
  struct span message;
  size_t used;
  enum frame_found found = FRAME_NONE;
  while (p->asked &&
         (found = frame_next(&p->in, p->task->session.framed, &message, &used)) == FRAME_WHOLE) {
    p->asked->progress(p->asked, message);
    buffer_drop(&p->in, used);
  }
  return found;
}

/* No more at once than a message may have. */
static bool take(struct program *p, struct span *bytes, struct error *e) {
  size_t room = p->in.maximum - p->in.length, size = bytes->length < room ? bytes->length : room;
  if (room == 0)
    return error_set(e, ERROR_LIMIT, "a message of more than %zu bytes", p->in.maximum);
  if (!buffer_append(&p->in, bytes->data, size, e)) return false;
  *bytes = (struct span){bytes->data + size, bytes->length - size};
  return true;
}

static void on_output(struct exchange *exchange, struct span bytes) {
  struct program *p = exchange->owner;
  struct error e;
  while (p->asked &&
         bytes.length > 0) { /* else read only so that the program does not block while it ends */
    if (!take(p, &bytes, &e)) {
      program_end(p, e.code == ERROR_LIMIT ? REPLY_TOO_LARGE : REPLY_BROKEN, &e);
    } else if (cut(p) == FRAME_BAD && p->asked) {
      error_set(&e, ERROR_INVALID, "said something that has no Content-Length");
      program_end(p, REPLY_BROKEN, &e);
    }
  }
}

/* Blocks SIGPIPE during the write and removes a pending one, as a host may not ignore it. */
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
    input_close(p); /* the program has closed its input; its output or its end will follow */
  else if (p->out.length == 0)
    uv_poll_stop(poll);
}

static bool session_write(struct transport *base, struct exchange *exchange, struct span message,
                          struct error *e) {
  struct program *p = exchange->handle;
  (void)base;
  size_t before = p->out.length;
  if (!frame_write(&p->out, message, p->task->session.framed, e)) {
    p->out.length = before; /* never a part of a message */
    return false;
  }
  if (p->in_fd >= 0) uv_poll_start(&p->writable, UV_WRITABLE, on_writable);
  return true;
}

/* ---- its life ---- */

static void on_started(struct exchange *exchange, int64_t pid, const char *start) {
  const struct program *p = exchange->owner;
  if (p->asked && p->asked->started) p->asked->started(p->asked, pid, start);
}

static bool fill_process(struct program *p, const struct task *from, struct error *e) {
  struct task *task = &p->process;
  task->kind = TASK_PROCESS;
  task->streams = true;
  task->total_ms = INT64_MAX / 4;
  task->max_extra = ERRORS_KEPT;
  return task_set(task, &task->target, from->target, e) &&
         task_set(task, &task->process.cwd, from->session.cwd, e) &&
         strings_copy(&task->process.args, task->sys, &from->session.args, e) &&
         strings_copy(&task->process.env, task->sys, &from->session.env, e) &&
         strings_copy(&task->process.jail, task->sys, &from->session.jail, e);
}

static bool program_start(struct program *p, struct error *e) {
  struct session *s = p->owner;
  int ends[2];
  if (!fill_process(p, p->task, e)) return false;
  int failed = s->sys->pipe(s->sys, ends);
  if (failed < 0) return error_system(e, -failed, "%s: a pipe for its input", p->task->target);
  p->in_fd = ends[1];
  p->process.process.input = ends[0];
  failed = uv_poll_init(s->loop, &p->writable, p->in_fd); /* makes it non-blocking */
  if (failed == 0) p->handles++;
  p->writable.data = p;
  p->exchange =
      (struct exchange){.done = on_end, .progress = on_output, .started = on_started, .owner = p};
  if (failed < 0) error_system(e, -failed, "%s: a pipe for its input", p->task->target);
  if (failed == 0 && s->processes->ops->send(s->processes, &p->exchange, &p->process, e))
    return true;
  s->sys->close(s->sys, ends[0]);
  if (failed == 0) input_close(p);
  if (failed < 0) s->sys->close(s->sys, ends[1]);
  p->in_fd = -1;
  return false;
}

static bool check_task(const struct task *task, struct error *e) {
  if (!task->target || !*task->target || strlen(task->target) > SESSION_NAME_MAX)
    return error_set(e, ERROR_INVALID, "session task: a name of 1 to %d bytes is needed",
                     (int)SESSION_NAME_MAX);
  if (task->session.args.count == 0)
    return error_set(e, ERROR_INVALID, "session %s: argv is empty; name a program", task->target);
  return true;
}

static bool session_send(struct transport *base, struct exchange *exchange, const struct task *task,
                         struct error *e) {
  struct session *s = (struct session *)base;
  if (!check_task(task, e)) return false;
  struct program *p = sys_alloc(s->sys, sizeof *p);
  if (!p) return error_set(e, ERROR_MEMORY, "session %.90s: out of memory", task->target);
  p->owner = s;
  p->asked = exchange;
  p->task = task;
  p->in_fd = -1;
  task_init(&p->process, s->sys);
  buffer_init(&p->in, s->sys, task->max_body ? task->max_body : MAX_MESSAGE);
  buffer_init(&p->out, s->sys, MAX_OUT);
  uv_timer_init(s->loop, &p->timer);
  p->timer.data = p;
  p->handles = 1;
  s->living++;
  if (!program_start(p, e)) {
    p->state = PROGRAM_GONE;
    uv_close((uv_handle_t *)&p->timer, on_closed);
    return false;
  }
  exchange->handle = p;
  p->link = &s->programs;
  p->next = s->programs;
  if (p->next) p->next->link = &p->next;
  s->programs = p;
  return true;
}

/* Closes the program's input, and kills the program a little later. */
static void session_cancel(struct transport *base, struct exchange *exchange, bool at_once) {
  struct session *s = (struct session *)base;
  struct program *p = exchange->handle;
  struct reply reply = {.status = REPLY_CANCELED, .sent = true, .retry_after_ms = -1};
  if (!p) return;
  s->living++; /* a done call may close us */
  snprintf(reply.message, sizeof reply.message, "%s: canceled", p->process.target);
  uv_update_time(s->loop);
  p->state = PROGRAM_CLOSING;
  input_close(p);
  uv_timer_start(&p->timer, on_timer, CLOSE_MS, 0);
  if (at_once) s->processes->ops->cancel(s->processes, &p->exchange, true);
  program_reply(p, &reply);
  session_release(s);
}

static void session_close(struct transport *base) {
  struct session *s = (struct session *)base;
  s->base.owner = (struct transport_owner){0};
  for (struct program *p = s->programs; p; p = p->next) {
    p->verdict = REPLY_CANCELED;
    error_set(&p->why, ERROR_STOPPED, "%s: canceled", p->process.target);
  }
  s->processes->ops->close(s->processes); /* the end of each program follows */
  session_release(s);
}

bool session_open(const struct sys *sys, struct uv_loop_s *loop, struct transport **to,
                  struct error *e) {
  static const struct transport_ops ops = {.send = session_send,
                                           .cancel = session_cancel,
                                           .close = session_close,
                                           .ending = session_ending,
                                           .write = session_write};
  struct session *s = sys_alloc(sys, sizeof *s);
  if (!s) return error_set(e, ERROR_MEMORY, "session transport: out of memory");
  s->base.ops = &ops;
  s->sys = sys;
  s->loop = loop;
  s->living = 1;
  if (!process_open(sys, loop, &s->processes, e)) {
    sys_free(sys, s, sizeof *s);
    return false;
  }
  s->processes->owner =
      (struct transport_owner){.data = s, .settled = session_settled, .http = session_http};
  *to = &s->base;
  return true;
}
