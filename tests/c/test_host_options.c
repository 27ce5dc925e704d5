/* test_host_options.c: what the command line can say, said by the options of skillrt.h: limits,
 * more of them, dry runs, trust, strictness, an agent's variables; and processor time that Lua may
 * take. */
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skillrt.h"
#include "support/check.h"
#include "support/scratch.h"

static struct scratch folder;
static char error[2048];

static struct skillrt *open_it(struct skillrt_options *options) {
  options->size = sizeof *options;
  return skillrt_open(options, error, sizeof error);
}

static struct skillrt *open_text(struct skillrt_options *options, const char *text) {
  options->script = "s";
  options->script_text = text;
  options->script_size = strlen(text);
  return open_it(options);
}

static void step_to_the_end(struct skillrt *run) {
  struct pollfd fd = {.fd = skillrt_fd(run), .events = POLLIN};
  while (skillrt_step(run) == SKILLRT_RUNNING)
    poll(&fd, 1, skillrt_timeout_ms(run));
}

static bool state_has(struct skillrt *run, const char *part) {
  size_t size = 0;
  const char *json = skillrt_state_json(run, &size);
  bool has = json && strstr(json, part) != NULL;
  if (!has) printf("# %s\n", json ? json : "no state");
  return has;
}

static const char four_calls[] =
    "local skillrt = require 'skillrt'\n"
    "return skillrt.skill { name = 's', actions = { { id = 'a', run = function(_, ctx)\n"
    "  for i = 1, 4 do ctx.await { kind = 'command', argv = { 'true' } } end return { n = 4 } end "
    "} } "
    "}\n";

static void check_limits(void) {
  static const char *const two[] = {"calls=2", NULL}, *const wrong[] = {"calls", NULL},
                           *const unknown[] = {"cals=2", NULL};
  char work_dir[400];
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "limits"));
  const char *code = NULL;
  struct skillrt_options options = {.work_dir = work_dir, .limits = wrong, .code = &code};
  CHECK(!open_text(&options, four_calls));
  CHECK(strncmp(error, "limits: ", 8) == 0 && strstr(error, "write LIMIT=NUMBER") != NULL);
  CHECK_STR(code, "invalid");
  options.limits = unknown;
  CHECK(!open_text(&options, four_calls));
  CHECK(strstr(error, "cals") != NULL);
  options.limits = two;
  struct skillrt *run = open_text(&options, four_calls);
  CHECK(run);
  step_to_the_end(run);
  CHECK(skillrt_status_code(run) == SKILLRT_PAUSED);
  CHECK(skillrt_reason_code(run) == SKILLRT_CALL_LIMIT);
  skillrt_close(run);
  options.resume = true;
  CHECK(!open_text(&options, four_calls)); /* it has its limits */
  CHECK(strncmp(error, "limits: ", 8) == 0);
  options.limits = NULL;
  options.add = two;
  CHECK((run = open_text(&options, four_calls)) != NULL);
  step_to_the_end(run);
  CHECK_STR(skillrt_status(run), "completed");
  CHECK(state_has(run, "\"n\":4"));
  skillrt_close(run);
  options.resume = false;
  CHECK(!open_text(&options, four_calls));
  CHECK(strncmp(error, "add: ", 5) == 0);
  CHECK_STR(code, "invalid");
  options.add = NULL;
  CHECK(!open_text(&options, four_calls));
  CHECK_STR(code, "exists");
  CHECK(!open_text(&options, "error 'no'"));
  CHECK_STR(code, "script");
}

static const char page[] =
    "---\nname: page\ndescription: A page that says what to do, for tests of "
    "options.\n---\n\n# Page\n\nSay the word.\n";

static void make_page(void) {
  mkdir(scratch_path(&folder, "page"), 0700);
  scratch_write(&folder, "page/SKILL.md", page, strlen(page));
}

/* Of an agent that is no program of ours: nobody is asked. */
static void check_dry_run(void) {
  char path[400];
  make_page();
  snprintf(path, sizeof path, "%s", scratch_path(&folder, "page"));
  struct skillrt_options options = {.script = path,
                                    .context = "memory",
                                    .agent = "claude",
                                    .input_json = "{\"task\":\"try\"}",
                                    .dry_run = true};
  struct skillrt *run = open_it(&options);
  if (!run) printf("# %s\n", error);
  CHECK(run);
  step_to_the_end(run);
  CHECK_STR(skillrt_status(run), "completed");
  skillrt_close(run);
}

static void check_agent_env(void) {
  static const char *const given[] = {"SKILLRT_TEST_WORD", NULL}, *const wrong[] = {"a b", NULL};
  static const char program[] = "#!/bin/sh\ncat >/dev/null\n"
                                "echo \"{\\\"status\\\":\\\"done\\\",\\\"summary\\\":"
                                "\\\"$SKILLRT_TEST_WORD\\\"}\" | tee \"$0.said\"\n";
  char path[400], agent[400];
  size_t size = 0;
  make_page();
  snprintf(path, sizeof path, "%s", scratch_path(&folder, "page"));
  scratch_write(&folder, "agent", program, strlen(program));
  snprintf(agent, sizeof agent, "%s", scratch_path(&folder, "agent"));
  setenv("SKILLRT_TEST_WORD", "heard", 1);
  chmod(agent, 0700);
  struct skillrt_options options = {.script = path,
                                    .context = "memory",
                                    .agent = agent,
                                    .agent_env = wrong,
                                    .input_json = "{\"task\":\"try\"}"};
  CHECK(!open_it(&options));
  CHECK(strncmp(error, "agent_env: ", 11) == 0);
  options.agent_env = given;
  struct skillrt *run = open_it(&options);
  if (!run) printf("# %s\n", error);
  CHECK(run);
  step_to_the_end(run);
  char *said = scratch_read(&folder, "agent.said", &size);
  CHECK(said && strstr(said, "heard") != NULL);
  free(said);
  skillrt_close(run);
}

/* A folder with code of its own. */
static void check_trust(void) {
  static const char code[] =
      "local skillrt = require 'skillrt'\nreturn skillrt.skill { name = 'own', context = 'memory', "
      "actions = { { id = 'a', run = function() return { n = 1 } end } } }\n";
  char path[400];
  setenv("XDG_STATE_HOME", scratch_path(&folder, "home"), 1);
  mkdir(scratch_path(&folder, "own"), 0700);
  scratch_write(&folder, "own/skill.lua", code, strlen(code));
  snprintf(path, sizeof path, "%s", scratch_path(&folder, "own"));
  struct skillrt_options options = {.script = path, .trust = "known"};
  CHECK(!open_it(&options));
  CHECK(strstr(error, "has not been approved") != NULL);
  options.trust = "maybe";
  CHECK(!open_it(&options));
  CHECK(strncmp(error, "trust: ", 7) == 0);
  for (int i = 0; i < 3; i++) {
    static const char *const how[] = {NULL, "remember", "known"};
    options.trust = how[i];
    struct skillrt *run = open_it(&options);
    if (!run) printf("# %s\n", error);
    CHECK(run);
    step_to_the_end(run);
    CHECK_STR(skillrt_status(run), "completed");
    skillrt_close(run);
  }
}

static void check_strict(void) {
  char path[400];
  mkdir(scratch_path(&folder, "odd"), 0700);
  scratch_write(&folder, "odd/SKILL.md", page, strlen(page)); /* its name is another */
  snprintf(path, sizeof path, "%s", scratch_path(&folder, "odd"));
  struct skillrt_options options = {
      .script = path, .context = "memory", .agent = "claude", .dry_run = true, .strict = true};
  CHECK(!open_it(&options));
  CHECK(strncmp(error, "strict: ", 8) == 0 && strstr(error, "its folder") != NULL);
  options.strict = false;
  struct skillrt *run = open_it(&options);
  CHECK(run);
  skillrt_close(run);
}

static void check_lua_ms(void) {
  static const char *const bodies[] = {"while true do end", "return { n = state.n + 1 }",
                                       "local f = function() end while true do "
                                       "coroutine.wrap(f)() end",
                                       "while true do pcall(function() while true do end end) end"};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[1000];
    snprintf(text, sizeof text,
             "local skillrt = require 'skillrt'\nreturn skillrt.skill { name = 's', context = "
             "'memory', state = { n = 0 }, limits = { max_iterations = 1000000, no_progress = 0 },"
             "actions = { { id = 'a', max_runs = 1000000, run = function(state) %s end } } }\n",
             bodies[i]);
    struct skillrt_options options = {.lua_ms = 100};
    struct skillrt *run = open_text(&options, text);
    if (!run) printf("# %s\n", error);
    CHECK(run);
    if (!run) continue;
    step_to_the_end(run);
    CHECK_STR(skillrt_reason(run), "out_of_time");
    CHECK(skillrt_status_code(run) == SKILLRT_PAUSED);
    CHECK(skillrt_reason_code(run) == SKILLRT_OUT_OF_TIME);
    skillrt_close(run);
  }
}

/* ... that a step may take: a skill's own limit, between two waits. */
static void check_step_timeout(void) {
  struct skillrt *run = open_text(
      &(struct skillrt_options){0},
      "local skillrt = require 'skillrt'\nreturn skillrt.skill { name = 's', context = 'memory',"
      "limits = { step_timeout = 0.1, max_errors = 1, max_retries = 0 },"
      "actions = { { id = 'a', run = function(_, ctx) ctx.sleep(0.01) while true do end end } } "
      "}\n");
  CHECK(run);
  step_to_the_end(run);
  CHECK_STR(skillrt_reason(run), "step_timeout");
  skillrt_close(run);
}

/* In a host, where others go on; what waits takes no time. */
static void check_own_time(void) {
  struct skillrt_host_options host_options = {.size = sizeof host_options};
  struct skillrt_host *host = skillrt_host_open(&host_options, error, sizeof error);
  static const char text[] =
      "local skillrt = require 'skillrt'\nreturn skillrt.skill { name = 's', context = 'memory', "
      "actions = { { id = 'a', run = function(_, ctx) if ctx.args[1] then while true do end end "
      "ctx.sleep(0.3) return { n = 1 } end } } }\n";
  static const char *const endless[] = {"endless", NULL};
  struct skillrt_options first = {.host = host, .own_state = true, .lua_ms = 150, .args = endless};
  struct skillrt_options second = {.host = host, .own_state = true, .lua_ms = 150};
  struct skillrt *one = open_text(&first, text), *two = open_text(&second, text);
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  while (skillrt_host_step(host) > 0)
    poll(&fd, 1, skillrt_host_timeout_ms(host));
  CHECK(skillrt_reason_code(one) == SKILLRT_OUT_OF_TIME);
  CHECK_STR(skillrt_status(two), "completed");
  skillrt_host_close(host);
}

static void check_old_size(void) {
  static const char *const two[] = {"calls=2", NULL};
  struct skillrt_options options = {.context = "memory", .limits = two, .dry_run = true};
  options.script = "s";
  options.script_text = four_calls;
  options.script_size = strlen(four_calls);
  options.size = offsetof(struct skillrt_options, limits);
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  CHECK(run);
  step_to_the_end(run);
  CHECK(state_has(run, "\"n\":4"));
  skillrt_close(run);
}

/* What is paid for must not have run before it is refused. */
static void check_own_run(void) {
  char text[1024], work_dir[400], inner[400];
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, "own"));
  snprintf(inner, sizeof inner, "%s", scratch_path(&folder, "inner"));
  snprintf(text, sizeof text,
           "local s = require('skillrt').skill { name = 's', actions = { { id = 'a', "
           "run = function() return { n = 1 } end } } }\n"
           "return s:run { work_dir = '%s' }\n",
           inner);
  struct skillrt_options options = {.work_dir = work_dir};
  for (int again = 0; again < 2; again++) {
    options.resume = again;
    CHECK(!open_text(&options, text));
    CHECK(strstr(error, "must return the skill") != NULL);
    CHECK(access(inner, F_OK) != 0);
    options.resume = false;
    struct skillrt *run = again ? NULL : open_text(&options, four_calls);
    if (run) skillrt_close(run);
  }
}

int main(void) {
  scratch_make(&folder);
  TEST("limits are given for one run, and raised on resume") {
    check_limits();
  }
  TEST("a dry run asks nobody, and an agent's program is given the variables that are named") {
    check_dry_run();
    check_agent_env();
  }
  TEST("a folder's own code runs, or only where somebody has said so") {
    check_trust();
  }
  TEST("a skill of whose documents something is not read is refused where that was asked for") {
    check_strict();
  }
  TEST("Lua that takes more processor time than it may pauses, also in many short steps") {
    check_lua_ms();
    check_own_time();
  }
  TEST("Lua that runs on without a wait longer than a step may take ends the step") {
    check_step_timeout();
  }
  TEST("a script that would run its skill itself is refused, and runs nothing") {
    check_own_run();
  }
  TEST("a program that was made before these options gets none of them") {
    check_old_size();
  }
  scratch_remove(&folder);
  return check_finish();
}
