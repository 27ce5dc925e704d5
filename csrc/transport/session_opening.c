/* session_opening.c: what a program of a session is told before all else, wherever it begins, and
 * what it asks by itself.
 *
 * Each message of the opening that asks something is answered before the next is said; what is said
 * to the program meanwhile is held back, so that it has not left where the program ends before.
 * A question of its own is the answer of whoever takes questions; it is kept while nobody does.
 * Called by session_program.c. */
#include <string.h>

#include "transport/session_inside.h"
#include "transport/session_message.h"

bool opening_go_on(struct program *p, struct error *e) {
  const struct strings *list = &p->task.opening;
  bool asks = false;
  while (!asks && p->opened < list->count) {
    const char *text = list->items[p->opened++];
    struct span message = {text, strlen(text)};
    if (!message_write(&p->out, message, p->framed, e)) return false;
    asks = message_form_of(message) == MESSAGE_QUESTION;
  }
  if (asks || (p->way->ready && !p->way->ready(p))) return true;
  p->is_open = true;
  bool ok = buffer_append(&p->out, p->fed.data, p->fed.length, e);
  if (ok && p->feeding == 0) ok = buffer_append(&p->out, p->held.data, p->held.length, e);
  buffer_clear(&p->fed);
  if (p->feeding == 0) buffer_clear(&p->held);
  return ok;
}

bool opening_takes(const struct program *p, struct span message) {
  return !p->is_open && message_form_of(message) == MESSAGE_ANSWER;
}

bool question_keep(struct program *p, struct span message) {
  struct error e;
  size_t before = p->questions.length;
  if (!p->task.takes_questions || p->feeding > 0 || message_form_of(message) != MESSAGE_QUESTION)
    return false;
  if (!message_write(&p->questions, message, p->framed, &e)) p->questions.length = before;
  return true;
}

bool question_takes(const struct waiting *w) {
  bool leaves = !w->program->url || w->posted; /* else nobody would say its message any more */
  return leaves && w->task && w->task->takes_questions;
}

struct waiting **question_taker(struct program *p) {
  struct waiting **at = &p->first;
  while (*at && !(p->questions.length > 0 && question_takes(*at)))
    at = &(*at)->next;
  return at;
}
