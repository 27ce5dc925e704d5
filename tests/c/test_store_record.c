/* test_store_record.c: one record read by its number: while its run is written, after a resume,
 * from any segment, at the same cost wherever it stands. */
#include <unistd.h>

#include "support/store_kit.h"

enum { COUNT = 3000 };

/* The payload of a record, or "" with k->error filled. */
static const char *record_of(struct kit *k, uint64_t seq) {
  static char text[256];
  struct buffer to;
  buffer_init(&to, k->sys, 1000);
  text[0] = '\0';
  error_clear(&k->error);
  if (k->store->ops->record(k->store, seq, &to, &k->error))
    snprintf(text, sizeof text, "%s", to.data ? to.data : "");
  else
    CHECK(to.length == 0);
  buffer_clear(&to);
  return text;
}

struct place {
  uint64_t seq;
  char text[32];
};

struct places {
  struct place at[COUNT + 16];
  int count;
};

static bool remember(void *data, const struct record *record, struct error *e) {
  struct places *all = data;
  struct place *place = &all->at[all->count++];
  (void)e;
  place->seq = record->seq;
  snprintf(place->text, sizeof place->text, "%.*s", (int)record->payload.length,
           record->payload.data);
  return all->count < COUNT + 16;
}

/* Every record that read gives is given by its number, too; how many were compared. */
static int all_same(struct kit *k) {
  static struct places all;
  all.count = 0;
  CHECK(k->store->ops->read(k->store, 0, remember, &all, &k->error));
  for (int i = 0; i < all.count; i++)
    if (strcmp(record_of(k, all.at[i].seq), all.at[i].text) != 0) return -1;
  return all.count;
}

static void test_reading(struct scratch *s) {
  struct kit k;
  kit_init(&k, s);
  k.options.durability = DURABILITY_PROCESS;
  k.options.segment_bytes = 50000;
  TEST("a record is read by its number while its run is written, before its sync too") {
    CHECK(kit_open(&k, STORE_CREATE));
    for (int i = 0; i < COUNT; i += 3)
      CHECK(kit_append(&k, i, 3, APPEND_WHOLE));
    CHECK(all_same(&k) == COUNT);
    k.options.durability = DURABILITY_POWER;
    kit_close(&k);
    CHECK(kit_open(&k, STORE_RESUME) && kit_append(&k, COUNT, 1, APPEND_WHOLE));
    CHECK_STR(record_of(&k, k.store->ops->seq(k.store)), "{\"n\":3000}");
    CHECK(kit_sync(&k));
  }
  TEST("and after a resume, from any segment; a reader has them as well") {
    CHECK(all_same(&k) == COUNT + 1);
    kit_close(&k);
    CHECK(scratch_count(s, "run/journal", "0000") >= 4);
    CHECK(kit_open(&k, STORE_READ) && all_same(&k) == COUNT + 1);
    kit_close(&k);
  }
  TEST("a number that no payload has is missing, and says so") {
    CHECK(kit_open(&k, STORE_READ));
    record_of(&k, 0);
    CHECK(k.error.code == ERROR_MISSING && strstr(k.error.text, "record 0 is the store's own"));
    record_of(&k, 1000000);
    CHECK(k.error.code == ERROR_MISSING && strstr(k.error.text, "record 1000000 is not there"));
    kit_close(&k);
  }
  TEST("a run in memory has none") {
    CHECK(kit_open_memory(&k));
    CHECK(kit_append(&k, 0, 1, APPEND_WHOLE));
    record_of(&k, 1);
    CHECK(k.error.code == ERROR_MISSING);
    kit_close(&k);
  }
}

static void test_cost(struct scratch *s) {
  TEST("that costs a few reads, wherever it stands, and a little memory for the whole journal") {
    struct faulty *f = faulty_new(sys_real());
    struct kit k;
    kit_init(&k, s);
    k.sys = faulty_sys(f);
    k.options.whole = true;
    CHECK(kit_open(&k, STORE_READ));
    CHECK(faulty_outstanding(f) < 16384);
    uint64_t last = k.store->ops->seq(k.store);
    for (uint64_t seq = 1; seq < last; seq += 41) {
      faulty_reset(f);
      record_of(&k, seq);
      CHECK(faulty_count(f, FAULTY_FILES) <= 8);
    }
    kit_close(&k);
    CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0);
    faulty_free(f);
  }
}

static bool count_one(void *data, const struct record *record, struct error *e) {
  (void)record, (void)e;
  ++*(int *)data;
  return true;
}

static void test_last(struct scratch *s) {
  TEST("the last records are read without those before them") {
    enum { LONG = 12000 }; /* several reads long */
    struct faulty *f = faulty_new(sys_real());
    struct kit k;
    int count = 0;
    scratch_empty(s);
    kit_init(&k, s);
    k.sys = faulty_sys(f);
    k.options.durability = DURABILITY_PROCESS;
    CHECK(kit_open(&k, STORE_CREATE));
    for (int i = 0; i < LONG; i += 100)
      CHECK(kit_append(&k, i, 100, APPEND_WHOLE));
    faulty_reset(f);
    CHECK(k.store->ops->read(k.store, k.store->ops->seq(k.store) - 1, count_one, &count, &k.error));
    CHECK(count == 2 && faulty_count(f, FAULTY_BIT(FAULTY_READ)) == 1);
    kit_close(&k);
    faulty_free(f);
  }
}

static void test_damage(struct scratch *s) {
  struct kit k;
  kit_init(&k, s);
  TEST("a damaged record is refused by file, offset and number, and others are still read") {
    scratch_empty(s);
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 4));
    size_t length;
    char *bytes = scratch_read(s, "run/journal/00000001.sj", &length);
    char *third = strstr(bytes, "{\"n\":2}");
    third[5] = '7';
    scratch_write(s, "run/journal/00000001.sj", bytes, length);
    CHECK_STR(record_of(&k, 2), "{\"n\":1}");
    CHECK_STR(record_of(&k, 4), "{\"n\":3}");
    CHECK_STR(record_of(&k, 3), "");
    char where[64];
    snprintf(where, sizeof where, "/00000001.sj: offset %d, record 3: ", (int)(third - bytes) - 58);
    CHECK(k.error.code == ERROR_CORRUPT && strstr(k.error.text, where));
    third[-58] = 'K'; /* the head: nothing behind it can be found */
    scratch_write(s, "run/journal/00000001.sj", bytes, length);
    record_of(&k, 4);
    CHECK(k.error.code == ERROR_CORRUPT && strstr(k.error.text, where));
    CHECK(truncate(scratch_path(s, "run/journal/00000001.sj"), 300) == 0);
    record_of(&k, 4);
    CHECK(k.error.code == ERROR_CORRUPT);
    free(bytes);
    kit_close(&k);
  }
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_reading(&s);
  test_cost(&s);
  test_last(&s);
  test_damage(&s);
  scratch_remove(&s);
  return check_finish();
}
