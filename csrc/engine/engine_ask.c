/* engine_ask.c: asks the policy the questions of one iteration, and ends the run where a question
 * fails.
 *
 * Records that a question appended are dropped where the question fails. Knows nothing of
 * transports and stores; called by engine.c. */
#include "engine/engine_inside.h"

#include <stdio.h>
#include <string.h>

struct error *engine_trouble(struct engine *e) {
  error_clear(&e->trouble);
  return &e->trouble;
}

bool engine_stopping(const struct engine *e) {
  return e->state != RUN_GOING;
}

/* ---- ends ---- */

static bool ask_choose(struct engine *e, struct decision *decision) {
  const struct policy *policy = e->options.policy;
  decision->kind = DECIDE_GO;
  decision->perform = decision->start = decision->cancel = (struct numbers){NULL, 0};
  decision->wait_ms = -1;
  decision->events = decision->load = false;
  decision->due = 0;
  decision->status[0] = decision->reason[0] = decision->about[0] = 0;
  return policy->choose(policy->self, &e->out, decision, engine_trouble(e));
}

void engine_last_words(struct engine *e, const char *why) {
  const struct policy *policy = e->options.policy;
  struct decision decision;
  size_t mark = batch_count(&e->out);
  policy->stop(policy->self, why);
  if (!ask_choose(e, &decision) || decision.kind != DECIDE_STOP) batch_cut(&e->out, mark);
}

static void set_end(struct engine *e, enum run_state state, const char *status,
                    const char *reason) {
  e->header = (struct header){.due = 0};
  snprintf(e->header.status, sizeof e->header.status, "%s", status);
  snprintf(e->reason, sizeof e->reason, "%s", reason);
  e->state = state;
}

void engine_break(struct engine *e, enum run_state state, const char *status, const char *reason) {
  e->error = e->trouble;
  set_end(e, state, status, reason);
  engine_abandon(e, false);
}

static bool give_up(struct engine *e, const char *status, const char *reason) {
  engine_break(e, RUN_ENDING, status, reason);
  engine_last_words(e, e->reason);
  return false;
}

bool engine_give_up(struct engine *e) {
  if (e->trouble.code == ERROR_MEMORY) return give_up(e, "paused", "out_of_memory");
  return give_up(e, "failed", "internal");
}

static bool policy_bug(struct engine *e, const char *text) {
  error_set(engine_trouble(e), ERROR_INVALID, "policy: %s", text);
  return give_up(e, "failed", "internal");
}

static bool number_bug(struct engine *e, uint64_t number, const char *text) {
  char whole[160];
  snprintf(whole, sizeof whole, "number %llu: %s", (unsigned long long)number, text);
  return policy_bug(e, whole);
}

/* Drops the records that the failed question appended. A question that was interrupted from outside
 * (ERROR_STOPPED) is not a fault: the run stops in an orderly way and its call is asked about
 * again, unless the stop is interrupted, too. */
static bool question_failed(struct engine *e, size_t mark, const char *question) {
  batch_cut(&e->out, mark);
  switch (e->trouble.code) {
  case ERROR_STORE:
  case ERROR_LOST:
    engine_store_failed(e);
    return false;
  case ERROR_MEMORY:
    return engine_give_up(e);
  case ERROR_STOPPED:
    if (e->state == RUN_GOING) e->state = RUN_INTERRUPTED;
    if (e->state == RUN_INTERRUPTED || e->state == RUN_ASKED) return false;
    return give_up(e, "paused", e->why[0] ? e->why : "user_exit");
  case ERROR_NONE:
    error_set(&e->trouble, ERROR_SCRIPT, "policy: %s failed without saying why", question);
    return give_up(e, "failed", "script_error");
  default:
    return give_up(e, "failed", "script_error");
  }
}

/* ---- replies ---- */

static bool again(struct engine *e, struct slot *slot, int64_t after_ms) {
  if (slot->function)
    return number_bug(e, slot->number, "a function is performed once; choose may name it again");
  if (after_ms > 0) {
    engine_delay(e, slot, after_ms);
  } else {
    slot->state = SLOT_DUE;
    slot_queue_push(&e->due, slot);
  }
  return true;
}

static bool ask_accept(struct engine *e, struct slot *slot) {
  const struct policy *policy = e->options.policy;
  size_t mark = batch_count(&e->out);
  enum verdict verdict = VERDICT_OVER;
  int64_t after_ms = 0;
  slot->state = SLOT_TAKEN;
  e->choose_ns = NOW;
  if (!policy->accept(policy->self, slot->number, slot->answered ? &slot->reply : NULL, &e->out,
                      &verdict, &after_ms, engine_trouble(e))) {
    if (slot->answered)
      engine_requeue(e, slot);
    else
      engine_answer(e, slot, REPLY_CANCELED, e->trouble.text);
    return question_failed(e, mark, "accept");
  }
  if (verdict == VERDICT_AGAIN && !engine_stopping(e)) return again(e, slot, after_ms);
  slot->state = SLOT_OVER;
  slot_queue_push(&e->over, slot);
  return true;
}

static bool time_is_up(const struct engine *e) {
  return e->options.sys->mono_ns(e->options.sys) >= e->deadline_ns;
}

static bool take_event(struct engine *e) {
  const struct policy *policy = e->options.policy;
  struct note *note = notes_pop(&e->events);
  size_t mark = batch_count(&e->out);
  e->choose_ns = NOW;
  if (!policy->event(policy->self, note->text, note_bytes(note), &e->out, engine_trouble(e))) {
    notes_return(&e->events, note);
    return question_failed(e, mark, "event");
  }
  notes_free(&e->events, note);
  return true;
}

/* Handles replies and events in the order in which they came, so that the journal never holds a
 * program's answer without what the program wrote before it. */
static bool take_what_came(struct engine *e) {
  bool heard = e->state <= RUN_CANCELED;
  for (;;) {
    const struct slot *slot = e->arrived.first;
    const struct note *note = heard ? e->events.first : NULL;
    if (!slot && !note) return true;
    bool is_event = note && (!slot || note->number < slot->came);
    if (!(is_event ? take_event(e) : ask_accept(e, slot_queue_pop(&e->arrived)))) return false;
    if (!engine_stopping(e) && time_is_up(e)) return true; /* the rest belongs to the next batch */
  }
}

/* ---- the choice ---- */

static void release_over(struct engine *e) {
  for (struct slot *slot; (slot = slot_queue_pop(&e->over));)
    slots_release(&e->slots, slot);
}

/* Marks the calls that the choice gave up. A call that was sent is canceled once the choice is
 * durable; all others are canceled now, as accept gets their replies after that anyway. */
static bool give_up_on(struct engine *e, struct numbers numbers) {
  for (size_t i = numbers.count;
       i-- > 0;) { /* backwards, because the list gives the last pushed first */
    struct slot *slot = slots_find(&e->slots, numbers.items[i]);
    if (!slot) return number_bug(e, numbers.items[i], "canceled, but it is not under way");
    if (slot->unwanted) return number_bug(e, numbers.items[i], "named twice");
    if (slot->state != SLOT_SENT) {
      engine_cancel(e, slot);
      continue;
    }
    slot->unwanted = true;
    slot->next_unwanted = e->unwanted;
    e->unwanted = slot;
  }
  return true;
}

static struct slot *slot_for(struct engine *e, uint64_t number) {
  struct slot *slot = slots_find(&e->slots, number);
  if (slot && slot->state == SLOT_OVER) {
    slot_queue_remove(&e->over, slot);
    slots_release(&e->slots, slot);
  } else if (slot) {
    number_bug(e, number, "named, but it is under way already");
    return NULL;
  }
  slot = slots_take(&e->slots, number, engine_trouble(e));
  if (!slot) {
    engine_give_up(e);
    return NULL;
  }
  slot->engine = e;
  return slot;
}

static bool set_out(struct engine *e, struct numbers numbers, bool functions) {
  for (size_t i = 0; i < numbers.count; i++) {
    struct slot *slot = slot_for(e, numbers.items[i]);
    if (!slot) return false;
    slot->function = functions;
    slot->state = functions ? SLOT_READY : SLOT_DUE;
    slot_queue_push(functions ? &e->ready : &e->due, slot);
  }
  return true;
}

static bool nothing_can_come(const struct engine *e, const struct decision *decision) {
  return decision->wait_ms < 0 && !decision->events && !decision->load && e->slots.count == 0 &&
         !e->events.first && !engine_stopping(e);
}

static bool choose(struct engine *e) {
  struct decision decision;
  size_t mark = batch_count(&e->out);
  bool told = e->state == RUN_TOLD;
  if (!ask_choose(e, &decision)) return question_failed(e, mark, "choose");
  if (decision.kind == DECIDE_STOP) {
    if (!decision.status[0]) return policy_bug(e, "choose says stop, but with which status?");
    set_end(e, RUN_ENDING, decision.status, decision.reason);
    e->header.due = decision.due;
    snprintf(e->header.about, sizeof e->header.about, "%s", decision.about);
    return true;
  }
  if (told) return policy_bug(e, "choose was told to stop and does not");
  if (!give_up_on(e, decision.cancel) || !set_out(e, decision.perform, true) ||
      !set_out(e, decision.start, false))
    return false;
  release_over(e);
  if (nothing_can_come(e, &decision))
    return policy_bug(e, "it waits, but nothing is under way that could end that");
  engine_wait_ms(e, decision.wait_ms);
  e->load_due = decision.load;
  if (decision.events && e->options.listen) e->options.listen(e->options.data);
  return true;
}

static bool ask_requests(struct engine *e) {
  const struct policy *policy = e->options.policy;
  for (struct slot *slot; (slot = slot_queue_pop(&e->due));) {
    size_t mark = batch_count(&e->out);
    slot->state = SLOT_TAKEN;
    task_clear(&slot->task);
    if (!policy->request(policy->self, slot->number, &slot->task, &e->out, engine_trouble(e))) {
      engine_answer(e, slot, REPLY_CANCELED, e->trouble.text);
      return question_failed(e, mark, "request");
    }
    slot->state = SLOT_READY;
    slot_queue_push(&e->ready, slot);
    if (engine_stopping(e) || time_is_up(e)) break;
  }
  return true;
}

/* ---- all of them ---- */

static void tell_stop(struct engine *e) {
  e->state = RUN_TOLD;
  e->choose_ns = NOW;
  e->options.policy->stop(e->options.policy->self, e->why);
}

static bool load_again(struct engine *e) {
  const struct policy *policy = e->options.policy;
  size_t mark = batch_count(&e->out);
  e->load_due = false;
  e->choose_ns = NOW;
  return policy->load(policy->self, e->options.store, &e->out, engine_trouble(e)) ||
         question_failed(e, mark, "load");
}

bool engine_ask(struct engine *e) {
  if (e->load_due && e->state == RUN_GOING && !load_again(e)) return false;
  if (!take_what_came(e)) return false;
  if (e->state == RUN_CANCELED) {
    release_over(e);
    tell_stop(e);
  }
  if (e->state != RUN_GOING && e->state != RUN_TOLD) {
    release_over(e);
    return true;
  }
  if (engine_choice_due(e) && !choose(e)) return false;
  while (e->state == RUN_ENDING &&
         e->events.first) /* replies and events that came while the policy chose */
    if (!take_event(e)) return false;
  return e->state != RUN_GOING || ask_requests(e);
}
