/* test_host_parked.c: runs of a host that only wait go back into their books, and come out of them:
 * by an event, an answer, their time, a stop; many of them with few descriptors; and what stopped
 * holds nothing any more. */
#include <dirent.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sys.h"
#include "skillrt.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/scratch.h"

static struct scratch folder;
static char error[1024];
static struct skillrt_host *host;

static struct skillrt *open_with(struct skillrt_options *options, const char *name,
                                 const char *body) {
  static char text[4096], work_dir[400];
  int size = snprintf(text, sizeof text,
                      "local skillrt = require 'skillrt'\nlocal token = math.random(1 << 40)\n"
                      "return skillrt.skill { name = 'game', "
                      "durability = 'process', state = { n = 0 }, actions = "
                      "{ { id = 'a', run = function(state, ctx) %s end } } }\n",
                      body);
  snprintf(work_dir, sizeof work_dir, "%s", scratch_path(&folder, name));
  options->size = sizeof *options;
  options->host = host;
  options->script = "game";
  options->script_text = text;
  options->script_size = (size_t)size;
  options->work_dir = work_dir;
  options->wait = true;
  struct skillrt *run = skillrt_open(options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  return run;
}

static struct skillrt *open_run(const char *name, const char *body) {
  struct skillrt_options options = {0};
  return open_with(&options, name, body);
}

/* Until nothing is to be done within a moment. */
static void settle(void) {
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  int ms, ready;
  do {
    ms = skillrt_host_timeout_ms(host);
    ready = poll(&fd, 1, ms < 0 || ms > 20 ? 20 : ms);
    skillrt_host_step(host);
  } while (ready > 0 || (ms >= 0 && ms <= 20));
}

static bool state_has(struct skillrt *run, const char *part) {
  size_t size = 0;
  const char *json = skillrt_state_json(run, &size);
  bool has = json && strlen(json) == size && strstr(json, part) != NULL;
  if (!has) printf("# %s\n", json ? json : "no state");
  return has;
}

static int descriptors(void) {
  DIR *open = opendir("/proc/self/fd");
  int count = 0;
  while (open && readdir(open))
    count++;
  closedir(open);
  return count;
}

static void open_host(const struct sys *sys) {
  struct skillrt_host_options options = {.size = sizeof options, .park_ms = 1, .sys = sys};
  host = skillrt_host_open(&options, error, sizeof error);
}

static void check_event(void) {
  int before = descriptors();
  struct skillrt *run = open_run("event", "local a = ctx.wait { event = 'go' }"
                                          "local b = ctx.wait { event = 'go' }"
                                          "return { a = a.x, b = b }");
  CHECK(descriptors() > before);
  settle();
  CHECK(skillrt_parked(run) && !skillrt_stopped(run));
  CHECK(descriptors() <= before + 1); /* of the loop: it watches inboxes */
  CHECK(skillrt_status_code(run) == SKILLRT_GOING && skillrt_reason_code(run) == SKILLRT_NO_REASON);
  CHECK(strstr(skillrt_message(run), "waits for the event go") != NULL);
  CHECK(state_has(run, "\"n\":0"));
  CHECK(skillrt_host_step(host) == 1);
  CHECK(!skillrt_event(run, "no name", NULL, NULL, error, sizeof error));
  CHECK(skillrt_parked(run) && skillrt_host_timeout_ms(host) == -1);
  CHECK(skillrt_event(run, "go", "{\"x\":1}", "first", error, sizeof error));
  CHECK(skillrt_host_timeout_ms(host) == 0);
  settle();
  CHECK(skillrt_parked(run));
  CHECK(skillrt_event(run, "go", "{\"x\":1}", "first", error, sizeof error)); /* once more */
  settle();
  CHECK(skillrt_parked(run));
  CHECK(skillrt_event(run, "go", "2", NULL, error, sizeof error));
  settle();
  CHECK(skillrt_stopped(run) && !skillrt_parked(run));
  CHECK_STR(skillrt_status(run), "completed");
  CHECK(state_has(run, "\"a\":1") && state_has(run, "\"b\":2"));
  CHECK(skillrt_host_step(host) == 0);
  skillrt_close(run);
}

static void check_answer(void) {
  struct skillrt *run = open_run("answer", "local go = ctx.ask { question = 'Attack?', options = "
                                           "{ 'yes', 'no' } } return { go = go }");
  size_t size;
  settle();
  CHECK(skillrt_parked(run));
  const char *list = skillrt_questions_json(run, &size);
  CHECK(list && strstr(list, "Attack?") && strlen(list) == size);
  CHECK(!skillrt_answer(run, 1, "\"maybe\"", NULL, error, sizeof error));
  CHECK(strstr(error, "question 1") != NULL);
  CHECK(skillrt_parked(run));
  CHECK(skillrt_answer(run, 1, "\"yes\"", NULL, error, sizeof error));
  settle();
  CHECK_STR(skillrt_status(run), "completed");
  CHECK(state_has(run, "\"go\":\"yes\""));
  skillrt_close(run);
}

static int64_t put_back_ms;

static int64_t wall_put_back(const struct sys *sys) {
  (void)sys;
  return sys_real()->wall_ms(sys_real()) - put_back_ms;
}

/* Its own time counts on the monotonic clock, also while it lies in its books. */
static void check_time(int64_t back_ms) {
  struct sys sys = *sys_real();
  put_back_ms = 0;
  sys.wall_ms = wall_put_back;
  open_host(&sys);
  struct skillrt *first =
      open_run(back_ms ? "back-1" : "time-1", "ctx.sleep(3600) return { n = 1 }");
  struct skillrt *second =
      open_run(back_ms ? "back-2" : "time-2", "ctx.sleep(7200) return { n = 2 }");
  struct skillrt *third = open_run(back_ms ? "back-3" : "time-3",
                                   "local _, _, why = ctx.wait { event = 'x', timeout = 1800 }"
                                   "return { n = why }");
  settle();
  CHECK(skillrt_parked(first) && skillrt_parked(second) && skillrt_parked(third));
  int ms = skillrt_host_timeout_ms(host);
  CHECK(ms > 1700 * 1000 && ms <= 1800 * 1000);
  put_back_ms = back_ms;
  clock_skip(1800 * 1000);
  settle();
  CHECK(skillrt_stopped(third) && state_has(third, "\"n\":\"timeout\""));
  clock_skip(1800 * 1000);
  settle();
  CHECK(skillrt_stopped(first) && state_has(first, "\"n\":1"));
  CHECK(skillrt_parked(second));
  clock_skip(3600 * 1000);
  settle();
  CHECK(skillrt_stopped(second) && state_has(second, "\"n\":2"));
  skillrt_host_close(host);
}

static void check_stop(void) {
  struct skillrt *run = open_run("stop", "ctx.wait { event = 'go' } return { n = 1 }");
  settle();
  CHECK(skillrt_parked(run));
  skillrt_stop(run);
  settle();
  CHECK(skillrt_stopped(run) && !skillrt_parked(run));
  CHECK_STR(skillrt_status(run), "paused");
  CHECK(skillrt_reason_code(run) == SKILLRT_WAITING_FOR_EVENT);
  CHECK(skillrt_event(run, "go", NULL, NULL, error, sizeof error)); /* for a resume */
  settle();
  CHECK(skillrt_stopped(run));
  skillrt_close(run);
  struct skillrt_options options = {.resume = true};
  run = open_with(&options, "stop", "ctx.wait { event = 'go' } return { n = 1 }");
  settle();
  CHECK_STR(skillrt_status(run), "completed");
  skillrt_close(run);
}

static struct skillrt *told;

static void give_when_it_stops(void *data, const char *json, size_t size) {
  (void)data, (void)size;
  if (!told || !strstr(json, "\"t\":\"stop\"")) return;
  CHECK(skillrt_event(told, "go", "5", NULL, error, sizeof error));
  told = NULL;
}

/* What comes when it is about to go back into its books wakes it again. */
static void check_between(void) {
  struct skillrt_options options = {.on_record = give_when_it_stops};
  struct skillrt *run = open_with(&options, "between", "return { n = ctx.wait { event = 'go' } }");
  told = run;
  settle();
  CHECK_STR(skillrt_status(run), "completed");
  CHECK(state_has(run, "\"n\":5"));
  skillrt_close(run);
}

/* Its lock is given back: somebody else may go on with it; then this handle says so. */
static void check_taken(void) {
  static const char body[] = "return { n = ctx.wait { event = 'go' } }";
  struct skillrt *run = open_run("taken", body);
  settle();
  CHECK(skillrt_parked(run));
  struct skillrt_options options = {.resume = true};
  struct skillrt *other = open_with(&options, "taken", body);
  CHECK(other && !skillrt_parked(other));
  CHECK(skillrt_event(run, "go", "1", NULL, error, sizeof error));
  skillrt_host_step(host);
  settle();
  CHECK(skillrt_stopped(run) && skillrt_status_code(run) == SKILLRT_PAUSED);
  CHECK(strstr(skillrt_message(run), "held by process") != NULL);
  CHECK_STR(skillrt_status(other), "completed"); /* the event lay in the inbox of both */
  skillrt_close(run);
  skillrt_close(other);
}

/* More runs than the system has descriptors for are woken at once. */
static void check_many(bool own) {
  enum { RUNS = 300, OWN = 5, FILES = 40 };
  struct skillrt *runs[RUNS];
  struct rlimit before, few;
  int count = own ? OWN : RUNS, done = 0;
  char name[40];
  open_host(NULL);
  for (int i = 0; i < count; i++) {
    struct skillrt_options options = {.own_state = own};
    snprintf(name, sizeof name, "many-%d-%d", own, i);
    runs[i] = open_with(&options, name, "return { n = ctx.wait { event = 'go' } }");
    settle();
    CHECK(runs[i] && skillrt_parked(runs[i]));
  }
  CHECK(descriptors() < 20);
  getrlimit(RLIMIT_NOFILE, &before);
  few = (struct rlimit){FILES, before.rlim_max};
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  for (int i = 0; i < count; i++)
    CHECK(skillrt_event(runs[i], "go", "3", NULL, error, sizeof error));
  for (int tries = 0; tries < 3000 && skillrt_host_step(host) > 0; tries++) {
    struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
    poll(&fd, 1, skillrt_host_timeout_ms(host));
  }
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  for (int i = 0; i < count; i++)
    done += skillrt_status_code(runs[i]) == SKILLRT_COMPLETED && state_has(runs[i], "\"n\":3");
  CHECK(done == count);
  CHECK(descriptors() < 20);
  skillrt_host_close(host);
}

/* Lists among the options are kept with it: what they were made of may be gone. */
static void check_lists(void) {
  char word[] = "word";
  const char *const args[] = {word, NULL}, *const names[] = {"HOME", "LANG", NULL};
  struct skillrt_options options = {.args = args, .agent = "true", .agent_env = names};
  struct skillrt *run =
      open_with(&options, "lists", "ctx.wait { event = 'go' } return { arg = ctx.args[1] }");
  settle();
  CHECK(skillrt_parked(run));
  memset(word, 'x', 4);
  CHECK(skillrt_event(run, "go", "1", NULL, error, sizeof error));
  settle();
  CHECK(skillrt_stopped(run) && state_has(run, "\"arg\":\"word\""));
  skillrt_close(run);
}

/* What the script drew when it was loaded is what it draws when it is loaded again. */
static void check_drawn(void) {
  struct skillrt *run =
      open_run("drawn", "local before = ctx.once('token', function() return token end) "
                        "ctx.wait { event = 'go' } return { same = before == token }");
  settle();
  CHECK(skillrt_parked(run));
  CHECK(skillrt_event(run, "go", "1", NULL, error, sizeof error));
  settle();
  CHECK(skillrt_stopped(run) && state_has(run, "\"same\":true"));
  skillrt_close(run);
}

/* A host that never puts a run into its books. */
static void check_never(void) {
  struct skillrt_host_options options = {.size = sizeof options, .park_ms = -1};
  host = skillrt_host_open(&options, error, sizeof error);
  struct skillrt *run = open_run("never", "return { n = ctx.wait { event = 'go' } }");
  for (int i = 0; i < 5; i++)
    settle();
  CHECK(!skillrt_parked(run) && !skillrt_stopped(run));
  CHECK(skillrt_event(run, "go", "4", NULL, error, sizeof error));
  settle();
  CHECK(skillrt_stopped(run) && state_has(run, "\"n\":4"));
  skillrt_close(run);
  skillrt_host_close(host);
}

int main(void) {
  scratch_make(&folder);
  open_host(NULL);
  TEST("a run that waits for an event goes back into its books, and out of them by the event") {
    check_event();
  }
  TEST("an answer to a run in its books is checked, and wakes it") {
    check_answer();
  }
  TEST("a stop of a run in its books, and what comes when it is about to go there, are not lost") {
    check_stop();
    check_between();
  }
  TEST("a run in its books that somebody else goes on with is his") {
    check_taken();
  }
  TEST("a run in its books keeps its options") {
    check_lists();
  }
  TEST("a script in memory draws the same when it is loaded again for a run in its books") {
    check_drawn();
  }
  skillrt_host_close(host);
  TEST("a run in its books goes on at its time, also where the clock was put back (F27)") {
    check_time(0);
    check_time((int64_t)5 * 3600 * 1000);
  }
  TEST("hundreds of runs are woken at once with 40 descriptors, and none is lost") {
    check_many(false);
    check_many(true);
  }
  TEST("a host may keep all its runs out of their books") {
    check_never();
  }
  scratch_remove(&folder);
  return check_finish();
}
