/* process_child.c: starts one program and reads its output.
 * Standard input is a file in memory, so that a program that never reads it can neither block
 * us nor raise SIGPIPE; standard output and error are pipes, read as they become readable.
 * Knows nothing of deadlines and replies: process.c decides. */
#include "transport/process_child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- starting ------------------------------------------------------------------------- */

enum { READ_SIZE = 32 << 10, WATCH_MS = 10 };

/* The descriptors of a start; those of the child's side are closed when it has finished. */
struct start {
  int in;
  int ends[PIPES][2];
  int life[2];
  struct strings words, env; /* of a jail with a proxy */
};

static void start_close(const struct sys *sys, int *fd) {
  if (*fd >= 0) sys->close(sys, *fd);
  *fd = -1;
}

static void start_clear(const struct sys *sys, struct start *start) {
  start_close(sys, &start->in);
  start_close(sys, &start->life[0]);
  start_close(sys, &start->life[1]);
  for (int i = 0; i < PIPES; i++) {
    start_close(sys, &start->ends[i][0]);
    start_close(sys, &start->ends[i][1]);
  }
  strings_clear(&start->words, sys);
  strings_clear(&start->env, sys);
}

static bool start_input(struct child *child, struct start *start, struct error *e) {
  const struct sys *sys = child->owner->sys;
  const struct buffer *body = &child->task->body;
  if (child->task->process.input > 0) {
    start->in = child->task->process.input;
    return true;
  }
  start->in = sys->memory_file(sys, "skillrt-stdin");
  if (start->in < 0) return error_system(e, -start->in, "%s: its standard input", child->name);
  char object[128];
  snprintf(object, sizeof object, "%s: its standard input", child->name);
  if (!sys_write_all(sys, start->in, body->data, body->length, object, e)) return false;
  int64_t at = sys->seek(sys, start->in, 0, SEEK_SET);
  return at < 0 ? error_system(e, (int)-at, "%s", object) : true;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  (void)status, (void)events; /* an error shows itself in the read */
  child_read(poll->data, 1);
}

static bool start_pipe(struct child_pipe *pipe, int ends[2], struct error *e) {
  struct child *child = pipe->child;
  const struct sys *sys = child->owner->sys;
  int failed = sys->pipe(sys, ends);
  if (failed < 0) return error_system(e, -failed, "%s: a pipe for its output", child->name);
  failed = uv_poll_init(child->owner->loop, &pipe->poll, ends[0]); /* makes it non-blocking */
  if (failed < 0) return error_system(e, -failed, "%s: a pipe for its output", child->name);
  pipe->fd = ends[0];
  ends[0] = -1; /* the pipe's now */
  pipe->poll.data = pipe;
  child->handles++;
  failed = uv_poll_start(&pipe->poll, UV_READABLE, on_readable);
  return failed < 0 ? error_system(e, -failed, "%s: a pipe for its output", child->name) : true;
}

static bool start_life(struct child *child, struct start *start, struct error *e) {
  const struct sys *sys = child->owner->sys;
  int failed = sys->pipe(sys, start->life);
  if (failed == -EMFILE || failed == -ENFILE)
    return true; /* only the program itself, not what it starts, dies with us */
  if (failed < 0) return error_system(e, -failed, "%s: a pipe for its life", child->name);
  child->life_fd = start->life[1];
  start->life[1] = -1;
  return true;
}

static const char *start_path(const struct task *task) {
  for (size_t i = 0; i < task->process.env.count; i++)
    if (strncmp(task->process.env.items[i], "PATH=", 5) == 0) return task->process.env.items[i] + 5;
  return NULL;
}

/* Adds to the message what to install or to correct. */
static bool start_explain(const struct child *child, int failed, struct error *e) {
  const struct sys *sys = child->owner->sys;
  const struct task *task = child->task;
  struct sys_stat found;
  int at = task->process.cwd ? sys->stat(sys, task->process.cwd, &found) : 0;
  if (at < 0)
    return error_system(e, -at, "%s: its working folder %s", child->name, task->process.cwd);
  if (task->process.cwd && found.kind != SYS_DIRECTORY && found.kind != SYS_LINK)
    return error_set(e, ERROR_INVALID, "%s: its working folder %s is not a folder", child->name,
                     task->process.cwd);
  bool searched = !strchr(task->process.args.items[0], '/');
  if (failed == ENOENT && searched && start_path(task))
    return error_set(e, ERROR_MISSING,
                     "%s: command not found in PATH; install it, or write its path, as in ./%s",
                     child->name, child->name);
  if (failed == ENOENT && searched)
    return error_set(e, ERROR_MISSING,
                     "%s: command not found, and its environment has no PATH; allow PATH or "
                     "name it by its full path",
                     child->name);
  if (failed == ENOENT)
    return error_set(
        e, ERROR_MISSING,
        "%s: no such program; check the path, and the interpreter its first line names",
        child->name);
  if (failed == EACCES)
    return error_set(e, ERROR_INVALID, "%s: not executable; check its mode (chmod +x)",
                     child->name);
  return error_system(e, failed, "%s: cannot be started", child->name);
}

static void on_ended(uv_poll_t *poll, int status, int events) {
  (void)status, (void)events;
  uv_poll_stop(poll); /* a pidfd stays readable */
  process_ended(poll->data);
}

/* Says why it did not start in its jail. A program is never started without its jail. */
static void start_refused(const struct child *child, int failed, struct error *e) {
  const char *why = jail_failure(child->jail);
  const struct jail_probe *here = jail_probe();
  if (!here->works)
    error_set(e, ERROR_INVALID,
              "%s: no sandbox works here: cannot %s; `skillrt agents` says what is missing; "
              "--sandbox off or SKILLRT_SANDBOX=off runs it without one, with all your permissions",
              child->name, here->failure);
  else if (why[0])
    error_set(e, ERROR_INVALID, "%s: its sandbox cannot %s", child->name, why);
  else if (failed == ENOENT || failed == EACCES)
    error_set(e, ERROR_MISSING,
              "%s: cannot be found or executed in its sandbox; grant its folder "
              "(sandbox.read), or install it",
              child->name);
  else
    start_explain(child, failed, e);
}

static bool start_proxy(struct child *child, struct start *start, struct error *e) {
  struct process *owner = child->owner;
  const struct process_task *task = &child->task->process;
  if (!proxy_open(owner->sys, owner->loop, &owner->base.owner, &task->jail, &child->proxy, e))
    return false;
  return !child->proxy || (strings_copy(&start->words, owner->sys, &task->jail, e) &&
                           proxy_tell(child->proxy, &task->env, &start->words, &start->env, e));
}

static bool start_jail(struct child *child, struct start *start, struct error *e) {
  const struct process_task *task = &child->task->process;
  struct error why;
  if (task->jail.count == 0) return true;
  bool fine = start_proxy(child, start, &why);
  const struct strings *words = child->proxy ? &start->words : &task->jail;
  if (fine && jail_open(child->owner->sys, (const char *const *)words->items,
                        (const char *const *)task->env.items, task->cwd, &child->jail, &why))
    return true;
  return error_set(e, why.code, "%s: %s", child->name, why.text);
}

/* The program runs already; its connections wait until this is done. */
static bool serve_network(struct child *child, struct error *e) {
  int fds[JAIL_LISTENERS];
  struct error why;
  if (!child->proxy) return true;
  if (proxy_listen(child->proxy, fds, jail_listeners(child->jail, fds), &why)) return true;
  return error_set(e, why.code, "%s: %s", child->name, why.text);
}

static bool start_program(struct child *child, const struct start *start, struct error *e) {
  static char *const none[] = {NULL};
  const struct sys *sys = child->owner->sys;
  const struct task *task = child->task;
  const struct strings *env = child->proxy ? &start->env : &task->process.env;
  const struct sys_spawn wish = {
      .argv = (const char *const *)task->process.args.items,
      .env = (const char *const *)(env->items ? env->items : none),
      .cwd = task->process.cwd,
      .in = start->in,
      .out = start->ends[PIPE_OUT][1],
      .err = start->ends[PIPE_ERR][1],
      .life = start->life[0] > 0 ? start->life[0] : 0,
      .inside = jail_inside(child->jail),
  };
  int failed = sys->spawn(sys, &wish, &child->pid, &child->ended_fd);
  if (failed == 0) return true;
  if (!child->jail) return start_explain(child, -failed, e);
  start_refused(child, -failed, e);
  return false;
}

static void on_watch(uv_timer_t *timer) {
  struct child *child = timer->data;
  const struct sys *sys = child->owner->sys;
  if (sys->ended(sys, child->pid) == 0) return;
  uv_timer_stop(timer);
  process_ended(child);
}

/* Where there is no pidfd, or it cannot be watched, polls for the program's end. */
static void watch_end(struct child *child) {
  struct process *owner = child->owner;
  if (child->ended_fd >= 0 && uv_poll_init(owner->loop, &child->ended_poll, child->ended_fd) < 0) {
    owner->sys->close(owner->sys, child->ended_fd);
    child->ended_fd = -1;
  }
  if (child->ended_fd >= 0) child->handles++;
  if (child->ended_fd >= 0 && uv_poll_start(&child->ended_poll, UV_READABLE, on_ended) == 0) return;
  uv_timer_start(&child->watch, on_watch, WATCH_MS, WATCH_MS);
}

bool child_start(struct child *child, struct error *e) {
  struct process *owner = child->owner;
  struct start start = {.in = -1, .ends = {{-1, -1}, {-1, -1}}, .life = {-1, -1}};
  bool fine = start_input(child, &start, e);
  for (int i = 0; fine && i < PIPES; i++)
    fine = start_pipe(&child->pipes[i], start.ends[i], e);
  if (fine)
    fine = start_life(child, &start, e) && start_jail(child, &start, e) &&
           start_program(child, &start, e);
  start_clear(owner->sys, &start);
  if (!fine) return false;
  child->stage = CHILD_RUNNING;
  watch_end(child);
  struct error why;
  if (!serve_network(child, &why)) process_fail(child, REPLY_BROKEN, &why);
  return true;
}

/* --- reading -------------------------------------------------------------------------- */

bool child_pipes_open(const struct child *child) {
  return child->pipes[PIPE_OUT].fd >= 0 || child->pipes[PIPE_ERR].fd >= 0;
}

static void on_closed(uv_handle_t *handle);

static void pipe_close(struct child_pipe *pipe) {
  const struct sys *sys = pipe->child->owner->sys;
  uv_poll_stop(&pipe->poll); /* libuv: the descriptor may be closed from here on */
  sys->close(sys, pipe->fd);
  pipe->fd = -1;
  pipe->poll.data = pipe->child;
  uv_close((uv_handle_t *)&pipe->poll, on_closed);
}

void child_close_pipe(struct child_pipe *pipe) {
  if (pipe->fd < 0) return;
  pipe_close(pipe);
  process_pipe_ended(pipe->child);
}

/* Keeps the first bytes up to the maximum; true if there were more. */
static bool pipe_keep(struct child_pipe *pipe, const char *bytes, size_t size, struct error *e) {
  struct child *child = pipe->child;
  size_t room = pipe->kept.maximum - pipe->kept.length;
  size_t take = size < room ? size : room;
  if (take > 0 && !buffer_append(&pipe->kept, bytes, take, e)) return false;
  if (take < size)
    return error_set(e, ERROR_LIMIT, "%s: more than %zu bytes on standard %s", child->name,
                     pipe->kept.maximum, pipe == &child->pipes[PIPE_OUT] ? "output" : "error");
  return true;
}

/* Keeps the newest bytes of standard error: at least half of the maximum. */
static bool stream_keep(struct child_pipe *pipe, const char *bytes, size_t size, struct error *e) {
  struct buffer *kept = &pipe->kept;
  size_t half = kept->maximum / 2;
  if (size > half) {
    bytes += size - half;
    size = half;
  }
  if (kept->length + size > kept->maximum) {
    memmove(kept->data, kept->data + kept->length - half, half);
    kept->length = half;
  }
  return buffer_append(kept, bytes, size, e);
}

static void stream_take(struct child_pipe *pipe, const char *bytes, size_t size) {
  struct child *child = pipe->child;
  struct exchange *exchange = child->exchange;
  struct error e;
  if (pipe == &child->pipes[PIPE_OUT])
    exchange->progress(exchange, (struct span){bytes, size}); /* may cancel */
  else if (!stream_keep(pipe, bytes, size, &e))
    process_fail(child, REPLY_BROKEN, &e);
}

/* Whether the output holds a line, or the begin of one, that is neither empty nor noise. */
static bool says_something(const char *bytes, size_t size, const char *noise) {
  const char *end = bytes + size;
  for (const char *line = bytes, *stop; line < end; line = stop + 1) {
    stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    size_t length = (size_t)(stop - line);
    if (length > 0 && !memmem(line, length, noise, strlen(noise))) return true;
  }
  return false;
}

static void pipe_take(struct child_pipe *pipe, const char *bytes, size_t size) {
  struct child *child = pipe->child;
  const char *noise = child->exchange ? child->task->process.noise : NULL;
  child->noisy = noise && !says_something(bytes, size, noise);
  if (!child->noisy) {
    child->last_at = child->told_at = uv_now(child->owner->loop);
    child->looked_at = 0;
    child->speaks = true;
  }
  if (!child->exchange)
    return; /* canceled: read only so that the program does not block while it ends */
  if (child->task->streams) {
    stream_take(pipe, bytes, size);
    return;
  }
  size_t before = pipe->kept.length;
  struct error e;
  bool fine = pipe_keep(pipe, bytes, size, &e);
  struct exchange *exchange = child->exchange;
  size_t kept = pipe->kept.length - before;
  if (kept > 0 && pipe == &child->pipes[PIPE_OUT] && exchange->progress && !child->task->unwatched)
    exchange->progress(exchange, (struct span){bytes, kept}); /* may cancel */
  if (fine) return;
  process_fail(child, e.code == ERROR_LIMIT ? REPLY_TOO_LARGE : REPLY_BROKEN, &e);
}

void child_read(struct child_pipe *pipe, int rounds) {
  struct child *child = pipe->child;
  const struct sys *sys = child->owner->sys;
  char bytes[READ_SIZE];
  while (rounds-- > 0 && pipe->fd >= 0) {
    ssize_t got = sys->read(sys, pipe->fd, bytes, sizeof bytes);
    if (got == -EINTR) continue;
    if (got == -EAGAIN) return;
    if (got < 0) {
      struct error why;
      error_system(&why, (int)-got, "%s: its output cannot be read", child->name);
      process_fail(child, REPLY_BROKEN, &why);
    }
    if (got <= 0)
      child_close_pipe(pipe);
    else
      pipe_take(pipe, bytes, (size_t)got);
  }
}

/* --- the end -------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle) {
  struct child *child = handle->data;
  struct process *owner = child->owner;
  const struct sys *sys = owner->sys;
  if (--child->handles > 0) return;
  for (int i = 0; i < PIPES; i++)
    buffer_clear(&child->pipes[i].kept);
  sys_free(sys, child, sizeof *child);
  if (--owner->living == 0 && owner->closed) sys_free(sys, owner, sizeof *owner);
}

void child_discard(struct child *child) {
  const struct sys *sys = child->owner->sys;
  child->stage = CHILD_GONE;
  process_settle(child);
  if (child->next) child->next->link = child->link;
  *child->link = child->next;
  for (int i = 0; i < PIPES; i++)
    if (child->pipes[i].fd >= 0) pipe_close(&child->pipes[i]);
  if (child->ended_fd >= 0) {
    uv_poll_stop(&child->ended_poll);
    sys->close(sys, child->ended_fd);
    child->ended_fd = -1;
    uv_close((uv_handle_t *)&child->ended_poll, on_closed);
  }
  if (child->life_fd >= 0) sys->close(sys, child->life_fd);
  child->life_fd = -1;
  jail_close(&child->jail);
  snprintf(child->refused, sizeof child->refused, "%s", proxy_refused(child->proxy));
  proxy_close(&child->proxy);
  uv_close((uv_handle_t *)&child->watch, on_closed);
  uv_close((uv_handle_t *)&child->timer, on_closed); /* these exist from the start */
}
