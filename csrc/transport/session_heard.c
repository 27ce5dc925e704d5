/* session_heard.c: what a program of a session says: whose answer it is, and what is told of it.
 *
 * Called by session_program.c. */
#include <stdio.h>
#include <string.h>

#include "transport/session_inside.h"
#include "transport/session_frame.h"

static bool is_answered_by(const struct waiting *w, const struct message *m) {
  bool takes = question_takes(w) && w->program->feeding == 0;
  if (takes && m->form == MESSAGE_QUESTION) return true;
  if (!w->reply_id) return w->program->is_open;
  return m->form == MESSAGE_ANSWER && strcmp(m->key, w->reply_id) == 0;
}

static struct waiting **find_answered(struct program *p, const struct message *m) {
  struct waiting **at = &p->first;
  if (p->origin && m->form == MESSAGE_QUESTION) {
    while (*at &&
           !((*at)->reply_id && strcmp((*at)->reply_id, p->origin) == 0 && question_takes(*at)))
      at = &(*at)->next;
    if (*at || asked_is(p, p->origin)) return at; /* nobody else is asked */
    at = &p->first;
  }
  while (*at && !is_answered_by(*at, m))
    at = &(*at)->next;
  return at;
}

static void tell(struct program *p, struct span message) {
  const struct transport_owner *ours = &p->owner->base.owner;
  char source[SESSION_NAME_MAX + 16];
  bool repeats = p->feeding > 0 && p->repeats; /* what another one said before */
  if (!ours->event || message.length == 0 || repeats) return;
  snprintf(source, sizeof source, "session:%s", p->task.target);
  ours->event(ours->data, source, message);
}

/* The opening, or what is fed, was answered: more may leave. */
void heard_go_on(struct program *p, bool (*next)(struct program *, struct error *)) {
  struct error e;
  if (next(p, &e))
    p->way->write(p);
  else
    program_end(p, REPLY_BROKEN, &e);
}

/* The opening was answered: what follows goes along with what the answer says, or not at all. */
static void opened(struct program *p, const struct message *m) {
  struct error e;
  tell(p, m->text);
  if (m->refusal[0]) {
    error_set(&e, ERROR_INVALID, "%s: %s", p->task.target, m->refusal);
    program_end(p, REPLY_REFUSED, &e);
  } else if (p->url && !url_lasting(p, &m->parts, &e)) {
    program_end(p, REPLY_BROKEN, &e);
  } else {
    heard_go_on(p, opening_go_on);
  }
}

void heard_read(const struct program *p, struct message *m, struct span text) {
  const struct transport_owner *ours = &p->owner->base.owner;
  message_init(m, p->owner->sys, text);
  if (ours->read) ours->read(ours->data, p->task.target, p->opens_with != NULL, m);
}

void heard_one(struct program *p, const struct message *m) {
  struct waiting **at;
  if (opening_takes(p, m)) {
    opened(p, m);
  } else if (asked_reply(p, m)) {
    p->way->write(p);
  } else if (*(at = find_answered(p, m))) {
    bool fed = !(*at)->exchange;
    struct reply reply = {.status = REPLY_OK, .sent = true, .body = m->text, .retry_after_ms = -1};
    if (!fed && m->form == MESSAGE_QUESTION)
      asked_tell(at, m->text);
    else
      program_answer(at, &reply);
    if (fed) heard_go_on(p, feed_go_on);
  } else if (!asked_take(p, m) && !question_keep(p, m)) {
    tell(p, m->text);
  }
}

void heard_message(struct program *p, struct span text) {
  struct message m;
  heard_read(p, &m, text);
  heard_one(p, &m);
  message_clear(&m);
}

void heard_take(struct program *p) {
  struct error e;
  struct span message;
  size_t used;
  enum frame_found found = FRAME_NONE;
  while (p->state != PROGRAM_GONE &&
         (found = frame_next(&p->in, p->framed, &message, &used)) == FRAME_WHOLE) {
    heard_message(p, message);
    buffer_drop(&p->in, used);
  }
  if (found != FRAME_BAD || p->state == PROGRAM_GONE) return;
  error_set(&e, ERROR_INVALID, "%s: said something that has no Content-Length", p->task.target);
  program_end(p, REPLY_BROKEN, &e);
}
