/* test_engine_memory.c: the n-th allocation of a run fails, for every n: once, and all from
 * there on. Either the run completes, or it says out of memory; nothing leaks, nothing hangs. */
#include <stdint.h>

#include "support/check.h"
#include "support/fake_host.h"

static struct fake_host h;

struct shape {
  enum task_kind kind;
  bool performs; /* functions, performed without a question */
};

static void setup(struct shape shape) {
  fake_host_init(&h);
  h.sys.clock_stands = true;
  h.policy.total = 12;
  h.policy.width = 10;
  h.policy.kind = shape.kind;
  h.policy.exchanges = 2;
  h.policy.delay_ms = 10;
  h.policy.gate_open = true;
  h.policy.performs = shape.performs;
}

/* Whether allocation `n` was reached. */
static bool try(struct shape shape, size_t n, size_t count) {
  setup(shape);
  h.sys.fail_at = n;
  h.sys.fail_count = count;
  if (!fake_host_open(&h)) {
    CHECK(h.error.code == ERROR_MEMORY && h.error.text[0]);
  } else {
    CHECK(fake_host_run(&h, 200));
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
  static const struct shape shapes[] = {{TASK_LUA, false},
                                        {TASK_HTTP, false},
                                        {TASK_GATE, false},
                                        {TASK_TIMER, false},
                                        {TASK_LUA, true}};
  TEST("the n-th allocation fails, once, for every n: an end with a reason, and no leak") {
    for (int i = 0; i < 5; i++) {
      size_t n = 1;
      while (try(shapes[i], n, 1))
        n++;
      CHECK(n > (shapes[i].performs ? 5 : 10));
    }
  }
  TEST("all allocations from the n-th on fail, for every n: the same") {
    for (int i = 0; i < 5; i++) {
      size_t n = 1;
      while (try(shapes[i], n, SIZE_MAX))
        n++;
      CHECK(n > (shapes[i].performs ? 5 : 10));
    }
  }
  TEST("a reply that cannot be kept pauses the run: its step is in doubt, not forgotten") {
    setup((struct shape){TASK_HTTP, false});
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    h.sys.fail_at = h.sys.allocations + 1;
    fake_transport_reply(&h.outside, "4", REPLY_OK, "a body");
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(engine_status(h.engine), "paused");
    CHECK_STR(engine_reason(h.engine), "out_of_memory");
    CHECK(fake_log_count(&h.log, "r4") == 0 && fake_log_count(&h.log, "end:out_of_memory") == 1);
    fake_host_close(&h);
    CHECK(h.sys.live == 0);
  }
  return check_finish();
}
