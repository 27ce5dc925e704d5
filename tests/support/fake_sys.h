/* fake_sys.h: the real world with a counted allocator and, on wish, a clock that stands still.
 *
 * For tests that fail the n-th allocation and look for leaks. */
#ifndef SKILLRT_TESTS_FAKE_SYS_H
#define SKILLRT_TESTS_FAKE_SYS_H

#include "base/sys.h"

struct fake_sys {
  struct sys sys;     /* hand this out */
  size_t live, peak;  /* bytes */
  size_t allocations; /* so far, those that grow or create */
  size_t fail_at;     /* this one fails, counted from 1; 0: none */
  size_t fail_count;  /* and that many in a row; SIZE_MAX: all from there on */
  bool clock_stands;  /* then `now_ns` is the time */
  int64_t now_ns;
};

void fake_sys_init(struct fake_sys *);

#endif
