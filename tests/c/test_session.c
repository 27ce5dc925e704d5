/* test_session.c: programs one talks to: answers and whose they are, what they say unasked, how
 * they end and begin again. The program is tests/support/session_program.lua. */
#include <signal.h>
#include <unistd.h>

#include "support/check.h"
#include "support/exchanges.h"
#include "support/scratch.h"
#include "transport/session_message.h"

enum { CALLS = 4 };

static uv_loop_t loop;
static struct world world;
static struct transport *transport;
static struct scratch folder;
static struct task tasks[CALLS];
static struct capture got[CALLS];
static char events[4096];
static int settled;
static int64_t pids[8];
static int starts;

static void note_event(void *data, const char *source, struct span bytes) {
  size_t used = strlen(events);
  CHECK(data == &loop);
  snprintf(events + used, sizeof events - used, "%s %.*s|", source, (int)bytes.length, bytes.data);
}

static void note_settled(void *data) {
  (void)data;
  settled++;
}

static void note_started(struct exchange *exchange, int64_t pid, const char *start) {
  (void)exchange;
  CHECK(*start);
  if (starts < 8) pids[starts++] = pid;
}

static void setup(void) {
  struct error e;
  world_init(&world);
  events[0] = 0;
  settled = starts = 0;
  scratch_make(&folder);
  if (uv_loop_init(&loop) != 0 || !session_open(&world.sys, &loop, &transport, &e)) abort();
  transport->owner =
      (struct transport_owner){.data = &loop, .settled = note_settled, .event = note_event};
  for (int i = 0; i < CALLS; i++) {
    task_init(&tasks[i], sys_real());
    capture_init(&got[i], transport);
  }
}

static void teardown(void) {
  if (transport) transport->ops->close(transport);
  uv_run(&loop, UV_RUN_NOWAIT);
  uv_run(&loop, UV_RUN_NOWAIT);
  CHECK(uv_loop_close(&loop) == 0);
  CHECK(world.live == 0);
  for (int i = 0; i < CALLS; i++) {
    task_clear(&tasks[i]);
    capture_clear(&got[i]);
  }
  scratch_remove(&folder);
}

static const char *told(void) {
  return scratch_path(&folder, "told");
}

static const char *opening[3]; /* of the calls that follow */
static const char *withdraw;
static int64_t patience;

/* The i-th call: a message to the session "one". */
static bool tell(int i, const char *mode, const char *id, const char *message) {
  struct error e = {0};
  struct task *task = &tasks[i];
  task_clear(task);
  capture_clear(&got[i]);
  capture_init(&got[i], transport);
  got[i].exchange.started = note_started;
  task->kind = TASK_SESSION;
  task->framed = strcmp(mode, "framed") == 0;
  CHECK(task_set(task, &task->target, "one", &e) && task_set(task, &task->reply_id, id, &e));
  const char *lua = getenv("LUA");
  add(&task->args, lua ? lua : "lua5.4");
  add(&task->args, "tests/support/session_program.lua");
  add(&task->args, task->framed ? "framed" : "lines");
  add(&task->args, told());
  if (strcmp(mode, "stubborn") == 0) add(&task->args, "stubborn");
  add(&task->env, "PATH=/usr/local/bin:/usr/bin:/bin");
  CHECK(buffer_string(&task->body, message, &e));
  for (int n = 0; n < 3 && opening[n]; n++)
    add(&task->opening, opening[n]);
  task->takes_questions = opening[0] != NULL;
  task->total_ms = patience;
  CHECK(task_set(task, &task->withdraw, withdraw, &e));
  bool sent = transport->ops->send(transport, &got[i].exchange, task, &e);
  if (!sent) printf("# %s\n", e.text);
  return sent;
}

static void ask(int i, const char *mode, const char *id, const char *message) {
  CHECK(tell(i, mode, id, message));
  CHECK(got[i].replies == 0); /* never from inside send */
  capture_wait(&got[i], &loop);
  CHECK(got[i].replies == 1 && got[i].exchange.handle == NULL);
}

static void until_settled(void) {
  for (int64_t end = now_ms() + PATIENCE_MS; transport->ops->ending(transport) && now_ms() < end;)
    uv_run(&loop, UV_RUN_ONCE);
}

static void test_answers(const char *mode) {
  setup();
  ask(0, mode, "1", "{\"id\":1,\"do\":\"echo\"}");
  CHECK(got[0].reply.status == REPLY_OK);
  CHECK_STR(got[0].body, "{\"id\":1,\"count\":1,\"length\":20}");
  ask(0, mode, "\"b\\u0061\"", "{\"id\":\"ba\",\"do\":\"echo\"}");
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
    add(&tasks[0].args, "no-such-program");
    add(&tasks[0].env, "PATH=/bin");
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

/* Whatever allocation fails: an answer or a clear failure, and nothing is left. */
static void test_memory(void) {
  TEST("the n-th allocation failing is told, and leaks nothing") {
    long n = 0;
    for (bool reached = true; reached && n < 200;) {
      setup();
      world.allocs = 0;
      world.fail_alloc = ++n;
      opening[0] = n % 2 ? "{\"id\":0,\"method\":\"hello\",\"do\":\"echo\"}" : NULL;
      if (tell(0, "framed", "1", "{\"id\":1,\"do\":\"echo\"}")) {
        capture_wait(&got[0], &loop);
        CHECK(got[0].replies == 1 && (got[0].reply.status == REPLY_OK || got[0].reply.message[0]));
      }
      reached = world.allocs >= n;
      world.fail_alloc = 0;
      teardown();
    }
    CHECK(n > 10 && n < 200);
  }
}

int main(void) {
  TEST("answers find their questions, by lines; what else is said is an event") {
    test_answers("lines");
  }
  TEST("answers find their questions, in frames; what else is said is an event") {
    test_answers("framed");
  }
  test_order();
  test_ends();
  test_opening();
  test_run_over();
  test_memory();
  return check_finish();
}
