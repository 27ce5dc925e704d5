/* test_session.c: programs one talks to: what they are told and say, by lines or in frames, how
 * they end, and what is left of them. The program is tests/support/session_program.lua. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "support/check.h"
#include "support/exchanges.h"
#include "support/faulty_sys.h"
#include "support/scratch.h"

static uv_loop_t loop;
static struct world world;
static struct transport *transport;
static struct scratch folder;
static struct task task;
static struct capture got;
static int settled;
static int64_t pid;

static void note_settled(void *data) {
  CHECK(data == &loop);
  settled++;
}

static void note_started(struct exchange *exchange, int64_t started, const char *start) {
  CHECK(exchange == &got.exchange && *start);
  pid = started;
}

static void setup_in(const struct sys *sys) {
  struct error e;
  settled = 0;
  pid = 0;
  scratch_make(&folder);
  if (uv_loop_init(&loop) != 0 || !session_open(sys, &loop, &transport, &e)) abort();
  transport->owner = (struct transport_owner){.data = &loop, .settled = note_settled};
  task_init(&task, sys_real());
  capture_init(&got, transport);
}

static void setup(void) {
  world_init(&world);
  setup_in(&world.sys);
}

static void teardown(void) {
  if (transport) transport->ops->close(transport);
  uv_run(&loop, UV_RUN_NOWAIT);
  uv_run(&loop, UV_RUN_NOWAIT);
  CHECK(uv_loop_close(&loop) == 0);
  CHECK(world.live == 0);
  task_clear(&task);
  capture_clear(&got);
  scratch_remove(&folder);
}

static bool begin(const char *mode) {
  struct error e = {0};
  const char *lua = getenv("LUA");
  got.exchange.started = note_started;
  task.kind = TASK_SESSION;
  task.session.framed = strcmp(mode, "framed") == 0;
  CHECK(task_set(&task, &task.target, "one", &e));
  add(&task.session.args, lua ? lua : "lua5.4");
  add(&task.session.args, "tests/support/session_program.lua");
  add(&task.session.args, task.session.framed ? "framed" : "lines");
  add(&task.session.args, scratch_path(&folder, "told"));
  if (strcmp(mode, "stubborn") == 0) add(&task.session.args, "stubborn");
  add(&task.session.env, "PATH=/usr/local/bin:/usr/bin:/bin");
  bool sent = transport->ops->send(transport, &got.exchange, &task, &e);
  CHECK(sent || *e.text);
  CHECK(got.replies == 0); /* never from inside send */
  return sent;
}

static bool tell(const char *text) {
  struct error e = {0};
  bool told =
      transport->ops->write(transport, &got.exchange, (struct span){text, strlen(text)}, &e);
  CHECK(told || *e.text);
  return told;
}

/* Until it has said so much, or is over. */
static void until(int messages) {
  for (int64_t end = now_ms() + PATIENCE_MS;
       got.chunks < messages && got.replies == 0 && now_ms() < end;)
    loop_spend(&loop, 1);
}

static void until_settled(void) {
  for (int64_t end = now_ms() + PATIENCE_MS; transport->ops->ending(transport) && now_ms() < end;)
    uv_run(&loop, UV_RUN_ONCE);
}

static void test_messages(const char *mode) {
  setup();
  CHECK(begin(mode) && tell("{\"id\":1,\"do\":\"echo\"}") && tell("{\"id\":2,\"do\":\"note\"}"));
  until(4);
  CHECK_STR(got.progress, "{\"id\":1,\"count\":1,\"length\":20}|{\"note\":1}|"
                          "{\"id\":2,\"method\":\"ask\"}|{\"id\":2,\"noted\":true}");
  CHECK(pid > 0 && got.replies == 0); /* it stays */
  CHECK(tell("{\"id\":3,\"do\":\"big\"}"));
  until(5);
  CHECK(got.chunks == 5);
  teardown();
}

static void test_told(void) {
  TEST("what is larger than a pipe is written as it reads") {
    char *text = malloc(1000000);
    if (!text) abort();
    memset(text, 'x', 999999);
    memcpy(text, "{\"id\":1,\"do\":\"echo\",", 20);
    text[999999] = 0;
    setup();
    CHECK(begin("lines") && tell(text) && tell("{\"id\":2,\"do\":\"echo\"}"));
    until(2);
    CHECK_STR(got.progress,
              "{\"id\":1,\"count\":1,\"length\":999999}|{\"id\":2,\"count\":2,\"length\":20}");
    teardown();
    free(text);
  }
  TEST("a line break inside a line is refused, and nothing of it is written") {
    setup();
    CHECK(begin("lines") && !tell("{\"id\":1,\n\"do\":\"echo\"}"));
    CHECK(tell("{\"id\":2,\"do\":\"echo\"}"));
    until(1);
    CHECK_STR(got.progress, "{\"id\":2,\"count\":1,\"length\":20}");
    teardown();
  }
  TEST("who is told that it has closed its input hears of its end") {
    setup();
    CHECK(begin("lines") && tell("{\"id\":1,\"do\":\"bye\"}"));
    loop_spend(&loop, 100);
    CHECK(got.replies == 1 || tell("{\"id\":2,\"do\":\"echo\"}"));
    capture_wait(&got, &loop);
    CHECK(got.reply.status == REPLY_OK && got.reply.code == 0);
    teardown();
  }
}

static void test_ends(void) {
  TEST("its end is its reply, with its exit code and the end of its errors") {
    setup();
    CHECK(begin("lines") && tell("{\"id\":1,\"do\":\"die\"}"));
    capture_wait(&got, &loop);
    CHECK(got.reply.status == REPLY_OK && got.reply.code == 3 && got.reply.sent);
    size_t length = strlen(got.extra);
    CHECK(length >= 32 << 10 && length <= 64 << 10);
    CHECK_STR(got.extra + length - 8, "xtrouble");
    CHECK(got.exchange.handle == NULL);
    teardown();
  }
  TEST("a program that cannot be started says what to install") {
    setup();
    task.kind = TASK_SESSION;
    struct error e;
    CHECK(task_set(&task, &task.target, "two", &e));
    add(&task.session.args, "no-such-program");
    add(&task.session.env, "PATH=/bin");
    CHECK(transport->ops->send(transport, &got.exchange, &task, &e));
    capture_wait(&got, &loop);
    CHECK(got.reply.status == REPLY_REFUSED && !got.reply.sent);
    CHECK_STR(got.reply.message,
              "no-such-program: command not found in PATH; install it, or write its "
              "path, as in ./no-such-program");
    teardown();
  }
  TEST("what is no frame ends the program, as nothing can be told behind it") {
    setup();
    CHECK(begin("framed") && tell("{\"id\":1,\"do\":\"rubbish\"}"));
    capture_wait(&got, &loop);
    CHECK(got.reply.status == REPLY_BROKEN && got.chunks == 0);
    CHECK_STR(got.reply.message, "said something that has no Content-Length");
    teardown();
  }
  TEST("a message beyond the maximum ends the program") {
    setup();
    task.max_body = 1000;
    CHECK(begin("lines") && tell("{\"id\":1,\"do\":\"big\"}"));
    capture_wait(&got, &loop);
    CHECK(got.reply.status == REPLY_TOO_LARGE);
    CHECK_STR(got.reply.message, "a message of more than 1000 bytes");
    teardown();
  }
  TEST("messages that come together are bounded one by one") {
    setup();
    struct error e;
    task.kind = TASK_SESSION;
    task.max_body = 5;
    CHECK(task_set(&task, &task.target, "two", &e));
    add(&task.session.args, "sh");
    add(&task.session.args, "-c");
    add(&task.session.args, "printf 'aaaa\\nbbbb\\ncccc\\n'; cat");
    add(&task.session.env, "PATH=/usr/bin:/bin");
    CHECK(transport->ops->send(transport, &got.exchange, &task, &e));
    until(3);
    CHECK_STR(got.progress, "aaaa|bbbb|cccc");
    teardown();
  }
  TEST("a task without a name or a program is refused") {
    struct error e;
    setup();
    task.kind = TASK_SESSION;
    CHECK(!transport->ops->send(transport, &got.exchange, &task, &e));
    CHECK_STR(e.text, "session task: a name of 1 to 200 bytes is needed");
    CHECK(task_set(&task, &task.target, "two", &e));
    CHECK(!transport->ops->send(transport, &got.exchange, &task, &e));
    CHECK_STR(e.text, "session two: argv is empty; name a program");
    teardown();
  }
}

static void test_given_up(void) {
  TEST("one that is given up has replied, its input ends, and it may end in order") {
    setup();
    CHECK(begin("lines") && tell("{\"id\":1,\"do\":\"echo\"}"));
    until(1);
    CHECK(!transport->ops->ending(transport));
    transport->ops->cancel(transport, &got.exchange, false);
    CHECK(got.replies == 1 && got.reply.status == REPLY_CANCELED);
    CHECK(transport->ops->ending(transport) && settled == 0);
    until_settled();
    CHECK(settled == 1);
    size_t length;
    char *text = scratch_read(&folder, "told", &length);
    CHECK_STR(text, "ended after 1");
    free(text);
    CHECK(kill((pid_t)pid, 0) < 0);
    teardown();
  }
  TEST("one that goes on gets SIGTERM, and SIGKILL after 2 s") {
    setup();
    CHECK(begin("stubborn") && tell("{\"id\":1,\"do\":\"echo\"}"));
    until(1);
    int64_t began = now_ms();
    transport->ops->cancel(transport, &got.exchange, false);
    until_settled();
    CHECK(settled == 1);
    CHECK(now_ms() - began >= 490 && now_ms() - began < 3500);
    CHECK(kill((pid_t)pid, 0) < 0);
    teardown();
  }
  TEST("it may be given up while it is heard") {
    setup();
    got.cancel_at = 2;
    CHECK(begin("lines") && tell("{\"id\":1,\"do\":\"note\"}"));
    capture_wait(&got, &loop);
    CHECK(got.reply.status == REPLY_CANCELED && got.chunks == 2);
    until_settled();
    CHECK(got.chunks == 2 && got.replies == 1);
    teardown();
  }
  TEST("closing ends all at once") {
    setup();
    CHECK(begin("stubborn") && tell("{\"id\":1,\"do\":\"echo\"}"));
    until(1);
    transport->ops->close(transport);
    transport = NULL;
    CHECK(got.replies == 1 && got.reply.status == REPLY_CANCELED);
    CHECK(kill((pid_t)pid, 0) < 0);
    teardown();
  }
  TEST("closing before the program began, or while it ends, leaves nothing") {
    int before = open_descriptors();
    for (int i = 0; i < 3; i++) {
      setup();
      CHECK(begin("stubborn") && tell("{\"id\":1,\"do\":\"echo\"}"));
      if (i > 0) until(1);
      if (i > 1) transport->ops->cancel(transport, &got.exchange, false);
      transport->ops->close(transport);
      transport = NULL;
      CHECK(got.replies == 1);
      teardown();
    }
    CHECK(open_descriptors() == before);
  }
}

/* Whatever allocation fails: an answer or a clear failure, and nothing is left. */
static void test_memory(void) {
  TEST("the n-th allocation failing is told, and leaks nothing") {
    long n = 0;
    int went_well = 0;
    for (bool reached = true; reached && n < 200;) {
      setup();
      world.allocs = 0;
      world.fail_alloc = ++n;
      if (begin(n % 2 ? "framed" : "lines") && tell("{\"id\":1,\"do\":\"echo\"}")) {
        until(1);
        went_well += got.chunks == 1;
        CHECK(got.chunks == 1 || (got.replies == 1 && got.reply.message[0]));
      }
      reached = world.allocs >= n || n < 40;
      world.fail_alloc = 0;
      teardown();
    }
    CHECK(n > 10 && n < 200 && went_well > 0);
  }
}

/* Whatever call fails, once or from then on: what the program said, or its end, which is told once,
 * and nothing is left. */
static void test_calls(void) {
  TEST("the n-th call failing is told, and leaves no descriptor and no program") {
    const unsigned mask = ~FAULTY_BIT(FAULTY_ALLOC);
    struct faulty *f = faulty_new(sys_real());
    int before = open_descriptors();
    for (int kind = 0; kind < 4; kind++) {
      bool met = true;
      uint64_t n = 1;
      for (; met && n < 200; n++) {
        faulty_reset(f);
        faulty_fail(f, mask, n, kind % 2 ? EMFILE : EIO, kind / 2 ? FAULTY_FROM : FAULTY_ONCE);
        setup_in(faulty_sys(f));
        if (begin("lines") && tell("{\"id\":1,\"do\":\"echo\"}")) {
          until(1);
          CHECK(got.chunks + got.replies == 1);
        }
        met = faulty_count(f, mask) >= n;
        faulty_reset(f);
        teardown();
        CHECK(pid == 0 || kill((pid_t)pid, 0) < 0);
        CHECK(faulty_open_files(f) == 0 && faulty_outstanding(f) == 0);
      }
      CHECK(n > 3 && n < 200);
    }
    CHECK(open_descriptors() == before);
    faulty_free(f);
  }
}

int main(void) {
  TEST("it is told messages and says some, by lines") {
    test_messages("lines");
  }
  TEST("it is told messages and says some, in frames") {
    test_messages("framed");
  }
  test_told();
  test_ends();
  test_given_up();
  test_memory();
  test_calls();
  return check_finish();
}
