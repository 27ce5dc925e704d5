/* engine_commit.c: how answers become durable.
 *
 * One batch = one append + one sync. The engine appends nothing while a sync is under way, and acts
 * on the policy's answers only after the sync. Knows neither files nor what a payload says; called
 * by engine.c. */
#include "engine/engine_inside.h"

#include <assert.h>

static bool append(struct engine *e, enum append kind, struct error *error) {
  struct store *store = e->options.store;
  e->out.header = e->header;
  if (!store->ops->append(store, &e->out, kind, error)) return false;
  batch_reset(&e->out);
  return true;
}

/* An append failed. The journal has room for a few last records only: those that the policy appends
 * in stop("store_failed"). The policy knows more than the journal since the last batch, so views
 * are not saved and `durable` is not called any more. */
void engine_store_failed(struct engine *e) {
  batch_reset(&e->out);
  if (e->trouble.code == ERROR_LOST) { /* another process owns the journal now */
    engine_break(e, RUN_BLIND, "failed", "store_lost");
    return;
  }
  engine_break(e, RUN_BLIND, "paused", "store_failed");
  engine_last_words(e, e->reason);
  struct store *store = e->options.store;
  struct error *error = engine_trouble(e);
  if (batch_count(&e->out) > 0 && append(e, APPEND_LAST_WORDS, error))
    store->ops->sync(store, error); /* where this fails, too, the end is the same */
  batch_reset(&e->out);
}

static void sync_failed(struct engine *e) {
  e->trouble = e->sync_error;
  if (e->trouble.code == ERROR_LOST) {
    engine_store_failed(e);
    return;
  }
  engine_break(e, RUN_BLIND, "failed", "sync_failed");
}

static void tell_durable(struct engine *e) {
  struct store *store = e->options.store;
  e->options.policy->durable(e->options.policy->self, store->ops->seq(store));
}

static void sync_work(void *argument) { /* may be on another thread: uses only these fields */
  struct engine *e = argument;
  struct store *store = e->options.store;
  if (!store->ops->sync(store, &e->sync_error) && e->sync_error.code == ERROR_NONE)
    error_set(&e->sync_error, ERROR_SYSTEM, "store: a sync failed without saying why");
}

/* Appends and syncs a batch with blobs, which may take long. */
static void write_work(void *argument) {
  struct engine *e = argument;
  e->written = append(e, APPEND_WHOLE, &e->sync_error);
  if (e->written) sync_work(e);
}

static void take_sync(struct engine *e) {
  e->sync = e->sync_error.code == ERROR_NONE ? SYNC_RETURNED : SYNC_FAILED;
}

static void write_after(void *argument) {
  struct engine *e = argument;
  take_sync(e);
  if (!e->written) e->sync = SYNC_NOT_APPENDED;
  engine_wake(e);
}

static void sync_after(void *argument) {
  struct engine *e = argument;
  take_sync(e);
  engine_wake(e);
}

/* Whether to sync on this thread: a slow disk may delay this run, but neither another run nor a
 * call under way. */
static bool sync_inline(const struct engine *e) {
  const struct engine_options *o = &e->options;
  return !o->offload || (e->flying == 0 && !(o->busy && o->busy(o->data)));
}

bool engine_commit_first(struct engine *e, struct error *error) {
  struct store *store = e->options.store;
  if (!append(e, APPEND_WHOLE, error) || !store->ops->sync(store, error)) return false;
  tell_durable(e);
  return true;
}

void engine_commit(struct engine *e) {
  assert(e->sync == SYNC_NONE);
  if (batch_count(&e->out) == 0) {
    engine_settle(e);
    return;
  }
  if (e->out.blobs.length > 0 && !sync_inline(e)) {
    e->sync = SYNC_UNDER_WAY;
    if (e->options.offload(e->options.data, write_work, write_after, e)) return;
    e->sync = SYNC_NONE;
  }
  if (!append(e, APPEND_WHOLE, engine_trouble(e))) {
    engine_store_failed(e);
    return;
  }
  e->sync = SYNC_UNDER_WAY;
  if (!sync_inline(e) && e->options.offload(e->options.data, sync_work, sync_after, e)) return;
  sync_work(e);
  take_sync(e);
  engine_settle(e);
}

/* What another process may do by now is not sent by this one. */
static bool held(struct engine *e) {
  struct store *store = e->options.store;
  return !e->ready.first || !store->ops->held || store->ops->held(store, engine_trouble(e));
}

bool engine_settle(struct engine *e) {
  enum sync_state sync = e->sync;
  assert(sync != SYNC_UNDER_WAY);
  e->sync = SYNC_NONE;
  if (sync == SYNC_FAILED) {
    sync_failed(e);
    return false;
  }
  if (sync == SYNC_NOT_APPENDED) {
    e->trouble = e->sync_error;
    engine_store_failed(e);
    return false;
  }
  if (sync == SYNC_RETURNED) tell_durable(e);
  if (e->state == RUN_GOING && !held(e)) {
    engine_store_failed(e);
    return false;
  }
  if (e->state == RUN_GOING)
    engine_dispatch(e);
  else if (e->state == RUN_ENDING)
    engine_cancel_all(e); /* a policy may stop without waiting for the calls it started */
  return true;
}
