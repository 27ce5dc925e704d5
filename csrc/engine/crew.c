/* crew.c: hands work to libuv's threads, in as many shares as there are threads.
 *
 * Must not know what the work is. Called by loop.c, which has the crew, and runtime.c. */
#include "engine/crew.h"

#include <assert.h>
#include <uv.h>

enum { HANDS = 4 }; /* as many threads as libuv has, unless told otherwise */

/* The states of a chore:
 *
 *   from    when                                      to
 *   IDLE    crew_do                                   WAITS
 *   WAITS   a thread is free for it                   TAKEN
 *   TAKEN   the loop heard that it was done           IDLE
 *   TAKEN   its run is closed                         ORPHAN, freed once the loop heard of it */
enum chore_state { CHORE_IDLE, CHORE_WAITS, CHORE_TAKEN, CHORE_ORPHAN };

struct chore {
  struct chore *next;
  const struct sys *sys;
  enum chore_state state;
  uv_sem_t done;
  void (*work)(void *), (*after)(void *);
  void *argument;
};

/* A share of the work, on a thread. */
struct hand {
  uv_work_t uv;
  struct crew *crew;
  struct chore *first; /* NULL: the hand is free */
};

struct crew {
  const struct sys *sys;
  uv_loop_t *loop;
  struct hand hands[HANDS];
  struct chore *first, **last; /* what waits, oldest first */
  size_t waiting;
};

bool crew_new(const struct sys *sys, struct uv_loop_s *loop, struct crew **to, struct error *e) {
  struct crew *c = sys_alloc(sys, sizeof *c);
  if (!c) return error_set(e, ERROR_MEMORY, "loop: no memory");
  c->sys = sys;
  c->loop = loop;
  c->last = &c->first;
  for (int i = 0; i < HANDS; i++) {
    c->hands[i].crew = c;
    c->hands[i].uv.data = &c->hands[i];
  }
  *to = c;
  return true;
}

void crew_free(struct crew *c) {
  if (c) sys_free(c->sys, c, sizeof *c);
}

bool chore_new(const struct sys *sys, struct chore **to, struct error *e) {
  struct chore *chore = sys_alloc(sys, sizeof *chore);
  if (!chore) return error_set(e, ERROR_MEMORY, "run: no memory");
  chore->sys = sys;
  int failed = uv_sem_init(&chore->done, 0);
  if (failed) {
    sys_free(sys, chore, sizeof *chore);
    return error_system(e, -failed, "run: semaphore");
  }
  *to = chore;
  return true;
}

static void chore_free(struct chore *chore) {
  uv_sem_destroy(&chore->done);
  sys_free(chore->sys, chore, sizeof *chore);
}

static void work(uv_work_t *uv) {
  const struct hand *hand = uv->data;
  for (struct chore *chore = hand->first; chore;) {
    struct chore *next = chore->next; /* once it is done, its run may be closed */
    chore->work(chore->argument);
    uv_sem_post(&chore->done);
    chore = next;
  }
}

static void worked(uv_work_t *uv, int status);

/* Gives a free hand its share of what waits. */
static void hand_out(struct crew *c) {
  for (int i = 0; i < HANDS && c->first; i++) {
    struct hand *hand = &c->hands[i];
    if (hand->first) continue;
    size_t share = (c->waiting + HANDS - 1) / HANDS;
    struct chore **end = &c->first;
    hand->first = c->first;
    for (c->waiting -= share; share > 0; share--) {
      (*end)->state = CHORE_TAKEN;
      end = &(*end)->next;
    }
    c->first = *end;
    *end = NULL;
    if (!c->first) c->last = &c->first;
    int failed = uv_queue_work(c->loop, &hand->uv, work, worked);
    assert(!failed && "crew: work without a function");
    (void)failed;
  }
}

static void worked(uv_work_t *uv, int status) {
  (void)status; /* it is never canceled */
  struct hand *hand = uv->data;
  struct chore *chore = hand->first;
  hand->first = NULL;
  while (chore) {
    struct chore *next = chore->next;
    bool orphan = chore->state == CHORE_ORPHAN;
    if (!orphan) uv_sem_wait(&chore->done); /* posted already */
    chore->state = CHORE_IDLE;
    if (orphan)
      chore_free(chore);
    else
      chore->after(chore->argument);
    chore = next;
  }
  hand_out(hand->crew);
}

void crew_do(struct crew *c, struct chore *chore, void (*task)(void *), void (*after)(void *),
             void *argument) {
  assert(chore->state == CHORE_IDLE);
  chore->work = task;
  chore->after = after;
  chore->argument = argument;
  chore->state = CHORE_WAITS;
  chore->next = NULL;
  *c->last = chore;
  c->last = &chore->next;
  c->waiting++;
  hand_out(c);
}

/* Takes a chore that waits back. */
static void take_back(struct crew *c, const struct chore *chore) {
  struct chore **at = &c->first;
  while (*at != chore)
    at = &(*at)->next;
  *at = chore->next;
  if (!*at) c->last = at;
  c->waiting--;
}

void crew_leave(struct crew *c, struct chore *chore) {
  if (!chore) return;
  enum chore_state state = chore->state;
  if (state == CHORE_WAITS) {
    take_back(c, chore);
    chore->work(chore->argument);
  } else if (state == CHORE_TAKEN) {
    uv_sem_wait(&chore->done); /* what it works on is closed next */
    chore->state = CHORE_ORPHAN;
  }
  if (state != CHORE_IDLE) chore->after(chore->argument);
  if (state != CHORE_TAKEN) chore_free(chore);
}
