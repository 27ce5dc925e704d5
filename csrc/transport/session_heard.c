/* session_heard.c: what a program of a session says: whose answer it is, and what is told of it.
 *
 * Called by session_program.c. */
#include <stdio.h>
#include <string.h>

#include "transport/session_inside.h"
#include "transport/session_message.h"

static bool is_answered_by(const struct waiting *w, struct span message) {
  bool takes = question_takes(w) && w->program->feeding == 0;
  if (takes && message_form_of(message) == MESSAGE_QUESTION) return true;
  return w->reply_id ? message_answers(message, w->reply_id) : w->program->is_open;
}

static struct waiting **find_answered(struct program *p, struct span message) {
  struct waiting **at = &p->first;
  if (p->origin && message_form_of(message) == MESSAGE_QUESTION) {
    while (*at &&
           !((*at)->reply_id && strcmp((*at)->reply_id, p->origin) == 0 && question_takes(*at)))
      at = &(*at)->next;
    if (*at || asked_is(p, p->origin)) return at; /* nobody else is asked */
    at = &p->first;
  }
  while (*at && !is_answered_by(*at, message))
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

void heard_message(struct program *p, struct span message) {
  struct waiting **at;
  if (opening_takes(p, message)) {
    tell(p, message);
    heard_go_on(p, opening_go_on);
  } else if (asked_reply(p, message)) {
    p->way->write(p);
  } else if (*(at = find_answered(p, message))) {
    bool fed = !(*at)->exchange;
    struct reply reply = {.status = REPLY_OK, .sent = true, .body = message, .retry_after_ms = -1};
    if (!fed && message_form_of(message) == MESSAGE_QUESTION)
      asked_tell(at, message);
    else
      program_answer(at, &reply);
    if (fed) heard_go_on(p, feed_go_on);
  } else if (!asked_take(p, message) && !question_keep(p, message)) {
    tell(p, message);
  }
}

void heard_take(struct program *p) {
  struct error e;
  struct span message;
  size_t used;
  enum message_found found = MESSAGE_NONE;
  while (p->state != PROGRAM_GONE &&
         (found = message_next(&p->in, p->framed, &message, &used)) == MESSAGE_WHOLE) {
    heard_message(p, message);
    buffer_drop(&p->in, used);
  }
  if (found != MESSAGE_BAD || p->state == PROGRAM_GONE) return;
  error_set(&e, ERROR_INVALID, "%s: said something that has no Content-Length", p->task.target);
  program_end(p, REPLY_BROKEN, &e);
}
