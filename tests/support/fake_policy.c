/* fake_policy.c: see fake_policy.h. */
#include "support/fake_policy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool record(struct batch *out, struct error *error, const char *letter, uint64_t number) {
  char text[32];
  int length = snprintf(text, sizeof text, "%s%llu", letter, (unsigned long long)number);
  return batch_add(out, text, (size_t)length, error);
}

/* Whether this question is the one to fail. It has appended something by then. */
static bool fails(struct fake_policy *p, const char *question, struct batch *out,
                  struct error *error) {
  if (p->during) p->during(p->data, question);
  unsigned times = p->fail_times ? p->fail_times : 1;
  p->questions++;
  if (!p->fail_at || p->questions < p->fail_at || p->questions - p->fail_at >= times) return false;
  batch_add(out, "half", 4, NULL);
  if (!p->fail_mute)
    error_set(error, p->fail_code ? p->fail_code : ERROR_SCRIPT, "skill.lua:7: question %u failed",
              p->questions);
  return true;
}

/* The lists of the last decision are gone with the next question. */
static void forget_lists(struct fake_policy *p) {
  memset(p->next, 0xFF, sizeof p->next);
  memset(p->cancel, 0xFF, sizeof p->cancel);
}

static bool fake_load(void *self, struct store *store, struct batch *out, struct error *error) {
  struct fake_policy *p = self;
  (void)store;
  bool again = p->choices > 0;
  if (fails(p, "load", out, error)) return false;
  if (again && p->verbose) fake_log_add(p->log, "load");
  return again ? batch_add(out, "l", 1, error) : p->resumed || batch_add(out, "new", 3, error);
}

static bool stop_answer(struct fake_policy *p, struct batch *out, struct decision *d,
                        struct error *error) {
  char text[96];
  d->kind = DECIDE_STOP;
  snprintf(d->reason, sizeof d->reason, "%s", p->why[0] ? p->why : "task_completed");
  if (p->bug != FAKE_WITHOUT_STATUS)
    snprintf(d->status, sizeof d->status, "%s", p->why[0] ? "paused" : "completed");
  snprintf(text, sizeof text, "end:%s", d->reason);
  return p->in_memory || batch_add(out, text, strlen(text), error);
}

static size_t name_next(struct fake_policy *p) {
  size_t count = 0;
  bool forever = p->bug == FAKE_STARTS_FOREVER;
  while (count < FAKE_NUMBERS &&
         (forever || (p->started - p->done < p->width && p->started < p->total))) {
    uint64_t number = p->one_number ? 1 : p->started + 1;
    p->next[count++] = number;
    p->attempt[number % FAKE_NUMBERS] = 0;
    p->started++;
  }
  if (count > 0 && p->started > 1 && p->bug == FAKE_STARTS_TWICE) p->next[0] = 1;
  if (count > 0 && p->bug == FAKE_NAMES_TWICE) p->next[count++] = p->next[0];
  if (p->bug == FAKE_WAITS_FOR_NOTHING) count = 0;
  return count;
}

static void give_up(struct fake_policy *p, uint64_t number) {
  p->give_up[p->give_up_count++] = number;
}

static void name_canceled(struct fake_policy *p, struct decision *d) {
  bool twice = p->bug == FAKE_CANCELS_TWICE && p->choices > 1;
  if (p->bug == FAKE_CANCELS_UNKNOWN) give_up(p, 77);
  for (int i = 0; twice && i < 2; i++)
    give_up(p, 1);
  memcpy(p->cancel, p->give_up, sizeof p->cancel);
  d->cancel = (struct numbers){p->cancel, p->give_up_count};
  p->give_up_count = 0;
}

static bool fake_choose(void *self, struct batch *out, struct decision *d, struct error *error) {
  struct fake_policy *p = self;
  if (fails(p, "choose", out, error)) return false;
  p->choices++;
  if (p->verbose) fake_log_add(p->log, "choose");
  bool sound = p->bug != FAKE_IGNORES_STOP && p->bug != FAKE_STARTS_FOREVER;
  if (p->why[0] && p->bug != FAKE_IGNORES_STOP) return stop_answer(p, out, d, error);
  if (p->bug == FAKE_LEAVES && p->started == p->total) return stop_answer(p, out, d, error);
  if (p->done >= p->total && sound) return stop_answer(p, out, d, error);
  size_t count = name_next(p);
  if (p->functions)
    d->perform = (struct numbers){p->next, count};
  else
    d->start = (struct numbers){p->next, count};
  name_canceled(p, d);
  if (p->wait_ms >= 0) d->wait_ms = p->wait_ms;
  if (p->events) d->events = true;
  d->load = p->loads;
  p->loads = false;
  return !p->notes || batch_add(out, "n", 1, error);
}

static bool fake_request(void *self, uint64_t number, struct task *task, struct batch *out,
                         struct error *error) {
  struct fake_policy *p = self;
  char target[32];
  forget_lists(p);
  if (fails(p, "request", out, error)) return false;
  if (p->verbose) fake_log_add(p->log, "request(%llu)", (unsigned long long)number);
  assert(!task->target && task->kind == TASK_PROCESS && task->process.args.count == 0 &&
         "not an empty task");
  task->kind = p->kind;
  task->max_body = p->max_body;
  snprintf(target, sizeof target, "%llu", (unsigned long long)number);
  for (int i = 0; p->argv && p->argv[i]; i++)
    if (!strings_add(&task->process.args, task->sys, p->argv[i], strlen(p->argv[i]), error))
      return false;
  return task_set(task, &task->target, target, error) &&
         (p->in_memory || record(out, error, "i", number));
}

static void log_accept(struct fake_policy *p, uint64_t number, const struct reply *reply) {
  if (reply)
    fake_log_add(p->log, "accept(%llu,%d,%.*s%s)", (unsigned long long)number, (int)reply->status,
                 (int)reply->body.length, reply->body.data, reply->sent ? "" : ",unsent");
  else
    fake_log_add(p->log, "accept(%llu)", (unsigned long long)number);
}

static bool fake_accept(void *self, uint64_t number, const struct reply *reply, struct batch *out,
                        enum verdict *verdict, int64_t *after_ms, struct error *error) {
  struct fake_policy *p = self;
  forget_lists(p);
  if (fails(p, "accept", out, error)) return false;
  if (p->verbose) log_accept(p, number, reply);
  if (reply) memcpy(p->message, reply->message, sizeof p->message);
  p->extra = reply ? reply->extra.length : 0;
  bool canceled = reply && reply->status == REPLY_CANCELED;
  bool again = !canceled && !p->functions && ++p->attempt[number % FAKE_NUMBERS] < p->attempts;
  if (p->bug == FAKE_PERFORMS_AGAIN || p->bug == FAKE_AGAIN) again = true;
  *verdict = again ? VERDICT_AGAIN : VERDICT_OVER;
  *after_ms = p->after_ms;
  if (!again) p->done++;
  return p->in_memory || record(out, error, canceled ? "c" : again ? "x" : "r", number);
}

static bool fake_event(void *self, const char *source, struct span bytes, struct batch *out,
                       struct error *error) {
  struct fake_policy *p = self;
  char text[64];
  forget_lists(p);
  if (fails(p, "event", out, error)) return false;
  if (p->verbose) fake_log_add(p->log, "event(%s,%.*s)", source, (int)bytes.length, bytes.data);
  int cut = bytes.length < 50 ? (int)bytes.length : 50;
  int length = snprintf(text, sizeof text, "e:%.*s", cut, bytes.data);
  return batch_add(out, text, (size_t)length, error);
}

static bool fake_save(void *self, uint64_t seq, struct store *store, struct error *error) {
  struct fake_policy *p = self;
  (void)store;
  p->saves++;
  if (p->fail_save) return error_set(error, ERROR_SYSTEM, "state.json: No space left on device");
  fake_log_add(p->log, "save(%llu)", (unsigned long long)seq);
  return true;
}

static void fake_durable(void *self, uint64_t seq) {
  struct fake_policy *p = self;
  p->durables++;
  fake_log_add(p->log, "durable(%llu)", (unsigned long long)seq);
}

static void fake_progress(void *self, uint64_t number, struct span bytes) {
  struct fake_policy *p = self;
  fake_log_add(p->log, "progress(%llu,%.*s)", (unsigned long long)number, (int)bytes.length,
               bytes.data);
}

static void fake_stop(void *self, const char *why) {
  struct fake_policy *p = self;
  snprintf(p->why, sizeof p->why, "%s", why);
  fake_log_add(p->log, "stop(%s)", why);
}

void fake_policy_init(struct fake_policy *p, struct fake_log *log) {
  *p =
      (struct fake_policy){.log = log, .width = 1, .kind = TASK_HTTP, .attempts = 1, .wait_ms = -1};
  p->policy = (struct policy){.self = p,
                              .load = fake_load,
                              .choose = fake_choose,
                              .request = fake_request,
                              .accept = fake_accept,
                              .event = fake_event,
                              .save = fake_save,
                              .durable = fake_durable,
                              .progress = fake_progress,
                              .stop = fake_stop};
}
