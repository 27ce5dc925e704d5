/* process_bench.h: what the tests of the process transport share: one transport on one loop, and
 * one task at a time. Header only. */
#ifndef SKILLRT_TESTS_PROCESS_BENCH_H
#define SKILLRT_TESTS_PROCESS_BENCH_H

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

static inline void bench_open(struct bench *b) {
  struct error e;
  world_init(&b->world);
  if (uv_loop_init(&b->loop) != 0) abort();
  if (!process_open(&b->world.sys, &b->loop, &b->transport, &e)) abort();
  task_init(&b->task, sys_real());
  b->task.kind = TASK_PROCESS;
  add(&b->task.process.env, "PATH=/usr/local/bin:/usr/bin:/bin");
  capture_init(&b->got, b->transport);
}

static inline void bench_argv(struct bench *b, const char *program, const char *first,
                              const char *second) {
  add(&b->task.process.args, program);
  if (first) add(&b->task.process.args, first);
  if (second) add(&b->task.process.args, second);
}

static inline bool bench_send(struct bench *b) {
  struct error e;
  return b->transport->ops->send(b->transport, &b->got.exchange, &b->task, &e);
}

static inline void bench_run(struct bench *b) {
  CHECK(bench_send(b));
  CHECK(b->got.replies == 0);
  capture_wait(&b->got, &b->loop);
  CHECK(b->got.replies == 1);
  CHECK(b->got.exchange.handle == NULL);
}

static inline void bench_sh(struct bench *b, const char *script) {
  bench_argv(b, "sh", "-c", script);
}

/* Closes; one turn must be enough for the loop, and no memory may be left. */
static inline void bench_close(struct bench *b) {
  if (b->transport) b->transport->ops->close(b->transport);
  uv_run(&b->loop, UV_RUN_NOWAIT);
  CHECK(uv_loop_close(&b->loop) == 0);
  CHECK(b->world.live == 0);
  task_clear(&b->task);
  capture_clear(&b->got);
}

/* Waits up to 2 s until the process is gone (or only a zombie of somebody else). */
static inline bool gone(pid_t pid) {
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

#endif
