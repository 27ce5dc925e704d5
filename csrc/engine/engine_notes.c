/* engine_notes.c: a queue of copied events and progress that wait until the policy can be asked.
 *
 * Knows neither who sent them nor who reads them; called by engine*.c. */
#include "engine/engine_inside.h"

#include <string.h>

void notes_init(struct notes *n, const struct sys *sys) {
  *n = (struct notes){.sys = sys};
}

void notes_clear(struct notes *n) {
  for (struct note *note; (note = notes_pop(n));)
    notes_free(n, note);
}

static size_t note_size(const struct note *note) {
  return sizeof *note + note->source + note->length;
}

bool notes_push(struct notes *n, size_t maximum, uint64_t number, const char *source,
                struct span bytes, struct error *error) {
  size_t name = strlen(source) + 1, room = maximum - n->size;
  if (n->size > maximum || sizeof(struct note) + name > room ||
      bytes.length > room - sizeof(struct note) - name)
    return error_set(error, ERROR_LIMIT, "%.64s: more than %zu bytes wait to be delivered", source,
                     maximum);
  struct note *note = sys_alloc(n->sys, sizeof *note + name + bytes.length);
  if (!note) return error_set(error, ERROR_MEMORY, "%.64s: no memory", source);
  note->number = number;
  note->source = name;
  note->length = bytes.length;
  memcpy(note->text, source, name);
  if (bytes.length > 0) memcpy(note->text + name, bytes.data, bytes.length);
  if (n->last)
    n->last->next = note;
  else
    n->first = note;
  n->last = note;
  n->size += note_size(note);
  return true;
}

struct note *notes_pop(struct notes *n) {
  struct note *note = n->first;
  if (!note) return NULL;
  n->first = note->next;
  if (!n->first) n->last = NULL;
  n->size -= note_size(note);
  note->next = NULL;
  return note;
}

void notes_return(struct notes *n, struct note *note) {
  note->next = n->first;
  n->first = note;
  if (!n->last) n->last = note;
  n->size += note_size(note);
}

void notes_free(const struct notes *n, struct note *note) {
  sys_free(n->sys, note, note_size(note));
}

struct span note_bytes(const struct note *note) {
  return (struct span){note->text + note->source, note->length};
}
