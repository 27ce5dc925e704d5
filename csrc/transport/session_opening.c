/* session_opening.c: what a program of a session is told before all else, wherever it begins, and
 * what it asks by itself.
 *
 * Each message of the opening that asks something is answered before the next is said; what is said
 * to the program meanwhile is held back, so that it has not left where the program ends before.
 * A question of its own is the answer of whoever takes questions; it is kept while nobody does.
 * Called by session_program.c. */
#include <string.h>

#include "transport/session_inside.h"
#include "transport/session_frame.h"

bool opening_go_on(struct program *p, struct error *e) {
  const struct strings *list = &p->task.session.opening, *ids = &p->task.session.opening_ids;
  bool asks = false;
  p->opens_with = NULL;
  while (!asks && p->opened < list->count) {
    const char *id = p->opened < ids->count ? ids->items[p->opened] : "";
    const char *text = list->items[p->opened++];
    size_t before = p->out.length;
    if (!frame_write(&p->out, (struct span){text, strlen(text)}, p->framed, e)) return false;
    asks = *id != 0;
    if (asks) p->opens_with = id, p->asks_at = before;
  }
  if (asks || (p->way->ready && !p->way->ready(p))) return true;
  p->is_open = true;
  bool ok = buffer_append(&p->out, p->fed.data, p->fed.length, e);
  if (ok && p->feeding == 0) ok = buffer_append(&p->out, p->held.data, p->held.length, e);
  buffer_clear(&p->fed);
  if (p->feeding == 0) buffer_clear(&p->held);
  return ok;
}

bool opening_takes(const struct program *p, const struct message *m) {
  return p->opens_with && m->form == MESSAGE_ANSWER && strcmp(m->key, p->opens_with) == 0;
}

bool question_keep(struct program *p, const struct message *m) {
  struct error e;
  size_t before = p->questions.length;
  if (!p->task.session.takes_questions || p->feeding > 0 || m->form != MESSAGE_QUESTION)
    return false;
  if (!frame_write(&p->questions, m->text, p->framed, &e)) p->questions.length = before;
  return true;
}

bool question_takes(const struct waiting *w) {
  bool leaves = !w->program->url || w->posted; /* else nobody would say its message any more */
  return leaves && w->task && w->task->session.takes_questions;
}

struct waiting **question_taker(struct program *p) {
  struct waiting **at = &p->first;
  while (*at && !(p->questions.length > 0 && question_takes(*at)))
    at = &(*at)->next;
  return at;
}
