/* test_engine_view.c: when the views people read are written: seldom, and never stale for
 * long while the run waits. */
#include "support/check.h"
#include "support/fake_host.h"

static struct fake_host h;
static int64_t save_takes;

static bool (*plain_save)(void *, uint64_t, struct store *, struct error *);
static bool slow_save(void *self, uint64_t seq, struct store *store, struct error *error) {
  h.sys.now_ns += save_takes;
  return plain_save(self, seq, store, error);
}

static void setup(uint64_t total, bool functions) {
  fake_host_init(&h);
  h.sys.clock_stands = true;
  h.policy.total = total;
  h.policy.functions = functions;
  h.log.off = true;
  plain_save = h.policy.policy.save;
  h.policy.policy.save = slow_save;
}

static void teardown(void) {
  fake_host_close(&h);
  CHECK(h.sys.live == 0 && h.timer.in_flight == 0);
}

static void pass(int64_t ms) {
  h.sys.now_ns += ms * 1000000;
}

static void one_step(void) {
  fake_transport_reply(&h.outside, NULL, REPLY_OK, "x");
  fake_host_turn(&h);
}

static void pass_10_ms(void *data, const char *question) {
  (void)data;
  if (strcmp(question, "accept") == 0) pass(10);
}

int main(void) {
  TEST("a new run has its views before its first step, a finished one before its end is told") {
    setup(1, false);
    CHECK(fake_host_open(&h) && h.policy.saves == 1);
    CHECK(fake_host_run(&h, 5) && h.policy.saves == 2);
    teardown();
  }
  TEST("a run taken up again has its views soon, as they may be older than its journal") {
    setup(1, false);
    h.policy.resumed = true;
    h.policy.width = 0;
    h.policy.events = true;
    h.sys.now_ns = INT64_C(1) << 50;
    CHECK(fake_host_open(&h) && h.store.appends == 0 && h.policy.saves == 0);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.policy.saves == 0 && h.timer.in_flight == 1);
    pass(51);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.policy.saves == 1 && h.store.appends == 0);
    teardown();
  }
  TEST("a view is not written again where nothing came to the journal") {
    setup(3, true);
    h.policy.in_memory = true;
    h.policy.wait_ms = 10;
    h.policy.width = 0;
    CHECK(fake_host_open(&h) && h.policy.saves == 1);
    for (int i = 0; i < 20; i++) {
      pass(100);
      CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.policy.saves == 1);
    }
    h.policy.width = 1;
    pass(100);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED && h.policy.saves == 1);
    teardown();
  }
  TEST("without a timer the view comes with the next turn") {
    setup(3, false);
    h.no_timer = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING && h.policy.saves == 1);
    pass(100);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.policy.saves == 2);
    teardown();
  }
  TEST("steps of a millisecond have the views written every 50 ms, not every step") {
    setup(1000, false);
    save_takes = 1000;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    for (int i = 0; i < 1000; i++) {
      pass(1);
      one_step();
    }
    CHECK(h.policy.saves >= 18 && h.policy.saves <= 22);
    teardown();
  }
  TEST("views that take long are written for a twentieth of the time at most") {
    setup(1000, false);
    save_takes = 30 * 1000000;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    int64_t start = h.sys.now_ns;
    unsigned saves = h.policy.saves;
    for (int i = 0; i < 999; i++) {
      pass(10);
      one_step();
    }
    CHECK((h.policy.saves - saves) * save_takes <= (h.sys.now_ns - start) / 20 + save_takes);
    CHECK(h.policy.saves - saves >= 10);
    teardown();
  }
  TEST("a run that waits long is seen as it is: a timer brings the view that was not yet due") {
    setup(3, false);
    save_takes = 1000;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(h.policy.saves == 1 && h.timer.in_flight == 1);
    CHECK(h.timer.first->task->timer.delay_ms > 40 && h.timer.first->task->timer.delay_ms <= 51);
    pass(10);
    one_step(); /* no second timer */
    CHECK(h.policy.saves == 1 && h.timer.in_flight == 1);
    pass(42);
    int awake = h.awake;
    CHECK(fake_transport_reply(&h.timer, NULL, REPLY_OK, NULL) && h.awake == awake + 1);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.policy.saves == 2);
    pass(3600 * 1000);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.policy.saves == 2); /* nothing new to show */
    CHECK(h.timer.in_flight == 0);
    teardown();
  }
  TEST("a run that never waits has its views written every second") {
    setup(1000, true);
    save_takes = 1000;
    h.policy.during = pass_10_ms;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(h.policy.saves >= 10 && h.policy.saves <= 12);
    teardown();
  }
  TEST("a view that cannot be written does not stop a run; the last failure is told") {
    setup(3, false);
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    h.policy.fail_save = true;
    for (int i = 0; i < 3; i++) {
      pass(100);
      one_step();
    }
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(engine_status(h.engine), "completed");
    CHECK_STR(engine_error(h.engine)->text, "state.json: No space left on device");
    teardown();
  }
  TEST("what ended the run is told, not that its view could not be written either") {
    setup(3, false);
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    h.policy.fail_save = true;
    h.policy.fail_at = h.policy.questions + 1;
    one_step();
    CHECK_STR(engine_reason(h.engine), "script_error");
    CHECK(strncmp(engine_error(h.engine)->text, "skill.lua:7:", 12) == 0);
    teardown();
  }
  return check_finish();
}
