/* session_inside.h: what session.c (the transport), session_program.c (one program, or one who is
 * behind a URL), the ways to it, session_opening.c, session_asked.c and session_told.c share, and
 * nobody else includes. */
#ifndef SKILLRT_TRANSPORT_SESSION_INSIDE_H
#define SKILLRT_TRANSPORT_SESSION_INSIDE_H

#include <uv.h>

#include "transport/transport.h"

enum { SESSION_NAME_MAX = 200, SESSION_CLOSE_MS = 500 };

enum program_state { PROGRAM_RUNS, PROGRAM_CLOSING, PROGRAM_GONE };

struct program;

/* How messages come and go: session_pipe.c, session_url.c. */
struct way {
  bool (*open)(struct program *, const struct task *, struct error *);
  /* What is to be said leaves. */
  void (*write)(struct program *);
  /* Whether what the opening was for is done; NULL: as soon as it was said. */
  bool (*ready)(struct program *);
  /* It ends at once: program_over follows before this returns. */
  void (*end)(struct program *);
  void (*retire)(struct program *); /* the run is over */
  /* Nobody waits for the answer with this id any more, or it came; NULL: no matter. */
  void (*over)(struct program *, const char *id, bool at_once);
};
extern const struct way pipe_way, url_way;

/* A call that was answered by a question: its own answer, where that comes, or breaks off, before
 * what follows waits for it. */
struct asked {
  struct asked *next;
  char *id;
  struct buffer answer;
  bool has_answer, failed;
  enum reply_status status;
  char why[256];
};

struct waiting {
  struct waiting *next;
  struct program *program;
  struct exchange *exchange; /* NULL, as `task`: of a message that was fed, its answer is dropped */
  const struct task *task;
  const char *reply_id; /* NULL: the next message is the answer */
  bool posted;          /* url: it left */
  size_t fed_at;        /* which of those that were fed, from 1 on; 0: none */
  uint64_t deadline;    /* loop time */
  int64_t started_ns;
};

struct program {
  struct session *owner;
  struct program *next, **link; /* in the owner's list until it is gone */
  enum program_state state;
  const struct way *way;
  struct url *url;     /* of that way; else NULL */
  const char *origin;  /* url: the id of the call whose stream says what is taken now */
  struct asked *asked; /* any order */
  struct task task;    /* what the session is: its first message's */
  struct task process; /* pipe: its program, an exchange of the process transport */
  struct exchange exchange;
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
  const char *opens_with;  /* the key of the answer to it that is waited for; NULL: none */
  size_t asks_at;          /* url: where in `out` that message begins */
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
  bool forgot;   /* the last one behind a URL forgot us before it took a message */
};

/* session.c */
void session_release(struct session *);
bool session_ending(const struct transport *);
void session_settled(void *session); /* tells the owner, if nothing ends any more */

/* session_asked.c */
/* Tells the oldest, or whose `origin` it is, what is asked; its own answer is kept from then on. */
void asked_tell(struct waiting **, struct span question);
/* Whether a message answers one of these: it is kept. */
bool asked_take(struct program *, const struct message *);
/* Nothing more comes for that id. */
void asked_fail(struct program *, const char *id, const struct reply *);
bool asked_is(const struct program *, const char *id);
/* A new message: what waits for it follows a question where it answers one; else all is forgotten
 * that was kept for the id. */
void asked_begin(struct program *, const struct task *);
/* Who waits for something that has come already. */
struct waiting **asked_taker(struct program *);
void asked_give(struct waiting **);
/* Nothing with that id is waited for any more. */
void asked_over(struct program *, const char *id, bool at_once);
void asked_clear(struct program *);
/* Answers at once what is answered so; false: it is not. */
bool asked_reply(struct program *, const struct message *);

/* session_opening.c */
/* Puts into `out` what comes next of the opening; at its end the program is open, and what it is
 * fed and what was held follow. */
bool opening_go_on(struct program *, struct error *);
/* Whether a message answers what the opening asked. */
bool opening_takes(const struct program *, const struct message *);
/* Whether it is a question that is kept until somebody takes it. */
bool question_keep(struct program *, const struct message *);
bool question_takes(const struct waiting *);
/* Who waits and takes the oldest question that is kept. */
struct waiting **question_taker(struct program *);

/* session_heard.c */
void heard_take(struct program *); /* what it said, as far as it is whole */
void heard_message(struct program *, struct span);
/* The program says what it is: the message is given back by message_clear. */
void heard_read(const struct program *, struct message *, struct span);
/* The same of one that was read. */
void heard_one(struct program *, const struct message *);
/* What is told first was answered, or left: more may leave. */
void heard_go_on(struct program *, bool (*next)(struct program *, struct error *));

/* session_program.c */
void program_answer(struct waiting **, struct reply *);
/* Ends the program; all who wait hear why. */
void program_end(struct program *, enum reply_status, const struct error *);
/* It has ended: all who wait hear of it, as `end` says where nobody else does. */
void program_over(struct program *, const struct reply *end);
void program_release(struct program *); /* one of its handles is closed */

void program_arm(struct program *); /* its alarm, for what is due next */
/* NULL with `error` filled. */
struct program *program_start(struct session *, const struct task *, struct error *);
void program_give_up(struct program *, struct exchange *, enum reply_status, const char *why);
void program_retire(struct program *); /* its input ends, and soon itself */

/* session_url.c */
void url_free(struct program *);
/* What is sent along from now on. */
bool url_headers(struct program *, const struct task *, struct error *);
/* ... and that besides, as the answer to the opening says. */
bool url_lasting(struct program *, const struct strings *headers, struct error *);

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
