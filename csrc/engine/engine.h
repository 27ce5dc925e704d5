/* engine.h: one iteration of a run.
 *
 * Knows policy.h, transport.h and store.h; neither Lua nor curl nor JSON nor files. One iteration
 * does this, in this order:
 *   1. If a sync has returned: the engine notifies the policy, cancels the calls that the policy
 *      gave up, performs functions and sends tasks.
 *   2. It asks the policy about each reply (accept) and event, and then what to do next (choose).
 *   3. It appends one batch to the store and syncs it: inline when nothing else is in flight, else
 *      on the loop's pool.
 * It never appends batch b+1 before the sync of batch b returned. A turn is a number of iterations,
 * until there is nothing to do or 10 ms have passed.
 *
 * How a run ends, besides what the policy chooses:
 *   paused  store_failed   an append, or a blob that it refers to, could not be written; the
 *                          records that the policy appended in `stop` are in the journal
 *   failed  store_lost     the store says that another process owns the run: nothing is written
 *   failed  sync_failed    a sync failed: nothing is written or reported after it
 *   paused  out_of_memory  the engine or the policy could not allocate memory
 *   failed  script_error   a question failed for another reason
 *   failed  internal       the policy broke its contract (it waits for nothing ...)
 *
 * The engine saves the views after it loaded a new run and when the run stops. In between it saves
 * them before the run waits, at most every 50 ms and for at most a twentieth of the time (a timer
 * saves a view that was not due then); in a run that never waits it saves them every second. A
 * run continues when a view cannot be written; if the last one fails, engine_error says so. */
#ifndef SKILLRT_ENGINE_ENGINE_H
#define SKILLRT_ENGINE_ENGINE_H

#include "engine/policy.h"

struct engine;

enum engine_phase {
  ENGINE_READY,   /* there is something to do now: call engine_turn */
  ENGINE_WAITING, /* waits for a reply, an event, a timer or a sync */
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
  /* Whether another run of this process has something in flight, which a slow sync would delay. */
  bool (*busy)(void *data);
  /* The engine has something to do: the loop has to call engine_turn soon. */
  void (*wake)(void *data);
  /* The policy waits for events: the owner starts to watch the sources of events. May be NULL. */
  void (*listen)(void *data);
  void *data;
};

bool engine_new(const struct engine_options *, struct engine **, struct error *);
/* Loads the journal into the policy. Once, before the first turn. */
bool engine_load(struct engine *, struct error *);
enum engine_phase engine_turn(struct engine *);
/* Asks the run to stop: the engine cancels all calls, then stops with the policy's status. */
void engine_stop(struct engine *, const char *why);
/* Copies an event, which the policy gets with the next turn. False, and the event is dropped:
 * ERROR_LIMIT where 4 MiB of events wait, ERROR_STOPPED where the run is ending, ERROR_MEMORY. */
typedef bool engine_hears(struct engine *, const char *source, struct span bytes, struct error *);
engine_hears engine_event;
/* The same for short, rare events that must not be dropped: 64 KiB more are reserved for them. */
engine_hears engine_notice;
/* The engine calls the policy's tick with the next turn. */
void engine_tick(struct engine *);
/* Valid once ENGINE_STOPPED. `error` is filled where the engine itself failed. */
const char *engine_status(const struct engine *);
const char *engine_reason(const struct engine *);
const struct error *engine_error(const struct engine *);
void engine_free(struct engine *);

#endif
