/* transport.h: sends a task and gives back its reply.
 *
 * The engine hands a task to the transport of its kind and continues; the transport calls
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
  TASK_SESSION, /* a program that exchanges messages with the run, until it ends or is canceled */
  TASK_MESSAGE, /* a message to such a program; done once it is written */
  TASK_HOST,    /* a call to a function of the program that embeds us */
  TASK_TIMER,   /* replies REPLY_OK after delay_ms */
  TASK_KINDS
};

/* A list of NUL-terminated strings, itself NULL-terminated. */
struct strings {
  char **items;
  size_t count;
};

/* What happens after a silence of idle_ms. */
enum silence_end {
  SILENCE_ENDS,   /* the program is ended */
  SILENCE_SPARES, /* the program is ended, unless it works (silence.h): then the silence is reported
                   */
  SILENCE_TELLS   /* the silence is reported */
};

struct process_task {
  struct strings args; /* argv */
  struct strings env;  /* "NAME=value", all of them */
  struct strings jail; /* the words of jail.h; empty: none */
  char *cwd;           /* NULL = the caller's */
  char *noise;         /* a line of output that holds this text does not count as output */
  enum silence_end silence;
  int input; /* a descriptor instead of the task's body, taken over; 0: none */
};

struct http_task {
  char *method;           /* NULL = POST */
  char *ca_file;          /* trust this CA bundle; NULL = the system's */
  char *addresses;        /* addresses that it may connect to (http_address.h); NULL = all */
  bool awaits;            /* an event may end its event stream: on_event says which */
  struct strings headers; /* "Name: value" */
  struct strings joins;   /* fields of events whose texts are joined (sse_join.h) */
  int64_t connect_ms;     /* the longest time until it is connected (default 10 s) */
  size_t max_redirects;   /* 0 = redirects are errors */
};

struct session_task {
  struct strings args, env, jail; /* as of a process */
  char *cwd;
  bool framed; /* messages have a Content-Length; else each is a line */
};

/* Everything a transport needs. Owned by the engine; strings and body belong to the task
 * and live until task_clear. Times in milliseconds, 0 = the transport's default. */
struct task {
  enum task_kind kind; /* set before all else: it says which part below is filled */
  const struct sys *sys;
  char *target;       /* http: URL; session, host: its name */
  struct buffer body; /* http: request body; process: standard input; message: its text;
                         host: its input, JSON */
  int64_t idle_ms;    /* longest silence (default http: 60 s, process: none) */
  int64_t total_ms;   /* from sending to the last byte (default 600 s; host: none) */
  size_t
      max_body; /* most bytes of a reply's body / stdout / a session's message (default 16 MiB) */
  size_t max_extra; /* most bytes of a reply's headers / stderr (default 256 KiB) */
  bool streams;     /* process: output is handed on and not kept, of errors the end; http: so
                       are the events of a stream */
  bool unwatched;   /* http, process: output is not shown before the reply is complete */
  union {
    struct process_task process;
    struct http_task http;
    struct session_task session;
    struct {
      uint64_t to; /* the engine's number of the session's call; 0: none */
    } message;
    struct {
      char *key; /* the idempotency key, the same for all attempts */
    } host;
    struct {
      int64_t delay_ms; /* how long */
    } timer;
  };
};

void task_init(struct task *, const struct sys *);
void task_clear(struct task *); /* frees all; the task has no kind then */
/* Copies; false with ERROR_MEMORY. */
bool task_set(struct task *, char **field, const char *text, struct error *);
bool strings_add(struct strings *, const struct sys *, const char *text, size_t length,
                 struct error *);
/* Appends all strings of another list. */
bool strings_copy(struct strings *, const struct sys *, const struct strings *from, struct error *);
void strings_clear(struct strings *, const struct sys *);

enum reply_status {
  REPLY_OK,        /* complete; http: any status code; process: exited by itself */
  REPLY_TIMEOUT,   /* a deadline passed; `message` says which */
  REPLY_CANCELED,  /* cancel was called */
  REPLY_TOO_LARGE, /* max_body or max_extra was reached */
  REPLY_BROKEN,  /* reset, refused, unresolved, incomplete body, process could not start, no memory
                  */
  REPLY_REFUSED, /* never worth a retry: bad URL, TLS verification failed, redirect refused */
  REPLY_KILLED,  /* process: ended by a signal that skillrt did not send; `code` is its number */
  REPLY_LAPSED,  /* process: ended because this process could not renew its lease in time */
  REPLY_GONE     /* message: the session's program had ended before; nothing was sent */
};

struct reply {
  enum reply_status status;
  bool sent;              /* something may have been sent, so the call may have acted; false only
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
  char refused[512]; /* process in a jail: places of the network that it asked for and may not
                        reach, with a blank between; "" */
};

/* One request under way. The engine embeds it; the transport keeps its own in `handle`. */
struct exchange {
  void (*done)(struct exchange *, const struct reply *);
  /* Optional: bytes as they arrive (stdout, SSE events); of a session each is a whole message. */
  void (*progress)(struct exchange *, struct span);
  /* Optional: http: the head of the reply has arrived; header lines as in `extra`. */
  void (*head)(struct exchange *, int code, struct span lines);
  /* Optional: http: whether this event of a stream is the awaited one. */
  bool (*answered)(struct exchange *, struct span event);
  /* Optional: a program runs now. `start` distinguishes it from every other program that had the
   * same pid, also after a reboot; leftover_end (leftover.h) finds it by both. */
  void (*started)(struct exchange *, int64_t pid, const char *start);
  /* Optional: a program has written nothing for `ms`, and continues. `works` says what it does; "":
   * it does nothing that we can see. */
  void (*silent)(struct exchange *, int64_t ms, const char *works);
  void *owner;  /* the engine's */
  void *handle; /* the transport's; NULL once done was called */
};

/* The owner of a transport; the loop calls these functions, and any may be NULL. */
struct transport_owner {
  void *data;
  void (*settled)(void *data); /* `ending` has become false */
  void *user;                  /* the owner of the run; for functions of a host, as the next */
  struct host_door *door;      /* see host.h */
  /* The transport for HTTP; NULL with `error`: it cannot be loaded. */
  struct transport *(*http)(void *data, struct error *);
};

struct transport {
  const struct transport_ops *ops;
  struct transport_owner owner; /* set by the opener */
};

struct transport_ops {
  /* Starts the exchange. False: nothing was sent and done will not be called. `task` stays valid
   * until done was called. */
  bool (*send)(struct transport *, struct exchange *, const struct task *, struct error *);
  /* Cancels an exchange: calls done with REPLY_CANCELED before it returns. Then it kills a process
   * group (SIGTERM, and SIGKILL 2 s later or, with `at_once`, now); for a session it first closes
   * the program's input, and kills the program 500 ms later. */
  void (*cancel)(struct transport *, struct exchange *, bool at_once);
  /* Cancels all exchanges and frees the transport; its loop handles are closed with the loop's next
   * turn. */
  void (*close)(struct transport *);
  /* Whether a canceled program still has time to end by itself; NULL: never. After that time the
   * loop calls `settled`. */
  bool (*ending)(const struct transport *);
  /* Writes a message to the program of a session under way. NULL: the transport has no sessions. */
  bool (*write)(struct transport *, struct exchange *, struct span message, struct error *);
};

bool process_open(const struct sys *, struct uv_loop_s *, struct transport **, struct error *);
bool session_open(const struct sys *, struct uv_loop_s *, struct transport **, struct error *);
bool timer_open(const struct sys *, struct uv_loop_s *, struct transport **, struct error *);
/* In the module skillrt/http.so, found on package.cpath and opened on the first HTTP task.
 * Exported as the symbol "skillrt_http_open" of exactly this type. */
typedef bool http_open_function(const struct sys *, struct uv_loop_s *, struct transport **,
                                struct error *);

#endif
