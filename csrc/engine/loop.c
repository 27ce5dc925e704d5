/* loop.c: waits for the system, then turns the runs that asked for a turn.
 *
 * A run that asks for none costs nothing, so ten thousand may wait. Knows nothing of what a member
 * does. Called by runtime.c, hosts and tests. */
#include "engine/loop.h"

#include <assert.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <uv.h>

#include "engine/crew.h"
#include "engine/transports.h"
#include "transport/host.h"

enum { NESTED_MAX = 50 };

struct loop {
  const struct sys *sys;
  uv_loop_t *uv;
  uv_async_t *wake;
  struct transports *transports;
  struct crew *crew;
  struct host_door *door; /* NULL: no host has functions */
  size_t members;
  struct loop_member *first, *last; /* ready, oldest first */
  size_t ready;
  uint64_t turns;  /* of members, ever */
  unsigned nested; /* loop_turns under way */
  bool inside;     /* in uv_run */
  bool offload;
  _Atomic(struct loop_member *) signaled;
};

/* The signal ends the poll; beyond that, results of a host's functions are delivered. */
static void woken(uv_async_t *async) {
  const struct loop *l = async->data;
  if (l->door) host_door_deliver(l->door);
}

static bool loop_fill(struct loop *l, struct error *error) {
  l->uv = sys_alloc(l->sys, sizeof *l->uv);
  l->wake = sys_alloc(l->sys, sizeof *l->wake);
  if (!l->uv || !l->wake || !transports_new(l->sys, l->uv, &l->transports, NULL) ||
      !crew_new(l->sys, l->uv, &l->crew, NULL))
    return error_set(error, ERROR_MEMORY, "loop: no memory");
  l->wake->data = l;
  int held[3];
  sys_hold_standard(held); /* libuv never closes those: it asserts that it has none */
  int failed = uv_loop_init(l->uv);
  bool begun = !failed;
  if (begun) failed = uv_async_init(l->uv, l->wake, woken);
  if (begun && failed) uv_loop_close(l->uv);
  sys_release_standard(held);
  return failed ? error_system(error, -failed, "loop") : true;
}

static void loop_free(struct loop *l) {
  if (l->transports) transports_free(l->transports);
  crew_free(l->crew);
  if (l->uv) sys_free(l->sys, l->uv, sizeof *l->uv);
  if (l->wake) sys_free(l->sys, l->wake, sizeof *l->wake);
  sys_free(l->sys, l, sizeof *l);
}

bool loop_open(const struct sys *sys, struct loop **to, struct error *error) {
  struct loop *l = sys_alloc(sys, sizeof *l);
  if (!l) return error_set(error, ERROR_MEMORY, "loop: no memory");
  l->sys = sys;
  if (!loop_fill(l, error)) {
    loop_free(l);
    return false;
  }
  *to = l;
  return true;
}

void loop_close(struct loop *l) {
  if (!l) return;
  assert(l->members == 0 && "loop: a run is still open");
  transports_close(l->transports);
  host_door_close(l->door);
  l->door = NULL;
  uv_close((uv_handle_t *)l->wake, NULL);
  uv_run(l->uv, UV_RUN_DEFAULT); /* until every handle is closed */
  int failed = uv_loop_close(l->uv);
  assert(!failed && "loop: a handle was left open");
  (void)failed;
  loop_free(l);
}

int loop_fd(const struct loop *l) {
  return uv_backend_fd(l->uv);
}

int loop_timeout_ms(const struct loop *l) {
  if (l->ready > 0 || atomic_load(&l->signaled)) return 0;
  uv_update_time(l->uv); /* a timeout counts from now, not from the last poll */
  return uv_backend_timeout(l->uv);
}

static void take_signaled(struct loop *l) {
  struct loop_member *m = atomic_exchange(&l->signaled, NULL);
  while (m) {
    struct loop_member *next = m->next_signaled;
    atomic_store(&m->signaled, false); /* from here on it may be signaled again */
    loop_ready(m);
    m = next;
  }
}

static void unready(struct loop *l, struct loop_member *m) {
  if (m->previous)
    m->previous->next = m->next;
  else
    l->first = m->next;
  if (m->next)
    m->next->previous = m->previous;
  else
    l->last = m->previous;
  m->next = m->previous = NULL;
  m->ready = false;
  l->ready--;
}

static void turn_one(struct loop *l, struct loop_member *m) {
  unready(l, m);
  l->turns++;
  m->turn(m);
}

/* Turns each ready member once; a member that asks again meanwhile has to wait for the next call. A
 * member may turn the loop itself or leave it, so the list stays valid after each turn. */
static void turn_all(struct loop *l) {
  for (size_t count = l->ready; count > 0 && l->first; count--)
    turn_one(l, l->first);
}

/* Handles what the system reports; may sleep until it reports something. */
static void look(struct loop *l, bool sleeps) {
  l->inside = true;
  uv_run(l->uv, sleeps ? UV_RUN_ONCE : UV_RUN_NOWAIT);
  l->inside = false;
  take_signaled(l);
}

void loop_turn_for(struct loop *l, struct loop_member *only, bool wait) {
  bool all = !only || l->nested < NESTED_MAX;
  uint64_t before = l->turns;
  l->nested++;
  take_signaled(l);
  look(l, wait && (all ? l->ready == 0 : !only->ready));
  if (all)
    turn_all(l);
  else if (only->ready)
    turn_one(l, only);
  /* libuv registers a new descriptor only with its next poll, and a host may sleep on loop_fd
   * before that. So poll once more where a member was turned. */
  if (!wait && l->turns != before) look(l, false);
  l->nested--;
}

void loop_turn(struct loop *l, bool wait) {
  loop_turn_for(l, NULL, wait);
}

static int shorter(int64_t ms, int other_ms) {
  if (ms < 0 || ms > INT_MAX) return other_ms;
  return other_ms < 0 || ms < other_ms ? (int)ms : other_ms;
}

bool loop_wait(struct loop *l, struct loop_watch *watches, size_t count, int64_t ms) {
  struct pollfd ready[LOOP_WATCHES_MAX + 1];
  bool turns = l->nested == 0;
  uint64_t before = l->turns;
  assert(count <= LOOP_WATCHES_MAX);
  if (turns) loop_turn(l, false); /* registers new descriptors with the system */
  if (l->turns != before) ms = 0;
  ready[count] = (struct pollfd){.fd = turns ? loop_fd(l) : -1, .events = POLLIN};
  for (size_t i = 0; i < count; i++)
    ready[i] = (struct pollfd){.fd = watches[i].fd, .events = POLLIN};
  if (poll(ready, (nfds_t)count + 1, shorter(ms, turns ? loop_timeout_ms(l) : -1)) < 0)
    return false;
  for (size_t i = 0; i < count; i++)
    watches[i].ready = ready[i].revents != 0;
  if (turns) loop_turn(l, false);
  return true;
}

bool loop_reader_gone(int fd) {
  struct pollfd out = {.fd = fd, .events = POLLOUT};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

void loop_wake(struct loop *l) {
  uv_async_send(l->wake);
}

static void wake_up(void *data) {
  loop_wake(data);
}

struct host_door *loop_open_door(struct loop *l, struct error *error) {
  return l->door || host_door_open(l->sys, wake_up, l, &l->door, error) ? l->door : NULL;
}

struct host_door *loop_door(const struct loop *l) {
  return l->door;
}

struct uv_loop_s *loop_uv(struct loop *l) {
  return l->uv;
}

void loop_attend(struct loop *l, struct loop_member *m, void (*turn)(struct loop_member *)) {
  *m = (struct loop_member){.turn = turn};
  atomic_store(&m->loop, l);
}

void loop_join(struct loop *l, struct loop_member *m, void (*turn)(struct loop_member *)) {
  loop_attend(l, m, turn);
  m->counts = true;
  l->members++;
}

void loop_leave(struct loop_member *m) {
  struct loop *l = atomic_exchange(&m->loop, NULL); /* from now on loop_signal does nothing */
  if (!l) return;
  take_signaled(l); /* removes a signal that came before from the list */
  if (m->ready) unready(l, m);
  if (m->counts) l->members--;
}

void loop_ready(struct loop_member *m) {
  struct loop *l = atomic_load(&m->loop);
  if (!l || m->ready) return;
  m->ready = true;
  m->next = NULL;
  m->previous = l->last;
  if (l->last)
    l->last->next = m;
  else
    l->first = m;
  l->last = m;
  l->ready++;
  if (l->inside)
    uv_stop(l->uv); /* libuv runs timers before it polls; the poll must not sleep now */
}

/* Lock-free: a signal handler may interrupt take_signaled at any place. */
void loop_signal(struct loop_member *m) {
  struct loop *l = atomic_load(&m->loop);
  if (!l || atomic_exchange(&m->signaled, true)) return;
  m->next_signaled = atomic_load(&l->signaled);
  while (!atomic_compare_exchange_weak(&l->signaled, &m->next_signaled, m))
    ;
  uv_async_send(l->wake);
}

size_t loop_members(const struct loop *l) {
  return l->members;
}

void loop_offload(struct loop *l, bool always) {
  l->offload = always;
}

bool loop_is_shared(const struct loop *l) {
  return l->offload || l->members > 1;
}

struct crew *loop_crew(const struct loop *l) {
  return l->crew;
}

struct transports *loop_transports(struct loop *l) {
  return l->transports;
}
