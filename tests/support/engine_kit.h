/* engine_kit.h: short words for tests of the engine over a fake host: set up, under way, how it
 * ended, torn down. Header only. */
#ifndef SKILLRT_TESTS_ENGINE_KIT_H
#define SKILLRT_TESTS_ENGINE_KIT_H

#include <stdint.h>

#include "support/check.h"
#include "support/fake_host.h"

static struct fake_host h;

/* No view is due in between unless the test lets time pass. */
static inline void setup(uint64_t total, uint64_t width) {
  fake_host_init(&h);
  h.sys.clock_stands = true;
  h.policy.total = total;
  h.policy.width = width;
  h.timer.quiet = true;
}

/* Questions of the policy and waits stand in the log, too. */
static inline void setup_verbose(uint64_t total, uint64_t width) {
  setup(total, width);
  h.policy.verbose = true;
  h.timer.quiet = false;
}

/* As after the first turn, with an empty log. */
static inline void setup_under_way(uint64_t total, uint64_t width) {
  setup_verbose(total, width);
  CHECK(fake_host_open(&h) && fake_host_turn(&h) == ENGINE_WAITING);
  fake_log_clear(&h.log);
}

static inline void check_end(const char *status, const char *reason) {
  CHECK(fake_host_turn(&h) == ENGINE_STOPPED);
  CHECK_STR(engine_status(h.engine), status);
  CHECK_STR(engine_reason(h.engine), reason);
}

static inline void teardown(void) {
  fake_host_close(&h);
  CHECK(h.sys.live == 0);
  CHECK(h.outside.in_flight == 0 && h.timer.in_flight == 0);
}

#endif
