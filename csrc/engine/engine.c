/* engine.c: the turns of a run.
 *
 * Knows policy.h, transport.h and store.h; neither Lua nor curl nor JSON nor files. Never
 * waits and never recurses: a run of functions only is a loop that yields after 10 ms.
 * Called by runtime.c and by tests. */
#include "engine/engine_inside.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  TURN_NS = 10 * 1000 * 1000,
  TURN_ITERATIONS = 1000,
  EVENTS_MAX = 4 << 20,
  EVENTS_SPARE = 64 << 10 /* for notices */
};

bool engine_new(const struct engine_options *options, struct engine **to, struct error *error) {
  struct engine *e = sys_alloc(options->sys, sizeof *e);
  if (!e) return error_set(error, ERROR_MEMORY, "engine: no memory");
  e->options = *options;
  slots_init(&e->slots, options->sys);
  notes_init(&e->events, options->sys);
  notes_init(&e->shown, options->sys);
  batch_init(&e->out, options->sys);
  task_init(&e->alarm_task, options->sys);
  *to = e;
  return true;
}

void engine_free(struct engine *e) {
  if (!e) return;
  assert(e->sync != SYNC_UNDER_WAY && !e->turning);
  e->turning = true; /* so that a canceled exchange does not ask the loop for a turn */
  engine_forget_alarm(e);
  engine_abandon(e, true);
  slots_clear(&e->slots);
  notes_clear(&e->events);
  notes_clear(&e->shown);
  batch_clear(&e->out);
  task_clear(&e->alarm_task);
  const struct sys *sys = e->options.sys;
  sys_free(sys, e, sizeof *e);
}

bool engine_load(struct engine *e, struct error *error) {
  const struct policy *policy = e->options.policy;
  e->turning = true;
  bool ok = policy->load(policy->self, e->options.store, &e->out, error);
  if (ok && batch_count(&e->out) > 0) {
    ok = engine_commit_first(e, error) && engine_save(e, error);
  } else {
    e->saved_seq = NO_VIEW; /* the views may be older than the journal */
    e->saved_ns = e->options.sys->mono_ns(e->options.sys);
  }
  e->turning = false;
  return ok;
}

static bool finished(const struct engine *e) {
  return (e->state == RUN_ENDING || e->state == RUN_BLIND) && e->sync == SYNC_NONE &&
         e->slots.count == 0 && batch_count(&e->out) == 0;
}

static bool idle(const struct engine *e) {
  return e->state == RUN_GOING && !e->arrived.first && !e->due.first && !e->events.first &&
         !e->shown.first && !e->ticked && !e->load_due && batch_count(&e->out) == 0;
}

/* Progress and ticks are only displayed, so the policy gets them also while a sync is under way. */
static void tell(struct engine *e) {
  const struct policy *policy = e->options.policy;
  for (struct note *note; (note = notes_pop(&e->shown)); notes_free(&e->shown, note))
    policy->progress(policy->self, note->number, note_bytes(note));
  if (e->ticked && policy->tick) policy->tick(policy->self);
  e->ticked = false;
}

static void iterate(struct engine *e) {
  if (e->sync != SYNC_NONE && !engine_settle(e)) return;
  if (!engine_ask(e) && e->state < RUN_ENDING) return; /* interrupted */
  engine_commit(e);
}

static enum engine_phase turn(struct engine *e) {
  const struct sys *sys = e->options.sys;
  for (int i = 0; i < TURN_ITERATIONS && (i == 0 || sys->mono_ns(sys) < e->deadline_ns); i++) {
    tell(e);
    if (e->state == RUN_ASKED) {
      e->state = RUN_CANCELED;
      engine_cancel_all(e);
    }
    if (e->sync == SYNC_UNDER_WAY) return ENGINE_WAITING;
    iterate(e);
    if (finished(e)) engine_finish(e);
    if (e->state == RUN_STOPPED) return ENGINE_STOPPED;
    if (e->state == RUN_ASKED) continue; /* cancel at once: do not wait for the sync */
    if (e->sync == SYNC_UNDER_WAY) return ENGINE_WAITING;
    if (e->state == RUN_INTERRUPTED) return ENGINE_READY; /* the caller may call engine_stop now */
    if (idle(e)) return engine_rest(e);
  }
  engine_breathe(e);
  return ENGINE_READY;
}

static void ask_to_stop(struct engine *e, const char *why) {
  snprintf(e->why, sizeof e->why, "%s", why[0] ? why : "user_exit");
  e->state = RUN_ASKED;
}

enum engine_phase engine_turn(struct engine *e) {
  if (e->state == RUN_STOPPED) return ENGINE_STOPPED;
  if (e->turning) /* a function of the script turned the loop; this run still waits for that
                     function */
    return ENGINE_WAITING;
  e->turning = true;
  e->deadline_ns = e->options.sys->mono_ns(e->options.sys) + TURN_NS;
  if (e->state == RUN_INTERRUPTED) ask_to_stop(e, "");
  enum engine_phase phase = turn(e);
  e->turning = false;
  return phase;
}

void engine_stop(struct engine *e, const char *why) {
  if (e->state != RUN_GOING && e->state != RUN_INTERRUPTED) return;
  ask_to_stop(e, why);
  engine_wake(e);
}

static bool hear(struct engine *e, size_t maximum, const char *source, struct span bytes,
                 struct error *error) {
  if (e->state > RUN_CANCELED)
    return error_set(error, ERROR_STOPPED, "%.64s: the run is ending", source);
  if (!notes_push(&e->events, maximum, ++e->came, source, bytes, error)) return false;
  engine_wake(e);
  return true;
}

bool engine_event(struct engine *e, const char *source, struct span bytes, struct error *error) {
  return hear(e, EVENTS_MAX, source, bytes, error);
}

bool engine_notice(struct engine *e, const char *source, struct span bytes, struct error *error) {
  return hear(e, EVENTS_MAX + EVENTS_SPARE, source, bytes, error);
}

void engine_message(struct engine *e, uint64_t number, struct span message, bool awaited) {
  char source[32];
  struct error error;
  snprintf(source, sizeof source, "message:%" PRIu64, number);
  if (hear(e, awaited ? SIZE_MAX : EVENTS_MAX, source, message, &error))
    e->missed = false;
  else if (error.code == ERROR_LIMIT && !e->missed)
    e->missed = engine_notice(e, "missed", (struct span){source + 8, strlen(source + 8)}, &error);
}

void engine_tick(struct engine *e) {
  e->ticked = true;
  engine_wake(e);
}

const char *engine_status(const struct engine *e) {
  return e->header.status;
}

const char *engine_reason(const struct engine *e) {
  return e->reason;
}

const struct error *engine_error(const struct engine *e) {
  return &e->error;
}
