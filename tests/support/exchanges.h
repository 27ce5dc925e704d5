/* exchanges.h: what the tests of the transports share: a loop to turn, exchanges that keep a
 * copy of their reply, and a world whose n-th allocation or call fails and whose memory is
 * counted. Header only; knows transport.h, not the transports. */
#ifndef SKILLRT_TESTS_EXCHANGES_H
#define SKILLRT_TESTS_EXCHANGES_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "transport/transport.h"

/* A real world with faults; `sys.self` points at it. Counts run down to 0, the call that
 * brings one there fails; `all` makes every later one fail too. */
struct world {
  struct sys sys;
  long fail_alloc, fail_call; /* 0: never */
  bool all;
  long allocs, calls;
  long live;  /* bytes not given back */
  int refuse; /* errno of a failing call */
};

static inline bool world_fails(long wanted, long count, bool all) {
  return wanted > 0 && (count == wanted || (all && count > wanted));
}

static inline void *world_alloc(const struct sys *sys, void *block, size_t old_size,
                                size_t new_size) {
  struct world *w = sys->self;
  if (new_size > 0 && world_fails(w->fail_alloc, ++w->allocs, w->all)) return NULL;
  void *got = sys_real()->alloc(sys_real(), block, old_size, new_size);
  if (got || new_size == 0) w->live += (long)new_size - (long)old_size;
  return got;
}

static inline bool world_refuses(const struct sys *sys) {
  struct world *w = sys->self;
  return world_fails(w->fail_call, ++w->calls, w->all);
}

static inline void world_init(struct world *w) {
  *w = (struct world){.sys = *sys_real(), .refuse = EMFILE};
  w->sys.self = w;
  w->sys.alloc = world_alloc;
}

/* An exchange and a copy of its reply. */
struct capture {
  struct exchange exchange;
  struct transport *transport;
  struct reply reply;
  int replies; /* how often done was called: 1 in the end */
  char *body, *extra;
  int chunks;          /* how often progress was called */
  char progress[4096]; /* what it was given, joined by '|' */
  int cancel_at;       /* cancel in this call of progress */
  void (*then)(struct capture *);
  bool closes; /* done closes the transport */
};

static inline char *capture_copy(struct span from) {
  char *copy = malloc(from.length + 1);
  if (!copy) abort();
  if (from.length) memcpy(copy, from.data, from.length);
  copy[from.length] = 0;
  return copy;
}

static inline void capture_done(struct exchange *exchange, const struct reply *reply) {
  struct capture *c = exchange->owner;
  if (c->replies++ == 0) {
    c->reply = *reply;
    c->body = capture_copy(reply->body);
    c->extra = capture_copy(reply->extra);
  }
  if (c->then) c->then(c);
  if (c->closes) c->transport->ops->close(c->transport);
}

static inline void capture_progress(struct exchange *exchange, struct span bytes) {
  struct capture *c = exchange->owner;
  size_t used = strlen(c->progress);
  snprintf(c->progress + used, sizeof c->progress - used, "%s%.*s", c->chunks ? "|" : "",
           (int)bytes.length, bytes.data);
  if (++c->chunks == c->cancel_at) c->transport->ops->cancel(c->transport, exchange, false);
}

static inline void capture_init(struct capture *c, struct transport *transport) {
  *c = (struct capture){.exchange = {.done = capture_done, .progress = capture_progress},
                        .transport = transport};
  c->exchange.owner = c;
}

static inline void capture_clear(struct capture *c) {
  free(c->body);
  free(c->extra);
  c->body = c->extra = NULL;
}

static inline int64_t now_ms(void) {
  return sys_real()->mono_ns(sys_real()) / 1000000;
}

/* No wait of a test is longer. What would take 30 s if it went wrong is over before, however busy
 * the machine is with others. */
enum { PATIENCE_MS = 20000 };

/* Turns the loop until the reply came. */
static inline void capture_wait(struct capture *c, uv_loop_t *loop) {
  const struct timespec moment = {0, 200000};
  for (int64_t end = now_ms() + PATIENCE_MS; c->replies == 0 && now_ms() < end;) {
    uv_run(loop, UV_RUN_NOWAIT);
    if (c->replies == 0) nanosleep(&moment, NULL);
  }
}

/* Turns the loop for a while, whatever happens. */
static inline void loop_spend(uv_loop_t *loop, int64_t ms) {
  int64_t end = now_ms() + ms;
  do {
    struct timespec moment = {0, 500000};
    uv_run(loop, UV_RUN_NOWAIT);
    nanosleep(&moment, NULL);
  } while (now_ms() < end);
}

static inline void add(struct strings *list, const char *text) {
  struct error e;
  if (!strings_add(list, sys_real(), text, strlen(text), &e)) abort();
}

static inline int open_descriptors(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder))
    count++;
  if (folder) closedir(folder);
  return count;
}

/* A bench of its own (http_bench.h, process_bench.h) for the rest of the block. */
#define BENCH(b)                                                                                   \
  struct bench b;                                                                                  \
  bench_open(&b)

#endif
