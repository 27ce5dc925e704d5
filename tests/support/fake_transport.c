/* fake_transport.c: see fake_transport.h. */
#include "support/fake_transport.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A timer's is its delay: "250ms". */
static const char *target_of(const struct task *task) {
  static char delay[32];
  if (task->target) return task->target;
  snprintf(delay, sizeof delay, "%lldms", (long long)task->timer.delay_ms);
  return delay;
}

static bool fake_send(struct transport *transport, struct exchange *exchange,
                      const struct task *task, struct error *error) {
  struct fake_transport *t = (struct fake_transport *)transport;
  if (++t->sent == t->fail_send)
    return error_set(error, t->fail_code, "%s: not sent", target_of(task));
  struct fake_flight *flight = malloc(sizeof *flight);
  if (!flight) abort();
  *flight = (struct fake_flight){exchange, task, NULL, t->last};
  *(t->last ? &t->last->next : &t->first) = flight;
  t->last = flight;
  exchange->handle = flight;
  t->in_flight++;
  if (!t->quiet) fake_log_add(t->log, "%s(%s)", t->name, target_of(task));
  return true;
}

/* The bytes die with the call, as a transport's may: who keeps pointers is found by ASan. */
static void finish(struct fake_transport *t, struct fake_flight *flight, enum reply_status status,
                   const char *body) {
  struct exchange *exchange = flight->exchange;
  char bytes[256];
  snprintf(bytes, sizeof bytes, "%s", body ? body : "");
  struct reply reply = {.status = status, .sent = true, .code = 200, .retry_after_ms = -1};
  reply.body = reply.extra = (struct span){bytes, strlen(bytes)};
  snprintf(reply.message, sizeof reply.message, "fake: status %d", (int)status);
  *(flight->previous ? &flight->previous->next : &t->first) = flight->next;
  *(flight->next ? &flight->next->previous : &t->last) = flight->previous;
  free(flight);
  exchange->handle = NULL;
  t->in_flight--;
  exchange->done(exchange, &reply);
  memset(bytes, '#', sizeof bytes);
}

static void fake_cancel(struct transport *transport, struct exchange *exchange, bool at_once) {
  struct fake_transport *t = (struct fake_transport *)transport;
  struct fake_flight *flight = exchange->handle;
  assert(flight && flight->exchange == exchange);
  if (!t->quiet)
    fake_log_add(t->log, "%s(%s)", at_once ? "kill" : "cancel", target_of(flight->task));
  finish(t, flight, REPLY_CANCELED, NULL);
}

static void fake_close(struct transport *transport) {
  (void)transport;
}

static const struct transport_ops ops = {fake_send, fake_cancel, fake_close, NULL, NULL};

void fake_transport_init(struct fake_transport *t, struct fake_log *log, const char *name) {
  *t = (struct fake_transport){.transport = {&ops}, .log = log, .name = name};
}

static struct fake_flight *find(struct fake_transport *t, const char *target) {
  struct fake_flight *flight = t->first;
  while (flight && target && strcmp(target_of(flight->task), target) != 0)
    flight = flight->next;
  return flight;
}

bool fake_transport_reply(struct fake_transport *t, const char *target, enum reply_status status,
                          const char *body) {
  struct fake_flight *flight = find(t, target);
  if (flight) finish(t, flight, status, body);
  return flight != NULL;
}

bool fake_transport_progress(struct fake_transport *t, const char *target, const char *bytes) {
  struct fake_flight *flight = find(t, target);
  if (flight && flight->exchange->progress)
    flight->exchange->progress(flight->exchange, (struct span){bytes, strlen(bytes)});
  return flight != NULL;
}
