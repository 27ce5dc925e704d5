/* test_engine_stop.c: how a run ends before its time: asked to, or interrupted. Whatever happens it
 * ends, in order, with a reason, and leaks nothing. */
#include "support/engine_kit.h"

static void asked(void) {
  TEST("stop cancels what is under way, then the policy has the last word (R60)") {
    setup(2, 2);
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_log_clear(&h.log);
    engine_stop(h.engine, "user_exit");
    CHECK(h.awake == 1);
    engine_stop(h.engine, "timeout"); /* the first word counts */
    check_end("paused", "user_exit");
    engine_tick(h.engine);
    CHECK(h.awake == 1); /* what is canceled in a turn wakes nobody, nor does what comes too late */
    CHECK(fake_log_count(&h.log, "cancel(1)") == 1 && fake_log_count(&h.log, "cancel(2)") == 1);
    CHECK(fake_log_count(&h.log, "stop(user_exit) append(c") == 1);
    CHECK(fake_log_count(&h.log, ",end:user_exit) sync durable(6) save(6)") == 1);
    CHECK(engine_error(h.engine)->code == ERROR_NONE);
    teardown();
  }
  TEST("stop before the first turn starts nothing") {
    setup(2, 2);
    CHECK(fake_host_open(&h));
    engine_stop(h.engine, "");
    check_end("paused", "user_exit");
    CHECK(h.outside.sent == 0);
    teardown();
  }
  TEST("stop ends a run that waits with nothing under way") {
    setup(2, 0);
    h.policy.events = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    engine_stop(h.engine, "user_exit");
    check_end("paused", "user_exit");
    teardown();
  }
  TEST("stop while a sync is under way cancels at once and waits for the disk only") {
    setup(4, 2);
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_transport_reply(&h.outside, "1", REPLY_OK, "a");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work != NULL);
    fake_log_clear(&h.log);
    engine_stop(h.engine, "user_exit");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "cancel(2)");
    CHECK(fake_host_pool(&h));
    check_end("paused", "user_exit");
    CHECK(fake_log_count(&h.log, "append(c3,c2,end:user_exit)") + /* 3 never left */
              fake_log_count(&h.log, "append(c2,c3,end:user_exit)") ==
          1);
    CHECK(fake_log_count(&h.log, "send(3)") == 0);
    teardown();
  }
  TEST("stop ends a back-off, and one that is just over") {
    for (int over = 0; over < 2; over++) {
      setup(1, 1);
      h.policy.attempts = 2;
      h.policy.after_ms = 3600000;
      CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
      fake_transport_reply(&h.outside, "1", REPLY_BROKEN, "");
      CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
      CHECK(fake_host_turn(&h) == ENGINE_WAITING);
      CHECK(!over || fake_transport_reply(&h.timer, "3600000ms", REPLY_OK, ""));
      engine_stop(h.engine, "user_exit");
      check_end("paused", "user_exit");
      CHECK(h.outside.sent == 1 && fake_log_count(&h.log, "c1,end:user_exit") == 1);
      teardown();
    }
  }
  TEST("a function that was chosen and not performed yet is heard of as canceled") {
    setup(2, 1);
    h.policy.functions = h.policy.verbose = h.busy = true;
    CHECK(fake_host_open(&h) && engine_event(h.engine, "inbox", (struct span){"x", 1}, NULL));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work);
    fake_log_clear(&h.log);
    engine_stop(h.engine, "user_exit");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
    check_end("paused", "user_exit");
    CHECK_STR(h.log.text, "sync durable(2) accept(1,2,,unsent) "
                          "stop(user_exit) choose append(c1,end:user_exit) pool sync "
                          "durable(4) save(4)");
    teardown();
  }
  TEST("a reply that came before the stop counts as it came") {
    setup(2, 2);
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_transport_reply(&h.outside, "1", REPLY_OK, "in time");
    engine_stop(h.engine, "user_exit");
    check_end("paused", "user_exit");
    CHECK(fake_log_count(&h.log, "append(r1,c2,end:user_exit)") == 1);
    teardown();
  }
  TEST("stop after the end changes nothing") {
    setup(1, 1);
    CHECK(fake_host_open(&h) && fake_host_run(&h, 5));
    engine_stop(h.engine, "user_exit");
    check_end("completed", "task_completed");
    teardown();
  }
  TEST("freeing a run under way kills its tasks at once") {
    setup(3, 3);
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_log_clear(&h.log);
    fake_host_close(&h);
    CHECK(fake_log_count(&h.log, "kill(") == 3 && h.sys.live == 0);
  }
}

/* ERROR_STOPPED from every question in turn: a function's endless loop was interrupted. */
static void interrupted(void) {
  TEST("whichever question is interrupted, the run pauses in order with the reason given") {
    for (int kind = 0; kind < 2; kind++)
      for (unsigned n = 2; n < 20; n++) {
        setup(3, 2);
        h.policy.functions = kind == 0;
        h.policy.fail_at = n;
        h.policy.fail_code = ERROR_STOPPED;
        CHECK(fake_host_open(&h));
        enum engine_phase phase = ENGINE_WAITING;
        for (int i = 0; i < 20 && phase != ENGINE_STOPPED; i++) {
          phase = engine_turn(h.engine);
          if (phase == ENGINE_READY) engine_stop(h.engine, "timeout");
          fake_transport_reply(&h.outside, NULL, REPLY_OK, "x");
          fake_host_pool(&h);
        }
        CHECK(phase == ENGINE_STOPPED);
        if (h.policy.questions >= n && strcmp(engine_status(h.engine), "completed") != 0) {
          CHECK_STR(engine_status(h.engine), "paused");
          CHECK_STR(engine_reason(h.engine), "timeout");
          CHECK(fake_log_count(&h.log, "end:timeout") == 1);
        }
        CHECK(fake_log_count(&h.log, "half") == 0);
        teardown();
      }
  }
  TEST("a policy that is interrupted again and again is left alone") {
    for (unsigned n = 2; n < 20; n++) {
      setup(3, 2);
      h.policy.fail_at = n;
      h.policy.fail_times = UINT32_MAX;
      h.policy.fail_code = ERROR_STOPPED;
      CHECK(fake_host_open(&h) && fake_host_run(&h, 30));
      if (h.policy.questions >= n) {
        CHECK_STR(engine_status(h.engine), "paused");
        CHECK_STR(engine_reason(h.engine), "user_exit");
      }
      teardown();
    }
  }
}

static void nine_ms(void *data, const char *question) {
  (void)data;
  if (strcmp(question, "accept") == 0) h.sys.now_ns += 9 * 1000000;
}

/* Fails the first question of a name as interrupted. */
static void interrupt(void *data, const char *question) {
  if (strcmp(question, data) != 0 || h.policy.fail_at) return;
  h.policy.fail_at = h.policy.questions + 1;
  h.policy.fail_code = ERROR_STOPPED;
}

static void what_comes_back(void) {
  char accept[] = "accept", request[] = "request";
  TEST("a reply whose hearing was interrupted is heard again as it came") {
    setup(1, 1);
    h.policy.verbose = true;
    h.policy.during = interrupt;
    h.policy.data = accept;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_transport_reply(&h.outside, "1", REPLY_OK, "a");
    CHECK(engine_turn(h.engine) == ENGINE_READY);
    check_end("paused", "user_exit");
    CHECK(fake_log_count(&h.log, "accept(1,0,a) stop(user_exit) choose append(r1,end") == 1);
    teardown();
  }
  TEST("a function that was interrupted is canceled, not performed again") {
    setup(1, 1);
    h.policy.verbose = h.policy.functions = true;
    h.policy.during = interrupt;
    h.policy.data = accept;
    CHECK(fake_host_open(&h) && engine_turn(h.engine) == ENGINE_READY);
    check_end("paused", "user_exit");
    CHECK(fake_log_count(&h.log, "choose accept(1,2,,unsent) stop(user_exit)") == 1);
    teardown();
  }
  TEST("a call whose request was interrupted is canceled, and so are those behind it") {
    setup(3, 3);
    h.policy.verbose = true;
    h.policy.during = interrupt;
    h.policy.data = request;
    CHECK(fake_host_open(&h) && engine_turn(h.engine) == ENGINE_READY);
    check_end("paused", "user_exit");
    CHECK(fake_log_count(&h.log, "request(") == 0 && fake_log_count(&h.log, ",2,,unsent)") == 3);
    teardown();
  }
  TEST("all is heard before the stop is told, however long that takes") {
    setup(4, 4);
    h.policy.verbose = true;
    h.policy.during = nine_ms;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    engine_stop(h.engine, "user_exit");
    check_end("paused", "user_exit");
    const char *told = strstr(h.log.text, "stop(user_exit)");
    CHECK(told && !strstr(told, "accept("));
    teardown();
  }
  TEST("a call that is to be made again while the run stops is over") {
    setup(2, 2);
    h.policy.verbose = true;
    h.policy.bug = FAKE_AGAIN;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_log_clear(&h.log);
    engine_stop(h.engine, "user_exit");
    check_end("paused", "user_exit");
    CHECK(fake_log_count(&h.log, "request(") == 0 && h.outside.sent == 2);
    teardown();
  }
}

static const char *stop_in;
static void stop_inside(void *data, const char *question) {
  if (strcmp(question, stop_in) != 0) return;
  engine_stop(h.engine, "user_exit");
  CHECK(engine_turn(h.engine) == ENGINE_WAITING); /* no turn inside a turn */
  if (data) interrupt(data, question);
}

static void inside(void) {
  char request[] = "request";
  TEST("stop and turn may be called from inside a question") {
    setup(5, 1);
    h.policy.functions = true;
    h.policy.during = stop_inside;
    stop_in = "accept";
    CHECK(fake_host_open(&h));
    check_end("paused", "user_exit");
    CHECK(h.policy.done < 5);
    teardown();
  }
  TEST("and while the journal is loaded") {
    setup(5, 1);
    h.policy.during = stop_inside;
    stop_in = "load";
    CHECK(fake_host_open(&h) && h.awake == 0);
    check_end("paused", "user_exit");
    CHECK(h.outside.sent == 0);
    teardown();
  }
  TEST("what was asked for by then does not leave, and nothing more is asked for") {
    for (int fails = 0; fails < 2; fails++) {
      setup(5, 5);
      h.policy.verbose = true;
      h.policy.during = stop_inside;
      h.policy.data = fails ? request : NULL;
      stop_in = request;
      CHECK(fake_host_open(&h));
      check_end("paused", "user_exit");
      CHECK(h.outside.sent == 0 && fake_log_count(&h.log, "request(") == 1 - fails);
      CHECK(fake_log_count(&h.log, ",2,,unsent)") == 5);
      CHECK(fake_log_count(&h.log, "end:user_exit") == 1);
      teardown();
    }
  }
}

int main(void) {
  asked();
  interrupted();
  what_comes_back();
  inside();
  return check_finish();
}
