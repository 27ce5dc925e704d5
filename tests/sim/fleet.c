/* fleet.c: see fleet.h. */
#include "sim/fleet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "sim/database.h"
#include "sim/image.h"
#include "sim/runtime.h"
#include "sim/world.h"
#include "store/postgres.h"

enum { TASKS = 4 * WORKERS, STACK = 1 << 20, PROCESS_DATA = 1 << 12, HARMED_PROCESSES = 4 };
enum { EPISODES_MAX = 400, MS = 1000000 };

/* What csrc/store/postgres*.c keeps for a process (make/tests.mk). */
extern char __start_process[], __stop_process[];

struct worker {
  unsigned number, process, episode;
  uint64_t waits, kill_at, stop_at, clock_at; /* how often it has waited; which time harms */
  int64_t stopped_ns;                         /* until then nothing of it is performed */
  int64_t stop_ns, wall_ms, clock_ms;
  int64_t drift; /* of its clock, in thousandths */
  bool claimed;
  char data[PROCESS_DATA];
};

/* A thread of a worker. */
struct thread {
  struct worker *worker; /* NULL: there is none */
  struct worker *joins;  /* who has to join it before its place is free */
  ucontext_t context;
  char *stack;
  void *(*body)(void *);
  void *argument;
  int64_t wakes_ns;  /* INT64_MAX: not by itself */
  const void *waits; /* for this mutex, condition or task */
  uint64_t order;
};

static struct worker workers[WORKERS];
static struct thread tasks[TASKS];
static struct thread *now;  /* NULL: none is performed */
static struct worker *here; /* whose memory is in place */
static ucontext_t outside;
static unsigned processes, worker_count;
static uint64_t order;
static bool over, harms;

/* ---- what is in place ---- */

static void put_in_place(struct worker *w) {
  size_t size = (size_t)(__stop_process - __start_process);
  assert(size <= PROCESS_DATA);
  if (here == w) return;
  if (here) memcpy(here->data, __start_process, size);
  memcpy(__start_process, w->data, size);
  image_use(w->number);
  here = w;
}

void fleet_become(unsigned number) {
  here = NULL;
  memset(&workers[number], 0, sizeof workers[number]);
  workers[number].number = number;
  put_in_place(&workers[number]);
}

unsigned fleet_process(void) {
  return now ? now->worker->process : 0;
}

bool fleet_lives(unsigned process) {
  for (unsigned i = 0; i < worker_count; i++)
    if (workers[i].process == process) return true;
  return process == 0;
}

bool fleet_is_over(void) {
  return over;
}

bool fleet_claimed(void) {
  return now && now->worker->claimed;
}

/* ---- clocks ---- */

int64_t fleet_boot_ns(void) {
  return world->now_ns + (here ? world->now_ns / 1000 * here->drift : 0);
}

int64_t fleet_time_of(int64_t boot_ns) {
  return here ? boot_ns / (1000 + here->drift) * 1000 : boot_ns;
}

int64_t fleet_wall_ms(void) {
  return here ? here->wall_ms : 0;
}

int fleet_clock(struct timespec *to) {
  int64_t ns = fleet_boot_ns();
  *to = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
  return 0;
}

/* ---- tasks ---- */

static void enter_task(void) {
  now->body(now->argument);
  struct thread *ended = now;
  for (size_t i = 0; i < TASKS; i++)
    if (tasks[i].waits == ended) tasks[i].wakes_ns = world->now_ns;
  ended->worker = NULL;
  setcontext(&outside);
}

static struct thread *begin(struct worker *w, void *(*body)(void *), void *argument,
                            int64_t at_ns) {
  struct thread *t = tasks;
  while (t->worker || t->joins)
    assert(++t < tasks + TASKS);
  if (!t->stack) {
    t->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(t->stack != MAP_FAILED);
  }
  t->worker = w;
  t->body = body;
  t->argument = argument;
  t->wakes_ns = at_ns;
  t->waits = NULL;
  t->order = ++order;
  getcontext(&t->context);
  t->context.uc_stack.ss_sp = t->stack;
  t->context.uc_stack.ss_size = STACK;
  t->context.uc_link = NULL;
  makecontext(&t->context, enter_task, 0);
  return t;
}

static int64_t time_of(const struct thread *t) {
  if (t->wakes_ns == INT64_MAX) return INT64_MAX;
  return t->wakes_ns > t->worker->stopped_ns ? t->wakes_ns : t->worker->stopped_ns;
}

static struct thread *next(void) {
  struct thread *best = NULL;
  for (struct thread *t = tasks; t < tasks + TASKS; t++)
    if (t->worker && time_of(t) < INT64_MAX &&
        (!best || time_of(t) < time_of(best) ||
         (time_of(t) == time_of(best) && t->order < best->order)))
      best = t;
  return best;
}

static void *work(void *data);

static uint64_t draw_harm(uint64_t below, const struct worker *w, const char *what) {
  return world_draw_for(below, "process %u %s", w->process, what);
}

static void begin_process(struct worker *w, int64_t at_ns) {
  w->process = ++processes;
  w->waits = w->kill_at = w->stop_at = w->clock_at = 0;
  w->stopped_ns = w->wall_ms = 0;
  memset(w->data, 0, sizeof w->data);
  if (here == w) memset(__start_process, 0, (size_t)(__stop_process - __start_process));
  put_in_place(w);
  sim_process();
  w->drift = harms && !world_leaves_out("drift:%u", w->process)
                 ? (int64_t)draw_harm(81, w, "drift") - 40
                 : 0;
  if (harms && w->process <= HARMED_PROCESSES && !world_leaves_out("harm:%u", w->process)) {
    uint64_t most = draw_harm(3, w, "early") ? 400 : 30;
    if (draw_harm(3, w, "kill") == 0) w->kill_at = 1 + draw_harm(most, w, "kill at");
    if (draw_harm(2, w, "stop") == 0) w->stop_at = 1 + draw_harm(most, w, "stop at");
    if (draw_harm(3, w, "clock") == 0) w->clock_at = 1 + draw_harm(most, w, "clock at");
    w->stop_ns = (int64_t)draw_harm(40000, w, "stop ms") * MS;
    w->clock_ms = (int64_t)draw_harm(200000, w, "clock ms") - 100000;
  }
  begin(w, work, w, at_ns);
}

static void kill_worker(struct worker *w) {
  world_note("process %u is killed", w->process);
  for (struct thread *t = tasks; t < tasks + TASKS; t++)
    if (t->worker == w || t->joins == w) t->worker = t->joins = NULL;
  world_episode_over(w->episode);
  begin_process(w, world->now_ns + (int64_t)world_draw(20000) * MS);
}

/* Back to fleet_run, which performs another task; unless the process is killed. */
static void give_way(void) {
  struct worker *w = now->worker;
  uint64_t n = ++w->waits;
  now->order = ++order;
  if (n == w->stop_at) {
    w->stopped_ns = world->now_ns + w->stop_ns;
    world_note("process %u is stopped for %ld ms", w->process, (long)(w->stop_ns / MS));
  }
  if (n == w->clock_at) {
    world_set_clock(&w->wall_ms, w->clock_ms);
    world_note("the clock of process %u is set by %ld ms", w->process, (long)w->clock_ms);
  }
  swapcontext(&now->context, &outside);
  now->waits = NULL;
}

void fleet_sleep(int64_t ns) {
  if (!now) {
    world->now_ns += ns > 0 ? ns : 0;
    return;
  }
  now->wakes_ns = world->now_ns + (ns > 0 ? ns : 0);
  give_way();
}

_Noreturn void fleet_give_up(void) {
  assert(world->wrong[0]);
  setcontext(&outside);
  abort();
}

/* ---- threads.h ---- */

/* The first int of a mutex: whether it is locked. */
int fleet_lock(pthread_mutex_t *mutex) {
  int *locked = (int *)(void *)mutex;
  while (*locked && now) {
    now->waits = mutex;
    now->wakes_ns = INT64_MAX;
    give_way();
  }
  *locked = 1;
  return 0;
}

static void wake_all(const void *of) {
  for (struct thread *t = tasks; t < tasks + TASKS; t++)
    if (t->worker && t->worker == here && t->waits == of) {
      t->wakes_ns = world->now_ns;
      t->waits = NULL;
    }
}

int fleet_unlock(pthread_mutex_t *mutex) {
  *(int *)(void *)mutex = 0;
  wake_all(mutex);
  return 0;
}

int fleet_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
  assert(now);
  fleet_unlock(mutex);
  now->waits = condition;
  now->wakes_ns =
      until ? fleet_time_of((int64_t)until->tv_sec * 1000000000 + until->tv_nsec) : INT64_MAX;
  give_way();
  fleet_lock(mutex);
  return 0;
}

int fleet_wake(pthread_cond_t *condition) {
  wake_all(condition);
  return 0;
}

int fleet_thread(pthread_t *to, void *(*body)(void *), void *data) {
  assert(now);
  struct thread *t = begin(now->worker, body, data, world->now_ns);
  t->joins = now->worker;
  *to = (pthread_t)(t - tasks + 1);
  return 0;
}

int fleet_join(pthread_t thread) {
  struct thread *t = &tasks[thread - 1];
  while (t->worker == here) {
    now->waits = t;
    now->wakes_ns = INT64_MAX;
    give_way();
  }
  t->joins = NULL;
  return 0;
}

pthread_t fleet_self(void) {
  return now ? (pthread_t)(now - tasks + 1) : 0;
}

int fleet_pid(void) {
  return (int)fleet_process();
}

/* ---- a worker ---- */

static bool note_claim(void *data, const char *url) {
  (void)url;
  ((struct worker *)data)->claimed = true;
  return true;
}

/* False: the process claims its runs, and got none. A person's process claims none. */
static bool claim(struct worker *w, struct claims **claims) {
  w->claimed = false;
  if (!world->begun || world_draw(2) == 0) return true;
  if (!*claims && !claims_open(world_sys(), DATABASE, "default", claims, NULL)) return false;
  return (*claims)->ops->take(*claims, 1, note_claim, w, NULL) && w->claimed;
}

static void *work(void *data) {
  struct worker *w = data;
  struct url url;
  struct lease *lease = NULL;
  struct claims *claims = NULL;
  bool keeps = world_draw_for(2, "worker %u has other runs", w->number);
  if (keeps && url_read(DATABASE, false, &url, NULL)) lease_take(world_sys(), &url, &lease, NULL);
  while (!over && !world->wrong[0]) {
    fleet_sleep((int64_t)world_draw(6000) * MS);
    if (over) break;
    if (!claim(w, &claims)) continue;
    w->episode = world->episode = ++world->episodes;
    if (w->episode > EPISODES_MAX) {
      world_wrong("the run does not end in %d episodes: %s %s %s", EPISODES_MAX, world->status,
                  world->reason, world->error);
      break;
    }
    unsigned losses = database_losses();
    bool ended = sim_episode();
    over = over || (ended && losses == database_losses()); /* else its end may be lost */
    world_episode_over(w->episode);
    if (w->claimed) claims->ops->settle(claims, DATABASE "/run", world_draw(2));
    w->claimed = false;
  }
  claims_close(&claims);
  lease_release(lease);
  return NULL;
}

void fleet_run(unsigned count, bool harmed) {
  struct store_setup setup = {.lease_ms = 3000 + (int64_t)world_draw_for(4, "lease") * 4000};
  struct buffer missing;
  struct error error = {0};
  over = false;
  harms = false;
  processes = 0;
  worker_count = count;
  fleet_become(0);
  image_restore();
  buffer_init(&missing, world_sys(), 1 << 16);
  if (!store_prepare(world_sys(), DATABASE, &setup, &missing, &error))
    world_wrong("the database cannot be prepared: %s", error.text);
  harms = harmed;
  memset(workers, 0, sizeof workers);
  for (struct thread *t = tasks; t < tasks + TASKS; t++)
    t->worker = t->joins = NULL;
  here = NULL;
  for (unsigned i = 0; i < count; i++) {
    workers[i].number = i;
    begin_process(&workers[i], world->now_ns);
  }
  while (!world->wrong[0] && (now = next())) {
    struct worker *w = now->worker;
    if (time_of(now) > world->now_ns) world->now_ns = time_of(now);
    if (w->kill_at && w->waits >= w->kill_at) {
      w->kill_at = 0;
      now = NULL;
      kill_worker(w);
      continue;
    }
    put_in_place(w);
    world->episode = w->episode;
    swapcontext(&outside, &now->context);
  }
  now = NULL;
  if (!over && !world->wrong[0]) world_wrong("all workers wait, and the run is not over");
  harms = false;
  fleet_become(0);
}
