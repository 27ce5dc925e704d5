/* test_engine_events.c: what comes unasked or at its hour: events, a choice after a time, and what
 * is only shown (bytes of running calls, ticks). Each expected log is the contract in one line. */
#include <stdlib.h>

#include "support/engine_kit.h"

static struct error error;

static bool send(const char *word) {
  return engine_event(h.engine, "inbox", (struct span){word, strlen(word)}, &error);
}

static bool said;
static void say_once(void *data, const char *question) {
  if (said || strcmp(question, "choose") != 0) return;
  said = true;
  CHECK(send(data));
}

static void six_ms(void *data, const char *question) {
  (void)data;
  if (strcmp(question, "event") == 0) h.sys.now_ns += 6 * 1000000;
}

static void events(void) {
  TEST("an event wakes the run, is heard before what came later, and shares its batch") {
    setup_under_way(3, 2);
    char word[] = "hello";
    int awake = h.awake;
    CHECK(send(word) && h.awake == awake + 1);
    memset(word, '#', 5); /* it was copied */
    fake_transport_reply(&h.outside, "2", REPLY_OK, "b");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "event(inbox,hello) accept(2,0,b) choose request(3) "
                          "append(e:hello,r2,i3) pool");
    teardown();
  }
  TEST(
      "what came before a reply is in no later batch than the reply, and what came behind it in no "
      "earlier one") {
    setup_under_way(1, 1);
    h.policy.during = six_ms;
    h.policy.verbose = false;
    h.pool_full = true;
    CHECK(send("a") && send("b"));
    fake_transport_reply(&h.outside, "1", REPLY_OK, "x");
    CHECK(send("c") && engine_turn(h.engine) == ENGINE_READY);
    CHECK_STR(h.log.text, "append(e:a,e:b) sync durable(4)");
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, "r1,e:c") == 1 || fake_log_count(&h.log, "append(r1") == 1);
    teardown();
  }
  TEST("events that come while a sync is under way wait for it, in their order") {
    setup_under_way(4, 2);
    CHECK(send("a") && fake_host_turn(&h) == ENGINE_WAITING && h.work);
    fake_log_clear(&h.log);
    CHECK(send("b") && send("c") && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "");
    CHECK(fake_host_pool(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "sync durable(4) event(inbox,b) event(inbox,c) choose "
                          "append(e:b,e:c) pool");
    teardown();
  }
  TEST("a run that waits for an event only goes on waiting, and goes on when it is there") {
    setup_verbose(1, 0);
    h.policy.events = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.timer.in_flight == 0);
    h.policy.width = 1;
    fake_log_clear(&h.log);
    CHECK(send("go") && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "event(inbox,go) choose request(1) append(e:go,i1) sync durable(3) "
                          "send(1) delay(51ms)");
    teardown();
  }
  TEST("one that comes before a stop is heard before it, one that comes later is refused") {
    setup_under_way(2, 2);
    engine_stop(h.engine, "user_exit");
    CHECK(send("late"));
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(
        fake_log_count(
            &h.log,
            "event(inbox,late) accept(2,2,) accept(1,2,) stop(user_exit) choose append(e:late,c") ==
        1);
    CHECK(!send("too late") && error.code == ERROR_STOPPED);
    CHECK_STR(error.text, "inbox: the run is ending");
    teardown();
  }
  TEST("one that comes while the run chooses its end belongs to it; behind that it is refused") {
    setup_under_way(1, 1);
    char word[] = "last";
    said = false;
    h.policy.data = word;
    h.policy.during = say_once;
    fake_transport_reply(&h.outside, "1", REPLY_OK, "a");
    h.busy = true;
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work);
    CHECK_STR(h.log.text, "accept(1,0,a) choose event(inbox,last) "
                          "append(r1,end:task_completed,e:last) pool");
    CHECK(!send("too late") && error.code == ERROR_STOPPED);
    CHECK(fake_host_pool(&h) && fake_host_turn(&h) == ENGINE_STOPPED);
    teardown();
  }
  TEST("an event whose hearing is interrupted is heard again before the run stops") {
    setup_under_way(1, 1);
    h.policy.fail_at = h.policy.questions + 1;
    h.policy.fail_code = ERROR_STOPPED;
    CHECK(send("first") && send("second"));
    CHECK(engine_turn(h.engine) == ENGINE_READY);
    engine_stop(h.engine, "timeout");
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, "event(inbox,first) event(inbox,second) accept(1,2,) "
                                 "stop(timeout) choose append(e:first,e:second,c1,") == 1);
    CHECK_STR(engine_reason(h.engine), "timeout");
    teardown();
  }
  TEST("it comes before those that came meanwhile, and takes its room") {
    setup_under_way(1, 1);
    static char large[3 << 20];
    memset(large, 'x', sizeof large - 1);
    h.policy.fail_at = h.policy.questions + 1;
    h.policy.fail_code = ERROR_STOPPED;
    h.policy.verbose = false;
    CHECK(send(large) && engine_turn(h.engine) == ENGINE_READY);
    CHECK(!send(large) && error.code == ERROR_LIMIT);
    CHECK(send("second") && fake_host_turn(&h) == ENGINE_STOPPED);
    const char *first = strstr(h.log.text, "e:xx");
    CHECK(first && strstr(first, "e:second"));
    teardown();
  }
  TEST("a policy that cannot hear an event fails, and what waits is given back") {
    setup_under_way(1, 1);
    h.policy.fail_at = h.policy.questions + 1;
    CHECK(send("first") && send("second"));
    CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(engine_reason(h.engine), "script_error");
    CHECK(fake_log_count(&h.log, "event(") == 0);
    teardown();
  }
  TEST("many events are heard in several batches, but all of them before a stop") {
    setup_under_way(1, 1);
    h.policy.during = six_ms;
    h.policy.verbose = false;
    h.pool_full = true;
    for (int i = 0; i < 2; i++)
      CHECK(send("a") && send("b"));
    CHECK(engine_turn(h.engine) == ENGINE_READY);
    CHECK_STR(h.log.text, "append(e:a,e:b) sync durable(4)");
    engine_stop(h.engine, "user_exit");
    CHECK(send("c") && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK(fake_log_count(&h.log, "stop(user_exit) append(e:a,e:b,e:c,c1,end:user_exit)") == 1);
    teardown();
  }
  TEST("at most 4 MiB wait: what is more is refused, and there is room again when it was heard") {
    setup_under_way(1, 1);
    size_t large = 1 << 20;
    char *bytes = calloc(large, 1);
    struct span span = {bytes, large - 1000};
    for (int i = 0; i < 4; i++)
      CHECK(engine_event(h.engine, "inbox", span, &error));
    CHECK(!engine_event(h.engine, "inbox", span, &error) && error.code == ERROR_LIMIT);
    CHECK_STR(error.text, "inbox: more than 4194304 bytes wait to be delivered");
    CHECK(!engine_event(h.engine, "inbox", (struct span){bytes, SIZE_MAX / 2}, &error));
    CHECK(!engine_event(h.engine, "session:one", span, &error));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(engine_event(h.engine, "inbox", span, &error));
    free(bytes);
    teardown();
  }
  TEST("there is room for a notice where there is none for an event, whatever either is named") {
    setup_under_way(1, 1);
    static char large[(4 << 20) - 1000];
    struct span end = {large, 4096};
    CHECK(engine_event(h.engine, "inbox", (struct span){large, sizeof large}, &error));
    CHECK(!engine_event(h.engine, "missed", end, &error) && error.code == ERROR_LIMIT);
    CHECK(!engine_event(h.engine, "ended:1:c0:one", end, &error));
    CHECK(engine_notice(h.engine, "missed", end, &error));
    CHECK(engine_notice(h.engine, "one", end, &error));
    int notices = 2;
    while (notices < 100 && engine_notice(h.engine, "one", end, &error))
      notices++;
    CHECK(notices >= 15 && notices < 20 && error.code == ERROR_LIMIT); /* 64 KiB of them */
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(fake_log_count(&h.log, "event(one,") == notices - 1);
    teardown();
  }
  TEST("that a program was started is a notice") {
    setup_verbose(1, 1);
    h.policy.policy.starts = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING && h.outside.first);
    static char large[(4 << 20) - 60];
    CHECK(engine_event(h.engine, "inbox", (struct span){large, sizeof large}, &error));
    struct exchange *exchange = h.outside.first->exchange;
    exchange->started(exchange, 77, "boot");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(fake_log_count(&h.log, "event(started:1,77 boot)") == 1);
    teardown();
  }
}

static void pass(int64_t ms) {
  h.sys.now_ns += ms * 1000000;
}

static void waits(void) {
  TEST("choose is asked again when its time has come, not before, with nothing under way") {
    setup_verbose(1, 0);
    h.policy.wait_ms = 250;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(h.policy.choices == 1 && h.timer.in_flight == 1 &&
          h.timer.first->task->timer.delay_ms == 251);
    pass(249);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.policy.choices == 1);
    pass(1);
    h.policy.wait_ms = -1;
    h.policy.width = 1;
    int awake = h.awake;
    CHECK(fake_transport_reply(&h.timer, NULL, REPLY_OK, NULL) && h.awake == awake + 1);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.outside.in_flight == 1);
    CHECK(h.policy.choices == 2);
    teardown();
  }
  TEST("the time counts from the last choice, and one timer serves it") {
    setup_under_way(3, 1);
    h.policy.wait_ms = 1000;
    for (int i = 0; i < 2; i++) {
      pass(900);
      fake_transport_reply(&h.outside, NULL, REPLY_OK, "x");
      CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.timer.in_flight == 1);
    }
    unsigned choices = h.policy.choices;
    while (h.timer.in_flight > 0 && h.policy.choices == choices) { /* it may ring early */
      pass(h.timer.first->task->timer.delay_ms);
      fake_transport_reply(&h.timer, NULL, REPLY_OK, NULL);
      CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    }
    CHECK(h.policy.choices == choices + 1 && h.sys.now_ns / 1000000 >= 2800);
    teardown();
  }
  TEST("an earlier time takes the place of a later one, a later one waits for it") {
    setup_verbose(1, 0);
    h.policy.wait_ms = 60000;
    h.policy.in_memory = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(h.timer.first->task->timer.delay_ms == 60001);
    h.policy.wait_ms = 10;
    CHECK(send("a") && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(h.timer.in_flight == 1 && h.timer.first->task->timer.delay_ms == 11);
    size_t sent = h.timer.sent;
    h.policy.wait_ms = 100;
    CHECK(send("b") && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(h.timer.in_flight == 1 && h.timer.sent == sent);
    pass(11);
    CHECK(fake_transport_reply(&h.timer, NULL, REPLY_OK, NULL));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.timer.in_flight == 1);
    CHECK(h.policy.choices == 3);
    teardown();
  }
  TEST("a time of 0 lets the loop turn once") {
    setup_verbose(2, 1);
    h.policy.wait_ms = 0;
    CHECK(fake_host_open(&h));
    for (unsigned i = 1; i < 5; i++)
      CHECK(engine_turn(h.engine) == ENGINE_READY && h.policy.choices == i);
    CHECK(h.timer.in_flight == 0);
    teardown();
  }
  TEST("a time beyond all clocks is none that comes early") {
    setup_verbose(1, 0);
    h.policy.wait_ms = INT64_MAX;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    CHECK(h.timer.first->task->timer.delay_ms > INT64_C(1) << 40);
    teardown();
  }
  TEST("a run whose timer cannot be had does not sleep for ever: it stops and says so") {
    setup_verbose(1, 0);
    h.policy.wait_ms = 250;
    h.no_timer = true;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_STOPPED);
    CHECK_STR(engine_reason(h.engine), "internal");
    teardown();
    for (int memory = 0; memory < 2; memory++) {
      setup_verbose(1, 0);
      h.policy.wait_ms = 250;
      h.timer.fail_send = 1;
      h.timer.fail_code = memory ? ERROR_MEMORY : ERROR_SYSTEM;
      CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_STOPPED);
      CHECK_STR(engine_reason(h.engine), memory ? "out_of_memory" : "internal");
      CHECK_STR(engine_error(h.engine)->text, "251ms: not sent");
      teardown();
    }
  }
}

static void shown(void) {
  TEST("bytes of a running call are told from the turn, before its reply is heard") {
    setup_under_way(2, 2);
    int awake = h.awake;
    CHECK(fake_transport_progress(&h.outside, "2", "half a line"));
    CHECK(h.awake == awake + 1);
    CHECK_STR(h.log.text, "");
    CHECK(fake_transport_progress(&h.outside, "1", "other"));
    CHECK(fake_transport_progress(&h.outside, "1", ""));
    fake_transport_reply(&h.outside, "2", REPLY_OK, "b");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "progress(2,half a line) progress(1,other) accept(2,0,b) choose "
                          "append(r2) pool");
    teardown();
  }
  TEST("they ask for no choice, and are told while a sync is under way, too") {
    setup_under_way(3, 2);
    fake_transport_reply(&h.outside, "1", REPLY_OK, "a");
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.work);
    fake_log_clear(&h.log);
    CHECK(fake_transport_progress(&h.outside, "2", "x"));
    CHECK(fake_host_turn(&h) == ENGINE_WAITING);
    CHECK_STR(h.log.text, "progress(2,x)");
    teardown();
  }
  TEST("nobody who watches, nothing kept; more than a turn's worth is left out, not kept") {
    setup_under_way(1, 1);
    static char line[4096];
    memset(line, 'x', sizeof line - 1);
    size_t live = h.sys.live;
    for (int i = 0; i < 1000; i++)
      fake_transport_progress(&h.outside, "1", line);
    CHECK(h.sys.live - live <= 1 << 20);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && h.sys.live == live);
    h.policy.policy.progress = NULL;
    int awake = h.awake;
    CHECK(fake_transport_progress(&h.outside, "1", line) && h.sys.live == live);
    CHECK(h.awake == awake);
    teardown();
  }
}

static int ticks;
static void count_tick(void *self) {
  (void)self;
  ticks++;
}

static void ticking(void) {
  TEST("a tick is told from the turn, once however many came, and asks for nothing") {
    setup_verbose(1, 1);
    ticks = 0;
    h.policy.policy.tick = count_tick;
    CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
    int awake = h.awake;
    unsigned questions = h.policy.questions;
    engine_tick(h.engine), engine_tick(h.engine);
    CHECK(h.awake > awake && ticks == 0);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && ticks == 1);
    CHECK(fake_host_turn(&h) == ENGINE_WAITING && ticks == 1);
    CHECK(h.policy.questions == questions);
    teardown();
  }
}

int main(void) {
  events();
  waits();
  shown();
  ticking();
  return check_finish();
}
