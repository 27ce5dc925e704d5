/* engine.c: one iteration of a run: verdicts, choice, batch, and what follows from them.
 *
 * Knows policy.h, transport.h and store.h; neither Lua nor curl nor JSON nor files. Never
 * waits and never recurses: a run of functions only is a loop that yields after 10 ms.
 * Called by runtime.c and by tests. */
#include "engine/engine_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { TURN_NS = 10 * 1000 * 1000, TURN_ITERATIONS = 1000 };

struct error *engine_trouble(struct engine *e) {
  e->trouble.code = ERROR_NONE;
  e->trouble.number = 0;
  e->trouble.text[0] = 0;
  return &e->trouble;
}

bool engine_new(const struct engine_options *options, struct engine **to, struct error *error) {
  struct engine *e = sys_alloc(options->sys, sizeof *e);
  if (!e) return error_set(error, ERROR_MEMORY, "engine: no memory");
  e->options = *options;
  slots_init(&e->slots, options->sys);
  batch_init(&e->out, options->sys);
  task_init(&e->view_task, options->sys);
  *to = e;
  return true;
}

void engine_free(struct engine *e) {
  if (!e) return;
  assert(e->sync != SYNC_UNDER_WAY && !e->turning);
  e->turning = true; /* what is canceled now wakes nobody */
  engine_forget_view_timer(e);
  engine_abandon(e, true);
  slots_clear(&e->slots);
  batch_clear(&e->out);
  task_clear(&e->view_task);
  const struct sys *sys = e->options.sys;
  if (e->spans) sys_free(sys, e->spans, e->spans_capacity * sizeof *e->spans);
  if (e->starting) sys_free(sys, e->starting, e->starting_capacity * sizeof *e->starting);
  sys_free(sys, e, sizeof *e);
}

bool engine_load(struct engine *e, struct error *error) {
  const struct policy *policy = e->options.policy;
  e->turning = true;
  bool ok = policy->load(policy->self, e->options.store, &e->out, error);
  if (ok && batch_count(&e->out) > 0) {
    ok = engine_commit_first(e, error) && engine_save(e, error);
  } else {
    e->stale = ok; /* the views may be older than the journal */
    e->saved_ns = e->options.sys->mono_ns(e->options.sys);
  }
  e->turning = false;
  return ok;
}

/* ---- ends ---- */

static bool ask_choose(struct engine *e, struct decision *decision) {
  const struct policy *policy = e->options.policy;
  decision->kind = DECIDE_WAIT;
  decision->steps = NULL;
  decision->count = 0;
  decision->status[0] = decision->reason[0] = 0;
  return policy->choose(policy->self, &e->out, decision, engine_trouble(e));
}

void engine_last_words(struct engine *e, const char *why) {
  const struct policy *policy = e->options.policy;
  struct decision decision;
  size_t mark = batch_count(&e->out);
  e->told = true;
  policy->stop(policy->self, why);
  if (!ask_choose(e, &decision) || decision.kind != DECIDE_STOP) batch_cut(&e->out, mark);
}

static void set_end(struct engine *e, const char *status, const char *reason) {
  snprintf(e->status, sizeof e->status, "%s", status);
  snprintf(e->reason, sizeof e->reason, "%s", reason);
  e->stage = STAGE_ENDING;
}

void engine_break(struct engine *e, const char *status, const char *reason) {
  e->error = e->trouble;
  set_end(e, status, reason);
  engine_abandon(e, false);
}

static bool give_up(struct engine *e, const char *status, const char *reason) {
  engine_break(e, status, reason);
  engine_last_words(e, e->reason);
  return false;
}

static bool policy_bug(struct engine *e, uint64_t step, const char *text) {
  error_set(engine_trouble(e), ERROR_INVALID, "policy: step %llu: %s", (unsigned long long)step,
            text);
  return give_up(e, "failed", "internal");
}

static bool memory_failed(struct engine *e) {
  if (e->trouble.code == ERROR_MEMORY) return give_up(e, "paused", "out_of_memory");
  return give_up(e, "failed", "internal");
}

/* A question failed; what it appended is forgotten. To be stopped from outside is no fault:
 * the run then stops in order, unless that is interrupted too. */
static bool question_failed(struct engine *e, size_t mark, const char *question) {
  batch_cut(&e->out, mark);
  if (e->trouble.code == ERROR_NONE)
    error_set(&e->trouble, ERROR_SCRIPT, "policy: %s failed without saying why", question);
  if (e->trouble.code == ERROR_MEMORY) return give_up(e, "paused", "out_of_memory");
  if (e->trouble.code != ERROR_STOPPED) return give_up(e, "failed", "script_error");
  if (e->interrupted) return give_up(e, "paused", e->why[0] ? e->why : "user_exit");
  e->interrupted = true;
  return false;
}

/* ---- the questions; each gives false where the iteration cannot go on ---- */

/* It leaves, or is performed, once what is in `out` is durable. */
static bool make_ready(struct engine *e, struct slot *slot) {
  slot->state = SLOT_READY;
  slot_queue_push(&e->ready, slot);
  return true;
}

static bool ask_request(struct engine *e, struct slot *slot) {
  const struct policy *policy = e->options.policy;
  size_t mark = batch_count(&e->out);
  if (policy->request(policy->self, slot->step, &slot->task, &e->out, engine_trouble(e)))
    return make_ready(e, slot);
  if (e->trouble.code == ERROR_STOPPED) engine_answer(e, slot, REPLY_CANCELED, e->trouble.text);
  return question_failed(e, mark, "request");
}

static bool keep_waiting(struct engine *e, struct slot *slot, bool stopping) {
  if (slot->task.kind == TASK_GATE && !slot->answered) {
    slot->state = SLOT_GATE;
    slot_queue_push(&e->gates, slot);
    return true;
  }
  if (!stopping) return policy_bug(e, slot->step, "goes on waiting, but nothing more will come");
  slots_release(&e->slots, slot);
  return true;
}

static bool ask_accept(struct engine *e, struct slot *slot) {
  const struct policy *policy = e->options.policy;
  size_t mark = batch_count(&e->out);
  enum verdict verdict = VERDICT_KEEP;
  slot->state = SLOT_TAKEN;
  if (!policy->accept(policy->self, slot->step, slot->answered ? &slot->reply : NULL, &e->out,
                      &verdict, engine_trouble(e))) {
    if (e->trouble.code == ERROR_STOPPED && slot->answered)
      engine_requeue(e, slot);
    else if (e->trouble.code == ERROR_STOPPED)
      engine_answer(e, slot, REPLY_CANCELED, e->trouble.text);
    return question_failed(e, mark, "accept");
  }
  bool stopping = e->canceled || e->stage != STAGE_RUNNING;
  if (verdict == VERDICT_KEEP) return keep_waiting(e, slot, stopping);
  if (verdict == VERDICT_EXCHANGE && !stopping) {
    task_clear(&slot->task);
    return ask_request(e, slot);
  }
  slots_release(&e->slots, slot);
  return true;
}

static bool time_is_up(const struct engine *e) {
  return e->options.sys->mono_ns(e->options.sys) >= e->deadline_ns;
}

static bool take_arrived(struct engine *e) {
  for (struct slot *slot; (slot = slot_queue_pop(&e->arrived));) {
    if (!ask_accept(e, slot)) return false;
    if (e->arrived.first && !e->canceled && e->stage == STAGE_RUNNING && time_is_up(e))
      break; /* the rest belongs to the next batch */
  }
  return true;
}

static bool start(struct engine *e, const struct decision *decision) {
  size_t count = decision->count;
  uint64_t *steps = array_grow(e->options.sys, e->starting, &e->starting_capacity, count,
                               sizeof *steps, engine_trouble(e));
  if (!steps) return memory_failed(e);
  e->starting = steps; /* a copy: the next question takes the policy's own away */
  memcpy(steps, decision->steps, count * sizeof *steps);
  for (size_t i = 0; i < count; i++) {
    if (slots_find(&e->slots, steps[i]))
      return policy_bug(e, steps[i], "started, but it is under way already");
    struct slot *slot = slots_take(&e->slots, steps[i], engine_trouble(e));
    if (!slot) return memory_failed(e);
    slot->engine = e;
    if (!(decision->kind == DECIDE_PERFORM ? make_ready(e, slot) : ask_request(e, slot)))
      return false;
  }
  return true;
}

static bool choose(struct engine *e) {
  for (;;) {
    struct decision decision;
    size_t mark = batch_count(&e->out);
    if (!ask_choose(e, &decision)) return question_failed(e, mark, "choose");
    if (decision.kind == DECIDE_STOP) {
      if (!decision.status[0]) return policy_bug(e, 0, "choose says stop, but with which status?");
      set_end(e, decision.status, decision.reason);
      engine_cancel_all(e); /* for a policy that does not wait for what it started */
      return true;
    }
    if (e->told) return policy_bug(e, 0, "choose was told to stop and does not");
    if (decision.kind == DECIDE_WAIT) {
      if (e->slots.count == 0)
        return policy_bug(e, 0, "choose says wait, but nothing is under way that could end it");
      return true;
    }
    if (decision.count == 0) return policy_bug(e, 0, "choose says start, but names no step");
    if (!start(e, &decision)) return false;
    if (decision.kind == DECIDE_PERFORM) return true;
  }
}

/* ---- the turn ---- */

static bool judge_all(struct engine *e) {
  if (!take_arrived(e)) return false;
  if (e->stage == STAGE_RUNNING && e->canceled && !e->told) {
    assert(e->slots.count == 0);
    e->told = true;
    e->options.policy->stop(e->options.policy->self, e->why);
  }
  return true;
}

static bool choose_next(struct engine *e) {
  if (e->stage != STAGE_RUNNING) return true;
  return choose(e) && (e->stage == STAGE_RUNNING || take_arrived(e));
}

static void iterate(struct engine *e) {
  if (e->sync == SYNC_RETURNED && !engine_settle(e)) return;
  bool judged = judge_all(e);
  if (!(judged && choose_next(e)) && e->stage == STAGE_RUNNING) return; /* interrupted */
  engine_commit(e);
}

static bool finished(const struct engine *e) {
  return e->stage == STAGE_ENDING && e->sync == SYNC_NONE && e->slots.count == 0 &&
         batch_count(&e->out) == 0;
}

static bool idle(const struct engine *e) {
  return e->stage == STAGE_RUNNING && !e->arrived.first && !e->due.first && !e->lost &&
         batch_count(&e->out) == 0 && (e->canceled || !e->why[0]);
}

static enum engine_phase turn(struct engine *e) {
  for (int i = 0; i < TURN_ITERATIONS && (i == 0 || !time_is_up(e)); i++) {
    if (e->why[0] && !e->canceled && e->stage == STAGE_RUNNING) {
      e->canceled = true;
      engine_cancel_all(e);
    }
    engine_dispatch_due(e);
    if (e->sync == SYNC_UNDER_WAY) return ENGINE_WAITING;
    if (e->lost && e->stage == STAGE_RUNNING) {
      e->trouble = e->error;
      memory_failed(e);
    }
    bool before = e->interrupted;
    iterate(e);
    if (finished(e)) engine_finish(e);
    if (e->stage == STAGE_STOPPED) return ENGINE_STOPPED;
    if (e->sync == SYNC_UNDER_WAY) return ENGINE_WAITING;
    if (e->interrupted && !before) return ENGINE_READY; /* so that the caller can say why */
    if (idle(e)) {
      engine_save_waiting(e);
      return ENGINE_WAITING;
    }
  }
  engine_save_breathing(e);
  return ENGINE_READY;
}

enum engine_phase engine_turn(struct engine *e) {
  if (e->stage == STAGE_STOPPED) return ENGINE_STOPPED;
  if (e->turning) /* a script's function turns the loop: this run is in the middle of it */
    return ENGINE_WAITING;
  e->turning = true;
  e->deadline_ns = e->options.sys->mono_ns(e->options.sys) + TURN_NS;
  if (e->interrupted && !e->why[0]) snprintf(e->why, sizeof e->why, "user_exit");
  for (struct slot *slot; (slot = slot_queue_pop(&e->gates));) {
    slot->answered = false; /* has the answer come meanwhile? */
    engine_requeue(e, slot);
  }
  enum engine_phase phase = turn(e);
  e->turning = false;
  return phase;
}

void engine_stop(struct engine *e, const char *why) {
  if (e->stage != STAGE_RUNNING || e->why[0]) return;
  snprintf(e->why, sizeof e->why, "%s", why[0] ? why : "user_exit");
  engine_wake(e);
}

const char *engine_status(const struct engine *e) {
  return e->status;
}

const char *engine_reason(const struct engine *e) {
  return e->reason;
}

const struct error *engine_error(const struct engine *e) {
  return &e->error;
}
