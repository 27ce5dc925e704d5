/* test_host_function.c: functions of a host as calls and agents of a run: answered at once, later,
 * from other threads, never; what a crash, a stop and an end leave of them. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skillrt.h"
#include "support/check.h"
#include "support/scratch.h"

enum { HELD = 8 };

static struct scratch folder;
static char error[1024], heard[512], last_key[200], first_key[200];
static struct skillrt_host *host;
static struct skillrt_call *held[HELD];
static struct skillrt *owner;
static int calls, cancels, refusals;

static void reply(struct skillrt_call *call, const char *json) {
  skillrt_call_reply(call, json, strlen(json));
}

/* Gives back what it was given. */
static void echo(void *data, struct skillrt_call *call) {
  size_t size;
  const char *input = skillrt_call_input(call, &size);
  CHECK(data == &calls && strlen(input) == size);
  owner = skillrt_call_run(call);
  snprintf(last_key, sizeof last_key, "%s", skillrt_call_key(call));
  calls++;
  skillrt_call_progress(call, "..", 2);
  skillrt_call_reply(call, input, size);
}

static void *answer_in_thread(void *call) {
  usleep(2000);
  skillrt_call_progress(call, "working", 7);
  reply(call, "{\"from\":\"thread\"}");
  return NULL;
}

static void in_thread(void *data, struct skillrt_call *call) {
  (void)data;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, answer_in_thread, call) == 0);
  pthread_detach(thread);
}

static void hold(void *data, struct skillrt_call *call) {
  (void)data;
  snprintf(last_key, sizeof last_key, "%s", skillrt_call_key(call));
  held[calls++ % HELD] = call;
}

static void count_cancel(void *data, struct skillrt_call *call) {
  (void)data;
  CHECK(call == held[cancels]);
  cancels++;
}

static void fail(void *data, struct skillrt_call *call) {
  (void)data;
  skillrt_call_fail(call, "rate_limit", "the dragon sleeps");
}

static void refuse_twice(void *data, struct skillrt_call *call) {
  (void)data;
  if (refusals++ < 2)
    skillrt_call_refuse(call, "not now");
  else
    reply(call, "7");
}

static void open_host(void) {
  struct skillrt_host_options options = {.size = sizeof options};
  struct skillrt_function functions[] = {
      {.name = "echo", .call = echo, .data = &calls},
      {.name = "in-thread", .call = in_thread},
      {.name = "hold", .call = hold, .cancel = count_cancel},
      {.name = "hold-again", .call = hold, .idempotent = true},
      {.name = "fail", .call = fail},
      {.name = "refuse", .call = refuse_twice},
  };
  calls = cancels = refusals = 0;
  heard[0] = 0;
  host = skillrt_host_open(&options, error, sizeof error);
  if (!host) abort();
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    functions[i].size = sizeof functions[i];
    CHECK(skillrt_host_function(host, &functions[i], error, sizeof error));
  }
}

static void note_progress(void *data, const char *id, const char *bytes, size_t size) {
  (void)data;
  snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s:%.*s|", id, (int)size, bytes);
}

static struct skillrt *open_script(const char *text, const char *work_dir, bool resume) {
  struct skillrt_options options = {.size = sizeof options,
                                    .host = host,
                                    .script = "game",
                                    .script_text = text,
                                    .script_size = strlen(text),
                                    .work_dir = work_dir,
                                    .context = work_dir ? "file" : "memory",
                                    .resume = resume,
                                    .on_progress = note_progress};
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  return run;
}

#define SKILL "local skillrt = require 'skillrt'\nreturn skillrt.skill { name = 'game', "
#define ACTION(body)                                                                               \
  SKILL "retry = { base = 0.001, jitter = false }, actions = { { id = 'a', run = function(state, " \
        "ctx) " body " end } } }\n"

static void step_all(void) {
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  while (skillrt_host_step(host) > 0)
    poll(&fd, 1, skillrt_host_timeout_ms(host));
}

/* Until a call is held, with everything before it durable: then nothing may come that ends a poll.
 */
static void step_until_held(int count) {
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  while (calls < count && skillrt_host_step(host) > 0)
    if (calls < count) poll(&fd, 1, skillrt_host_timeout_ms(host));
}

static bool state_has(struct skillrt *run, const char *part) {
  size_t size = 0;
  const char *json = skillrt_state_json(run, &size);
  bool has = json && strstr(json, part) != NULL;
  if (!has) printf("# %s\n", json);
  return has;
}

static void check_answers(void) {
  open_host();
  struct skillrt *run =
      open_script(ACTION("local one = ctx.await { kind = 'host', name = 'echo', input = { x = 1 } }"
                         "local two = ctx.await { kind = 'host', name = 'in-thread' }"
                         "return { x = one.value.x, from = two.value.from }"),
                  NULL, false);
  step_all();
  CHECK(state_has(run, "\"x\":1") && state_has(run, "\"from\":\"thread\""));
  CHECK(owner == run);
  CHECK_STR(heard, "a:..|a:working|");
  CHECK(strlen(last_key) > 10);
  skillrt_host_close(host);
}

static void check_many_threads(void) {
  enum { RUNS = 8 };
  struct skillrt *runs[RUNS];
  open_host();
  for (int i = 0; i < RUNS; i++)
    runs[i] = open_script(ACTION("local all = ctx.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function(i)"
                                 "  return ctx.await { kind = 'host', name = 'in-thread', input = "
                                 "{ i = i } }.value.from end)"
                                 "return { n = #all, last = all[8] }"),
                          NULL, false);
  step_all();
  for (int i = 0; i < RUNS; i++)
    CHECK(state_has(runs[i], "\"n\":8") && state_has(runs[i], "\"last\":\"thread\""));
  skillrt_host_close(host);
}

static void check_agent(void) {
  open_host();
  struct skillrt *run =
      open_script(SKILL "state = { n = 1 }, agents = { unit = skillrt.agent.host 'hold' }, actions "
                        "= { { id = 'move', agent = 'unit', prompt = 'Move the unit.' } } }\n",
                  NULL, false);
  step_until_held(1);
  size_t size;
  const char *input = skillrt_call_input(held[0], &size);
  CHECK(strstr(input, "Move the unit.") && strstr(input, "\"action\":\"move\"") &&
        strstr(input, "\"state\":"));
  reply(held[0], "{\"n\":5}");
  step_all();
  CHECK(state_has(run, "\"n\":5"));
  CHECK_STR(skillrt_status(run), "completed");
  skillrt_host_close(host);
}

static void check_failures(void) {
  open_host();
  struct skillrt *run = open_script(
      ACTION("local _, message, class = ctx.await { kind = 'host', name = 'fail' }"
             "local seven = ctx.await { kind = 'host', name = 'refuse', retry = { max = 3 } }"
             "local _, late, timeout = ctx.await { kind = 'host', name = 'hold-again', timeout = "
             "0.02 }"
             "return { said = message .. '/' .. class, seven = seven.value, late = timeout }"),
      NULL, false);
  step_all();
  CHECK(state_has(run, "\"said\":\"the dragon sleeps/rate_limit\""));
  CHECK(state_has(run, "\"seven\":7") && state_has(run, "\"late\":\"timeout\""));
  CHECK(refusals == 3);
  reply(held[0], "{}"); /* too late */
  skillrt_host_step(host);
  skillrt_host_close(host);
}

static void check_unknown(void) {
  open_host();
  CHECK(!open_script(SKILL "agents = { u = skillrt.agent.host 'ecko' }, actions = { { id = 'a', "
                           "agent = 'u' } } }\n",
                     NULL, false));
  CHECK(strstr(error, "did you mean \"echo\"") != NULL);
  struct skillrt *run =
      open_script(ACTION("local ok, why = pcall(ctx.await, { kind = 'host', name = 'holt' }) "
                         "return { why = why }"),
                  NULL, false);
  step_all();
  CHECK(state_has(run, "holt: the host has no such function"));
  struct skillrt_function twice = {.size = sizeof twice, .name = "echo", .call = echo};
  CHECK(!skillrt_host_function(host, &twice, error, sizeof error));
  CHECK(strstr(error, "echo") != NULL);
  struct skillrt_function nameless = {.size = sizeof nameless, .call = echo};
  CHECK(!skillrt_host_function(host, &nameless, error, sizeof error));
  skillrt_host_close(host);
}

/* The host answers after the run, and the host itself, are closed. */
static void check_stop(void) {
  open_host();
  struct skillrt *run =
      open_script(ACTION("ctx.await { kind = 'host', name = 'hold' }"), NULL, false);
  step_until_held(1); /* else either of two syncs may return first */
  struct skillrt *other =
      open_script(ACTION("ctx.await { kind = 'host', name = 'hold' }"), NULL, false);
  step_until_held(2);
  skillrt_stop(run);
  skillrt_step(run);
  CHECK_STR(skillrt_status(run), "paused");
  CHECK(cancels == 1);
  reply(held[0], "{}");
  skillrt_close(other);
  CHECK(cancels == 2);
  skillrt_host_close(host);
  reply(held[1], "{}");
}

/* A run that was left while a function was called, and is taken up by another host. */
static void leave_and_resume(const char *text, const char *work_dir) {
  open_host();
  open_script(text, work_dir, false);
  step_until_held(1);
  snprintf(first_key, sizeof first_key, "%s", last_key);
  skillrt_host_close(host); /* without a stop, as in a crash */
  if (held[0]) reply(held[0], "{}");
  held[0] = NULL;
  last_key[0] = 0;
  open_host();
}

static void check_resume(void) {
  static const char again[] =
      ACTION("local one = ctx.await { kind = 'host', name = 'echo', input = { n = 3 } }"
             "local two = ctx.await { kind = 'host', name = 'hold-again' }"
             "return { n = one.value.n, two = two.value }");
  static const char once[] = ACTION("ctx.await { kind = 'host', name = 'hold' }");
  char work_dir[400];
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "again"));
  open_host();
  open_script(again, work_dir, false);
  step_until_held(2); /* echo, and the one that is held */
  snprintf(first_key, sizeof first_key, "%s", last_key);
  skillrt_host_close(host);
  reply(held[1], "{}");
  open_host();
  struct skillrt *run = open_script(again, work_dir, true);
  CHECK(run);
  step_until_held(1); /* not echo: its answer is kept */
  CHECK_STR(last_key, first_key);
  reply(held[0], "\"again\"");
  step_all();
  CHECK(calls == 1 && state_has(run, "\"n\":3") && state_has(run, "\"two\":\"again\""));
  skillrt_host_close(host);

  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "once"));
  leave_and_resume(once, work_dir);
  run = open_script(once, work_dir, true);
  CHECK(run);
  step_all();
  CHECK(calls == 0);
  CHECK(skillrt_reason_code(run) == SKILLRT_NEEDS_DECISION);
  skillrt_host_close(host);
}

int main(void) {
  scratch_make(&folder);
  TEST("a function of the host answers at once, or later from another thread") {
    check_answers();
    check_many_threads();
  }
  TEST("a function of the host is an agent") {
    check_agent();
  }
  TEST("it fails by a class, refuses what was not begun, and is not waited for beyond a time-out") {
    check_failures();
  }
  TEST("a function that is not there is refused by name, before the run where an agent needs it") {
    check_unknown();
  }
  TEST("a call nobody waits for any more is told so, and may be answered whenever") {
    check_stop();
  }
  TEST("an answer is kept; without one a call is made again if it may be, and else in doubt") {
    check_resume();
  }
  scratch_remove(&folder);
  return check_finish();
}
