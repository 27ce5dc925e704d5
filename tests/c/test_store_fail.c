/* test_store_fail.c: the n-th call fails, for all n: with EIO, ENOSPC, EINTR, a short write, a
 * full disk, no memory. A clear error, then last words where they are possible; no leak; the
 * run resumes with all that was promised. */
#include <errno.h>

#include "support/store_story.h"

struct harm {
  enum { HARM_CALL, HARM_DISK, HARM_ALLOC } kind;
  unsigned mask;
  int number;
  enum faulty_how how; /* FAULTY_SHORT with HARM_ALLOC: two in a row */
  enum durability durability;
};

struct outcome {
  bool met;           /* the n-th call came */
  bool told;          /* the story was told to its end */
  bool created, open; /* the run; the store, when the harm was met */
  bool last_words;    /* were taken and synced */
};

static void harm_plan(struct faulty *f, const struct harm *h, uint64_t n) {
  if (h->kind == HARM_CALL) faulty_fail(f, h->mask, n, h->number, h->how);
  if (h->kind == HARM_DISK) faulty_disk_full(f, n);
  if (h->kind == HARM_ALLOC) faulty_fail_alloc(f, n, h->how == FAULTY_SHORT, h->how == FAULTY_FROM);
}

/* What is found when the harm is over. */
static void aftermath(struct kit *k, const struct story *t, bool last_words) {
  if (!kit_open(k, STORE_RESUME)) {
    CHECK(!t->created && k->error.code == ERROR_MISSING);
    CHECK(kit_open(k, STORE_CREATE) && kit_put(k, 0, 1));
    kit_close(k);
    return;
  }
  int count = kit_count(k);
  if (last_words)
    CHECK(count == t->promised + 1);
  else
    CHECK(count >= t->promised && count <= t->appended + 1);
  CHECK(kit_put(k, count, 1) && kit_count(k) == count + 1);
  kit_close(k);
}

static struct outcome suffer(struct scratch *s, const struct harm *h, uint64_t n) {
  struct faulty *f = faulty_new(sys_real());
  struct outcome o = {0};
  struct kit k;
  struct story t;
  scratch_empty(s);
  kit_init(&k, s);
  k.sys = faulty_sys(f);
  k.options.durability = h->durability;
  harm_plan(f, h, n);
  o.told = story_tell(&k, &t);
  o.created = t.created;
  unsigned mask = h->kind == HARM_CALL   ? h->mask
                  : h->kind == HARM_DISK ? FAULTY_DISK
                                         : FAULTY_BIT(FAULTY_ALLOC);
  o.met = faulty_count(f, mask) >= n;
  CHECK(o.told || (k.error.code != ERROR_NONE && strlen(k.error.text) > 10));
  CHECK(o.told || k.error.code != ERROR_CORRUPT);
  o.open = k.store != NULL;
  if (!o.told && k.store)
    o.last_words = kit_append(&k, t.promised, 1, APPEND_LAST_WORDS) && kit_sync(&k);
  kit_close(&k);
  CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0);
  faulty_reset(f);
  aftermath(&k, &t, o.last_words);
  faulty_free(f);
  return o;
}

static void for_all(struct scratch *s, struct harm h) {
  for (uint64_t n = 1; suffer(s, &h, n).met; n++)
    ;
}

static void test_calls(struct scratch *s) {
  TEST("whichever call to the files fails with EIO, once or from then on: an error, nothing lost "
       "(F41)") {
    for_all(s, (struct harm){HARM_CALL, FAULTY_FILES, EIO, FAULTY_ONCE, DURABILITY_POWER});
    for_all(s, (struct harm){HARM_CALL, FAULTY_FILES, EIO, FAULTY_FROM, DURABILITY_POWER});
  }
  TEST("the same with ENOSPC, and with process durability") {
    for_all(s, (struct harm){HARM_CALL, FAULTY_FILES, ENOSPC, FAULTY_ONCE, DURABILITY_POWER});
    for_all(s, (struct harm){HARM_CALL, FAULTY_FILES, ENOSPC, FAULTY_ONCE, DURABILITY_PROCESS});
  }
  TEST("an interrupted call is made again: the story goes on") {
    unsigned mask = FAULTY_BIT(FAULTY_OPEN) | FAULTY_BIT(FAULTY_READ) | FAULTY_BIT(FAULTY_WRITE) |
                    FAULTY_BIT(FAULTY_FSYNC) | FAULTY_BIT(FAULTY_FDATASYNC) |
                    FAULTY_BIT(FAULTY_LOCK) | FAULTY_BIT(FAULTY_RESERVE);
    struct harm h = {HARM_CALL, mask, EINTR, FAULTY_ONCE, DURABILITY_POWER};
    struct outcome o;
    uint64_t n = 1;
    for (; (o = suffer(s, &h, n)).met; n++)
      CHECK(o.told);
    CHECK(n > 50);
  }
  TEST("a short write of a batch is a failure, cut back, and last words are still taken") {
    struct harm h = {HARM_CALL, FAULTY_BIT(FAULTY_WRITE), 0, FAULTY_SHORT, DURABILITY_POWER};
    struct outcome o;
    int failures = 0;
    for (uint64_t n = 1; (o = suffer(s, &h, n)).met; n++) {
      if (o.told) continue; /* a view or a segment's first line: written on */
      failures++;
      CHECK(o.created && o.last_words);
    }
    CHECK(failures == STORY_BATCHES);
  }
}

static void test_disk_full(struct scratch *s) {
  TEST("a disk that is full at any moment still takes the last words (F41)") {
    struct harm h = {HARM_DISK, 0, 0, FAULTY_FROM, DURABILITY_POWER};
    struct outcome o;
    int said = 0;
    for (uint64_t n = 1; (o = suffer(s, &h, n)).met; n++) {
      CHECK(o.told || !o.open || o.last_words);
      said += o.last_words;
    }
    CHECK(said > 20);
  }
  TEST("and however much of the space taken in advance was used before") {
    static char large[7000];
    struct span payload = {large, 0};
    memset(large, '7', sizeof large);
    for (uint64_t n = 1; n < 60; n++) {
      struct faulty *f = faulty_new(sys_real());
      struct kit k;
      scratch_empty(s);
      kit_init(&k, s);
      k.sys = faulty_sys(f);
      CHECK(kit_open(&k, STORE_CREATE));
      faulty_reset(f);
      faulty_disk_full(f, n);
      payload.length = 6000 + n * 10; /* for some n the pieces are used up to the last bytes */
      while (kit_append_one(&k, payload, APPEND_WHOLE) && kit_sync(&k))
        ;
      payload.length = 2000;
      CHECK(kit_append_one(&k, payload, APPEND_LAST_WORDS) && kit_sync(&k));
      kit_close(&k);
      CHECK(kit_open(&k, STORE_READ));
      kit_close(&k);
      faulty_free(f);
    }
  }
}

static void test_final(struct scratch *s) {
  TEST("where the file system cannot allot space, a file holds it") {
    struct faulty *f = faulty_new(sys_real());
    struct kit k;
    scratch_empty(s);
    kit_init(&k, s);
    k.sys = faulty_sys(f);
    faulty_fail(f, FAULTY_BIT(FAULTY_RESERVE), 1, EOPNOTSUPP, FAULTY_FROM);
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
    CHECK(scratch_count(s, "run/journal", "reserve") == 1);
    faulty_fail(f, FAULTY_BIT(FAULTY_WRITE), 1, ENOSPC, FAULTY_ONCE);
    CHECK(!kit_append(&k, 1, 1, APPEND_WHOLE) && strstr(k.error.text, "No space left on device"));
    CHECK(!kit_append(&k, 1, 1, APPEND_WHOLE) && strstr(k.error.text, "No space left on device"));
    CHECK(kit_append(&k, 1, 1, APPEND_LAST_WORDS) && kit_sync(&k));
    CHECK(scratch_count(s, "run/journal", "reserve") == 0);
    CHECK(!kit_append(&k, 2, 1, APPEND_LAST_WORDS));
    kit_close(&k);
    CHECK(kit_open(&k, STORE_READ) && kit_count(&k) == 2);
    kit_close(&k);
    faulty_free(f);
  }
  TEST("a failed sync is final: it is not tried again, and not even last words are taken") {
    struct faulty *f = faulty_new(sys_real());
    struct kit k;
    scratch_empty(s);
    kit_init(&k, s);
    k.sys = faulty_sys(f);
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
    faulty_reset(f);
    faulty_fail(f, FAULTY_BIT(FAULTY_FDATASYNC), 1, EIO, FAULTY_ONCE);
    CHECK(kit_append(&k, 1, 1, APPEND_WHOLE) && !kit_sync(&k));
    CHECK(strstr(k.error.text, "/00000001.sj: sync: Input/output error"));
    CHECK(!kit_sync(&k) && !kit_append(&k, 2, 1, APPEND_WHOLE) &&
          !kit_append(&k, 2, 1, APPEND_LAST_WORDS));
    kit_close(&k);
    CHECK(faulty_count(f, FAULTY_BIT(FAULTY_FDATASYNC)) == 1);
    CHECK(faulty_count(f, FAULTY_BIT(FAULTY_WRITE)) == 1);
    faulty_free(f);
  }
}

static void test_no_cut(struct scratch *s) {
  TEST("what a failed write left and cannot be cut off is left as it is: no last words behind it") {
    struct faulty *halved = faulty_new(sys_real()), *uncut = faulty_new(faulty_sys(halved));
    struct kit k;
    scratch_empty(s);
    kit_init(&k, s);
    k.sys = faulty_sys(uncut);
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
    faulty_reset(halved);
    faulty_fail(halved, FAULTY_BIT(FAULTY_WRITE), 1, 0, FAULTY_SHORT);
    faulty_fail(uncut, FAULTY_BIT(FAULTY_TRUNCATE), 1, EIO, FAULTY_FROM);
    CHECK(!kit_append(&k, 1, 1, APPEND_WHOLE));
    CHECK(!kit_append(&k, 1, 1, APPEND_LAST_WORDS) && !kit_sync(&k));
    kit_close(&k);
    faulty_reset(uncut);
    CHECK(kit_open(&k, STORE_RESUME) && kit_count(&k) == 1 && kit_put(&k, 1, 1));
    kit_close(&k);
    faulty_free(uncut);
    faulty_free(halved);
  }
}

static void test_memory(struct scratch *s) {
  TEST("whichever allocation fails, alone, with the next, or with all later ones: an error, no "
       "leak") {
    for_all(s, (struct harm){HARM_ALLOC, 0, 0, FAULTY_ONCE, DURABILITY_POWER});
    for_all(s, (struct harm){HARM_ALLOC, 0, 0, FAULTY_SHORT, DURABILITY_POWER});
    for_all(s, (struct harm){HARM_ALLOC, 0, 0, FAULTY_FROM, DURABILITY_POWER});
  }
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_calls(&s);
  test_disk_full(&s);
  test_final(&s);
  test_no_cut(&s);
  test_memory(&s);
  scratch_remove(&s);
  return check_finish();
}
