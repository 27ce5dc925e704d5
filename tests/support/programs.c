/* programs.c: see programs.h. */
#include "support/programs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FIRST_PID = 0x30000000 }; /* the kernel gives none so high: no real process is ever meant */
#define HTTP "http: an exchange"

static struct programs *newest; /* the book of the last start */

int programs_line(struct programs *p, const char *name) {
  for (int i = 0; i < p->lines; i++)
    if (strcmp(p->book[i].name, name) == 0) return i;
  assert(p->lines < PROGRAMS && strlen(name) < PROGRAM_NAME);
  struct program_line *line = &p->book[p->lines];
  *line = (struct program_line){.starts = 0};
  snprintf(line->name, sizeof line->name, "%s", name);
  return p->lines++;
}

/* x.3 follows x.2: that one has been answered, and what follows knows it. */
static void mark_before(struct programs *p, const char *name) {
  const char *dot = strrchr(name, '.');
  if (!dot) return;
  for (int i = 0; i < p->lines; i++) {
    const char *other = strrchr(p->book[i].name, '.');
    if (other && other - p->book[i].name == dot - name &&
        strncmp(name, p->book[i].name, (size_t)(dot - name)) == 0 && other[1] < dot[1])
      p->book[i].followed = true;
  }
}

void programs_count(struct programs *p, int n, bool is_fed) {
  struct program_line *line = &p->book[n];
  bool once = strncmp(line->name, "once", 4) == 0 && !(is_fed && line->answered);
  const char *why = !is_fed && line->told                        ? "its answer was durable"
                    : !is_fed && line->followed                  ? "what follows it was started"
                    : once && line->starts > 0 && !line->allowed ? "it may not be repeated"
                                                                 : NULL;
  line->starts++;
  line->allowed = false;
  mark_before(p, line->name);
  if (!why) return;
  p->twice++;
  printf("# %s was started again, and %s\n", line->name, why);
}

static struct program *find(struct programs *p, pid_t pid) {
  for (int i = 0; i < PROGRAMS; i++)
    if (pid && p->list[i].pid == pid) return &p->list[i];
  return NULL;
}

/* The program's ends of its output and of what tells its end; that is returned. */
static int give_ends(struct program *program, const struct sys_spawn *what) {
  int event = eventfd(0, EFD_CLOEXEC);
  program->out = fcntl(what->out, F_DUPFD_CLOEXEC, 0);
  program->ended = fcntl(event, F_DUPFD_CLOEXEC, 0);
  assert(event >= 0 && program->out >= 0 && program->ended >= 0);
  return event;
}

struct program *programs_slot(struct programs *p, int line) {
  struct program *program = p->list;
  while (program < p->list + PROGRAMS && program->pid)
    program++;
  assert(program < p->list + PROGRAMS);
  *program = (struct program){.pid = FIRST_PID + ++p->started, .name = line, .running = true};
  return program;
}

int programs_spawn(struct programs *p, const struct sys_spawn *what, pid_t *pid, int *ended) {
  assert(what->argv[0] && what->argv[1]);
  struct program *program = programs_slot(p, programs_line(p, what->argv[1]));
  program->http = strcmp(what->argv[0], HTTP) == 0;
  *ended = program->http ? -1 : give_ends(program, what);
  if (strcmp(what->argv[0], "session") == 0) programs_talk_begin(p, program, what->in);
  programs_count(p, program->name, false);
  *pid = program->pid;
  newest = p;
  return 0;
}

void programs_end(struct programs *p, struct program *program, int status) {
  uint64_t one = 1;
  if (!program->running) return;
  program->running = false;
  program->status = status;
  if (program->http || program->of) {
    program->pid = 0;
    return;
  }
  if (program->stays) programs_talk_end(p, program);
  close(program->out);
  ssize_t written = write(program->ended, &one, sizeof one);
  assert(written == (ssize_t)sizeof one);
  close(program->ended);
}

int programs_kill(struct programs *p, pid_t pid, int signal) {
  struct program *program = find(p, pid);
  if (!program) return -ESRCH;
  if (signal) programs_end(p, program, signal);
  return 0;
}

int programs_reap(struct programs *p, pid_t pid, int *status) {
  struct program *program = find(p, pid);
  if (!program) return -ECHILD;
  if (program->running) return -EAGAIN;
  *status = program->status;
  program->pid = 0;
  return 0;
}

int programs_running(const struct programs *p) {
  int count = 0;
  for (int i = 0; i < PROGRAMS; i++)
    count += p->list[i].pid && p->list[i].running && !p->list[i].stays;
  return count;
}

static void reply_to(struct programs *p, struct program *program, struct span text) {
  struct program_line *line = &p->book[program->name];
  struct exchange *exchange = program->exchange;
  struct reply reply = {.status = REPLY_OK, .sent = true, .code = 200, .body = text};
  bool first = line->starts == 1;
  reply.retry_after_ms = -1;
  if (first && strncmp(line->name, "busy", 4) == 0) {
    reply.code = 503;
    reply.body = (struct span){"busy", 4};
  } else if (first && strncmp(line->name, "lost", 4) == 0) {
    reply = (struct reply){.status = REPLY_BROKEN, .sent = true, .message = "agent: reset"};
  }
  programs_end(p, program, 0);
  if (!exchange) return;
  exchange->handle = NULL;
  exchange->done(exchange, &reply);
}

void programs_answer(struct programs *p, int n) {
  pid_t after = 0;
  struct program *next = NULL;
  for (; n >= 0; n--, after = next->pid) {
    next = NULL;
    for (int i = 0; i < PROGRAMS; i++)
      if (p->list[i].running && !p->list[i].stays && p->list[i].pid > after &&
          (!next || p->list[i].pid < next->pid))
        next = &p->list[i];
    assert(next);
  }
  if (next->of) {
    programs_talk_answer(p, next);
    return;
  }
  char text[PROGRAM_NAME + 8];
  int length = snprintf(text, sizeof text, "%s=ok", p->book[next->name].name);
  if (next->http) {
    reply_to(p, next, (struct span){text, (size_t)length});
    return;
  }
  ssize_t written = write(next->out, text, (size_t)length);
  (void)written; /* nobody reads it any more: EPIPE */
  programs_end(p, next, 0);
}

/* ---- over HTTP ---- */

struct scripted {
  struct transport transport;
  const struct sys *sys;
  struct programs *programs; /* of the first exchange; NULL: there was none */
};

static bool http_send(struct transport *transport, struct exchange *exchange,
                      const struct task *task, struct error *error) {
  struct scripted *s = (struct scripted *)transport;
  const char *argv[] = {HTTP, strrchr(task->target, '/') + 1, NULL};
  pid_t pid;
  int ended;
  int failed = s->sys->spawn(s->sys, &(struct sys_spawn){.argv = argv, .out = -1}, &pid, &ended);
  if (failed) return error_system(error, -failed, "agent: connect");
  s->programs = newest;
  struct program *program = find(newest, pid);
  program->exchange = exchange;
  exchange->handle = program;
  return true;
}

/* The server goes on with it, and nobody waits for its reply. */
static void http_cancel(struct transport *transport, struct exchange *exchange, bool at_once) {
  struct scripted *s = (struct scripted *)transport;
  (void)at_once;
  struct program *program = exchange->handle;
  struct reply reply = {.status = REPLY_CANCELED, .sent = true, .retry_after_ms = -1};
  programs_end(s->programs, program, 0);
  exchange->handle = NULL;
  exchange->done(exchange, &reply);
}

static void http_close(struct transport *transport) {
  struct scripted *s = (struct scripted *)transport;
  for (int i = 0; s->programs && i < PROGRAMS; i++)
    if (s->programs->list[i].pid && s->programs->list[i].http)
      http_cancel(transport, s->programs->list[i].exchange, true);
  sys_free(s->sys, s, sizeof *s);
}

bool programs_http_open(const struct sys *sys, struct uv_loop_s *loop, struct transport **to,
                        struct error *error) {
  static const struct transport_ops ops = {http_send, http_cancel, http_close, NULL, NULL};
  struct scripted *s = sys_alloc(sys, sizeof *s);
  (void)loop;
  if (!s) return error_set(error, ERROR_MEMORY, "agent: no memory");
  s->transport.ops = &ops;
  s->sys = sys;
  *to = &s->transport;
  return true;
}

/* ---- what is known ---- */

void programs_told(struct programs *p, const char *json, size_t size) {
  char text[PROGRAM_NAME + 8];
  for (int i = 0; i < p->lines; i++) {
    snprintf(text, sizeof text, "%s=ok", p->book[i].name);
    if (memmem(json, size, text, strlen(text))) p->book[i].told = true;
  }
}

void programs_allow(struct programs *p) {
  for (int i = 0; i < p->lines; i++)
    p->book[i].allowed = true;
}

void programs_clear(struct programs *p) {
  for (int i = 0; i < PROGRAMS; i++)
    programs_end(p, &p->list[i], SIGKILL);
  int twice = p->twice;
  *p = (struct programs){.twice = twice};
}
