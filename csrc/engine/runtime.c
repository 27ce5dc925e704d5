/* runtime.c: puts one run together: its store, its engine, its programs, the loop's transports.
 *
 * Decides nothing; opens and closes in the right order, and hands a slow sync to the crew.
 * Knows nothing of Lua. Called by csrc/lua/bind_run.c, hosts and tests. */
#include "engine/runtime.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <uv.h>

#include "engine/crew.h"
#include "engine/transports.h"

/* The timer of a policy's tick. Outlives its run until libuv has closed it. */
struct ticker {
  uv_timer_t uv;
  const struct sys *sys;
  struct engine *engine;
};

struct runtime {
  struct loop_member member; /* first: the loop's callback finds the run by it */
  const struct sys *sys;
  struct loop *loop;
  struct store *store;
  struct engine *engine;
  struct chore *chore;         /* a slow sync */
  struct ticker *ticker;       /* NULL: the policy has no tick */
  struct transports *programs; /* the run has stopped once these have ended */
  char *http_module;
  bool listening; /* listening was tried, successfully or not */
  bool stepping;  /* a function of the run turns the loop */
  bool stopped, keeps;
  void *user; /* its owner, which is called when it has stopped */
  void (*told)(void *user);
  _Atomic(const char *) why; /* stop was asked for */
};

/* ---- what the engine asks for ---- */

static struct transport *give_transport(void *data, enum task_kind kind, struct error *error) {
  struct runtime *r = data;
  bool shared = kind == TASK_HTTP || kind == TASK_TIMER;
  struct transports *from = shared ? loop_transports(r->loop) : r->programs;
  return transports_get(from, kind, r->http_module, error);
}

static struct transport *give_http(void *data, struct error *error) {
  return give_transport(data, TASK_HTTP, error);
}

static bool offload(void *data, void (*work)(void *), void (*after)(void *), void *argument) {
  struct runtime *r = data;
  crew_do(loop_crew(r->loop), r->chore, work, after, argument);
  return true;
}

static bool busy(void *data) {
  const struct runtime *r = data;
  return loop_is_shared(r->loop);
}

static void wake(void *data) {
  struct runtime *r = data;
  loop_ready(&r->member);
}

/* Queues an event even where many wait. A run that is ending ignores it. */
static void arrived(struct runtime *r, const char *source, struct span bytes) {
  struct error ignored;
  if (r->engine) engine_notice(r->engine, source, bytes, &ignored);
}

static void inbox_changed(void *data) {
  arrived(data, "inbox", (struct span){"", 0});
}

/* Starts to watch the inbox, and reports it once, for messages that came before. */
static void begin_to_listen(void *data) {
  struct runtime *r = data;
  struct error error = {0};
  if (r->listening || !r->store->ops->listen) return;
  r->listening = true;
  if (r->store->ops->listen(r->store, loop_uv(r->loop), inbox_changed, r, &error))
    inbox_changed(r);
  else
    arrived(r, "deaf", (struct span){error.text, strlen(error.text)});
}

static void ticked(uv_timer_t *uv) {
  const struct ticker *ticker = uv->data;
  engine_tick(ticker->engine);
}

static void ticker_closed(uv_handle_t *uv) {
  struct ticker *ticker = uv->data;
  sys_free(ticker->sys, ticker, sizeof *ticker);
}

static bool ticker_new(struct runtime *r, struct error *error) {
  struct ticker *ticker = sys_alloc(r->sys, sizeof *ticker);
  if (!ticker) return error_set(error, ERROR_MEMORY, "run: no memory");
  ticker->sys = r->sys;
  ticker->engine = r->engine;
  ticker->uv.data = ticker;
  uv_timer_init(loop_uv(r->loop), &ticker->uv);
  uv_timer_start(&ticker->uv, ticked, TICK_MS, TICK_MS);
  r->ticker = ticker;
  return true;
}

/* ---- a run's life ---- */

static void turned(struct loop_member *member) {
  runtime_step((struct runtime *)member);
}

/* A policy that refuses to resume (the run has finished, a file changed) has still read the
 * journal: where the views are older, because their writer died, they are saved. */
static bool load(struct runtime *r, const struct policy *policy, struct error *error) {
  struct error ignored = {0};
  if (engine_load(r->engine, error)) return true;
  bool refused =
      error->code == ERROR_INVALID || error->code == ERROR_CHANGED || error->code == ERROR_MISSING;
  if (refused && r->store->report.view_stale)
    policy->save(policy->self, r->store->report.payload, r->store, &ignored);
  return false;
}

static bool copy_text(struct runtime *r, const char *text, char **to) {
  if (!text) return true;
  *to = sys_alloc(r->sys, strlen(text) + 1);
  if (*to) strcpy(*to, text);
  return *to != NULL;
}

static void free_text(struct runtime *r, char *text) {
  if (text) sys_free(r->sys, text, strlen(text) + 1);
}

static bool put_together(struct runtime *r, const struct runtime_options *o,
                         struct store_report *report, struct error *error) {
  if (!chore_new(r->sys, &r->chore, error)) return false;
  if (!transports_new(r->sys, loop_uv(r->loop), &r->programs, error)) return false;
  runtime_belongs(r, NULL, NULL);
  if (!copy_text(r, o->http_module, &r->http_module))
    return error_set(error, ERROR_MEMORY, "run: no memory");
  const char *url = o->url ? o->url : "memory:";
  r->keeps = o->url != NULL;
  if (!store_open(r->sys, url, &o->store, &r->store, report, error)) return false;
  struct engine_options options = {.sys = r->sys,
                                   .store = r->store,
                                   .policy = o->policy,
                                   .transport = give_transport,
                                   .offload = offload,
                                   .busy = busy,
                                   .wake = wake,
                                   .listen = begin_to_listen,
                                   .data = r};
  return engine_new(&options, &r->engine, error) && load(r, o->policy, error) &&
         (!o->policy->tick || ticker_new(r, error));
}

bool runtime_open(const struct runtime_options *o, struct runtime **to, struct store_report *report,
                  struct error *error) {
  struct runtime *r = sys_alloc(o->sys, sizeof *r);
  if (!r) return error_set(error, ERROR_MEMORY, "run: no memory");
  struct store_report unread;
  r->sys = o->sys;
  r->loop = o->loop;
  loop_join(r->loop, &r->member, turned);
  if (!put_together(r, o, report ? report : &unread, error)) {
    runtime_close(r);
    return false;
  }
  loop_ready(&r->member);
  *to = r;
  return true;
}

enum engine_phase runtime_step(struct runtime *r) {
  const char *why = atomic_exchange(&r->why, NULL);
  if (why) engine_stop(r->engine, why);
  if (r->stepping) return ENGINE_WAITING;
  r->stepping = true;
  enum engine_phase phase = engine_turn(r->engine);
  if (phase == ENGINE_STOPPED && transports_ending(r->programs)) phase = ENGINE_WAITING;
  r->stepping = false;
  bool now = phase == ENGINE_STOPPED && !r->stopped;
  r->stopped = phase == ENGINE_STOPPED;
  if (now && r->told) r->told(r->user);
  if (r->stopped)
    loop_leave(&r->member);
  else if (phase == ENGINE_READY)
    loop_ready(&r->member);
  return phase;
}

void runtime_turn(struct runtime *r) {
  loop_turn_for(r->loop, &r->member, true);
}

void runtime_wait(struct runtime *r) {
  runtime_step(r);
  while (!r->stopped)
    runtime_turn(r);
}

void runtime_stop(struct runtime *r, const char *why) {
  atomic_store(&r->why, why);
  loop_signal(&r->member);
}

void runtime_belongs(struct runtime *r, void *user, void (*stopped)(void *user)) {
  r->user = user;
  r->told = stopped;
  transports_tell(
      r->programs,
      &(struct transport_owner){
          .data = r, .settled = wake, .user = user, .door = loop_door(r->loop), .http = give_http});
}

bool runtime_event(struct runtime *r, const char *source, struct span bytes, struct error *error) {
  return engine_event(r->engine, source, bytes, error);
}

const char *runtime_status(const struct runtime *r) {
  return engine_status(r->engine);
}

const char *runtime_reason(const struct runtime *r) {
  return engine_reason(r->engine);
}

const struct error *runtime_error(const struct runtime *r) {
  return engine_error(r->engine);
}

bool runtime_stopped(const struct runtime *r) {
  return r->stopped;
}

bool runtime_keeps(const struct runtime *r) {
  return r->keeps;
}

struct loop *runtime_loop(const struct runtime *r) {
  return r->loop;
}

struct store *runtime_store(struct runtime *r) {
  return r->store;
}

void runtime_close(struct runtime *r) {
  if (!r) return;
  if (r->ticker) uv_close((uv_handle_t *)&r->ticker->uv, ticker_closed);
  crew_leave(loop_crew(r->loop), r->chore);
  engine_free(r->engine);
  r->engine = NULL;
  if (r->programs) {
    transports_close(r->programs);
    transports_free(r->programs);
  }
  store_close(&r->store);
  loop_leave(&r->member);
  free_text(r, r->http_module);
  sys_free(r->sys, r, sizeof *r);
}
