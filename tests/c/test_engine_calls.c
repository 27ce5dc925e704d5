/* test_engine_calls.c: a call from its choice to its end: attempts, waits between them, and being
 * given up in each place it can be in. Each expected log is the contract in one line. */
#include <time.h>

#include "support/engine_kit.h"

/* The next turn has a choice, and it gives up `number`. */
static void give_up(uint64_t number) {
  h.policy.give_up[h.policy.give_up_count++] = number;
  CHECK(engine_event(h.engine, "inbox", (struct span){"!", 1}, NULL));
}

static void attempts(void) {
  TEST("a call of several attempts records each, and its next leaves when its intent is durable") {
    setup_verbose(1, 1);
    h.policy.verbose = false;
    h.policy.attempts = 3;
    h.timer.quiet = true;
    CHECK(fake_host_open(&h));
    fake_log_clear(&h.log);
    CHECK(fake_host_run(&h, 10));
    CHECK_STR(h.log.text,
              "append(i1) sync durable(2) send(1) append(x1,i1) sync durable(4) send(1) "
              "append(x1,i1) sync durable(6) send(1) append(r1,end:task_completed) sync "
              "durable(8) save(8)");
    teardown();
  }
  TEST("a later attempt is asked for when its time has come, not before (F26)") {
    setup_under_way(1, 1);
    h.policy.attempts = 2;
    h.policy.after_ms = 250;
    fake_transport_reply(&h.outside, "1", REPLY_BROKEN, "");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "accept(1,4,) delay(250ms) choose append(x1) pool sync durable(3)");
    CHECK(h.outside.in_flight == 0);
    fake_log_clear(&h.log);
    int awake = h.awake;
    CHECK(fake_transport_reply(&h.timer, "250ms", REPLY_OK, NULL) && h.awake == awake + 1);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "request(1) append(i1) sync durable(4) send(1)");
    CHECK(fake_host_run(&h, 5));
    CHECK_STR(engine_status(h.engine), "completed");
    teardown();
  }
  TEST("a reply that is larger than was asked for is broken, and nothing of it is kept") {
    for (size_t most = 7; most <= 8; most++) {
      setup_verbose(1, 1);
      h.policy.max_body = most;
      CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
      CHECK(fake_transport_reply(&h.outside, "1", REPLY_OK, "12345678"));
      CHECK(fake_host_run(&h, 5));
      CHECK(fake_log_count(&h.log, most == 7 ? "accept(1,4,)" : "accept(1,0,12345678)") == 1);
      CHECK(h.policy.extra == (most == 7 ? 0 : 8));
      CHECK((strstr(h.policy.message, "more than 7 bytes") != NULL) == (most == 7));
      teardown();
    }
  }
  TEST("where no timer can be had the attempt comes back as broken, unsent") {
    setup_under_way(1, 1);
    h.policy.attempts = 2;
    h.policy.after_ms = 250;
    h.timer.fail_send = h.timer.sent + 1;
    h.timer.fail_code = ERROR_MEMORY;
    fake_transport_reply(&h.outside, "1", REPLY_BROKEN, "");
    CHECK(fake_host_run(&h, 5));
    CHECK(fake_log_count(&h.log, "accept(1,4,) accept(1,4,,unsent) choose append(x1,r1,") == 1);
    teardown();
  }
  TEST("what cannot be sent comes back as a reply: broken if it may pass, refused if not") {
    setup_verbose(2, 1);
    h.outside.fail_send = 1;
    h.outside.fail_code = ERROR_SYSTEM;
    CHECK(fake_host_open(&h) && fake_host_run(&h, 10));
    CHECK(fake_log_count(&h.log, "accept(1,4,,unsent)") == 1);
    CHECK(fake_log_count(&h.log, "pool") == 0); /* nothing was in flight */
    teardown();
    setup_verbose(1, 1);
    h.no_outside = "http.so: not there";
    CHECK(fake_host_open(&h) && fake_host_run(&h, 10));
    CHECK(fake_log_count(&h.log, "accept(1,5,,unsent)") == 1);
    CHECK_STR(h.policy.message, "http.so: not there");
    teardown();
  }
  TEST("a message that is too long is cut between two characters") {
    static char text[400], cut[256];
    for (int i = 0; i < 2; i++) {
      memset(text, 'x', sizeof text - 1);
      for (int at = 250; at < 260; at += 2)
        memcpy(text + at + i, "\xC3\xA9", 2);
      setup_verbose(1, 1);
      h.no_outside = text;
      CHECK(fake_host_open(&h) && fake_host_run(&h, 10));
      memcpy(cut, text, sizeof cut);
      cut[i ? 255 : 254] = 0;
      CHECK_STR(h.policy.message, cut);
      teardown();
    }
  }
  TEST("a number that is over may be named again by the choice that follows") {
    setup_verbose(3, 1);
    h.policy.one_number = true;
    h.policy.verbose = false;
    h.timer.quiet = true;
    CHECK(fake_host_open(&h));
    fake_log_clear(&h.log);
    CHECK(fake_host_run(&h, 10));
    CHECK_STR(h.log.text, "append(i1) sync durable(2) send(1) append(r1,i1) sync durable(4) "
                          "send(1) append(r1,i1) sync durable(6) send(1) "
                          "append(r1,end:task_completed) sync durable(8) save(8)");
    teardown();
  }
}

static void given_up(void) {
  TEST("a call that is out is canceled when the choice is durable, and heard of (SENT)") {
    setup_under_way(2, 2);
    give_up(2);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work);
    CHECK_STR(h.log.text, "event(inbox,!) choose append(e:!) pool");
    CHECK(fake_host_pool(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(fake_log_count(&h.log, "pool sync durable(4) cancel(2) accept(2,2,) choose append(c2)"));
    CHECK(h.outside.in_flight == 1);
    teardown();
  }
  TEST("in the order they were named") {
    setup_under_way(3, 3);
    give_up(3), give_up(1), give_up(2);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, "cancel(3) cancel(1) cancel(2) accept(3,2,) accept(1,2,)") == 1);
    teardown();
  }
  TEST("a reply that comes while the choice becomes durable is the one that is heard") {
    setup_under_way(2, 2);
    give_up(2);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work);
    CHECK(fake_transport_reply(&h.outside, "2", REPLY_OK, "in time"));
    CHECK(fake_host_pool(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(fake_log_count(&h.log, "cancel(") == 0);
    CHECK(fake_log_count(&h.log, "accept(2,0,in time)") == 1);
    teardown();
  }
  TEST("a call that waits for its next attempt is not asked for any more (DELAYED)") {
    setup_under_way(1, 1);
    h.policy.attempts = 2;
    h.policy.after_ms = 3600000;
    fake_transport_reply(&h.outside, "1", REPLY_BROKEN, "");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    fake_log_clear(&h.log);
    give_up(1);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text,
              "event(inbox,!) choose cancel(3600000ms) append(e:!) sync durable(4) "
              "accept(1,2,,unsent) choose append(c1,end:task_completed) sync durable(6) "
              "save(6) kill(51ms)");
    teardown();
  }
  TEST("nor is one whose time has just come (DUE)") {
    setup_under_way(1, 1);
    h.policy.attempts = 2;
    h.policy.after_ms = 250;
    fake_transport_reply(&h.outside, "1", REPLY_BROKEN, "");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
    CHECK(fake_transport_reply(&h.timer, "250ms", REPLY_OK, NULL));
    fake_log_clear(&h.log);
    give_up(1);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text, "durable(3) event(inbox,!) choose append(e:!) sync durable(4) "
                          "accept(1,2,,unsent) choose append(c1,end:task_completed) sync "
                          "durable(6) save(6) kill(51ms)");
    teardown();
  }
  TEST("nor is one that is to be made again at once") {
    setup_under_way(1, 1);
    h.policy.attempts = 2;
    fake_transport_reply(&h.outside, "1", REPLY_BROKEN, "");
    give_up(1);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text, "accept(1,4,) event(inbox,!) choose append(x1,e:!) sync durable(4) "
                          "accept(1,2,,unsent) choose append(c1,end:task_completed) sync "
                          "durable(6) save(6) kill(51ms)");
    teardown();
  }
  TEST("one whose reply the same choice has heard of is passed by (OVER)") {
    setup_under_way(2, 2);
    fake_transport_reply(&h.outside, "2", REPLY_OK, "b");
    give_up(2);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text,
              "accept(2,0,b) event(inbox,!) choose append(r2,e:!) pool sync durable(5)");
    CHECK(h.outside.in_flight == 1);
    teardown();
  }
  TEST("what is canceled is canceled though its choice is never durable, but nobody hears of it") {
    setup_under_way(2, 2);
    give_up(2);
    h.store.fail_sync = h.store.syncs + 1;
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_pool(&h));
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(engine_reason(h.engine), "sync_failed");
    CHECK(fake_log_count(&h.log, "cancel(") == 2 && fake_log_count(&h.log, "accept(") == 0);
    teardown();
  }
  TEST("a stop while a choice that gives up becomes durable cancels each once") {
    setup_under_way(3, 3);
    give_up(2);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work);
    engine_stop(h.engine, "user_exit");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(fake_log_count(&h.log, "cancel(") == 3);
    CHECK(fake_host_pool(&h) && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, "cancel(") == 3 && fake_log_count(&h.log, "accept(") == 3);
    teardown();
  }
}

static void nine_ms(void *data, const char *question) {
  (void)data;
  if (strcmp(question, "accept") != 0) return;
  h.sys.now_ns += 9 * 1000000;
  if (h.policy.done != 1) return;
  h.policy.give_up[0] = 3; /* said by the choice that follows */
  h.policy.give_up_count = 1;
}

static void functions(void) {
  TEST("a function is performed after the sync of what was decided with it") {
    setup_verbose(2, 2);
    h.policy.functions = h.busy = true;
    CHECK(fake_host_open(&h));
    fake_log_clear(&h.log);
    CHECK(engine_event(h.engine, "inbox", (struct span){"!", 1}, NULL));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "event(inbox,!) choose append(e:!) pool");
    CHECK(fake_host_pool(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(fake_log_count(&h.log, "pool sync durable(2) accept(1) accept(2) choose") == 1);
    teardown();
  }
  TEST("one that waits because the turn was long may be given up (ARRIVED)") {
    setup_verbose(3, 3);
    h.policy.functions = true;
    h.policy.during = nine_ms;
    CHECK(fake_host_open(&h));
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text, "choose accept(1) accept(2) choose append(r1,r2) sync durable(3) "
                          "accept(3,2,,unsent) choose append(c3,end:task_completed) sync "
                          "durable(5) save(5)");
    teardown();
  }
}

static void loads(void) {
  TEST("load is asked again where a choice says so, once all is durable, and a choice follows") {
    setup_verbose(1, 1);
    h.policy.loads = h.policy.notes = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "append(new) sync durable(1) save(1) choose request(1) append(n,i1) sync "
                          "durable(3) send(1) load choose append(l,n) pool");
    teardown();
  }
  TEST("a run that is asked to stop is not loaded again") {
    setup_under_way(1, 1);
    h.policy.loads = true;
    CHECK(engine_event(h.engine, "inbox", (struct span){"!", 1}, NULL));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && !h.policy.loads); /* its sync is under way */
    engine_stop(h.engine, "user_exit");
    CHECK(fake_host_pool(&h) && fake_host_run(&h, 10));
    CHECK(fake_log_count(&h.log, "load") == 0);
    CHECK_STR(engine_reason(h.engine), "user_exit");
    teardown();
  }
}

/* CPU seconds for `replies`, with `width` calls out all the time. */
static double cost(uint64_t width, uint64_t replies) {
  setup_verbose(UINT64_MAX, width);
  h.policy.verbose = false;
  h.policy.wait_ms = 0;
  h.log.off = h.pool_full = true;
  CHECK(fake_host_open(&h));
  while (h.outside.in_flight < width)
    engine_turn(h.engine);
  h.policy.wait_ms = -1;
  engine_turn(h.engine);
  clock_t begin = clock();
  for (uint64_t i = 0; i < replies; i++) {
    fake_transport_reply(&h.outside, NULL, REPLY_OK, "x");
    engine_turn(h.engine);
  }
  double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
  CHECK(h.policy.done == replies && h.outside.in_flight == width);
  teardown();
  return took;
}

static void slow_request(void *data, const char *question) {
  (void)data;
  if (strcmp(question, "request") == 0) h.sys.now_ns += 6 * 1000000;
}

static void many(void) {
  TEST("many calls that start together leave in several batches, so that none waits for all") {
    setup_verbose(5, 5);
    h.policy.verbose = false;
    h.pool_full = true;
    h.policy.during = slow_request;
    CHECK(fake_host_open(&h));
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.outside.in_flight == 5);
    CHECK(fake_log_count(&h.log, "append(i1,i2) sync durable(3) send(1) send(2) "
                                 "append(i3,i4) sync durable(5) send(3) send(4) append(i5)") == 1);
    teardown();
  }
  TEST("a reply costs the same with 20,000 calls out as with 20") {
    double few = 1e9, lots = 1e9;
    for (int i = 0; i < 3; i++) { /* the best of some: others use the processor, too */
      double took = cost(20, 20000);
      few = took < few ? took : few;
      took = cost(20000, 20000);
      lots = took < lots ? took : lots;
    }
    CHECK(lots < 5 * few);
  }
}

int main(void) {
  attempts();
  given_up();
  functions();
  loads();
  many();
  return check_finish();
}
