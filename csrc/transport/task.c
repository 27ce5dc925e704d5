/* task.c: the strings of tasks, copied in and freed.
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

static void clear_http(const struct sys *sys, struct http_task *http) {
  text_free(sys, &http->method);
  text_free(sys, &http->ca_file);
  text_free(sys, &http->addresses);
  strings_clear(&http->headers, sys);
  strings_clear(&http->joins, sys);
}

static void clear_process(const struct sys *sys, struct process_task *process) {
  strings_clear(&process->args, sys);
  strings_clear(&process->env, sys);
  strings_clear(&process->jail, sys);
  text_free(sys, &process->cwd);
  text_free(sys, &process->noise);
}

static void clear_session(const struct sys *sys, struct session_task *session) {
  strings_clear(&session->args, sys);
  strings_clear(&session->env, sys);
  strings_clear(&session->jail, sys);
  text_free(sys, &session->cwd);
}

void task_clear(struct task *t) {
  text_free(t->sys, &t->target);
  if (t->kind == TASK_HTTP)
    clear_http(t->sys, &t->http);
  else if (t->kind == TASK_PROCESS)
    clear_process(t->sys, &t->process);
  else if (t->kind == TASK_SESSION)
    clear_session(t->sys, &t->session);
  else if (t->kind == TASK_HOST)
    text_free(t->sys, &t->host.key);
  buffer_clear(&t->body);
  *t = (struct task){.sys = t->sys, .body = t->body};
}

static char *text_copy(const struct sys *sys, const char *text, size_t length,
                       struct error *error) {
  if (memchr(text, 0, length)) {
    error_set(error, ERROR_INVALID, "task: \"%.100s\" contains a NUL byte", text);
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

bool strings_copy(struct strings *s, const struct sys *sys, const struct strings *from,
                  struct error *error) {
  for (size_t i = 0; i < from->count; i++)
    if (!strings_add(s, sys, from->items[i], strlen(from->items[i]), error)) return false;
  return true;
}

void strings_clear(struct strings *s, const struct sys *sys) {
  if (!s->items) return;
  for (size_t i = 0; i < s->count; i++)
    sys_free(sys, s->items[i], strlen(s->items[i]) + 1);
  sys_free(sys, s->items, strings_room(s->count) * sizeof *s->items);
  *s = (struct strings){0};
}
