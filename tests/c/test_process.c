/* test_process.c: programs run by argv: what they are given, what comes back, their limits.
 * Talks to the transport as the engine does: open, send, cancel, close, and a loop. */
#include <fcntl.h>

#include "support/process_bench.h"

static void test_plain(void) {
  TEST("a program's output, errors and exit code come back (R193)") {
    BENCH(b);
    bench_sh(&b, "echo out; echo err >&2; exit 3");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK(b.got.reply.code == 3);
    CHECK_STR(b.got.body, "out\n");
    CHECK_STR(b.got.extra, "err\n");
    CHECK(b.got.reply.retry_after_ms == -1);
    bench_close(&b);
  }
  TEST("arguments reach the program as they are, without a shell (F13)") {
    BENCH(b);
    bench_argv(&b, "printf", "%s", "$(touch /tmp/never); `id` | * \"'");
    bench_run(&b);
    CHECK_STR(b.got.body, "$(touch /tmp/never); `id` | * \"'");
    bench_close(&b);
  }
  TEST("the body is the standard input, also when it is larger than any pipe") {
    BENCH(b);
    struct error e;
    size_t size = 1 << 20;
    char *room = buffer_room(&b.task.body, size, &e);
    memset(room, 'x', size);
    b.task.body.length = size;
    bench_argv(&b, "wc", "-c", NULL);
    bench_run(&b);
    CHECK_STR(b.got.body, "1048576\n");
    bench_close(&b);
  }
  TEST("a program that never reads its input neither blocks nor breaks anything") {
    BENCH(b);
    struct error e;
    char *room = buffer_room(&b.task.body, 1 << 20, &e);
    memset(room, 'x', 1 << 20);
    b.task.body.length = 1 << 20;
    bench_argv(&b, "true", NULL, NULL);
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.code == 0);
    bench_close(&b);
  }
}

static void test_surroundings(void) {
  TEST("the environment is exactly the task's (F13)") {
    BENCH(b);
    setenv("SKILLRT_SECRET", "1", 1);
    add(&b.task.process.env, "GREETING=hello");
    bench_argv(&b, "env", NULL, NULL);
    bench_run(&b);
    CHECK_STR(b.got.body, "PATH=/usr/local/bin:/usr/bin:/bin\nGREETING=hello\n");
    bench_close(&b);
  }
  TEST("the program runs in the task's working folder") {
    BENCH(b);
    struct error e;
    CHECK(task_set(&b.task, &b.task.process.cwd, "/usr", &e));
    bench_argv(&b, "pwd", NULL, NULL);
    bench_run(&b);
    CHECK_STR(b.got.body, "/usr\n");
    bench_close(&b);
  }
  TEST("no descriptor of ours is inherited, not even one without close-on-exec, but for the pipe "
       "its life hangs on") {
    BENCH(b);
    int leak = open("/dev/null", O_RDONLY);
    int seen[5] = {0}, more;
    bench_argv(&b, "ls", "/proc/self/fd", NULL); /* opens one itself, the next free: 3 */
    bench_run(&b);
    close(leak);
    CHECK(sscanf(b.got.body, "%d %d %d %d %d %d", &seen[0], &seen[1], &seen[2], &seen[3], &seen[4],
                 &more) == 5);
    for (int i = 0; i < 5; i++)
      CHECK(seen[i] != leak);
    bench_close(&b);
  }
  TEST("output is handed on while the program runs") {
    BENCH(b);
    bench_sh(&b, "echo one; sleep 0.05; echo two; echo not this >&2");
    bench_run(&b);
    CHECK(b.got.chunks >= 2);
    CHECK_STR(b.got.progress, "one\n|two\n");
    bench_close(&b);
  }
  TEST("an unstarted program leaves no descriptor open") {
    int before = open_descriptors();
    BENCH(b);
    bench_argv(&b, "no-such-program-at-all", NULL, NULL);
    bench_run(&b);
    bench_close(&b);
    CHECK(open_descriptors() == before);
  }
}

static void check_refused(const char *program, const char *cwd, bool path, const char *message) {
  BENCH(b);
  struct error e;
  if (!path) strings_clear(&b.task.process.env, sys_real());
  if (cwd) CHECK(task_set(&b.task, &b.task.process.cwd, cwd, &e));
  bench_argv(&b, program, NULL, NULL);
  bench_run(&b);
  CHECK(b.got.reply.status == REPLY_REFUSED && !b.got.reply.sent); /* and stays so */
  CHECK_STR(b.got.reply.message, message);
  bench_close(&b);
}

static void test_missing(void) {
  TEST("a missing command says what to install or to check") {
    check_refused("no-such-program", NULL, true,
                  "no-such-program: command not found in PATH; install it, or write its path, as "
                  "in ./no-such-program");
  }
  TEST("a missing command without a PATH says so") {
    check_refused("no-such-program", NULL, false,
                  "no-such-program: command not found, and its environment has no PATH; allow PATH "
                  "or name it by its full path");
  }
  TEST("a wrong path to a program says so") {
    check_refused("/no/such/program", NULL, true,
                  "/no/such/program: no such program; check the path, and the interpreter its "
                  "first line names");
  }
  TEST("a file that is not executable says so") {
    check_refused("/etc/passwd", NULL, true,
                  "/etc/passwd: not executable; check its mode (chmod +x)");
  }
  TEST("a missing working folder is named, not mistaken for a missing command") {
    check_refused("true", "/no/such/folder", true,
                  "true: its working folder /no/such/folder: No such file or directory");
  }
  TEST("a working folder that is a file is named") {
    check_refused("true", "/etc/passwd", true,
                  "true: its working folder /etc/passwd is not a folder");
  }
  TEST("an empty argv is refused before anything is sent") {
    BENCH(b);
    struct error e = {0};
    CHECK(!b.transport->ops->send(b.transport, &b.got.exchange, &b.task, &e));
    CHECK(e.code == ERROR_INVALID);
    CHECK_STR(e.text, "process task: argv is empty; name a program");
    bench_close(&b);
    CHECK(b.got.replies == 0);
  }
}

static void test_limits(void) {
  TEST("standard output beyond its maximum ends the program; the first bytes are kept") {
    BENCH(b);
    b.task.max_body = 1000;
    bench_argv(&b, "yes", NULL, NULL);
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TOO_LARGE);
    CHECK(b.got.reply.body.length == 1000);
    CHECK(strncmp(b.got.body, "y\ny\ny\n", 6) == 0);
    CHECK_STR(b.got.reply.message, "yes: more than 1000 bytes on standard output");
    bench_close(&b);
  }
  TEST("exactly the maximum is not too much") {
    BENCH(b);
    b.task.max_body = 1000;
    bench_argv(&b, "head", "-c1000", "/dev/zero");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK(b.got.reply.body.length == 1000);
    bench_close(&b);
  }
  TEST("standard error beyond its maximum ends the program") {
    BENCH(b);
    b.task.max_extra = 100;
    bench_sh(&b, "yes >&2");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TOO_LARGE);
    CHECK(b.got.reply.extra.length == 100);
    CHECK_STR(b.got.reply.message, "sh: more than 100 bytes on standard error");
    bench_close(&b);
  }
  TEST("a program that does not end is stopped by the total deadline") {
    BENCH(b);
    b.task.total_ms = 100;
    bench_sh(&b, "echo begun; sleep 30");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK_STR(b.got.reply.message, "sh: not finished after 100 ms");
    CHECK_STR(b.got.body, "begun\n");
    CHECK(b.got.reply.elapsed_ms >= 99 && b.got.reply.elapsed_ms < PATIENCE_MS);
    bench_close(&b);
  }
  TEST("a silent program is stopped by the idle deadline, a talking one is not") {
    BENCH(b);
    b.task.idle_ms = 600;
    b.task.total_ms = PATIENCE_MS;
    bench_sh(&b, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.11; done; sleep 30");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK_STR(b.got.reply.message, "sh: silent for 600 ms");
    CHECK_STR(b.got.body, "1\n2\n3\n4\n5\n6\n");
    bench_close(&b);
  }
  TEST("lines of noise break no silence, any other line does") {
    BENCH(b);
    struct error e;
    b.task.idle_ms = 600;
    b.task.total_ms = PATIENCE_MS;
    CHECK(task_set(&b.task, &b.task.process.noise, "again", &e));
    bench_sh(&b, "for i in 1 2 3 4 5 6; do echo again; echo $i; sleep 0.11; done;"
                 "while :; do echo once again; sleep 0.05; done");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK_STR(b.got.reply.message, "sh: silent for 600 ms, but for lines of again");
    CHECK(b.got.body && strstr(b.got.body, "again\n6\n"));
    bench_close(&b);
  }
}

static void test_many(void) {
  TEST("twenty programs run at once and each gets its own reply") {
    struct bench b;
    struct task tasks[20];
    struct capture got[20];
    struct error e;
    bench_open(&b);
    for (int i = 0; i < 20; i++) {
      char number[16];
      snprintf(number, sizeof number, "%d", i);
      task_init(&tasks[i], sys_real());
      add(&tasks[i].process.args, "/bin/echo");
      add(&tasks[i].process.args, number);
      capture_init(&got[i], b.transport);
      CHECK(b.transport->ops->send(b.transport, &got[i].exchange, &tasks[i], &e));
    }
    for (int i = 0; i < 20; i++) {
      capture_wait(&got[i], &b.loop);
      CHECK(got[i].replies == 1 && atoi(got[i].body) == i);
      capture_clear(&got[i]);
      task_clear(&tasks[i]);
    }
    bench_close(&b);
  }
}

int main(void) {
  test_plain();
  test_surroundings();
  test_missing();
  test_limits();
  test_many();
  return check_finish();
}
