/* timer.c: the transport that replies after a time.
 *
 * The engine uses it for back-off before another attempt, and for views and choices that are due
 * later. Timers are reused, so a run holds only as many handles as it ever had delays at once. */
#include "transport/transport.h"

#include <assert.h>
#include <stdio.h>
#include <uv.h>

struct timer;

struct alarm {
  uv_timer_t uv;
  struct timer *timer;
  struct exchange *exchange; /* NULL while unused */
  int64_t start_ns;
  struct alarm *next_all, *next_free;
};

struct timer {
  struct transport transport;
  const struct sys *sys;
  uv_loop_t *loop;
  struct alarm *all, *free;
  size_t closing; /* handles libuv still has */
};

static void alarm_finish(struct alarm *a, enum reply_status status, const char *message) {
  struct timer *t = a->timer;
  struct exchange *exchange = a->exchange;
  struct reply reply = {.status = status, .retry_after_ms = -1};
  reply.elapsed_ms = (t->sys->mono_ns(t->sys) - a->start_ns) / 1000000;
  snprintf(reply.message, sizeof reply.message, "%s", message);
  uv_timer_stop(&a->uv);
  a->exchange = NULL;
  a->next_free = t->free;
  t->free = a;
  exchange->handle = NULL;
  exchange->done(exchange, &reply);
}

static void alarm_rang(uv_timer_t *uv) {
  alarm_finish(uv->data, REPLY_OK, "timer: the time has passed");
}

static struct alarm *alarm_take(struct timer *t, struct error *error) {
  struct alarm *a = t->free;
  if (a) {
    t->free = a->next_free;
    return a;
  }
  a = sys_alloc(t->sys, sizeof *a);
  if (!a) {
    error_set(error, ERROR_MEMORY, "timer: no memory");
    return NULL;
  }
  uv_timer_init(t->loop, &a->uv); /* cannot fail */
  a->uv.data = a;
  a->timer = t;
  a->next_all = t->all;
  t->all = a;
  return a;
}

static bool timer_send(struct transport *transport, struct exchange *exchange,
                       const struct task *task, struct error *error) {
  struct timer *t = (struct timer *)transport;
  struct alarm *a = alarm_take(t, error);
  if (!a) return false;
  a->exchange = exchange;
  a->start_ns = t->sys->mono_ns(t->sys);
  exchange->handle = a;
  uv_update_time(t->loop); /* libuv's time may be as old as its last poll, and the timer would fire
                              too early */
  uv_timer_start(&a->uv, alarm_rang, task->timer.delay_ms > 0 ? (uint64_t)task->timer.delay_ms : 0,
                 0);
  return true;
}

static void timer_cancel(struct transport *transport, struct exchange *exchange, bool at_once) {
  (void)transport, (void)at_once;
  struct alarm *a = exchange->handle;
  assert(a && a->exchange == exchange && "timer: cancel of a finished exchange");
  alarm_finish(a, REPLY_CANCELED, "timer: canceled");
}

static void timer_free_when_closed(struct timer *t) {
  if (t->closing == 0) sys_free(t->sys, t, sizeof *t);
}

static void alarm_closed(uv_handle_t *handle) {
  struct alarm *a = handle->data;
  struct timer *t = a->timer;
  sys_free(t->sys, a, sizeof *a);
  t->closing--;
  timer_free_when_closed(t);
}

static void timer_close(struct transport *transport) {
  struct timer *t = (struct timer *)transport;
  for (struct alarm *a = t->all; a; a = a->next_all)
    if (a->exchange) alarm_finish(a, REPLY_CANCELED, "timer: closed");
  for (struct alarm *a = t->all; a; a = a->next_all) {
    t->closing++;
    uv_close((uv_handle_t *)&a->uv, alarm_closed);
  }
  timer_free_when_closed(t);
}

static const struct transport_ops timer_ops = {timer_send, timer_cancel, timer_close, NULL, NULL};

bool timer_open(const struct sys *sys, struct uv_loop_s *loop, struct transport **to,
                struct error *error) {
  struct timer *t = sys_alloc(sys, sizeof *t);
  if (!t) return error_set(error, ERROR_MEMORY, "timer: no memory");
  t->transport.ops = &timer_ops;
  t->sys = sys;
  t->loop = loop;
  *to = &t->transport;
  return true;
}
