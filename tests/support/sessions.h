/* sessions.h: programs one talks to, as tests of the transport do: one session, whose program is
 * session_program.lua, what is told to it and what it says unasked. */
#ifndef SKILLRT_TESTS_SUPPORT_SESSIONS_H
#define SKILLRT_TESTS_SUPPORT_SESSIONS_H

#include "support/check.h"
#include "support/exchanges.h"
#include "support/scratch.h"
#include "support/messages.h"

enum { CALLS = 4 };

static uv_loop_t loop;
static struct world world;
static struct transport *transport;
static struct scratch folder;
static struct task tasks[CALLS];
static struct capture got[CALLS];
static char events[8192];
static int settled;
static int64_t number; /* of the program that is told; 0: any */
static bool to_begin;
static const char *const *feed, *const *feed_ids; /* two of them, or NULL */
static size_t fed_at;
static int64_t pids[8];
static int starts;

static void note_event(void *data, const char *source, struct span bytes) {
  size_t used = strlen(events);
  CHECK(data == &loop);
  snprintf(events + used, sizeof events - used, "%s %.*s|", source, (int)bytes.length, bytes.data);
}

static void note_settled(void *data) {
  (void)data;
  settled++;
}

static void note_started(struct exchange *exchange, int64_t pid, const char *start) {
  (void)exchange;
  CHECK(*start);
  if (starts < 8) pids[starts++] = pid;
}

static void setup(void) {
  struct error e;
  world_init(&world);
  events[0] = 0;
  settled = starts = 0;
  scratch_make(&folder);
  if (uv_loop_init(&loop) != 0 || !session_open(&world.sys, &loop, &transport, &e)) abort();
  transport->owner = (struct transport_owner){.data = &loop,
                                              .settled = note_settled,
                                              .event = note_event,
                                              .notice = note_event,
                                              .read = read_message};
  for (int i = 0; i < CALLS; i++) {
    task_init(&tasks[i], sys_real());
    capture_init(&got[i], transport);
  }
}

static void teardown(void) {
  if (transport) transport->ops->close(transport);
  uv_run(&loop, UV_RUN_NOWAIT);
  uv_run(&loop, UV_RUN_NOWAIT);
  CHECK(uv_loop_close(&loop) == 0);
  CHECK(world.live == 0);
  for (int i = 0; i < CALLS; i++) {
    task_clear(&tasks[i]);
    capture_clear(&got[i]);
  }
  scratch_remove(&folder);
}

static const char *told(void) {
  return scratch_path(&folder, "told");
}

static const char *opening[3]; /* of the calls that follow */
static const char *withdraw;
static int64_t patience;

static const char *session_name = "one";

/* The i-th call: a message to the session. */
static bool tell(int i, const char *mode, const char *id, const char *message) {
  struct error e = {0};
  struct task *task = &tasks[i];
  task_clear(task);
  capture_clear(&got[i]);
  capture_init(&got[i], transport);
  got[i].exchange.started = note_started;
  task->kind = TASK_SESSION;
  task->session.framed = strcmp(mode, "framed") == 0;
  CHECK(task_set(task, &task->target, session_name, &e) &&
        task_set(task, &task->session.reply_id, id, &e));
  const char *lua = getenv("LUA");
  add(&task->session.args, lua ? lua : "lua5.4");
  add(&task->session.args, "tests/support/session_program.lua");
  add(&task->session.args, task->session.framed ? "framed" : "lines");
  add(&task->session.args, told());
  if (strcmp(mode, "stubborn") == 0) add(&task->session.args, "stubborn");
  add(&task->session.env, "PATH=/usr/local/bin:/usr/bin:/bin");
  CHECK(buffer_string(&task->body, message, &e));
  for (int n = 0; n < 3 && opening[n]; n++) {
    add(&task->session.opening, opening[n]);
    add(&task->session.opening_ids, strstr(opening[n], "\"id\":0") ? "0" : "");
  }
  task->session.takes_questions = opening[0] != NULL;
  task->total_ms = patience;
  task->session.follows = id && !strstr(message, "\"method\""); /* as an answer is read */
  task->session.epoch = number;
  task->session.begins = to_begin;
  task->session.fed_at = fed_at;
  for (int n = 0; feed && n < 2; n++) {
    add(&task->session.fed, feed[n]);
    add(&task->session.fed_ids, feed_ids[n]);
  }
  CHECK(task_set(task, &task->session.withdraw, withdraw, &e));
  bool sent = transport->ops->send(transport, &got[i].exchange, task, &e);
  if (!sent) printf("# %s\n", e.text);
  return sent;
}

static void ask(int i, const char *mode, const char *id, const char *message) {
  CHECK(tell(i, mode, id, message));
  CHECK(got[i].replies == 0); /* never from inside send */
  capture_wait(&got[i], &loop);
  CHECK(got[i].replies == 1 && got[i].exchange.handle == NULL);
}

#endif
