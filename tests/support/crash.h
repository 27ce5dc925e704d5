/* crash.h: whole runs of reference skills, harmed and taken up again.
 *
 * A run goes through the C library with a struct sys that faulty_sys.h harms; time begins
 * anew and randomness repeats, so that two runs of a skill come to the same bytes. Called by
 * tests/c/test_crash_*.c. */
#ifndef SKILLRT_TESTS_CRASH_H
#define SKILLRT_TESTS_CRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "skillrt.h"
#include "support/audit.h"
#include "support/faulty_sys.h"
#include "support/programs.h"
#include "support/scratch.h"

struct crash {
  struct scratch scratch;
  struct sys below; /* the real world, but for its randomness */
  struct faulty *faulty;
  uint64_t seed;
  char script[128];
  bool with_books;
  const char *input;
  const char *files[6]; /* what the skill leaves in its directory; NULL ends the list */
  char module[512];     /* http.so */
  char directory[600];
  struct audit audit;
  long kept; /* records of all the books in the journal, when it was last read */

  /* With `choose`, commands are fake programs, and one answers whenever the run can do nothing but
   * wait: the one of this number among those that run. Instead of that so many ms may pass, so
   * often: that is the number behind the last. Where nothing runs, time passes by itself. */
  int (*choose)(void *chooser, int running);
  void *chooser;
  struct programs programs;
  int64_t jump_ms;
  int jumps, jumped;
  /* Files that others put into the run's inbox, instead of an answer, one after the other in any
   * order; the run stays while it waits for them. NULL ends them. */
  const char *const *arrivals;
  unsigned arrived;  /* a bit of each */
  int64_t waited_ms; /* since it was healed, for nothing but time */

  struct skillrt *running; /* between its opening and its closing */
  uint64_t moment;         /* allocations since it was opened */
  uint64_t stop_at;        /* it is stopped in the middle of this one; 0: never */

  /* of the last episode */
  char error[1024], status[16], reason[64], message[1024];
  bool hung;

  /* of the undisturbed run */
  char *wanted;
  char *wanted_files[6];
  uint64_t calls[FAULTY_CALLS], moments;

  /* what came of it */
  long points, lost, duplicated, refused, different;
  int twice; /* what the programs' book had told of when it was last looked at */
};

/* Performs the undisturbed run of tests/run/skills/<name>.lua; of "<name> with books" with a record
 * of all the books before every step, from which each resume then begins to read. */
bool crash_init(struct crash *, const char *name, const char *input, const char *const *files);
/* The same with fake programs; the order in which they end makes no difference to compare. */
bool crash_init_with(struct crash *, const char *name, int (*choose)(void *, int), void *chooser,
                     int64_t jump_ms, int jumps, const char *const *arrivals);
void crash_clear(struct crash *);
/* Forgets the run and its harm: an empty folder, nothing reported, the same randomness. */
void crash_fresh(struct crash *);

/* Opens the run (again, with `resume`), steps it until it stops, closes it. False: it could
 * not be opened, `error` says why. */
bool crash_episode(struct crash *, bool resume, const char *answer);
/* Whether the last episode came to the run's end: some skills are aborted there. */
bool crash_ended(const struct crash *);
/* Nothing is harmed any more, and it is so much later. */
void crash_heal(struct crash *, int64_t later_ms);
/* Heals the world, goes on until the run is completed, and compares with the undisturbed one;
 * what is wrong is counted and printed with `where`. */
void crash_survey(struct crash *, const char *where);
/* The input of tests/run/skills/http.lua for the server of http_server.h at `port`. */
enum { CRASH_HTTP_INPUT = 512 };
void crash_http_input(char to[CRASH_HTTP_INPUT], int port);

/* Waits for the world; with `choose`, is the world. Used by crash.c. */
void crash_wait(struct crash *, struct skillrt *run);

/* Calls of the kinds in `mask` in the undisturbed run. */
uint64_t crash_calls(const struct crash *, unsigned mask);
/* Of so many calls, every how many is a point: the full set (SKILLRT_NIGHTLY) takes about `full` of
 * them, the quick one a few, both fewer under ASan; CRASH_POINTS asks for another number. */
enum { CRASH_ALL = 1000000 };
uint64_t crash_stride(uint64_t calls, uint64_t full);
/* Which of them is the first, behind 1, modulo the stride: CRASH_SEED, or another one each time,
 * told in the last line. */
uint64_t crash_seed(void);

/* Adds what came of a skill to what the last line tells of all of them. */
void crash_count(struct crash *, const char *skill);
bool crash_close(void);

#endif
