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

/* Opens the store and loads the journal into the policy. From when that first waits for events its
 * inbox is listened to: event("inbox", ""), and once at the beginning; event("deaf", message) where
 * it cannot be. The report may be NULL. */
bool runtime_open(const struct runtime_options *, struct runtime **, struct store_report *,
                  struct error *);
/* Does what can be done without waiting. A run has stopped when the programs it canceled are gone,
 * too: they have 2 s from SIGTERM to SIGKILL. */
enum engine_phase runtime_step(struct runtime *);
/* Turns the loop once for a caller who waits for this run, and waits for something to do. */
void runtime_turn(struct runtime *);
/* Turns the loop until this run has stopped. */
void runtime_wait(struct runtime *);
/* Safe in a signal handler and from another thread. `why` must be a string literal. */
void runtime_stop(struct runtime *, const char *why);
/* Whose it is, for the functions of a host that it calls; `stopped` is told once it has, from
 * inside of a step: it closes nothing. Before the first step. */
void runtime_belongs(struct runtime *, void *user, void (*stopped)(void *user));
/* Something arrived that answers no request: copied, for the policy's event; see
 * engine_event. On the loop's thread. */
bool runtime_event(struct runtime *, const char *source, struct span bytes, struct error *);
const char *runtime_status(const struct runtime *);
const char *runtime_reason(const struct runtime *);
const struct error *runtime_error(const struct runtime *);
bool runtime_stopped(const struct runtime *);
/* Whether its store keeps what it knows when it is closed. */
bool runtime_keeps(const struct runtime *);
struct loop *runtime_loop(const struct runtime *);
struct store *runtime_store(struct runtime *);
/* Cancels what is under way (killing processes at once), closes the store; waits for a sync
 * that is under way, for nothing else. NULL is fine. */
void runtime_close(struct runtime *);

#endif
