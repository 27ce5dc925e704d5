/* engine.h: one iteration of a run.
 *
 * Knows policy.h, transport.h and store.h; neither Lua nor curl nor JSON nor files.
 * One turn: take the verdicts on what arrived, choose, write one batch, make it durable
 * (inline when nothing else is in flight, else on the loop's pool), then report and
 * dispatch. Never writes batch b+1 before the sync of batch b returned. */
#ifndef SKILLRT_ENGINE_ENGINE_H
#define SKILLRT_ENGINE_ENGINE_H

#include "engine/policy.h"

struct engine;

enum engine_phase {
  ENGINE_READY,   /* there is something to do now: call engine_turn */
  ENGINE_WAITING, /* for a reply, a timer or a sync */
  ENGINE_STOPPED  /* status and reason are final, and durable */
};

struct engine_options {
  const struct sys *sys;
  struct store *store;         /* borrowed */
  const struct policy *policy; /* borrowed */
  /* Gives the transport for a kind (opened on first use); NULL with `error` filled. */
  struct transport *(*transport)(void *data, enum task_kind, struct error *);
  /* Runs `work` on another thread, then `after` on the loop's; false: do it inline. */
  bool (*offload)(void *data, void (*work)(void *), void (*after)(void *), void *argument);
  /* Whether anything else in the process is in flight, so that a slow sync would stall it. */
  bool (*busy)(void *data);
  /* Something may be done now: the loop calls engine_turn soon. */
  void (*wake)(void *data);
  void *data;
};

bool engine_new(const struct engine_options *, struct engine **, struct error *);
/* Loads the journal into the policy. Once, before the first turn. */
bool engine_load(struct engine *, struct error *);
enum engine_phase engine_turn(struct engine *);
/* Asks the run to stop: cancels what is under way, then stops with what the policy says. */
void engine_stop(struct engine *, const char *why);
/* Valid once ENGINE_STOPPED. `error` is filled where the engine itself failed. */
const char *engine_status(const struct engine *);
const char *engine_reason(const struct engine *);
const struct error *engine_error(const struct engine *);
void engine_free(struct engine *);

#endif
