/* policy.h: the five questions the engine asks, and the notices it gives.
 *
 * The engine moves bytes and waits; the policy decides. The policy numbers what it starts: a *call*
 * has a task, which a transport performs; a *function* is performed by the policy itself. The
 * engine knows no more of either, and does not read the payloads of records. In every question with
 * an `out` the policy may append record payloads to it; the engine makes them durable, in order,
 * before it acts on the answer (before it sends a task, performs a function, cancels a call or
 * reports the run as stopped).
 *
 * A question returns false where the policy itself failed: the engine drops the records it appended
 * and ends the run as `failed`, `script_error`. Three error codes mean something else: ERROR_MEMORY
 * (`paused`, `out_of_memory`); ERROR_STORE (a value cannot be stored; treated as a failed append);
 * and ERROR_STOPPED: the question was interrupted from outside; the run then stops in an orderly
 * way, and accept is asked about the same call again. */
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
  const uint64_t *items; /* the policy owns it; valid until the next question */
  size_t count;
};

enum decision_kind {
  DECIDE_GO,  /* do what is listed, then continue */
  DECIDE_STOP /* the run ends or pauses with `status` and `reason`, which are final. The engine
                 cancels calls that are still under way once that is durable; accept gets
                 their replies */
};

/* A number under way must not be started or performed; a finished one may be named again. */
struct decision {
  enum decision_kind kind;
  struct numbers perform; /* functions: accept(number, NULL) is asked once */
  struct numbers start;   /* calls: request is asked now, the task is sent later */
  struct numbers cancel;  /* calls under way: accept gets REPLY_CANCELED, or the reply where that
                             came first; calls that finished meanwhile are skipped */
  int64_t wait_ms;        /* ask choose again after this time, even where nothing arrives; 0: with
                             the next turn; -1: no such time */
  bool events;            /* the policy waits for events */
  bool load;              /* ask load again, once all records are durable */
  char status[16];        /* completed failed aborted paused */
  int64_t due;            /* UTC ms at which a worker resumes the run; 0: none does */
  char about[512];        /* a JSON object for lists of runs; or "" */
  char reason[64];        /* task_completed, error_limit, user_exit ... */
};

enum verdict {
  VERDICT_OVER, /* the engine forgets the number; choose may name it again */
  VERDICT_AGAIN /* of a call: request is asked again, after a time. Where the run is stopping
                   this is the same as VERDICT_OVER */
};

struct policy {
  void *self;

  /* Whether the policy gets an event for each program that a call starts, so that the next process
   * can end the program if this one dies:
   * event("started:<number>", "<pid> <start>"), see transport/leftover.h. */
  bool starts;

  /* Rebuild from the journal. A new run has no records: the policy then appends its first ones to
   * `out`. Asked again where a choice says so, for a step that needs older records. Only in this
   * question does the policy read the store. */
  bool (*load)(void *self, struct store *store, struct batch *out, struct error *);

  /* What to do next? Asked at the start, and then once for all replies and events that came
   * meanwhile, or at the time the policy asked for. It is a bug to wait with no call under way, no
   * such time and no event to wait for. */
  bool (*choose)(void *self, struct batch *out, struct decision *, struct error *);

  /* Fill `task` (initialised, empty) for the next attempt of a call. An intent, which must be
   * durable before the task is sent, goes to `out`. */
  bool (*request)(void *self, uint64_t number, struct task *task, struct batch *out,
                  struct error *);

  /* What does this reply mean? NULL: the policy has to perform the function now; a function that
   * was canceled before gets REPLY_CANCELED, as a call does. `after_ms` belongs to VERDICT_AGAIN; 0
   * is at once. */
  bool (*accept)(void *self, uint64_t number, const struct reply *reply, struct batch *out,
                 enum verdict *, int64_t *after_ms, struct error *);

  /* Write the views that people read, through `view`. Called rarely, and never within a step. */
  bool (*save)(void *self, uint64_t seq, struct store *store, struct error *);

  /* Something arrived that is no reply; asked between accept and choose. Sources and texts of calls
   * under way: "message:<number>", a message of a session or an event of a stream that is passed
   * on; "head:<number>", "<code>\n" and the header lines of such a stream; "silent:<number>", "<ms>
   * <what it does>", of a program; "missed", "<number>": some of its messages were dropped, because
   * too many came at once. */
  bool (*event)(void *self, const char *source, struct span bytes, struct batch *out,
                struct error *);

  /* Whether the call of that number waits for this message of a session, or this event of a stream.
   * Asked when the bytes arrive, so it answers from memory and appends nothing. An awaited message
   * is never dropped. NULL: no call waits for messages. */
  bool (*awaits)(void *self, uint64_t number, struct span message);

  /* Notice: all records up to `seq`, the last record of the last batch, are durable and may be
   * reported. The seqs of a batch are consecutive. */
  void (*durable)(void *self, uint64_t seq);

  /* Notice: output of a call under way, for display only; some may be missing where it comes faster
   * than it is displayed. May be NULL. */
  void (*progress)(void *self, uint64_t number, struct span bytes);

  /* Notice: TICK_MS have passed, for a display of the time. NULL: no timer is made. */
  void (*tick)(void *self);

  /* Notice: the run has to stop; the next choose must answer DECIDE_STOP, and may append last
   * records. `why` is the reason that the caller of engine_stop gave ("user_exit", "timeout" ...):
   * then all calls have been canceled, and accept got REPLY_CANCELED for each. Or it is the
   * engine's own reason, "store_failed" "script_error" "out_of_memory" "internal": then the calls
   * were dropped without asking accept, and after "store_failed" the records appended since the
   * last `durable` are lost. */
  void (*stop)(void *self, const char *why);
};

#endif
