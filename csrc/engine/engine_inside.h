/* engine_inside.h: what the files engine*.c share, and nobody else includes.
 *
 * engine.c turns, asks and ends; engine_commit.c makes batches durable and writes views;
 * engine_send.c lets tasks leave and takes replies in; engine_slots.c keeps the steps
 * under way. */
#ifndef SKILLRT_ENGINE_ENGINE_INSIDE_H
#define SKILLRT_ENGINE_ENGINE_INSIDE_H

#include "engine/engine.h"

enum slot_state {
  SLOT_FREE,    /* in no queue; may be used again */
  SLOT_READY,   /* in `ready`: asked for, its intent is not durable yet */
  SLOT_DELAYED, /* backing off: its exchange is with the timer */
  SLOT_DUE,     /* in `due`: the delay is over */
  SLOT_SENT,    /* its exchange is with its transport */
  SLOT_ARRIVED, /* in `arrived`: accept is to be asked */
  SLOT_TAKEN,   /* accept is being asked */
  SLOT_GATE     /* in `gates`: waits for a person */
};

/* A step under way. Its address never changes: transports hold the exchange. */
struct slot {
  struct engine *engine;
  uint64_t step;
  enum slot_state state;
  bool answered; /* `reply` holds one; else accept gets NULL */
  struct task task;
  struct exchange exchange;
  struct transport *carrier; /* who has the exchange while DELAYED or SENT */
  struct reply reply;        /* body and extra point into the buffers below */
  struct buffer body, extra;
  struct slot *next, *previous; /* in the queue of its state, or in the free list */
};

struct slot_queue {
  struct slot *first, *last;
};

/* Steps under way by number: open addressing over slots that are used again and again. */
struct slots {
  const struct sys *sys;
  struct slot **table; /* NULL or a slot that is not free */
  size_t capacity;     /* a power of two, or 0 */
  size_t count;
  struct slot *free;
};

enum stage {
  STAGE_RUNNING,
  STAGE_ENDING, /* status and reason are known; the last batch is on its way */
  STAGE_STOPPED
};

enum sync_state { SYNC_NONE, SYNC_UNDER_WAY, SYNC_RETURNED };

struct engine {
  struct engine_options options;
  struct slots slots;
  struct slot_queue ready, due, arrived, gates;
  size_t flying; /* slots DELAYED or SENT */

  enum stage stage;
  bool turning;     /* inside engine_turn: no wake is needed, no second turn allowed */
  bool interrupted; /* a question ended with ERROR_STOPPED */
  bool canceled;    /* what was under way when stop was asked for has been canceled */
  bool told;        /* policy.stop was called */
  bool lost;        /* a reply could not be kept; `error` says why */
  bool unsaveable;  /* the policy knows more than the journal: no view may show it */
  char why[64];     /* what engine_stop said; "" if it was not called */
  int64_t deadline_ns;

  struct batch out;   /* answers not yet appended */
  struct span *spans; /* of `out`, for append */
  size_t spans_capacity;
  uint64_t *starting; /* steps of the decision being carried out */
  size_t starting_capacity;

  enum sync_state sync;
  bool sync_ok;
  struct error sync_error;

  bool stale; /* the journal moved since the views were written */
  int64_t saved_ns, save_cost_ns;
  struct exchange view_exchange; /* the timer that comes back when a view is due */
  struct task view_task;
  struct transport *view_carrier; /* NULL unless that timer runs */

  char status[16], reason[64];
  struct error error;   /* final */
  struct error trouble; /* of the question being asked */
};

/* engine_slots.c */
void slots_init(struct slots *, const struct sys *);
void slots_clear(struct slots *); /* all are free by now */
struct slot *slots_find(const struct slots *, uint64_t step);
/* A slot for `step`, which has none; NULL with `error` filled (ERROR_MEMORY, ERROR_LIMIT). */
struct slot *slots_take(struct slots *, uint64_t step, struct error *);
void slots_release(struct slots *, struct slot *); /* in no queue by now */
void slot_queue_push(struct slot_queue *, struct slot *);
void slot_queue_remove(struct slot_queue *, struct slot *);
struct slot *slot_queue_pop(struct slot_queue *);
/* The array with room for `wanted` items of size `item`, moved if need be; NULL with `error`
 * filled and the old one unchanged. */
void *array_grow(const struct sys *, void *array, size_t *capacity, size_t wanted, size_t item,
                 struct error *);

/* engine_send.c */
void engine_dispatch(struct engine *, struct slot *); /* a READY or DUE slot, off its queue */
void engine_dispatch_due(struct engine *);
void engine_requeue(struct engine *, struct slot *); /* to `arrived` */
void engine_answer(struct engine *, struct slot *, enum reply_status, const char *message);
void engine_cancel_all(struct engine *);            /* each slot comes to `arrived` */
void engine_abandon(struct engine *, bool at_once); /* each slot is freed, unheard */
void engine_wake(struct engine *);

/* engine_commit.c */
/* Appends what is in `out` and makes it durable or lets the pool do so; an empty `out` costs
 * nothing. False: the store failed, and the engine has broken off. */
bool engine_commit(struct engine *);
/* The first batch of a run: it is there, or the run could not be opened. */
bool engine_commit_first(struct engine *, struct error *);
/* Takes the answer of a sync that returned: notice, then dispatch. False: as above. */
bool engine_settle(struct engine *);
void engine_finish(struct engine *); /* the last view, then STAGE_STOPPED */
void engine_save_waiting(struct engine *);
void engine_save_breathing(struct engine *);
bool engine_save(struct engine *, struct error *);
void engine_forget_view_timer(struct engine *);

/* engine.c */
/* Ends the run from inside: `trouble` becomes its error, slots are freed, unheard. */
void engine_break(struct engine *, const char *status, const char *reason);
struct error *engine_trouble(struct engine *); /* cleared, for the next question */
/* policy.stop(why) and one choose; keeps what was appended if the answer was to stop. */
void engine_last_words(struct engine *, const char *why);

#endif
