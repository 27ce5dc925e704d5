/* engine_inside.h: what the files engine*.c share, and no other file includes.
 *
 * engine.c turns a run; engine_ask.c asks the policy and ends the run; engine_commit.c makes
 * batches durable; engine_send.c sends tasks and receives replies; engine_rest.c saves views and
 * asks for the next choice when they are due; engine_slots.c holds the calls and functions under
 * way, engine_notes.c the events that wait for the policy. */
#ifndef SKILLRT_ENGINE_ENGINE_INSIDE_H
#define SKILLRT_ENGINE_ENGINE_INSIDE_H

#include "engine/engine.h"

/* The states of a slot: a call or function with its number, from the choice that names it to its
 * end:
 *
 *   from      when                                          to
 *   FREE      chosen to be started                          DUE
 *   FREE      chosen to be performed                        READY
 *   DUE       request filled its task                       READY
 *   READY     durable: its task was handed over             SENT
 *   READY     durable: a function; or no transport takes it ARRIVED
 *   SENT      its reply came                                ARRIVED
 *   ARRIVED   accept is asked                               TAKEN
 *   TAKEN     accept says VERDICT_OVER                      OVER
 *   TAKEN     VERDICT_AGAIN, at once                        DUE
 *   TAKEN     VERDICT_AGAIN, after a time                   DELAYED, or ARRIVED without a timer
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
  SLOT_OVER     /* in `over` until the next choice, which may still name it as under way */
};

/* One call or function under way. Its address never changes: transports point to its exchange. */
struct slot {
  struct engine *engine;
  uint64_t number;
  enum slot_state state;
  bool function; /* performed by the policy: no task, no reply unless canceled */
  bool answered; /* `reply` holds one; else accept gets NULL */
  bool unwanted; /* in `unwanted`: to be canceled once the choice is durable */
  uint64_t came; /* its position in the order in which replies and events arrived */
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

/* Calls and functions under way, by number: a hash table with open addressing; slots are reused. */
struct slots {
  const struct sys *sys;
  struct slot **table; /* NULL or a slot that is not free */
  size_t capacity;     /* a power of two, or 0 */
  size_t count;
  struct slot *free;
  size_t free_count, kept; /* free slots, and the bytes their buffers hold */
};

/* An event, or progress of a running call, that waits until the policy can be asked. */
struct note {
  struct note *next;
  uint64_t
      number; /* of an event: its position as in slot.came; of progress: the number of its slot */
  size_t source, length; /* of the text, with its NUL, and of the bytes behind it */
  char text[];
};

struct notes {
  const struct sys *sys;
  struct note *first, *last;
  size_t size; /* of all, in memory */
};

/* The states of a run. Before ENDING engine_stop is possible; from then on status and reason are
 * set.
 *
 *   from                 when                                         to
 *   GOING                a question was interrupted                   INTERRUPTED
 *   GOING                engine_stop                                  ASKED
 *   INTERRUPTED          engine_stop, or else the next turn           ASKED
 *   ASKED                the next iteration: all is canceled          CANCELED
 *   CANCELED             accept got every reply; policy.stop is asked TOLD
 *   GOING, TOLD          choose says stop                             ENDING
 *   any but STOPPED      a question failed; the policy broke its contract;
 *                        an interrupt while the run already stops     ENDING
 *   any but STOPPED      an append, a blob or a sync failed           BLIND
 *   ENDING, BLIND        nothing is under way, all is durable         STOPPED */
enum run_state {
  RUN_GOING,
  RUN_INTERRUPTED, /* until the next turn the caller may give a reason (engine_stop) */
  RUN_ASKED,       /* `why` is known; what is under way is not canceled yet */
  RUN_CANCELED,
  RUN_TOLD,   /* choose has to stop now */
  RUN_ENDING, /* the last batches are on their way */
  RUN_BLIND,  /* as ENDING, but the policy knows more than the journal, so views are not saved */
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
  bool missed; /* there was no room for messages of sessions; the policy gets the event "missed" */
  bool ticked;
  bool load_due; /* the last choice asked for another load */

  enum run_state state;
  enum sync_state sync;
  bool turning; /* inside engine_turn: no wake is needed, no second turn allowed */
  char why[64]; /* what engine_stop said */
  int64_t deadline_ns;
  int64_t choose_ns; /* when choose is to be asked: NOW where something came, NEVER */

  struct batch out; /* answers not yet appended */
  struct error sync_error;
  bool written; /* whether the append of that batch succeeded */

  uint64_t saved_seq; /* the seq that the views show, or NO_VIEW */
  int64_t saved_ns, save_cost_ns;

  struct exchange alarm; /* the timer for the next view or choice */
  struct task alarm_task;
  struct transport *alarm_carrier; /* NULL unless that timer runs */
  int64_t alarm_ns;

  struct header header; /* for the store's batches: how the run ends, once that is decided */
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
void slots_release(struct slots *, struct slot *); /* it has to be in no queue */
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
/* Queues a message of a call under way as an event; an awaited one is queued even where others have
 * filled the room. */
void engine_message(struct engine *, uint64_t number, struct span message, bool awaited);

/* engine_send.c */
void engine_dispatch(struct engine *); /* the batch is durable: cancel, perform, send */
void engine_delay(struct engine *, struct slot *, int64_t ms);
void engine_requeue(struct engine *, struct slot *); /* to `arrived` */
void engine_answer(struct engine *, struct slot *, enum reply_status, const char *message);
void engine_cancel(struct engine *, struct slot *); /* moves an unfinished one to `arrived` */
void engine_cancel_all(struct engine *);
void engine_abandon(struct engine *, bool at_once); /* frees each slot; accept is not asked */
void engine_wake(struct engine *);

/* engine_ask.c */
/* Asks accept, event, choose and request. False: the run cannot continue. If its state is before
 * ENDING, it was interrupted, and the records appended so far belong to the next batch. */
bool engine_ask(struct engine *);
/* The engine ends the run: `trouble` becomes its error; frees the slots without asking accept. */
void engine_break(struct engine *, enum run_state, const char *status, const char *reason);
/* The same where memory is short or a contract is broken; then the policy may append records. */
bool engine_give_up(struct engine *);
struct error *engine_trouble(struct engine *); /* cleared, for the next question */
/* policy.stop(why) and one choose; keeps what was appended if the answer was to stop. */
void engine_last_words(struct engine *, const char *why);
bool engine_stopping(const struct engine *); /* no task is sent any more */

/* engine_commit.c */
/* Appends the records in `out` and syncs them, here or on the pool; does nothing where `out` is
 * empty. Where the store fails, the engine ends the run. */
void engine_commit(struct engine *);
/* Commits the first batch of a run. False: the run could not be opened. */
bool engine_commit_first(struct engine *, struct error *);
/* Handles a sync that returned: notifies the policy, then dispatches. False: the store failed, and
 * the engine has ended the run. */
bool engine_settle(struct engine *);
void engine_store_failed(struct engine *); /* `trouble` says what failed */

/* engine_rest.c */
void engine_finish(struct engine *); /* the last view, then STOPPED */
/* Called where there is nothing to do: saves a view that is due, and sets the timer for the next
 * view or choice. READY where one of them is due already. */
enum engine_phase engine_rest(struct engine *);
void engine_breathe(struct engine *); /* the same in a run that never waits */
bool engine_save(struct engine *, struct error *);
void engine_wait_ms(struct engine *, int64_t ms); /* sets choose_ns; -1: NEVER */
bool engine_choice_due(const struct engine *);
void engine_forget_alarm(struct engine *);

#endif
