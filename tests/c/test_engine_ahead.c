/* test_engine_ahead.c: choosing while the disk takes the verdicts: what is written, synced, told
 * and begun, in which order, and what becomes of it when any of that fails. Each expected log is
 * the contract in one line. */
#include "support/check.h"
#include "support/fake_host.h"

static struct fake_host h;

static void setup(uint64_t total) {
  fake_host_init(&h);
  h.sys.clock_stands = true;
  h.slow_sync = true;
  h.timer.quiet = true;
  h.policy.total = total;
  h.policy.kind = TASK_LUA;
  h.policy.performs = h.policy.verbose = h.policy.policy.repeatable = true;
}

static bool open_and_clear(void) {
  bool good = fake_host_open(&h);
  fake_log_clear(&h.log);
  return good;
}

static void check_end(const char *status, const char *reason) {
  CHECK_STR(engine_status(h.engine), status);
  CHECK_STR(engine_reason(h.engine), reason);
}

static void teardown(void) {
  fake_host_close(&h);
  CHECK(h.sys.live == 0 && h.outside.in_flight == 0);
}

static void order(void) {
  TEST("a result is durable before the next function begins, its choice is made meanwhile (R193)") {
    setup(2);
    CHECK(open_and_clear() && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text, "choose append(s1) sync durable(2) "
                          "accept(1) early(r1) choose sync front(s2) durable(4) "
                          "accept(2) early(r2) choose sync "
                          "append(end:task_completed) sync durable(6) save(6)");
    teardown();
  }
  TEST("that costs exactly one sync a step, too") {
    setup(1000);
    h.log.off = true;
    CHECK(fake_host_open(&h) && fake_host_run(&h, 1001));
    CHECK(h.store.syncs == 1000 + 3); /* the new run, its first beginning, its end */
    teardown();
  }
  TEST("a function that asks for an exchange has its front's rest synced before that leaves") {
    setup(2);
    h.policy.exchanges = 2;
    CHECK(open_and_clear() && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, "accept(1) request(1) append(") == 0);
    CHECK(fake_log_count(&h.log, "accept(1) request(1) choose append(x1) sync durable(3)") == 1);
    teardown();
  }
  TEST("what is to leave waits for a commit of its own") {
    setup(2);
    h.policy.kind = TASK_HTTP;
    h.policy.performs = h.policy.verbose = false;
    CHECK(open_and_clear() && fake_host_run(&h, 5));
    CHECK_STR(h.log.text, "append(i1) sync durable(2) send(1) early(r1) sync "
                          "append(i2) sync durable(4) send(2) early(r2) sync "
                          "append(end:task_completed) sync durable(6) save(6)");
    teardown();
  }
}

static void otherwise(void) {
  static const char usual[] =
      "choose append(s1) sync durable(2) accept(1) choose append(r1,s2) sync";
  TEST("a choice that may come out otherwise after a crash is durable before it is acted on") {
    setup(2);
    CHECK(fake_host_open(&h));
    h.policy.policy.repeatable = false;
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, "accept(1) choose append(r1) sync durable(2) accept(2)") == 1);
    teardown();
  }
  TEST("where a sync takes no time, or others would wait for it, the order is the usual one") {
    setup(2);
    h.slow_sync = false;
    CHECK(open_and_clear() && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, usual) == 1);
    teardown();
    setup(2);
    h.busy = h.pool_full = true;
    CHECK(open_and_clear() && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, usual) == 1);
    teardown();
  }
}

static void faults(void) {
  TEST("a full disk pauses the run, whichever part it refuses") {
    for (uint64_t n = 3; n <= 5; n++) {
      setup(2);
      h.store.fail_append = n;
      CHECK(open_and_clear() && fake_host_run(&h, 5));
      check_end("paused", "store_failed");
      CHECK(fake_log_count(&h.log, "stop(store_failed) choose last_words(end:store_failed) sync") ==
            1);
      CHECK(fake_log_count(&h.log, "save") == 0);
      teardown();
    }
  }
  TEST("where only the next beginning is refused, nothing of the batch is told, and nothing "
       "begins") {
    setup(2);
    h.store.fail_append = 4;
    CHECK(open_and_clear() && fake_host_run(&h, 5));
    CHECK_STR(h.log.text, "choose append(s1) sync durable(2) accept(1) early(r1) choose sync "
                          "append failed durable(3, not begun) stop(store_failed) choose "
                          "last_words(end:store_failed) sync");
    teardown();
  }
  TEST("a failed sync ends the run at once: what was chosen meanwhile is neither written nor "
       "begun") {
    setup(2);
    h.store.fail_sync = 3;
    CHECK(open_and_clear() && fake_host_run(&h, 5));
    check_end("failed", "sync_failed");
    CHECK_STR(h.log.text,
              "choose append(s1) sync durable(2) accept(1) early(r1) choose sync failed");
    teardown();
  }
  TEST("a choice that fails meanwhile takes no verdict with it") {
    setup(2);
    h.policy.fail_at = 4; /* load, choose, accept, choose */
    CHECK(open_and_clear() && fake_host_run(&h, 5));
    check_end("failed", "script_error");
    CHECK_STR(h.log.text, "choose append(s1) sync durable(2) accept(1) early(r1) "
                          "stop(script_error) choose sync "
                          "append(end:script_error) sync durable(4) save(4)");
    teardown();
  }
  TEST("one that is interrupted meanwhile neither, and the run stops in order") {
    setup(2);
    h.policy.fail_at = 4;
    h.policy.fail_code = ERROR_STOPPED;
    CHECK(open_and_clear() && fake_host_run(&h, 5));
    check_end("paused", "user_exit");
    CHECK_STR(h.log.text, "choose append(s1) sync durable(2) accept(1) early(r1) sync durable(3) "
                          "stop(user_exit) choose append(end:user_exit) sync durable(4) save(4)");
    teardown();
  }
}

static void pass_600_ms(void *data) {
  (void)data;
  h.sys.now_ns += (int64_t)600 * 1000000;
}

static void views(void) {
  TEST("no view shows a beginning that a power cut could take: it is synced before") {
    setup(4);
    h.policy.verbose = false;
    h.policy.during_accept = pass_600_ms;
    CHECK(open_and_clear() && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, "front(s3) durable(6) sync save(6)") == 1);
    CHECK(h.store.unsynced == false);
    teardown();
  }
  TEST("where that sync fails the run ends at once, without the view") {
    setup(4);
    h.policy.verbose = false;
    h.policy.during_accept = pass_600_ms;
    CHECK(open_and_clear());
    h.store.fail_sync = 5;
    CHECK(fake_host_run(&h, 5));
    check_end("failed", "sync_failed");
    CHECK(strstr(h.log.text, "sync failed") + 11 == h.log.text + h.log.length);
    teardown();
  }
}

int main(void) {
  order();
  otherwise();
  faults();
  views();
  return check_finish();
}
