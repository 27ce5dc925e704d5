/* test_chaos.c: a day in a minute. Many mixed runs at once in a few processes, which are killed,
 * stopped and hung up at random, while their disks are full, their syncs slow and their clocks
 * jump (counted: a round without any of each is none); they call programs and a server, run skills
 * inside, wait for events, awake and back in their books; then peace, all come to their end, and
 * each journal is audited: nothing that was told is lost, no step ended twice, and the book of the
 * called programs, who know nothing of skillrt, has none that was repeated and may not be. 24 runs
 * for 3 s; in the full set 200 for 45 s. CHAOS_RUNS, CHAOS_SECONDS and CRASH_SEED ask for others.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/audit.h"
#include "support/chaos.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/http_server.h"
#include "support/scratch.h"

enum { WORKERS = 4, PEACE_SECONDS = 240, TELL = 5, MORE_SECONDS = 30 };

static struct chaos chaos;
static pid_t workers[WORKERS];
static uint64_t seed, spawned;
static long kills, stops, hangups, sick;

static unsigned draw(unsigned below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((seed >> 33) % below);
}

static void start(int worker) {
  uint64_t seed_of_it = seed + ++spawned;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  fflush(stdout);
  sigprocmask(SIG_BLOCK, &signals, NULL); /* until the worker has its handlers */
  workers[worker] = fork();
  if (workers[worker] == 0) _exit(chaos_work(&chaos, worker, seed_of_it, &signals));
  sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

/* True where it has ended: with nothing wrong, or killed by us. */
static bool ended(int worker, bool wait) {
  int status;
  pid_t pid = workers[worker];
  if (pid <= 0) return true;
  if (waitpid(pid, &status, wait ? 0 : WNOHANG) != pid) return false;
  workers[worker] = 0;
  bool well = WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL;
  if (!well && ++sick <= TELL)
    printf("# worker %d: exit code or signal %d\n", worker,
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return true;
}

/* One of them is hit, and another takes up what it left. */
static void hit(int worker) {
  static const int signals[] = {SIGKILL, SIGKILL, SIGTERM, SIGHUP};
  int number = signals[draw(4)];
  if (ended(worker, false)) return; /* all its runs are over */
  kill(workers[worker], number);
  ended(worker, true);
  kills += number == SIGKILL;
  stops += number == SIGTERM;
  hangups += number == SIGHUP;
  start(worker);
}

static bool all_ended(void) {
  int left = 0;
  for (int i = 0; i < chaos.workers; i++)
    left += !ended(i, false);
  return left == 0;
}

/* Until then, or until all runs are over in spite of it. */
static void storm(int64_t end) {
  chaos.calm = false;
  for (int i = 0; i < chaos.workers; i++)
    start(i);
  while (clock_real_ns() < end && !all_ended()) {
    usleep(10000 + draw(400000 / (unsigned)chaos.workers));
    hit((int)draw((unsigned)chaos.workers));
  }
  for (int i = 0; i < chaos.workers; i++) {
    if (workers[i] > 0) kill(workers[i], SIGKILL);
    ended(i, true);
  }
}

static bool peace(void) {
  int64_t end = clock_real_ns() + PEACE_SECONDS * INT64_C(1000000000);
  chaos.calm = true;
  for (int i = 0; i < chaos.workers; i++)
    start(i);
  while (!all_ended()) {
    usleep(10000);
    if (clock_real_ns() < end) continue;
    for (int i = 0; i < chaos.workers; i++)
      if (workers[i] > 0) kill(workers[i], SIGKILL);
    return false;
  }
  return true;
}

/* ---- the server of the runs' HTTP calls, in a process of its own ---- */

static pid_t server;

static void start_server(struct scratch *s) {
  int ends[2];
  if (pipe(ends) < 0) return;
  server = fork();
  if (server == 0) {
    struct http_server *http = http_server_start(scratch_path(s, "http.log"), NULL, 0);
    int port = http ? http_server_port(http) : 0;
    if (write(ends[1], &port, sizeof port) < 0) _exit(1);
    for (;;)
      pause();
  }
  if (read(ends[0], &chaos.port, sizeof chaos.port) < 0) chaos.port = 0;
  close(ends[0]);
  close(ends[1]);
}

static void stop_server(void) {
  if (server <= 0) return;
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
}

/* ---- the audit ---- */

static struct {
  long lost, duplicated, different, repeated, beside, unknown, starts, wrong, runs;
} sum;

static void tell(int number, long count, const char *what, const char *more) {
  if (count <= TELL) printf("# run %d: %s: %.300s\n", number, what, more);
}

static char *text_of(struct scratch *s, int number, const char *what) {
  char name[64];
  snprintf(name, sizeof name, "%d.%s", number, what);
  char *text = scratch_read(s, name, NULL);
  return text ? text : strdup("");
}

static int count_of(const char *book, const char *line) {
  int count = 0;
  for (const char *at = book; (at = strstr(at, line)); at += strlen(line))
    count++;
  return count;
}

/* What the programs wrote: who began how often. */
static void audit_book(int number, const char *book, const char *told) {
  char *copy = strdup(book), *save, line[128];
  for (char *entry = strtok_r(copy, "\n", &save); entry; entry = strtok_r(NULL, "\n", &save)) {
    const char *name = strchr(entry, ' ') + 1;
    if (strncmp(entry, "again", 5) == 0) tell(number, ++sum.repeated, "called again", name);
    if (strncmp(entry, "beside", 6) == 0) tell(number, ++sum.beside, "called beside itself", name);
    if (strncmp(entry, "start", 5) != 0) continue;
    sum.starts++;
    snprintf(line, sizeof line, "start %s\n", name);
    if (strncmp(name, "once", 4) == 0 && count_of(book, line) > 1)
      tell(number, ++sum.repeated, "may not be repeated", name);
  }
  free(copy);
  for (const char *at = told; (at = strstr(at, "=ok\"")); at++) { /* who is said to have answered */
    const char *from = at;
    while (from > told && from[-1] != '"')
      from--;
    snprintf(line, sizeof line, "start %.*s\n", (int)(at - from), from);
    if (!strstr(book, line)) tell(number, ++sum.unknown, "answered, but never began", line);
  }
}

static void audit_run(struct scratch *s, struct audit *a, int number) {
  char directory[PATH_MAX];
  struct audit_found found = {0};
  char *book = text_of(s, number, "book"), *told = text_of(s, number, "told");
  char *wrong = text_of(s, number, "wrong");
  if (*wrong) tell(number, ++sum.wrong, "was wrong", wrong);
  audit_book(number, book, told);
  audit_forget(a);
  for (char *line = told, *end; (end = strchr(line, '\n')); line = end + 1)
    audit_told(a, line, (size_t)(end - line)); /* one that was cut by a kill is none */
  chaos_path(&chaos, number, "run", directory);
  char *summary = audit_summary(a, directory, true, &found);
  if (summary[0] != '{' || !strstr(summary, "\"status\":\"completed\""))
    tell(number, ++sum.different, "came to another end", summary);
  if (found.lost) tell(number, sum.lost += found.lost, "lost", directory);
  if (found.duplicated) tell(number, sum.duplicated += found.duplicated, "a step ended twice", "");
  free(summary);
  free(book);
  free(told);
  free(wrong);
}

static void audit_all(struct scratch *s) {
  struct audit a;
  audit_open(&a);
  for (int n = 0; n < chaos.runs; n++)
    audit_run(s, &a, n);
  audit_close(&a);
  sum.runs += chaos.runs;
}

/* What was posted, was once: "<number> <connection> POST <target> ..." */
static long posted_again(struct scratch *s) {
  char *log = scratch_read(s, "http.log", NULL);
  long again = 0;
  for (char *at = log; at && (at = strstr(at, " POST "));) {
    at += 6;
    size_t length = strcspn(at, " ");
    char *other = at + length;
    while ((other = strstr(other, " POST ")) && strncmp(other + 6, at, length + 1) != 0)
      other += 6;
    if (other) tell(-1, ++again, "posted again", at);
  }
  free(log);
  return again;
}

static bool all_came(void) {
  const struct chaos_counts *c = chaos.counts;
  return c->full && c->slow && c->forward && c->back && c->events && c->subs && c->replies &&
         c->parked && kills && stops && hangups;
}

static int asked(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

int main(int argc, char **argv) {
  struct scratch s, logs;
  if (argc > 4 && strcmp(argv[1], "--agent") == 0) return chaos_agent(argv + 1);
  bool full = getenv("SKILLRT_NIGHTLY") != NULL, slow = false;
  const char *mode = getenv("SKILLRT_MODE");
  slow = mode && strcmp(mode, "asan") == 0;
  chaos.runs = asked("CHAOS_RUNS", full ? slow ? 60 : 200 : slow ? 12 : 24);
  int seconds = asked("CHAOS_SECONDS", full ? slow ? 20 : 45 : 3);
  chaos.workers = chaos.runs < 50 ? 2 : WORKERS;
  uint64_t first = seed =
      (uint64_t)asked("CRASH_SEED", (int)(clock_real_ns() / 1000000 % 100000) + 1);
  setvbuf(stdout, NULL, _IOLBF, 0);
  scratch_make(&s);
  scratch_make(&logs);
  snprintf(chaos.base, sizeof chaos.base, "%s", s.path);
  chaos.counts =
      mmap(NULL, sizeof *chaos.counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ssize_t length = readlink("/proc/self/exe", chaos.program, sizeof chaos.program - 1);
  TEST("whatever comes over many runs, nothing is lost, and nothing repeated that may not be "
       "(F40)") {
    long again = 0;
    CHECK(length > 0);
    start_server(&logs);
    CHECK(chaos.port > 0);
    int64_t give_up = clock_real_ns() + (seconds + MORE_SECONDS) * INT64_C(1000000000);
    for (int64_t end = clock_real_ns() + seconds * INT64_C(1000000000);;) { /* round by round */
      storm(end);
      CHECK(peace());
      audit_all(&s);
      again = posted_again(&logs);
      if (clock_real_ns() >= (all_came() ? end : give_up)) break;
      scratch_empty(&s);
      chaos.round++;
      if (clock_real_ns() >= end) end = clock_real_ns() + INT64_C(1000000000);
    }
    CHECK(sick == 0 && sum.wrong == 0);
    CHECK(sum.lost == 0 && sum.duplicated == 0 && sum.different == 0);
    CHECK(again == 0 && sum.repeated == 0 && sum.beside == 0 && sum.unknown == 0);
    CHECK(sum.starts > sum.runs);
    CHECK(all_came()); /* chaos without full disks, slow syncs, jumps ... is none */
  }
  stop_server();
  scratch_remove(&s);
  scratch_remove(&logs);
  const struct chaos_counts *c = chaos.counts;
  printf(
      "# %ld full disks, %ld slow syncs, %ld and %ld jumps, %ld events, %ld sub-runs, %ld replies, "
      "%ld parked\n",
      c->full, c->slow, c->forward, c->back, c->events, c->subs, c->replies, c->parked);
  printf("# %ld runs, %ld calls, %ld kills, %ld stops, %ld hangups, CRASH_SEED=%lu\n", sum.runs,
         sum.starts, kills, stops, hangups, (unsigned long)first);
  return check_finish();
}
