/* task.c: the strings of tasks and messages, copied in and freed.
 *
 * Knows nothing of what the strings mean. Filled by policies, cleared by the engine. */
#include "transport/transport.h"

#include <string.h>

enum { TASK_BODY_MAX = 64 << 20, STRINGS_MAX = 1 << 16 };

void task_init(struct task *t, const struct sys *sys) {
  *t = (struct task){.sys = sys};
  buffer_init(&t->body, sys, TASK_BODY_MAX);
}

static void text_free(const struct sys *sys, char **field) {
  if (*field) sys_free(sys, *field, strlen(*field) + 1);
  *field = NULL;
}

void task_clear(struct task *t) {
  text_free(t->sys, &t->target);
  text_free(t->sys, &t->key);
  text_free(t->sys, &t->reply_id);
  text_free(t->sys, &t->url);
  text_free(t->sys, &t->withdraw);
  text_free(t->sys, &t->keeps);
  text_free(t->sys, &t->method);
  text_free(t->sys, &t->cwd);
  text_free(t->sys, &t->noise);
  text_free(t->sys, &t->ca_file);
  text_free(t->sys, &t->addresses);
  strings_clear(&t->args, t->sys);
  strings_clear(&t->headers, t->sys);
  strings_clear(&t->joins, t->sys);
  strings_clear(&t->opening, t->sys);
  strings_clear(&t->opening_ids, t->sys);
  strings_clear(&t->fed, t->sys);
  strings_clear(&t->fed_ids, t->sys);
  strings_clear(&t->env, t->sys);
  buffer_clear(&t->body);
  *t = (struct task){.sys = t->sys, .body = t->body};
}

static char *text_copy(const struct sys *sys, const char *text, size_t length,
                       struct error *error) {
  if (memchr(text, 0, length)) {
    error_set(error, ERROR_INVALID, "task: \"%.100s\" goes on behind a NUL byte", text);
    return NULL;
  }
  char *copy = sys_alloc(sys, length + 1);
  if (!copy) {
    error_set(error, ERROR_MEMORY, "task: no memory for a string of %zu bytes", length);
    return NULL;
  }
  memcpy(copy, text, length);
  return copy;
}

bool task_set(struct task *t, char **field, const char *text, struct error *error) {
  char *copy = NULL;
  if (text && !(copy = text_copy(t->sys, text, strlen(text), error))) return false;
  text_free(t->sys, field);
  *field = copy;
  return true;
}

/* Room is doubled, so it follows from the count alone: the least power of two that holds
 * `count` pointers and the closing NULL. */
static size_t strings_room(size_t count) {
  size_t room = 8;
  while (room < count + 1)
    room *= 2;
  return count == 0 ? 0 : room;
}

bool strings_add(struct strings *s, const struct sys *sys, const char *text, size_t length,
                 struct error *error) {
  if (s->count >= STRINGS_MAX)
    return error_set(error, ERROR_LIMIT, "task: more than %d strings in one list",
                     (int)STRINGS_MAX);
  char *copy = text_copy(sys, text, length, error);
  if (!copy) return false;
  size_t before = strings_room(s->count), after = strings_room(s->count + 1);
  if (after != before) {
    char **items = sys->alloc(sys, s->items, before * sizeof *items, after * sizeof *items);
    if (!items) {
      sys_free(sys, copy, length + 1);
      return error_set(error, ERROR_MEMORY, "task: no memory for %zu strings", s->count + 1);
    }
    s->items = items;
  }
  s->items[s->count++] = copy;
  s->items[s->count] = NULL;
  return true;
}

void strings_clear(struct strings *s, const struct sys *sys) {
  if (!s->items) return;
  for (size_t i = 0; i < s->count; i++)
    sys_free(sys, s->items[i], strlen(s->items[i]) + 1);
  sys_free(sys, s->items, strings_room(s->count) * sizeof *s->items);
  *s = (struct strings){0};
}

void message_init(struct message *m, const struct sys *sys, struct span text) {
  *m = (struct message){.sys = sys, .text = text};
  buffer_init(&m->reply, sys, MESSAGE_REPLY_MAX);
}

void message_clear(struct message *m) {
  buffer_clear(&m->reply);
  strings_clear(&m->parts, m->sys);
}
