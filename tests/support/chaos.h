/* chaos.h: a process that performs many runs at once in a world that is not kind: disks are full
 * for a while, syncs are slow, the clock jumps, runs are stopped, and somebody kills the process.
 * What it leaves is taken up by the next. Used by tests/c/test_chaos.c. */
#ifndef SKILLRT_TESTS_CHAOS_H
#define SKILLRT_TESTS_CHAOS_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What has come over the runs, counted by all processes: in memory that they share. */
struct chaos_counts {
  _Atomic long full;                  /* runs that stopped, or were not opened, for want of space */
  _Atomic long slow;                  /* syncs that took long */
  _Atomic long forward, back;         /* jumps of the clock inside a process */
  _Atomic long events, subs, replies; /* taken, begun, of HTTP: as the journals say */
  _Atomic long parked;                /* runs that were seen back in their books */
};

struct chaos {
  struct chaos_counts *counts;
  int port;  /* of the HTTP server */
  int round; /* how often all the runs have begun */
  char
      base[PATH_MAX]; /* the folder; run n has n.run, n.book, n.told, n.over and may have n.wrong */
  char program[PATH_MAX]; /* ourselves, who play the agents: chaos_agent */
  int runs, workers;
  bool calm; /* nothing is harmed any more */
};

/* "<base>/<number>.<what>" */
void chaos_path(const struct chaos *, int number, const char *what, char to[PATH_MAX]);
bool chaos_is_there(const struct chaos *, int number, const char *what);

/* Performs each run n for which n % workers is `worker` until all are over, or SIGTERM or SIGHUP
 * stops them: both are in `signals`, which the caller has blocked. Gives the exit code: 0, or 1
 * where something was wrong that n.wrong does not tell. */
int chaos_work(const struct chaos *, int worker, uint64_t seed, const sigset_t *signals);

/* The program that runs call: argv from "--agent" on. Notes in the book that it began; that it was
 * called again though its answer was told to be durable; that another of its name still runs. */
int chaos_agent(char **argv);

#endif
