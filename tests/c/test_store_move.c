/* test_store_move.c: a run that is moved from a directory to another one, where any call fails, the
 * process dies, or the power is cut: it is never in two places, and the same command finishes the
 * move. test_postgres_fence.c has the same with a database. */
#include <errno.h>

#include "support/move_kit.h"

static struct scratch s;
static struct moved m;

static void begin(void) {
  scratch_empty(&s);
  m = (struct moved){.digest = ""};
  snprintf(m.from, sizeof m.from, "%.4000s/here", s.path);
  snprintf(m.to, sizeof m.to, "%.4000s/far/there", s.path);
  moved_begin(&m);
}

enum harm { FAILS, FAILS_FROM, NO_MEMORY, KILL, POWER }; /* POWER: and each cut behind it */

static void plan(struct faulty *f, int harm, uint64_t n) {
  if (harm == NO_MEMORY)
    faulty_fail_alloc(f, n, false, false);
  else if (harm >= KILL)
    faulty_kill(f, FAULTY_DISK, n, true);
  else
    faulty_fail(f, FAULTY_FILES, n, harm == FAILS ? EIO : EMFILE,
                harm == FAILS ? FAULTY_ONCE : FAULTY_FROM);
}

static bool has_come(const struct faulty *f, int harm, uint64_t n) {
  if (harm >= KILL) return faulty_killed(f);
  return faulty_count(f, harm == NO_MEMORY ? FAULTY_BIT(FAULTY_ALLOC) : FAULTY_FILES) >= n;
}

/* `again`: it was there before, and came back. */
static void all_harm(int harm, bool again) {
  bool come = true;
  uint64_t n = 0;
  while (come) {
    begin();
    if (again) {
      CHECK(moved_try(&m, sys_real()));
      CHECK(store_move(sys_real(), m.to, m.from, m.from, NULL, 0, &m.error));
    }
    struct faulty *f = faulty_new(sys_real());
    if (harm >= POWER) faulty_power(f, s.path);
    plan(f, harm, ++n);
    bool moved = moved_try(&m, faulty_sys(f));
    come = has_come(f, harm, n);
    CHECK(moved || m.error.text[0]);
    CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0);
    if (harm >= POWER) faulty_power_cut(f, (enum faulty_cut)(harm - POWER), n);
    faulty_reset(f);
    if (!come) CHECK(moved);
    moved_finish(&m, moved);
    faulty_free(f);
  }
  CHECK(n > 20);
}

static void test_harm(const char *name, int harm) {
  TEST(name) {
    all_harm(harm, false);
    all_harm(harm, true);
  }
}

/* A run that was about to leave. */
static void begin_leaving(void) {
  char journal[PATH_MAX], leaving[PATH_MAX];
  begin();
  snprintf(journal, sizeof journal, "%.4000s/journal", m.from);
  snprintf(leaving, sizeof leaving, "%.4000s/journal.leaving", m.from);
  CHECK(sys_real()->rename(sys_real(), journal, leaving) == 0);
  scratch_write(&s, "here/journal.to", "r1 there\n", 9);
}

/* A process that dies before it has noted in the old place that the run has arrived. */
static void leave_unfinished(void) {
  bool there = false;
  for (uint64_t n = 1; !there; n++) {
    begin();
    struct faulty *f = faulty_new(sys_real());
    faulty_kill(f, FAULTY_DISK, n, false);
    moved_try(&m, faulty_sys(f));
    CHECK(faulty_killed(f));
    faulty_free(f);
    there = store_exists(sys_real(), m.to);
  }
}

static void test_went_on(void) {
  TEST("a run that went on from where it had arrived does not come back to where it began") {
    char third[PATH_MAX];
    bool arrived = false;
    leave_unfinished();
    snprintf(third, sizeof third, "%.4000s/third", s.path);
    CHECK(store_move(sys_real(), m.to, third, third, NULL, 0, &m.error));
    CHECK(store_move_settle(sys_real(), m.from, m.to, false, &arrived, &m.error) && arrived);
    CHECK(!store_exists(sys_real(), m.from) && !store_exists(sys_real(), m.to));
    CHECK(store_exists(sys_real(), third));
  }
}

static bool listed(void *data, const struct listing *run) {
  int *count = data;
  (*count)++;
  CHECK(strcmp(run->url, m.from) != 0 ||
        (run->problem && strstr(run->problem, "its move to ") == run->problem));
  return true;
}

static void test_left(void) {
  TEST("where a run is leaving, no other one begins or arrives, and it is said where it goes") {
    struct kit k;
    struct departure left;
    char other[PATH_MAX];
    int count = 0;
    leave_unfinished();
    CHECK(store_list(sys_real(), s.path, listed, &count, &m.error) && count == 1);
    kit_init(&k, &s);
    strcpy(k.path, m.from);
    CHECK(!kit_open(&k, STORE_CREATE) && k.error.code == ERROR_EXISTS);
    for (uint64_t n = 1; n < 20; n++) {
      struct faulty *f = faulty_new(sys_real());
      faulty_fail(f, FAULTY_FILES, n, EIO, FAULTY_ONCE);
      k.sys = faulty_sys(f);
      CHECK(!kit_open(&k, STORE_CREATE));
      faulty_reset(f);
      faulty_fail(f, FAULTY_FILES, n, EIO, FAULTY_ONCE);
      CHECK(!store_departed(k.sys, m.from, &left, &m.error) || left.known_as[0]);
      faulty_free(f);
    }
    k.sys = sys_real();
    CHECK(!kit_open(&k, STORE_RESUME) && k.error.code == ERROR_MISSING);
    CHECK(strstr(k.error.text, ": contains no run: its move to "));
    CHECK(strstr(k.error.text, "/far/there is not finished"));
    snprintf(other, sizeof other, "%.4000s/other", s.path);
    strcpy(k.path, other);
    k.options.run_id = "r2";
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
    kit_close(&k);
    CHECK(!store_move(sys_real(), other, m.from, m.from, NULL, 0, &m.error));
    CHECK(m.error.code == ERROR_EXISTS && store_exists(sys_real(), other));
    moved_finish(&m, true);
    count = 0;
    CHECK(store_list(sys_real(), s.path, listed, &count, &m.error) && count == 1); /* the other */
    strcpy(k.path, m.from);
    CHECK(!kit_open(&k, STORE_RESUME) &&
          strstr(k.error.text, ": contains no run: it was moved to "));
  }
}

static void test_stays(void) {
  TEST("an unfinished move is undone, unless the run has arrived") {
    bool arrived = true;
    leave_unfinished();
    CHECK(store_move_settle(sys_real(), m.from, m.to, true, &arrived, &m.error) && arrived);
    CHECK(!store_exists(sys_real(), m.from) && store_exists(sys_real(), m.to));
    CHECK(!store_move_settle(sys_real(), m.from, m.to, true, &arrived, &m.error));
    CHECK(m.error.code == ERROR_MISSING);
    for (int known = 0; known < 2; known++) {
      begin_leaving();
      CHECK(store_move_settle(sys_real(), m.from, known ? m.to : NULL, true, &arrived, &m.error));
      CHECK(!arrived && scratch_count(&s, "here", "journal.") == 0);
      moved_is(&m, m.from);
    }
  }
}

/* Moves it back, and there again. */
static void test_again(void) {
  TEST("a run moves as often as one likes") {
    begin();
    CHECK(moved_try(&m, sys_real()));
    for (int i = 0; i < 2; i++) {
      CHECK(store_move(sys_real(), m.to, m.from, m.from, NULL, 0, &m.error));
      CHECK(moved_try(&m, sys_real()));
      moved_finish(&m, true);
    }
  }
}

static void test_other(void) {
  TEST("another run in the new place is not taken for the one that was to arrive") {
    struct kit k;
    bool arrived = true;
    begin_leaving();
    kit_init(&k, &s);
    strcpy(k.path, m.to);
    k.options.run_id = "r2";
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
    kit_close(&k);
    CHECK(store_move_settle(sys_real(), m.from, m.to, false, &arrived, &m.error) && !arrived);
    moved_is(&m, m.from);
    CHECK(!moved_try(&m, sys_real()) && m.error.code == ERROR_EXISTS);
  }
}

static void test_unreachable(void) {
  TEST("where the new place cannot be looked at, a person may say that the run stays") {
    bool arrived = true;
    begin_leaving();
    scratch_write(&s, "far", "", 0);
    CHECK(!store_move_settle(sys_real(), m.from, m.to, false, &arrived, &m.error));
    CHECK(m.error.code == ERROR_SYSTEM && !store_exists(sys_real(), m.from));
    CHECK(store_move_settle(sys_real(), m.from, m.to, true, &arrived, &m.error) && !arrived);
    moved_is(&m, m.from);
  }
}

static void test_wrong(void) {
  static const char *const lines[] = {"", "r1", "r1 there", "r1 \n", " there\n"};
  TEST("a line that does not say where a run went is reported, and nothing is changed") {
    struct departure left;
    bool arrived;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
      leave_unfinished();
      scratch_write(&s, "here/journal.to", lines[i], strlen(lines[i]));
      CHECK(!store_departed(sys_real(), m.from, &left, &m.error) && m.error.code == ERROR_CORRUPT);
      CHECK(!store_move_settle(sys_real(), m.from, m.to, true, &arrived, &m.error));
      CHECK(m.error.code == ERROR_CORRUPT && store_exists(sys_real(), m.to));
    }
  }
}

/* An answer arrives when the run has just left. */
static int rename_and_answer(const struct sys *sys, const char *from, const char *to) {
  struct inbox *inbox = NULL;
  char name[ARRIVAL_NAME];
  int failed = sys_real()->rename(sys_real(), from, to);
  (void)sys;
  if (!strstr(to, "journal.leaving")) return failed;
  CHECK(inbox_open(sys_real(), m.from, &inbox, &m.error));
  CHECK(inbox->ops->put(inbox, NULL, (struct span){"{}", 2}, true, name, &m.error));
  inbox_close(&inbox);
  return failed;
}

static void test_answered(void) {
  TEST("an answer that comes amid the move keeps the run where it is") {
    struct sys sys = *sys_real();
    begin();
    sys.rename = rename_and_answer;
    CHECK(!moved_try(&m, &sys) && m.error.code == ERROR_BUSY);
    CHECK(!store_exists(sys_real(), m.to));
    moved_is(&m, m.from);
  }
}

int main(void) {
  scratch_make(&s);
  test_harm("a call fails", FAILS);
  test_harm("from some call on all fail", FAILS_FROM);
  test_harm("memory is out", NO_MEMORY);
  test_harm("the process dies", KILL);
  test_harm("the power is cut", POWER + FAULTY_STRICT);
  test_harm("the power is cut, and some of what was not synced is there", POWER + FAULTY_TORN);
  test_harm("the power is cut, and any of what was not synced is there", POWER + FAULTY_ANY);
  test_went_on();
  test_left();
  test_stays();
  test_again();
  test_other();
  test_unreachable();
  test_wrong();
  test_answered();
  scratch_remove(&s);
  return check_finish();
}
