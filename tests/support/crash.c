/* crash.c: see crash.h. */
#include "support/crash.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/clock.h"

enum { STAND_STILL_MS = 10000, EPISODES = 20, LONGEST_MS = 600000 };
static const int64_t wall = 1700000000000, later = 3600000;

/* ---- a world that repeats itself ---- */

static int random_again(const struct sys *sys, void *to, size_t size) {
  uint64_t *seed = sys->self;
  for (size_t i = 0; i < size; i++) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    ((unsigned char *)to)[i] = (unsigned char)(*seed >> 56);
  }
  return 0;
}

static struct crash *crash_of(const struct sys *sys) {
  return (struct crash *)(void *)((char *)sys->self - offsetof(struct crash, seed));
}

/* An allocation is a moment like any other to be stopped at, and there are some everywhere. */
static void *stop_and_allocate(const struct sys *sys, void *block, size_t old_size,
                               size_t new_size) {
  struct crash *c = crash_of(sys);
  if (c->running && ++c->moment == c->stop_at) skillrt_stop(c->running);
  return sys_real()->alloc(sys_real(), block, old_size, new_size);
}

static int spawn_fake(const struct sys *sys, const struct sys_spawn *what, pid_t *pid, int *ended) {
  return programs_spawn(&crash_of(sys)->programs, what, pid, ended);
}

static int kill_fake(const struct sys *sys, pid_t pid, int signal) {
  return programs_kill(&crash_of(sys)->programs, pid, signal);
}

static int reap_fake(const struct sys *sys, pid_t pid, int *status) {
  return programs_reap(&crash_of(sys)->programs, pid, status);
}

/* ---- auditing ---- */

static void on_record(void *data, const char *json, size_t size) {
  struct crash *c = data;
  audit_told(&c->audit, json, size);
  programs_told(&c->programs, json, size);
}

/* The summary, to be freed. */
static char *audit(struct crash *c, struct audit_found *found) {
  char *summary = audit_summary(&c->audit, c->directory, c->choose != NULL, found);
  c->kept = found->kept;
  return summary;
}

/* ---- episodes ---- */

static void drive(struct crash *c, struct skillrt *run) {
  int64_t end = clock_real_ns() + (int64_t)STAND_STILL_MS * 1000000;
  c->hung = false;
  while (skillrt_step(run) == SKILLRT_RUNNING) {
    if (clock_real_ns() > end) {
      c->hung = true;
      return;
    }
    crash_wait(c, run);
  }
}

/* `answer` is to the open question, or with `all` to each call in doubt. */
static bool episode(struct crash *c, bool resume, const char *answer, bool all) {
  if (resume && c->arrivals) { /* it would wait for what to do with a call in doubt, too */
    answer = "retry";
    all = true;
    programs_allow(&c->programs);
  }
  struct skillrt_options options = {.size = sizeof options,
                                    .script = resume ? NULL : c->script,
                                    .work_dir = c->directory,
                                    .resume = resume,
                                    .wait = c->arrivals != NULL,
                                    .answer = all ? NULL : answer,
                                    .decide = all ? answer : NULL,
                                    .input_json = resume ? NULL : c->input,
                                    .http_module = c->module,
                                    .on_record = on_record,
                                    .data = c,
                                    .sys = faulty_sys(c->faulty)};
  c->status[0] = c->reason[0] = c->message[0] = c->error[0] = 0;
  struct skillrt *run = skillrt_open(&options, c->error, sizeof c->error);
  if (!run) return false;
  c->moment = 0;
  c->running = run;
  drive(c, run);
  c->running = NULL;
  snprintf(c->status, sizeof c->status, "%s", skillrt_status(run));
  snprintf(c->reason, sizeof c->reason, "%s", skillrt_reason(run));
  snprintf(c->message, sizeof c->message, "%s", skillrt_message(run));
  skillrt_close(run);
  return true;
}

/* What a person says to a question of the skill's, or of who was asked in its place. */
static const char *said(const struct crash *c) {
  return strstr(c->message, " again?") ? "retry" : "accept";
}

static bool until_asked(struct crash *c, bool resume, const char *answer) {
  return episode(c, resume, answer, false) ||
         (answer && strstr(c->error, "questions are open") && episode(c, resume, answer, true));
}

bool crash_episode(struct crash *c, bool resume, const char *answer) {
  bool opened = until_asked(c, resume, answer);
  for (int i = 0; i < EPISODES && opened && !c->hung && !c->choose; i++) {
    if (strcmp(c->reason, "waiting_for_person") != 0) break;
    opened = until_asked(c, true, said(c));
  }
  return opened;
}

bool crash_ended(const struct crash *c) {
  return strcmp(c->status, "completed") == 0 || strcmp(c->status, "aborted") == 0;
}

/* Goes on until the run is over. */
static bool complete(struct crash *c) {
  bool resume = true;
  const char *answer = NULL;
  for (int i = 0; i < EPISODES; i++) {
    if (!crash_episode(c, resume, answer)) {
      if (strstr(c->error, "the run is completed") || strstr(c->error, "the run is aborted"))
        return true;
      if (!resume || c->audit.told > 0 || !strstr(c->error, "contains no ")) return false;
      resume = false; /* it died before it was anything */
      c->seed = 0;
      faulty_clock(c->faulty, wall, 1);
      continue;
    }
    if (c->hung || strcmp(c->reason, "internal") == 0 ||
        (strcmp(c->reason, "script_error") == 0 && strcmp(c->status, "failed") == 0))
      return false; /* nothing harms it any more */
    if (crash_ended(c)) return true;
    answer = strcmp(c->reason, "needs_decision") == 0 ? "retry" : NULL;
    if (answer) programs_allow(&c->programs);
    resume = true;
  }
  return false;
}

void crash_heal(struct crash *c, int64_t later_ms) {
  const struct sys *sys = faulty_sys(c->faulty);
  int64_t now = sys->wall_ms(sys);
  faulty_reset(c->faulty);
  faulty_clock(c->faulty, now + later_ms, 1);
  c->waited_ms = 0;
}

/* ---- comparing ---- */

static char *file_of(struct crash *c, int i) {
  char name[256];
  snprintf(name, sizeof name, "run/%s", c->files[i]);
  return scratch_read(&c->scratch, name, NULL);
}

static bool same_files(struct crash *c, const char *where) {
  for (int i = 0; c->files[i]; i++) {
    char *found = file_of(c, i);
    bool same = found && strcmp(found, c->wanted_files[i]) == 0;
    if (!same) printf("# %s: %s is %s\n", where, c->files[i], found ? "another text" : "not there");
    free(found);
    if (!same) return false;
  }
  return true;
}

/* For people who look for the reason: CRASH_SHOW=1. */
static void show_journal(struct crash *c) {
  char command[800];
  snprintf(command, sizeof command, "cut -c 59- %s/journal/*.sj | cut -c -400", c->directory);
  fflush(stdout);
  if (getenv("CRASH_SHOW") && system(command) != 0) printf("# %s: cannot be shown\n", command);
}

void crash_survey(struct crash *c, const char *where) {
  struct audit_found found = {0};
  c->stop_at = 0;
  /* What was to be waited for is long due; where time is a fake, it is not yet due every third
   * time, and every third time the clock was put back. */
  static const int64_t when[] = {3600000, 1, -24 * 3600000};
  crash_heal(c, c->choose ? when[c->points % 3] : later);
  c->points++;
  c->seed = 1000 + (uint64_t)c->points;
  if (!complete(c)) {
    c->refused++;
    printf("# %s: cannot be completed: %s%s %s %s%s\n", where, c->error, c->status, c->reason,
           c->message, c->hung ? " (hangs)" : "");
  }
  char *summary = audit(c, &found);
  if (strcmp(summary, c->wanted) != 0) {
    c->different++;
    printf("# %s: came to another end: %.600s\n", where, summary);
    show_journal(c);
  } else if (!same_files(c, where)) {
    c->different++;
  }
  if (c->waited_ms > LONGEST_MS) {
    c->different++;
    printf("# %s: waited %ld s\n", where, (long)(c->waited_ms / 1000));
    show_journal(c);
  }
  if (c->programs.twice > c->twice) {
    c->twice = c->programs.twice;
    printf("# %s: something was started that may not be\n", where);
    show_journal(c);
  }
  if (found.lost || found.duplicated)
    printf("# %s: %ld lost, %ld duplicated\n", where, found.lost, found.duplicated);
  c->lost += found.lost;
  c->duplicated += found.duplicated;
  free(summary);
  if (faulty_outstanding(c->faulty) > 0 || faulty_open_files(c->faulty) > 0) {
    printf("# %s: %zu bytes and %d descriptors left\n", where, faulty_outstanding(c->faulty),
           faulty_open_files(c->faulty));
    c->different++;
  }
}

/* ---- life ---- */

void crash_fresh(struct crash *c) {
  scratch_empty(&c->scratch);
  faulty_free(c->faulty);
  c->faulty = faulty_new(&c->below);
  faulty_clock(c->faulty, wall, 1);
  audit_forget(&c->audit);
  programs_clear(&c->programs);
  c->seed = 0;
  c->jumped = 0;
  c->arrived = 0;
}

static void remember(struct crash *c) {
  struct audit_found found = {0};
  for (unsigned call = 0; call < FAULTY_CALLS; call++)
    c->calls[call] = faulty_count(c->faulty, FAULTY_BIT(call));
  c->moments = c->moment;
  c->wanted = audit(c, &found);
  for (int i = 0; c->files[i]; i++)
    c->wanted_files[i] = file_of(c, i);
  c->lost += found.lost;
  c->duplicated += found.duplicated;
}

static void set_script(struct crash *c, const char *name) {
  const char *with = strstr(name, " with books");
  int length = with ? (int)(with - name) : (int)strlen(name);
  snprintf(c->script, sizeof c->script, "tests/run/skills/%.*s.lua", length, name);
  c->with_books = with != NULL;
  if (!with) return;
  setenv("CRASH_SKILL", c->script, 1);
  setenv("CRASH_BOOKS", "1", 1);
  snprintf(c->script, sizeof c->script, "tests/run/skills/with_books.lua");
}

static bool begin(struct crash *c, const char *name, const char *const *files) {
  const char *build = getenv("SKILLRT_BUILD");
  set_script(c, name);
  for (int i = 0; files[i]; i++)
    c->files[i] = files[i];
  scratch_make(&c->scratch);
  c->below = *sys_real();
  c->below.self = &c->seed;
  c->below.random = random_again;
  c->below.alloc = stop_and_allocate;
  if (c->choose) {
    setenv("UV_THREADPOOL_SIZE", "1", 1);
    c->below.spawn = spawn_fake;
    c->below.kill_group = kill_fake;
    c->below.reap = reap_fake;
  }
  snprintf(c->module, sizeof c->module, "./%s/%s", build ? build : "build/release",
           c->choose ? "tests/scripted_http.so" : "lib/skillrt/http.so");
  snprintf(c->directory, sizeof c->directory, "%.500s/run", c->scratch.path);
  audit_open(&c->audit);
  crash_fresh(c);
  bool ok = crash_episode(c, false, NULL) && crash_ended(c);
  if (!ok) printf("# %s: %s%s %s %s\n", name, c->error, c->status, c->reason, c->message);
  remember(c);
  return ok && c->lost == 0 && c->audit.told > 0 && (c->kept > 1) == c->with_books;
}

bool crash_init(struct crash *c, const char *name, const char *input, const char *const *files) {
  *c = (struct crash){.input = input};
  return begin(c, name, files);
}

bool crash_init_with(struct crash *c, const char *name, int (*choose)(void *, int), void *chooser,
                     int64_t jump_ms, int jumps, const char *const *arrivals) {
  static const char *const none[] = {NULL};
  *c = (struct crash){.choose = choose,
                      .chooser = chooser,
                      .jump_ms = jump_ms,
                      .jumps = jumps,
                      .arrivals = arrivals};
  return begin(c, name, none);
}

void crash_clear(struct crash *c) {
  programs_clear(&c->programs);
  audit_close(&c->audit);
  faulty_free(c->faulty);
  scratch_remove(&c->scratch);
  free(c->wanted);
  for (int i = 0; i < 6; i++)
    free(c->wanted_files[i]);
}

void crash_http_input(char to[CRASH_HTTP_INPUT], int port) {
  static const char form[] =
      "{\"first\":\"http://127.0.0.1:%d/say/%%7B%%22status%%22:%%22completed%%22,%%22stateUpdates"
      "%%22:%%7B%%22asked%%22:1%%7D%%7D\",\"second\":\"http://127.0.0.1:%d/say/%%7B%%22status%%22:"
      "%%22completed%%22,%%22stateUpdates%%22:%%7B%%22asked%%22:2%%7D%%7D\"}";
  snprintf(to, CRASH_HTTP_INPUT, form, port, port);
}

/* ---- which points are taken ---- */

uint64_t crash_calls(const struct crash *c, unsigned mask) {
  uint64_t sum = 0;
  for (unsigned call = 0; call < FAULTY_CALLS; call++)
    if (mask & FAULTY_BIT(call)) sum += c->calls[call];
  return sum;
}

static uint64_t most_points(uint64_t full) {
  const char *asked = getenv("CRASH_POINTS"), *mode = getenv("SKILLRT_MODE");
  bool slow = mode && strcmp(mode, "asan") == 0;
  if (asked && atoll(asked) > 0) return (uint64_t)atoll(asked);
  if (getenv("SKILLRT_NIGHTLY")) return slow ? 15 : full;
  return slow ? 2 : 8;
}

uint64_t crash_stride(uint64_t calls, uint64_t full) {
  uint64_t points = most_points(full);
  return calls > points ? (calls + points - 1) / points : 1;
}

uint64_t crash_seed(void) {
  static uint64_t seed;
  const char *asked = getenv("CRASH_SEED");
  if (asked) return (uint64_t)atoll(asked);
  if (!seed) seed = (uint64_t)sys_real()->wall_ms(sys_real()) / 1000 % 100000 + 1;
  return seed;
}

/* ---- all runs of a program ---- */

static struct crash all;

void crash_count(struct crash *c, const char *skill) {
  printf("# %s: %ld points, %ld lost, %ld duplicated\n", skill, c->points, c->lost, c->duplicated);
  all.points += c->points;
  all.lost += c->lost + c->refused + c->different;
  all.duplicated += c->duplicated;
}

bool crash_close(void) {
  printf("%ld points, %ld lost, %ld duplicated, CRASH_SEED=%lu\n", all.points, all.lost,
         all.duplicated, (unsigned long)crash_seed());
  return all.lost == 0 && all.duplicated == 0;
}
