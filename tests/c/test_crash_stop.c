/* test_crash_stop.c: a host stops its run from another thread, whatever the run is doing: it
 * pauses within a moment, and goes on later. The fastest of a few tries keeps the promised time,
 * as other programs may hold the processor; that it stops at all counts in each of them. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "skillrt.h"
#include "support/check.h"
#include "support/faulty_sys.h"
#include "support/scratch.h"

enum { PROMISED_MS = 100, BEFORE_MS = 60, TRIES = 8 };

/* What stands in the place of BODY; the first time it hangs, as there is no file "go". */
#define HEAD                                                                                       \
  "local skillrt = require 'skillrt'\n"                                                            \
  "local function go() local f = io.open(GO); if f then f:close() end return f end\n"
#define ACTION(body)                                                                               \
  HEAD "return skillrt.skill { name = 's', mode = 'autonomous', state = { n = 0 },\n"              \
       "  actions = { { id = 'a', when = 'n === 0', run = function(state, ctx)\n" body             \
       "\n  return { n = 1 } end } } }\n"

struct stopper {
  struct skillrt *run;
  int64_t at_ns;
};

static int64_t now_ns(void) {
  return sys_real()->mono_ns(sys_real());
}

static void *stop_later(void *data) {
  struct stopper *stopper = data;
  struct timespec pause = {0, BEFORE_MS * 1000000};
  nanosleep(&pause, NULL);
  stopper->at_ns = now_ns();
  skillrt_stop(stopper->run);
  return NULL;
}

static void drive(struct skillrt *run) {
  struct pollfd readable = {.fd = skillrt_fd(run), .events = POLLIN};
  int64_t end = now_ns() + 10000000000;
  while (skillrt_step(run) == SKILLRT_RUNNING && now_ns() < end) {
    int timeout = skillrt_timeout_ms(run);
    poll(&readable, 1, timeout < 0 || timeout > 1000 ? 1000 : timeout);
  }
}

/* Writes the script with the place of its file "go" filled in. */
static void write_script(struct scratch *s, const char *script) {
  char text[4096];
  snprintf(text, sizeof text, "local GO = '%s'\n%s", scratch_path(s, "go"), script);
  scratch_write(s, "s.lua", text, strlen(text));
}

static struct skillrt *open_run(struct scratch *s, struct faulty *f, bool resume) {
  char script[600], directory[600], error[1024] = "";
  snprintf(script, sizeof script, "%.500s/s.lua", s->path);
  snprintf(directory, sizeof directory, "%.500s/run", s->path);
  struct skillrt_options options = {.size = sizeof options,
                                    .script = script,
                                    .work_dir = directory,
                                    .resume = resume,
                                    .answer = NULL,
                                    .sys = faulty_sys(f)};
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  return run;
}

/* Stops the run while it hangs; the ms that it took. */
static int64_t stop_it(struct skillrt *run) {
  struct stopper stopper = {run, 0};
  pthread_t thread;
  pthread_create(&thread, NULL, stop_later, &stopper);
  drive(run);
  int64_t end = now_ns();
  pthread_join(thread, NULL);
  CHECK(end >= stopper.at_ns); /* it did not end by itself */
  CHECK_STR(skillrt_status(run), "paused");
  CHECK_STR(skillrt_reason(run), "user_exit");
  return (end - stopper.at_ns) / 1000000;
}

static void go_on(struct skillrt *run) {
  drive(run);
  CHECK_STR(skillrt_status(run), "completed");
  if (strcmp(skillrt_status(run), "completed") != 0)
    printf("# %s: %s\n", skillrt_reason(run), skillrt_message(run));
}

/* Stops the run while it hangs, then lets it go on to its end. */
static int64_t stop_once(struct scratch *s, const char *script) {
  struct faulty *f = faulty_new(sys_real());
  int64_t took_ms = INT64_MAX;
  scratch_empty(s);
  write_script(s, script);
  struct skillrt *run = open_run(s, f, false);
  CHECK(run != NULL);
  if (run) took_ms = stop_it(run);
  skillrt_close(run);
  CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0);
  scratch_write(s, "go", "", 0);
  run = open_run(s, f, true);
  CHECK(run != NULL);
  if (run) go_on(run);
  skillrt_close(run);
  CHECK(faulty_outstanding(f) == 0);
  faulty_free(f);
  return took_ms;
}

static void stops_after(struct scratch *s, int64_t grace_ms, const char *script) {
  int64_t promised = grace_ms + PROMISED_MS * (getenv("SKILLRT_SLOW") ? 20 : 1), best = INT64_MAX;
  for (int i = 0; i < TRIES && best >= promised; i++) {
    int64_t took = stop_once(s, script);
    best = took < best ? took : best;
  }
  CHECK(best < promised);
  if (best >= promised) printf("# took %ld ms or more\n", (long)best);
}

static void stops(struct scratch *s, const char *script) {
  stops_after(s, 0, script);
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  TEST("a stop ends an endless loop of an action (R87)") {
    stops(&s, ACTION("while not go() do end"));
  }
  TEST("also one that catches every error") {
    stops(&s, ACTION("while not go() do pcall(function() while not go() do end end) end"));
  }
  TEST("and one in coroutines inside coroutines, each under pcall") {
    stops(&s, ACTION("local function deep(n) while n == 0 and not go() do end\n"
                     "  if n > 0 then coroutine.wrap(function() pcall(deep, n - 1) end)() end end\n"
                     "while not go() do deep(20) end"));
  }
  TEST("and one that makes new coroutines all the time") {
    stops(&s, ACTION("while not go() do local co = coroutine.create(function() while not go() do "
                     "coroutine.yield() end end)\n"
                     "for _ = 1, 1000 do coroutine.resume(co) end end"));
  }
  TEST("and one in a metamethod, a sort and a gsub") {
    stops(&s,
          ACTION("local t = setmetatable({}, { __index = function() while not go() do end return"
                 " true end })\n"
                 "table.sort({ 3, 2, 1 }, function() return ('x'):gsub('x', function() local _ = "
                 "t.a end) and false end)"));
  }
  TEST("a stop ends a function that asks whether an action may be chosen") {
    stops(&s, HEAD "return skillrt.skill { name = 's', mode = 'autonomous', state = { n = 0 },\n"
                   "  actions = { { id = 'a', when = function() while not go() do end return true "
                   "end, run = function() end } } }\n");
  }
  TEST("and a strategy that does not come to a choice") {
    stops(&s, HEAD "return skillrt.skill { name = 's', mode = 'autonomous', state = { n = 0 },\n"
                   "  strategy = function(_, list) while not go() do end return list[1].id end,\n"
                   "  actions = { { id = 'a', run = function() end } } }\n");
  }
  TEST("a stop ends a command that hangs") {
    stops(&s, ACTION("ctx.await { kind = 'command', argv = { 'sh', '-c', 'test -e $0 || exec sleep "
                     "30', GO }, idempotent = true }"));
  }
  TEST("and one that ignores to be told, after its grace of 2 s") {
    stops_after(
        &s, 2000,
        ACTION(
            "ctx.await { kind = 'command', argv = { 'sh', '-c', \"trap '' TERM INT; test -e $0 || "
            "sleep 30\", GO }, idempotent = true }"));
  }
  TEST("a stop ends the wait before the next attempt (F45)") {
    stops(&s, HEAD "return skillrt.skill { name = 's', mode = 'autonomous', state = { n = 0 },\n"
                   "  retry = { base = 0.4, jitter = false },\n"
                   "  actions = { { id = 'a', run = function() if not go() then return nil, "
                   "'not yet', 'transient' end end } } }\n");
  }
  TEST("a stop ends a wait of the script's own") {
    stops(&s, ACTION("ctx.await { kind = 'sleep', seconds = 0.4 }"));
  }
  TEST("a function that loops behind a reply that came in time is stopped too") {
    stops(&s, ACTION("ctx.await { kind = 'sleep', seconds = 0.001 }\nwhile not go() do end"));
  }
  scratch_remove(&s);
  return check_finish();
}
