/* session_asked.c: calls of a session that were answered by a question: what answers them comes, or
 * breaks off, when it will, maybe before the message that follows waits for it; and questions that
 * are answered at once.
 *
 * Called by session_heard.c, session_program.c, session_told.c and session_url.c. */
#include <stdio.h>
#include <string.h>

#include "transport/session_inside.h"
#include "transport/session_frame.h"

static struct asked **find(const struct program *p, const char *id) {
  struct asked **at = (struct asked **)&p->asked;
  while (*at && (!id || strcmp((*at)->id, id) != 0))
    at = &(*at)->next;
  return at;
}

static void forget(struct program *p, struct asked **at) {
  const struct sys *sys = p->owner->sys;
  struct asked *asked = *at;
  if (!asked) return;
  *at = asked->next;
  buffer_clear(&asked->answer);
  sys_free(sys, asked->id, strlen(asked->id) + 1);
  sys_free(sys, asked, sizeof *asked);
}

/* Without memory for it its answer is heard of only where somebody waits already. */
static void keep(struct program *p, const char *id) {
  const struct sys *sys = p->owner->sys;
  struct asked *asked = sys_alloc(sys, sizeof *asked);
  if (!asked) return;
  asked->id = sys_alloc(sys, strlen(id) + 1);
  if (!asked->id) {
    sys_free(sys, asked, sizeof *asked);
    return;
  }
  strcpy(asked->id, id);
  buffer_init(&asked->answer, sys, p->in.maximum);
  asked->next = p->asked;
  p->asked = asked;
}

void asked_tell(struct waiting **at, struct span question) {
  struct waiting *w = *at;
  struct reply reply = {.status = REPLY_OK, .sent = true, .body = question, .retry_after_ms = -1};
  if (w->reply_id && !*find(w->program, w->reply_id)) keep(w->program, w->reply_id);
  w->reply_id = NULL; /* that is not over */
  program_answer(at, &reply);
}

bool asked_take(struct program *p, const struct message *m) {
  struct error e;
  struct asked *asked = m->form == MESSAGE_ANSWER ? *find(p, m->key) : NULL;
  if (!asked || asked->has_answer) return false;
  asked->has_answer = buffer_append(&asked->answer, m->text.data, m->text.length, &e);
  if (p->way->over) p->way->over(p, asked->id, false);
  if (asked->has_answer) return true;
  asked_fail(p, asked->id, &(struct reply){.status = REPLY_BROKEN, .message = "out of memory"});
  return true;
}

void asked_fail(struct program *p, const char *id, const struct reply *reply) {
  struct asked *asked = *find(p, id);
  if (!asked || asked->has_answer) return;
  asked->failed = true;
  asked->status = reply->status == REPLY_OK ? REPLY_BROKEN : reply->status;
  snprintf(asked->why, sizeof asked->why, "%s",
           *reply->message ? reply->message : "its answer was refused");
}

bool asked_is(const struct program *p, const char *id) {
  return *find(p, id) != NULL;
}

void asked_begin(struct program *p, const struct task *task) {
  if (!task->session.follows && *find(p, task->session.reply_id))
    asked_over(p, task->session.reply_id, true);
}

/* A message that has not left is not answered: nobody would say it any more. */
static struct asked *come(const struct waiting *w) {
  struct asked *asked = w->program->url && !w->posted ? NULL : *find(w->program, w->reply_id);
  return asked && (asked->has_answer || asked->failed) ? asked : NULL;
}

struct waiting **asked_taker(struct program *p) {
  struct waiting **at = &p->first;
  while (*at && !(p->asked && come(*at)))
    at = &(*at)->next;
  return at;
}

void asked_give(struct waiting **at) {
  struct program *p = (*at)->program;
  struct asked *asked = come(*at);
  struct reply reply = {.sent = true, .retry_after_ms = -1};
  reply.status = asked->has_answer ? REPLY_OK : asked->status;
  reply.body = buffer_span(&asked->answer);
  snprintf(reply.message, sizeof reply.message, "%s", asked->why);
  *find(p, asked->id) = asked->next; /* it lives until the answer was taken */
  program_answer(at, &reply);
  forget(p, &asked);
}

void asked_over(struct program *p, const char *id, bool at_once) {
  if (p->way->over) p->way->over(p, id, at_once);
  forget(p, find(p, id));
}

void asked_clear(struct program *p) {
  while (p->asked)
    forget(p, &p->asked);
}

bool asked_reply(struct program *p, const struct message *m) {
  struct error e;
  size_t before = p->out.length;
  if (m->form != MESSAGE_QUESTION || m->reply.length == 0) return false;
  if (!frame_write(&p->out, buffer_span(&m->reply), p->framed, &e))
    p->out.length = before; /* it does not read */
  return true;
}
