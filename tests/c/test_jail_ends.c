/* test_jail_ends.c: programs in a jail end with us, whatever ends us, and a start that fails at any
 * call leaves nothing: no process, no memory, no descriptor. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "support/jail_kit.h"

/* How many processes have this word among their arguments. */
static int living(const char *word) {
  int found = 0;
  DIR *list = opendir("/proc");
  for (struct dirent *one; list && (one = readdir(list));) {
    char path[300], text[512] = "";
    snprintf(path, sizeof path, "/proc/%s/cmdline", one->d_name);
    int fd = one->d_name[0] >= '1' && one->d_name[0] <= '9' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) continue;
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    found += got > 0 && memmem(text, (size_t)got, word, strlen(word) + 1) != NULL;
  }
  if (list) closedir(list);
  return found;
}

static bool come_to(const char *word, int count) {
  for (int i = 0; i < 500; i++) {
    if (living(word) == count) return true; /* a second look could find one amid its exec */
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  return false;
}

static void jail_root(struct bench *b, char *cwd) {
  b->task.process.cwd = cwd;
  add(&b->task.process.jail, "strict");
}

static const char *way; /* a shell's, to start two sleepers for $W seconds */

/* In a process of its own: begins with that in a jail, and waits. */
static void *start_and_wait(void *word) {
  BENCH(b);
  char root[] = "/";
  jail_root(&b, root);
  jail_set(&b, "W", word);
  bench_sh(&b, way);
  if (!bench_send(&b)) _exit(1);
  for (;;)
    uv_run(&b.loop, UV_RUN_ONCE);
  return NULL;
}

static void check_death(bool from_thread) {
  char word[32];
  static int next;
  snprintf(word, sizeof word, "40.%d%02d", (int)getpid(), next++);
  pid_t us = fork();
  if (us == 0) {
    pthread_t thread;
    if (from_thread && pthread_create(&thread, NULL, start_and_wait, word) == 0)
      pthread_join(thread, NULL);
    start_and_wait(word);
  }
  CHECK(come_to(word, 2));
  kill(us, SIGKILL);
  waitpid(us, NULL, 0);
  CHECK(come_to(word, 0));
}

static void test_death(void) {
  way = "trap '' TERM HUP; sleep $W & setsid sleep $W & wait";
  TEST("a program in a jail and all that it started end when we are killed") {
    check_death(false);
  }
  TEST("... also where a thread of ours started it") {
    check_death(true);
  }
  TEST("... and where it left its group as well") {
    way = "exec setsid sh -c 'sleep $W & sleep $W & wait'";
    check_death(false);
    check_death(true);
  }
  TEST("what a program in a jail left in a session of its own ends with it") {
    BENCH(b);
    char script[128], word[32], root[] = "/";
    snprintf(word, sizeof word, "41.%d", (int)getpid());
    snprintf(script, sizeof script, "setsid sleep %s > /dev/null 2>&1 &", word);
    jail_root(&b, root);
    bench_sh(&b, script);
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.code == 0);
    CHECK(come_to(word, 0));
    b.task.process.cwd = NULL;
    bench_close(&b);
  }
}

/* The n-th allocation fails, until one start needs no more than that. */
static void test_memory(void) {
  TEST("a start in a jail that finds no memory fails, is told, and leaves nothing") {
    int before = open_descriptors();
    bool over = false;
    for (long n = 1; n < 60 && !over; n++) {
      BENCH(b);
      char root[] = "/";
      jail_root(&b, root);
      bench_argv(&b, "true", NULL, NULL);
      b.world.fail_alloc = n;
      if (bench_send(&b)) {
        capture_wait(&b.got, &b.loop);
        CHECK(b.got.replies == 1);
        if (b.got.reply.status != REPLY_OK) CHECK(strstr(b.got.reply.message, "memory"));
      }
      over = b.world.allocs < n;
      b.task.process.cwd = NULL;
      bench_close(&b); /* counts what is left */
    }
    CHECK(over);
    CHECK(open_descriptors() == before);
  }
  TEST("starts one after the other leave no descriptor and no process") {
    int before = open_descriptors();
    for (int i = 0; i < 5; i++) {
      BENCH(b);
      char root[] = "/";
      jail_root(&b, root);
      bench_argv(&b, i % 2 ? "true" : "/not/there", NULL, NULL);
      bench_run(&b);
      b.task.process.cwd = NULL;
      bench_close(&b);
    }
    CHECK(open_descriptors() == before);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
  }
}

int main(void) {
  if (!jail_works()) return check_finish();
  test_death();
  test_memory();
  return check_finish();
}
