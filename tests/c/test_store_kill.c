/* test_store_kill.c: the process dies, or the power is cut, at every call to the disk in turn.
 *
 * Whatever the point of the reference story (store_story.h), the run opens again (or was never
 * begun) with a prefix of what was appended that holds all whose sync had returned. */
#include "support/store_story.h"

enum { ROUNDS = 2 };

struct tally {
  long points, lost, duplicated, refused;
};

/* Opens the run after the harm, checks the promise, and goes on: a second harm may come. */
static void survey(struct kit *k, const struct story *t, struct tally *tally, const char *where) {
  char digest[65];
  struct buffer blob;
  tally->points++;
  if (!kit_open(k, STORE_RESUME)) {
    if (!t->created && k->error.code == ERROR_MISSING) { /* never begun: it can be begun now */
      CHECK(kit_open(k, STORE_CREATE));
      CHECK(kit_put(k, 0, 1) && kit_count(k) == 1);
      kit_close(k);
      return;
    }
    tally->refused++;
    printf("# %s: %s\n", where, k->error.text);
    return;
  }
  int count = kit_count(k);
  if (count < t->promised) tally->lost++;
  if (count > t->appended) tally->duplicated++;
  if (count < t->promised || count > t->appended)
    printf("# %s: %d payloads, %d were promised, %d appended (%s)\n", where, count, t->promised,
           t->appended, k->error.text);
  CHECK(k->report.records == (uint64_t)count);
  sha256_hex("a large value", 13, digest);
  buffer_init(&blob, k->sys, 100);
  CHECK(t->promised < 4 || k->store->ops->blob_get(k->store, digest, &blob, &k->error));
  buffer_clear(&blob);
  CHECK(kit_put(k, count, 2) && kit_count(k) == count + 2);
  kit_close(k);
  CHECK(kit_open(k, STORE_RESUME) && !k->report.unclean && kit_count(k) == count + 2);
  kit_close(k);
}

/* One story per point; gives the number of points. `cut`: -1 for a kill. */
static void everywhere(struct scratch *s, unsigned mask, bool halfway, int cut, uint64_t seed,
                       enum durability durability, struct tally *tally) {
  for (uint64_t n = 1;; n++) {
    struct faulty *f = faulty_new(sys_real());
    struct kit k;
    struct story t;
    char where[64];
    scratch_empty(s);
    kit_init(&k, s);
    k.sys = faulty_sys(f);
    k.options.durability = durability;
    if (cut >= 0) faulty_power(f, s->path);
    faulty_kill(f, mask, n, halfway);
    story_tell(&k, &t);
    kit_close(&k);
    bool killed = faulty_killed(f);
    if (cut >= 0) faulty_power_cut(f, (enum faulty_cut)cut, seed * 1000 + n);
    faulty_reset(f);
    snprintf(where, sizeof where, "%s at call %lu", cut < 0 ? "kill" : "power cut",
             (unsigned long)n);
    survey(&k, &t, tally, where);
    CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0);
    faulty_free(f);
    if (!killed) return;
  }
}

/* A second harm while the first is being repaired. */
static void twice(struct scratch *s, int cut, struct tally *tally) {
  for (uint64_t first = 20; first < 90; first += 6)
    for (uint64_t second = 1;; second++) {
      struct faulty *f = faulty_new(sys_real());
      struct kit k;
      struct story t;
      scratch_empty(s);
      kit_init(&k, s);
      k.sys = faulty_sys(f);
      faulty_power(f, s->path);
      faulty_kill(f, FAULTY_DISK, first, true);
      story_tell(&k, &t);
      kit_close(&k);
      faulty_power_cut(f, (enum faulty_cut)cut, first);
      faulty_reset(f);
      faulty_kill(f, FAULTY_DISK, second, true);
      if (kit_open(&k, STORE_RESUME)) kit_close(&k);
      bool killed = faulty_killed(f);
      faulty_power_cut(f, (enum faulty_cut)cut, second);
      faulty_reset(f);
      survey(&k, &t, tally, "two harms");
      faulty_free(f);
      if (!killed) break;
    }
}

/* The process dies, another resumes, and the power fails before that wrote anything: what it
 * read, and may have acted upon, is still there. */
static void read_is_durable(struct scratch *s, enum durability before, struct tally *tally) {
  for (uint64_t n = 1;; n++) {
    struct faulty *f = faulty_new(sys_real());
    struct kit k;
    struct story t;
    scratch_empty(s);
    kit_init(&k, s);
    k.sys = faulty_sys(f);
    k.options.durability = before;
    faulty_power(f, s->path);
    faulty_kill(f, FAULTY_DISK, n, false);
    story_tell(&k, &t);
    kit_close(&k);
    bool killed = faulty_killed(f);
    faulty_reset(f);
    k.options.durability = DURABILITY_POWER;
    if (kit_open(&k, STORE_RESUME)) {
      int count = kit_count(&k);
      faulty_kill(f, FAULTY_DISK, 1, false);
      kit_close(&k);
      faulty_power_cut(f, FAULTY_STRICT, 0);
      faulty_reset(f);
      tally->points++;
      if (!kit_open(&k, STORE_RESUME) || kit_count(&k) != count) {
        printf("# resumed after call %lu: %s\n", (unsigned long)n, k.error.text);
        tally->lost++;
      }
      kit_close(&k);
    } else {
      CHECK(!t.created && k.error.code == ERROR_MISSING);
    }
    faulty_free(f);
    if (!killed) return;
  }
}

int main(void) {
  struct scratch s;
  struct tally all = {0};
  scratch_make(&s);
  TEST("killed before any call to the disk, a run loses and repeats nothing (R87, F40)") {
    everywhere(&s, FAULTY_DISK, false, -1, 0, DURABILITY_POWER, &all);
    everywhere(&s, FAULTY_DISK, false, -1, 0, DURABILITY_PROCESS, &all);
    CHECK(all.lost == 0 && all.duplicated == 0 && all.refused == 0);
  }
  TEST("killed halfway through any write, a run loses and repeats nothing (F41)") {
    everywhere(&s, FAULTY_BIT(FAULTY_WRITE), true, -1, 0, DURABILITY_POWER, &all);
    CHECK(all.lost == 0 && all.duplicated == 0 && all.refused == 0);
  }
  TEST("a power cut at any call to the disk loses nothing that was synced (F41)") {
    everywhere(&s, FAULTY_DISK, true, FAULTY_STRICT, 0, DURABILITY_POWER, &all);
    CHECK(all.lost == 0 && all.duplicated == 0 && all.refused == 0);
  }
  TEST("nor when some of what was not synced stays, torn (F41)") {
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
      everywhere(&s, FAULTY_DISK, true, FAULTY_TORN, seed, DURABILITY_POWER, &all);
    CHECK(all.lost == 0 && all.duplicated == 0 && all.refused == 0);
  }
  TEST("a second power cut while the first is repaired loses nothing") {
    twice(&s, FAULTY_STRICT, &all);
    twice(&s, FAULTY_TORN, &all);
    CHECK(all.lost == 0 && all.duplicated == 0 && all.refused == 0);
  }
  TEST("what a resume has read is durable before it returns, whoever wrote it") {
    read_is_durable(&s, DURABILITY_POWER, &all);
    read_is_durable(&s, DURABILITY_PROCESS, &all);
    CHECK(all.lost == 0);
  }
  scratch_remove(&s);
  printf("%ld points, %ld lost, %ld duplicated\n", all.points, all.lost + all.refused,
         all.duplicated);
  return check_finish();
}
