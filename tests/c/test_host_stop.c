/* test_host_stop.c: skillrt_stop from another thread: in every state of a run, in coroutines, in
 * runs inside runs, and when it comes too late. Made to be run under TSan, too. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "skillrt.h"
#include "support/check.h"
#include "support/scratch.h"

static struct scratch folder;
static char error[1024];

static struct skillrt *open_run(const char *actions) {
  char text[4096];
  int size = snprintf(text, sizeof text,
                      "local skillrt = require 'skillrt'\n"
                      "return skillrt.skill { name = 's', state = {}, context = 'memory',\n"
                      "limits = { max_iterations = 1000000 }, actions = { { id = 'a',\n"
                      "max_runs = 1000000, run = function(state, ctx) %s end } } }\n",
                      actions);
  scratch_write(&folder, "s.lua", text, (size_t)size);
  struct skillrt_options options = {.size = sizeof options,
                                    .script = scratch_path(&folder, "s.lua")};
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  return run;
}

static void step_to_the_end(struct skillrt *run) {
  struct pollfd fd = {.fd = skillrt_fd(run), .events = POLLIN};
  while (skillrt_step(run) == SKILLRT_RUNNING)
    poll(&fd, 1, skillrt_timeout_ms(run));
}

struct stopper {
  struct skillrt *run;
  useconds_t after;
};

static void *stop_after(void *data) {
  const struct stopper *stopper = data;
  usleep(stopper->after);
  skillrt_stop(stopper->run);
  return NULL;
}

/* Stops it from a thread, at many moments; each time it pauses and tells its state. */
static void check_stops(const char *actions) {
  enum { MOMENTS = 15 };
  for (int i = 0; i < MOMENTS; i++) {
    struct stopper stopper = {open_run(actions), (useconds_t)(i * i * 200)};
    pthread_t thread;
    size_t size = 0;
    CHECK(stopper.run);
    if (!stopper.run) return;
    CHECK(pthread_create(&thread, NULL, stop_after, &stopper) == 0);
    step_to_the_end(stopper.run);
    pthread_join(thread, NULL);
    CHECK_STR(skillrt_status(stopper.run), "paused");
    CHECK_STR(skillrt_reason(stopper.run), "user_exit");
    CHECK(skillrt_state_json(stopper.run, &size) && size > 2);
    skillrt_close(stopper.run);
  }
}

static const char nested[] = "local inner = skillrt.skill { name = 'i', state = {}, context = "
                             "'memory', actions = { { id = 'b',"
                             "  run = function(_, c) %s return {} end } } }\n"
                             "inner:run {} return { n = (state.n or 0) + 1 }";

static void check_nested(const char *inside) {
  char text[2048];
  snprintf(text, sizeof text, nested, inside);
  check_stops(text);
}

static void *stop_always(void *data) {
  struct stopper *stopper = data;
  for (int i = 0; i < 20; i++) {
    skillrt_stop(stopper->run);
    usleep(100);
  }
  return NULL;
}

/* A run waits inside a run for a program that takes 0.8 s to end after its stop. */
static void check_rest(void) {
  char text[2048];
  snprintf(
      text, sizeof text, nested,
      "c.await { kind = 'command', argv = { 'sh', '-c', 'trap : TERM; sleep 0.4; sleep 0.8' } }");
  struct stopper stopper = {open_run(text), 100000};
  pthread_t thread;
  CHECK(stopper.run && pthread_create(&thread, NULL, stop_after, &stopper) == 0);
  clock_t before = clock();
  step_to_the_end(stopper.run);
  double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
  pthread_join(thread, NULL);
  CHECK_STR(skillrt_reason(stopper.run), "user_exit");
  CHECK(seconds < 0.1);
  skillrt_close(stopper.run);
}

static void check_time(void) {
  static const char text[] =
      "return require('skillrt').skill { name = 's', context = 'memory',\n"
      "limits = { step_timeout = 0.2 }, actions = { { id = 'a', run = print } },\n"
      "strategy = function() while true do end end }\n";
  scratch_write(&folder, "t.lua", text, sizeof text - 1);
  struct skillrt_options options = {.size = sizeof options,
                                    .script = scratch_path(&folder, "t.lua")};
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  CHECK(run);
  if (!run) return;
  step_to_the_end(run);
  CHECK_STR(skillrt_reason(run), "step_timeout");
  skillrt_close(run);
}

int main(void) {
  scratch_make(&folder);
  TEST("a stop from another thread ends an endless loop, also one in coroutines") {
    check_stops("while true do end");
    check_stops("while true do pcall(function() while true do end end) end");
    check_stops("coroutine.wrap(function() for i in coroutine.wrap(function() while true do "
                "coroutine.yield(1) end end) do end end)()");
    check_stops("while true do coroutine.wrap(function() coroutine.yield() end)() end");
  }
  TEST("a stop from another thread ends a run that waits, and one that steps without end") {
    check_stops("ctx.await { kind = 'sleep', seconds = 60 }");
    check_stops("return { n = (state.n or 0) + 1 }");
  }
  TEST("a stop from another thread ends a run with the run inside it") {
    check_nested("while true do end");
    check_nested("c.await { kind = 'sleep', seconds = 60 }");
    check_nested("");
  }
  TEST("a stopped run sleeps while its programs end") {
    check_rest();
  }
  TEST("a limit of time ends a choice that never ends, as a stop does") {
    check_time();
  }
  TEST("a stop after the end is none") {
    struct skillrt *run = open_run("local t = {} for i = 1, 20000 do t[i] = 'item ' .. i end "
                                   "return nil, 'enough', 'fatal'");
    CHECK(run);
    step_to_the_end(run);
    char before[64];
    snprintf(before, sizeof before, "%s", skillrt_reason(run));
    size_t size = 0;
    skillrt_stop(run);
    CHECK(skillrt_step(run) == SKILLRT_STOPPED);
    CHECK(skillrt_state_json(run, &size) && size > 2);
    CHECK_STR(skillrt_reason(run), before);
    skillrt_close(run);
  }
  TEST("a stop again and again is one") {
    struct stopper stopper = {open_run("while true do pcall(string.rep, 'x', 10) end"), 0};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, stop_always, &stopper) == 0);
    step_to_the_end(stopper.run);
    CHECK_STR(skillrt_reason(stopper.run), "user_exit");
    size_t size = 0;
    CHECK(skillrt_state_json(stopper.run, &size) && size > 2);
    pthread_join(thread, NULL);
    skillrt_close(stopper.run);
  }
  scratch_remove(&folder);
  return check_finish();
}
