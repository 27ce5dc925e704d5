/* engine_send.c: how a task leaves the engine and how its reply comes back.
 *
 * Replies are copied and queued when they come: nothing is asked of the policy from inside a
 * transport's callback, so that what arrives during a sync forms the next batch. Knows the
 * transports only by their three functions; called by engine.c and engine_commit.c. */
#include "engine/engine_inside.h"

#include <assert.h>
#include <string.h>

enum { DEFAULT_MAX_BODY = 16 << 20, DEFAULT_MAX_EXTRA = 256 << 10 };

void engine_wake(struct engine *e) {
  if (!e->turning && e->stage != STAGE_STOPPED) e->options.wake(e->options.data);
}

void engine_requeue(struct engine *e, struct slot *slot) {
  assert(slot->engine == e);
  slot->state = SLOT_ARRIVED;
  slot_queue_push(&e->arrived, slot);
}

/* Messages go to the journal: a cut one must still be UTF-8. */
static void cut_text(char *to, size_t size, const char *text) {
  size_t length = strlen(text);
  if (length >= size) {
    length = size - 1;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
      length--;
  }
  memcpy(to, text, length);
  to[length] = 0;
}

void engine_answer(struct engine *e, struct slot *slot, enum reply_status status,
                   const char *message) {
  slot->reply = (struct reply){.status = status, .retry_after_ms = -1};
  cut_text(slot->reply.message, sizeof slot->reply.message, message);
  slot->answered = true;
  engine_requeue(e, slot);
}

static bool keep(struct buffer *to, struct span from, size_t asked, size_t usual, struct span *kept,
                 struct error *error) {
  to->maximum = asked ? asked : usual;
  buffer_reset(to);
  if (from.length > 0 && !buffer_append(to, from.data, from.length, error)) return false;
  *kept = buffer_span(to);
  return true;
}

static void on_reply(struct exchange *exchange, const struct reply *reply) {
  struct slot *slot = exchange->owner;
  struct engine *e = slot->engine;
  assert((slot->state == SLOT_SENT || slot->state == SLOT_DELAYED) &&
         "transport: done was called twice");
  e->flying--;
  slot->carrier = NULL;
  if (slot->state == SLOT_DELAYED && reply->status == REPLY_OK) {
    slot->state = SLOT_DUE;
    slot_queue_push(&e->due, slot);
    engine_wake(e);
    return;
  }
  slot->reply = *reply;
  slot->reply.body = slot->reply.extra = (struct span){"", 0};
  slot->answered = true;
  struct error *error = e->lost ? NULL : &e->error;
  if (!keep(&slot->body, reply->body, slot->task.max_body, DEFAULT_MAX_BODY, &slot->reply.body,
            error) ||
      !keep(&slot->extra, reply->extra, slot->task.max_extra, DEFAULT_MAX_EXTRA, &slot->reply.extra,
            error))
    e->lost = true; /* the step is in doubt: better stop than have it done twice */
  engine_requeue(e, slot);
  engine_wake(e);
}

static void on_progress(struct exchange *exchange, struct span bytes) {
  struct slot *slot = exchange->owner;
  const struct policy *policy = slot->engine->options.policy;
  if (policy->progress && slot->state == SLOT_SENT)
    policy->progress(policy->self, slot->step, bytes);
}

static void hand_over(struct engine *e, struct slot *slot, enum task_kind kind) {
  struct error *error = engine_trouble(e);
  struct transport *carrier = e->options.transport(e->options.data, kind, error);
  slot->exchange = (struct exchange){.done = on_reply, .owner = slot};
  if (kind == slot->task.kind) slot->exchange.progress = on_progress;
  slot->state = kind == slot->task.kind ? SLOT_SENT : SLOT_DELAYED;
  slot->carrier = carrier;
  e->flying++;
  if (carrier && carrier->ops->send(carrier, &slot->exchange, &slot->task, error)) return;
  e->flying--;
  slot->carrier = NULL;
  /* Nothing was sent. What is missing or wrong stays so; a shortage may pass. */
  bool passes = error->code == ERROR_SYSTEM || error->code == ERROR_MEMORY;
  engine_answer(e, slot, passes ? REPLY_BROKEN : REPLY_REFUSED, error->text);
}

void engine_dispatch(struct engine *e, struct slot *slot) {
  assert(!e->canceled && e->stage == STAGE_RUNNING); /* else it was canceled in its queue */
  bool waits = slot->state == SLOT_READY && slot->task.delay_ms > 0;
  if (waits && slot->task.kind != TASK_TIMER) {
    hand_over(e, slot, TASK_TIMER);
  } else if (slot->task.kind == TASK_LUA || slot->task.kind == TASK_GATE) {
    slot->answered = false;
    engine_requeue(e, slot);
  } else {
    hand_over(e, slot, slot->task.kind);
  }
}

void engine_dispatch_due(struct engine *e) {
  for (struct slot *slot; (slot = slot_queue_pop(&e->due));)
    engine_dispatch(e, slot);
}

static void cancel(struct engine *e, struct slot *slot, bool at_once) {
  static const char message[] = "engine: canceled";
  switch (slot->state) {
  case SLOT_DELAYED:
  case SLOT_SENT:
    slot->carrier->ops->cancel(slot->carrier, &slot->exchange, at_once);
    assert(slot->state == SLOT_ARRIVED && "transport: cancel did not call done");
    break;
  case SLOT_READY:
    slot_queue_remove(&e->ready, slot);
    engine_answer(e, slot, REPLY_CANCELED, message);
    break;
  case SLOT_DUE:
    slot_queue_remove(&e->due, slot);
    engine_answer(e, slot, REPLY_CANCELED, message);
    break;
  case SLOT_GATE:
    slot_queue_remove(&e->gates, slot);
    engine_answer(e, slot, REPLY_CANCELED, message);
    break;
  case SLOT_ARRIVED:
    if (slot->answered) break; /* it came in time */
    slot_queue_remove(&e->arrived, slot);
    engine_answer(e, slot, REPLY_CANCELED, message);
    break;
  case SLOT_TAKEN:
  case SLOT_FREE:
    break;
  }
}

void engine_cancel_all(struct engine *e) {
  for (size_t i = 0; i < e->slots.capacity; i++)
    if (e->slots.table[i]) cancel(e, e->slots.table[i], false);
}

void engine_abandon(struct engine *e, bool at_once) {
  for (size_t i = 0; i < e->slots.capacity; i++)
    if (e->slots.table[i]) cancel(e, e->slots.table[i], at_once);
  e->ready = e->due = e->arrived = e->gates = (struct slot_queue){0};
  for (size_t i = 0; i < e->slots.capacity;)
    if (e->slots.table[i]) /* a release may move another here */
      slots_release(&e->slots, e->slots.table[i]);
    else
      i++;
}
