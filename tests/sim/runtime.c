/* runtime.c: one run in the simulated world: what csrc/engine/runtime.c and loop.c are to a real
 * one.
 *
 * The same store, engine and policy; but there is one heap of what will happen, and to wait is to
 * go to the earliest of it. No libuv, no thread, no real clock. A task of any kind goes to one
 * transport, which asks the world (world.h) what becomes of it. Linked in the place of the real
 * ones. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/runtime.h"
#include "sim/fleet.h"
#include "sim/image.h"
#include "sim/runtime.h"
#include "sim/world.h"
#include "transport/host.h"

enum { EVENTS = 32, EVENTS_OF_EPISODE = 200000, MS = 1000000 };

/* Something that will happen: a reply, or the end of a sync. */
struct event {
  int64_t at_ns;
  uint64_t order;
  struct exchange *exchange; /* NULL: of the run */
  void (*happens)(struct runtime *, struct event *);
  enum fate fate;
  enum task_kind kind;
  char label[LABEL_MAX];
  struct exchange *program; /* of a session: the one that was told */
};

struct loop {
  int unused;
};

struct runtime {
  const struct sys *sys;
  struct store *store;
  struct engine *engine;
  struct transport transport; /* of all kinds */
  struct event *events;
  size_t count, room;
  uint64_t order;
  void (*work)(void *), (*after)(void *);
  void *argument;
  unsigned ending; /* programs that were told to end and ignore it, until they are killed */
  bool woken, stopped, keeps, stepping;
  bool listens;
  char url[256];
  const char *why;
};

static struct runtime *of_image[IMAGES]; /* one at a time in each */
#define running (of_image[image_now()])

/* ---- time ---- */

static void later(struct runtime *r, int64_t after_ns, struct event event) {
  if (r->count == r->room) {
    size_t room = r->room ? 2 * r->room : EVENTS;
    r->events = image_alloc(r->events, r->room * sizeof event, room * sizeof event);
    r->room = room;
  }
  event.at_ns = world->now_ns + after_ns;
  event.order = ++r->order;
  r->events[r->count++] = event;
}

static bool take_earliest(struct runtime *r, struct event *to) {
  if (r->count == 0) return false;
  size_t best = 0;
  for (size_t i = 1; i < r->count; i++)
    if (r->events[i].at_ns < r->events[best].at_ns ||
        (r->events[i].at_ns == r->events[best].at_ns && r->events[i].order < r->events[best].order))
      best = i;
  *to = r->events[best];
  r->events[best] = r->events[--r->count];
  return true;
}

/* ---- the transport of all kinds ---- */

static void done(struct exchange *exchange, const struct reply *reply) {
  exchange->handle = NULL;
  exchange->done(exchange, reply);
}

static void time_passed(struct runtime *r, struct event *event) {
  (void)r;
  struct reply reply = {.status = REPLY_OK, .sent = true, .retry_after_ms = -1};
  done(event->exchange, &reply);
}

static void program_replies(struct event *event, struct reply *reply) {
  switch (event->fate) {
  case FATE_REFUSES:
    reply->status = REPLY_BROKEN;
    reply->sent = false;
    snprintf(reply->message, sizeof reply->message,
             "act: cannot be started: Resource temporarily unavailable");
    break;
  case FATE_FAILS:
    reply->code = 1;
    break;
  case FATE_LOST:
    reply->status = REPLY_KILLED;
    reply->code = 9;
    break;
  default:
    break;
  }
}

static void server_replies(struct event *event, struct reply *reply) {
  reply->code = 200;
  switch (event->fate) {
  case FATE_REFUSES:
    if (event->order % 2) {
      reply->code = 503;
      reply->retry_after_ms = 1000;
    } else {
      reply->status = REPLY_BROKEN;
      reply->sent = false;
      snprintf(reply->message, sizeof reply->message, "act.test: connection refused");
    }
    break;
  case FATE_FAILS:
    reply->code = event->order % 2 ? 500 : 400;
    break;
  case FATE_LOST:
    reply->status = REPLY_BROKEN;
    snprintf(reply->message, sizeof reply->message, "act.test: connection reset");
    break;
  default:
    break;
  }
}

/* What a program was told is over, unanswered. */
static void forget_told(struct runtime *r, const struct exchange *program, const char *label) {
  for (size_t i = r->count; i-- > 0;) {
    struct event *event = &r->events[i];
    if (event->program != program || (label && strcmp(event->label, label) != 0)) continue;
    world_over(event->label);
    *event = r->events[--r->count];
  }
}

/* A program one talks to lives until the run stops, or it dies of a message. */
static void program_answers(struct runtime *r, struct event *event) {
  char text[3 * LABEL_MAX];
  static const char rubbish[] = "\xff\x01{\"error\": [[";
  struct exchange *program = event->program;
  world_over(event->label);
  if (event->fate == FATE_LOST || event->fate == FATE_REFUSES) {
    struct reply reply = {.status = REPLY_KILLED, .sent = true, .code = 9, .retry_after_ms = -1};
    snprintf(reply.message, sizeof reply.message, "talker: killed by signal 9 (SIGKILL)");
    world_note("%s kills its program", event->label);
    world->deaths++;
    forget_told(r, program, NULL);
    done(program, &reply);
    return;
  }
  snprintf(text, sizeof text, "{\"id\":\"%s\",\"%s\":\"did %s\"}", event->label,
           event->fate == FATE_FAILS ? "error" : "result", event->label);
  world_note("answer to %s", event->label);
  program->progress(program, event->fate == FATE_RUBBISH
                                 ? (struct span){rubbish, sizeof rubbish - 1}
                                 : (struct span){text, strlen(text)});
}

/* "do" is to be done, and answered; "stop" is not waited for any more. */
static bool sim_write(struct transport *t, struct exchange *program, struct span message,
                      struct error *error) {
  struct runtime *r = running;
  struct event event = {.program = program, .happens = program_answers};
  char what[8];
  (void)t, (void)error;
  if (sscanf(message.data, "{\"id\":\"%63[^\"]\",\"method\":\"%7[a-z]", event.label, what) != 2)
    abort();
  if (strcmp(what, "stop") == 0) {
    forget_told(r, program, event.label);
    return true;
  }
  event.fate = world_sent(event.label, "", strncmp(event.label, "idem", 4) == 0);
  if (event.fate == FATE_SILENT) /* nothing is under way: who waits gives up by itself */
    world_over(event.label);
  else
    later(r, (int64_t)world_draw(world_one_in(8) ? 3000 : 30) * MS + 1000, event);
  return true;
}

static void reply_arrives(struct runtime *r, struct event *event) {
  (void)r;
  char body[3 * LABEL_MAX];
  static const char rubbish[] = "\xff\x00{\"error\": [[";
  snprintf(body, sizeof body, "did %s", event->label);
  struct reply reply = {.status = REPLY_OK,
                        .sent = true,
                        .retry_after_ms = -1,
                        .elapsed_ms = 1,
                        .body = {body, strlen(body)}};
  if (event->fate == FATE_REFUSES || event->fate == FATE_LOST) reply.body = (struct span){"", 0};
  if (event->fate == FATE_RUBBISH) reply.body = (struct span){rubbish, sizeof rubbish - 1};
  if (event->fate == FATE_SILENT) {
    reply.status = REPLY_TIMEOUT;
    reply.body = (struct span){"", 0};
    snprintf(reply.message, sizeof reply.message, "act: no answer in time");
  } else if (event->kind == TASK_HTTP)
    server_replies(event, &reply);
  else
    program_replies(event, &reply);
  world_note("reply to %s: %d %d", event->label, (int)reply.status, reply.code);
  world_over(event->label);
  done(event->exchange, &reply);
}

/* What a task calls itself, and the key that goes along. */
static void names_of(const struct task *task, char label[LABEL_MAX], char key[LABEL_MAX]) {
  static const struct strings none;
  const struct strings *args = task->kind == TASK_PROCESS ? &task->process.args : &none;
  const char *text = args->count > 1 ? args->items[1] : task->target;
  key[0] = 0;
  const char *slash = task->kind == TASK_HTTP && text ? strrchr(text, '/') : NULL;
  snprintf(label, LABEL_MAX, "%s", slash ? slash + 1 : text ? text : "");
  const struct strings *list = task->kind == TASK_HTTP      ? &task->http.headers
                               : task->kind == TASK_PROCESS ? &task->process.env
                                                            : &none;
  for (size_t i = 0; i < list->count; i++) {
    const char *line = list->items[i], *at = strpbrk(line, ":=");
    if (at &&
        (strncasecmp(line, "idempotency-key", 15) == 0 || strncmp(line, "SKILLRT_KEY", 11) == 0))
      snprintf(key, LABEL_MAX, "%s", at + 1 + strspn(at + 1, " "));
  }
}

static bool sim_send(struct transport *t, struct exchange *exchange, const struct task *task,
                     struct error *error) {
  struct runtime *r = running;
  (void)t, (void)error;
  exchange->handle = r;
  if (task->kind == TASK_SESSION) return true;
  if (task->kind == TASK_TIMER) {
    later(r, task->timer.delay_ms * MS,
          (struct event){.exchange = exchange, .happens = time_passed});
    return true;
  }
  struct event event = {.exchange = exchange, .happens = reply_arrives, .kind = task->kind};
  char key[LABEL_MAX];
  names_of(task, event.label, key);
  event.fate = world_sent(event.label, key, strncmp(event.label, "idem", 4) == 0);
  int64_t silence = task->total_ms ? task->total_ms : 600000;
  int64_t delay = event.fate == FATE_SILENT ? silence * MS
                                            : (int64_t)world_draw(world_one_in(8) ? 3000 : 30) * MS;
  if (event.fate == FATE_SILENT && task->idle_ms && task->idle_ms < silence)
    delay = task->idle_ms * MS;
  if (delay > silence * MS) delay = silence * MS - 1000; /* what answers at all answers in time */
  later(r, delay + 1000, event);
  return true;
}

/* It was told to end two seconds ago. */
static void is_killed(struct runtime *r, struct event *event) {
  (void)event;
  r->ending--;
  r->woken = true;
}

static void sim_cancel(struct transport *t, struct exchange *exchange, bool at_once) {
  struct runtime *r = running;
  (void)t;
  forget_told(r, exchange, NULL);
  for (size_t i = 0; i < r->count; i++)
    if (r->events[i].exchange == exchange) {
      world_note("canceled %s", r->events[i].label[0] ? r->events[i].label : "a timer");
      bool ignores = r->events[i].kind == TASK_PROCESS && r->events[i].label[0] && !at_once &&
                     world_draw_for(3, "ignores TERM %s", r->events[i].label) == 0;
      world_over(r->events[i].label);
      r->events[i] = r->events[--r->count];
      if (ignores) {
        r->ending++;
        later(r, (int64_t)2000 * MS, (struct event){.happens = is_killed});
      }
      break;
    }
  struct reply reply = {.status = REPLY_CANCELED, .sent = true, .retry_after_ms = -1};
  done(exchange, &reply);
}

static void sim_close(struct transport *t) {
  (void)t;
}

static bool sim_ending(const struct transport *t) {
  (void)t;
  return running->ending > 0;
}

static const struct transport_ops sim_ops = {.send = sim_send,
                                             .cancel = sim_cancel,
                                             .close = sim_close,
                                             .ending = sim_ending,
                                             .write = sim_write};

/* ---- what the engine asks for ---- */

static struct transport *give_transport(void *data, enum task_kind kind, struct error *error) {
  struct runtime *r = data;
  (void)kind, (void)error;
  return &r->transport;
}

static void synced(struct runtime *r, struct event *event) {
  (void)event;
  void (*after)(void *) = r->after;
  r->work(r->argument);
  r->after = NULL;
  after(r->argument);
}

static bool offload(void *data, void (*work)(void *), void (*after)(void *), void *argument) {
  struct runtime *r = data;
  assert(!r->after);
  r->work = work;
  r->after = after;
  r->argument = argument;
  later(r, (int64_t)world_draw(world_one_in(10) ? 2000 : 5) * MS,
        (struct event){.happens = synced});
  return true;
}

static bool busy(void *data) {
  (void)data;
  return world_one_in(2);
}

static void wake(void *data) {
  ((struct runtime *)data)->woken = true;
}

static void listen_to(void *data) {
  struct runtime *r = data;
  struct error ignored;
  if (r->listens) return;
  r->listens = true;
  engine_event(r->engine, "inbox", (struct span){"", 0}, &ignored);
}

/* ---- a run's life ---- */

static bool put_together(struct runtime *r, const struct runtime_options *o,
                         struct store_report *report, struct error *error) {
  r->keeps = o->url != NULL;
  if (!store_open(r->sys, o->url ? o->url : "memory:", &o->store, &r->store, report, error))
    return false;
  struct engine_options options = {.sys = r->sys,
                                   .store = r->store,
                                   .policy = o->policy,
                                   .transport = give_transport,
                                   .offload = offload,
                                   .busy = busy,
                                   .wake = wake,
                                   .listen = listen_to,
                                   .data = r};
  return engine_new(&options, &r->engine, error) && engine_load(r->engine, error);
}

bool runtime_open(const struct runtime_options *o, struct runtime **to, struct store_report *report,
                  struct error *error) {
  struct store_report unread;
  struct runtime *r = image_alloc(NULL, 0, sizeof *r);
  assert(!running);
  memset(r, 0, sizeof *r);
  running = r;
  r->sys = o->sys;
  snprintf(r->url, sizeof r->url, "%s", o->url ? o->url : "");
  r->transport.ops = &sim_ops;
  if (!put_together(r, o, report ? report : &unread, error)) {
    runtime_close(r);
    return false;
  }
  r->woken = true;
  *to = r;
  return true;
}

enum engine_phase runtime_step(struct runtime *r) {
  if (r->why) engine_stop(r->engine, r->why);
  r->why = NULL;
  if (r->stepping) return ENGINE_WAITING;
  r->stepping = true;
  r->woken = false;
  enum engine_phase phase = engine_turn(r->engine);
  r->stepping = false;
  if (phase == ENGINE_STOPPED && r->ending > 0) phase = ENGINE_WAITING;
  r->stopped = phase == ENGINE_STOPPED;
  r->woken = r->woken || phase == ENGINE_READY;
  return phase;
}

/* Another process wants the run while this one has it. */
static void another_opens(struct runtime *r) {
  struct store_options options = {.mode = STORE_RESUME};
  struct store *store = NULL;
  struct error error = {0};
  if (!r->url[0]) return;
  if (store_open(r->sys, r->url, &options, &store, NULL, &error)) {
    world_wrong("another process opened the run while this one has it");
    store_close(&store);
  } else {
    world_note("another process is refused: %d", (int)error.code); /* the words name our pid */
    if (error.code != ERROR_BUSY && error.code != ERROR_SYSTEM)
      world_wrong("another process was refused as if nobody had the run: %s", error.text);
  }
}

void runtime_turn(struct runtime *r) {
  struct event event;
  uint64_t n = ++world->events;
  if (world->harm.stop_at == n) {
    world_note("asked to stop");
    runtime_stop(r, "user_exit");
  }
  if (world->harm.clock_at == n) {
    world_note("the clock is set by %ld ms", (long)world->harm.clock_ms);
    world_set_clock(&world->wall_ms, world->wall_ms + world->harm.clock_ms);
  }
  if (world->harm.second_at == n) another_opens(r);
  if (world->harm.people_at == n && sim_people()) {
    struct error ignored;
    if (r->listens) engine_event(r->engine, "inbox", (struct span){"", 0}, &ignored);
  }
  if (n > EVENTS_OF_EPISODE) {
    world_wrong("the run does not end: %lu events", (unsigned long)n);
    world_die(DIES_STUCK);
  }
  if (r->woken || r->why) {
    runtime_step(r);
  } else if (take_earliest(r, &event)) {
    if (event.at_ns > world->now_ns) fleet_sleep(event.at_ns - world->now_ns);
    event.happens(r, &event);
  } else {
    world_wrong("the run waits, and nothing will happen");
    world_die(DIES_STUCK);
  }
}

void runtime_wait(struct runtime *r) {
  runtime_step(r);
  while (!r->stopped)
    runtime_turn(r);
}

void runtime_stop(struct runtime *r, const char *why) {
  r->why = why;
}

void runtime_belongs(struct runtime *r, void *user, void (*stopped)(void *user)) {
  (void)r, (void)user, (void)stopped;
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
  (void)r;
  return NULL;
}

struct store *runtime_store(struct runtime *r) {
  return r->store;
}

void runtime_close(struct runtime *r) {
  if (!r) return;
  if (r->after) synced(r, NULL);
  engine_free(r->engine);
  store_close(&r->store);
  running = NULL;
  image_alloc(r->events, r->room * sizeof *r->events, 0);
  image_alloc(r, sizeof *r, 0);
}

void runtime_forget(void) {
  running = NULL;
}

/* ---- the loop: there is none, and whoever asks for libuv's is not simulated ---- */

bool loop_open(const struct sys *sys, struct loop **to, struct error *error) {
  static struct loop the_one;
  (void)sys, (void)error;
  *to = &the_one;
  return true;
}
void loop_close(struct loop *l) {
  (void)l;
}
int loop_fd(const struct loop *l) {
  (void)l;
  return -1;
}
int loop_timeout_ms(const struct loop *l) {
  (void)l;
  return 0;
}
void loop_turn(struct loop *l, bool wait) {
  (void)l, (void)wait;
}
void loop_turn_for(struct loop *l, struct loop_member *m, bool wait) {
  (void)l, (void)m, (void)wait;
}
bool loop_wait(struct loop *l, struct loop_watch *watches, size_t count, int64_t ms) {
  (void)l, (void)watches, (void)count, (void)ms;
  return false;
}
bool loop_reader_gone(int fd) {
  (void)fd;
  return false;
}
void loop_wake(struct loop *l) {
  (void)l;
}
struct uv_loop_s *loop_uv(struct loop *l) {
  (void)l;
  abort();
}
struct host_door *loop_open_door(struct loop *l, struct error *error) {
  (void)l;
  error_set(error, ERROR_MISSING, "the simulated world has no host");
  return NULL;
}
struct host_door *loop_door(const struct loop *l) {
  (void)l;
  return NULL;
}
void loop_offload(struct loop *l, bool always) {
  (void)l, (void)always;
}
void loop_join(struct loop *l, struct loop_member *m, void (*turn)(struct loop_member *)) {
  (void)l, (void)m, (void)turn;
}
void loop_attend(struct loop *l, struct loop_member *m, void (*turn)(struct loop_member *)) {
  (void)l, (void)m, (void)turn;
}
void loop_leave(struct loop_member *m) {
  (void)m;
}
void loop_ready(struct loop_member *m) {
  (void)m;
}
void loop_signal(struct loop_member *m) {
  (void)m;
}
size_t loop_members(const struct loop *l) {
  (void)l;
  return 1;
}
bool loop_is_shared(const struct loop *l) {
  (void)l;
  return false;
}
struct transports *loop_transports(struct loop *l) {
  (void)l;
  return NULL;
}
