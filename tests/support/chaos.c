/* chaos.c: see chaos.h. */
#include "support/chaos.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "skillrt.h"
#include "support/clock.h"
#include "support/faulty_sys.h"

enum { SLOTS = 256, REFUSALS = 200, TEXT = 512, SHAPES = 8, PHASES = 6, WAITS = 8 };
static const int64_t day_ms = 86400000;

struct slot {
  int number, told, refusals;
  struct skillrt *volatile run;
  bool over;
  int64_t again_ms; /* not opened before */
  char reason[64];
};

static struct {
  const struct chaos *plan;
  struct slot slots[SLOTS];
  int count;
  struct skillrt_host *host;
  struct faulty *faulty;
  struct sys below;
  uint64_t seed;
  int64_t full_until_ms, harm_at_ms;
  volatile sig_atomic_t stopping;
} w;

void chaos_path(const struct chaos *plan, int number, const char *what, char to[PATH_MAX]) {
  snprintf(to, PATH_MAX, "%.3000s/%d.%s", plan->base, number, what);
}

bool chaos_is_there(const struct chaos *plan, int number, const char *what) {
  char path[PATH_MAX];
  chaos_path(plan, number, what, path);
  return access(path, F_OK) == 0;
}

static unsigned draw(unsigned below) {
  w.seed = w.seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((w.seed >> 33) % below);
}

static int64_t now_ms(void) {
  return clock_real_ns() / 1000000;
}

/* One line, whole, whoever else writes. */
static void note(const char *path, const char *what, const char *text) {
  char line[TEXT + 64];
  int length = snprintf(line, sizeof line, "%s %.*s\n", what, TEXT, text);
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, (size_t)length) != length) perror(path);
  close(fd);
}

static void wrong(const struct slot *slot, const char *what, const char *text) {
  char path[PATH_MAX];
  chaos_path(w.plan, slot->number, "wrong", path);
  note(path, what, text);
}

/* ---- the world ---- */

static int slow_sync(const struct sys *sys, int fd) {
  (void)sys;
  unsigned draw_of_this =
      (unsigned)(clock_real_ns() / 1000 % 100); /* on a thread of the pool, too */
  if (!w.plan->calm && draw_of_this < 5) {
    usleep(draw_of_this == 0 ? 150000 : 10000);
    w.plan->counts->slow++;
  }
  return sys_real()->fdatasync(sys_real(), fd);
}

static void fill_disk(int64_t now) {
  faulty_disk_full(w.faulty, 1 + draw(20));
  w.full_until_ms = now + 30 + draw(200);
}

static void make_world(void) {
  w.below = *sys_real();
  w.below.fdatasync = w.below.fsync = slow_sync;
  w.faulty = faulty_new(&w.below);
  int64_t off = w.plan->calm ? day_ms : (int64_t)draw(2 * (unsigned)day_ms) - day_ms;
  faulty_clock(w.faulty, sys_real()->wall_ms(sys_real()) + off, 1);
  if (!w.plan->calm && draw(4) == 0) fill_disk(now_ms());
}

static void harm(void) {
  int64_t now = now_ms();
  if (w.full_until_ms && now > w.full_until_ms) {
    faulty_disk_full(w.faulty, UINT64_MAX);
    w.full_until_ms = 0;
  }
  if (w.plan->calm || now < w.harm_at_ms) return; /* by time: a busy machine takes few turns */
  w.harm_at_ms = now + draw(100);
  switch (draw(4)) {
  case 0:
    fill_disk(now);
    break;
  case 1:
  case 2: {
    bool back = draw(2) != 0;
    faulty_clock_skip(w.faulty, back ? -(int64_t)draw(3600000) : (int64_t)draw(3600000));
    (back ? &w.plan->counts->back : &w.plan->counts->forward)[0]++;
    break;
  }
  default: {
    struct slot *slot = &w.slots[draw((unsigned)w.count)];
    if (slot->run) skillrt_stop(slot->run);
  }
  }
}

static void on_signal(int number) {
  (void)number;
  w.stopping = 1;
  for (int i = 0; i < w.count; i++) {
    struct skillrt *run = w.slots[i].run;
    if (run) skillrt_stop(run);
  }
}

/* ---- runs ---- */

static void on_record(void *data, const char *json, size_t size) {
  const struct slot *slot = data;
  char line[4096];
  struct chaos_counts *counts = w.plan->counts;
  counts->events += memmem(json, size, "\"took\":", 7) != NULL;
  counts->subs += memmem(json, size, "\"t\":\"run\"", 9) && memmem(json, size, "\"sub\":", 6);
  counts->replies += memmem(json, size, "\"code\":200", 10) != NULL;
  if (size >= sizeof line) return; /* large ones are told in full by the journal only */
  memcpy(line, json, size);
  line[size] = '\n';
  if (write(slot->told, line, size + 1) < 0) perror("told");
}

static void open_run(struct slot *slot) {
  char directory[PATH_MAX], book[PATH_MAX], told[PATH_MAX], input[4 * PATH_MAX], error[TEXT] = "";
  chaos_path(w.plan, slot->number, "run", directory);
  chaos_path(w.plan, slot->number, "book", book);
  chaos_path(w.plan, slot->number, "told", told);
  int shape = 1 + slot->number % SHAPES;
  bool phases = shape == PHASES, resume = access(directory, F_OK) == 0;
  snprintf(input, sizeof input,
           "{\"shape\":%d,\"number\":%d,\"server\":\"http://127.0.0.1:%d\",\"program\":\"%s\","
           "\"book\":\"%s\",\"told\":\"%s\"}",
           shape, w.plan->round * 1000 + slot->number, w.plan->port, w.plan->program, book, told);
  struct skillrt_options options = {.size = sizeof options,
                                    .host = w.host,
                                    .script = phases ? "tests/run/skills/chaos_phases.lua"
                                                     : "tests/run/skills/chaos_steps.lua",
                                    .work_dir = directory,
                                    .wait = shape == WAITS && draw(2),
                                    .on_record = on_record,
                                    .data = slot};
  options.resume = resume;
  if (resume) options.decide = "skip";
  if (!resume) options.input_json = input;
  if (resume && strcmp(slot->reason, "waiting_for_person") == 0) options.answer = "yes";
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run && resume && strstr(error, "contains no ")) { /* it died before it was anything */
    options.resume = false;
    options.decide = options.answer = NULL;
    options.input_json = input;
    run = skillrt_open(&options, error, sizeof error);
  }
  slot->run = run;
  slot->reason[0] = 0;
  if (run && w.stopping) skillrt_stop(run); /* the signal came before it was there */
  if (run) {
    slot->refusals = 0;
    return;
  }
  slot->over = strstr(error, "the run is completed") != NULL;
  w.plan->counts->full += strstr(error, "No space left") != NULL;
  slot->again_ms = now_ms() + 5;
  if (!slot->over && w.plan->calm && ++slot->refusals > REFUSALS) {
    wrong(slot, "cannot be opened:", error);
    slot->over = true;
  }
}

static void run_stopped(struct slot *slot) {
  struct skillrt *run = slot->run;
  enum skillrt_status_code status = skillrt_status_code(run);
  snprintf(slot->reason, sizeof slot->reason, "%s", skillrt_reason(run));
  slot->over = status != SKILLRT_PAUSED;
  w.plan->counts->full += strcmp(slot->reason, "store_failed") == 0;
  slot->again_ms = now_ms() + (w.plan->calm ? 0 : draw(30));
  if (status == SKILLRT_FAILED || status == SKILLRT_ABORTED ||
      strcmp(slot->reason, "script_error") == 0 || strcmp(slot->reason, "internal") == 0)
    wrong(slot, slot->reason, skillrt_message(run));
  slot->run = NULL;
  skillrt_close(run);
}

/* A call in doubt is skipped, as a resume says by `decide`. */
static void decide(struct skillrt *run) {
  char error[TEXT];
  const char *list = skillrt_questions_json(run, NULL);
  const char *number = list ? strstr(list, "\"question\":") : NULL;
  if (number) skillrt_answer(run, atoll(number + 11), "\"skip\"", NULL, error, sizeof error);
}

/* The three that a run of that shape waits for, again and again: each counts once. */
static void give_events(void) {
  char id[8], error[TEXT];
  for (int i = 0; i < w.count; i++) {
    const struct slot *slot = &w.slots[i];
    if (!slot->run || slot->number % SHAPES != WAITS - 1 || draw(8) != 0) continue;
    bool parked = skillrt_parked(slot->run);
    w.plan->counts->parked += parked;
    if (parked) decide(slot->run);
    snprintf(id, sizeof id, "e%u", draw(3));
    skillrt_event(slot->run, "go", "1", id, error, sizeof error); /* a full disk refuses it */
  }
}

static void open_those_that_wait(void) {
  int64_t now = now_ms();
  for (int i = 0; i < w.count && !w.stopping; i++)
    if (!w.slots[i].run && !w.slots[i].over && w.slots[i].again_ms <= now) open_run(&w.slots[i]);
}

/* How many are not over, or where we are stopped, not closed. */
static int close_those_that_stopped(void) {
  int left = 0;
  for (int i = 0; i < w.count; i++) {
    struct slot *slot = &w.slots[i];
    if (slot->run && skillrt_stopped(slot->run)) run_stopped(slot);
    left += w.stopping ? slot->run != NULL : !slot->over;
  }
  return left;
}

static void prepare_slots(int worker) {
  char path[PATH_MAX];
  for (int n = worker; n < w.plan->runs && w.count < SLOTS; n += w.plan->workers) {
    if (chaos_is_there(w.plan, n, "over")) continue;
    struct slot *slot = &w.slots[w.count++];
    *slot = (struct slot){.number = n};
    chaos_path(w.plan, n, "told", path);
    slot->told = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
}

static void mark_those_over(void) {
  char path[PATH_MAX];
  for (int i = 0; i < w.count; i++) {
    close(w.slots[i].told);
    chaos_path(w.plan, w.slots[i].number, "over", path);
    if (w.slots[i].over) note(path, "over", "");
  }
}

/* Beside our program: "<build>/tests/test_chaos" and "<build>/lib/skillrt/http.so". */
static void chaos_module(const struct chaos *plan, char to[PATH_MAX]) {
  snprintf(to, PATH_MAX, "%.3000s", plan->program);
  char *slash = strstr(to, "/tests/test_");
  if (slash) snprintf(slash, (size_t)(to + PATH_MAX - slash), "/lib/skillrt/http.so");
}

int chaos_work(const struct chaos *plan, int worker, uint64_t seed, const sigset_t *signals) {
  char error[TEXT];
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  w.plan = plan;
  w.seed = seed;
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  sigprocmask(SIG_UNBLOCK, signals, NULL);
  make_world();
  struct skillrt_host_options options = {
      .size = sizeof options, .never_block = draw(2), .sys = faulty_sys(w.faulty), .park_ms = 1};
  char module[PATH_MAX];
  chaos_module(plan, module);
  options.http_module = module;
  w.host = skillrt_host_open(&options, error, sizeof error);
  if (!w.host) return 1;
  prepare_slots(worker);
  for (;;) {
    open_those_that_wait();
    skillrt_host_step(w.host);
    if (close_those_that_stopped() == 0) break;
    give_events();
    harm();
    struct pollfd readable = {.fd = skillrt_host_fd(w.host), .events = POLLIN};
    int timeout = skillrt_host_timeout_ms(w.host);
    poll(&readable, 1, timeout < 0 || timeout > 5 ? 5 : timeout);
  }
  skillrt_host_close(w.host);
  mark_those_over();
  bool clean = faulty_outstanding(w.faulty) == 0 && faulty_open_files(w.faulty) == 0;
  if (!clean)
    printf("# worker %d: %zu bytes, %d descriptors left\n", worker, faulty_outstanding(w.faulty),
           faulty_open_files(w.faulty));
  faulty_free(w.faulty);
  return !clean;
}

/* ---- an agent ---- */

static bool holds(const char *path, const char *text, size_t length) {
  char bytes[1 << 16];
  size_t kept = 0;
  bool found = false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  for (ssize_t count;
       !found && fd >= 0 && (count = read(fd, bytes + kept, sizeof bytes - kept)) > 0;) {
    size_t have = kept + (size_t)count;
    found = memmem(bytes, have, text, length) != NULL;
    kept = have < length ? have : length; /* it may lie across two reads */
    memmove(bytes, bytes + have - kept, kept);
  }
  if (fd >= 0) close(fd);
  return found;
}

int chaos_agent(char **argv) {
  const char *name = argv[1], *book = argv[2], *told = argv[3];
  char lock[PATH_MAX], text[TEXT];
  snprintf(lock, sizeof lock, "%s.%s", book, name);
  int held = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (held < 0 || flock(held, LOCK_EX | LOCK_NB) < 0) note(book, "beside", name);
  int length = snprintf(text, sizeof text, "\"%s=ok\"", name);
  if (holds(told, text, (size_t)length)) note(book, "again", name);
  length = snprintf(text, sizeof text, "start %s\n", name);
  bool first = !holds(book, text, (size_t)length);
  note(book, "start", name);
  usleep(strncmp(name, "slow", 4) == 0 ? 40000 : 1000 + (unsigned)(clock_real_ns() / 64 % 24000));
  if (strstr(name, "shaky") && first) raise(SIGKILL);
  printf("%s=ok", name);
  return fflush(stdout) ? 1 : 0;
}
