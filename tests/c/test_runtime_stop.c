/* test_runtime_stop.c: one run of real parts is stopped while its disk hangs and while its programs
 * take their time; and the time is told from the turn, never from inside a callback of libuv. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/runtime.h"
#include "engine/transports.h"
#include "support/check.h"
#include "support/fake_policy.h"
#include "support/fake_sys.h"
#include "support/scratch.h"

enum { HANG_MS = 1000, MOMENT_MS = 100, TRIES = 5 };

static struct fake_sys world;
static struct loop *loop;
static struct error error;
static struct scratch folder;
static struct fake_log records;
static struct fake_policy policy;
static struct runtime *run;

static double now_ms(void) {
  return (double)sys_real()->mono_ns(sys_real()) / 1e6;
}

/* ---- what happened when ---- */

static double hung_at, hung_until, stopped_at, termed_at;
static atomic_int spawned_late;
static atomic_bool may_hang;

static int slow_fdatasync(const struct sys *sys, int fd) {
  (void)sys;
  if (atomic_exchange(&may_hang, false)) {
    hung_at = now_ms();
    usleep(HANG_MS * 1000);
    hung_until = now_ms();
  }
  return sys_real()->fdatasync(sys_real(), fd);
}

static int noted_kill(const struct sys *sys, pid_t pid, int number) {
  (void)sys;
  if (number == SIGTERM && !termed_at) termed_at = now_ms();
  return sys_real()->kill_group(sys_real(), pid, number);
}

static int noted_spawn(const struct sys *sys, const struct sys_spawn *wish, pid_t *pid, int *end) {
  (void)sys;
  if (stopped_at) spawned_late++;
  return sys_real()->spawn(sys_real(), wish, pid, end);
}

static void setup(void) {
  hung_at = hung_until = stopped_at = termed_at = 0;
  spawned_late = 0;
  fake_sys_init(&world);
  world.sys.fdatasync = slow_fdatasync;
  world.sys.kill_group = noted_kill;
  world.sys.spawn = noted_spawn;
  CHECK(loop_open(&world.sys, &loop, &error));
  scratch_make(&folder);
  records = (struct fake_log){0};
  fake_policy_init(&policy, &records);
}

static bool start(const char *const *argv, uint64_t total, uint64_t width) {
  policy.kind = TASK_PROCESS;
  policy.argv = argv;
  policy.total = total;
  policy.width = width;
  struct runtime_options options = {.sys = &world.sys,
                                    .loop = loop,
                                    .policy = &policy.policy,
                                    .url = scratch_path(&folder, "run"),
                                    .store = {.mode = STORE_CREATE, .run_id = "test"}};
  return runtime_open(&options, &run, NULL, &error);
}

static void teardown(void) {
  runtime_close(run);
  loop_close(loop);
  CHECK(world.live == 0);
  scratch_remove(&folder);
}

/* ---- a disk that hangs ---- */

static void *stop_when_it_hangs(void *data) {
  (void)data;
  while (atomic_load(&may_hang))
    usleep(1000);
  usleep(50000);
  stopped_at = now_ms();
  runtime_stop(run, "user_exit");
  return NULL;
}

/* The first program ends at once, and its result is what the disk hangs on; the second goes on. */
static double stop_while_it_hangs(void) {
  char go[600];
  const char *script = "mkdir \"$0\" 2>/dev/null && exec sleep 0.2; exec sleep 30";
  pthread_t thread;
  setup();
  snprintf(go, sizeof go, "%s", scratch_path(&folder, "go"));
  const char *const argv[] = {"sh", "-c", script, go, NULL};
  CHECK(start(argv, 5, 2));
  double until = now_ms() + 150; /* both run, what came before is durable */
  while (now_ms() < until) {
    struct pollfd fd = {.fd = loop_fd(loop), .events = POLLIN};
    poll(&fd, 1, 10);
    loop_turn(loop, false);
  }
  atomic_store(&may_hang, true);
  CHECK(pthread_create(&thread, NULL, stop_when_it_hangs, NULL) == 0);
  runtime_wait(run);
  double ended = now_ms();
  pthread_join(thread, NULL);
  CHECK_STR(runtime_status(run), "paused");
  CHECK_STR(runtime_reason(run), "user_exit");
  CHECK(spawned_late == 0);
  CHECK(hung_until > stopped_at && ended >= hung_until);
  CHECK(ended - hung_until < 2000);
  CHECK(termed_at > 0);
  double took = termed_at - stopped_at;
  teardown();
  return took;
}

/* ---- the time ---- */

static bool in_turn;
static int ticks, misplaced;

static void probe_turned(struct loop_member *member) {
  (void)member;
  in_turn = true;
}

static void look_at_tick(void *self) {
  (void)self;
  ticks++;
  if (!in_turn) misplaced++;
}

static void test_ticks(void) {
  TEST("a tick is told from the turn, not from inside a callback of libuv") {
    struct loop_member probe;
    const char *const argv[] = {"sleep", "0.45", NULL};
    setup();
    policy.policy.tick = look_at_tick;
    loop_join(loop, &probe, probe_turned);
    CHECK(start(argv, 1, 1));
    while (!runtime_stopped(run)) {
      in_turn = false;
      loop_ready(&probe); /* the first to be turned, behind libuv */
      loop_turn(loop, true);
    }
    CHECK(ticks >= 2 && misplaced == 0);
    loop_leave(&probe);
    teardown();
  }
}

/* ---- modules ---- */

static void test_modules(void) {
  TEST("http.so stays loaded when its loop is closed: a thread that looks a name up may be in it") {
    const char *build = getenv("SKILLRT_BUILD");
    char path[512];
    snprintf(path, sizeof path, "%s/lib/skillrt/http.so", build ? build : "build/release");
    setup();
    CHECK(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
    CHECK(transports_get(loop_transports(loop), TASK_HTTP, path, &error));
    run = NULL;
    teardown();
    CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
  }
}

int main(void) {
  TEST(
      "while the disk hangs a stop starts nothing, reaches the programs in 100 ms and ends the run "
      "when the disk is back (F49)") {
    double best = 1e9; /* of a few: other programs may hold the processor */
    for (int i = 0; i < TRIES && best > MOMENT_MS; i++) {
      double took = stop_while_it_hangs();
      best = took < best ? took : best;
    }
    CHECK(best <= MOMENT_MS);
  }
  test_ticks();
  test_modules();
  return check_finish();
}
