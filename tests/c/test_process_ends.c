/* test_process_ends.c: how programs end: by signals, by cancellation, with what they left behind,
 * and when a call of ours fails. */
#include <signal.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process_bench.h"
#include "transport/proc_stat.h"

/* Some ticks of user and of system time, each. */
static void work(void) {
  struct tms now;
  do
    times(&now);
  while (now.tms_utime < 4 || now.tms_stime < 4);
}

/* Of this process and its ended children, in ticks, as the kernel counts it. */
static uint64_t used(void) {
  struct tms now;
  times(&now);
  return (uint64_t)(now.tms_utime + now.tms_stime + now.tms_cutime + now.tms_cstime);
}

static void test_work(void) {
  TEST("what a process and its ended children have worked is read, of user and of system time") {
    struct proc_stat stat;
    pid_t pid = fork();
    work();
    if (pid == 0) _exit(0);
    CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
    uint64_t before = used();
    CHECK(proc_stat_read(sys_real(), getpid(), &stat));
    CHECK(before >= 16 && stat.used >= before && stat.used <= used());
    CHECK(stat.parent == getppid() && stat.state == 'R');
  }
}

static void test_signals(void) {
  TEST("a program killed by a signal is told from one that failed") {
    BENCH(b);
    bench_sh(&b, "kill -9 $$");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_KILLED);
    CHECK(b.got.reply.code == 9);
    CHECK_STR(b.got.reply.message, "sh: killed by signal 9 (SIGKILL)");
    bench_close(&b);
  }
  TEST("a program that ignores SIGTERM is killed after the grace") {
    BENCH(b);
    b.task.total_ms = 100;
    bench_sh(&b, "trap '' TERM; echo $$; while :; do sleep 0.1; done");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK(b.got.reply.elapsed_ms >= 1999 && b.got.reply.elapsed_ms < PATIENCE_MS);
    CHECK(gone((pid_t)atoi(b.got.body)));
    bench_close(&b);
  }
  TEST("a program may clean up on SIGTERM before its reply comes") {
    BENCH(b);
    b.task.total_ms = 100;
    bench_sh(&b, "trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.02; done");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK_STR(b.got.body, "cleaned\n");
    bench_close(&b);
  }
  TEST("what a program left behind neither delays the reply nor lives on") {
    BENCH(b);
    bench_sh(&b, "sleep 30 & echo $!");
    int64_t start = now_ms();
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.code == 0);
    CHECK(now_ms() - start < PATIENCE_MS);
    CHECK(gone((pid_t)atoi(b.got.body)));
    bench_close(&b);
  }
  TEST("what writes to one of the two pipes still, behind the program's end, is heard") {
    BENCH(b);
    bench_sh(&b, "(exec >&-; sleep 0.1; echo late >&2) & exec >&- 2>&-; exit 3");
    bench_run(&b);
    CHECK(b.got.reply.code == 3);
    CHECK_STR(b.got.extra, "late\n");
    bench_close(&b);
  }
  TEST("what left the group and holds the pipes does not delay the reply") {
    BENCH(b);
    bench_sh(&b, "setsid sleep 30 & echo $!");
    int64_t start = now_ms();
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK(now_ms() - start < PATIENCE_MS);
    kill((pid_t)atoi(b.got.body), SIGKILL);
    bench_close(&b);
  }
}

static void test_cancel(void) {
  TEST("cancel replies before it returns and ends the whole group") {
    BENCH(b);
    bench_sh(&b, "sleep 30 & echo $!; wait");
    CHECK(bench_send(&b));
    while (b.got.chunks == 0)
      uv_run(&b.loop, UV_RUN_ONCE);
    b.transport->ops->cancel(b.transport, &b.got.exchange, false);
    CHECK(b.got.replies == 1);
    CHECK(b.got.reply.status == REPLY_CANCELED);
    CHECK_STR(b.got.reply.message, "sh: canceled");
    CHECK(b.got.reply.sent);
    CHECK(gone((pid_t)atoi(b.got.body)));
    loop_spend(&b.loop, 20);
    bench_close(&b);
    CHECK(b.got.replies == 1);
  }
  TEST("cancel at once kills without a grace") {
    BENCH(b);
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
    BENCH(b);
    bench_sh(&b, "echo never");
    CHECK(bench_send(&b));
    b.transport->ops->cancel(b.transport, &b.got.exchange, false);
    CHECK(b.got.replies == 1 && b.got.reply.status == REPLY_CANCELED && !b.got.reply.sent);
    bench_close(&b);
  }
  TEST("an exchange can be canceled from its own progress") {
    BENCH(b);
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
    BENCH(b);
    b.got.closes = true;
    bench_argv(&b, "true", NULL, NULL);
    bench_run(&b);
    b.transport = NULL;
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
  BENCH(b);
  struct error e;
  refusing(&b.world);
  b.world.allocs = b.world.calls = 0;
  b.world.fail_alloc = alloc;
  b.world.fail_call = call;
  b.world.refuse = number;
  b.task.total_ms = PATIENCE_MS;
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
  test_work();
  test_signals();
  test_cancel();
  test_failures();
  return check_finish();
}
