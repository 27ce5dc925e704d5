/* test_store_boot.c: what a damaged end is taken for: after a kill, after a power cut, where nobody
 * can tell; and how a journal that is refused is cut. */
#include <errno.h>
#include <glob.h>
#include <unistd.h>

#include "support/store_kit.h"

static const char segment_name[] = "run/journal/00000001.sj";

static struct sys world; /* the real one, but for what a test says */

static int another_boot(const struct sys *sys, char to[SYS_BOOT]) {
  (void)sys;
  snprintf(to, SYS_BOOT, "another");
  return 0;
}

static int not_local(const struct sys *sys, int fd) {
  (void)sys, (void)fd;
  return 0;
}

struct sample {
  char *bytes;
  size_t length, last; /* where the last batch begins */
};

/* Two batches of one and two payloads, and the lock that their writer left. */
static void sample_make(struct scratch *s, struct sample *a) {
  struct kit k;
  scratch_empty(s);
  world = *sys_real();
  kit_init(&k, s);
  k.sys = &world;
  CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
  a->last = (size_t)k.store->ops->bytes(k.store);
  CHECK(kit_put(&k, 1, 2));
  a->bytes = scratch_read(s, segment_name, &a->length);
  kit_close(&k);
}

/* Puts these bytes in place and opens: payloads, or minus the error's code. */
static int attempt(struct scratch *s, struct kit *k, const void *bytes, size_t length) {
  scratch_write(s, segment_name, bytes, length);
  unlink(scratch_path(s, "run/journal/00000002.sj"));
  unsigned long before = scratch_print(s, "run/journal");
  kit_init(k, s);
  k->sys = &world;
  if (!kit_open(k, STORE_RESUME)) {
    CHECK(scratch_print(s, "run/journal") == before);
    return -(int)k->error.code;
  }
  int count = kit_count(k);
  kit_close(k);
  return count;
}

/* Removes all that was cut off before: of one second there may be 1,000 such files. */
static void forget_cuts(struct scratch *s) {
  glob_t found = {0};
  if (glob(scratch_path(s, "run/journal.cut-*"), 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++)
      unlink(found.gl_pathv[i]);
  globfree(&found);
}

/* What was cut off lies beside the journal; it is taken away. */
static void check_kept(struct scratch *s, struct kit *k, const struct sample *a, size_t length) {
  char name[160];
  size_t kept = 0;
  snprintf(name, sizeof name, "run/%s", k->report.cut_file);
  char *cut = scratch_read(s, name, &kept);
  CHECK(cut && kept == length - a->last && memcmp(cut, a->bytes + a->last, kept) == 0);
  free(cut);
  unlink(scratch_path(s, name));
}

static void test_same_boot(struct scratch *s) {
  struct sample a;
  struct kit k;
  sample_make(s, &a);
  char *bytes = malloc(a.length + 100);
  TEST("since the machine was started, a flipped bit in the last batch is damage, not a torn tail "
       "(F41)") {
    int refused = 0, wanted = 0;
    for (size_t i = a.last; i < a.length; i++)
      for (int bit = 0; bit < 8; bit++, wanted++) {
        memcpy(bytes, a.bytes, a.length);
        bytes[i] = (char)(bytes[i] ^ 1 << bit);
        refused += attempt(s, &k, bytes, a.length) == -ERROR_CORRUPT;
        CHECK(strstr(k.error.text, "nothing was changed") && strstr(k.error.text, "recover"));
      }
    CHECK(refused == wanted && wanted > 1000);
    memcpy(bytes, a.bytes, a.length);
    memset(bytes + a.length, 0, 100);
    CHECK(attempt(s, &k, bytes, a.length + 100) == -ERROR_CORRUPT);
  }
  TEST("what a kill leaves is cut there: a last batch that ends too early, at any byte") {
    for (size_t length = a.last + 1; length < a.length; length++) {
      CHECK(attempt(s, &k, a.bytes, length) == 1);
      CHECK(k.report.cut_bytes == length - a.last && !k.report.cut_doubtful);
    }
  }
  TEST(
      "no run is where a power cut tore the first record, and the next one failed to begin there") {
    struct faulty *f = faulty_new(&world);
    bool met = true;
    for (uint64_t n = 1; met; n++) {
      scratch_empty(s);
      world.boot = another_boot;
      kit_init(&k, s);
      k.sys = &world;
      CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
      kit_close(&k);
      world.boot = sys_real()->boot;
      memcpy(bytes, a.bytes, a.last);
      memset(bytes + a.last - 20, '#', 10);
      scratch_write(s, segment_name, bytes, a.last);
      kit_init(&k, s);
      k.sys = faulty_sys(f);
      faulty_reset(f);
      faulty_fail(f, FAULTY_FILES, n, ENOSPC, FAULTY_FROM);
      if (kit_open(&k, STORE_CREATE)) kit_close(&k);
      met = faulty_count(f, FAULTY_FILES) >= n;
      faulty_reset(f);
      k.options.whole = true;
      bool reads = kit_open(&k, STORE_READ);
      CHECK(reads ? k.report.records == 0 : k.error.code == ERROR_MISSING);
      if (reads) kit_close(&k);
      CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
      kit_close(&k);
    }
    faulty_free(f);
  }
  TEST("a torn tail whose copy or cut fails is not taken for cut, whichever call fails") {
    struct faulty *f = faulty_new(&world);
    bool met = true;
    for (uint64_t n = 1; met && n < 200; n++) {
      forget_cuts(s);
      scratch_write(s, segment_name, a.bytes, a.length - 5);
      unlink(scratch_path(s, "run/journal/00000002.sj"));
      kit_init(&k, s);
      k.sys = faulty_sys(f);
      k.options.durability = DURABILITY_POWER;
      faulty_reset(f);
      faulty_fail(f, FAULTY_FILES, n, EIO, FAULTY_ONCE);
      if (kit_open(&k, STORE_RESUME)) {
        check_kept(s, &k, &a, a.length - 5);
        kit_close(&k);
      } else
        CHECK(k.error.code == ERROR_SYSTEM);
      met = faulty_count(f, FAULTY_FILES) >= n;
      k.sys = &world;
      if (kit_open(&k, STORE_RESUME) && k.report.cut_file[0]) check_kept(s, &k, &a, a.length - 5);
      CHECK(kit_count(&k) == 1 && kit_put(&k, 1, 1));
      kit_close(&k);
    }
    CHECK(!met);
    faulty_free(f);
  }
  TEST("a reader is told the same") {
    memcpy(bytes, a.bytes, a.length);
    bytes[a.length - 10] ^= 1;
    CHECK(attempt(s, &k, bytes, a.length) == -ERROR_CORRUPT);
    CHECK(!kit_open(&k, STORE_READ) && k.error.code == ERROR_CORRUPT);
  }
  free(bytes);
  free(a.bytes);
}

static void test_other_boot(struct scratch *s) {
  struct sample a;
  struct kit k;
  for (int how = 0; how < 3; how++) {
    sample_make(s, &a);
    a.bytes[a.length - 10] ^= 1;
    TEST("after another boot, on a file system of others, or without a lock's word: a torn tail, "
         "cut "
         "and called doubtful") {
      if (how == 0) world.boot = another_boot;
      if (how == 1) world.is_local = not_local;
      if (how == 2) CHECK(unlink(scratch_path(s, "run/run.lock")) == 0);
      CHECK(attempt(s, &k, a.bytes, a.length) == 1);
      CHECK(k.report.cut_bytes == a.length - a.last && k.report.cut_doubtful);
    }
    TEST("and from there on this boot's word holds") {
      world.is_local = sys_real()->is_local;
      CHECK(attempt(s, &k, a.bytes, a.length) == -ERROR_CORRUPT);
    }
    free(a.bytes);
  }
}

static void test_cut(struct scratch *s) {
  struct sample a;
  struct kit k;
  sample_make(s, &a);
  TEST("a journal that is refused opens when it is cut: the rest is kept beside it") {
    a.bytes[a.last + 70] ^= 1;
    CHECK(attempt(s, &k, a.bytes, a.length) == -ERROR_CORRUPT);
    k.options.cut = true;
    CHECK(kit_open(&k, STORE_RESUME) && kit_count(&k) == 1);
    CHECK(k.report.cut_bytes == a.length - a.last && k.report.cut_doubtful);
    kit_close(&k);
    check_kept(s, &k, &a, a.length);
    k.options.cut = false;
    CHECK(kit_open(&k, STORE_RESUME) && kit_count(&k) == 1 && kit_put(&k, 1, 1));
    kit_close(&k);
  }
  free(a.bytes);
}

/* A run of many segments, closed. */
static void many_segments(struct scratch *s, struct kit *k) {
  scratch_empty(s);
  kit_init(k, s);
  k->options.segment_bytes = 400;
  CHECK(kit_open(k, STORE_CREATE));
  for (int i = 0; i < 20; i++)
    CHECK(kit_put(k, i, 1));
  kit_close(k);
}

/* The third segment is damaged, or missing. */
static void test_cut_segments(struct scratch *s) {
  TEST("what is behind damage in the middle is kept, too: all later segments") {
    for (int missing = 0; missing < 2; missing++) {
      struct kit k;
      many_segments(s, &k);
      int segments = scratch_count(s, "run/journal", "0000");
      size_t length;
      char *bytes = scratch_read(s, "run/journal/00000003.sj", &length);
      bytes[70] ^= 1; /* in its first line */
      scratch_write(s, "run/journal/00000003.sj", bytes, length);
      if (missing) unlink(scratch_path(s, "run/journal/00000003.sj"));
      CHECK(!kit_open(&k, STORE_RESUME) && k.error.code == ERROR_CORRUPT);
      k.options.cut = true;
      CHECK(kit_open(&k, STORE_RESUME));
      int count = kit_count(&k);
      CHECK(count > 2 && count < 10 && kit_put(&k, count, 1));
      kit_close(&k);
      CHECK(scratch_count(s, "run", "journal.cut-") == segments - 2 - missing);
      k.options.cut = false;
      CHECK(kit_open(&k, STORE_RESUME) && !k.report.unclean && kit_count(&k) == count + 1);
      kit_close(&k);
      free(bytes);
    }
  }
  TEST("later segments that cannot be moved aside: it is not cut, and says so") {
    struct kit k;
    struct faulty *f = faulty_new(sys_real());
    many_segments(s, &k);
    unlink(scratch_path(s, "run/journal/00000003.sj"));
    unsigned long before = scratch_print(s, "run/journal");
    k.options.cut = true;
    k.sys = faulty_sys(f);
    faulty_fail(f, FAULTY_BIT(FAULTY_RENAME), 1, EIO, FAULTY_ONCE);
    CHECK(!kit_open(&k, STORE_RESUME) && k.error.code == ERROR_SYSTEM);
    CHECK(scratch_print(s, "run/journal") == before);
    faulty_free(f);
  }
  TEST("a journal whose first record is damaged cannot be cut, and is left alone") {
    struct kit k;
    size_t length;
    kit_init(&k, s);
    char *bytes = scratch_read(s, segment_name, &length);
    bytes[70] ^= 1;
    scratch_write(s, segment_name, bytes, length);
    unsigned long before = scratch_print(s, "run/journal");
    k.options.cut = true;
    CHECK(!kit_open(&k, STORE_RESUME) && k.error.code == ERROR_CORRUPT);
    CHECK(scratch_print(s, "run/journal") == before);
    free(bytes);
  }
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_same_boot(&s);
  test_other_boot(&s);
  test_cut(&s);
  test_cut_segments(&s);
  scratch_remove(&s);
  return check_finish();
}
