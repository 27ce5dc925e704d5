/* policy.h: the five questions the engine asks, and one notice it gives.
 *
 * The engine moves bytes and waits; the policy decides. Payload bytes of records are the
 * policy's own: nobody else looks inside. In every question the policy may append record
 * payloads to `out`; the engine makes them durable, in order, before it acts on the answer
 * (before a task leaves, before the run is reported stopped).
 *
 * A question answers false where the policy itself failed: what it appended is forgotten and
 * the run ends as `failed`, `script_error`. With ERROR_STOPPED it was interrupted from outside
 * instead: the run then stops in order, and the step asked about comes back to accept. */
#ifndef SKILLRT_ENGINE_POLICY_H
#define SKILLRT_ENGINE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/store.h"
#include "transport/transport.h"

/* Record payloads and blobs for the next batch, in order. */
struct batch {
  const struct sys *sys;
  struct buffer bytes; /* the payloads, one behind the other */
  struct buffer ends;  /* size_t per payload: where it ends in `bytes` */
};

void batch_init(struct batch *, const struct sys *);
void batch_clear(struct batch *);
void batch_reset(struct batch *);
bool batch_add(struct batch *, const char *payload, size_t size, struct error *);
size_t batch_count(const struct batch *);
struct span batch_at(const struct batch *, size_t index); /* until the batch changes */
void batch_cut(struct batch *, size_t count);             /* forgets all but the first `count` */

enum { TICK_MS = 100 };

enum decision_kind {
  DECIDE_START,   /* start `steps` */
  DECIDE_PERFORM, /* start `steps`, each a TASK_LUA at once: request is not asked of them, and
                     choose not again before one of them is over */
  DECIDE_WAIT,    /* nothing to start; something is under way */
  DECIDE_STOP     /* the run ends or pauses: `status`, `reason`; final. What is still under way
                     is canceled, and accept hears of it */
};

struct decision {
  enum decision_kind kind;
  uint64_t *steps; /* to be started: the policy's numbers for them; belongs to the policy until
                      its next question */
  size_t count;
  char status[16]; /* completed failed aborted paused */
  char reason[64]; /* task_completed, error_limit, user_exit ... */
};

enum verdict {
  VERDICT_DONE,     /* the step is over, well or badly; its result is in `out` */
  VERDICT_EXCHANGE, /* ask request(step) for the next exchange, or the next attempt */
  VERDICT_KEEP      /* a gate asked without a reply: not answered yet, asked again next turn */
};

struct policy {
  void *self;

  /* Whether choose answers from the records alone, so that it answers the same after a crash, and
   * starts nothing but functions: then its answer need not be durable before it is acted on. May
   * be set by load. */
  bool repeatable;

  /* Rebuild from the journal. A new run has no records: the policy then appends its first
   * ones to `out`. `store` also gives blobs. */
  bool (*load)(void *self, struct store *store, struct batch *out, struct error *);

  /* What now? Asked again after every verdict and after every DECIDE_START. */
  bool (*choose)(void *self, struct batch *out, struct decision *, struct error *);

  /* Fill `task` (initialised, empty) for the next exchange of `step`. An intent that must be
   * durable before the task leaves goes to `out`. */
  bool (*request)(void *self, uint64_t step, struct task *task, struct batch *out, struct error *);

  /* What does this reply mean? For TASK_LUA and TASK_GATE the engine passes reply == NULL: the
   * policy performs the function itself (lua), or has the answer (gate). */
  bool (*accept)(void *self, uint64_t step, const struct reply *reply, struct batch *out,
                 enum verdict *, struct error *);

  /* Write the views people read, through `view`; called seldom, never on the path of a step. */
  bool (*save)(void *self, uint64_t seq, struct store *store, struct error *);

  /* Notice: everything appended so far is durable up to `seq` and may be reported. The beginnings
   * of functions that a repeatable choice starts were only written: a power cut may take them. Not
   * even that where they have not `begun`: nothing may tell of them. */
  void (*durable)(void *self, uint64_t seq, bool begun);

  /* Notice: bytes of a running exchange, for whoever watches. May be NULL. */
  void (*progress)(void *self, uint64_t step, struct span bytes);

  /* Notice: TICK_MS have passed, for whoever shows time going by. NULL: no timer is made. */
  void (*tick)(void *self);

  /* Notice: the run has to stop; the next choose must answer DECIDE_STOP, and may append last
   * records. `why` is what was asked for from outside ("user_exit", "timeout" ...): steps
   * under way have been canceled before, and their accept came with REPLY_CANCELED. Or it is
   * the engine's own reason, "store_failed" "script_error" "out_of_memory" "internal": then
   * steps were dropped unheard, and after "store_failed" what was appended since the last
   * durable notice is lost. */
  void (*stop)(void *self, const char *why);
};

#endif
