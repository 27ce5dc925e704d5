/* engine_send.c: hands tasks to transports and receives their replies.
 *
 * A transport's callback copies and queues a reply and does not ask the policy, so that replies
 * that arrive during a sync form the next batch. Knows the transports only by their three
 * functions; called by engine.c, engine_ask.c and
 * engine_commit.c. */
#include "engine/engine_inside.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_MAX_BODY = 16 << 20, DEFAULT_MAX_EXTRA = 256 << 10, SHOWN_MAX = 1 << 20 };

void engine_wake(struct engine *e) {
  if (!e->turning && e->state != RUN_STOPPED) e->options.wake(e->options.data);
}

void engine_requeue(struct engine *e, struct slot *slot) {
  assert(slot->engine == e);
  slot->state = SLOT_ARRIVED;
  slot->came = ++e->came;
  slot_queue_push(&e->arrived, slot);
}

/* Copies a message, truncated between two characters: the journal takes only valid UTF-8. */
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

/* Gives the slot a reply that says its task was never sent. */
void engine_answer(struct engine *e, struct slot *slot, enum reply_status status,
                   const char *message) {
  slot->reply = (struct reply){.status = status, .retry_after_ms = -1, .sent = false};
  cut_text(slot->reply.message, sizeof slot->reply.message, message);
  slot->answered = true;
  engine_requeue(e, slot);
}

/* ---- replies ---- */

static bool keep(struct buffer *to, struct span from, size_t asked, size_t usual, struct span *kept,
                 struct error *error) {
  to->maximum = asked ? asked : usual;
  buffer_reset(to);
  if (from.length > 0 && !buffer_append(to, from.data, from.length, error)) return false;
  *kept = buffer_span(to);
  return true;
}

/* Copies a reply. Where it is too large or memory is short, the call was still made, so its outcome
 * is unknown. */
static void keep_reply(struct slot *slot, const struct reply *reply) {
  const struct task *task = &slot->task;
  struct error error;
  struct span body, extra;
  size_t id = reply->event_id.length;
  bool kept = keep(&slot->body, reply->body, task->max_body, DEFAULT_MAX_BODY, &body, &error) &&
              keep(&slot->extra, reply->extra, task->max_extra, DEFAULT_MAX_EXTRA, &extra, &error);
  slot->extra.maximum += id; /* the id is stored after `extra` */
  kept = kept && (id == 0 || buffer_append(&slot->extra, reply->event_id.data, id, &error));
  if (kept && id > 0) extra.data = slot->extra.data;
  slot->answered = true;
  slot->reply = *reply;
  slot->reply.body = kept ? body : (struct span){"", 0};
  slot->reply.extra = kept ? extra : (struct span){"", 0};
  slot->reply.event_id = (struct span){kept ? extra.data + extra.length : "", kept ? id : 0};
  if (kept || reply->status != REPLY_OK) return;
  slot->reply.status = REPLY_BROKEN;
  cut_text(slot->reply.message, sizeof slot->reply.message, error.text);
}

static void arrive(struct exchange *exchange, const struct reply *reply, enum slot_state state) {
  struct slot *slot = exchange->owner;
  struct engine *e = slot->engine;
  assert(slot->state == state && "transport: done was called twice");
  e->flying--;
  slot->carrier = NULL;
  if (state == SLOT_DELAYED && reply->status == REPLY_OK) {
    slot->state = SLOT_DUE;
    slot_queue_push(&e->due, slot);
  } else if (state == SLOT_DELAYED) {
    engine_answer(e, slot, reply->status, reply->message);
  } else {
    keep_reply(slot, reply);
    engine_requeue(e, slot);
  }
  engine_wake(e);
}

static void on_reply(struct exchange *exchange, const struct reply *reply) {
  arrive(exchange, reply, SLOT_SENT);
}

static void on_time(struct exchange *exchange, const struct reply *reply) {
  arrive(exchange, reply, SLOT_DELAYED);
}

/* Whether the policy waits for a message. While a question is being asked, the policy cannot be
 * asked this, too: then the answer is `in_doubt`. */
static bool is_awaited(const struct slot *slot, struct span message, bool in_doubt) {
  const struct policy *policy = slot->engine->options.policy;
  if (slot->engine->turning) return in_doubt;
  return policy->awaits && policy->awaits(policy->self, slot->number, message);
}

static void on_progress(struct exchange *exchange, struct span bytes) {
  const struct slot *slot = exchange->owner;
  struct engine *e = slot->engine;
  if (slot->state != SLOT_SENT || bytes.length == 0) return;
  if (slot->task.kind == TASK_SESSION || slot->task.streams)
    engine_message(e, slot->number, bytes, is_awaited(slot, bytes, true));
  else if (e->options.policy->progress &&
           notes_push(&e->shown, SHOWN_MAX, slot->number, "", bytes, NULL))
    engine_wake(e);
}

static bool on_event(struct exchange *exchange, struct span event) {
  return is_awaited(exchange->owner, event, false);
}

static void on_head(struct exchange *exchange, int code, struct span lines) {
  const struct slot *slot = exchange->owner;
  struct engine *e = slot->engine;
  char source[32];
  struct buffer text;
  struct error ignored; /* the call's reply reports the same failure */
  buffer_init(&text, e->options.sys, DEFAULT_MAX_EXTRA);
  snprintf(source, sizeof source, "head:%" PRIu64, slot->number);
  if (buffer_format(&text, &ignored, "%d\n", code) &&
      buffer_append(&text, lines.data, lines.length, &ignored))
    engine_notice(e, source, buffer_span(&text), &ignored);
  buffer_clear(&text);
}

/* Queues an event about a program: source "<word>:<slot's number>", text "<number> <more>". */
static void notice_program(const struct exchange *exchange, const char *word, int64_t number,
                           const char *more) {
  const struct slot *slot = exchange->owner;
  char source[32], text[128];
  struct error ignored; /* it fails only in a run that is ending, which cancels the program */
  if (slot->state != SLOT_SENT) return;
  snprintf(source, sizeof source, "%s:%" PRIu64, word, slot->number);
  int length = snprintf(text, sizeof text, "%" PRId64 " %s", number, more);
  engine_notice(slot->engine, source, (struct span){text, (size_t)length}, &ignored);
}

/* Records how to find the program again if this process dies first. */
static void on_started(struct exchange *exchange, int64_t pid, const char *start) {
  notice_program(exchange, "started", pid, start);
}

static void on_silent(struct exchange *exchange, int64_t ms, const char *works) {
  notice_program(exchange, "silent", ms, works);
}

/* ---- ways out ---- */

static void hand_over(struct engine *e, struct slot *slot, enum slot_state state,
                      const struct exchange *exchange) {
  struct error *error = engine_trouble(e);
  struct transport *carrier = e->options.transport(e->options.data, slot->task.kind, error);
  slot->exchange = *exchange;
  slot->state = state;
  slot->carrier = carrier;
  e->flying++;
  if (carrier && carrier->ops->send(carrier, &slot->exchange, &slot->task, error)) return;
  e->flying--;
  slot->carrier = NULL;
  /* Nothing was sent. A shortage (of memory, processes ...) may pass, so the task may be repeated.
   */
  bool passes = error->code == ERROR_SYSTEM || error->code == ERROR_MEMORY;
  engine_answer(e, slot, passes ? REPLY_BROKEN : REPLY_REFUSED, error->text);
}

/* Writes a message to a session's running program. */
static void tell(struct engine *e, struct slot *slot) {
  struct error *error = engine_trouble(e);
  uint64_t number = slot->task.message.to;
  struct slot *to = slots_find(&e->slots, number);
  bool runs = to && to->state == SLOT_SENT && to->carrier->ops->write;
  bool told =
      number == 0 || (runs && to->carrier->ops->write(to->carrier, &to->exchange,
                                                      buffer_span(&slot->task.body), error));
  const char *why = told ? "" : runs ? error->text : "it has ended";
  engine_answer(e, slot, told ? REPLY_OK : runs ? REPLY_REFUSED : REPLY_GONE, why);
  slot->reply.sent = told;
}

void engine_delay(struct engine *e, struct slot *slot, int64_t ms) {
  task_clear(&slot->task);
  slot->task.kind = TASK_TIMER;
  slot->task.timer.delay_ms = ms;
  hand_over(e, slot, SLOT_DELAYED, &(struct exchange){.done = on_time, .owner = slot});
}

static void leave(struct engine *e, struct slot *slot) {
  if (slot->function)
    engine_requeue(e, slot);
  else if (slot->task.kind == TASK_MESSAGE)
    tell(e, slot);
  else
    hand_over(e, slot, SLOT_SENT,
              &(struct exchange){.done = on_reply,
                                 .progress = on_progress,
                                 .head = slot->task.streams ? on_head : NULL,
                                 .answered = on_event,
                                 .started = e->options.policy->starts ? on_started : NULL,
                                 .silent = on_silent,
                                 .owner = slot});
}

static void cancel(struct engine *e, struct slot *slot, bool at_once) {
  static const char message[] = "engine: canceled";
  struct slot_queue *queue = NULL;
  switch (slot->state) {
  case SLOT_SENT:
  case SLOT_DELAYED:
    slot->carrier->ops->cancel(slot->carrier, &slot->exchange, at_once);
    assert(slot->state == SLOT_ARRIVED && "transport: cancel did not call done");
    return;
  case SLOT_DUE:
    queue = &e->due;
    break;
  case SLOT_READY:
    queue = &e->ready;
    break;
  case SLOT_ARRIVED:
    if (!slot->answered) queue = &e->arrived;
    break; /* else its reply came before the cancellation */
  case SLOT_TAKEN:
  case SLOT_OVER:
  case SLOT_FREE:
    break;
  }
  if (!queue) return;
  slot_queue_remove(queue, slot);
  engine_answer(e, slot, REPLY_CANCELED, message);
}

static struct slot *pop_unwanted(struct engine *e) {
  struct slot *slot = e->unwanted;
  if (!slot) return NULL;
  e->unwanted = slot->next_unwanted;
  slot->unwanted = false;
  return slot;
}

void engine_dispatch(struct engine *e) {
  for (struct slot *slot; (slot = pop_unwanted(e));)
    cancel(e, slot, false);
  for (struct slot *slot; (slot = slot_queue_pop(&e->ready));)
    leave(e, slot);
}

static void cancel_all(struct engine *e, bool at_once) {
  while (pop_unwanted(e))
    ;
  for (size_t i = 0; i < e->slots.capacity; i++)
    if (e->slots.table[i]) cancel(e, e->slots.table[i], at_once);
}

void engine_cancel(struct engine *e, struct slot *slot) {
  cancel(e, slot, false);
}

void engine_cancel_all(struct engine *e) {
  cancel_all(e, false);
}

void engine_abandon(struct engine *e, bool at_once) {
  cancel_all(e, at_once);
  e->due = e->ready = e->arrived = e->over = (struct slot_queue){0};
  for (size_t i = 0; i < e->slots.capacity;)
    if (e->slots.table[i]) /* slots_release may move another slot to this index */
      slots_release(&e->slots, e->slots.table[i]);
    else
      i++;
}
