/* process_child.h: one program under way, shared by process.c (deadlines, kills, replies) and
 * process_child.c (memory file, pipes, spawn, reading). Nobody else includes this. */
#ifndef SKILLRT_TRANSPORT_PROCESS_CHILD_H
#define SKILLRT_TRANSPORT_PROCESS_CHILD_H

#include <uv.h>

#include "jail/jail.h"
#include "transport/proxy.h"
#include "transport/transport.h"

/*   stage     entered by                          left by
 *   ACCEPTED  send                                the next turn of the loop; cancel: GONE
 *   RUNNING   it was started                      its end; cancel, a deadline, a flood: TERMED
 *   ENDING    its end, while pipes are held open  they are closed, or 200 ms: KILLED
 *   TERMED    SIGTERM to its group                its end and that of its pipes, or 2 s: KILLED
 *   KILLED    SIGKILL to its group                it is reaped: GONE; the reply comes after 1 s
 *   GONE      reaped, or never started            the loop has closed its handles: freed */
enum child_stage {
  CHILD_ACCEPTED, /* starts with the next turn of the loop, so that done never comes from send */
  CHILD_RUNNING,
  CHILD_ENDING, /* the program ended by itself; programs it started may hold the pipes for a while
                 */
  CHILD_TERMED, /* the group got SIGTERM and has time to end */
  CHILD_KILLED, /* the group got SIGKILL */
  CHILD_GONE    /* only handles are still closing */
};

enum { PIPE_OUT, PIPE_ERR, PIPES };

struct child_pipe {
  struct child *child;
  uv_poll_t poll;
  int fd; /* -1: closed */
  struct buffer kept;
};

struct child {
  struct process *owner;
  struct child *next, **link; /* in the owner's list; `link` points at what points here */
  struct exchange *exchange;  /* NULL once done was called; `task` is gone from then on */
  const struct task *task;
  enum child_stage stage;
  enum reply_status verdict; /* REPLY_OK until the program is killed for another reason */
  struct error message;      /* why, where `verdict` is not REPLY_OK */
  char name[96];             /* argv[0], cut: begins every message */
  struct jail *jail;         /* NULL: none */
  struct proxy *proxy;       /* of its network; NULL: it has no list, or is closed */
  char refused[512];         /* what a proxy that is closed has refused */
  pid_t pid;
  int ended_fd; /* -1: none, then `watch` polls */
  int life_fd;  /* the process that holds the other end dies when this is closed; -1: none */
  bool lingers; /* counted in the owner's `ending` */
  bool ended;   /* the program itself; not reaped yet, so that its pid stays ours */
  bool leashed; /* it was killed because the lease lapsed */
  int wait_status;
  struct child_pipe pipes[PIPES];
  uv_poll_t ended_poll;
  uv_timer_t timer, watch;
  unsigned handles;             /* that libuv has not closed yet */
  uint64_t started_at, last_at; /* loop time of the start and of the last byte */
  int64_t started_ns;           /* sys clock */
  uint64_t told_at;             /* loop time of the last report of a silence, or of the last byte */
  uint64_t looked_at, used; /* loop time of the last look at its processor time, and that time; 0 */
  bool speaks, noisy;       /* it has written something; after that only noise */
};

struct process {
  struct transport base; /* first: the engine sees only this */
  const struct sys *sys;
  uv_loop_t *loop;
  struct child *children; /* not yet discarded */
  size_t living;          /* not yet freed */
  size_t ending;          /* canceled, and not gone yet */
  bool closed;
};

/* Starts the program and watches it; on failure nothing is left running or open but handles
 * to discard, and `error` is for the reply. */
bool child_start(struct child *, struct error *);
/* Reads available output, in up to `rounds` reads; closes a pipe that has ended. */
void child_read(struct child_pipe *, int rounds);
void child_close_pipe(struct child_pipe *);
bool child_pipes_open(const struct child *);
/* Closes descriptors and handles; child_discard's last close callback frees the child. */
void child_discard(struct child *);

/* In process.c, called by process_child.c. */
void process_ended(struct child *);      /* the program ended by itself or by our signal */
void process_pipe_ended(struct child *); /* one of its pipes was closed */
void process_settle(struct child *);     /* nothing waits for its end any more */
/* Sets the verdict unless there is one, and ends the group: SIGTERM, and later SIGKILL. */
void process_fail(struct child *, enum reply_status, const struct error *why);

#endif
