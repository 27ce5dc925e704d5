/* session_pipe.c: the way to a program of a session: a pipe to its input, its output as it comes.
 *
 * The program is an exchange of the session's own process transport, whose output is handed on.
 * Called by session_program.c. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "transport/session_inside.h"

enum { ERRORS_KEPT = 64 << 10 };

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
  program_release(handle->data);
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

static void pipe_write(struct program *p) {
  if (p->in_fd >= 0 && p->out.length > 0) uv_poll_start(&p->writable, UV_WRITABLE, on_writable);
}

/* ---- its life ---- */

/* The process transport's reply: the program has ended, or SIGTERM is on its way. */
static void on_end(struct exchange *exchange, const struct reply *end) {
  struct program *p = exchange->owner;
  input_close(p);
  program_over(p, end);
}

static void on_started(struct exchange *exchange, int64_t pid, const char *start) {
  struct program *p = exchange->owner;
  const struct waiting *w = p->first;
  while (w && !w->exchange)
    w = w->next;
  struct exchange *starter = w ? w->exchange : NULL;
  if (starter && starter->started) starter->started(starter, pid, start);
}

static bool fill_process(struct program *p, const struct session_task *from, struct error *e) {
  struct task *task = &p->process;
  task->kind = TASK_PROCESS;
  task->streams = true;
  task->total_ms = INT64_MAX / 4;
  task->max_extra = ERRORS_KEPT;
  return task_set(task, &task->process.cwd, from->cwd, e) &&
         strings_copy(&task->process.args, task->sys, &from->args, e) &&
         strings_copy(&task->process.env, task->sys, &from->env, e);
}

static bool pipe_open(struct program *p, const struct task *task, struct error *e) {
  struct session *s = p->owner;
  int ends[2];
  if (!fill_process(p, &task->session, e)) return false;
  int failed = s->sys->pipe(s->sys, ends);
  if (failed < 0) return error_system(e, -failed, "%s: a pipe for its input", p->task.target);
  p->in_fd = ends[1];
  p->process.process.input = ends[0];
  failed = uv_poll_init(s->loop, &p->writable, p->in_fd); /* makes it non-blocking */
  if (failed == 0) p->handles++;
  p->writable.data = p;
  p->exchange =
      (struct exchange){.done = on_end, .progress = on_output, .started = on_started, .owner = p};
  if (failed < 0) error_system(e, -failed, "%s: a pipe for its input", p->task.target);
  if (failed == 0 && s->processes->ops->send(s->processes, &p->exchange, &p->process, e))
    return true;
  s->sys->close(s->sys, ends[0]);
  if (failed == 0) input_close(p);
  if (failed < 0) s->sys->close(s->sys, ends[1]);
  p->in_fd = -1;
  return false;
}

static void pipe_end(struct program *p) {
  struct transport *processes = p->owner->processes;
  processes->ops->cancel(processes, &p->exchange, false); /* on_end follows at once */
}

static void pipe_retire(struct program *p) {
  p->close_until = uv_now(p->owner->loop) + SESSION_CLOSE_MS;
  input_close(p);
}

const struct way pipe_way = {
    .open = pipe_open, .write = pipe_write, .end = pipe_end, .retire = pipe_retire};
