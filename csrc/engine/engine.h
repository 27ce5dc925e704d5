/* engine.h: one iteration of a run.
 *
 * Knows policy.h, transport.h and store.h; neither Lua nor curl nor JSON nor files. One iteration:
 * take in a sync that returned (then the policy is told, functions are performed, tasks leave, what
 * was given up is canceled), ask about what arrived, about events, for the choice; write one batch
 * and make it durable (inline when nothing else is in flight, else on the loop's pool). Never
 * writes batch b+1 before the sync of batch b returned; nothing runs ahead of the disk. A turn is
 * some iterations, until there is nothing to do or 10 ms have gone by.
 *
 * How a run ends, besides what the policy chooses:
 *   paused  store_failed   an append, or a value it names, could not be written; the policy's last
 *                          words are in the journal
 *   failed  store_lost     the store says that the run is not its own any more: nothing is written
 *   failed  sync_failed    a sync failed: nothing is written or reported after it
 *   paused  out_of_memory  the engine's own allocation failed, or a question for want of memory
 *   failed  script_error   a question failed otherwise
 *   failed  internal       the policy broke its contract (it waits for nothing ...)
 *
 * Views are saved when a new run was loaded, when a run stopped, and in between when it is
 * about to wait: at most every 50 ms and for at most a twentieth of the time (a timer comes
 * back for a view that was not due); a run that never waits saves every second. A view that
 * fails does not stop a run; if the last one fails, engine_error says so. */
#ifndef SKILLRT_ENGINE_ENGINE_H
#define SKILLRT_ENGINE_ENGINE_H

#include "engine/policy.h"

struct engine;

enum engine_phase {
  ENGINE_READY,   /* there is something to do now: call engine_turn */
  ENGINE_WAITING, /* for a reply, an event, a timer or a sync */
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
  /* The policy said that events may come: who can bring some begins to look. May be NULL. */
  void (*listen)(void *data);
  void *data;
};

bool engine_new(const struct engine_options *, struct engine **, struct error *);
/* Loads the journal into the policy. Once, before the first turn. */
bool engine_load(struct engine *, struct error *);
enum engine_phase engine_turn(struct engine *);
/* Asks the run to stop: cancels what is under way, then stops with what the policy says. */
void engine_stop(struct engine *, const char *why);
/* Hands a copy to the policy's event with the next turn. False: ERROR_LIMIT where 4 MiB wait
 * already, ERROR_STOPPED where the run is ending, ERROR_MEMORY; then nobody will hear of it. */
typedef bool engine_hears(struct engine *, const char *source, struct span bytes, struct error *);
engine_hears engine_event;
/* The same for what is short, seldom and must be heard: 64 KiB more are kept for it. */
engine_hears engine_notice;
/* The policy's tick comes with the next turn. */
void engine_tick(struct engine *);
/* Valid once ENGINE_STOPPED. `error` is filled where the engine itself failed. */
const char *engine_status(const struct engine *);
const char *engine_reason(const struct engine *);
const struct error *engine_error(const struct engine *);
void engine_free(struct engine *);

#endif
