/* test_runtime.c: one run put together from its real parts: store, loop, timers, processes.
 * Only the policy is a fake. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine/runtime.h"
#include "support/check.h"
#include "support/fake_policy.h"
#include "support/fake_sys.h"
#include "support/scratch.h"

enum { RUNS = 1000, PATIENCE_MS = 20000 };

struct run {
  struct fake_log log;
  struct fake_policy policy;
  struct runtime *runtime;
};

static struct fake_sys world;
static struct loop *loop;
static struct error error;
static struct run one, two;
static struct scratch folder;

static void setup(void) {
  fake_sys_init(&world);
  CHECK(loop_open(&world.sys, &loop, &error));
  scratch_make(&folder);
}

static void teardown(void) {
  loop_close(loop);
  CHECK(world.live == 0);
  scratch_remove(&folder);
}

static void prepare(struct run *run, enum task_kind kind, uint64_t total, uint64_t width) {
  *run = (struct run){0};
  fake_policy_init(&run->policy, &run->log);
  run->policy.kind = kind;
  run->policy.total = total;
  run->policy.width = width;
}

static bool start(struct run *run, const char *name) {
  struct runtime_options options = {.sys = &world.sys,
                                    .loop = loop,
                                    .policy = &run->policy.policy,
                                    .url = name ? scratch_path(&folder, name) : NULL,
                                    .store = {.mode = STORE_CREATE, .run_id = "test"}};
  return runtime_open(&options, &run->runtime, NULL, &error);
}

static void check_end(struct run *run, const char *status, const char *reason) {
  CHECK_STR(runtime_status(run->runtime), status);
  CHECK_STR(runtime_reason(run->runtime), reason);
}

static double now_ms(void) {
  return (double)sys_real()->mono_ns(sys_real()) / 1e6;
}

static const char *const true_argv[] = {"true", NULL}, *const sleep_argv[] = {"sleep", "30", NULL};

static const char *const short_sleep_argv[] = {"sleep", "0.35", NULL};
static int ticks;

static void count_tick(void *self) {
  (void)self;
  ticks++;
}

static void go_on_at_second(void *data, const char *question) {
  struct fake_policy *policy = data;
  if (policy->choices != 1 || strcmp(question, "choose") != 0) return;
  policy->width = 1;
  policy->wait_ms = -1;
}

static void whole(void) {
  TEST("a run in memory goes from its first step to its end") {
    setup();
    prepare(&one, TASK_TIMER, 5, 2);
    CHECK(start(&one, NULL));
    CHECK_STR(runtime_status(one.runtime), "");
    runtime_wait(one.runtime);
    check_end(&one, "completed", "task_completed");
    CHECK(loop_members(loop) == 0); /* it keeps nobody else from syncing inline */
    runtime_wait(one.runtime);
    runtime_close(one.runtime);
    teardown();
  }
  TEST("a durable run of processes costs one fdatasync a step (R193)") {
    setup();
    prepare(&one, TASK_PROCESS, 10, 1);
    one.policy.argv = true_argv;
    CHECK(start(&one, "run"));
    struct store *store = runtime_store(one.runtime);
    uint64_t before = store->ops->syncs(store);
    runtime_wait(one.runtime);
    check_end(&one, "completed", "task_completed");
    CHECK(store->ops->syncs(store) - before == 10 + 1); /* the first intent, ten results */
    CHECK(fake_log_count(&one.log, "save(") >= 2);
    runtime_close(one.runtime);
    teardown();
  }
  TEST("a policy with a tick is told that time goes by while a step waits, and only then") {
    setup();
    ticks = 0;
    prepare(&one, TASK_PROCESS, 1, 1);
    one.policy.argv = short_sleep_argv;
    one.policy.policy.tick = count_tick;
    CHECK(start(&one, NULL));
    runtime_wait(one.runtime);
    check_end(&one, "completed", "task_completed");
    CHECK(ticks >= 2 && ticks <= 20); /* 350 ms of a busy machine, a tick each 100 */
    runtime_close(one.runtime);
    teardown();
  }
  TEST("a run sleeps until the time its policy said, or until an event") {
    setup();
    prepare(&one, TASK_TIMER, 1, 0);
    one.policy.wait_ms = 30;
    one.policy.during = go_on_at_second;
    one.policy.data = &one.policy;
    double begin = now_ms();
    CHECK(start(&one, NULL));
    runtime_wait(one.runtime);
    check_end(&one, "completed", "task_completed");
    CHECK(now_ms() - begin >= 29);
    runtime_close(one.runtime);
    prepare(&one, TASK_TIMER, 1, 0);
    one.policy.events = true;
    one.policy.during = go_on_at_second;
    one.policy.data = &one.policy;
    CHECK(start(&one, NULL));
    for (int i = 0; i < 10; i++)
      loop_turn(loop, false);
    CHECK(one.policy.choices == 1 && loop_timeout_ms(loop) != 0);
    CHECK(runtime_event(one.runtime, "inbox", (struct span){"go", 2}, &error));
    runtime_wait(one.runtime);
    check_end(&one, "completed", "task_completed");
    runtime_close(one.runtime);
    teardown();
  }
  TEST("what cannot be opened is an error, and nothing is left behind") {
    setup();
    prepare(&one, TASK_TIMER, 1, 1);
    CHECK(start(&one, "run"));
    prepare(&two, TASK_TIMER, 1, 1);
    CHECK(!start(&two, "run") && error.text[0]);
    two.policy.fail_at = 1;
    CHECK(!start(&two, NULL));
    CHECK_STR(error.text, "skill.lua:7: question 1 failed");
    CHECK(loop_members(loop) == 1);
    runtime_close(one.runtime);
    runtime_close(NULL);
    teardown();
  }
  TEST("a host steps a run from its own loop: one descriptor, one timeout") {
    setup();
    prepare(&one, TASK_PROCESS, 3, 1);
    one.policy.argv = true_argv;
    CHECK(start(&one, "run"));
    for (int i = 0; i < 200 && strcmp(runtime_status(one.runtime), "") == 0; i++) {
      struct pollfd fd = {.fd = loop_fd(loop), .events = POLLIN};
      poll(&fd, 1, loop_timeout_ms(loop));
      loop_turn(loop, false);
    }
    check_end(&one, "completed", "task_completed");
    runtime_close(one.runtime);
    teardown();
  }
}

static void on_signal(int number) {
  (void)number;
  runtime_stop(one.runtime, "user_exit");
}

static void *stop_later(void *data) {
  usleep(30000);
  if (data)
    runtime_stop(one.runtime, "timeout");
  else
    kill(getpid(), SIGUSR1);
  return NULL;
}

static double stop_sleepers(bool from_thread) {
  setup();
  prepare(&one, TASK_PROCESS, 3, 3);
  one.policy.argv = sleep_argv;
  CHECK(start(&one, "run"));
  pthread_t thread;
  double begin = now_ms() + 30;
  CHECK(pthread_create(&thread, NULL, stop_later, from_thread ? &one : NULL) == 0);
  runtime_wait(one.runtime);
  double took = now_ms() - begin;
  pthread_join(thread, NULL);
  check_end(&one, "paused", from_thread ? "timeout" : "user_exit");
  runtime_close(one.runtime);
  teardown();
  CHECK(took > -5 &&
        now_ms() - begin < PATIENCE_MS); /* sleepers that TERM does not end are killed */
  return took;
}

static void stopping(void) {
  TEST("stop from a signal handler or another thread ends a hanging process in 100 ms (F49)") {
    signal(SIGUSR1, on_signal);
    for (int from_thread = 0; from_thread < 2; from_thread++) {
      double best = 1e9; /* of a few: other programs may hold the processor */
      for (int i = 0; i < 5 && best > 100; i++) {
        double took = stop_sleepers(from_thread);
        best = took < best ? took : best;
      }
      CHECK(best <= 100);
    }
    signal(SIGUSR1, SIG_DFL);
  }
  TEST("stop reaches a run that never waits") {
    setup();
    prepare(&one, TASK_TIMER, UINT64_MAX, 1);
    one.policy.functions = one.policy.in_memory = true;
    one.log.off = true;
    CHECK(start(&one, NULL));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, stop_later, &one) == 0);
    runtime_wait(one.runtime);
    pthread_join(thread, NULL);
    check_end(&one, "paused", "timeout");
    CHECK(one.policy.done > 10);
    runtime_close(one.runtime);
    teardown();
  }
  TEST("a run is closed under way, at once, with its processes") {
    setup();
    prepare(&one, TASK_PROCESS, 3, 3);
    one.policy.argv = sleep_argv;
    CHECK(start(&one, "run"));
    CHECK(runtime_step(one.runtime) == ENGINE_WAITING);
    double begin = now_ms();
    runtime_close(one.runtime);
    teardown();
    CHECK(now_ms() - begin < PATIENCE_MS);
  }
  TEST("an HTTP task without the http module is refused with a reason, not a crash") {
    setup();
    prepare(&one, TASK_HTTP, 1, 1);
    one.policy.verbose = true;
    CHECK(start(&one, NULL));
    runtime_wait(one.runtime);
    CHECK(fake_log_count(&one.log, "accept(1,5,") == 1);
    check_end(&one, "completed", "task_completed");
    runtime_close(one.runtime);
    teardown();
  }
}

static _Atomic bool slow;
static _Atomic int slow_syncs;
static int slow_fdatasync(const struct sys *sys, int fd) {
  (void)sys, (void)fd;
  if (slow) {
    usleep(20000);
    slow_syncs++;
  }
  return 0;
}

static void together(void) {
  TEST("a slow sync of one run does not stall another") {
    setup();
    slow_syncs = 0;
    world.sys.fdatasync = slow_fdatasync;
    prepare(&one, TASK_TIMER, 20, 1);
    prepare(&two, TASK_TIMER, 20, 1);
    CHECK(start(&one, "one") && start(&two, NULL));
    slow = true;
    runtime_wait(two.runtime);
    CHECK(slow_syncs < 10);
    runtime_wait(one.runtime);
    CHECK(slow_syncs == 20 + 1);
    slow = false;
    check_end(&one, "completed", "task_completed");
    check_end(&two, "completed", "task_completed");
    runtime_close(one.runtime);
    runtime_close(two.runtime);
    teardown();
  }
  TEST("a run may be closed, and its loop, while the pool syncs for it") {
    setup();
    world.sys.fdatasync = slow_fdatasync;
    prepare(&one, TASK_TIMER, 4, 1);
    prepare(&two, TASK_TIMER, 4, 1);
    CHECK(start(&one, "one") && start(&two, NULL));
    slow = true;
    CHECK(runtime_step(one.runtime) == ENGINE_WAITING);
    runtime_close(one.runtime);
    slow = false;
    runtime_close(two.runtime);
    teardown();
  }
  TEST("a thousand runs share one loop and its transports") {
    setup();
    static struct run runs[4];
    static struct runtime *open[RUNS];
    for (int i = 0; i < 4; i++) {
      prepare(&runs[i], TASK_TIMER, 0, 1);
      runs[i].log.off = true;
    }
    static struct fake_policy policies[RUNS];
    clock_t begin = clock();
    for (int i = 0; i < RUNS; i++) {
      policies[i] = runs[i % 4].policy;
      policies[i].policy.self = &policies[i];
      policies[i].total = 10;
      struct runtime_options options = {
          .sys = &world.sys, .loop = loop, .policy = &policies[i].policy};
      CHECK(runtime_open(&options, &open[i], NULL, &error));
    }
    CHECK(loop_members(loop) == RUNS);
    for (int i = 0; i < 100000 && loop_members(loop) > 0; i++)
      loop_turn(loop, true);
    for (int i = 0; i < RUNS; i++) {
      CHECK(strcmp(runtime_status(open[i]), "completed") == 0 && policies[i].done == 10);
      runtime_close(open[i]);
    }
    CHECK(clock() - begin < 5 * CLOCKS_PER_SEC);
    teardown();
  }
}

/* Whether the run came to its n-th allocation. */
static bool fails_at(size_t n, const char *name) {
  setup();
  prepare(&one, TASK_TIMER, 4, 2);
  world.fail_at = world.allocations + n;
  if (start(&one, name)) {
    runtime_wait(one.runtime);
    bool completed = strcmp(runtime_status(one.runtime), "completed") == 0;
    CHECK(completed || runtime_error(one.runtime)->code == ERROR_MEMORY);
    runtime_close(one.runtime);
  } else {
    CHECK(error.code == ERROR_MEMORY);
  }
  bool reached = world.allocations >= world.fail_at;
  teardown();
  return reached;
}

static void memory(void) {
  TEST("the n-th allocation fails, for every n: a run opens and ends, or says why, and leaks not") {
    for (int kind = 0; kind < 2; kind++) {
      size_t n = 1;
      while (fails_at(n, kind ? "run" : NULL))
        n++;
      CHECK(n > 10);
    }
  }
}

int main(void) {
  whole();
  stopping();
  together();
  memory();
  return check_finish();
}
