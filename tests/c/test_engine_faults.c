/* test_engine_faults.c: how a run ends by a fault of the store or of the policy. Whatever happens
 * it ends, with a reason, and leaks nothing. */
#include "support/engine_kit.h"

static void store_faults(void) {
  TEST("a full disk pauses the run with the policy's last words, and no view shows what is lost") {
    for (uint64_t n = 2; n <= 5; n++) {
      setup(3, 1);
      h.store.fail_append = n;
      CHECK(fake_host_open(&h));
      fake_log_clear(&h.log);
      CHECK(fake_host_run(&h, 20));
      check_end("paused", "store_failed");
      CHECK(engine_error(h.engine)->code == ERROR_SYSTEM);
      CHECK_STR(engine_error(h.engine)->text, "journal: No space left on device");
      CHECK(fake_log_count(&h.log, "append failed stop(store_failed) "
                                   "last_words(end:store_failed) sync") == 1);
      CHECK(h.log.text[h.log.length - 1] == 'c'); /* that sync was the last thing done */
      CHECK(h.outside.in_flight == 0);
      teardown();
    }
  }
  TEST("a disk too full for last words still pauses the run") {
    setup(3, 3);
    h.store.fail_append = 3;
    h.store.fail_last_words = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_transport_reply(&h.outside, "2", REPLY_OK, "");
    check_end("paused", "store_failed");
    CHECK(fake_log_count(&h.log, "cancel(") == 2);
    teardown();
  }
  TEST("a policy without last words writes none") {
    setup(3, 1);
    h.policy.bug = FAKE_IGNORES_STOP;
    h.policy.notes = true;
    h.store.fail_append = 3;
    CHECK(fake_host_open(&h) && fake_host_run(&h, 20));
    check_end("paused", "store_failed");
    CHECK(fake_log_count(&h.log, "last_words") == 0);
    teardown();
  }
  TEST("a failed sync ends the run at once: nothing is sent, reported or written after it") {
    for (int pool = 0; pool < 2; pool++)
      for (uint64_t n = 2; n <= 5; n++) {
        setup(3, 1);
        h.busy = pool;
        h.store.fail_sync = n;
        CHECK(fake_host_open(&h) && fake_host_run(&h, 20));
        check_end("failed", "sync_failed");
        CHECK_STR(engine_error(h.engine)->text, "journal: Input/output error");
        CHECK(strstr(h.log.text, "sync failed") + 11 == h.log.text + h.log.length);
        teardown();
      }
  }
  TEST("a sync that fails without a word is one that failed") {
    setup(3, 1);
    h.store.fail_sync = 2;
    h.store.fail_mute = true;
    CHECK(fake_host_open(&h) && fake_host_run(&h, 20));
    check_end("failed", "sync_failed");
    CHECK_STR(engine_error(h.engine)->text, "store: a sync failed without saying why");
    teardown();
  }
  TEST("a run whose first batch or view cannot be written does not open") {
    setup(1, 1);
    h.store.fail_append = 1;
    CHECK(!fake_host_open(&h) && h.error.code == ERROR_SYSTEM);
    teardown();
    setup(1, 1);
    h.store.fail_sync = 1;
    CHECK(!fake_host_open(&h) && h.error.code == ERROR_SYSTEM);
    CHECK(fake_log_count(&h.log, "durable") == 0);
    teardown();
    setup(1, 1);
    h.policy.fail_save = true;
    CHECK(!fake_host_open(&h));
    CHECK_STR(h.error.text, "state.json: No space left on device");
    teardown();
  }
}

static void values_that_cannot_be_kept(void) {
  TEST("a value that cannot be kept ends the run as a failed append does, whoever was asked") {
    for (unsigned n = 2; n < 14; n++) {
      setup(3, 2);
      h.policy.fail_at = n;
      h.policy.fail_code = ERROR_STORE;
      CHECK(fake_host_open(&h) && fake_host_run(&h, 30));
      if (h.policy.questions >= n) {
        check_end("paused", "store_failed");
        const char *stop = strstr(h.log.text, "stop(store_failed) last_words(end:store_failed)");
        CHECK(stop && !strstr(stop, "durable") && !strstr(stop, "save("));
        CHECK(engine_error(h.engine)->code == ERROR_STORE);
      }
      teardown();
    }
  }
  TEST("a run that is not its store's any more has no last words") {
    setup(3, 2);
    h.policy.fail_at = 5;
    h.policy.fail_code = ERROR_LOST;
    CHECK(fake_host_open(&h) && fake_host_run(&h, 30));
    check_end("failed", "store_lost");
    CHECK(fake_log_count(&h.log, "stop(") == 0 && fake_log_count(&h.log, "last_words") == 0);
    teardown();
  }
  TEST("a sync that says so ends it in the same way") {
    for (int pool = 0; pool < 2; pool++)
      for (uint64_t n = 2; n <= 5; n++) {
        setup(3, 1);
        h.busy = pool;
        h.store.fail_sync = n;
        h.store.fail_lost = true;
        CHECK(fake_host_open(&h) && fake_host_run(&h, 20));
        check_end("failed", "store_lost");
        CHECK(strstr(h.log.text, "sync failed") + 11 == h.log.text + h.log.length);
        teardown();
      }
  }
  TEST("a run that the store does not hold when something is to be sent sends nothing of it") {
    for (uint64_t n = 1; n <= 3; n++) {
      setup(3, 1);
      h.store.fail_held = n;
      CHECK(fake_host_open(&h) && fake_host_run(&h, 20));
      check_end("failed", "store_lost");
      CHECK(h.store.helds == n && fake_log_count(&h.log, "send(") == (int)n - 1);
      CHECK(fake_log_count(&h.log, "last_words") == 0);
      teardown();
    }
  }
}

static void policy_faults(void) {
  TEST("a policy that fails in any question fails the run, keeping what other answers wrote") {
    for (unsigned n = 2; n < 20; n++) {
      setup(3, 2);
      h.policy.fail_at = n;
      h.policy.loads = true;
      CHECK(fake_host_open(&h) && fake_host_run(&h, 30));
      CHECK(fake_log_count(&h.log, "half") == 0);
      if (h.policy.questions < n)
        CHECK_STR(engine_status(h.engine), "completed");
      else
        check_end("failed", "script_error");
      if (h.policy.questions >= n) {
        CHECK(engine_error(h.engine)->code == ERROR_SCRIPT);
        CHECK(strncmp(engine_error(h.engine)->text, "skill.lua:7: question", 21) == 0);
        CHECK(fake_log_count(&h.log, "end:script_error") == 1);
      }
      teardown();
    }
  }
  TEST("a policy that fails for good ends the run, and one that says nothing is named") {
    setup(3, 2);
    h.policy.fail_at = 6;
    h.policy.fail_times = UINT32_MAX;
    h.policy.fail_mute = true;
    h.outside.fail_send = 1; /* what was wrong before is not what is wrong now */
    h.outside.fail_code = ERROR_SYSTEM;
    CHECK(fake_host_open(&h) && fake_host_run(&h, 30));
    check_end("failed", "script_error");
    CHECK_STR(engine_error(h.engine)->text, "policy: choose failed without saying why");
    teardown();
  }
  TEST("a policy whose load fails does not open") {
    setup(1, 1);
    h.policy.fail_at = 1;
    CHECK(!fake_host_open(&h));
    CHECK_STR(h.error.text, "skill.lua:7: question 1 failed");
    teardown();
  }
}

static void check_bug(enum fake_bug bug, const char *part) {
  setup(4, 3);
  h.policy.bug = bug;
  h.policy.functions = bug == FAKE_PERFORMS_AGAIN;
  h.policy.wait_ms = bug == FAKE_STARTS_FOREVER ? 0 : -1;
  h.pool_full = bug == FAKE_STARTS_FOREVER;
  CHECK(fake_host_open(&h));
  if (bug == FAKE_IGNORES_STOP) engine_stop(h.engine, "user_exit");
  h.log.off = true;
  fake_host_turn(&h);
  fake_transport_reply(&h.outside, "2", REPLY_OK, "");
  CHECK(fake_host_run(&h, 30));
  check_end("failed", "internal");
  CHECK(strncmp(engine_error(h.engine)->text, "policy: ", 8) == 0 || bug == FAKE_STARTS_FOREVER);
  CHECK(strstr(engine_error(h.engine)->text, part) != NULL);
  teardown();
}

static void policy_bugs(void) {
  TEST("to wait for nothing is a bug of the policy and stops the run as failed, internal (F45)") {
    check_bug(FAKE_WAITS_FOR_NOTHING, "nothing is under way");
  }
  TEST("so is to name a number that is under way, one twice, or numbers without end") {
    check_bug(FAKE_STARTS_TWICE, "number 1: named, but it is under way already");
    check_bug(FAKE_NAMES_TWICE, "number 1: named, but it is under way already");
    check_bug(FAKE_STARTS_FOREVER, "more than 65536 calls");
  }
  TEST("so is to cancel what never was, or one twice, and to perform a function again") {
    check_bug(FAKE_CANCELS_UNKNOWN, "number 77: canceled, but it is not under way");
    check_bug(FAKE_CANCELS_TWICE, "number 1: named twice");
    check_bug(FAKE_PERFORMS_AGAIN, "a function is performed once");
  }
  TEST("what a policy says behind its fault is kept only if it stops") {
    setup(3, 2);
    h.policy.bug = FAKE_IGNORES_STOP;
    h.policy.notes = true;
    CHECK(fake_host_open(&h));
    engine_stop(h.engine, "user_exit");
    check_end("failed", "internal");
    CHECK(fake_log_count(&h.log, "append(n)") == 1 && fake_log_count(&h.log, "n,n") == 0);
    teardown();
  }
  TEST("so is to ignore a stop, or to stop without a status") {
    check_bug(FAKE_IGNORES_STOP, "told to stop");
    setup(1, 1);
    h.policy.bug = FAKE_WITHOUT_STATUS;
    CHECK(fake_host_open(&h) && fake_host_run(&h, 30));
    check_end("failed", "internal");
    teardown();
  }
  TEST("a policy that stops while calls are under way has them canceled once that is durable") {
    setup(4, 3);
    h.policy.bug = FAKE_LEAVES;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_transport_reply(&h.outside, "2", REPLY_OK, "x");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work); /* 4 is started */
    CHECK(fake_host_pool(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_transport_reply(&h.outside, "4", REPLY_OK, "x");
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work);
    CHECK_STR(h.log.text, "append(r4,end:task_completed) pool");
    CHECK(fake_transport_reply(&h.outside, "1", REPLY_OK, "in time"));
    CHECK(fake_host_pool(&h));
    check_end("completed", "task_completed");
    CHECK_STR(h.log.text, "append(r4,end:task_completed) pool sync durable(8) cancel(3) "
                          "append(r1,c3) sync durable(10) save(10)");
    teardown();
  }
}

int main(void) {
  store_faults();
  values_that_cannot_be_kept();
  policy_faults();
  policy_bugs();
  return check_finish();
}
