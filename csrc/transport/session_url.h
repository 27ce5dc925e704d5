/* session_url.h: what session_url.c (a session behind a URL) and session_stream.c (its requests)
 * share, and nobody else includes. */
#ifndef SKILLRT_TRANSPORT_SESSION_URL_H
#define SKILLRT_TRANSPORT_SESSION_URL_H

#include "transport/session_inside.h"

enum stream_kind {
  STREAM_CALL,   /* a message that is answered */
  STREAM_NOTE,   /* one that is not */
  STREAM_LISTEN, /* the standing request for what is said unasked */
  STREAM_LAST    /* the session is given up */
};

struct stream {
  struct stream *next, **link;
  struct program *program;
  enum stream_kind kind;
  struct task task;
  struct exchange exchange;
  uv_timer_t timer; /* it is taken up again; or what is left has its time */
  char *id; /* call: whose answer it brings; note: of the call that goes on with it; or NULL */
  struct buffer event_id; /* of the last event */
  unsigned again;         /* how often it was taken up since it said something */
  uint64_t began;
  bool is_over, closed;
};

struct url {
  struct transport *http;
  struct stream *streams;
  uv_timer_t turn;        /* what is to be said leaves, never from inside send */
  char *session;          /* what it gave in the header `keeps`; NULL: nothing */
  struct strings lasting; /* headers that the answer to the opening asked for */
  bool listens;           /* was asked for what is said unasked */
  bool hears;             /* ... and it was answered, once */
  bool unheard;           /* ... and it wanted other headers */
  bool ready;             /* ... or not in time: calls may leave */
  bool accepted;          /* a message behind the opening */
  bool forgotten;         /* by the server: nothing more is sent */
  bool retires;           /* the run is over */
  bool stopped;
};

/* session_stream.c */
/* Sends a request: `id` as in the stream, copied. */
bool stream_send(struct program *, enum stream_kind, struct span message, const char *id,
                 struct error *);
/* Takes it out of all and cancels it. */
void stream_close(struct stream *);
void stream_leave(struct stream *); /* in a moment, where it does not end itself */
/* The value of a header in the lines of a reply. */
struct span stream_header(struct span lines, const char *name);

/* session_url.c: what comes of them */
void url_listening(
    struct program *);            /* the standing request was answered, or will not be in time */
void url_noted(struct program *); /* a message was taken; or, as the run is over, not */
/* The server does not know the session any more. */
void url_forgotten(struct program *);
/* Who waits for the answer with this id is told; nobody does: the opening failed, or it is kept. */
void url_failed(struct program *, const char *id, const struct reply *);
void url_session(struct program *, struct span id);
void url_end(struct program *);

#endif
