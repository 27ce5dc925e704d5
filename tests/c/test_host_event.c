/* test_host_event.c: what comes to a run from its host while it waits: events, answers to
 * questions; what a run asks it. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skillrt.h"
#include "support/check.h"
#include "support/scratch.h"

static struct scratch folder;
static char error[1024], asked[2048];
static struct skillrt_host *host;
static const char *more = ""; /* of the skill */

static void note_question(void *data, const char *json, size_t size) {
  (void)data;
  snprintf(asked, sizeof asked, "%.*s", (int)size, json);
}

static struct skillrt *open_script(const char *body, const char *work_dir, bool resume, bool wait) {
  static char text[4096];
  int size = snprintf(
      text, sizeof text,
      "local skillrt = require 'skillrt'\nreturn skillrt.skill { name = 'game', %s actions = "
      "{ { id = 'a', run = function(state, ctx) %s end } } }\n",
      more, body);
  struct skillrt_options options = {.size = sizeof options,
                                    .host = host,
                                    .script = "game",
                                    .script_text = text,
                                    .script_size = (size_t)size,
                                    .work_dir = work_dir,
                                    .context = work_dir ? "file" : "memory",
                                    .resume = resume,
                                    .wait = wait,
                                    .on_question = note_question};
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  return run;
}

/* Until nothing is to be done now. */
static void settle(void) {
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  while (skillrt_host_step(host) > 0 && poll(&fd, 1, skillrt_host_timeout_ms(host) == 0 ? 0 : 20))
    continue;
}

static bool state_has(struct skillrt *run, const char *part) {
  size_t size = 0;
  const char *json = skillrt_state_json(run, &size);
  bool has = json && strstr(json, part) != NULL;
  if (!has) printf("# %s\n", json);
  return has;
}

static void check_events(void) {
  struct skillrt *run = open_script("local a = ctx.wait { event = 'spotted' }"
                                    "local b = ctx.wait { event = 'spotted' }"
                                    "local c = ctx.wait { event = 'spotted' }"
                                    "return { a = a.x, b = b.x, c = c.x }",
                                    NULL, false, true);
  settle();
  CHECK(!skillrt_stopped(run));
  CHECK(skillrt_event(run, "spotted", "{\"x\":1}", "first", error, sizeof error));
  CHECK(skillrt_event(run, "spotted", "{\"x\":1}", "first", error, sizeof error)); /* once more */
  settle();
  CHECK(!skillrt_stopped(run));
  CHECK(skillrt_event(run, "spotted", "{\"x\":2}", NULL, error, sizeof error));
  CHECK(skillrt_event(run, "spotted", "{\"x\":3}", NULL, error, sizeof error));
  settle();
  CHECK_STR(skillrt_status(run), "completed");
  CHECK(state_has(run, "\"a\":1") && state_has(run, "\"b\":2") && state_has(run, "\"c\":3"));
  CHECK(!skillrt_event(run, "spotted", NULL, NULL, error, sizeof error));
  CHECK(strstr(error, "has stopped") != NULL);
  skillrt_close(run);
}

static void check_questions(void) {
  struct skillrt *run =
      open_script("local go = ctx.ask { question = 'Attack?', options = { 'yes', 'no' } }"
                  "return { go = go }",
                  NULL, false, true);
  settle();
  CHECK(strstr(asked, "\"text\":\"Attack?\"") && strstr(asked, "\"question\":1"));
  size_t size;
  const char *list = skillrt_questions_json(run, &size);
  CHECK(list && list[0] == '[' && strstr(list, "Attack?") && strlen(list) == size);
  CHECK(!skillrt_answer(run, 1, "\"maybe\"", NULL, error, sizeof error));
  CHECK(strstr(error, "question 1") != NULL);
  CHECK(!skillrt_answer(run, 7, "\"yes\"", NULL, error, sizeof error));
  CHECK(!skillrt_answer(run, 1, "yes", NULL, error, sizeof error));
  CHECK(strstr(error, "JSON: line 1") != NULL);
  CHECK(skillrt_answer(run, 1, "\"yes\"", NULL, error, sizeof error));
  settle();
  CHECK_STR(skillrt_status(run), "completed");
  CHECK(state_has(run, "\"go\":\"yes\""));
  CHECK_STR(skillrt_questions_json(run, &size), "[]");
  skillrt_close(run);
}

/* Whether a step is late is watched again once somebody answered. */
static void check_unwoken(void) {
  char work_dir[400];
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "unwoken"));
  struct skillrt *run =
      open_script("local first = { kind = 'command', argv = { 'true' } }"
                  "local second = { kind = 'command', argv = { 'sleep', '0.2' } }"
                  "ctx.await(first)"
                  "ctx.ask { question = 'Attack?', timeout = 7 * 86400 } ctx.await(second)",
                  work_dir, false, true);
  for (int i = 0; i < 1000 && !strstr(asked, "Attack?"); i++)
    settle();
  for (int i = 0, ms; i < 100 && (ms = skillrt_host_timeout_ms(host)) < 10 * 1000; i++) {
    poll(NULL, 0, ms + 1); /* the views are written */
    settle();
  }
  CHECK(skillrt_host_timeout_ms(host) > 600 * 1000 * 1000);
  CHECK(skillrt_answer(run, 1, "\"yes\"", NULL, error, sizeof error));
  settle();
  CHECK(!skillrt_stopped(run));
  CHECK(skillrt_host_timeout_ms(host) <= 300 * 1000);
  for (int i = 0; i < 1000 && !skillrt_stopped(run); i++)
    settle();
  CHECK_STR(skillrt_status(run), "completed");
  skillrt_close(run);
}

/* What a step waits for a person's word about a call in doubt makes it no later. */
static void check_doubt(void) {
  char work_dir[400];
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "doubt"));
  more = "timeouts = { step = 0.4 },";
  struct skillrt *run =
      open_script("ctx.await { kind = 'command', argv = { 'sh', '-c', 'kill -9 $$' } }"
                  "ctx.await { kind = 'command', argv = { 'sleep', '0.1' } }"
                  "return { done = true }",
                  work_dir, false, true);
  more = "";
  for (int i = 0; i < 1000 && !strstr(asked, "Send it again"); i++)
    settle();
  poll(NULL, 0, 500);
  CHECK(skillrt_answer(run, 1, "\"skip\"", NULL, error, sizeof error));
  for (int i = 0; i < 1000 && !skillrt_stopped(run); i++)
    settle();
  CHECK_STR(skillrt_status(run), "completed");
  skillrt_close(run);
  size_t size;
  char *journal = scratch_read(&folder, "doubt/journal/00000001.sj", &size);
  CHECK(strstr(journal, "\"t\":\"done\"") && !strstr(journal, "\"t\":\"late\""));
  free(journal);
}

/* Without `wait` it pauses; what comes then is there when it goes on. */
static void check_paused(void) {
  static const char body[] = "return { x = ctx.wait { event = 'rain' } }";
  char work_dir[400];
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "paused"));
  struct skillrt *run = open_script(body, work_dir, false, false);
  settle();
  CHECK(skillrt_status_code(run) == SKILLRT_PAUSED);
  CHECK(skillrt_reason_code(run) == SKILLRT_WAITING_FOR_EVENT);
  CHECK(skillrt_event(run, "rain", "[4]", NULL, error, sizeof error));
  CHECK(!skillrt_event(run, "no name", NULL, NULL, error, sizeof error));
  skillrt_close(run);
  run = open_script(body, work_dir, true, false);
  CHECK(run);
  settle();
  CHECK_STR(skillrt_status(run), "completed");
  CHECK(state_has(run, "\"x\":[4]"));
  skillrt_close(run);
}

int main(void) {
  struct skillrt_host_options options = {.size = sizeof options};
  scratch_make(&folder);
  host = skillrt_host_open(&options, error, sizeof error);
  TEST("a run waits in its host for events, each of which comes once") {
    check_events();
  }
  TEST("a question reaches the host, and its answer is checked when it is given") {
    check_questions();
  }
  TEST("nothing wakes a run that waits for a person until the question's time is up, and no step "
       "is late by it") {
    struct skillrt_host *parks = host;
    struct skillrt_host_options waits = {.size = sizeof waits, .park_ms = -1};
    host = skillrt_host_open(&waits, error, sizeof error);
    asked[0] = 0;
    check_unwoken();
    asked[0] = 0;
    check_doubt();
    skillrt_host_close(host);
    host = parks;
  }
  TEST("a run that pauses while it waits finds what came when it goes on") {
    check_paused();
  }
  skillrt_host_close(host);
  scratch_remove(&folder);
  return check_finish();
}
