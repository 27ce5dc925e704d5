/* test_races.c: threads that want the same run, and one that stops it, whenever that may be: one of
 * them has it, nothing is done twice or lost, and the run comes to its end. 100 races of each kind,
 * 1,000 in the full set, or RACES. Built with MODE=tsan it is the proof that there is no data race.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skillrt.h"
#include "support/audit.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/scratch.h"

#define SCRIPT "tests/run/skills/race.lua"
enum { TELL = 4 };

/* Records that were told, until the audit is asked. */
struct told {
  char **texts;
  size_t count, room;
};

struct racer {
  pthread_t thread;
  struct skillrt_host *host;
  void (*part)(struct racer *);
  const char *directory, *answer;
  struct told told;
  struct skillrt *_Atomic run; /* between its opening and its closing */
  struct racer *other;
  bool begins;      /* the run, which is not there yet */
  int64_t delay_ns; /* of a stop */
  _Atomic bool over;
  bool opened, stop_at_first;
  char status[16], reason[64], error[512];
};

struct races {
  struct scratch scratch;
  char directory[PATH_MAX];
  struct audit audit;
  pthread_barrier_t begin, end;
  struct racer racers[2], self; /* self: the main thread's */
  bool quit;
  char *wanted;
  uint64_t seed;
  long busy, lost, duplicated, wrong;
};

static struct races races;

static void on_record(void *data, const char *json, size_t size) {
  struct racer *r = data;
  struct told *told = &r->told;
  if (told->count == told->room) {
    told->room = told->room * 2 + 64;
    told->texts = realloc(told->texts, told->room * sizeof *told->texts);
  }
  told->texts[told->count++] = strndup(json, size);
  if (r->stop_at_first && strstr(json, "\"t\":\"done\"")) skillrt_stop(atomic_load(&r->run));
}

/* ---- one who opens the run ---- */

static void drive(struct racer *r, struct skillrt *run) {
  while (!skillrt_stopped(run)) {
    struct pollfd readable = {.fd = skillrt_host_fd(r->host), .events = POLLIN};
    int timeout = skillrt_host_timeout_ms(r->host);
    if (skillrt_host_step(r->host) == 0) break;
    poll(&readable, 1, timeout < 0 || timeout > 5 ? 1 : 0);
  }
}

static void perform(struct racer *r) {
  struct skillrt_options options = {.size = sizeof options,
                                    .host = r->host,
                                    .script = r->begins ? SCRIPT : NULL,
                                    .work_dir = r->directory,
                                    .resume = !r->begins,
                                    .answer = r->begins ? NULL : r->answer,
                                    .on_record = on_record,
                                    .data = r};
  r->status[0] = r->reason[0] = r->error[0] = 0;
  struct skillrt *run = skillrt_open(&options, r->error, sizeof r->error);
  r->opened = run != NULL;
  if (!run) {
    atomic_store(&r->over, true);
    return;
  }
  atomic_store(&r->run, run);
  drive(r, run);
  snprintf(r->status, sizeof r->status, "%s", skillrt_status(run));
  snprintf(r->reason, sizeof r->reason, "%s", skillrt_reason(run));
  while (r->delay_ns > 0 && !atomic_load(&r->other->over))
    sched_yield(); /* it may be stopped until it is closed */
  atomic_store(&r->run, NULL);
  skillrt_close(run);
  atomic_store(&r->over, true);
}

/* ---- one who stops it ---- */

static void stop(struct racer *r) {
  struct skillrt *run;
  while (!(run = atomic_load(&r->other->run)) && !atomic_load(&r->other->over))
    sched_yield();
  int64_t at = clock_real_ns() + r->delay_ns;
  while (clock_real_ns() < at)
    ;
  if (run) {
    skillrt_stop(run);
    if (r->delay_ns % 3 == 0) skillrt_stop(run);
  }
  atomic_store(&r->over, true);
}

static void *racing(void *data) {
  struct racer *r = data;
  for (;;) {
    pthread_barrier_wait(&races.begin);
    if (races.quit) return NULL;
    r->part(r);
    pthread_barrier_wait(&races.end);
  }
}

/* ---- a race ---- */

static void hand_over(struct racer *r) {
  for (size_t i = 0; i < r->told.count; i++) {
    audit_told(&races.audit, r->told.texts[i], strlen(r->told.texts[i]));
    free(r->told.texts[i]);
  }
  r->told.count = 0;
}

static void ready(struct racer *r, void (*part)(struct racer *), const char *answer) {
  r->part = part;
  r->answer = answer;
  r->begins = false;
  r->delay_ns = 0;
  atomic_store(&r->over, false);
}

static void race(void) {
  pthread_barrier_wait(&races.begin);
  pthread_barrier_wait(&races.end);
}

/* The main thread begins a run; with `stopped` it is stopped after its first step. On a busy
 * machine it may be complete before it is stopped: then another one is begun. */
static void prepare(bool stopped) {
  struct racer *r = &races.self;
  r->begins = true;
  r->stop_at_first = stopped;
  do {
    scratch_empty(&races.scratch);
    audit_forget(&races.audit);
    for (; r->told.count > 0; r->told.count--)
      free(r->told.texts[r->told.count - 1]);
    perform(r);
  } while (stopped && strcmp(r->status, "completed") == 0);
  r->begins = r->stop_at_first = false;
}

static void wrong(const char *what, int n, const char *more) {
  if (++races.wrong <= TELL) printf("# race %d: %s: %s\n", n, what, more);
}

/* Goes on until it is completed, and looks at what it came to. */
static void survey(int n) {
  struct racer *r = &races.self;
  struct audit_found found = {0};
  r->reason[0] = 0;
  for (int i = 0; i < 4; i++) {
    r->answer = strcmp(r->reason, "waiting_for_person") == 0 ? "yes" : NULL;
    perform(r);
    if (!r->opened && strstr(r->error, "the run is completed")) break;
    if (!r->opened || (strcmp(r->status, "completed") != 0 && strcmp(r->status, "paused") != 0))
      wrong("cannot go on", n, r->opened ? r->reason : r->error);
  }
  for (int i = 0; i < 2; i++)
    hand_over(&races.racers[i]);
  hand_over(r);
  char *summary = audit_summary(&races.audit, races.directory, false, &found);
  if (strcmp(summary, races.wanted) != 0) wrong("came to another end", n, summary);
  races.lost += found.lost;
  races.duplicated += found.duplicated;
  free(summary);
}

/* What an undisturbed run comes to. */
static void undisturbed(void) {
  struct audit_found found;
  free(races.wanted);
  prepare(false);
  races.self.answer = "yes";
  if (strcmp(races.self.status, "paused") == 0) perform(&races.self);
  hand_over(&races.self);
  races.wanted = audit_summary(&races.audit, races.directory, false, &found);
  CHECK(strstr(races.wanted, "\"third\":7") != NULL && found.lost == 0);
}

static bool refused_as_busy(const struct racer *r) {
  return !r->opened && (strstr(r->error, "held by process") || strstr(r->error, "completed") ||
                        strstr(r->error, "no question is open"));
}

/* Both want it; whoever has it not is told why. */
static void race_for_it(int n, const char *answer) {
  prepare(!answer);
  for (int i = 0; i < 2; i++)
    ready(&races.racers[i], perform, i == 0 ? answer : NULL);
  race();
  for (int i = 0; i < 2; i++) {
    const struct racer *r = &races.racers[i];
    if (!r->opened && !refused_as_busy(r)) wrong("refused", n, r->error);
    races.busy += !r->opened;
  }
  survey(n);
}

static uint64_t draw(void) {
  races.seed = races.seed * 6364136223846793005u + 1442695040888963407u;
  return races.seed >> 33;
}

/* Stopped somewhere between its opening and some time after its end. */
static void race_to_stop(int n, int64_t longest_ns) {
  struct racer *runner = &races.racers[0], *stopper = &races.racers[1];
  bool anew = draw() % 2;
  if (!anew) prepare(true);
  if (anew) {
    scratch_empty(&races.scratch);
    audit_forget(&races.audit);
  }
  ready(runner, perform, NULL);
  ready(stopper, stop, NULL);
  runner->begins = anew;
  runner->delay_ns = stopper->delay_ns = 1 + (int64_t)(draw() % (uint64_t)longest_ns);
  race();
  bool paused = strcmp(runner->status, "paused") == 0 && strcmp(runner->reason, "user_exit") == 0;
  races.busy += paused;
  if (!paused && strcmp(runner->status, "completed") != 0)
    wrong(runner->opened ? runner->status : "refused", n,
          runner->opened ? runner->reason : runner->error);
  survey(n);
}

/* ---- all of them ---- */

static int how_many(void) {
  const char *asked = getenv("RACES");
  const char *mode = getenv("SKILLRT_MODE");
  if (asked && *asked) return atoi(asked);
  if (!getenv("SKILLRT_NIGHTLY")) return mode && strcmp(mode, "asan") == 0 ? 20 : 100;
  return mode && strcmp(mode, "asan") == 0 ? 200 : 1000;
}

static void open_all(void) {
  char error[512];
  scratch_make(&races.scratch);
  snprintf(races.directory, sizeof races.directory, "%.4000s/run", races.scratch.path);
  audit_open(&races.audit);
  pthread_barrier_init(&races.begin, NULL, 3);
  pthread_barrier_init(&races.end, NULL, 3);
  struct racer *all[] = {&races.racers[0], &races.racers[1], &races.self};
  for (int i = 0; i < 3; i++) {
    all[i]->directory = races.directory;
    all[i]->other = i < 2 ? all[1 - i] : NULL;
    all[i]->host = skillrt_host_open(NULL, error, sizeof error);
    CHECK(all[i]->host != NULL);
  }
  for (int i = 0; i < 2; i++)
    pthread_create(&races.racers[i].thread, NULL, racing, &races.racers[i]);
}

static void close_all(void) {
  races.quit = true;
  pthread_barrier_wait(&races.begin);
  for (int i = 0; i < 2; i++)
    pthread_join(races.racers[i].thread, NULL);
  struct racer *all[] = {&races.racers[0], &races.racers[1], &races.self};
  for (int i = 0; i < 3; i++) {
    skillrt_host_close(all[i]->host);
    free(all[i]->told.texts);
  }
  audit_close(&races.audit);
  scratch_remove(&races.scratch);
  free(races.wanted);
}

static void counted(int count) {
  CHECK(races.wrong == 0 && races.lost == 0 && races.duplicated == 0);
  CHECK(races.busy > 0); /* they met */
  printf("# %d races, %ld met\n", count, races.busy);
  races.busy = races.wrong = races.lost = races.duplicated = 0;
}

int main(void) {
  const char *asked = getenv("CRASH_SEED");
  int count = how_many();
  races.seed = asked ? (uint64_t)atoll(asked) : (uint64_t)(clock_real_ns() / 1000 % 100000);
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("# CRASH_SEED=%lu\n", (unsigned long)races.seed);
  TEST("two who resume a run: one has it, the other is told so, and no step is made twice") {
    open_all();
    undisturbed();
    for (int n = 0; n < count; n++)
      race_for_it(n, NULL);
    counted(count);
  }
  TEST("one who answers and one who resumes: the answer is taken once, or was in vain") {
    setenv("RACE_ASK", "1", 1);
    undisturbed();
    for (int n = 0; n < count; n++)
      race_for_it(n, "yes");
    unsetenv("RACE_ASK");
    counted(count);
  }
  TEST("a stop from another thread, whatever the run is doing, loses and repeats nothing") {
    int64_t from = clock_real_ns();
    setenv("RACE_COMMAND", "1", 1);
    undisturbed();
    int64_t longest = (clock_real_ns() - from) * 3 / 4;
    for (int n = 0; n < count; n++)
      race_to_stop(n, longest);
    counted(count);
    close_all();
  }
  return check_finish();
}
