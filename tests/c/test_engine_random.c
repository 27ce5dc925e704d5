/* test_engine_random.c: many runs whose policy, replies, events, times and stops come by chance.
 * Whatever comes: nothing leaves, is performed or canceled before what decided it is durable, all
 * that was named is heard of once for each time it set out, and every run ends. In some the store
 * fails. */
#include <stdint.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/fake_host.h"

enum { NUMBERS = 24, RUNS = 3000, ROUNDS = 400 };

enum place { IDLE, CALLED, REQUESTED, OUT, PERFORMED };

struct entry {
  enum place place;
  uint64_t decided;  /* records that have to be durable before it leaves, or is performed */
  uint64_t given_up; /* the same for its cancel; 0: is not given up */
};

static struct fake_host h;
static struct entry entries[NUMBERS + 1];
static uint64_t records, durable, seed, left, performs[NUMBERS], starts[NUMBERS], cancels[NUMBERS];
static bool stopping, forced, faulty, wrong;
static const struct transport_ops *plain;

static uint64_t chance(uint64_t below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (seed >> 33) % below;
}

static void expect(bool good) {
  if (!good) wrong = true;
}

static bool record(struct batch *out, struct error *error) {
  records++;
  return batch_add(out, "x", 1, error);
}

static bool load(void *self, struct store *store, struct batch *out, struct error *error) {
  (void)self, (void)store;
  expect(durable == records && !stopping);
  return record(out, error);
}

/* ---- a choice by chance ---- */

static size_t under_way(void) {
  size_t count = 0;
  for (int i = 1; i <= NUMBERS; i++)
    count += entries[i].place != IDLE;
  return count;
}

static void name(uint64_t number, bool function, struct numbers *list, uint64_t *items) {
  items[list->count++] = number;
  list->items = items;
  entries[number] = (struct entry){.place = function ? PERFORMED : CALLED, .decided = records};
  left--;
}

static bool choose(void *self, struct batch *out, struct decision *d, struct error *error) {
  (void)self;
  bool written = chance(3) == 0 || record(out, error);
  if (stopping || (left == 0 && (under_way() == 0 || chance(8) == 0))) {
    d->kind = DECIDE_STOP;
    snprintf(d->status, sizeof d->status, "completed");
    forced = true; /* what is still out is canceled behind the sync of these records */
    return written;
  }
  for (uint64_t i = 1; i <= NUMBERS; i++) {
    struct entry *entry = &entries[i];
    if (entry->place == IDLE && left > 0 && chance(4) == 0) {
      if (chance(3) == 0)
        name(i, true, &d->perform, performs);
      else
        name(i, false, &d->start, starts);
    } else if (entry->place != IDLE && !entry->given_up && entry->place != PERFORMED &&
               chance(12) == 0) {
      cancels[d->cancel.count++] = i;
      d->cancel.items = cancels;
      entry->given_up = records;
    }
  }
  d->events = chance(2);
  d->load = chance(10) == 0;
  d->wait_ms = under_way() == 0 || chance(3) == 0 ? (int64_t)chance(30) : -1;
  return written;
}

/* ---- what follows from it ---- */

static bool request(void *self, uint64_t number, struct task *task, struct batch *out,
                    struct error *error) {
  (void)self;
  char target[24];
  struct entry *entry = &entries[number];
  expect(entry->place == CALLED && !stopping);
  entry->place = REQUESTED;
  if (chance(4) > 0 && !record(out, error)) return false;
  entry->decided = records;
  task->kind = TASK_HTTP;
  snprintf(target, sizeof target, "%llu", (unsigned long long)number);
  return task_set(task, &task->target, target, error);
}

static bool checked_send(struct transport *transport, struct exchange *exchange,
                         const struct task *task, struct error *error) {
  struct entry *entry = &entries[strtoull(task->target, NULL, 10)];
  expect(entry->place == REQUESTED && entry->decided <= durable && !stopping);
  if (chance(10) == 0) return error_set(error, ERROR_SYSTEM, "out: no room");
  entry->place = OUT;
  return plain->send(transport, exchange, task, error);
}

static void checked_cancel(struct transport *transport, struct exchange *exchange, bool at_once) {
  const struct fake_flight *flight = exchange->handle;
  const struct entry *entry = &entries[strtoull(flight->task->target, NULL, 10)];
  bool broken = faulty && (h.store.failed || h.store.syncs == h.store.fail_sync);
  if (!stopping && !forced && !broken) expect(entry->given_up > 0 && entry->given_up <= durable);
  if (forced && !stopping && !broken) expect(records == durable);
  plain->cancel(transport, exchange, at_once);
}

static bool accept(void *self, uint64_t number, const struct reply *reply, struct batch *out,
                   enum verdict *verdict, int64_t *after_ms, struct error *error) {
  (void)self;
  struct entry *entry = &entries[number];
  bool canceled = reply && reply->status == REPLY_CANCELED;
  expect(entry->place != IDLE);
  if (!reply) expect(entry->place == PERFORMED && entry->decided <= durable && !forced);
  if (reply && !canceled) expect(entry->place == OUT || entry->place == REQUESTED);
  if (canceled) expect(entry->given_up || stopping || forced);
  if (canceled) expect(reply->sent == (entry->place == OUT));
  bool again = reply && !canceled && chance(3) == 0;
  *verdict = again ? VERDICT_AGAIN : VERDICT_OVER;
  *after_ms = again && chance(2) ? (int64_t)chance(40) : 0;
  entry->place = again && !stopping && !forced ? CALLED : IDLE;
  entry->given_up = 0;
  return chance(4) == 0 || record(out, error);
}

static bool event(void *self, const char *source, struct span bytes, struct batch *out,
                  struct error *error) {
  (void)self, (void)source, (void)bytes;
  return record(out, error);
}

static bool save(void *self, uint64_t seq, struct store *store, struct error *error) {
  (void)self, (void)store, (void)error;
  expect(seq == records && records == durable);
  return true;
}

static void told_durable(void *self, uint64_t seq) {
  (void)self;
  expect(seq == records && seq > durable);
  durable = seq;
}

static void told_stop(void *self, const char *why) {
  (void)self, (void)why;
  expect(faulty || (under_way() == 0 && stopping));
}

/* ---- the world by chance ---- */

static const struct policy by_chance = {.load = load,
                                        .choose = choose,
                                        .request = request,
                                        .accept = accept,
                                        .event = event,
                                        .save = save,
                                        .durable = told_durable,
                                        .stop = told_stop};

static void begin(uint64_t run) {
  static struct transport_ops checked;
  fake_host_init(&h);
  memset(entries, 0, sizeof entries);
  seed = run;
  records = durable = 0;
  left = chance(120);
  stopping = forced = wrong = false;
  faulty = chance(4) == 0;
  if (faulty) *(chance(2) ? &h.store.fail_sync : &h.store.fail_append) = 2 + chance(30);
  h.log.off = h.sys.clock_stands = true;
  h.busy = chance(2);
  h.policy.policy = by_chance;
  plain = h.outside.transport.ops;
  checked = *plain;
  checked.send = checked_send;
  checked.cancel = checked_cancel;
  h.outside.transport.ops = &checked;
}

static struct fake_flight *any(struct fake_transport *t) {
  struct fake_flight *flight = t->first;
  for (uint64_t skip = chance(t->in_flight); skip > 0; skip--)
    flight = flight->next;
  return flight;
}

static void something_happens(bool may_stop) {
  char target[32];
  switch (chance(7)) {
  case 0:
  case 1:
    if (h.outside.in_flight == 0) break;
    snprintf(target, sizeof target, "%s", any(&h.outside)->task->target);
    fake_transport_reply(&h.outside, target, chance(2) ? REPLY_OK : REPLY_BROKEN, "body");
    break;
  case 2:
    if (h.timer.in_flight == 0) break;
    h.sys.now_ns += 50 * 1000000;
    fake_transport_reply(&h.timer, NULL, REPLY_OK, NULL);
    break;
  case 3:
    engine_event(h.engine, "inbox", (struct span){"e", 1}, NULL);
    break;
  case 4:
    h.sys.now_ns += (int64_t)chance(20) * 1000000;
    break;
  case 5:
    if (may_stop && chance(40) == 0) {
      stopping = true;
      engine_stop(h.engine, "user_exit");
    }
    break;
  default:
    fake_host_pool(&h);
  }
}

static bool ends(uint64_t run) {
  begin(run);
  expect(fake_host_open(&h));
  enum engine_phase phase = ENGINE_READY;
  bool stops = chance(3) == 0;
  for (int i = 0; phase != ENGINE_STOPPED && i < 100 * ROUNDS; i++) {
    something_happens(stops);
    if (i > ROUNDS) left = 0;
    phase = engine_turn(h.engine);
  }
  expect(phase == ENGINE_STOPPED);
  bool completed = phase == ENGINE_STOPPED && strcmp(engine_status(h.engine), "completed") == 0;
  if (completed) expect(under_way() == 0 && records == durable && h.store.seq == records);
  expect(completed || faulty);
  fake_host_close(&h);
  expect(h.sys.live == 0 && h.outside.in_flight == 0 && h.timer.in_flight == 0);
  return !wrong;
}

int main(void) {
  TEST("3,000 runs by chance: the order is kept, all is heard of, each ends") {
    for (uint64_t run = 1; run <= RUNS; run++)
      if (!ends(run)) {
        printf("# run %llu\n", (unsigned long long)run);
        CHECK(!wrong);
        break;
      }
  }
  return check_finish();
}
