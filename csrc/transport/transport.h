/* transport.h: how a request leaves and how its reply returns.
 *
 * The engine hands a task to the transport of its kind and goes on; the transport calls
 * `done` exactly once per accepted exchange, later, from the loop (never from inside
 * send). Transports know nothing of calls, policies or journals. */
#ifndef SKILLRT_TRANSPORT_TRANSPORT_H
#define SKILLRT_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/sys.h"

struct host_door;
struct uv_loop_s;

enum task_kind {
  TASK_PROCESS, /* a program, by argv */
  TASK_HTTP,    /* an HTTP request */
  TASK_SESSION, /* a message to a program or a URL one talks to, and its answer */
  TASK_HOST,    /* a call to a function of the program that embeds us */
  TASK_TIMER,   /* nothing but time: replies REPLY_OK after delay_ms */
  TASK_KINDS
};

/* A list of NUL-terminated strings, itself NULL-terminated. */
struct strings {
  char **items;
  size_t count;
};

struct process_task {
  struct strings args; /* argv */
  struct strings env;  /* "NAME=value", all of them */
  char *cwd;           /* NULL = the caller's */
  char *noise;         /* a line of output with this text breaks no silence */
  int input;           /* a descriptor instead of the task's body, taken over; 0: none */
};

struct http_task {
  char *method;           /* NULL = POST */
  char *ca_file;          /* trust this CA bundle; NULL = the system's */
  char *addresses;        /* which may be connected to (http_address.h); NULL = all */
  char *reply_id;         /* an event stream is over with the event that has it */
  struct strings headers; /* "Name: value" */
  struct strings joins;   /* fields of events whose texts are joined (sse_join.h) */
  int64_t connect_ms;     /* until connected (default 10 s) */
  size_t max_redirects;   /* 0 = redirects are errors */
};

struct session_task {
  /* Of its program, or, where `url` says where messages are posted instead, of its server. */
  struct strings args, env; /* as of a process */
  char *cwd;
  bool framed;                /* messages have a Content-Length; else each is a line */
  char *url, *ca_file;        /* as of http */
  char *keeps;                /* a header of the opening's reply that goes along from then on */
  struct strings opening;     /* what it is told before all else */
  struct strings opening_ids; /* the keys of these messages as `reply_id`: one that is answered is
                                 so before the next is said; "": it is not */
  struct strings fed;         /* what a program that is started is told behind the opening */
  struct strings fed_ids; /* the ids of these messages as `reply_id`; "": the next message is the
                             answer */
  /* Of this message. */
  struct strings headers; /* url: "Name: value" */
  char *reply_id;         /* the key of the answer (struct message); NULL: the next message is it */
  char *withdraw;         /* said where the exchange is given up */
  bool follows;           /* it answers what the program asked meanwhile */
  bool takes_questions;   /* what the program asks meanwhile is an answer, too */
  bool begins;            /* the program is started where it does not run; `epoch` 0: always */
  int64_t epoch;          /* the program it is for, by its number; 0: any */
  size_t fed_at;          /* it is this one of those that were fed; 0: none */
};

/* Everything a transport needs. Owned by the engine; strings and body belong to the task
 * and live until task_clear. Times in milliseconds, 0 = the transport's default. */
struct task {
  enum task_kind kind; /* set before all else: it says which part below is filled */
  const struct sys *sys;
  char *target;       /* http: URL; session, host: its name */
  struct buffer body; /* http: request body; process: standard input; session: message;
                         host: its input, JSON */
  int64_t idle_ms;    /* longest silence (default http: 60 s, process: none) */
  int64_t total_ms;   /* from sending to the last byte (default 600 s; host: none) */
  size_t max_body;    /* reply body / stdout, bytes (default 16 MiB) */
  size_t max_extra;   /* reply headers / stderr, bytes (default 256 KiB) */
  bool streams;       /* process: output is handed on and not kept, of errors the end; http: so
                         are the events of a stream */
  bool unwatched;     /* http, process: nobody is told of what comes before it is all there */
  union {
    struct process_task process;
    struct http_task http;
    struct session_task session;
    struct {
      char *key; /* of idempotency, the same for all attempts */
    } host;
    struct {
      int64_t delay_ms; /* how long */
    } timer;
  };
};

void task_init(struct task *, const struct sys *);
void task_clear(struct task *); /* it is of no kind again */
/* Copies; false with ERROR_MEMORY. */
bool task_set(struct task *, char **field, const char *text, struct error *);
bool strings_add(struct strings *, const struct sys *, const char *text, size_t length,
                 struct error *);
/* Adds all that are in another list. */
bool strings_copy(struct strings *, const struct sys *, const struct strings *from, struct error *);
void strings_clear(struct strings *, const struct sys *);

enum reply_status {
  REPLY_OK,        /* complete; http: any status code; process: exited by itself */
  REPLY_TIMEOUT,   /* a deadline passed; `message` says which */
  REPLY_CANCELED,  /* cancel was called */
  REPLY_TOO_LARGE, /* max_body or max_extra was met */
  REPLY_BROKEN,  /* reset, refused, unresolved, incomplete body, process could not start, no memory
                  */
  REPLY_REFUSED, /* never worth a retry: bad URL, TLS verification failed, redirect refused */
  REPLY_KILLED,  /* process: died by a signal not ours; `code` is its number */
  REPLY_GONE     /* session: the program it was for had ended; nothing was sent */
};

struct reply {
  enum reply_status status;
  bool sent;              /* something may have left, so that the call may have acted; false only
                             where it is known that nothing did: not connected, not started */
  int code;               /* http status, exit code or signal number; host: 0 where it went well */
  struct span body;       /* http body / stdout; borrowed for the time of the call */
  struct span extra;      /* http header lines ("name: value\n", lower-case names) / stderr /
                             host: the class of its failure */
  int64_t retry_after_ms; /* from Retry-After, 0 .. RETRY_AFTER_MAX_MS; -1 = none; of a stream that
                             was handed on: what it says itself */
  struct span event_id;   /* ... and the id of its last event */
  int64_t elapsed_ms;
  char message[256]; /* for people; begins with the object: host, program */
};

/* What a message of a session is. Its owner reads it: transports know frames, not what is in them.
 */
enum message_form {
  MESSAGE_NOTICE,   /* none of the others */
  MESSAGE_QUESTION, /* the program waits for an answer to it */
  MESSAGE_ANSWER,   /* ... answers the message that has this key */
  MESSAGE_LIST      /* url: it is several */
};
enum { MESSAGE_KEY_MAX = 256, MESSAGE_REPLY_MAX = 4096 };

struct message {
  const struct sys *sys;
  struct span text;
  enum message_form form;
  char key[MESSAGE_KEY_MAX];
  struct buffer reply; /* to a question: what is said at once, by nobody else; empty: nothing */
  struct strings
      parts;         /* of a list; or, of an answer to the opening, the headers of what follows */
  char refusal[128]; /* of such an answer: why there is no session; "": there is one */
};

void message_init(struct message *, const struct sys *, struct span text);
void message_clear(struct message *);

/* One request under way. The engine embeds it; the transport keeps its own in `handle`. */
struct exchange {
  void (*done)(struct exchange *, const struct reply *);
  /* Optional: bytes as they arrive (stdout, SSE events); may be NULL. */
  void (*progress)(struct exchange *, struct span);
  /* Optional: http: the head of the reply is there; header lines as in `extra`. */
  void (*head)(struct exchange *, int code, struct span lines);
  /* Optional: http: whether this event of a stream is the one that `reply_id` waits for. */
  bool (*answered)(struct exchange *, struct span event);
  /* Optional: a program runs now. `start` tells it from any other that ever had its pid, also
   * after a reboot: what leftover_end (leftover.h) needs to find it again. */
  void (*started)(struct exchange *, int64_t pid, const char *start);
  void *owner;  /* the engine's */
  void *handle; /* the transport's; NULL once done was called */
};

/* Who opened a transport, and what it is told from the loop; any may be NULL. */
struct transport_owner {
  void *data;
  void (*settled)(void *data); /* `ending` is over */
  /* A message nobody asked for; `source` is "session:<name>". Both are borrowed. */
  void (*event)(void *data, const char *source, struct span bytes);
  /* The same for what must be heard whatever else came, as the end of such a program:
   * "ended:<epoch>:<how>:<name>": c and its exit code or s and a signal, with the end of its
   * errors; w: with why it was ended. */
  void (*notice)(void *data, const char *source, struct span bytes);
  /* Says what a message of a session is, in `message->text`; `opens`: it may be the answer to its
   * opening. Without it each is a notice. */
  void (*read)(void *data, const char *session, bool opens, struct message *);
  /* The transport of HTTP, for sessions with a URL; NULL with the error filled. */
  struct transport *(*http)(void *data, struct error *);
  void *user;             /* whose run it is; for functions of a host, as the next */
  struct host_door *door; /* see host.h */
};

struct transport {
  const struct transport_ops *ops;
  struct transport_owner owner; /* set by the opener */
};

struct transport_ops {
  /* Starts the exchange. False: nothing was sent and done will not be called; ERROR_STOPPED: whom
   * it was for has ended. `task` stays valid until done was called. */
  bool (*send)(struct transport *, struct exchange *, const struct task *, struct error *);
  /* Gives up: done is called with REPLY_CANCELED before cancel returns. A process group is
   * killed (TERM, then KILL after a grace of 2 s, or at once when `at_once`). */
  void (*cancel)(struct transport *, struct exchange *, bool at_once);
  /* Cancels what is under way and frees everything; loop handles are closed when the loop
   * has turned once more. */
  void (*close)(struct transport *);
  /* Whether something canceled or retired still has its grace; NULL: never. When that is over,
   * `settled` is called from the loop. */
  bool (*ending)(const struct transport *);
  /* The run is over: what stays between exchanges begins to end; NULL: nothing does. */
  void (*retire)(struct transport *);
};

bool process_open(const struct sys *, struct uv_loop_s *, struct transport **, struct error *);
bool session_open(const struct sys *, struct uv_loop_s *, struct transport **, struct error *);
bool timer_open(const struct sys *, struct uv_loop_s *, struct transport **, struct error *);
/* In the module skillrt/http.so, found on package.cpath and opened on the first HTTP task.
 * Exported as the symbol "skillrt_http_open" of exactly this type. */
typedef bool http_open_function(const struct sys *, struct uv_loop_s *, struct transport **,
                                struct error *);

#endif
