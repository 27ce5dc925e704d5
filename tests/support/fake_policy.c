/* fake_policy.c: see fake_policy.h. */
#include "support/fake_policy.h"

#include <stdio.h>
#include <string.h>

static bool record(struct batch *out, struct error *error, const char *letter, uint64_t step) {
  char text[32];
  int length = snprintf(text, sizeof text, "%s%llu", letter, (unsigned long long)step);
  return batch_add(out, text, (size_t)length, error);
}

/* Whether this question is the one to fail. It has appended something by then. */
static bool fails(struct fake_policy *p, struct batch *out, struct error *error) {
  unsigned times = p->fail_times ? p->fail_times : 1;
  p->questions++;
  if (!p->fail_at || p->questions < p->fail_at || p->questions - p->fail_at >= times) return false;
  batch_add(out, "half", 4, NULL);
  if (!p->fail_mute)
    error_set(error, p->fail_code ? p->fail_code : ERROR_SCRIPT, "skill.lua:7: question %u failed",
              p->questions);
  return true;
}

static bool fake_load(void *self, struct store *store, struct batch *out, struct error *error) {
  struct fake_policy *p = self;
  (void)store;
  return !fails(p, out, error) && batch_add(out, "new", 3, error);
}

static bool stop_answer(struct fake_policy *p, struct batch *out, struct decision *d,
                        struct error *error) {
  char text[96];
  d->kind = DECIDE_STOP;
  snprintf(d->reason, sizeof d->reason, "%s", p->why[0] ? p->why : "task_completed");
  snprintf(d->status, sizeof d->status, "%s", p->why[0] ? "paused" : "completed");
  if (p->bug == FAKE_WITHOUT_STATUS) d->status[0] = 0;
  snprintf(text, sizeof text, "end:%s", d->reason);
  return p->in_memory || batch_add(out, text, strlen(text), error);
}

static bool fake_choose(void *self, struct batch *out, struct decision *d, struct error *error) {
  struct fake_policy *p = self;
  if (fails(p, out, error)) return false;
  if (p->verbose) fake_log_add(p->log, "choose");
  if (p->why[0] && p->bug != FAKE_IGNORES_STOP) return stop_answer(p, out, d, error);
  if (p->bug == FAKE_LEAVES && p->started == p->total) return stop_answer(p, out, d, error);
  if (p->done >= p->total && p->bug != FAKE_STARTS_FOREVER) return stop_answer(p, out, d, error);
  bool free = p->started - p->done < p->width && p->started < p->total;
  d->kind = free || p->bug == FAKE_STARTS_FOREVER ? DECIDE_START : DECIDE_WAIT;
  if (p->bug == FAKE_WAITS_FOR_NOTHING) d->kind = DECIDE_WAIT;
  if (d->kind == DECIDE_WAIT) return true;
  if (p->performs) d->kind = DECIDE_PERFORM;
  d->steps = p->next;
  d->count = p->bug == FAKE_STARTS_NOTHING ? 0 : 1;
  p->next[0] = p->bug == FAKE_STARTS_TWICE ? 1 : ++p->started;
  p->exchange[p->next[0] % 256] = 0;
  return !p->policy.repeatable || !p->performs || record(out, error, "s", p->next[0]);
}

static bool fake_request(void *self, uint64_t step, struct task *task, struct batch *out,
                         struct error *error) {
  struct fake_policy *p = self;
  char target[32];
  memset(p->next, 0xFF, sizeof p->next); /* the decision's list is gone with this question */
  if (fails(p, out, error)) return false;
  if (p->verbose) fake_log_add(p->log, "request(%llu)", (unsigned long long)step);
  task->kind = p->kind;
  if (p->exchange[step % 256] > 0) task->delay_ms = p->delay_ms;
  if (p->kind == TASK_LUA) return true;
  snprintf(target, sizeof target, "%llu", (unsigned long long)step);
  for (int i = 0; p->argv && p->argv[i]; i++)
    if (!strings_add(&task->args, task->sys, p->argv[i], strlen(p->argv[i]), error)) return false;
  return task_set(task, &task->target, target, error) &&
         (p->in_memory || record(out, error, "i", step));
}

static bool fake_accept(void *self, uint64_t step, const struct reply *reply, struct batch *out,
                        enum verdict *verdict, struct error *error) {
  struct fake_policy *p = self;
  if (fails(p, out, error)) return false;
  if (p->verbose && reply)
    fake_log_add(p->log, "accept(%llu,%d,%.*s)", (unsigned long long)step, (int)reply->status,
                 (int)reply->body.length, reply->body.data);
  else if (p->verbose)
    fake_log_add(p->log, "accept(%llu)", (unsigned long long)step);
  if (p->during_accept) p->during_accept(p->data);
  bool canceled = reply && reply->status == REPLY_CANCELED;
  if ((p->kind == TASK_GATE && !reply && !p->gate_open) || p->bug == FAKE_KEEPS) {
    *verdict = VERDICT_KEEP;
    return true;
  }
  bool more = !canceled && ++p->exchange[step % 256] < p->exchanges;
  *verdict = more ? VERDICT_EXCHANGE : VERDICT_DONE;
  if (!more) p->done++;
  return p->in_memory || record(out, error, canceled ? "c" : more ? "x" : "r", step);
}

static bool fake_save(void *self, uint64_t seq, struct store *store, struct error *error) {
  struct fake_policy *p = self;
  (void)store;
  p->saves++;
  if (p->fail_save) return error_set(error, ERROR_SYSTEM, "state.json: No space left on device");
  fake_log_add(p->log, "save(%llu)", (unsigned long long)seq);
  return true;
}

static void fake_durable(void *self, uint64_t seq, bool begun) {
  struct fake_policy *p = self;
  p->durables++;
  fake_log_add(p->log, begun ? "durable(%llu)" : "durable(%llu, not begun)",
               (unsigned long long)seq);
}

static void fake_progress(void *self, uint64_t step, struct span bytes) {
  struct fake_policy *p = self;
  fake_log_add(p->log, "progress(%llu,%.*s)", (unsigned long long)step, (int)bytes.length,
               bytes.data);
}

static void fake_stop(void *self, const char *why) {
  struct fake_policy *p = self;
  snprintf(p->why, sizeof p->why, "%s", why);
  fake_log_add(p->log, "stop(%s)", why);
}

void fake_policy_init(struct fake_policy *p, struct fake_log *log) {
  *p = (struct fake_policy){.log = log, .width = 1, .kind = TASK_HTTP, .exchanges = 1};
  p->policy = (struct policy){.self = p,
                              .load = fake_load,
                              .choose = fake_choose,
                              .request = fake_request,
                              .accept = fake_accept,
                              .save = fake_save,
                              .durable = fake_durable,
                              .progress = fake_progress,
                              .stop = fake_stop};
}
