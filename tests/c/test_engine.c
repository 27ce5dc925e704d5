/* test_engine.c: the commit rule, with fakes of policy, transport and store: what is written,
 * synced, reported and sent, in which order. Each expected log is the contract in one line. */
#include "support/engine_kit.h"

static void order(void) {
  TEST("an intent is appended and synced before its task leaves, a result before it is reported") {
    setup(2, 1);
    CHECK(fake_host_open(&h));
    CHECK_STR(h.log.text, "append(new) sync durable(1) save(1)");
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "append(i1) sync durable(2) send(1)");
    fake_log_clear(&h.log);
    CHECK(fake_transport_reply(&h.outside, "1", REPLY_OK, "a"));
    CHECK(h.awake == 1);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "append(r1,i2) sync durable(4) send(2)");
    fake_log_clear(&h.log);
    CHECK(fake_transport_reply(&h.outside, "2", REPLY_OK, "b"));
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text, "append(r2,end:task_completed) sync durable(6) save(6)");
    CHECK_STR(engine_status(h.engine), "completed");
    CHECK_STR(engine_reason(h.engine), "task_completed");
    CHECK(engine_error(h.engine)->code == ERROR_NONE);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    teardown();
  }
  TEST("a sequential run costs exactly one append and one sync a step") {
    setup(1000, 1);
    h.log.off = true;
    CHECK(fake_host_open(&h) && fake_host_run(&h, 1001));
    CHECK(h.store.syncs ==
          1000 + 2); /* the new run and its first intent; the last result ends it */
    CHECK(h.store.appends == h.store.syncs);
    teardown();
  }
  TEST("functions of the script need no intent and no transport, one sync each all the same") {
    setup(3, 1);
    h.policy.functions = true;
    CHECK(fake_host_open(&h));
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text, "append(r1) sync durable(2) append(r2) sync durable(3) "
                          "append(r3,end:task_completed) sync durable(5) save(5)");
    teardown();
  }
  TEST("a function is performed once: no request, and a choice only when it is over") {
    setup(2, 1);
    h.policy.functions = h.policy.verbose = true;
    CHECK(fake_host_open(&h));
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text, "choose accept(1) choose append(r1) sync durable(2) "
                          "accept(2) choose append(r2,end:task_completed) sync durable(4) save(4)");
    teardown();
  }
  TEST("a turn to which nothing came asks, writes and syncs nothing") {
    setup(1, 1);
    h.policy.verbose = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "");
    teardown();
  }
}

static void parallel(void) {
  TEST("steps that start together share one batch and leave after its sync") {
    setup(3, 3);
    CHECK(fake_host_open(&h));
    fake_log_clear(&h.log);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "append(i1,i2,i3) sync durable(4) send(1) send(2) send(3)");
    teardown();
  }
  TEST("with others under way a sync goes to the pool, and what arrives meanwhile is one batch") {
    setup(4, 3);
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_log_clear(&h.log);
    fake_transport_reply(&h.outside, "1", REPLY_OK, "a");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "append(r1,i4) pool");
    fake_log_clear(&h.log);
    fake_transport_reply(&h.outside, "3", REPLY_OK, "c");
    fake_transport_reply(&h.outside, "2", REPLY_OK, "b");
    h.policy.verbose = true;
    CHECK(fake_host_turn(&h) == ENGINE_WAITING); /* the sync has not returned: nothing moves */
    CHECK_STR(h.log.text, "");
    CHECK(fake_host_pool(&h));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "sync durable(6) send(4) accept(3,0,c) accept(2,0,b) choose "
                          "append(r3,r2) pool");
    CHECK(fake_host_run(&h, 20));
    CHECK_STR(engine_status(h.engine), "completed");
    teardown();
  }
  TEST("batch b+1 is never written before the sync of b returned, however late it is") {
    setup(40, 4); /* fake_store asserts it */
    h.busy = true;
    CHECK(fake_host_open(&h));
    for (int i = 0; i < 2000 && fake_host_turn(&h) != ENGINE_STOPPED; i++) {
      fake_transport_reply(&h.outside, NULL, REPLY_OK, "x");
      if (i % 7 == 0) fake_host_pool(&h);
    }
    CHECK_STR(engine_status(h.engine), "completed");
    CHECK(h.store.appends < 2 + 40); /* several results shared a batch */
    teardown();
  }
  TEST("a busy process syncs on the pool, a full pool inline") {
    setup(1, 1);
    h.busy = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(fake_log_count(&h.log, "pool") == 1 && h.outside.in_flight == 0);
    int awake = h.awake;
    CHECK(fake_host_pool(&h) && h.awake == awake + 1);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.outside.in_flight == 1);
    fake_log_clear(&h.log);
    h.pool_full = true;
    fake_transport_reply(&h.outside, "1", REPLY_OK, "x");
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(h.log.text, "append(r1,end:task_completed) sync durable(4) save(4)");
    teardown();
  }
}

static void eleven_ms(void *data, const char *question) {
  (void)data;
  if (strcmp(question, "accept") == 0) h.sys.now_ns += 11 * 1000000;
}

static void flat(void) {
  TEST("a million functions in memory allocate nothing and let the loop breathe") {
    setup(1000 * 1000, 1);
    h.sys.clock_stands = false;
    h.policy.functions = true;
    h.policy.in_memory = true;
    h.log.off = true;
    CHECK(fake_host_open(&h));
    for (int i = 0; i < 3; i++)
      CHECK(engine_turn(h.engine) == ENGINE_READY);
    size_t allocations = h.sys.allocations, live = h.sys.live;
    int64_t longest = 0, turns = 0;
    for (enum engine_phase phase = ENGINE_READY; phase == ENGINE_READY; turns++) {
      int64_t start = h.sys.sys.mono_ns(&h.sys.sys);
      phase = engine_turn(h.engine);
      int64_t took = h.sys.sys.mono_ns(&h.sys.sys) - start;
      longest = took > longest ? took : longest;
    }
    CHECK(h.policy.done == 1000 * 1000);
    CHECK(h.sys.allocations == allocations && h.sys.live == live);
    CHECK(turns > 100);
    CHECK(longest < 1000 * 1000 * 1000);
    teardown();
  }
  TEST("many steps at once are found again whatever their numbers, and their slots are reused") {
    setup(2000, 50);
    h.log.off = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    fake_host_run(&h, 60);
    size_t live = h.sys.live;
    CHECK(fake_host_run(&h, 5000));
    CHECK(h.policy.done == 2000 && h.sys.live <= live + 4096); /* a wider batch, no more */
    teardown();
  }
  TEST("a long function ends the turn after it, so that other runs get theirs") {
    setup(10, 1);
    h.policy.functions = true;
    h.policy.during = eleven_ms;
    CHECK(fake_host_open(&h));
    for (int i = 1; i < 10; i++)
      CHECK(engine_turn(h.engine) == ENGINE_READY && h.policy.done == (uint64_t)i);
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED && h.policy.done == 10);
    teardown();
  }
}

int main(void) {
  order();
  parallel();
  flat();
  return check_finish();
}
