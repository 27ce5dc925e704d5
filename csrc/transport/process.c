/* process.c: the transport that runs programs by argv, never by a shell.
 * Deadlines, kills and replies; process_child.c starts and reads. A program runs in a group of its
 * own, and the group never outlives its exchange: when the program ends, the rest of its group is
 * killed. Its pid is reaped last, so that a signal can never reach another program. Knows nothing
 * of steps; the engine reaches it through transport.h. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "transport/leftover.h"
#include "transport/process_child.h"
#include "transport/silence.h"

enum {
  TOTAL_MS = 600 * 1000,
  MAX_BODY = 16 << 20,
  MAX_EXTRA = 256 << 10,
  TERM_GRACE_MS = 2000, /* from SIGTERM to SIGKILL */
  PIPE_GRACE_MS = 200,  /* from the program's end to the end of the rest of its group */
  KILL_GRACE_MS = 1000, /* from SIGKILL to a reply without its end (uninterruptible sleep) */
  CLOSE_GRACE_MS = 200, /* the same when the transport closes */
  TOOL_MS = 1000,       /* a tool may run before we have read that it begins */
  LAST_ROUNDS = 40      /* reads after the end: more than any pipe's capacity */
};

static void on_timer(uv_timer_t *);

static void child_arm(struct child *child, uint64_t ms) {
  uv_timer_start(&child->timer, on_timer, ms, 0);
}

static void child_signal(struct child *child, int signal, enum child_stage stage, uint64_t grace) {
  const struct sys *sys = child->owner->sys;
  sys->kill_group(sys, child->pid, signal); /* ESRCH: already ended, the pidfd will say so */
  child->stage = stage;
  child_arm(child, grace);
}

/* --- replies -------------------------------------------------------------------------- */

static void fill_end(const struct child *child, struct reply *reply) {
  int status = child->wait_status;
  if (!child->ended) return;
  if (WIFEXITED(status)) reply->code = WEXITSTATUS(status);
  if (!WIFSIGNALED(status)) return;
  reply->code = WTERMSIG(status);
  if (reply->status != REPLY_OK) return;
  if (child->leashed && reply->code == SIGKILL) {
    reply->status = REPLY_LAPSED;
    snprintf(reply->message, sizeof reply->message,
             "%s: was killed, as the lease of this process had lapsed", child->name);
    return;
  }
  const char *name = sigabbrev_np(reply->code);
  reply->status = REPLY_KILLED;
  snprintf(reply->message, sizeof reply->message, "%s: killed by signal %d (%s%s)", child->name,
           reply->code, name ? "SIG" : "", name ? name : "unknown");
}

static void child_linger(struct child *child) {
  child->lingers = true;
  child->owner->ending++;
}

void process_settle(struct child *child) {
  struct process *owner = child->owner;
  if (!child->lingers) return;
  child->lingers = false;
  const struct transport_owner *ours = &owner->base.owner;
  if (--owner->ending == 0 && ours->settled) ours->settled(ours->data);
}

/* Calls done with the verdict, once. The caller must not use the child after that. */
static void child_reply(struct child *child) {
  struct exchange *exchange = child->exchange;
  if (!exchange) return;
  const struct sys *sys = child->owner->sys;
  struct reply reply = {
      .status = child->verdict,
      .sent = child->pid > 0,
      .body = buffer_span(&child->pipes[PIPE_OUT].kept),
      .extra = buffer_span(&child->pipes[PIPE_ERR].kept),
      .retry_after_ms = -1,
  };
  if (child->started_ns) reply.elapsed_ms = (sys->mono_ns(sys) - child->started_ns) / 1000000;
  if (child->verdict != REPLY_OK)
    snprintf(reply.message, sizeof reply.message, "%.*s", (int)sizeof reply.message - 1,
             child->message.text);
  fill_end(child, &reply);
  snprintf(reply.refused, sizeof reply.refused, "%s",
           child->proxy ? proxy_refused(child->proxy) : child->refused);
  child->exchange = exchange->handle = NULL;
  child->task = NULL;
  if (child->stage == CHILD_TERMED || child->stage == CHILD_KILLED) child_linger(child);
  exchange->done(exchange, &reply);
}

/* Kills the rest of the group, reads the last bytes and the exit status, and replies. */
static void child_finish(struct child *child) {
  const struct sys *sys = child->owner->sys;
  if (child->stage != CHILD_KILLED) sys->kill_group(sys, child->pid, SIGKILL);
  child->stage = CHILD_KILLED;
  for (int i = 0; i < PIPES && child->ended; i++)
    child_read(&child->pipes[i], LAST_ROUNDS);
  if (child->stage == CHILD_GONE) return; /* a progress call closed the transport */
  child->leashed = sys->leashed && sys->leashed(sys, child->pid);
  int failed = sys->reap(sys, child->pid, &child->wait_status);
  if (failed == -EAGAIN) { /* killed but not dead yet: process_ended will reap it */
    uv_timer_stop(&child->timer);
    child_reply(child);
    process_settle(child);
    return;
  }
  child->ended = failed == 0;
  if (child->ended) jail_ended(child->jail, &child->wait_status);
  if (failed < 0) {
    struct error why;
    if (failed == -ECHILD)
      error_set(&why, ERROR_INVALID,
                "%s: its exit status is lost: this process ignores SIGCHLD, or waits for children "
                "that are not its own",
                child->name);
    else
      error_system(&why, -failed, "%s: its exit status", child->name);
    process_fail(child, REPLY_BROKEN, &why);
  }
  child_discard(child);
  child_reply(child);
}

/* --- events --------------------------------------------------------------------------- */

void process_fail(struct child *child, enum reply_status verdict, const struct error *why) {
  if (child->verdict == REPLY_OK) {
    child->verdict = verdict;
    child->message = *why;
  }
  if (child->stage != CHILD_RUNNING) return;
  child_signal(child, SIGTERM, CHILD_TERMED, TERM_GRACE_MS);
  if (verdict ==
      REPLY_TOO_LARGE) { /* a program that floods gets SIGPIPE; its output is not read any more */
    child_close_pipe(&child->pipes[PIPE_OUT]);
    child_close_pipe(&child->pipes[PIPE_ERR]);
  }
}

void process_ended(struct child *child) {
  child->ended = true;
  if (child->stage == CHILD_KILLED || !child_pipes_open(child)) {
    child_finish(child);
  } else if (child->stage == CHILD_RUNNING) {
    child->stage = CHILD_ENDING;
    child_arm(child, PIPE_GRACE_MS);
  }
}

void process_pipe_ended(struct child *child) {
  bool waiting = child->stage == CHILD_ENDING || child->stage == CHILD_TERMED;
  if (waiting && child->ended && !child_pipes_open(child)) child_finish(child);
}

static int64_t or_default(int64_t given, int64_t otherwise) {
  return given > 0 ? given : otherwise;
}

static void tell_started(struct child *child) {
  struct exchange *exchange = child->exchange;
  char start[LEFTOVER_START];
  if (!exchange->started) return;
  leftover_start(child->owner->sys, child->pid, start);
  if (start[0]) exchange->started(exchange, child->pid, start);
}

/* A missing program or permission stays missing; a shortage may pass. */
static bool may_pass(const struct error *e) {
  static const int lasting[] = {ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENOEXEC};
  for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
    if (e->number == lasting[i]) return false;
  return e->code == ERROR_SYSTEM || e->code == ERROR_MEMORY;
}

static void child_begin(struct child *child) {
  const struct sys *sys = child->owner->sys;
  struct error e;
  uv_update_time(child->owner->loop); /* deadlines count from here, not from a stale clock */
  child->started_at = child->last_at = child->told_at = uv_now(child->owner->loop);
  child->started_ns = sys->mono_ns(sys);
  if (child_start(child, &e)) {
    child_arm(child, 0); /* on_timer finds the deadline */
    tell_started(child);
    return;
  }
  child->verdict = may_pass(&e) ? REPLY_BROKEN : REPLY_REFUSED;
  child->message = e;
  child_discard(child);
  child_reply(child);
}

/* Ends a program that has been silent for too long, or reports the silence. */
static void child_is_silent(struct child *child, uint64_t now) {
  const struct task *task = child->task;
  const struct sys *sys = child->owner->sys;
  const char *noise = child->noisy ? task->process.noise : NULL;
  uint64_t silent = now - child->last_at;
  char works[SILENCE_WORDS] = "";
  struct error why;
  if (task->process.silence != SILENCE_ENDS && !noise)
    silence_look(sys, child->pid, child->used, (int64_t)(now - child->looked_at),
                 child->speaks ? (int64_t)silent + TOOL_MS : 0, works);
  if (task->process.silence == SILENCE_TELLS ||
      (task->process.silence == SILENCE_SPARES && works[0])) {
    child->told_at = now;
    child->looked_at = 0;
    if (child->exchange->silent) child->exchange->silent(child->exchange, (int64_t)silent, works);
    return;
  }
  error_set(&why, ERROR_LIMIT, "%s: silent for %llu ms%s%.60s", child->name,
            (unsigned long long)task->idle_ms, noise ? ", but for lines of " : "",
            noise ? noise : "");
  process_fail(child, REPLY_TIMEOUT, &why);
}

/* How long until the next look at its silence. Whether the program works is measured in the second
 * half of a silence. */
static uint64_t child_check_silence(struct child *child, uint64_t now) {
  const struct task *task = child->task;
  uint64_t idle = (uint64_t)task->idle_ms, silent = now - child->told_at;
  if (task->idle_ms <= 0) return UINT64_MAX;
  if (silent >= idle && (child->looked_at || task->process.silence == SILENCE_ENDS)) {
    child_is_silent(child, now);
    return idle / 2;
  }
  if (task->process.silence == SILENCE_ENDS) return idle - silent;
  if (silent < idle / 2) return idle / 2 - silent;
  if (!child->looked_at) {
    child->looked_at = now;
    child->used = silence_used(child->owner->sys, child->pid);
  }
  uint64_t seen = now - child->looked_at, rest = silent < idle ? idle - silent : 0;
  return rest + seen >= idle / 2 ? rest : idle / 2 - seen; /* the loop may have been late */
}

/* Arms the timer for the nearer deadline, or ends the program if one has passed. */
static void child_check_deadlines(struct child *child) {
  const struct task *task = child->task;
  uint64_t now = uv_now(child->owner->loop), total = (uint64_t)or_default(task->total_ms, TOTAL_MS);
  struct error why;
  if (now - child->started_at >= total) {
    error_set(&why, ERROR_LIMIT, "%s: not finished after %llu ms", child->name,
              (unsigned long long)total);
    process_fail(child, REPLY_TIMEOUT, &why);
    return;
  }
  uint64_t rest = total - (now - child->started_at), quiet = child_check_silence(child, now);
  if (child->stage == CHILD_RUNNING) child_arm(child, quiet < rest ? quiet : rest);
}

static void on_timer(uv_timer_t *timer) {
  struct child *child = timer->data;
  switch (child->stage) {
  case CHILD_ACCEPTED:
    child_begin(child);
    break;
  case CHILD_RUNNING:
    child_check_deadlines(child);
    break;
  case CHILD_TERMED:
    if (!child->ended) {
      child_signal(child, SIGKILL, CHILD_KILLED, KILL_GRACE_MS);
      break;
    } /* fall through */
  case CHILD_ENDING:
  case CHILD_KILLED:
    child_finish(child);
    break;
  case CHILD_GONE:
    break;
  }
}

/* --- the transport -------------------------------------------------------------------- */

static bool process_send(struct transport *base, struct exchange *exchange, const struct task *task,
                         struct error *e) {
  struct process *owner = (struct process *)base;
  if (owner->closed) return error_set(e, ERROR_STOPPED, "process transport: already closed");
  if (task->process.args.count == 0)
    return error_set(e, ERROR_INVALID, "process task: argv is empty; name a program");
  struct child *child = sys_alloc(owner->sys, sizeof *child);
  if (!child)
    return error_set(e, ERROR_MEMORY, "%.95s: out of memory", task->process.args.items[0]);
  child->owner = owner;
  child->exchange = exchange;
  child->task = task;
  child->ended_fd = child->life_fd = -1;
  snprintf(child->name, sizeof child->name, "%s", task->process.args.items[0]);
  for (int i = 0; i < PIPES; i++) {
    child->pipes[i].child = child;
    child->pipes[i].fd = -1;
  }
  buffer_init(&child->pipes[PIPE_OUT].kept, owner->sys, task->max_body ? task->max_body : MAX_BODY);
  buffer_init(&child->pipes[PIPE_ERR].kept, owner->sys,
              task->max_extra ? task->max_extra : MAX_EXTRA);
  uv_timer_init(owner->loop, &child->timer);
  uv_timer_init(owner->loop, &child->watch);
  child->timer.data = child->watch.data = child->ended_poll.data = child;
  child->handles = 2;
  child->link = &owner->children;
  child->next = owner->children;
  if (child->next) child->next->link = &child->next;
  owner->children = child;
  owner->living++;
  exchange->handle = child;
  child_arm(child, 0); /* done never comes from in here */
  return true;
}

static void process_cancel(struct transport *base, struct exchange *exchange, bool at_once) {
  (void)base;
  struct child *child = exchange->handle;
  if (!child) return;
  child->verdict = REPLY_CANCELED;
  error_set(&child->message, ERROR_STOPPED, "%s: canceled", child->name);
  if (child->stage == CHILD_ACCEPTED) {
    if (child->task->process.input > 0)
      child->owner->sys->close(child->owner->sys, child->task->process.input);
    child_discard(child);
  } else if (child->stage == CHILD_ENDING) {
    child_finish(child); /* replies */
    return;
  } else if (at_once && (child->stage == CHILD_RUNNING || child->stage == CHILD_TERMED))
    child_signal(child, SIGKILL, CHILD_KILLED, KILL_GRACE_MS);
  else if (child->stage == CHILD_RUNNING)
    child_signal(child, SIGTERM, CHILD_TERMED, TERM_GRACE_MS);
  child_reply(child);
}

static bool process_ending(const struct transport *base) {
  return ((const struct process *)base)->ending > 0;
}

/* Waits for a killed program, so that it does not remain as a zombie; at most `*ms` for all of them
 * together. */
static void child_bury(struct child *child, int *ms) {
  const struct sys *sys = child->owner->sys;
  while (sys->reap(sys, child->pid, &child->wait_status) == -EAGAIN && (*ms)-- > 0)
    sys->pause(sys, 1);
  child_discard(child);
}

/* Kills all programs before it waits for one; a done call may do anything. */
static void kill_all(struct process *owner) {
  for (struct child *child = owner->children; child;) {
    bool waits = child->exchange != NULL;
    if (waits)
      process_cancel(&owner->base, child->exchange, true);
    else
      owner->sys->kill_group(owner->sys, child->pid, SIGKILL);
    child = waits ? owner->children : child->next;
  }
}

static void process_close(struct transport *base) {
  struct process *owner = (struct process *)base;
  if (owner->closed) return;
  owner->closed = true;
  owner->living++; /* a done call must not see it freed */
  int ms = CLOSE_GRACE_MS;
  kill_all(owner);
  while (owner->children)
    child_bury(owner->children, &ms);
  if (--owner->living == 0) sys_free(owner->sys, owner, sizeof *owner);
}

bool process_open(const struct sys *sys, struct uv_loop_s *loop, struct transport **to,
                  struct error *e) {
  static const struct transport_ops ops = {process_send, process_cancel, process_close,
                                           process_ending, NULL};
  struct process *owner = sys_alloc(sys, sizeof *owner);
  if (!owner) return error_set(e, ERROR_MEMORY, "process transport: out of memory");
  owner->base.ops = &ops;
  owner->sys = sys;
  owner->loop = loop;
  *to = &owner->base;
  return true;
}
