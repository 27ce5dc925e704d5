/* test_crash_fail.c: whole runs in which the n-th allocation or the n-th call fails, for every
 * n: the run ends in order, gives everything back, and comes to the same end when taken up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/crash.h"
#include "support/http_server.h"

struct failure {
  const char *name;
  unsigned mask; /* of the calls; 0: allocations */
  int number;
  enum faulty_how how;
  bool twice;
};

static const struct failure call_failures[] = {
    {"EIO", FAULTY_FILES, EIO, FAULTY_ONCE, false},
    {"ENOSPC", FAULTY_DISK, ENOSPC, FAULTY_ONCE, false},
    {"ENOSPC from", FAULTY_DISK, ENOSPC, FAULTY_FROM, false},
    {"EINTR",
     FAULTY_BIT(FAULTY_READ) | FAULTY_BIT(FAULTY_WRITE) | FAULTY_BIT(FAULTY_FSYNC) |
         FAULTY_BIT(FAULTY_FDATASYNC) | FAULTY_BIT(FAULTY_OPEN),
     EINTR, FAULTY_ONCE, false},
    {"short write", FAULTY_BIT(FAULTY_WRITE), 0, FAULTY_SHORT, false},
    {"no process", FAULTY_BIT(FAULTY_SPAWN), EAGAIN, FAULTY_ONCE, false},
    {"no socket", FAULTY_BIT(FAULTY_SOCKET), EMFILE, FAULTY_ONCE, false},
};
static const struct failure allocation_failures[] = {
    {"allocation", 0, 0, FAULTY_ONCE, false},
    {"two allocations", 0, 0, FAULTY_ONCE, true},
    {"all allocations from", 0, 0, FAULTY_FROM, false},
};

static unsigned mask_of(const struct failure *failure) {
  return failure->mask ? failure->mask : FAULTY_BIT(FAULTY_ALLOC);
}

static bool left_nothing(struct crash *c, const char *where) {
  if (faulty_outstanding(c->faulty) == 0 && faulty_open_files(c->faulty) == 0) return true;
  printf("# %s: %zu bytes and %d descriptors left\n", where, faulty_outstanding(c->faulty),
         faulty_open_files(c->faulty));
  return false;
}

/* Whether what became of the run is said: a message, or a status with a reason. */
static bool told(const struct crash *c, bool opened, const char *where) {
  bool ok = opened ? c->status[0] && c->reason[0] && !c->hung : c->error[0] != 0;
  if (!ok) printf("# %s: says %s%s %s\n", where, c->status, c->hung ? " hangs" : "", c->error);
  return ok;
}

/* A run that a failing call has made fail for good (a step that failed for good is a result,
 * not a harm) is as good as one that goes on. */
static void at_every_point(struct crash *c, const struct failure *failure, uint64_t points) {
  uint64_t stride = crash_stride(crash_calls(c, mask_of(failure)), points);
  for (uint64_t n = 1 + crash_seed() % stride;; n += stride) {
    char where[96];
    snprintf(where, sizeof where, "%s %lu", failure->name, (unsigned long)n);
    crash_fresh(c);
    if (failure->mask)
      faulty_fail(c->faulty, failure->mask, n, failure->number, failure->how);
    else
      faulty_fail_alloc(c->faulty, n, failure->twice, failure->how == FAULTY_FROM);
    bool opened = crash_episode(c, false, NULL);
    bool reached = faulty_count(c->faulty, mask_of(failure)) >= n;
    if (!told(c, opened, where) || !left_nothing(c, where)) c->different++;
    crash_survey(c, where);
    if (c->hung) return; /* once is enough */
    if (!reached) return;
  }
}

static void everywhere(const char *skill, const char *input, const char *const *files,
                       const struct failure *failures, size_t count, uint64_t points) {
  struct crash c;
  CHECK(crash_init(&c, skill, input, files));
  for (size_t i = 0; i < count; i++)
    at_every_point(&c, &failures[i], points);
  CHECK(c.refused == 0 && c.different == 0 && c.lost == 0 && c.duplicated == 0);
  crash_count(&c, skill);
  crash_clear(&c);
}

static void over_http(const struct failure *failures, size_t count, uint64_t points) {
  static const char *const files[] = {NULL};
  struct http_server *server = http_server_start(NULL, NULL, 0);
  char input[CRASH_HTTP_INPUT];
  CHECK(server != NULL);
  if (!server) return;
  crash_http_input(input, http_server_port(server));
  everywhere("http", input, files, failures, count, points);
  http_server_stop(server);
}

#define CALLS call_failures, sizeof call_failures / sizeof *call_failures, CRASH_ALL
#define ALLOCATIONS allocation_failures, sizeof allocation_failures / sizeof *allocation_failures

/* The http module is opened and closed hundreds of times: LeakSanitizer's look into the thread
 * storage of closed modules ends in a fault of its own now and then. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void) {
  return "use_tls=0";
}

int main(void) {
  static const char *const none[] = {NULL};
  static const char *const written[] = {"plan.json", "out/collected.md", "out/deep/written.json",
                                        "notes/written.txt", NULL};
  static const char *const printed[] = {"a.txt", "b.txt", "c.txt", "joined.txt", NULL};
  setvbuf(stdout, NULL, _IOLBF, 0);
  TEST("a sequential run survives every failing call") {
    everywhere("sequential", NULL, written, CALLS);
  }
  TEST("an autonomous run survives every failing call") {
    everywhere("autonomous", NULL, none, CALLS);
  }
  TEST("a run of parallel commands survives every failing call") {
    everywhere("parallel", NULL, printed, CALLS);
  }
  TEST("a function that waits survives every failing call") {
    everywhere("await", NULL, none, CALLS);
  }
  TEST("programs one talks to survive every failing call, and failing allocations") {
    everywhere("sessions", NULL, none, CALLS);
    everywhere("sessions", NULL, none, ALLOCATIONS, 100);
  }
  TEST("a server of MCP that acts, asks and changes survives every failing call and allocation") {
    setenv("CRASH_MCP", "/nowhere", 1);
    everywhere("mcp", NULL, none, call_failures, sizeof call_failures / sizeof *call_failures, 60);
    everywhere("mcp", NULL, none, ALLOCATIONS, 60);
  }
  TEST("a run that keeps all its books now and then survives every failing call") {
    everywhere("autonomous with books", NULL, none, CALLS);
    everywhere("parallel with books", NULL, printed, CALLS);
    everywhere("await with books", NULL, none, CALLS);
  }
  TEST("a run of HTTP tasks survives every failing call") {
    over_http(CALLS);
  }
  TEST("a run of HTTP tasks survives failing allocations") {
    over_http(ALLOCATIONS, 100);
  }
  TEST("a sequential run survives failing allocations") {
    everywhere("sequential", NULL, written, ALLOCATIONS, 150);
  }
  TEST("an autonomous run survives failing allocations") {
    everywhere("autonomous", NULL, none, ALLOCATIONS, 100);
  }
  TEST("a run of parallel commands survives failing allocations") {
    everywhere("parallel", NULL, printed, ALLOCATIONS, 100);
  }
  TEST("a function that waits survives failing allocations") {
    everywhere("await", NULL, none, ALLOCATIONS, 100);
  }
  TEST("a run that keeps all its books now and then survives failing allocations") {
    everywhere("autonomous with books", NULL, none, ALLOCATIONS, 60);
    everywhere("parallel with books", NULL, printed, ALLOCATIONS, 60);
    everywhere("await with books", NULL, none, ALLOCATIONS, 60);
  }
  setenv("CRASH_SHAPE", "every", 1);
  TEST("maps, races, deadlines, spawned branches, loops and each survive every failing call") {
    everywhere("orders_branches", NULL, none, CALLS);
    everywhere("orders_each", NULL, none, CALLS);
  }
  TEST("maps, races, deadlines, spawned branches, loops and each survive failing allocations") {
    everywhere("orders_branches", NULL, none, ALLOCATIONS, 60);
    everywhere("orders_each", NULL, none, ALLOCATIONS, 60);
  }
  return (int)!crash_close() | check_finish();
}
