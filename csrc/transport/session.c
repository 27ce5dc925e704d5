/* session.c: the transport of programs, and servers behind URLs, that one talks to: they stay
 * between exchanges.
 *
 * A task names a session; the first one starts its program (session_program.c), later ones find it
 * running, and start it again where it has ended. What it says unasked is an event. When the run is
 * over the programs end. Knows nothing of what is said. */
#include <string.h>

#include "transport/session_inside.h"

void session_release(struct session *s) {
  if (--s->living == 0) sys_free(s->sys, s, sizeof *s);
}

bool session_ending(const struct transport *base) {
  const struct session *s = (const struct session *)base;
  for (const struct program *p = s->programs; p; p = p->next)
    if (p->state == PROGRAM_CLOSING) return true;
  return s->processes->ops->ending(s->processes);
}

void session_settled(void *data) {
  struct session *s = data;
  if (s->base.owner.settled && !session_ending(&s->base)) s->base.owner.settled(s->base.owner.data);
}

static struct program *find_program(const struct session *s, const char *name) {
  struct program *p = s->programs;
  while (p && (p->state != PROGRAM_RUNS || strcmp(p->task.target, name) != 0))
    p = p->next;
  return p;
}

static bool check_task(const struct task *task, struct error *e) {
  if (!task->target || !*task->target || strlen(task->target) > SESSION_NAME_MAX)
    return error_set(e, ERROR_INVALID, "session task: a name of 1 to %d bytes is needed",
                     (int)SESSION_NAME_MAX);
  if (task->session.args.count == 0 && !task->session.url)
    return error_set(e, ERROR_INVALID, "session %s: argv is empty; name a program", task->target);
  return true;
}

static bool session_send(struct transport *base, struct exchange *exchange, const struct task *task,
                         struct error *e) {
  struct session *s = (struct session *)base;
  if (!check_task(task, e)) return false;
  struct program *p = find_program(s, task->target);
  if (task->session.epoch && (p ? p->epoch != task->session.epoch : !task->session.begins))
    return error_set(e, ERROR_STOPPED, "session %s: its program has ended", task->target);
  if (p) return program_ask(p, exchange, task, e);
  return (p = program_start(s, task, e)) && program_feed(p, task, e) &&
         program_ask(p, exchange, task, e);
}

static void session_cancel(struct transport *base, struct exchange *exchange, bool at_once) {
  (void)base, (void)at_once; /* the program stays, or has its grace */
  struct program *p = exchange->handle;
  if (p) program_give_up(p, exchange, REPLY_CANCELED, "canceled");
}

static void session_retire(struct transport *base) {
  struct session *s = (struct session *)base;
  uv_update_time(s->loop);
  for (struct program *p = s->programs, *next; p; p = next) {
    next = p->next;
    program_retire(p);
  }
}

static void session_close(struct transport *base) {
  struct session *s = (struct session *)base;
  s->base.owner = (struct transport_owner){0};
  s->processes->ops->close(s->processes); /* the end of each program follows */
  while (s->programs) {
    struct error e;
    error_set(&e, ERROR_STOPPED, "%s: canceled", s->programs->task.target);
    program_end(s->programs, REPLY_CANCELED, &e);
  }
  session_release(s);
}

bool session_open(const struct sys *sys, struct uv_loop_s *loop, struct transport **to,
                  struct error *e) {
  static const struct transport_ops ops = {session_send, session_cancel, session_close,
                                           session_ending, session_retire};
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
  s->processes->owner = (struct transport_owner){.data = s, .settled = session_settled};
  *to = &s->base;
  return true;
}
