/* test_session.c: programs one talks to: answers and whose they are, what they say unasked, how
 * they end and begin again. The program is tests/support/session_program.lua. */
#include <signal.h>
#include <unistd.h>

#include "support/sessions.h"

static void until_settled(void) {
  for (int64_t end = now_ms() + PATIENCE_MS; transport->ops->ending(transport) && now_ms() < end;)
    uv_run(&loop, UV_RUN_ONCE);
}

static void test_answers(const char *mode) {
  setup();
  ask(0, mode, "1", "{\"id\":1,\"do\":\"echo\"}");
  CHECK(got[0].reply.status == REPLY_OK);
  CHECK_STR(got[0].body, "{\"id\":1,\"count\":1,\"length\":20}");
  ask(0, mode, "\"ba\"", "{\"id\":\"ba\",\"do\":\"echo\"}");
  CHECK_STR(got[0].body, "{\"id\":\"ba\",\"count\":2,\"length\":23}");
  CHECK(starts == 1); /* it stays */
  CHECK(tell(0, mode, "7", "{\"id\":7,\"do\":\"hold\"}"));
  ask(1, mode, "8", "{\"id\":8,\"do\":\"free\"}");
  capture_wait(&got[0], &loop);
  CHECK_STR(got[0].body, "{\"id\":7,\"first\":true}");
  CHECK_STR(got[1].body, "{\"id\":8,\"second\":true}");
  ask(0, mode, "9", "{\"id\":9,\"do\":\"note\"}");
  CHECK_STR(got[0].body, "{\"id\":9,\"noted\":true}");
  CHECK_STR(events, "session:one {\"note\":1}|session:one {\"id\":9,\"method\":\"ask\"}|");
  ask(0, mode, "10", "{\"id\":10,\"do\":\"big\"}");
  CHECK(got[0].reply.status == REPLY_OK && strlen(got[0].body) == 300019);
  teardown();
}

static void test_names(void) {
  TEST("each session has a program of its own") {
    setup();
    ask(0, "lines", "1", "{\"id\":1,\"do\":\"echo\"}");
    session_name = "two";
    ask(1, "lines", "2", "{\"id\":2,\"do\":\"echo\"}");
    CHECK_STR(got[1].body, "{\"id\":2,\"count\":1,\"length\":20}");
    session_name = "one";
    ask(0, "lines", "3", "{\"id\":3,\"do\":\"echo\"}");
    CHECK_STR(got[0].body, "{\"id\":3,\"count\":2,\"length\":20}");
    CHECK(starts == 2);
    teardown();
  }
}

static void test_order(void) {
  TEST("without ids the next message is the answer, to the oldest question") {
    setup();
    CHECK(tell(0, "lines", NULL, "{\"id\":1,\"do\":\"echo\"}"));
    CHECK(tell(1, "lines", NULL, "{\"id\":2,\"do\":\"echo\"}"));
    capture_wait(&got[1], &loop);
    CHECK_STR(got[0].body, "{\"id\":1,\"count\":1,\"length\":20}");
    CHECK_STR(got[1].body, "{\"id\":2,\"count\":2,\"length\":20}");
    teardown();
  }
  TEST("an answer that is given up does no harm with ids; without, the program begins anew") {
    setup();
    CHECK(tell(0, "lines", "1", "{\"id\":1,\"do\":\"silent\"}"));
    transport->ops->cancel(transport, &got[0].exchange, false);
    CHECK(got[0].replies == 1 && got[0].reply.status == REPLY_CANCELED);
    ask(1, "lines", "2", "{\"id\":2,\"do\":\"echo\"}");
    CHECK_STR(got[1].body, "{\"id\":2,\"count\":2,\"length\":20}");
    CHECK(tell(2, "lines", NULL, "{\"id\":3,\"do\":\"silent\"}"));
    loop_spend(&loop, 50);
    transport->ops->cancel(transport, &got[2].exchange, false);
    ask(1, "lines", NULL, "{\"id\":4,\"do\":\"echo\"}");
    CHECK_STR(got[1].body, "{\"id\":4,\"count\":1,\"length\":20}");
    CHECK(starts == 2);
    teardown();
  }
  TEST("a question has its time, counted by itself") {
    setup();
    CHECK(tell(0, "lines", "1", "{\"id\":1,\"do\":\"silent\"}"));
    transport->ops->cancel(transport, &got[0].exchange, false);
    struct error e;
    capture_clear(&got[0]);
    capture_init(&got[0], transport);
    tasks[0].total_ms = 150;
    int64_t begin = now_ms();
    CHECK(transport->ops->send(transport, &got[0].exchange, &tasks[0], &e));
    capture_wait(&got[0], &loop);
    CHECK(got[0].reply.status == REPLY_TIMEOUT && now_ms() - begin >= 149);
    CHECK_STR(got[0].reply.message, "one: no answer in time");
    ask(1, "lines", "2", "{\"id\":2,\"do\":\"echo\"}");
    CHECK_STR(got[1].body, "{\"id\":2,\"count\":3,\"length\":20}");
    teardown();
  }
}

static void test_ends(void) {
  TEST("a program that ends is told to all who wait, with the end of its errors, and started "
       "again") {
    setup();
    CHECK(tell(0, "lines", "1", "{\"id\":1,\"do\":\"hold\"}"));
    ask(1, "lines", "2", "{\"id\":2,\"do\":\"die\"}");
    capture_wait(&got[0], &loop);
    for (int i = 0; i < 2; i++) {
      CHECK(got[i].reply.status == REPLY_BROKEN && got[i].reply.code == 3 && got[i].reply.sent);
      CHECK_STR(got[i].reply.message, "one: ended with exit code 3 before it answered");
      size_t length = strlen(got[i].extra);
      CHECK(length >= 32 << 10 && length <= 64 << 10);
      CHECK_STR(got[i].extra + length - 8, "xtrouble");
    }
    ask(0, "lines", "3", "{\"id\":3,\"do\":\"echo\"}");
    CHECK_STR(got[0].body, "{\"id\":3,\"count\":1,\"length\":20}");
    ask(0, "lines", "4", "{\"id\":4,\"do\":\"bye\"}");
    CHECK_STR(got[0].reply.message, "one: ended with exit code 0 before it answered");
    teardown();
  }
  TEST("a program that cannot be started says what to install") {
    setup();
    tasks[0].kind = TASK_SESSION;
    struct error e;
    CHECK(task_set(&tasks[0], &tasks[0].target, "two", &e));
    add(&tasks[0].session.args, "no-such-program");
    add(&tasks[0].session.env, "PATH=/bin");
    CHECK(transport->ops->send(transport, &got[0].exchange, &tasks[0], &e));
    capture_wait(&got[0], &loop);
    CHECK(got[0].reply.status == REPLY_REFUSED);
    CHECK_STR(got[0].reply.message,
              "two: no-such-program: command not found in PATH; install it or "
              "name it by its full path");
    teardown();
  }
  TEST("what is no frame ends the program, as nothing can be told behind it") {
    setup();
    ask(0, "framed", "1", "{\"id\":1,\"do\":\"rubbish\"}");
    CHECK(got[0].reply.status == REPLY_BROKEN);
    CHECK_STR(got[0].reply.message, "one: said something that has no Content-Length");
    ask(0, "framed", "2", "{\"id\":2,\"do\":\"echo\"}");
    CHECK(got[0].reply.status == REPLY_OK && starts == 2);
    teardown();
  }
  TEST("a message beyond the maximum ends the program") {
    setup();
    struct error e;
    CHECK(tell(0, "lines", "1", "{\"id\":1,\"do\":\"bye\"}"));
    capture_wait(&got[0], &loop);
    CHECK(tell(1, "lines", "1", "{\"id\":1,\"do\":\"bye\"}"));
    capture_wait(&got[1], &loop);
    capture_clear(&got[1]);
    capture_init(&got[1], transport);
    tasks[1].max_body = 1000;
    buffer_reset(&tasks[1].body);
    CHECK(buffer_string(&tasks[1].body, "{\"id\":1,\"do\":\"big\"}", &e));
    CHECK(transport->ops->send(transport, &got[1].exchange, &tasks[1], &e));
    capture_wait(&got[1], &loop);
    CHECK(got[1].reply.status == REPLY_TOO_LARGE);
    CHECK_STR(got[1].reply.message, "one: a message of more than 1000 bytes");
    teardown();
  }
  TEST("a line break inside a line is refused") {
    setup();
    CHECK(!tell(0, "lines", "1", "{\"id\":1,\n\"do\":\"echo\"}"));
    teardown();
  }
}

static void test_run_over(void) {
  TEST("when the run is over its input ends, and it may end in order") {
    setup();
    ask(0, "lines", "1", "{\"id\":1,\"do\":\"echo\"}");
    CHECK(!transport->ops->ending(transport));
    transport->ops->retire(transport);
    CHECK(transport->ops->ending(transport) && settled == 0);
    until_settled();
    CHECK(settled == 1);
    size_t length;
    char *text = scratch_read(&folder, "told", &length);
    CHECK_STR(text, "ended after 1");
    free(text);
    CHECK(kill((pid_t)pids[0], 0) < 0);
    teardown();
  }
  TEST("one that goes on gets SIGTERM, and SIGKILL after 2 s") {
    setup();
    ask(0, "stubborn", "1", "{\"id\":1,\"do\":\"echo\"}");
    int64_t begin = now_ms();
    transport->ops->retire(transport);
    until_settled();
    CHECK(settled == 1);
    CHECK(now_ms() - begin >= 490 && now_ms() - begin < 3500);
    CHECK(kill((pid_t)pids[0], 0) < 0);
    teardown();
  }
  TEST("closing ends all at once") {
    setup();
    ask(0, "stubborn", "1", "{\"id\":1,\"do\":\"echo\"}");
    CHECK(tell(1, "stubborn", "2", "{\"id\":2,\"do\":\"silent\"}"));
    transport->ops->close(transport);
    transport = NULL;
    CHECK(got[1].replies == 1 && got[1].reply.status == REPLY_CANCELED);
    CHECK(kill((pid_t)pids[0], 0) < 0);
    teardown();
  }
  TEST("closing before the program began leaves nothing") {
    int before = open_descriptors();
    setup();
    CHECK(tell(0, "lines", "1", "{\"id\":1,\"do\":\"echo\"}"));
    transport->ops->close(transport);
    transport = NULL;
    CHECK(got[0].replies == 1);
    teardown();
    CHECK(open_descriptors() == before);
  }
}

int main(void) {
  TEST("answers find their questions, by lines; what else is said is an event") {
    test_answers("lines");
  }
  TEST("answers find their questions, in frames; what else is said is an event") {
    test_answers("framed");
  }
  test_names();
  test_order();
  test_ends();
  test_run_over();
  return check_finish();
}
