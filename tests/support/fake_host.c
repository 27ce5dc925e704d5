/* fake_host.c: see fake_host.h. */
#include "support/fake_host.h"

#include <assert.h>

static struct transport *give(void *data, enum task_kind kind, struct error *error) {
  struct fake_host *h = data;
  const char *missing = kind != TASK_TIMER ? h->no_outside : h->no_timer ? "no timer" : NULL;
  if (missing) {
    error_set(error, ERROR_MISSING, "%s", missing);
    return NULL;
  }
  if (kind == TASK_TIMER) return &h->timer.transport;
  return &h->outside.transport;
}

static bool offload(void *data, void (*work)(void *), void (*after)(void *), void *argument) {
  struct fake_host *h = data;
  assert(!h->work);
  if (h->pool_full) return false;
  h->work = work;
  h->after = after;
  h->argument = argument;
  fake_log_add(&h->log, "pool");
  return true;
}

static bool busy(void *data) {
  return ((struct fake_host *)data)->busy;
}

static void wake(void *data) {
  ((struct fake_host *)data)->awake++;
}

void fake_host_init(struct fake_host *h) {
  *h = (struct fake_host){0};
  fake_sys_init(&h->sys);
  fake_store_init(&h->store, &h->log);
  fake_transport_init(&h->outside, &h->log, "send");
  fake_transport_init(&h->timer, &h->log, "delay");
  fake_policy_init(&h->policy, &h->log);
}

bool fake_host_open(struct fake_host *h) {
  struct engine_options options = {.sys = &h->sys.sys,
                                   .store = &h->store.store,
                                   .policy = &h->policy.policy,
                                   .transport = give,
                                   .offload = offload,
                                   .busy = busy,
                                   .wake = wake,
                                   .data = h};
  return engine_new(&options, &h->engine, &h->error) && engine_load(h->engine, &h->error);
}

enum engine_phase fake_host_turn(struct fake_host *h) {
  enum engine_phase phase;
  do
    phase = engine_turn(h->engine);
  while (phase == ENGINE_READY);
  return phase;
}

bool fake_host_pool(struct fake_host *h) {
  void (*work)(void *) = h->work, (*after)(void *) = h->after;
  if (!work) return false;
  h->work = NULL;
  work(h->argument);
  after(h->argument);
  return true;
}

bool fake_host_run(struct fake_host *h, int rounds) {
  for (int i = 0; i < rounds; i++) {
    if (fake_host_turn(h) == ENGINE_STOPPED) return true;
    fake_transport_reply(&h->timer, NULL, REPLY_OK, NULL);
    fake_transport_reply(&h->outside, NULL, REPLY_OK, "fine");
    fake_host_pool(h);
  }
  return false;
}

void fake_host_close(struct fake_host *h) {
  fake_host_pool(h);
  engine_free(h->engine);
  h->engine = NULL;
}
