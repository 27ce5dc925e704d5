/* world.h: all that a simulated run can touch, drawn from one seed: a disk, the time, chance, and
 * those who answer calls.
 *
 * It lies apart from the memory of the run (arena.h; image.h): where that is killed, the next
 * process finds the disk, the clock and the witness as they were. Nothing here knows skillrt's Lua;
 * runtime.c puts it under the engine, sim.c decides what is harmed.
 *
 * What is drawn for a thing (a call's fate, the harm of an episode) follows from the seed and its
 * name alone, so that a failing seed still fails when other things are left out (world_leaves_out).
 */
#ifndef SKILLRT_SIM_WORLD_H
#define SKILLRT_SIM_WORLD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"
#include "sim/arena.h"
#include "support/ram_disk.h"
#include "transport/transport.h"

enum { LABEL_MAX = 64, SEEN_MAX = 1024 };

/* What a call came to in the world, drawn when it is sent. */
enum fate {
  FATE_ANSWERS, /* performed, and the answer arrives */
  FATE_REFUSES, /* not performed, and says so: connection refused, 429, 503 */
  FATE_FAILS,   /* performed; the answer is an error */
  FATE_LOST,    /* performed, and the answer never arrives: reset, killed */
  FATE_SILENT,  /* performed, and nothing more is heard of it */
  FATE_RUBBISH  /* performed; the answer is no answer */
};

/* The witness: what was sent, in order, seen from outside. */
struct sent {
  char label[LABEL_MAX];
  char key[LABEL_MAX];
  enum fate fate;
  bool idempotent, allowed;
  bool forgotten; /* its record may be lost, and nobody can know of it */
  unsigned episode;
  uint64_t began, ended; /* the order of what happened to calls; ended 0: it is under way */
  int64_t began_ns, ended_ns;
};

/* What is to go wrong in one episode; 0: nothing. Calls are those of struct sys that reach the
 * disk. */
struct harm {
  uint64_t kill_at;  /* the process ends at this call */
  bool halfway;      /* and a write there has written half */
  uint64_t fail_at;  /* this call fails with `number` */
  uint64_t fail_for; /* and so many behind it */
  int number;
  bool full;         /* only calls that want room fail: the disk is full */
  uint64_t stop_at;  /* at this event of the world the run is asked to stop */
  uint64_t clock_at; /* at this one somebody sets the wall clock */
  int64_t clock_ms;
  uint64_t sync_at;   /* this sync of the journal fails */
  bool dies;          /* ... or the process ends before it */
  uint64_t second_at; /* at this one another process wants the run */
  uint64_t people_at; /* at this one people answer, and events come */
};

/* How much a process did. */
struct extent {
  uint64_t calls, syncs; /* of the disk; of the journal */
};

struct world {
  uint64_t chance;      /* the state of what is drawn one behind the other */
  uint64_t fixed;       /* what is drawn by name comes of it */
  int64_t now_ns;       /* of the clock that never goes back */
  int64_t wall_ms;      /* what is added to it for people's time */
  int64_t unnoticed_ms; /* by how much it was set where the set was too small to be recorded */
  struct ram_disk *disk;
  struct database *database; /* of a fleet; NULL: the run is on the disk */
  bool rough; /* calls may fail for good; else they only take their time, or refuse at first */
  int deaths; /* of programs that are talked to, by a message */
  struct harm harm;
  bool outside;                  /* others use the disk now: nothing of it is harmed */
  uint64_t calls, syncs, events; /* of this episode */
  struct extent most;            /* of the episodes before */
  unsigned retried;              /* how often a person retried what had failed */
  bool durable;                  /* the run promises to survive a power cut */
  unsigned episode;
  unsigned episodes; /* of a fleet, so far */
  bool begun;        /* ... and its run is there */
  unsigned unsynced; /* 1 + the episode in which a sync of the journal failed */
  struct sent *sent;
  size_t sent_count;
  uint64_t order; /* of what happens to calls */
  char allowances[512][LABEL_MAX];
  size_t allowance_count;
  uint64_t trace; /* a digest of all that happened, for "the same seed, the same run" */
  bool shows;     /* prints what happens */
  /* what the child says when it ends */
  char status[16], reason[64], message[512], error[512], code[32];
  char summary[65536]; /* of the audit */
  char wrong[2048];    /* the first rule that was broken */
  char *reported;      /* records that were reported, each with its NUL */
  size_t reported_size;
  bool forked;        /* it is another run since, which began where the first one stood */
  size_t sent_before; /* ... and these were sent by the first one */
};

extern struct world *world; /* of this point */

/* What is left out of this seed, by name, and, where it `is_listed`, what could be; outlives the
 * world, and the process that looks at a seed. */
struct drawn {
  char seen[SEEN_MAX][LABEL_MAX], out[SEEN_MAX][LABEL_MAX];
  size_t seen_count, out_count;
  bool is_listed;
};
extern struct drawn *drawn;

void world_begin(uint64_t seed, bool rough, uint64_t chance);
uint64_t world_draw(uint64_t below); /* 0 <= x < below */
bool world_one_in(uint64_t n);
/* The same for the thing of this name, whenever and however often it is asked. */
uint64_t world_draw_for(uint64_t below, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Somebody sets a clock: this is what is added to it from now on. */
void world_set_clock(int64_t *clock_ms, int64_t to_ms);
bool world_leaves_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
void world_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void world_trace(const char *bytes, size_t size);
/* The first broken rule is kept. */
void world_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A person allows that the call `label` is sent once more. */
void world_allow(const char *label);
/* What was sent since then may be sent again. */
void world_forgotten(uint64_t order);
/* A call is sent: the witness writes it down and says what becomes of it. */
enum fate world_sent(const char *label, const char *key, bool idempotent);
/* The newest call of this label is over: answered, given up, or its process is gone. */
void world_over(const char *label);
/* All that is under way is over, as the process that waits for it has ended. */
void world_all_over(void);
void world_episode_over(unsigned episode); /* the same, of one of several processes */
const struct sys *world_sys(void);
/* Where the process of a run goes when it is killed (DIES_KILLED), or cannot go on (DIES_STUCK). */
enum { DIES_KILLED = 1, DIES_STUCK = 2 };
extern jmp_buf world_death;
_Noreturn void world_die(int how);

#endif
