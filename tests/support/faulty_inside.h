/* faulty_inside.h: what faulty_sys.c (plans) and faulty_calls.c (calls) share. */
#ifndef SKILLRT_TESTS_FAULTY_INSIDE_H
#define SKILLRT_TESTS_FAULTY_INSIDE_H

#include <pthread.h>

#include "support/faulty_power.h"
#include "support/faulty_sys.h"

enum { FAULTY_FILES_MAX = 4096 };

struct faulty_plan {
  unsigned mask; /* 0: no plan */
  uint64_t n, seen;
  int number;
  enum faulty_how how;
};

struct faulty {
  struct sys sys;
  const struct sys *below;
  pthread_mutex_t mutex;
  uint64_t counts[FAULTY_CALLS];
  struct faulty_plan fail, kill, full, alloc;
  bool halfway, killed, twice;
  int64_t wall, wall_step;
  size_t bytes, blocks;
  int files;
  unsigned boot;                      /* a power cut begins the next */
  bool sockets[FAULTY_FILES_MAX];     /* by descriptor: made by socket, not closed through us */
  int64_t reserved[FAULTY_FILES_MAX]; /* per descriptor: bytes that fit though the disk is full */
  struct faulty_power *power;
};

/* Fills the table of calls; `below` is set. */
void faulty_calls_fill(struct faulty *);

#endif
