/* policy.h: the five questions the engine asks, and the notices it gives.
 *
 * The engine moves bytes and waits; the policy decides. What is under way has a number of the
 * policy's: a *call* has a task and goes to a transport; a *function* the policy performs itself.
 * The engine knows no more of either. Payload bytes of records are the policy's own, too. In every
 * question with an `out` the policy may append record payloads to it; the engine makes them
 * durable, in order, before it acts on the answer (before a task leaves, a function is performed,
 * a call is canceled, the run is reported stopped).
 *
 * A question answers false where the policy itself failed: what it appended is forgotten and
 * the run ends as `failed`, `script_error`. Three codes say more: ERROR_MEMORY (`paused`,
 * `out_of_memory`), ERROR_STORE (what it would record cannot be kept: as when an append fails) and
 * ERROR_STOPPED: it was interrupted from outside; the run then stops in order, and what was
 * asked about comes back to accept. */
#ifndef SKILLRT_ENGINE_POLICY_H
#define SKILLRT_ENGINE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/store.h"
#include "transport/transport.h"

enum { TICK_MS = 100 };

struct numbers {
  const uint64_t *items; /* the policy's, until its next question */
  size_t count;
};

enum decision_kind {
  DECIDE_GO,  /* do what is listed, and go on */
  DECIDE_STOP /* the run ends or pauses: `status`, `reason`; final. What is still under way is
                 canceled once that is durable, and accept hears of it */
};

/* A number under way must not be started or performed; one that is over may be named again. */
struct decision {
  enum decision_kind kind;
  struct numbers perform; /* functions: accept(number, NULL) is asked once */
  struct numbers start;   /* calls: request is asked now, the task leaves later */
  struct numbers cancel;  /* of what is under way: accept hears REPLY_CANCELED, or the reply that
                             came first; what is over since the last choice is passed by */
  int64_t wait_ms;        /* choose again after so long, whatever comes before; 0: at the next turn;
                             -1: no such time */
  bool events;            /* event may still bring something */
  bool load;              /* load is asked again, once all that was recorded is durable */
  char status[16];        /* completed failed aborted paused */
  int64_t due;            /* UTC ms: the run is to be resumed then; 0: not by itself */
  char about[512];        /* what lists show of it, an object of JSON; or "" */
  char reason[64];        /* task_completed, error_limit, user_exit ... */
};

enum verdict {
  VERDICT_OVER, /* the engine forgets the number; choose may name it again */
  VERDICT_AGAIN /* of a call: request is asked again, after a time. Where the run is stopping
                   this is the same as VERDICT_OVER */
};

struct policy {
  void *self;

  /* Whether it wants to hear of each program that a call starts, to end it should we die first:
   * event("started:<number>", "<pid> <start>"), see transport/leftover.h. */
  bool starts;

  /* Rebuild from the journal. A new run has no records: the policy then appends its first
   * ones to `out`. Asked again where a choice says so: what begins then needs what was recorded
   * before. In this question alone the policy reads the store; no other waits for one. */
  bool (*load)(void *self, struct store *store, struct batch *out, struct error *);

  /* What now? Asked first of all, and then once for all that came meanwhile: verdicts, events, the
   * time it asked for; not where nothing came. To wait with nothing under way, no such time and
   * no event that may come is a bug. */
  bool (*choose)(void *self, struct batch *out, struct decision *, struct error *);

  /* Fill `task` (initialised, empty) for the next attempt of a call. An intent that must be
   * durable before the task leaves goes to `out`. */
  bool (*request)(void *self, uint64_t number, struct task *task, struct batch *out,
                  struct error *);

  /* What does this reply mean? Without one (NULL) the policy is to perform the function now; a
   * function that is canceled before that comes with REPLY_CANCELED, as a call does. `after_ms`
   * belongs to VERDICT_AGAIN: 0 is at once. */
  bool (*accept)(void *self, uint64_t number, const struct reply *reply, struct batch *out,
                 enum verdict *, int64_t *after_ms, struct error *);

  /* Write the views people read, through `view`; called seldom, never on the path of a step. */
  bool (*save)(void *self, uint64_t seq, struct store *store, struct error *);

  /* Something arrived that answers no request; asked between accept and choose. Of what is
   * under way: "message:<number>", a message of a session, or an event of a stream that is handed
   * on; "head:<number>", "<code>\n" and the header lines of such a stream; "silent:<number>", "<ms>
   * <what it does>", of a program; "missed", "<number>": it said more at once than is kept. */
  bool (*event)(void *self, const char *source, struct span bytes, struct batch *out,
                struct error *);

  /* Whether that number waits for this message (of a session, as its event will say), or for this
   * event of its stream: asked from the loop as it comes, so it answers from what it knows and
   * appends nothing. What is waited for is kept however much came before it. NULL: none is. */
  bool (*awaits)(void *self, uint64_t number, struct span message);

  /* Notice: everything appended so far is durable up to `seq`, the seq of the last batch's last
   * record, and may be reported. The seqs of a batch's records follow on each other. */
  void (*durable)(void *self, uint64_t seq);

  /* Notice: bytes of a call under way, for whoever watches: some may be missing where they come
   * faster than they are taken. May be NULL. */
  void (*progress)(void *self, uint64_t number, struct span bytes);

  /* Notice: TICK_MS have passed, for whoever shows time going by. NULL: no timer is made. */
  void (*tick)(void *self);

  /* Notice: the run has to stop; the next choose must answer DECIDE_STOP, and may append last
   * records. `why` is what was asked for from outside ("user_exit", "timeout" ...): what was
   * under way has been canceled before, and accept came with REPLY_CANCELED. Or it is
   * the engine's own reason, "store_failed" "script_error" "out_of_memory" "internal": then
   * all was dropped unheard, and after "store_failed" what was appended since the last
   * durable notice is lost. */
  void (*stop)(void *self, const char *why);
};

#endif
