/* programs_talk.c: programs that stay and are talked to, and are none (programs.h): each message
 * that one was sent is a program of its own, which answers when the test lets it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/programs.h"

static bool is_named(const char *name, const char *word) {
  return strncmp(name, word, strlen(word)) == 0;
}

void programs_talk_begin(struct programs *p, struct program *program, int in) {
  const char *name = p->book[program->name].name;
  program->stays = true;
  program->feeds = is_named(name, "feed");
  program->in = fcntl(in, F_DUPFD_CLOEXEC, 0);
  assert(program->in >= 0 && fcntl(program->in, F_SETFL, O_NONBLOCK) == 0);
  program->size = program->told = 0;
}

/* x.3 makes sense to who was told x.2: that is what feeding is for. */
static bool was_told_before(struct programs *p, const struct program *program, const char *name) {
  const char *dot = strrchr(name, '.');
  char before[PROGRAM_NAME];
  if (!dot || dot[1] == '1') return true;
  snprintf(before, sizeof before, "%s", name);
  before[dot - name + 1]--;
  for (int i = 0; i < p->lines; i++)
    if (strcmp(p->book[i].name, before) == 0) return program->told & UINT64_C(1) << i;
  return false;
}

static void count_message(struct programs *p, struct program *program, int line) {
  const char *name = p->book[line].name;
  const char *why = NULL;
  if (program->told & UINT64_C(1) << line)
    why = "this program was told so before";
  else if (program->feeds && !was_told_before(p, program, name))
    why = "this program was not told what came before";
  program->told |= UINT64_C(1) << line;
  if (why) {
    p->twice++;
    printf("# %s was said, and %s\n", name, why);
  }
  programs_count(p, line, program->feeds);
}

static void take_message(struct programs *p, struct program *program, const char *text,
                         size_t size) {
  static const char head[] = "{\"id\":\"";
  char name[PROGRAM_NAME];
  size_t from = sizeof head - 1;
  assert(size > from && memcmp(text, head, from) == 0);
  size_t length = strcspn(text + from, "\"");
  snprintf(name, sizeof name, "%.*s", (int)length, text + from);
  int line = programs_line(p, name);
  struct program *message = programs_slot(p, line);
  message->of = program->pid;
  count_message(p, program, line);
}

void programs_talk_end(struct programs *p, struct program *program) {
  close(program->in);
  for (int i = 0; i < PROGRAMS; i++)
    if (p->list[i].pid && p->list[i].of == program->pid) p->list[i] = (struct program){.pid = 0};
}

static void hear_one(struct programs *p, struct program *program) {
  for (;;) {
    ssize_t got =
        read(program->in, program->text + program->size, sizeof program->text - program->size);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) { /* its run is over, or was killed */
      programs_end(p, program, 0);
      return;
    }
    program->size += (size_t)got;
    for (char *end; (end = memchr(program->text, '\n', program->size));) {
      size_t length = (size_t)(end - program->text);
      take_message(p, program, program->text, length);
      program->size -= length + 1;
      memmove(program->text, end + 1, program->size);
    }
  }
}

void programs_hear(struct programs *p) {
  for (int i = 0; i < PROGRAMS; i++)
    if (p->list[i].pid && p->list[i].running && p->list[i].stays) hear_one(p, &p->list[i]);
}

void programs_talk_answer(struct programs *p, struct program *message) {
  char text[2 * PROGRAM_NAME + 32];
  const char *name = p->book[message->name].name;
  int length = snprintf(text, sizeof text, "{\"id\":\"%s\",\"said\":\"%s=ok\"}\n", name, name);
  p->book[message->name].answered = true;
  for (int i = 0; i < PROGRAMS; i++) {
    if (p->list[i].pid != message->of || !p->list[i].running) continue;
    ssize_t written = write(p->list[i].out, text, (size_t)length);
    (void)written; /* nobody reads it any more: EPIPE */
    bool leaves = is_named(name, "bye") && p->book[message->name].starts == 1;
    *message = (struct program){.pid = 0};
    if (leaves) programs_end(p, &p->list[i], 0);
    return;
  }
  *message = (struct program){.pid = 0};
}
