/* engine_inside.h: what the files engine*.c share, and no other file includes.
 *
 * engine.c turns; engine_ask.c asks the policy and ends the run; engine_commit.c makes batches
 * durable; engine_send.c lets tasks leave and takes replies in; engine_rest.c does what is due in
 * time: views, the next choice; engine_slots.c keeps what is under way, engine_notes.c what came
 * unasked. */
#ifndef SKILLRT_ENGINE_ENGINE_INSIDE_H
#define SKILLRT_ENGINE_ENGINE_INSIDE_H

#include "engine/engine.h"

/* A number's way, from the choice that names it until it is over:
 *
 *   from      when                                          to
 *   FREE      chosen to be started                          DUE
 *   FREE      chosen to be performed                        READY
 *   DUE       request filled its task                       READY
 *   READY     durable: its task was handed over             SENT
 *   READY     durable: a function; or nobody takes its task ARRIVED
 *   SENT      its reply came                                ARRIVED
 *   ARRIVED   accept is asked                               TAKEN
 *   TAKEN     over                                          OVER
 *   TAKEN     again, now                                    DUE
 *   TAKEN     again, later                                  DELAYED, or ARRIVED without a timer
 *   TAKEN     accept was interrupted                        ARRIVED
 *   DELAYED   the time has passed                           DUE
 *   OVER      the choice was made                           FREE
 *   OVER      the choice names it again                     DUE, READY
 *   DUE, READY, SENT, DELAYED, a function in ARRIVED: canceled     ARRIVED
 *   any       the run breaks off                            FREE */
enum slot_state {
  SLOT_FREE,    /* may be used again */
  SLOT_DUE,     /* in `due`: request is to be asked */
  SLOT_READY,   /* in `ready`: its intent, or its choice, is not durable yet */
  SLOT_SENT,    /* its exchange is with its transport */
  SLOT_DELAYED, /* its exchange is with the timer */
  SLOT_ARRIVED, /* in `arrived`: accept is to be asked */
  SLOT_TAKEN,   /* accept or request is being asked */
  SLOT_OVER     /* in `over`: the next choice may have not known that */
};

/* One number under way. Its address never changes: transports hold the exchange. */
struct slot {
  struct engine *engine;
  uint64_t number;
  enum slot_state state;
  bool function; /* performed by the policy: no task, no reply unless canceled */
  bool answered; /* `reply` holds one; else accept gets NULL */
  bool unwanted; /* in `unwanted`: to be canceled once the choice is durable */
  uint64_t came; /* its place among all that arrived */
  struct task task;
  struct exchange exchange;
  struct transport *carrier; /* who has the exchange while SENT or DELAYED */
  struct reply reply;        /* body and extra point into the buffers below */
  struct buffer body, extra;
  struct slot *next, *previous; /* in the queue of its state, or in the free list */
  struct slot *next_unwanted;
};

struct slot_queue {
  struct slot *first, *last;
};

/* What is under way, by number: open addressing over slots that are used again and again. */
struct slots {
  const struct sys *sys;
  struct slot **table; /* NULL or a slot that is not free */
  size_t capacity;     /* a power of two, or 0 */
  size_t count;
  struct slot *free;
  size_t free_count, kept; /* free slots, and the bytes their buffers hold */
};

/* Something that came when it could not be told: events, and bytes of running calls. */
struct note {
  struct note *next;
  uint64_t number;       /* of an event: its place among all that arrived; else of its slot */
  size_t source, length; /* of the text, with its NUL, and of the bytes behind it */
  char text[];
};

struct notes {
  const struct sys *sys;
  struct note *first, *last;
  size_t size; /* of all, in memory */
};

/* The run's way. Before ENDING it may be told to stop; from there on status and reason are known.
 *
 *   from                 when                                         to
 *   GOING                a question was interrupted                   INTERRUPTED
 *   GOING                engine_stop                                  ASKED
 *   INTERRUPTED          engine_stop, or else the next turn           ASKED
 *   ASKED                the next iteration: all is canceled          CANCELED
 *   CANCELED             accept heard of all; policy.stop is told     TOLD
 *   GOING, TOLD          choose says stop                             ENDING
 *   any but STOPPED      a question failed; the contract was broken;
 *                        interrupted while it stops already           ENDING
 *   any but STOPPED      an append, a blob or a sync failed           BLIND
 *   ENDING, BLIND        nothing is under way, all is durable         STOPPED */
enum run_state {
  RUN_GOING,
  RUN_INTERRUPTED, /* the caller may say why until the next turn */
  RUN_ASKED,       /* `why` is known; what is under way is not canceled yet */
  RUN_CANCELED,
  RUN_TOLD,   /* choose has to stop now */
  RUN_ENDING, /* the last batches are on their way */
  RUN_BLIND,  /* the same, but the policy knows more than the journal: no view may show it */
  RUN_STOPPED
};

enum sync_state {
  SYNC_NONE,
  SYNC_UNDER_WAY,
  SYNC_RETURNED,
  SYNC_FAILED,
  SYNC_NOT_APPENDED /* a batch with blobs could not be written */
};

/* Times of the monotonic clock, in ns. */
#define NOW 0
#define NEVER INT64_MAX

struct engine {
  struct engine_options options;
  struct slots slots;
  struct slot_queue due, ready, arrived, over;
  struct slot *unwanted;
  size_t flying;              /* slots SENT or DELAYED */
  struct notes events, shown; /* shown: bytes of running calls */
  uint64_t came;              /* events and replies until now */
  bool missed;                /* messages since could not be kept, and the policy is told so */
  bool ticked;
  bool load_due; /* the last choice asked for it */

  enum run_state state;
  enum sync_state sync;
  bool turning; /* inside engine_turn: no wake is needed, no second turn allowed */
  char why[64]; /* what engine_stop said */
  int64_t deadline_ns;
  int64_t choose_ns; /* when choose is to be asked: NOW where something came, NEVER */

  struct batch out; /* answers not yet appended */
  struct error sync_error;
  bool written; /* the batch whose sync that is was appended */

  uint64_t saved_seq; /* which the views show; NO_VIEW */
  int64_t saved_ns, save_cost_ns;

  struct exchange alarm; /* the timer that comes back for a view or a choice */
  struct task alarm_task;
  struct transport *alarm_carrier; /* NULL unless that timer runs */
  int64_t alarm_ns;

  struct header header; /* of its batches: how it ends, once that is decided */
  char reason[64];
  struct error error;   /* final */
  struct error trouble; /* of the question being asked */
};

#define NO_VIEW UINT64_MAX

/* engine_slots.c */
void slots_init(struct slots *, const struct sys *);
void slots_clear(struct slots *); /* all are free by now */
struct slot *slots_find(const struct slots *, uint64_t number);
/* A slot for `number`, which has none; NULL with `error` filled (ERROR_MEMORY, ERROR_LIMIT). */
struct slot *slots_take(struct slots *, uint64_t number, struct error *);
void slots_release(struct slots *, struct slot *); /* in no queue by now */
void slot_queue_push(struct slot_queue *, struct slot *);
void slot_queue_remove(struct slot_queue *, struct slot *);
struct slot *slot_queue_pop(struct slot_queue *);

/* engine_notes.c */
void notes_init(struct notes *, const struct sys *);
void notes_clear(struct notes *);
/* Keeps a copy. False with `error` filled where `maximum` bytes would be passed, or no memory. */
bool notes_push(struct notes *, size_t maximum, uint64_t number, const char *source,
                struct span bytes, struct error *);
struct note *notes_pop(struct notes *);           /* NULL: none */
void notes_return(struct notes *, struct note *); /* to the front */
void notes_free(const struct notes *, struct note *);
struct span note_bytes(const struct note *);

/* engine.c */
/* What a number under way says, as an event; one that is awaited whatever else waits. */
void engine_message(struct engine *, uint64_t number, struct span message, bool awaited);

/* engine_send.c */
void engine_dispatch(struct engine *); /* the batch is durable: cancel, perform, send */
void engine_delay(struct engine *, struct slot *, int64_t ms);
void engine_requeue(struct engine *, struct slot *); /* to `arrived` */
void engine_answer(struct engine *, struct slot *, enum reply_status, const char *message);
void engine_cancel(struct engine *, struct slot *); /* comes to `arrived`, unless it is over */
void engine_cancel_all(struct engine *);
void engine_abandon(struct engine *, bool at_once); /* each slot is freed, unheard */
void engine_wake(struct engine *);

/* engine_ask.c */
/* What arrived, events, the choice, requests. False: it cannot go on; before ENDING the run was
 * interrupted, and what was answered so far belongs to the next batch. */
bool engine_ask(struct engine *);
/* Ends the run from inside: `trouble` becomes its error, slots are freed, unheard. */
void engine_break(struct engine *, enum run_state, const char *status, const char *reason);
/* The same for want of memory or by the engine's own fault; the policy has the last word. */
bool engine_give_up(struct engine *);
struct error *engine_trouble(struct engine *); /* cleared, for the next question */
/* policy.stop(why) and one choose; keeps what was appended if the answer was to stop. */
void engine_last_words(struct engine *, const char *why);
bool engine_stopping(const struct engine *); /* nothing new leaves any more */

/* engine_commit.c */
/* Appends what is in `out` and makes it durable or lets the pool do so; an empty `out` costs
 * nothing. False: the store failed, and the engine has broken off. */
bool engine_commit(struct engine *);
/* The first batch of a run: it is there, or the run could not be opened. */
bool engine_commit_first(struct engine *, struct error *);
/* Takes the answer of a sync that returned: notice, then dispatch. False: as above. */
bool engine_settle(struct engine *);
void engine_store_failed(struct engine *); /* `trouble` says how */

/* engine_rest.c */
void engine_finish(struct engine *); /* the last view, then STOPPED */
/* Nothing is to be done now: saves a view that is due, sets the timer for what comes next. READY
 * where something is due already. */
enum engine_phase engine_rest(struct engine *);
void engine_breathe(struct engine *); /* in a run that never rests */
bool engine_save(struct engine *, struct error *);
void engine_wait_ms(struct engine *, int64_t ms); /* sets choose_ns; -1: NEVER */
bool engine_choice_due(const struct engine *);
void engine_forget_alarm(struct engine *);

#endif
