/* engine_commit.c: how answers become durable, and when people's views are written.
 *
 * One batch = one append + one sync; nothing is appended while a sync is under way. What
 * was asked for leaves after the sync that made its intent durable. Knows neither files nor what
 * a payload says; called by engine.c. */
#include "engine/engine_inside.h"

#include <assert.h>

static bool append(struct engine *e, enum append kind, struct error *error) {
  size_t count = batch_count(&e->out);
  struct span *spans =
      array_grow(e->options.sys, e->spans, &e->spans_capacity, count, sizeof *e->spans, error);
  if (!spans) return false;
  e->spans = spans;
  size_t from = 0;
  const size_t *ends = (const size_t *)(const void *)e->out.ends.data;
  for (size_t i = 0; i < count; from = ends[i++])
    spans[i] = (struct span){e->out.bytes.data ? e->out.bytes.data + from : "", ends[i] - from};
  struct store *store = e->options.store;
  if (!store->ops->append(store, spans, count, kind, error)) return false;
  batch_reset(&e->out);
  e->stale = true;
  return true;
}

/* The journal takes no more but a few words: what the policy says to "store_failed". What
 * it learned since the last batch is not in the journal, so no view may show it, and
 * `durable` is not called any more. */
static void store_failed(struct engine *e) {
  e->unsaveable = true;
  batch_reset(&e->out);
  if (e->trouble.code == ERROR_LOST) { /* it is not ours to say anything in */
    engine_break(e, "failed", "store_lost");
    return;
  }
  engine_break(e, "paused", "store_failed");
  engine_last_words(e, e->reason);
  struct store *store = e->options.store;
  struct error *error = engine_trouble(e);
  if (batch_count(&e->out) > 0 && append(e, APPEND_LAST_WORDS, error))
    store->ops->sync(store, error); /* failing again changes nothing */
  batch_reset(&e->out);
}

static void sync_failed(struct engine *e) {
  e->unsaveable = true;
  e->trouble = e->sync_error;
  engine_break(e, "failed", "sync_failed");
  batch_reset(&e->out);
}

static void tell_durable(struct engine *e, bool begun) {
  struct store *store = e->options.store;
  e->options.policy->durable(e->options.policy->self, store->ops->seq(store), begun);
}

static void sync_work(void *argument) { /* on another thread */
  struct engine *e = argument;
  struct store *store = e->options.store;
  e->sync_ok = store->ops->sync(store, &e->sync_error);
}

static void sync_after(void *argument) {
  struct engine *e = argument;
  e->sync = SYNC_RETURNED;
  engine_wake(e);
}

/* A slow disk may stall this run, but nobody else and nothing under way. */
static bool sync_inline(const struct engine *e) {
  const struct engine_options *o = &e->options;
  return !o->offload || (e->flying == 0 && !(o->busy && o->busy(o->data)));
}

bool engine_commit_first(struct engine *e, struct error *error) {
  struct store *store = e->options.store;
  if (!append(e, APPEND_WHOLE, error) || !store->ops->sync(store, error)) return false;
  tell_durable(e, true);
  return true;
}

bool engine_commit(struct engine *e) {
  if (batch_count(&e->out) == 0) {
    e->sync_ok = true;
    return engine_settle(e);
  }
  assert(e->sync == SYNC_NONE);
  if (!append(e, APPEND_WHOLE, engine_trouble(e))) {
    store_failed(e);
    return false;
  }
  error_clear(&e->sync_error);
  e->sync = SYNC_UNDER_WAY;
  if (!sync_inline(e) && e->options.offload(e->options.data, sync_work, sync_after, e)) return true;
  sync_work(e);
  e->sync = SYNC_RETURNED;
  return engine_settle(e);
}

static bool synced(struct engine *e) {
  e->sync = SYNC_NONE;
  if (!e->sync_ok) sync_failed(e);
  return e->sync_ok;
}

static void dispatch_ready(struct engine *e) {
  for (struct slot *slot; (slot = slot_queue_pop(&e->ready));)
    engine_dispatch(e, slot);
}

bool engine_settle(struct engine *e) {
  bool written = e->sync == SYNC_RETURNED;
  if (!synced(e)) return false;
  if (written) tell_durable(e, true);
  dispatch_ready(e);
  return true;
}

/* ---- views: seldom, so that a step costs what it changes and no more ----
 * A view costs the size of the state, a step only its change. So views are written at most
 * every 50 ms and for at most a twentieth of the time, when the run is about to wait; a run
 * that never waits writes them at most every second. */
enum { VIEW_WAIT_MS = 50, VIEW_BREATH_MS = 1000, VIEW_SHARE = 20 };

static int64_t mono_ns(const struct engine *e) {
  return e->options.sys->mono_ns(e->options.sys);
}

bool engine_save(struct engine *e, struct error *error) {
  struct store *store = e->options.store;
  const struct policy *policy = e->options.policy;
  int64_t start = mono_ns(e);
  bool ok = policy->save(policy->self, store->ops->seq(store), store, error);
  e->saved_ns = mono_ns(e);
  e->save_cost_ns = e->saved_ns - start;
  e->stale = !ok;
  return ok;
}

/* Until a view is due: <= 0 means now. */
static int64_t view_due_ns(const struct engine *e, int64_t pause_ms) {
  int64_t pause = e->save_cost_ns * VIEW_SHARE;
  if (pause < pause_ms * 1000000) pause = pause_ms * 1000000;
  return e->saved_ns + pause - mono_ns(e);
}

static void view_timer_rang(struct exchange *exchange, const struct reply *reply) {
  (void)reply;
  struct engine *e = exchange->owner;
  e->view_carrier = NULL;
  engine_wake(e);
}

void engine_forget_view_timer(struct engine *e) {
  if (e->view_carrier) e->view_carrier->ops->cancel(e->view_carrier, &e->view_exchange, true);
}

/* So that a run that waits long is not seen as it was before its last steps. Without a timer
 * the view comes with the next turn. */
static void come_back(struct engine *e, int64_t in_ns) {
  if (e->view_carrier) return;
  struct error *error = engine_trouble(e);
  struct transport *timer = e->options.transport(e->options.data, TASK_TIMER, error);
  e->view_task.kind = TASK_TIMER;
  e->view_task.delay_ms = in_ns / 1000000 + 1;
  e->view_exchange = (struct exchange){.done = view_timer_rang, .owner = e};
  if (timer && timer->ops->send(timer, &e->view_exchange, &e->view_task, error))
    e->view_carrier = timer;
}

/* A view that cannot be written does not stop a run: its truth is the journal, and the last
 * view, whose failure is reported, is tried again at the end. */
void engine_save_waiting(struct engine *e) {
  if (!e->stale || e->unsaveable) return;
  int64_t due = view_due_ns(e, VIEW_WAIT_MS);
  if (due > 0)
    come_back(e, due);
  else
    engine_save(e, engine_trouble(e));
}

void engine_save_breathing(struct engine *e) {
  if (e->stale && !e->unsaveable && batch_count(&e->out) == 0 &&
      view_due_ns(e, VIEW_BREATH_MS) <= 0)
    engine_save(e, engine_trouble(e));
}

void engine_finish(struct engine *e) {
  struct error *error = engine_trouble(e);
  if (e->stale && !e->unsaveable && !engine_save(e, error) && e->error.code == ERROR_NONE)
    e->error = *error;
  engine_forget_view_timer(e);
  e->stage = STAGE_STOPPED;
}
