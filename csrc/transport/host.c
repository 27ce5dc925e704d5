/* host.c: see host.h. Knows nothing of what is called and answered.
 *
 * A call has two owners: the run that waits (its exchange) and the host that has to answer. The
 * host's answers and progress are letters in the door's box, under a lock; the loop's thread
 * delivers them:
 *
 *   state      entered by                         left by
 *   asked      send                               an answer is delivered; cancel; the time is up
 *   unwanted   cancel; the time is up; close      an answer is delivered, or comes to a closed door
 */
#include "transport/host.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

struct letter {
  struct letter *next;
  struct skillrt_call *call;
  bool answer; /* else progress */
  int code;
  bool sent;
  size_t length;
  char message[256];
  char bytes[];
};

struct named_function {
  struct named_function *next;
  struct host_function function;
  char name[];
};

struct host_door {
  const struct sys *sys;
  struct named_function *functions; /* in the order of their names' arrival */
  uv_mutex_t lock;                  /* of what follows */
  struct letter *first, *last;
  void (*wake)(void *); /* NULL: closed */
  void *data;
  size_t holders; /* the loop, and each call */
};

struct host_transport {
  struct transport base;
  const struct sys *sys;
  uv_loop_t *loop;
  struct host_door *door;
  struct skillrt_call *calls;
};

struct alarm {
  uv_timer_t uv;
  const struct sys *sys;
  struct skillrt_call *call;
};

struct skillrt_call {
  struct host_door *door;
  const struct host_function *function;
  struct host_transport *owner; /* NULL: unwanted */
  struct skillrt_call *next, **link;
  struct exchange *exchange;
  struct alarm *alarm; /* NULL: there is no time limit */
  bool answered;       /* under the door's lock */
  int64_t started_ns;
  void *user;
  char *key;
  struct buffer input;
  struct letter *spare; /* room for an answer without bytes, which then needs no memory */
};

/* ---- the door ---- */

bool host_door_open(const struct sys *sys, void (*wake)(void *), void *data, struct host_door **to,
                    struct error *e) {
  struct host_door *door = sys_alloc(sys, sizeof *door);
  if (!door) return error_set(e, ERROR_MEMORY, "host: out of memory");
  int failed = uv_mutex_init(&door->lock);
  if (failed) {
    sys_free(sys, door, sizeof *door);
    return error_system(e, -failed, "host: lock");
  }
  door->sys = sys;
  door->wake = wake;
  door->data = data;
  door->holders = 1;
  *to = door;
  return true;
}

bool host_door_add(struct host_door *door, const struct host_function *function, struct error *e) {
  struct named_function **at = &door->functions;
  size_t size = function->name ? strlen(function->name) + 1 : 0;
  if (size < 2 || !function->call)
    return error_set(e, ERROR_INVALID, "a function of a host needs a name and a callback");
  for (; *at; at = &(*at)->next)
    if (strcmp((*at)->name, function->name) == 0)
      return error_set(e, ERROR_EXISTS, "%.100s: the host has such a function already",
                       function->name);
  struct named_function *new = sys_alloc(door->sys, sizeof *new + size);
  if (!new) return error_set(e, ERROR_MEMORY, "host: out of memory");
  new->function = *function;
  memcpy(new->name, function->name, size);
  new->function.name = new->name;
  *at = new;
  return true;
}

const struct host_function *host_door_find(const struct host_door *door, const char *name) {
  const struct named_function *at = door->functions;
  while (at && strcmp(at->name, name) != 0)
    at = at->next;
  return at ? &at->function : NULL;
}

const char *host_door_name(const struct host_door *door, size_t i) {
  const struct named_function *at = door->functions;
  while (at && i-- > 0)
    at = at->next;
  return at ? at->name : NULL;
}

static void letter_free(const struct sys *sys, struct letter *letter) {
  if (letter) sys_free(sys, letter, sizeof *letter + letter->length);
}

static void door_leave(struct host_door *door) {
  uv_mutex_lock(&door->lock);
  bool last = --door->holders == 0;
  uv_mutex_unlock(&door->lock);
  if (!last) return;
  for (struct named_function *next, *at = door->functions; at; at = next) {
    next = at->next;
    sys_free(door->sys, at, sizeof *at + strlen(at->name) + 1);
  }
  uv_mutex_destroy(&door->lock);
  sys_free(door->sys, door, sizeof *door);
}

static void call_free(struct skillrt_call *call) {
  struct host_door *door = call->door;
  letter_free(door->sys, call->spare);
  if (call->key) sys_free(door->sys, call->key, strlen(call->key) + 1);
  buffer_clear(&call->input);
  sys_free(door->sys, call, sizeof *call);
  door_leave(door);
}

static struct letter *take_letters(struct host_door *door) {
  uv_mutex_lock(&door->lock);
  struct letter *all = door->first;
  door->first = door->last = NULL;
  uv_mutex_unlock(&door->lock);
  return all;
}

void host_door_close(struct host_door *door) {
  if (!door) return;
  uv_mutex_lock(&door->lock);
  door->wake = NULL;
  uv_mutex_unlock(&door->lock);
  host_door_deliver(door); /* all calls were canceled before: frees their answers */
  door_leave(door);
}

/* ---- what the host says ---- */

static struct letter *letter_new(const struct sys *sys, struct skillrt_call *call,
                                 struct span bytes) {
  struct letter *letter = sys_alloc(sys, sizeof *letter + bytes.length);
  if (!letter) return NULL;
  letter->call = call;
  letter->length = bytes.length;
  if (bytes.length > 0) memcpy(letter->bytes, bytes.data, bytes.length);
  return letter;
}

/* False: the door is closed. */
static bool post(struct host_door *door, struct letter *letter) {
  uv_mutex_lock(&door->lock);
  bool open = door->wake != NULL;
  if (open) {
    if (letter->answer) letter->call->answered = true;
    *(door->last ? &door->last->next : &door->first) = letter;
    door->last = letter;
    door->wake(door->data);
  }
  uv_mutex_unlock(&door->lock);
  return open;
}

void host_call_progress(struct skillrt_call *call, struct span bytes) {
  struct letter *letter = letter_new(call->door->sys, call, bytes);
  if (letter && !post(call->door, letter)) letter_free(call->door->sys, letter);
}

void host_call_answer(struct skillrt_call *call, int code, bool sent, struct span body,
                      const char *message) {
  const struct sys *sys = call->door->sys;
  struct letter *letter = letter_new(sys, call, body);
  if (!letter) { /* the function was executed, but its outcome is unknown */
    letter = call->spare;
    call->spare = NULL;
    code = -1;
    message = "out of memory for the answer";
  }
  letter->answer = true;
  letter->code = code;
  letter->sent = sent;
  snprintf(letter->message, sizeof letter->message, "%s", message ? message : "");
  if (post(call->door, letter)) return;
  letter_free(sys, letter);
  call_free(call);
}

const char *host_call_name(const struct skillrt_call *call) {
  return call->function->name;
}

struct span host_call_input(const struct skillrt_call *call) {
  return buffer_span(&call->input);
}

const char *host_call_key(const struct skillrt_call *call) {
  return call->key ? call->key : "";
}

void *host_call_user(const struct skillrt_call *call) {
  return call->user;
}

/* ---- what the run hears ---- */

static void alarm_closed(uv_handle_t *handle) {
  struct alarm *alarm = handle->data;
  sys_free(alarm->sys, alarm, sizeof *alarm);
}

/* Cancels a call for the run; `done` may do anything. */
static void call_end(struct skillrt_call *call, struct reply *reply) {
  const struct sys *sys = call->door->sys;
  struct exchange *exchange = call->exchange;
  *call->link = call->next;
  if (call->next) call->next->link = call->link;
  call->owner = NULL;
  if (call->alarm) uv_close((uv_handle_t *)&call->alarm->uv, alarm_closed);
  call->alarm = NULL;
  reply->retry_after_ms = -1;
  reply->elapsed_ms = (sys->mono_ns(sys) - call->started_ns) / 1000000;
  exchange->handle = NULL;
  exchange->done(exchange, reply);
}

static void reply_of(const struct letter *letter, struct reply *reply) {
  struct span bytes = {letter->bytes, letter->length};
  *reply = (struct reply){.status = REPLY_OK, .sent = letter->sent, .code = letter->code};
  if (letter->code == 0)
    reply->body = bytes;
  else
    reply->extra = bytes;
  if (letter->code < 0 || !letter->sent) reply->status = REPLY_BROKEN;
  snprintf(reply->message, sizeof reply->message, "%s", letter->message);
}

void host_door_deliver(struct host_door *door) {
  for (struct letter *next, *letter = take_letters(door); letter; letter = next) {
    struct skillrt_call *call = letter->call;
    next = letter->next;
    if (call->owner && letter->answer) {
      struct reply reply;
      reply_of(letter, &reply);
      call_end(call, &reply);
    } else if (call->owner && call->exchange->progress) {
      call->exchange->progress(call->exchange, (struct span){letter->bytes, letter->length});
    }
    if (letter->answer) call_free(call);
    letter_free(door->sys, letter);
  }
}

/* ---- the transport ---- */

/* `cancel` of the host is called, unless it has answered already. */
static void give_up(struct skillrt_call *call, enum reply_status status, const char *why) {
  const struct host_function *function = call->function;
  struct reply reply = {.status = status, .sent = true};
  snprintf(reply.message, sizeof reply.message, "%.150s: %s", function->name, why);
  call_end(call, &reply);
  uv_mutex_lock(&call->door->lock);
  bool answered = call->answered;
  uv_mutex_unlock(&call->door->lock);
  if (!answered && function->cancel) function->cancel(function->data, call);
}

static void on_time(uv_timer_t *timer) {
  const struct alarm *alarm = timer->data;
  give_up(alarm->call, REPLY_TIMEOUT, "no answer in time");
}

static bool call_arm(struct skillrt_call *call, uv_loop_t *loop, int64_t ms, struct error *e) {
  if (ms <= 0) return true;
  struct alarm *alarm = sys_alloc(call->door->sys, sizeof *alarm);
  if (!alarm) return error_set(e, ERROR_MEMORY, "host: out of memory");
  alarm->sys = call->door->sys;
  alarm->call = call;
  alarm->uv.data = alarm;
  uv_update_time(loop);
  uv_timer_init(loop, &alarm->uv);
  uv_timer_start(&alarm->uv, on_time, (uint64_t)ms, 0);
  call->alarm = alarm;
  return true;
}

static bool call_fill(struct skillrt_call *call, const struct task *task, struct error *e) {
  const struct sys *sys = call->door->sys;
  struct span input = buffer_span(&task->body);
  buffer_init(&call->input, sys, input.length);
  call->spare = letter_new(sys, call, (struct span){0});
  size_t size = task->host.key ? strlen(task->host.key) + 1 : 0;
  if (size > 0 && (call->key = sys_alloc(sys, size)) != NULL)
    memcpy(call->key, task->host.key, size);
  if (!call->spare || (size > 0 && !call->key))
    return error_set(e, ERROR_MEMORY, "host: out of memory");
  return buffer_append(&call->input, input.data, input.length, e);
}

static bool host_send(struct transport *base, struct exchange *exchange, const struct task *task,
                      struct error *e) {
  struct host_transport *t = (struct host_transport *)base;
  const char *name = task->target ? task->target : "";
  const struct host_function *function = host_door_find(t->door, name);
  if (!function) return error_set(e, ERROR_MISSING, "%.100s: is not a function of this host", name);
  struct skillrt_call *call = sys_alloc(t->sys, sizeof *call);
  if (!call) return error_set(e, ERROR_MEMORY, "host: out of memory");
  call->door = t->door;
  uv_mutex_lock(&t->door->lock);
  t->door->holders++;
  uv_mutex_unlock(&t->door->lock);
  call->function = function;
  if (!call_fill(call, task, e) || !call_arm(call, t->loop, task->total_ms, e)) {
    call_free(call);
    return false;
  }
  call->user = t->base.owner.user;
  call->started_ns = t->sys->mono_ns(t->sys);
  call->exchange = exchange;
  call->owner = t;
  call->link = &t->calls;
  call->next = t->calls;
  if (call->next) call->next->link = &call->next;
  t->calls = call;
  exchange->handle = call;
  function->call(function->data, call); /* the loop delivers an answer that it gives now */
  return true;
}

static void host_cancel(struct transport *base, struct exchange *exchange, bool at_once) {
  (void)base, (void)at_once;
  struct skillrt_call *call = exchange->handle;
  if (call) give_up(call, REPLY_CANCELED, "canceled");
}

static void host_close(struct transport *base) {
  struct host_transport *t = (struct host_transport *)base;
  while (t->calls)
    give_up(t->calls, REPLY_CANCELED, "canceled");
  sys_free(t->sys, t, sizeof *t);
}

bool host_open(const struct sys *sys, struct uv_loop_s *loop, struct host_door *door,
               struct transport **to, struct error *e) {
  static const struct transport_ops ops = {host_send, host_cancel, host_close, NULL, NULL};
  if (!door) return error_set(e, ERROR_MISSING, "no host with functions runs this");
  struct host_transport *t = sys_alloc(sys, sizeof *t);
  if (!t) return error_set(e, ERROR_MEMORY, "host transport: out of memory");
  t->base.ops = &ops;
  t->sys = sys;
  t->loop = loop;
  t->door = door;
  *to = &t->base;
  return true;
}
