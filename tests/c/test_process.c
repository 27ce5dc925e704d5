/* test_process.c: programs run by argv, their limits and their end.
 * Talks to the transport as the engine does: open, send, cancel, close, and a loop. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/exchanges.h"

/* One transport on one loop, and one task at a time. */
struct bench {
  uv_loop_t loop;
  struct world world;
  struct transport *transport;
  struct task task;
  struct capture got;
};

static void bench_open(struct bench *b) {
  struct error e;
  world_init(&b->world);
  if (uv_loop_init(&b->loop) != 0) abort();
  if (!process_open(&b->world.sys, &b->loop, &b->transport, &e)) abort();
  task_init(&b->task, sys_real());
  b->task.kind = TASK_PROCESS;
  add(&b->task.env, "PATH=/usr/local/bin:/usr/bin:/bin");
  capture_init(&b->got, b->transport);
}

static void bench_argv(struct bench *b, const char *program, const char *first,
                       const char *second) {
  add(&b->task.args, program);
  if (first) add(&b->task.args, first);
  if (second) add(&b->task.args, second);
}

static bool bench_send(struct bench *b) {
  struct error e;
  return b->transport->ops->send(b->transport, &b->got.exchange, &b->task, &e);
}

static void bench_run(struct bench *b) {
  CHECK(bench_send(b));
  CHECK(b->got.replies == 0);
  capture_wait(&b->got, &b->loop);
  CHECK(b->got.replies == 1);
  CHECK(b->got.exchange.handle == NULL);
}

static void bench_sh(struct bench *b, const char *script) {
  bench_argv(b, "sh", "-c", script);
}

/* Closes; one turn must be enough for the loop, and no memory may be left. */
static void bench_close(struct bench *b) {
  if (b->transport) b->transport->ops->close(b->transport);
  uv_run(&b->loop, UV_RUN_NOWAIT);
  CHECK(uv_loop_close(&b->loop) == 0);
  CHECK(b->world.live == 0);
  task_clear(&b->task);
  capture_clear(&b->got);
}

static int open_descriptors(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder))
    count++;
  if (folder) closedir(folder);
  return count;
}

/* Waits up to 2 s until the process is gone (or only a zombie of somebody else). */
static bool gone(pid_t pid) {
  char path[64], state = 0;
  for (int i = 0; i < 400; i++) {
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file) return true;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
    fclose(file);
    if (state == 'Z') return true;
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
  return false;
}

static void test_plain(void) {
  TEST("a program's output, errors and exit code come back (R193)") {
    struct bench b;
    bench_open(&b);
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
    struct bench b;
    bench_open(&b);
    bench_argv(&b, "printf", "%s", "$(touch /tmp/never); `id` | * \"'");
    bench_run(&b);
    CHECK_STR(b.got.body, "$(touch /tmp/never); `id` | * \"'");
    bench_close(&b);
  }
  TEST("the body is the standard input, also when it is larger than any pipe") {
    struct bench b;
    struct error e;
    bench_open(&b);
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
    struct bench b;
    struct error e;
    bench_open(&b);
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
    struct bench b;
    bench_open(&b);
    setenv("SKILLRT_SECRET", "1", 1);
    add(&b.task.env, "GREETING=hello");
    bench_argv(&b, "env", NULL, NULL);
    bench_run(&b);
    CHECK_STR(b.got.body, "PATH=/usr/local/bin:/usr/bin:/bin\nGREETING=hello\n");
    bench_close(&b);
  }
  TEST("the program runs in the task's working folder") {
    struct bench b;
    struct error e;
    bench_open(&b);
    CHECK(task_set(&b.task, &b.task.cwd, "/usr", &e));
    bench_argv(&b, "pwd", NULL, NULL);
    bench_run(&b);
    CHECK_STR(b.got.body, "/usr\n");
    bench_close(&b);
  }
  TEST("no descriptor of ours is inherited, not even one without close-on-exec") {
    struct bench b;
    bench_open(&b);
    int leak = open("/dev/null", O_RDONLY);
    bench_argv(&b, "ls", "/proc/self/fd", NULL); /* opens one itself, the next free: 3 */
    bench_run(&b);
    close(leak);
    CHECK_STR(b.got.body, "0\n1\n2\n3\n");
    bench_close(&b);
  }
  TEST("output is handed on while the program runs") {
    struct bench b;
    bench_open(&b);
    bench_sh(&b, "echo one; sleep 0.05; echo two; echo not this >&2");
    bench_run(&b);
    CHECK(b.got.chunks >= 2);
    CHECK_STR(b.got.progress, "one\n|two\n");
    bench_close(&b);
  }
  TEST("an unstarted program leaves no descriptor open") {
    int before = open_descriptors();
    struct bench b;
    bench_open(&b);
    bench_argv(&b, "no-such-program-at-all", NULL, NULL);
    bench_run(&b);
    bench_close(&b);
    CHECK(open_descriptors() == before);
  }
}

static void check_broken(const char *program, const char *cwd, bool path, const char *message) {
  struct bench b;
  struct error e;
  bench_open(&b);
  if (!path) strings_clear(&b.task.env, sys_real());
  if (cwd) CHECK(task_set(&b.task, &b.task.cwd, cwd, &e));
  bench_argv(&b, program, NULL, NULL);
  bench_run(&b);
  CHECK(b.got.reply.status == REPLY_BROKEN);
  CHECK_STR(b.got.reply.message, message);
  bench_close(&b);
}

static void test_missing(void) {
  TEST("a missing command says what to install or to check") {
    check_broken("no-such-program", NULL, true,
                 "no-such-program: command not found in PATH; install it or name it by its full "
                 "path");
  }
  TEST("a missing command without a PATH says so") {
    check_broken("no-such-program", NULL, false,
                 "no-such-program: command not found, and its environment has no PATH; allow PATH "
                 "or name it by its full path");
  }
  TEST("a wrong path to a program says so") {
    check_broken("/no/such/program", NULL, true,
                 "/no/such/program: no such program; check the path, and the interpreter its "
                 "first line names");
  }
  TEST("a file that is not executable says so") {
    check_broken("/etc/passwd", NULL, true,
                 "/etc/passwd: not executable; check its mode (chmod +x)");
  }
  TEST("a missing working folder is named, not mistaken for a missing command") {
    check_broken("true", "/no/such/folder", true,
                 "true: its working folder /no/such/folder: No such file or directory");
  }
  TEST("a working folder that is a file is named") {
    check_broken("true", "/etc/passwd", true,
                 "true: its working folder /etc/passwd is not a folder");
  }
  TEST("an empty argv is refused before anything is sent") {
    struct bench b;
    struct error e = {0};
    bench_open(&b);
    CHECK(!b.transport->ops->send(b.transport, &b.got.exchange, &b.task, &e));
    CHECK(e.code == ERROR_INVALID);
    CHECK_STR(e.text, "process task: argv is empty; name a program");
    bench_close(&b);
    CHECK(b.got.replies == 0);
  }
}

static void test_limits(void) {
  TEST("standard output beyond its maximum ends the program; the first bytes are kept") {
    struct bench b;
    bench_open(&b);
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
    struct bench b;
    bench_open(&b);
    b.task.max_body = 1000;
    bench_argv(&b, "head", "-c1000", "/dev/zero");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK(b.got.reply.body.length == 1000);
    bench_close(&b);
  }
  TEST("standard error beyond its maximum ends the program") {
    struct bench b;
    bench_open(&b);
    b.task.max_extra = 100;
    bench_sh(&b, "yes >&2");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TOO_LARGE);
    CHECK(b.got.reply.extra.length == 100);
    CHECK_STR(b.got.reply.message, "sh: more than 100 bytes on standard error");
    bench_close(&b);
  }
  TEST("a program that does not end is stopped by the total deadline (R178)") {
    struct bench b;
    bench_open(&b);
    b.task.total_ms = 100;
    bench_sh(&b, "echo begun; sleep 30");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK_STR(b.got.reply.message, "sh: not finished after 100 ms");
    CHECK_STR(b.got.body, "begun\n");
    CHECK(b.got.reply.elapsed_ms >= 99 && b.got.reply.elapsed_ms < 1500);
    bench_close(&b);
  }
  TEST("a silent program is stopped by the idle deadline, a talking one is not") {
    struct bench b;
    bench_open(&b);
    b.task.idle_ms = 150;
    b.task.total_ms = 5000;
    bench_sh(&b, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done; sleep 30");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK_STR(b.got.reply.message, "sh: silent for 150 ms");
    CHECK_STR(b.got.body, "1\n2\n3\n4\n5\n6\n");
    bench_close(&b);
  }
}

static void test_signals(void) {
  TEST("a program killed by a signal is told from one that failed") {
    struct bench b;
    bench_open(&b);
    bench_sh(&b, "kill -9 $$");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_KILLED);
    CHECK(b.got.reply.code == 9);
    CHECK_STR(b.got.reply.message, "sh: killed by signal 9 (SIGKILL)");
    bench_close(&b);
  }
  TEST("a program that ignores SIGTERM is killed after the grace") {
    struct bench b;
    bench_open(&b);
    b.task.total_ms = 100;
    bench_sh(&b, "trap '' TERM; echo $$; while :; do sleep 0.1; done");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK(b.got.reply.elapsed_ms >= 1999 && b.got.reply.elapsed_ms < 4000);
    CHECK(gone((pid_t)atoi(b.got.body)));
    bench_close(&b);
  }
  TEST("a program may clean up on SIGTERM before its reply comes") {
    struct bench b;
    bench_open(&b);
    b.task.total_ms = 100;
    bench_sh(&b, "trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.02; done");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK_STR(b.got.body, "cleaned\n");
    bench_close(&b);
  }
  TEST("what a program left behind neither delays the reply nor lives on") {
    struct bench b;
    bench_open(&b);
    bench_sh(&b, "sleep 30 & echo $!");
    int64_t start = now_ms();
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.code == 0);
    CHECK(now_ms() - start < 1500);
    CHECK(gone((pid_t)atoi(b.got.body)));
    bench_close(&b);
  }
  TEST("what left the group and holds the pipes does not delay the reply") {
    struct bench b;
    bench_open(&b);
    bench_sh(&b, "setsid sleep 3 & echo $!");
    int64_t start = now_ms();
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK(now_ms() - start < 1500);
    kill((pid_t)atoi(b.got.body), SIGKILL);
    bench_close(&b);
  }
}

static void test_cancel(void) {
  TEST("cancel replies before it returns and ends the whole group") {
    struct bench b;
    bench_open(&b);
    bench_sh(&b, "sleep 30 & echo $!; wait");
    CHECK(bench_send(&b));
    while (b.got.chunks == 0)
      uv_run(&b.loop, UV_RUN_ONCE);
    b.transport->ops->cancel(b.transport, &b.got.exchange, false);
    CHECK(b.got.replies == 1);
    CHECK(b.got.reply.status == REPLY_CANCELED);
    CHECK_STR(b.got.reply.message, "sh: canceled");
    CHECK(gone((pid_t)atoi(b.got.body)));
    loop_spend(&b.loop, 20);
    bench_close(&b);
    CHECK(b.got.replies == 1);
  }
  TEST("cancel at once kills without a grace") {
    struct bench b;
    bench_open(&b);
    bench_sh(&b, "trap '' TERM; echo $$; while :; do sleep 0.1; done");
    CHECK(bench_send(&b));
    while (b.got.chunks == 0)
      uv_run(&b.loop, UV_RUN_ONCE);
    b.transport->ops->cancel(b.transport, &b.got.exchange, true);
    CHECK(b.got.reply.status == REPLY_CANCELED);
    CHECK(gone((pid_t)atoi(b.got.body)));
    bench_close(&b);
  }
  TEST("an exchange can be canceled before it started") {
    struct bench b;
    bench_open(&b);
    bench_sh(&b, "echo never");
    CHECK(bench_send(&b));
    b.transport->ops->cancel(b.transport, &b.got.exchange, false);
    CHECK(b.got.replies == 1 && b.got.reply.status == REPLY_CANCELED);
    bench_close(&b);
  }
  TEST("an exchange can be canceled from its own progress") {
    struct bench b;
    bench_open(&b);
    b.got.cancel_at = 1;
    bench_sh(&b, "echo one; sleep 30");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_CANCELED);
    bench_close(&b);
  }
  TEST("closing with programs under way cancels and kills them") {
    struct bench b;
    int before = open_descriptors();
    bench_open(&b);
    bench_sh(&b, "trap '' TERM; echo $$; while :; do sleep 0.1; done");
    CHECK(bench_send(&b));
    while (b.got.chunks == 0)
      uv_run(&b.loop, UV_RUN_ONCE);
    pid_t pid = (pid_t)atoi(b.got.progress);
    b.transport->ops->close(b.transport);
    b.transport = NULL;
    CHECK(b.got.replies == 1 && b.got.reply.status == REPLY_CANCELED);
    CHECK(kill(pid, 0) < 0 && errno == ESRCH); /* ended and reaped */
    bench_close(&b);
    CHECK(open_descriptors() == before);
  }
  TEST("done may close the transport") {
    struct bench b;
    bench_open(&b);
    b.got.closes = true;
    bench_argv(&b, "true", NULL, NULL);
    bench_run(&b);
    b.transport = NULL;
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
      add(&tasks[i].args, "/bin/echo");
      add(&tasks[i].args, number);
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

/* --- the n-th call fails -------------------------------------------------------------- */

static int refuse_spawn(const struct sys *sys, const struct sys_spawn *wish, pid_t *pid, int *end) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->spawn(sys, wish, pid, end);
}
static int refuse_file(const struct sys *sys, const char *name) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->memory_file(sys, name);
}
static int refuse_pipe(const struct sys *sys, int ends[2]) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->pipe(sys, ends);
}
static ssize_t refuse_read(const struct sys *sys, int fd, void *to, size_t size) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->read(sys, fd, to, size);
}
static ssize_t refuse_write(const struct sys *sys, int fd, const void *from, size_t size) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->write(sys, fd, from, size);
}
static int64_t refuse_seek(const struct sys *sys, int fd, int64_t at, int whence) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->seek(sys, fd, at, whence);
}
static int refuse_reap(const struct sys *sys, pid_t pid, int *status) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->reap(sys, pid, status);
}

static void refusing(struct world *w) {
  w->sys.spawn = refuse_spawn;
  w->sys.memory_file = refuse_file;
  w->sys.pipe = refuse_pipe;
  w->sys.read = refuse_read;
  w->sys.write = refuse_write;
  w->sys.seek = refuse_seek;
  w->sys.reap = refuse_reap;
}

/* Runs `cat` with the n-th allocation or call failing; true once n was never reached. */
static bool survives(long alloc, long call, int number) {
  struct bench b;
  struct error e;
  bench_open(&b);
  refusing(&b.world);
  b.world.allocs = b.world.calls = 0;
  b.world.fail_alloc = alloc;
  b.world.fail_call = call;
  b.world.refuse = number;
  b.task.total_ms = 3000;
  CHECK(buffer_string(&b.task.body, "hello", &e));
  bench_argv(&b, "cat", NULL, NULL);
  bool sent = b.transport->ops->send(b.transport, &b.got.exchange, &b.task, &e);
  if (sent) capture_wait(&b.got, &b.loop);
  CHECK(b.got.replies == (sent ? 1 : 0));
  bool reached = alloc ? b.world.allocs >= alloc : b.world.calls >= call;
  bool repeatable = call && (number == EINTR || number == EAGAIN);
  if (!sent)
    CHECK(e.code == ERROR_MEMORY && e.text[0]);
  else if (reached && !repeatable)
    CHECK(b.got.reply.status == REPLY_BROKEN && b.got.reply.message[0]);
  else if (!reached)
    CHECK(b.got.reply.status == REPLY_OK && strcmp(b.got.body, "hello") == 0);
  b.world.fail_alloc = b.world.fail_call = 0;
  bench_close(&b);
  while (waitpid(-1, NULL, WNOHANG) > 0) /* where reap itself was refused */
    ;
  return !reached;
}

static void test_failures(void) {
  int before = open_descriptors();
  TEST("the n-th allocation failing gives a clear reply and leaks nothing") {
    long n = 1;
    while (n < 50 && !survives(n, 0, 0))
      n++;
    CHECK(n > 2 && n < 50);
  }
  TEST("the n-th call failing (EIO) gives a clear reply and leaks nothing") {
    long n = 1;
    while (n < 50 && !survives(0, n, EIO))
      n++;
    CHECK(n > 7 && n < 50);
  }
  TEST("an interrupted read or write is repeated") {
    long n = 1;
    while (n < 50 && !survives(0, n, EINTR))
      n++;
    CHECK(n > 7 && n < 50);
  }
  TEST("failures leave no descriptor open") {
    CHECK(open_descriptors() == before);
  }
}

int main(void) {
  test_plain();
  test_surroundings();
  test_missing();
  test_limits();
  test_signals();
  test_cancel();
  test_many();
  test_failures();
  return check_finish();
}
