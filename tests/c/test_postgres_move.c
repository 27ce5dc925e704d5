/* test_postgres_move.c: a run that is moved into PostgreSQL, or out of it, where the connection is
 * cut at any message, or the process dies: it is never in two places, and the same command finishes
 * the move. test_store_move.c has the same between directories. */
#include "support/cutting_proxy.h"
#include "support/move_kit.h"
#include "support/postgres.h"

static struct scratch s;
static struct moved m;
static struct proxy proxy;

static void begin(bool out, const char *what, int n) {
  char *database = out ? m.from : m.to, *directory = out ? m.to : m.from;
  scratch_empty(&s);
  snprintf(database, PATH_MAX, "postgres://skillrt@/postgres/%s-%s-%d?host=%s", out ? "out" : "in",
           what, n, proxy.dir);
  snprintf(directory, PATH_MAX, "%.4000s/run", s.path);
  moved_begin(&m);
  if (n % 2) { /* it was there before, and came back */
    CHECK(moved_try(&m, sys_real()));
    CHECK(store_move(sys_real(), m.to, m.from, m.from, NULL, 0, &m.error));
  }
}

static void test_cuts(bool out, const char *name, const char *what) {
  TEST(name) {
    int n = 0, count;
    atomic_store(&proxy.wish->after, strcmp(what, "after") == 0);
    atomic_store(&proxy.wish->late, strcmp(what, "late") == 0);
    do {
      begin(out, what, ++n);
      atomic_store(&proxy.wish->count, 0);
      atomic_store(&proxy.wish->cut_at, n);
      bool moved = moved_try(&m, sys_real());
      count = atomic_load(&proxy.wish->count);
      atomic_store(&proxy.wish->cut_at, 0);
      CHECK(moved || m.error.text[0]);
      if (atomic_load(&proxy.wish->late)) usleep(2 * PROXY_LATE_US);
      moved_finish(&m, moved);
    } while (count >= n);
    printf("# cut at each of %d messages\n", n - 1);
    CHECK(n > 12);
  }
}

static void test_kills(bool out, const char *name) {
  TEST(name) {
    bool killed = true;
    for (int n = 1; killed; n++) {
      begin(out, "kill", n);
      struct faulty *f = faulty_new(sys_real());
      faulty_kill(f, FAULTY_DISK, (uint64_t)n, true);
      bool moved = moved_try(&m, faulty_sys(f));
      killed = faulty_killed(f);
      CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0);
      moved_finish(&m, moved);
      faulty_free(f);
    }
  }
}

int main(void) {
  struct server server;
  if (!server_start(&server, "")) return server_none();
  proxy_start(&proxy, server.dir);
  scratch_make(&s);
  for (int out = 0; out < 2; out++) {
    test_cuts(out, out ? "out: a message does not arrive" : "in: a message does not arrive",
              "before");
    test_cuts(out, out ? "out: an answer is lost" : "in: an answer is lost", "after");
    test_cuts(out, out ? "out: a message arrives later" : "in: a message arrives later", "late");
    test_kills(out, out ? "out: the process dies" : "in: the process dies");
  }
  scratch_remove(&s);
  proxy_stop(&proxy);
  server_stop(&server);
  return check_finish();
}
