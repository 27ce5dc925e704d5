/* session_told.c: what a program of a session is told: messages, and before the first of them those
 * that the program before it had been told.
 *
 * While it is fed, others' messages are held: the first leaves behind the last answer. One that was
 * said before and not answered is fed in its place; its answer is not dropped, as its exchange
 * comes for it before the loop turns. Knows who waits for answers; what comes of them says
 * session_program.c. Called by session.c. */
#include <string.h>

#include "transport/session_inside.h"
#include "transport/session_frame.h"

enum { TOTAL_MS = 600 * 1000 /* of an exchange */ };

/* Into `to`, and to those who wait; `exchange` may be NULL. */
static bool say(struct program *p, struct buffer *to, struct span message, const struct waiting *as,
                struct error *e) {
  struct session *s = p->owner;
  size_t before = to->length;
  struct waiting **at = &p->first;
  struct waiting *w = sys_alloc(s->sys, sizeof *w);
  if (!w) return error_set(e, ERROR_MEMORY, "session %s: out of memory", p->task.target);
  if (!p->url && !frame_write(to, message, p->framed, e)) {
    to->length = before; /* no half of it */
    sys_free(s->sys, w, sizeof *w);
    return false;
  }
  while (*at)
    at = &(*at)->next;
  *w = *as;
  w->program = p;
  w->started_ns = s->sys->mono_ns(s->sys);
  *at = w;
  if (as->exchange) as->exchange->handle = p;
  p->way->write(p);
  program_arm(p);
  return true;
}

static uint64_t deadline_of(const struct program *p, const struct task *task) {
  uv_update_time(p->owner->loop);
  return uv_now(p->owner->loop) + (uint64_t)(task->total_ms > 0 ? task->total_ms : TOTAL_MS);
}

bool program_feed(struct program *p, const struct task *task, struct error *e) {
  struct waiting as = {.deadline = deadline_of(p, task)};
  for (size_t i = 0; i < task->session.fed.count; i++) {
    const char *message = task->session.fed.items[i], *id = p->task.session.fed_ids.items[i];
    as.reply_id = *id ? id : NULL;
    as.fed_at = i + 1;
    if (!say(p, p->is_open ? &p->out : &p->fed, (struct span){message, strlen(message)}, &as, e)) {
      program_end(p, REPLY_BROKEN, e);
      return false;
    }
    p->feeding++;
  }
  return true;
}

bool feed_go_on(struct program *p, struct error *e) {
  if (--p->feeding > 0 || !p->is_open) return true;
  bool ok = buffer_append(&p->out, p->held.data, p->held.length, e);
  buffer_clear(&p->held);
  return ok;
}

bool waiting_left(const struct waiting *w) {
  const struct program *p = w->program;
  if (p->url) return w->posted;
  return p->is_open && (p->feeding == 0 || (w->exchange && w->fed_at > 0));
}

static struct waiting *find_fed(const struct program *p, size_t fed_at) {
  struct waiting *w = p->first;
  while (fed_at && w && (w->exchange || w->fed_at != fed_at))
    w = w->next;
  return fed_at ? w : NULL;
}

bool program_ask(struct program *p, struct exchange *exchange, const struct task *task,
                 struct error *e) {
  struct waiting as = {.exchange = exchange,
                       .task = task,
                       .reply_id = task->session.reply_id,
                       .deadline = deadline_of(p, task)};
  struct waiting *fed = find_fed(p, task->session.fed_at);
  if (p->url && !url_headers(p, task, e)) return false;
  asked_begin(p, task);
  if (fed) {
    fed->exchange = exchange;
    fed->task = task;
    fed->reply_id = task->session.reply_id;
    fed->deadline = as.deadline;
    exchange->handle = p;
    program_arm(p);
    return feed_go_on(p, e);
  }
  bool leaves = p->is_open && p->feeding == 0;
  return say(p, leaves ? &p->out : &p->held, buffer_span(&task->body), &as, e);
}
