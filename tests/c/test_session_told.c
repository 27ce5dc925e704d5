/* test_session_told.c: what a program one talks to is told before all else: its opening, and what
 * the program before it was told; whom messages are for by its number, and how its end is told. */
#include <signal.h>
#include <unistd.h>

#include "support/sessions.h"

/* A message for a program by its number. */
static bool tell_epoch(int i, int64_t epoch, bool begins, const char *message) {
  number = epoch;
  to_begin = begins;
  bool sent = tell(i, "lines", i ? "3" : "1", message);
  number = 0;
  return sent;
}

/* To a program that begins and is fed two messages. */
static bool tell_fed(void) {
  static const char *const said[] = {"{\"id\":9,\"do\":\"note\"}", "{\"id\":2,\"do\":\"echo\"}"};
  static const char *const ids[] = {"9", "2"};
  feed = said;
  feed_ids = ids;
  bool sent = tell_epoch(0, 1, true, "{\"id\":1,\"do\":\"echo\"}");
  feed = feed_ids = NULL;
  return sent;
}

static void test_opening(void) {
  TEST("a program is told its opening before all else, wherever it begins") {
    setup();
    opening[0] = "{\"id\":0,\"method\":\"hello\",\"do\":\"echo\"}";
    opening[1] = "{\"method\":\"ready\",\"do\":\"silent\"}";
    opening[2] = NULL;
    CHECK(tell(0, "lines", "1", "{\"id\":1,\"do\":\"echo\"}"));
    ask(1, "lines", "2", "{\"id\":2,\"do\":\"echo\"}");
    CHECK_STR(got[0].body, "{\"id\":1,\"count\":3,\"length\":20}");
    CHECK_STR(got[1].body, "{\"id\":2,\"count\":4,\"length\":20}");
    CHECK_STR(events, "session:one {\"id\":0,\"count\":1,\"length\":37}|");
    ask(0, "lines", "3", "{\"id\":3,\"do\":\"die\"}");
    CHECK(got[0].reply.sent);
    ask(0, "lines", "4", "{\"id\":4,\"do\":\"echo\"}");
    CHECK_STR(got[0].body, "{\"id\":4,\"count\":3,\"length\":20}");
    teardown();
  }
  TEST("what was held back behind an opening that is not answered has not left") {
    setup();
    opening[0] = "{\"id\":0,\"method\":\"hello\",\"do\":\"die\"}";
    ask(0, "lines", "1", "{\"id\":1,\"do\":\"echo\"}");
    CHECK(got[0].reply.status == REPLY_BROKEN && !got[0].reply.sent);
    opening[0] = "{\"id\":0,\"method\":\"hello\",\"do\":\"silent\"}";
    patience = 100;
    ask(0, "lines", "1", "{\"id\":1,\"do\":\"echo\"}");
    CHECK(got[0].reply.status == REPLY_TIMEOUT && !got[0].reply.sent);
    patience = 0;
    opening[0] = "{\"id\":0,\"method\":\"hello\",\"do\":\"echo\"}";
    ask(0, "lines", "1", "{\"id\":1,\"do\":\"echo\"}");
    CHECK(got[0].reply.status == REPLY_OK && starts == 3); /* each began anew */
    teardown();
  }
  TEST("a question of its own is an answer to who takes questions, also where it came before") {
    setup();
    ask(0, "lines", "1", "{\"id\":1,\"do\":\"note\"}");
    CHECK_STR(got[0].body, "{\"id\":1,\"method\":\"ask\"}");
    ask(0, "lines", "2", "{\"id\":2,\"do\":\"wonder\"}");
    CHECK_STR(got[0].body, "{\"id\":2,\"asked\":true}");
    loop_spend(&loop, 50);
    ask(0, "lines", "3", "{\"id\":3,\"do\":\"silent\"}");
    CHECK_STR(got[0].body, "{\"id\":\"q\",\"method\":\"ask\"}");
    opening[0] = NULL;
    teardown();
  }
  TEST("an answer behind a question is kept for the message that follows, and for no other") {
    setup();
    opening[0] = "{\"id\":0,\"method\":\"hello\",\"do\":\"echo\"}";
    opening[1] = NULL;
    for (int i = 0; i < 2; i++) {
      ask(0, "lines", "1", "{\"id\":1,\"method\":\"x\",\"do\":\"note\"}");
      CHECK_STR(got[0].body, "{\"id\":1,\"method\":\"ask\"}");
      loop_spend(&loop, 50);
      ask(0, "lines", "1",
          i ? "{\"id\":1,\"method\":\"x\",\"do\":\"echo\"}" : "{\"id\":1,\"do\":\"silent\"}");
      CHECK_STR(got[0].body,
                i ? "{\"id\":1,\"count\":5,\"length\":33}" : "{\"id\":1,\"noted\":true}");
    }
    opening[0] = NULL;
    teardown();
  }
  TEST("a call that is given up is withdrawn, and told so") {
    setup();
    withdraw = "{\"id\":9,\"do\":\"echo\"}";
    patience = 100;
    ask(0, "lines", "1", "{\"id\":1,\"do\":\"silent\"}");
    CHECK(got[0].reply.status == REPLY_TIMEOUT && got[0].reply.sent);
    patience = 0;
    ask(1, "lines", "2", "{\"id\":2,\"do\":\"echo\"}");
    CHECK_STR(events, "session:one {\"id\":9,\"count\":2,\"length\":20}|");
    withdraw = NULL;
    teardown();
  }
}

static void test_numbers(void) {
  TEST("its end is told before those who wait hear of it, with its number and the end of its "
       "errors") {
    setup();
    CHECK(tell_epoch(0, 7, true, "{\"id\":1,\"do\":\"die\"}"));
    capture_wait(&got[0], &loop);
    CHECK(strncmp(events, "ended:7:c3:one xxx", 18) == 0);
    CHECK_STR(events + strlen(events) - 9, "xtrouble|");
    CHECK(strlen(events) == 15 + 4096 + 1);
    teardown();
  }
  TEST("a message is refused where the program it is for has ended, or another one runs") {
    struct error e;
    setup();
    CHECK(!tell_epoch(0, 1, false, "{\"id\":1,\"do\":\"echo\"}"));
    CHECK(tell_epoch(0, 1, true, "{\"id\":1,\"do\":\"echo\"}"));
    capture_wait(&got[0], &loop);
    CHECK(tell_epoch(1, 1, false, "{\"id\":3,\"do\":\"echo\"}"));
    capture_wait(&got[1], &loop);
    CHECK_STR(got[1].body, "{\"id\":3,\"count\":2,\"length\":20}");
    CHECK(!tell_epoch(2, 2, true, "{\"id\":1,\"do\":\"echo\"}"));
    CHECK(!transport->ops->send(transport, &got[2].exchange, &tasks[2], &e));
    CHECK(e.code == ERROR_STOPPED);
    CHECK_STR(e.text, "session one: its program has ended");
    teardown();
  }
  TEST("what is fed is answered to nobody, and what is asked leaves behind the last of it") {
    setup();
    CHECK(tell_fed());
    capture_wait(&got[0], &loop);
    CHECK_STR(got[0].body, "{\"id\":1,\"count\":3,\"length\":20}");
    CHECK_STR(events, ""); /* it was said before */
    teardown();
  }
  TEST("a program that has an opening is fed behind it") {
    setup();
    opening[1] = NULL;
    opening[0] = "{\"id\":0,\"method\":\"hello\",\"do\":\"echo\"}";
    CHECK(tell_fed());
    CHECK(tell_epoch(1, 1, false, "{\"id\":3,\"do\":\"echo\"}"));
    capture_wait(&got[1], &loop);
    CHECK_STR(got[0].body, "{\"id\":1,\"count\":4,\"length\":20}");
    opening[0] = NULL;
    teardown();
  }
  TEST("what is fed in its place is answered to who comes for it, and has left") {
    setup();
    feed = (const char *const[]){"{\"id\":1,\"do\":\"hold\"}", "{\"id\":2,\"do\":\"free\"}"};
    feed_ids = (const char *const[]){"1", "2"};
    fed_at = 1;
    CHECK(tell_epoch(0, 1, true, "{\"id\":1,\"do\":\"hold\"}"));
    fed_at = 0;
    CHECK(tell_epoch(1, 1, false, "{\"id\":3,\"do\":\"die\"}"));
    capture_wait(&got[0], &loop);
    capture_wait(&got[1], &loop);
    CHECK_STR(got[0].body, "{\"id\":1,\"first\":true}");
    CHECK(got[1].reply.status == REPLY_BROKEN && got[1].reply.sent);
    feed = (const char *const[]){"{\"id\":1,\"do\":\"die\"}", "{\"id\":2,\"do\":\"echo\"}"};
    fed_at = 1;
    CHECK(tell_epoch(0, 2, true, "{\"id\":1,\"do\":\"die\"}"));
    fed_at = 0;
    CHECK(tell_epoch(1, 2, false, "{\"id\":3,\"do\":\"echo\"}"));
    capture_wait(&got[0], &loop);
    capture_wait(&got[1], &loop);
    CHECK(got[0].replies == 1 && got[0].reply.sent);
    CHECK(got[1].replies == 1 && !got[1].reply.sent);
    feed = feed_ids = NULL;
    teardown();
  }
  TEST("what was held behind what is fed has not left where that is not answered") {
    setup();
    patience = 100;
    feed = (const char *const[]){"{\"id\":9,\"do\":\"silent\"}", "{\"id\":2,\"do\":\"echo\"}"};
    feed_ids = (const char *const[]){"9", "2"};
    ask(0, "lines", "1", "{\"id\":1,\"do\":\"echo\"}");
    CHECK(got[0].replies == 1 && !got[0].reply.sent);
    feed = feed_ids = NULL;
    patience = 0;
    teardown();
  }
}

/* Whatever allocation fails: an answer or a clear failure, and nothing is left. */
static void test_memory(void) {
  TEST("the n-th allocation failing is told, and leaks nothing") {
    long n = 0;
    for (bool reached = true; reached && n < 200;) {
      setup();
      world.allocs = 0;
      world.fail_alloc = ++n;
      opening[0] = n % 2 ? "{\"id\":0,\"method\":\"hello\",\"do\":\"echo\"}" : NULL;
      if (n % 4 > 1 ? tell_fed() : tell(0, "framed", "1", "{\"id\":1,\"do\":\"echo\"}")) {
        capture_wait(&got[0], &loop);
        CHECK(got[0].replies == 1 && (got[0].reply.status == REPLY_OK || got[0].reply.message[0]));
      }
      reached = world.allocs >= n || n < 100;
      world.fail_alloc = 0;
      teardown();
    }
    CHECK(n > 10 && n < 200);
  }
}

int main(void) {
  test_opening();
  test_numbers();
  test_memory();
  return check_finish();
}
