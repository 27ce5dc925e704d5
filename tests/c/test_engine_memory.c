/* test_engine_memory.c: the n-th allocation of a run fails, for every n: once, and all from
 * there on. Either the run completes, or it says out of memory; nothing leaks, nothing hangs. */
#include <stdint.h>

#include "support/check.h"
#include "support/fake_host.h"

static struct fake_host h;

enum shape { FUNCTIONS, CALLS, LATER, TALKATIVE, SHAPES };

static void setup(enum shape shape) {
  fake_host_init(&h);
  h.sys.clock_stands = true;
  h.policy.total = 12;
  h.policy.width = 10;
  h.policy.functions = shape == FUNCTIONS;
  h.policy.attempts = 2;
  h.policy.after_ms = shape == LATER ? 10 : 0;
  h.policy.wait_ms = shape == LATER ? 1000 : -1;
}

/* What comes unasked while the run goes on; an event that is not taken is said to be. */
static void chatter(void) {
  struct error error = {0};
  if (!engine_event(h.engine, "inbox", (struct span){"word", 4}, &error))
    CHECK(error.code == ERROR_MEMORY || error.code == ERROR_STOPPED);
  fake_transport_progress(&h.outside, NULL, "half a line");
  engine_tick(h.engine);
}

static bool run(enum shape shape) {
  for (int i = 0; i < 200; i++) {
    if (shape == TALKATIVE) chatter();
    if (fake_host_run(&h, 1)) return true;
  }
  return false;
}

/* Whether allocation `n` was reached. */
static bool try(enum shape shape, size_t n, size_t count) {
  setup(shape);
  h.sys.fail_at = n;
  h.sys.fail_count = count;
  if (!fake_host_open(&h)) {
    CHECK(h.error.code == ERROR_MEMORY && h.error.text[0]);
  } else {
    CHECK(run(shape));
    const struct error *error = engine_error(h.engine);
    bool completed = strcmp(engine_status(h.engine), "completed") == 0;
    CHECK(completed || error->code == ERROR_MEMORY);
    CHECK(completed || error->text[0]);
    if (!completed && strcmp(engine_status(h.engine), "paused") == 0)
      CHECK(strcmp(engine_reason(h.engine), "out_of_memory") == 0 ||
            strcmp(engine_reason(h.engine), "store_failed") == 0);
  }
  bool reached = h.sys.allocations >= n;
  fake_host_close(&h);
  CHECK(h.sys.live == 0);
  CHECK(h.outside.in_flight == 0 && h.timer.in_flight == 0);
  return reached;
}

int main(void) {
  TEST("the n-th allocation fails, once, for every n: an end with a reason, and no leak") {
    for (int shape = 0; shape < SHAPES; shape++) {
      size_t n = 1;
      while (try((enum shape)shape, n, 1))
        n++;
      CHECK(n > 10);
    }
  }
  TEST("all allocations from the n-th on fail, for every n: the same") {
    for (int shape = 0; shape < SHAPES; shape++) {
      size_t n = 1;
      while (try((enum shape)shape, n, SIZE_MAX))
        n++;
      CHECK(n > 10);
    }
  }
  TEST("a reply that cannot be kept is a broken one: the call was made, and its end is unknown") {
    static const enum reply_status came[] = {REPLY_OK, REPLY_TIMEOUT};
    for (int i = 0; i < 2; i++) {
      setup(CALLS);
      h.policy.verbose = true;
      h.policy.attempts = 1;
      CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
      h.sys.fail_at = h.sys.allocations + 1;
      fake_transport_reply(&h.outside, "4", came[i], "a body");
      CHECK(fake_host_turn(&h) == ENGINE_WAITING);
      CHECK(fake_log_count(&h.log, i ? "accept(4,1,)" : "accept(4,4,)") == 1);
      CHECK(strstr(h.policy.message, i ? "status 1" : "memory") != NULL);
      CHECK(fake_host_run(&h, 200));
      fake_host_close(&h);
      CHECK(h.sys.live == 0);
    }
  }
  return check_finish();
}
