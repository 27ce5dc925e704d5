/* test_process_bound.c: programs are bound to their run: they end with us, whatever ends us, have a
 * grace when they are canceled, and are seen to end where the system gives no descriptor for it. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "support/process_bench.h"
#include "transport/leftover.h"

/* ---- they end with us ---- */

/* In a process of its own: starts a shell that bears SIGTERM and has a child that does too, tells
 * both pids and waits to be killed. */
static void start_and_wait(int to, bool from_thread);

static void *start_in_thread(void *data) {
  const int *to = data;
  start_and_wait(*to, false);
  return NULL;
}

static void start_and_wait(int to, bool from_thread) {
  if (from_thread) {
    pthread_t thread;
    pthread_create(&thread, NULL, start_in_thread, &to);
    pthread_join(thread, NULL);
  }
  BENCH(b);
  bench_sh(&b, "trap '' TERM HUP; sleep 30 & echo $$ $!; wait");
  if (!bench_send(&b)) _exit(1);
  while (b.got.chunks == 0)
    uv_run(&b.loop, UV_RUN_ONCE);
  if (write(to, b.got.progress, strlen(b.got.progress)) < 0) _exit(1);
  for (;;)
    pause();
}

static void check_death(int signal, bool from_thread) {
  int ends[2];
  char text[64] = "";
  int shell = 0, sleeper = 0;
  CHECK(pipe(ends) == 0);
  pid_t us = fork();
  if (us == 0) start_and_wait(ends[1], from_thread);
  close(ends[1]);
  CHECK(read(ends[0], text, sizeof text - 1) > 0);
  close(ends[0]);
  CHECK(sscanf(text, "%d %d", &shell, &sleeper) == 2);
  CHECK(kill(shell, 0) == 0 && kill(sleeper, 0) == 0);
  kill(us, signal);
  waitpid(us, NULL, 0);
  CHECK(gone(shell));
  CHECK(gone(sleeper));
  if (shell > 1) kill(-shell, SIGKILL); /* where the test failed */
}

static void *turn_until_it_talks(void *data) {
  struct bench *b = data;
  while (b->got.chunks == 0 && b->got.replies == 0)
    uv_run(&b->loop, UV_RUN_ONCE);
  return NULL;
}

static void test_death(void) {
  TEST("a program and what it started end when we are killed") {
    check_death(SIGKILL, false);
  }
  TEST("a program started by a thread of ours ends when we are killed") {
    check_death(SIGKILL, true);
  }
  TEST("a program started by a thread of ours does not end with the thread") {
    BENCH(b);
    bench_sh(&b, "echo up; sleep 0.2; echo done");
    CHECK(bench_send(&b));
    pthread_t thread;
    pthread_create(&thread, NULL, turn_until_it_talks, &b);
    pthread_join(thread, NULL);
    capture_wait(&b.got, &b.loop);
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK_STR(b.got.body, "up\ndone\n");
    bench_close(&b);
  }
}

/* ---- a grace ---- */

static void count_settled(void *data) {
  ++*(int *)data;
}

static void test_grace(void) {
  TEST("a canceled program has its grace, and its end is told") {
    BENCH(b);
    int settled = 0;
    b.transport->owner = (struct transport_owner){.data = &settled, .settled = count_settled};
    bench_sh(&b, "trap 'sleep 0.2; exit 0' TERM; echo $$; while :; do sleep 0.02; done");
    CHECK(bench_send(&b));
    while (b.got.chunks == 0)
      uv_run(&b.loop, UV_RUN_ONCE);
    CHECK(!b.transport->ops->ending(b.transport));
    b.transport->ops->cancel(b.transport, &b.got.exchange, false);
    int64_t start = now_ms();
    CHECK(b.transport->ops->ending(b.transport) && settled == 0);
    while (b.transport->ops->ending(b.transport) && now_ms() - start < PATIENCE_MS)
      uv_run(&b.loop, UV_RUN_ONCE);
    CHECK(settled == 1);
    CHECK(now_ms() - start >= 150 && now_ms() - start < 1900);
    CHECK(gone((pid_t)atoi(b.got.progress)));
    bench_close(&b);
  }
  TEST("one that bears SIGTERM is killed after 2 s") {
    BENCH(b);
    bench_sh(&b, "trap '' TERM; echo $$; while :; do sleep 0.02; done");
    CHECK(bench_send(&b));
    while (b.got.chunks == 0)
      uv_run(&b.loop, UV_RUN_ONCE);
    b.transport->ops->cancel(b.transport, &b.got.exchange, false);
    int64_t start = now_ms();
    while (b.transport->ops->ending(b.transport) && now_ms() - start < PATIENCE_MS)
      uv_run(&b.loop, UV_RUN_ONCE);
    CHECK(now_ms() - start >= 1990);
    CHECK(gone((pid_t)atoi(b.got.progress)));
    bench_close(&b);
  }
}

/* ---- what a dead process left ---- */

static struct {
  int64_t pid;
  char start[LEFTOVER_START];
} noted;

static void note_started(struct exchange *exchange, int64_t pid, const char *start) {
  (void)exchange;
  noted.pid = pid;
  snprintf(noted.start, sizeof noted.start, "%s", start);
}

/* A program that runs and told its start; the exchange goes on. */
static void leave(struct bench *b, const char *script) {
  b->got.exchange.started = note_started;
  noted.pid = 0;
  bench_sh(b, script);
  CHECK(bench_send(b));
  while (b->got.chunks == 0)
    uv_run(&b->loop, UV_RUN_ONCE);
  CHECK(noted.pid > 1 && noted.start[0]);
}

static void pause_in_sys(void *data, int ms) {
  const struct sys *sys = data;
  sys->pause(sys, ms);
}

/* Ends what is left of a program; false: that is no start, or it cannot be ended. */
static bool end_left(const struct sys *sys, int64_t pid, const char *start, bool *found,
                     struct error *e) {
  struct leftover left;
  if (!leftover_find(sys, pid, start, &left, e)) return false;
  *found = left.living > 0;
  return leftover_end(&left, 1, pause_in_sys, (void *)(uintptr_t)sys, e);
}

static void test_leftovers(void) {
  bool found = false;
  struct error e = {0};
  const struct sys *sys = sys_real();
  TEST("a program that was left is found by its number and start, and ended with its group") {
    BENCH(b);
    leave(&b, "trap 'exit 0' TERM; sleep 30 & sleep 0.1; echo $!; wait");
    int64_t begin = now_ms();
    CHECK(end_left(sys, noted.pid, noted.start, &found, &e) && found);
    CHECK(now_ms() - begin < 1900);
    CHECK(gone((pid_t)noted.pid) && gone((pid_t)atoi(b.got.progress)));
    CHECK(end_left(sys, noted.pid, noted.start, &found, &e) && !found);
    capture_wait(&b.got, &b.loop);
    bench_close(&b);
  }
  TEST("one that bears SIGTERM has 2 s") {
    BENCH(b);
    leave(&b, "trap '' TERM; echo; while :; do sleep 0.1; done");
    int64_t begin = now_ms();
    CHECK(end_left(sys, noted.pid, noted.start, &found, &e) && found);
    CHECK(now_ms() - begin >= 1990);
    CHECK(gone((pid_t)noted.pid));
    capture_wait(&b.got, &b.loop);
    bench_close(&b);
  }
  TEST("several that bear SIGTERM have these 2 s together") {
    struct bench benches[3] = {0};
    struct leftover left[3];
    for (int i = 0; i < 3; i++) {
      bench_open(&benches[i]);
      leave(&benches[i], "trap '' TERM; echo; while :; do sleep 0.1; done");
      CHECK(leftover_find(sys, noted.pid, noted.start, &left[i], &e) && left[i].living > 0);
    }
    int64_t begin = now_ms();
    CHECK(leftover_end(left, 3, pause_in_sys, (void *)(uintptr_t)sys, &e));
    CHECK(now_ms() - begin >= 1990 && now_ms() - begin < 3900);
    for (int i = 0; i < 3; i++) {
      CHECK(gone((pid_t)left[i].group));
      capture_wait(&benches[i].got, &benches[i].loop);
      bench_close(&benches[i]);
    }
  }
  TEST("what it left is found when the program itself has gone") {
    BENCH(b);
    leave(&b, "(sleep 0.3; echo; exec sleep 30) & sleep 0.1; echo $!; kill -9 $$");
    pid_t child = (pid_t)atoi(b.got.progress);
    CHECK(gone((pid_t)noted.pid) && !kill(child, 0));
    CHECK(end_left(sys, noted.pid, noted.start, &found, &e) && found);
    CHECK(gone(child));
    capture_wait(&b.got, &b.loop);
    bench_close(&b);
  }
  TEST("a stranger that has its number now is left alone") {
    BENCH(b);
    char other[LEFTOVER_START];
    unsigned long long ticks;
    int rest;
    leave(&b, "echo; sleep 30");
    CHECK(sscanf(noted.start, "%llu%n", &ticks, &rest) == 1);
    snprintf(other, sizeof other, "%llu%.40s", ticks - 1, noted.start + rest); /* an earlier one */
    CHECK(end_left(sys, noted.pid, other, &found, &e) && !found);
    snprintf(other, sizeof other, "%.*s.00000000-0000", (int)strcspn(noted.start, "-") - 9,
             noted.start); /* one of another boot */
    CHECK(end_left(sys, noted.pid, other, &found, &e) && !found);
    CHECK(kill((pid_t)noted.pid, 0) == 0);
    b.transport->ops->cancel(b.transport, &b.got.exchange, true);
    bench_close(&b);
  }
  TEST("what is no start of a program is refused") {
    CHECK(!end_left(sys, noted.pid, "yesterday", &found, &e));
    CHECK(!end_left(sys, 1, noted.start, &found, &e));
    CHECK(!end_left(sys, -1, noted.start, &found, &e));
  }
}

/* ---- a system that refuses ---- */

/* As a sandbox does that does not know the call. */
static bool refuse_pidfd(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* Runs `body` in a process of its own, which must not fail. */
static void apart(void (*body)(void)) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    body();
    fflush(stdout);
    _exit(check_bad_ > 0);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  CHECK(status == 0);
}

static void without_pidfd(void) {
  CHECK(refuse_pidfd());
  BENCH(b);
  bench_sh(&b, "echo out; exit 3");
  bench_run(&b);
  CHECK(b.got.reply.status == REPLY_OK && b.got.reply.code == 3);
  CHECK_STR(b.got.body, "out\n");
  bench_close(&b);
}

static void ignoring_children(void) {
  signal(SIGCHLD, SIG_IGN);
  BENCH(b);
  bench_argv(&b, "true", NULL, NULL);
  bench_run(&b);
  CHECK(b.got.reply.status == REPLY_BROKEN);
  CHECK_STR(b.got.reply.message, "true: its exit status is lost: this process ignores SIGCHLD, or "
                                 "waits for children that are not its own");
  bench_close(&b);
}

static void test_refused(void) {
  TEST("a program's end is seen where pidfd_open is refused") {
    apart(without_pidfd);
  }
  TEST("a host that ignores SIGCHLD is told so") {
    apart(ignoring_children);
  }
}

int main(void) {
  test_death();
  test_grace();
  test_leftovers();
  test_refused();
  return check_finish();
}
