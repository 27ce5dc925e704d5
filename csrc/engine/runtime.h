/* runtime.h: one run put together: store, engine, transports, on a loop.
 *
 * loop.h owns the only sleeper; a run joins a loop and is turned by it. Knows nothing of
 * Lua: a policy is given. Called by csrc/lua/bind_run.c and by tests. */
#ifndef SKILLRT_ENGINE_RUNTIME_H
#define SKILLRT_ENGINE_RUNTIME_H

#include "engine/engine.h"
#include "engine/loop.h"
#include "store/store.h"

struct runtime;

struct runtime_options {
  const struct sys *sys;
  struct loop *loop;           /* borrowed; may carry other runs */
  const struct policy *policy; /* borrowed; its `self` outlives the runtime */
  const char *url;             /* of the store; NULL: "memory:" */
  struct store_options store;
  const char *http_module; /* path of skillrt/http.so; NULL: HTTP tasks fail clearly */
};

/* Opens the store and loads the journal into the policy. When the policy first waits for events,
 * the runtime starts to watch the run's inbox and queues event("inbox", "") then and after each
 * change, or event("deaf", message) where the inbox cannot be watched. The report may be NULL. */
bool runtime_open(const struct runtime_options *, struct runtime **, struct store_report *,
                  struct error *);
/* Does what can be done without waiting. A run has stopped only when the programs that it canceled
 * have ended; they get SIGKILL 2 s after SIGTERM. */
enum engine_phase runtime_step(struct runtime *);
/* Turns the loop once for a caller who waits for this run, and waits for something to do. */
void runtime_turn(struct runtime *);
/* Turns the loop until this run has stopped. */
void runtime_wait(struct runtime *);
/* Safe in a signal handler and from another thread. `why` must be a string literal. */
void runtime_stop(struct runtime *, const char *why);
/* Sets the run's owner, which functions of a host get; `stopped` is called once the run has
 * stopped, from inside runtime_step, so it must not close the run. To be called before the first
 * step. */
void runtime_belongs(struct runtime *, void *user, void (*stopped)(void *user));
/* Copies an event for the policy; see engine_event. On the loop's thread only. */
bool runtime_event(struct runtime *, const char *source, struct span bytes, struct error *);
const char *runtime_status(const struct runtime *);
const char *runtime_reason(const struct runtime *);
const struct error *runtime_error(const struct runtime *);
bool runtime_stopped(const struct runtime *);
/* Whether its store still has the run after it is closed ("memory:" does not). */
bool runtime_keeps(const struct runtime *);
struct loop *runtime_loop(const struct runtime *);
struct store *runtime_store(struct runtime *);
/* Cancels what is under way (killing processes at once), closes the store; waits for a sync
 * that is under way, for nothing else. NULL is fine. */
void runtime_close(struct runtime *);

#endif
