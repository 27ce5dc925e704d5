/* clock.h: the process's clock, which a test moves on.
 *
 * Every test program has a clock_gettime of its own, so that libuv's timers, the core and the test
 * agree on the time: the real one and what was skipped of it. Nothing sleeps for a deadline. */
#ifndef SKILLRT_TESTS_CLOCK_H
#define SKILLRT_TESTS_CLOCK_H

#include <stdint.h>

/* From now on it is so much later. */
void clock_skip(int64_t ms);
/* Monotonic, without what was skipped. */
int64_t clock_real_ns(void);

#endif
