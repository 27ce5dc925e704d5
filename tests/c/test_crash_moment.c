/* test_crash_moment.c: whole runs are stopped in the middle of every allocation in turn, which
 * is to say anywhere: they pause, repeat and lose nothing, and come to the same end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/crash.h"

enum { POINTS = 400, POINTS_WITH_BOOKS = 150 };

static void everywhere(const char *skill, uint64_t points) {
  static const char *const none[] = {NULL};
  struct crash c;
  CHECK(crash_init(&c, skill, NULL, none));
  uint64_t stride = crash_stride(c.moments, points);
  for (uint64_t n = 1 + crash_seed() % stride; n <= c.moments; n += stride) {
    char where[64];
    snprintf(where, sizeof where, "stopped at %lu", (unsigned long)n);
    crash_fresh(&c);
    c.stop_at = n;
    CHECK(crash_episode(&c, false, NULL));
    bool paused = strcmp(c.status, "paused") == 0 && strcmp(c.reason, "user_exit") == 0;
    if (!paused && strcmp(c.status, "completed") != 0) {
      printf("# %s: %s (%s) %s\n", where, c.status, c.reason, c.message);
      c.refused++;
    }
    crash_survey(&c, where);
  }
  CHECK(c.refused == 0 && c.different == 0 && c.lost == 0 && c.duplicated == 0);
  crash_count(&c, skill);
  crash_clear(&c);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  TEST("a sequential run may be stopped at any moment (R87)") {
    everywhere("sequential", POINTS);
  }
  TEST("an autonomous run may be stopped at any moment (R87)") {
    everywhere("autonomous", POINTS);
  }
  TEST("a run of parallel commands may be stopped at any moment (R87)") {
    everywhere("parallel", POINTS);
  }
  TEST("a function that waits may be stopped at any moment") {
    everywhere("await", POINTS);
  }
  TEST("a run that talks to programs may be stopped at any moment (R87)") {
    everywhere("sessions", POINTS);
  }
  TEST("a run with a server of MCP that acts and asks may be stopped at any moment (R87)") {
    setenv("CRASH_MCP", "/nowhere", 1);
    everywhere("mcp", POINTS_WITH_BOOKS);
  }
  TEST("a run that keeps all its books now and then may be stopped at any moment (R87)") {
    everywhere("autonomous with books", POINTS_WITH_BOOKS);
    everywhere("parallel with books", POINTS_WITH_BOOKS);
    everywhere("await with books", POINTS_WITH_BOOKS);
  }
  setenv("CRASH_SHAPE", "every", 1);
  TEST("maps, races, deadlines, spawned branches and loops may be stopped at any moment (R87)") {
    everywhere("orders_branches", POINTS);
  }
  TEST("an action for each of a list may be stopped at any moment (R87)") {
    everywhere("orders_each", POINTS_WITH_BOOKS);
  }
  return (int)!crash_close() | check_finish();
}
