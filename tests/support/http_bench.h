/* http_bench.h: what the tests of HTTP share: skillrt/http.so opened as a run does, one transport,
 * one server that behaves as badly as one can, and a task at a time. Header only. */
#ifndef SKILLRT_TESTS_HTTP_BENCH_H
#define SKILLRT_TESTS_HTTP_BENCH_H

#include <dlfcn.h>
#include <libgen.h>
#include <unistd.h>

#include "support/check.h"
#include "support/exchanges.h"
#include "support/http_server.h"

static http_open_function *http_open;

static inline bool load(void) {
  char path[4096], module[4200];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = 0;
  snprintf(module, sizeof module, "%s/../lib/skillrt/http.so", dirname(path));
  void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  *(void **)&http_open = dlsym(handle, "skillrt_http_open");
  return http_open != NULL;
}

/* One transport, one server, and a task at a time. */
struct bench {
  uv_loop_t loop;
  struct world world;
  struct transport *transport;
  struct http_server *server;
  struct task task;
  struct capture got;
  char url[8192], place[64];
};

static inline void bench_open(struct bench *b) {
  struct error e;
  memset(b, 0, sizeof *b);
  world_init(&b->world);
  if (uv_loop_init(&b->loop) != 0) abort();
  if (!http_open(&b->world.sys, &b->loop, &b->transport, &e)) abort();
  b->server = http_server_start(NULL, NULL, 0);
  if (!b->server) abort();
  snprintf(b->place, sizeof b->place, "127.0.0.1:%d", http_server_port(b->server));
  task_init(&b->task, sys_real());
  b->task.kind = TASK_HTTP;
  b->task.total_ms = 5000;
  capture_init(&b->got, b->transport);
}

/* Gives the task the URL of a path of the server. */
static inline void bench_path(struct bench *b, const char *path) {
  struct error e;
  snprintf(b->url, sizeof b->url, "http://%s%s", b->place, path);
  if (!task_set(&b->task, &b->task.target, b->url, &e)) abort();
}

static inline void bench_method(struct bench *b, const char *method) {
  struct error e;
  if (!task_set(&b->task, &b->task.http.method, method, &e)) abort();
}

static inline void bench_send(struct bench *b) {
  struct error e;
  capture_clear(&b->got);
  int cancel_at = b->got.cancel_at;
  bool closes = b->got.closes;
  capture_init(&b->got, b->transport);
  b->got.cancel_at = cancel_at;
  b->got.closes = closes;
  CHECK(b->transport->ops->send(b->transport, &b->got.exchange, &b->task, &e));
}

static inline void bench_run(struct bench *b) {
  bench_send(b);
  CHECK(b->got.replies == 0);
  capture_wait(&b->got, &b->loop);
  CHECK(b->got.replies == 1);
  CHECK(b->got.exchange.handle == NULL);
}

static inline void bench_get(struct bench *b, const char *path) {
  bench_path(b, path);
  bench_run(b);
}

/* One turn of the loop must be enough after closing, and no memory may be left. */
static inline void bench_close(struct bench *b) {
  if (b->transport) b->transport->ops->close(b->transport);
  uv_run(&b->loop, UV_RUN_NOWAIT);
  CHECK(uv_loop_close(&b->loop) == 0);
  CHECK(b->world.live == 0);
  task_clear(&b->task);
  capture_clear(&b->got);
  http_server_stop(b->server);
}

/* A bench of its own for one path; the reply's status and message as expected. */
static inline void check_reply(struct bench *b, const char *path, enum reply_status status,
                               const char *message) {
  char whole[512];
  bench_get(b, path);
  snprintf(whole, sizeof whole, "%s: %s", b->place, message);
  CHECK(b->got.reply.status == status);
  CHECK_STR(b->got.reply.message, whole);
}

#endif
