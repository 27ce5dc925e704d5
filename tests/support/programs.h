/* programs.h: programs and HTTP servers that are none, and what an outsider knows of them.
 *
 * What a run starts through struct sys only leaves its name (argv[1]) in a book that outlives the
 * run, and answers "NAME=ok" when the test lets it: so a test decides in which order replies come,
 * and sees who is called how often without asking skillrt. A name that begins with "once" is of a
 * call that must not be repeated: a second start counts as `twice`, unless a person said so after
 * the process died. No call may be started again when its answer was told to be durable, or when
 * one that follows it (a.2 follows a.1) was started. An HTTP exchange is a program, too: it is
 * started through struct sys, named by the end of its URL, and what is started of it first is
 * answered "busy" (503, nothing was done) where its name begins with that, and broken off after it
 * was sent where it begins with "lost". A program "session NAME" stays; each message it is sent,
 * {"id":"a.1"}, is one of these programs by its id. One whose NAME begins with "feed" may be told
 * again what was answered, from x.1 on; one of "once" may not be begun again unasked. It ends
 * behind its first answer to what begins with "bye". Used by crash.h. */
#ifndef SKILLRT_TESTS_PROGRAMS_H
#define SKILLRT_TESTS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sys.h"
#include "transport/transport.h"

enum { PROGRAMS = 64, PROGRAM_NAME = 48 };

struct program {
  pid_t pid; /* 0: free */
  int name;  /* index in the book */
  int out, ended;
  struct exchange *exchange; /* NULL: a program, or nobody waits for the reply */
  bool http, running;
  int status;
  pid_t of; /* it is a message to this one */
  bool stays, feeds;
  int in;
  uint64_t told;   /* a bit for each line of the book */
  char text[1024]; /* of it that is no message yet */
  size_t size;
};

struct program_line { /* of the book */
  char name[PROGRAM_NAME];
  int starts;
  bool told, followed, allowed, answered;
};

struct programs {
  struct program list[PROGRAMS];
  struct program_line book[PROGRAMS];
  int started, lines, twice;
};

int programs_spawn(struct programs *, const struct sys_spawn *, pid_t *pid, int *ended);
int programs_kill(struct programs *, pid_t pid, int signal);
int programs_reap(struct programs *, pid_t pid, int *status);

/* What was said to programs that stay: before it is asked who runs. */
void programs_hear(struct programs *);

/* Parts of programs.c and programs_talk.c for each other. */
int programs_line(struct programs *, const char *name);
struct program *programs_slot(struct programs *, int line);
/* It may be told again what was answered: whether that is durable an outsider does not know. */
void programs_count(struct programs *, int line, bool is_fed);
void programs_end(struct programs *, struct program *, int status);
void programs_talk_begin(struct programs *, struct program *, int in);
void programs_talk_end(struct programs *, struct program *);
void programs_talk_answer(struct programs *, struct program *message);

/* The transport of HTTP for the newest book: what scripted_http.c hands over to. */
__attribute__((visibility("default"))) bool
programs_http_open(const struct sys *, struct uv_loop_s *, struct transport **, struct error *);

int programs_running(const struct programs *);
/* Lets the n-th of those that run answer and end, counted from 0 in the order of their start. */
void programs_answer(struct programs *, int n);
/* A record that was told to be durable. */
void programs_told(struct programs *, const char *json, size_t size);
/* A person said that what is in doubt is to be made again. */
void programs_allow(struct programs *);
/* Ends all and forgets the book. */
void programs_clear(struct programs *);

#endif
