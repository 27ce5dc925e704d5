/* test_host.c: a host of many runs (skillrt.h): one loop and one Lua state for all of them,
 * options, what stops one and not the others, limits of a run with a state of its own. */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skillrt.h"
#include "support/check.h"
#include "support/scratch.h"

static struct scratch folder;
static char error[1024];

static struct skillrt_host *open_host(void) {
  struct skillrt_host_options options = {.size = sizeof options};
  struct skillrt_host *host = skillrt_host_open(&options, error, sizeof error);
  if (!host) printf("# %s\n", error);
  return host;
}

/* A run of one action, `text` being its function's body, in memory. */
static struct skillrt *open_text(struct skillrt_options *options, const char *text) {
  static char script[4096];
  int size = snprintf(script, sizeof script,
                      "local skillrt = require 'skillrt'\n"
                      "return skillrt.skill { name = 's', state = { n = 0 }, context = 'memory',\n"
                      "actions = { { id = 'a', run = function(state, ctx) %s end } } }\n",
                      text);
  options->size = sizeof *options;
  options->script_text = script;
  options->script_size = (size_t)size;
  struct skillrt *run = skillrt_open(options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  return run;
}

static void step_all(struct skillrt_host *host) {
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  while (skillrt_host_step(host) > 0)
    poll(&fd, 1, skillrt_host_timeout_ms(host));
}

static bool state_has(struct skillrt *run, const char *part) {
  size_t size = 0;
  const char *json = skillrt_state_json(run, &size);
  return json && strlen(json) == size && strstr(json, part) != NULL;
}

static int descriptors(void) {
  DIR *open = opendir("/proc/self/fd");
  int count = 0;
  while (open && readdir(open))
    count++;
  closedir(open);
  return count;
}

static void check_many(void) {
  enum { RUNS = 50 };
  struct skillrt_host *host = open_host();
  struct skillrt *runs[RUNS];
  int before = descriptors();
  for (int i = 0; i < RUNS; i++) {
    struct skillrt_options options = {.host = host, .input_json = "{\"by\":3}"};
    runs[i] = open_text(&options, "ctx.await { kind = 'sleep', seconds = 0.02 }"
                                  "return { n = state.n + ctx.input.by }");
    CHECK(runs[i]);
  }
  CHECK(descriptors() == before); /* they share the loop, and keep no journal */
  step_all(host);
  for (int i = 0; i < RUNS; i++) {
    CHECK(skillrt_stopped(runs[i]));
    CHECK(skillrt_status_code(runs[i]) == SKILLRT_COMPLETED);
    CHECK(state_has(runs[i], "\"n\":3"));
    if (i % 2) skillrt_close(runs[i]);
  }
  skillrt_host_close(host); /* and the others */
}

static void *stop_later(void *run) {
  usleep(20 * 1000);
  skillrt_stop(run);
  return NULL;
}

/* One is stopped from another thread inside an endless loop; its neighbours hear nothing of it. */
static void check_stop_of_one(void) {
  struct skillrt_host *host = open_host();
  struct skillrt_options first = {.host = host}, second = {.host = host}, third = {.host = host};
  struct skillrt *before = open_text(&first, "ctx.await { kind = 'sleep', seconds = 0.05 }"
                                             "for i = 1, 300000 do end return { n = 1 }");
  struct skillrt *endless = open_text(&second, "while true do pcall(function() while true do end "
                                               "end) end");
  struct skillrt *behind = open_text(&third, "for i = 1, 300000 do end return { n = 2 }");
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, stop_later, endless) == 0);
  step_all(host);
  pthread_join(thread, NULL);
  CHECK_STR(skillrt_status(endless), "paused");
  CHECK(skillrt_reason_code(endless) == SKILLRT_USER_EXIT);
  CHECK_STR(skillrt_status(before), "completed");
  CHECK(state_has(before, "\"n\":1"));
  CHECK_STR(skillrt_status(behind), "completed");
  CHECK(state_has(behind, "\"n\":2"));
  skillrt_host_close(host);
}

/* A run that waits inside the function of another stops with it, and with no third one. */
static void check_stop_of_nested(void) {
  struct skillrt_host *host = open_host();
  struct skillrt_options first = {.host = host}, second = {.host = host};
  struct skillrt *outer = open_text(
      &first, "local inner = skillrt.skill { name = 'i', context = 'memory', actions = { { id = "
              "'b', run = function(_, c) c.sleep(60) end } } }"
              "local result = inner:run {} return { inner = result.reason }");
  struct skillrt *other = open_text(&second, "ctx.sleep(0.1) return { n = 7 }");
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, stop_later, outer) == 0);
  step_all(host);
  pthread_join(thread, NULL);
  CHECK_STR(skillrt_reason(outer), "user_exit");
  CHECK_STR(skillrt_status(other), "completed");
  CHECK(state_has(other, "\"n\":7"));
  skillrt_host_close(host);
}

static void check_own_state(void) {
  struct skillrt_host *host = open_host();
  struct skillrt_options shared = {.host = host};
  struct skillrt_options bounded = {.host = host, .own_state = true, .memory_limit = 16 << 20};
  struct skillrt *greedy = open_text(&bounded, "local t = {} while true do t[#t + 1] = "
                                               "('x'):rep(100000) .. #t end");
  struct skillrt *modest = open_text(&shared, "return { n = 1 }");
  step_all(host);
  CHECK_STR(skillrt_status(greedy), "paused");
  CHECK(skillrt_reason_code(greedy) == SKILLRT_OUT_OF_MEMORY);
  CHECK_STR(skillrt_status(modest), "completed");
  skillrt_close(greedy);
  CHECK(state_has(modest, "\"n\":1"));
  skillrt_host_close(host);
}

static void note_progress(void *data, const char *id, const char *bytes, size_t size) {
  char *heard = data;
  snprintf(heard + strlen(heard), 200 - strlen(heard), "%s:%.*s", id, (int)size, bytes);
}

static void check_options(void) {
  static const char *const args[] = {"one", "two", NULL};
  char heard[200] = "", work_dir[400];
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "run"));
  struct skillrt_options options = {.script = "from-memory.lua",
                                    .work_dir = work_dir,
                                    .context = "file",
                                    .durability = "process",
                                    .args = args,
                                    .on_progress = note_progress,
                                    .data = heard};
  const char text[] = "local r = ctx.await { kind = 'command', argv = { 'printf', 'word' } }"
                      "return { n = #ctx.args, said = r.stdout .. ctx.args[2] }";
  struct skillrt *run = open_text(&options, text);
  CHECK(run);
  if (!run) return;
  struct pollfd fd = {.fd = skillrt_fd(run), .events = POLLIN};
  CHECK(skillrt_status_code(run) == SKILLRT_GOING && skillrt_reason_code(run) == SKILLRT_NO_REASON);
  while (skillrt_step(run) == SKILLRT_RUNNING)
    poll(&fd, 1, skillrt_timeout_ms(run));
  CHECK(state_has(run, "\"n\":2") && state_has(run, "\"said\":\"wordtwo\""));
  CHECK(skillrt_reason_code(run) == SKILLRT_TASK_COMPLETED);
  CHECK_STR(heard, "a:word");
  CHECK_STR(skillrt_work_dir(run), work_dir);
  skillrt_close(run);
}

/* Its text is pinned as a file's is, and has to be given again. */
static void check_pinned(void) {
  char work_dir[400];
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "pinned"));
  struct skillrt_options options = {
      .script = "from-memory.lua", .work_dir = work_dir, .context = "file"};
  const char text[] = "ctx.sleep(0.01) return { n = 4 }";
  struct skillrt *run = open_text(&options, text);
  CHECK(run);
  if (!run) return;
  skillrt_stop(run);
  CHECK(skillrt_step(run) == SKILLRT_STOPPED);
  skillrt_close(run);
  options = (struct skillrt_options){.script = "from-memory.lua", .work_dir = work_dir};
  options.resume = true;
  CHECK(!open_text(&options, "return { n = 1 }"));
  CHECK(strstr(error, "from-memory.lua") != NULL && strstr(error, "changed") != NULL);
  CHECK((run = open_text(&options, text)) != NULL);
  while (run && skillrt_step(run) == SKILLRT_RUNNING)
    usleep(1000);
  CHECK(run && state_has(run, "\"n\":4"));
  skillrt_close(run);
}

static void check_refusals(void) {
  struct skillrt_options forgotten = {.script = "s.lua"};
  CHECK(!skillrt_open(&forgotten, error, sizeof error));
  CHECK(strstr(error, "sizeof(struct skillrt_options)") != NULL);
  struct skillrt_options nothing = {.size = sizeof nothing};
  CHECK(!skillrt_open(&nothing, error, sizeof error));
  CHECK(strncmp(error, "script: ", 8) == 0);
  struct skillrt_options input = {.input_json = "[1]"};
  CHECK(!open_text(&input, ""));
  CHECK(strstr(error, "input_json: must be an object") != NULL);
  struct skillrt_options agent = {.agent = "no/such/program"};
  CHECK(!open_text(&agent, ""));
  CHECK(strncmp(error, "agent: ", 7) == 0);
  /* a program that was made for an older header */
  struct skillrt_options old = {.script = scratch_path(&folder, "none.lua"), .resume = true};
  old.size = offsetof(struct skillrt_options, wait);
  CHECK(!skillrt_open(&old, error, sizeof error));
  CHECK(strstr(error, "none.lua: No such file") != NULL);
}

static void check_close(void) {
  int before = descriptors();
  struct skillrt_host *host = open_host();
  for (int i = 0; i < 2; i++) {
    struct skillrt_options options = {.host = host,
                                      .work_dir = scratch_path(&folder, i ? "open" : "also"),
                                      .context = "file",
                                      .own_state = i};
    CHECK(open_text(&options, "ctx.await { kind = 'command', argv = { 'sleep', '60' } }"));
    skillrt_host_step(host);
  }
  skillrt_host_close(host);
  CHECK(descriptors() == before);
}

int main(void) {
  scratch_make(&folder);
  TEST("many runs share a loop, a Lua state and its descriptors") {
    check_many();
  }
  TEST("what stops one run from another thread leaves its neighbours alone") {
    check_stop_of_one();
    check_stop_of_nested();
  }
  TEST("a host that is closed closes its runs") {
    check_close();
  }
  TEST("a run with a state of its own has its memory bounded") {
    check_own_state();
  }
  TEST("a script comes from memory, is pinned, and has all options of the command line") {
    check_options();
    check_pinned();
  }
  TEST("options that are wrong or of another version are refused or read as far as they go") {
    check_refusals();
  }
  TEST("the version is known") {
    CHECK(strchr(skillrt_version(), '.') != NULL);
  }
  scratch_remove(&folder);
  return check_finish();
}
