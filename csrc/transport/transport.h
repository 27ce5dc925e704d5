/* transport.h: how a request leaves and how its reply returns.
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
  TASK_SESSION, /* a program one talks to, until it ends or is given up */
  TASK_MESSAGE, /* a message to such a program: it is written, and nothing more is waited for */
  TASK_HOST,    /* a call to a function of the program that embeds us */
  TASK_TIMER,   /* nothing but time: replies REPLY_OK after delay_ms */
  TASK_KINDS
};

/* A list of NUL-terminated strings, itself NULL-terminated. */
struct strings {
  char **items;
  size_t count;
};

/* What a silence of idle_ms does. */
enum silence_end {
  SILENCE_ENDS,   /* it ends the program */
  SILENCE_SPARES, /* ... unless that works (silence.h): then it is reported */
  SILENCE_TELLS   /* it is reported */
};

struct process_task {
  struct strings args; /* argv */
  struct strings env;  /* "NAME=value", all of them */
  struct strings jail; /* the words of jail.h; empty: none */
  char *cwd;           /* NULL = the caller's */
  char *noise;         /* a line of output with this text breaks no silence */
  enum silence_end silence;
  int input; /* a descriptor instead of the task's body, taken over; 0: none */
};

struct http_task {
  char *method;           /* NULL = POST */
  char *ca_file;          /* trust this CA bundle; NULL = the system's */
  char *addresses;        /* which may be connected to (http_address.h); NULL = all */
  bool awaits;            /* its event stream may be over with an event: `answered` says which */
  struct strings headers; /* "Name: value" */
  struct strings joins;   /* fields of events whose texts are joined (sse_join.h) */
  int64_t connect_ms;     /* until connected (default 10 s) */
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
  size_t max_body;    /* reply body / stdout / a message of a session, bytes (default 16 MiB) */
  size_t max_extra;   /* reply headers / stderr, bytes (default 256 KiB) */
  bool streams;       /* process: output is handed on and not kept, of errors the end; http: so
                         are the events of a stream */
  bool unwatched;     /* http, process: what comes before it is all there is not shown */
  union {
    struct process_task process;
    struct http_task http;
    struct session_task session;
    struct {
      uint64_t to; /* the number under which the engine has its program; 0: nobody, it is empty */
    } message;
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
  REPLY_GONE     /* message: the program it was for had ended; nothing was sent */
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
  char refused[512]; /* process in a jail: places of the network that it asked for and may not
                        reach, with a blank between; "" */
};

/* One request under way. The engine embeds it; the transport keeps its own in `handle`. */
struct exchange {
  void (*done)(struct exchange *, const struct reply *);
  /* Optional: bytes as they arrive (stdout, SSE events); of a session each is a whole message. */
  void (*progress)(struct exchange *, struct span);
  /* Optional: http: the head of the reply is there; header lines as in `extra`. */
  void (*head)(struct exchange *, int code, struct span lines);
  /* Optional: http: whether this event of a stream is the one that is awaited. */
  bool (*answered)(struct exchange *, struct span event);
  /* Optional: a program runs now. `start` tells it from any other that ever had its pid, also
   * after a reboot: what leftover_end (leftover.h) needs to find it again. */
  void (*started)(struct exchange *, int64_t pid, const char *start);
  /* Optional: a program has written nothing for so long, and continues. `works` says what it does;
   * "": nothing that can be seen. */
  void (*silent)(struct exchange *, int64_t ms, const char *works);
  void *owner;  /* the engine's */
  void *handle; /* the transport's; NULL once done was called */
};

/* Who opened a transport, and is told from the loop; any may be NULL. */
struct transport_owner {
  void *data;
  void (*settled)(void *data); /* `ending` is over */
  void *user;                  /* whose run it is; for functions of a host, as the next */
  struct host_door *door;      /* see host.h */
  /* What sends HTTP; NULL with `error`: it cannot be loaded. */
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
  /* Gives up: done is called with REPLY_CANCELED before cancel returns. A process group is
   * killed (TERM, then KILL after a grace of 2 s, or at once when `at_once`); the input of a
   * session's program ends, and 500 ms later it is killed so. */
  void (*cancel)(struct transport *, struct exchange *, bool at_once);
  /* Cancels what is under way and frees everything; loop handles are closed when the loop
   * has turned once more. */
  void (*close)(struct transport *);
  /* Whether something canceled still has its grace; NULL: never. When that is over, `settled` is
   * called from the loop. */
  bool (*ending)(const struct transport *);
  /* A message for the program of an exchange that is under way. Of sessions alone. */
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
