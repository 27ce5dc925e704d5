/* engine_rest.c: does what depends on time: saves views, and asks for a choice at the time that the
 * policy named.
 *
 * A view costs as much as the state is large, a step only as much as it changes. So views are
 * written at most every 50 ms and for at most a twentieth of the time, before the run waits; in a
 * run that never waits at most every second. One timer is set for the earlier of view and choice.
 * Called by engine.c. */
#include "engine/engine_inside.h"

enum { VIEW_WAIT_MS = 50, VIEW_BREATH_MS = 1000, VIEW_SHARE = 20 };

static const int64_t ms_ns = 1000000, longest_ms = INT64_C(1) << 41; /* some 70 years */

static int64_t mono_ns(const struct engine *e) {
  return e->options.sys->mono_ns(e->options.sys);
}

/* ---- the choice ---- */

void engine_wait_ms(struct engine *e, int64_t ms) {
  if (ms < 0)
    e->choose_ns = NEVER;
  else
    e->choose_ns = mono_ns(e) + (ms < longest_ms ? ms : longest_ms) * ms_ns;
}

bool engine_choice_due(const struct engine *e) {
  return e->choose_ns == NOW || (e->choose_ns != NEVER && e->choose_ns <= mono_ns(e));
}

/* ---- views ---- */

bool engine_save(struct engine *e, struct error *error) {
  struct store *store = e->options.store;
  const struct policy *policy = e->options.policy;
  int64_t start = mono_ns(e);
  uint64_t seq = store->ops->seq(store);
  bool ok = policy->save(policy->self, seq, store, error);
  e->saved_ns = mono_ns(e);
  e->save_cost_ns = e->saved_ns - start;
  e->saved_seq = ok ? seq : NO_VIEW;
  return ok;
}

/* Saves the views. A run continues where this fails, because its truth is the journal; the engine
 * saves once more at the end, and reports a failure of that. */
static bool stale(const struct engine *e) {
  struct store *store = e->options.store;
  return e->saved_seq != store->ops->seq(store);
}

static int64_t view_ns(const struct engine *e, int64_t pause_ms) {
  int64_t pause = e->save_cost_ns * VIEW_SHARE;
  return e->saved_ns + (pause > pause_ms * ms_ns ? pause : pause_ms * ms_ns);
}

void engine_breathe(struct engine *e) {
  if (batch_count(&e->out) == 0 && e->state < RUN_ENDING && stale(e) &&
      view_ns(e, VIEW_BREATH_MS) <= mono_ns(e))
    engine_save(e, engine_trouble(e));
}

void engine_finish(struct engine *e) {
  struct error *error = engine_trouble(e);
  if (e->state == RUN_ENDING && stale(e) && !engine_save(e, error) && e->error.code == ERROR_NONE)
    e->error = *error;
  engine_forget_alarm(e);
  e->state = RUN_STOPPED;
}

/* ---- the timer ---- */

static void alarm_rang(struct exchange *exchange, const struct reply *reply) {
  (void)reply;
  struct engine *e = exchange->owner;
  e->alarm_carrier = NULL;
  engine_wake(e);
}

void engine_forget_alarm(struct engine *e) {
  if (e->alarm_carrier) e->alarm_carrier->ops->cancel(e->alarm_carrier, &e->alarm, true);
}

/* A timer that fires too early does no harm. */
static bool set_alarm(struct engine *e, int64_t now_ns, int64_t at_ns, struct error *error) {
  if (e->alarm_carrier && e->alarm_ns <= at_ns) return true;
  engine_forget_alarm(e);
  struct transport *timer = e->options.transport(e->options.data, TASK_TIMER, error);
  e->alarm = (struct exchange){.done = alarm_rang, .owner = e};
  e->alarm_task.kind = TASK_TIMER;
  e->alarm_task.timer.delay_ms = (at_ns - now_ns) / ms_ns + 1;
  if (!timer || !timer->ops->send(timer, &e->alarm, &e->alarm_task, error)) return false;
  e->alarm_carrier = timer;
  e->alarm_ns = at_ns;
  return true;
}

enum engine_phase engine_rest(struct engine *e) {
  bool view = stale(e);
  if (!view && e->choose_ns == NEVER) return ENGINE_WAITING;
  int64_t now = mono_ns(e);
  if (view && view_ns(e, VIEW_WAIT_MS) <= now) {
    engine_save(e, engine_trouble(e));
    view = false;
  }
  if (e->choose_ns <= now) return ENGINE_READY;
  int64_t at = view ? view_ns(e, VIEW_WAIT_MS) : NEVER;
  if (e->choose_ns < at) at = e->choose_ns;
  if (at == NEVER || set_alarm(e, now, at, engine_trouble(e)) || e->choose_ns == NEVER)
    return ENGINE_WAITING; /* without a timer the next turn saves the view */
  engine_give_up(e);
  return ENGINE_READY;
}
