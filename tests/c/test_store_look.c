/* test_store_look.c: a run looked at: how much of its journal that reads, where it begins, and what
 * damage it meets when. */
#include "support/store_kit.h"

enum { COUNT = 2000 };

static void story(struct scratch *s, struct kit *k) {
  scratch_empty(s);
  kit_init(k, s);
  k->options.durability = DURABILITY_PROCESS;
  k->options.segment_bytes = 8000;
  CHECK(kit_open(k, STORE_CREATE));
  for (int i = 0; i < COUNT; i++)
    CHECK(kit_append(k, i, 1, APPEND_WHOLE));
  kit_close(k);
}

struct seen {
  uint64_t first, count;
};

static bool see(void *data, const struct record *record, struct error *e) {
  struct seen *seen = data;
  (void)e;
  if (seen->count++ == 0) seen->first = record->seq;
  return true;
}

static struct seen look(struct kit *k, uint64_t from) {
  struct seen seen = {0};
  error_clear(&k->error);
  k->store->ops->read(k->store, from, see, &seen, &k->error);
  return seen;
}

static void test_tail(struct scratch *s) {
  struct kit k;
  story(s, &k);
  int segments = scratch_count(s, "run/journal", "0000");
  TEST(
      "a look opens the first segment and the last, and keeps little in memory, however many there "
      "are") {
    struct faulty *f = faulty_new(sys_real());
    k.sys = faulty_sys(f);
    CHECK(segments > 10 && kit_open(&k, STORE_READ));
    CHECK(faulty_count(f, FAULTY_BIT(FAULTY_OPEN)) <= 5); /* and the lock and the view */
    CHECK(k.report.last > COUNT && k.report.payload < k.report.last);
    CHECK(faulty_outstanding(f) < 4096);
    faulty_reset(f);
    CHECK(kit_count(&k) == COUNT && faulty_count(f, FAULTY_BIT(FAULTY_OPEN)) == (unsigned)segments);
    kit_close(&k);
    faulty_free(f);
    k.sys = sys_real();
  }
  TEST("all of it is checked first where that is asked for, and by who goes on") {
    k.options.whole = true;
    CHECK(kit_open(&k, STORE_READ) && k.report.records == COUNT);
    kit_close(&k);
    k.options.whole = false;
    CHECK(kit_open(&k, STORE_RESUME) && k.report.records == COUNT);
  }
  TEST("reading begins at any record") {
    for (uint64_t from = 0; from < COUNT + 30; from += 131) {
      struct seen seen = look(&k, from);
      CHECK(k.error.code == ERROR_NONE);
      CHECK(seen.count == 0 ? from > k.report.payload
                            : seen.first >= from && seen.first < from + 3);
    }
    kit_close(&k);
  }
}

static void test_ending(struct scratch *s) {
  struct kit k;
  story(s, &k);
  TEST("the newest record with an ending is found, in whichever segment it is") {
    static const int numbers[] = {1999, 1700, 900, 444, 3};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
      for (int mode = STORE_RESUME; mode <= STORE_READ; mode++) {
        char ending[32], want[32];
        int length = snprintf(ending, sizeof ending, ":%d}", numbers[i]);
        snprintf(want, sizeof want, "{\"n\":%d}", numbers[i]);
        k.options.ending = (struct span){ending, (size_t)length};
        CHECK(kit_open(&k, (enum store_open)mode) && k.report.newest > 0);
        struct buffer found;
        buffer_init(&found, k.sys, 100);
        CHECK(k.store->ops->record(k.store, k.report.newest, &found, &k.error));
        CHECK_STR(found.data, want);
        buffer_clear(&found);
        CHECK(look(&k, k.report.newest).count == (uint64_t)(COUNT - numbers[i]));
        kit_close(&k);
      }
    k.options.ending = (struct span){":none}", 6};
    CHECK(kit_open(&k, STORE_READ) && k.report.newest == 0 && k.report.records == COUNT);
    kit_close(&k);
  }
}

static void test_damage(struct scratch *s) {
  struct kit k;
  story(s, &k);
  size_t length;
  char *bytes = scratch_read(s, "run/journal/00000003.sj", &length);
  bytes[700] ^= 1;
  scratch_write(s, "run/journal/00000003.sj", bytes, length);
  TEST(
      "damage in front of the last segment is met by who reads there, and by who goes on at once") {
    CHECK(kit_open(&k, STORE_READ));
    uint64_t before = look(&k, 0).count;
    CHECK(k.error.code == ERROR_CORRUPT && strstr(k.error.text, "/00000003.sj: offset "));
    CHECK(before > 100 && before < 400);
    CHECK(look(&k, COUNT / 2).first == 0 || k.error.code == ERROR_NONE);
    kit_close(&k);
    k.options.whole = true;
    CHECK(!kit_open(&k, STORE_READ) && k.error.code == ERROR_CORRUPT);
    CHECK(!kit_open(&k, STORE_RESUME) && k.error.code == ERROR_CORRUPT);
  }
  TEST("damage in the first record, or the last segment, by everybody") {
    static const char *const names[] = {"run/journal/00000001.sj", NULL};
    char last[64];
    snprintf(last, sizeof last, "run/journal/%08d.sj", scratch_count(s, "run/journal", "0000"));
    for (int i = 0; i < 2; i++) {
      const char *name = names[i] ? names[i] : last;
      k.options.whole = false;
      char *good = scratch_read(s, name, &length);
      good[70] ^= 1;
      scratch_write(s, name, good, length);
      CHECK(!kit_open(&k, STORE_READ) && k.error.code == ERROR_CORRUPT);
      good[70] ^= 1;
      scratch_write(s, name, good, length);
      free(good);
    }
  }
  free(bytes);
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_tail(&s);
  test_ending(&s);
  test_damage(&s);
  scratch_remove(&s);
  return check_finish();
}
