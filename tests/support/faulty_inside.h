/* faulty_inside.h: what faulty_sys.c (plans) and faulty_calls.c (calls) share. */
#ifndef SKILLRT_TESTS_FAULTY_INSIDE_H
#define SKILLRT_TESTS_FAULTY_INSIDE_H

#include <pthread.h>
#include <sys/types.h>

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
  ino_t sockets[FAULTY_FILES_MAX];    /* by descriptor: which socket it was made for; 0: closed */
  int64_t reserved[FAULTY_FILES_MAX]; /* per descriptor: bytes that fit though the disk is full */
  struct faulty_power *power;
};

/* Fills the table of calls; `below` is set. */
void faulty_calls_fill(struct faulty *);

/* Which socket a descriptor is; 0: none. */
ino_t faulty_socket_at(int fd);

/* A number is about to be closed, or is new: one that libcurl closed itself is counted now. */
void faulty_forget_socket(struct faulty *, int fd);

#endif
