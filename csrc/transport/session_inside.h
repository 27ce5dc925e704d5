/* session_inside.h: what session.c (the transport), session_program.c (one program),
 * session_opening.c and session_told.c share, and nobody else includes. */
#ifndef SKILLRT_TRANSPORT_SESSION_INSIDE_H
#define SKILLRT_TRANSPORT_SESSION_INSIDE_H

#include <uv.h>

#include "transport/transport.h"

enum { SESSION_NAME_MAX = 200, SESSION_CLOSE_MS = 500 };

enum program_state { PROGRAM_RUNS, PROGRAM_CLOSING, PROGRAM_GONE };

struct waiting {
  struct waiting *next;
  struct program *program;
  struct exchange *exchange; /* NULL, as `task`: of a message that was fed, its answer is dropped */
  const struct task *task;
  const char *reply_id; /* NULL: the next message is the answer */
  size_t fed_at;        /* which of those that were fed, from 1 on; 0: none */
  uint64_t deadline;    /* loop time */
  int64_t started_ns;
};

struct program {
  struct session *owner;
  struct program *next, **link; /* in the owner's list until it is gone */
  enum program_state state;
  struct task task;         /* of the process */
  struct exchange exchange; /* with the process transport */
  bool framed;
  int64_t epoch;
  struct waiting *first; /* oldest first */
  struct buffer in, out;
  struct buffer fed;       /* what another one was told, said once it is open */
  size_t feeding;          /* how many answers to that are awaited */
  bool repeats;            /* what is said meanwhile was said before */
  struct buffer held;      /* what is said once it is open and fed */
  struct buffer questions; /* what it asked when nobody took questions, in frames */
  size_t opened;           /* how much of the opening was said */
  bool is_open;
  int in_fd; /* where we write; -1: closed */
  uv_poll_t writable;
  uv_timer_t timer;
  unsigned handles;
  uint64_t close_until;
  enum reply_status verdict; /* why we ended it; REPLY_OK: we did not */
  struct error why;
};

struct session {
  struct transport base;
  const struct sys *sys;
  uv_loop_t *loop;
  struct transport *processes;
  struct program *programs;
  size_t living; /* programs not freed, and ourselves until closed */
};

/* session.c */
void session_release(struct session *);
bool session_ending(const struct transport *);
void session_settled(void *session); /* tells the owner, if nothing ends any more */

/* session_opening.c */
/* Puts into `out` what comes next of the opening; at its end the program is open, and what it is
 * fed and what was held follow. */
bool opening_go_on(struct program *, struct error *);
/* Whether a message answers what the opening asked. */
bool opening_takes(const struct program *, struct span message);
/* Whether it is a question that is kept until somebody takes it. */
bool question_keep(struct program *, struct span message);
/* Who waits and takes the oldest question that is kept. */
struct waiting **question_taker(struct program *);

/* session_heard.c */
void heard_take(struct program *); /* what it said, as far as it is whole */

/* session_program.c */
void program_answer(struct waiting **, struct reply *);
/* Ends the program; all who wait hear why. */
void program_end(struct program *, enum reply_status, const struct error *);
void program_write(struct program *); /* what is to be said leaves */
void program_arm(struct program *);   /* its alarm, for what is due next */
/* NULL with `error` filled. */
struct program *program_start(struct session *, const struct task *, struct error *);
void program_give_up(struct program *, struct exchange *, enum reply_status, const char *why);
void program_retire(struct program *); /* its input ends, and soon itself */

/* session_told.c */
/* Tells a program that begins what another one was told; answers are awaited and dropped. */
bool program_feed(struct program *, const struct task *, struct error *);
/* One of these answers has come: behind the last what was held follows. */
bool feed_go_on(struct program *, struct error *);
/* Sends a message, where it was not fed, and waits for its answer. */
bool program_ask(struct program *, struct exchange *, const struct task *, struct error *);
/* Whether its message is on its way: else it is held, and must not leave. */
bool waiting_left(const struct waiting *);

#endif
