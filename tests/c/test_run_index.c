/* test_run_index.c: the runs of a folder listed again and again: what the index spares, and that it
 * never says what the journals do not. */
#include <errno.h>
#include <unistd.h>

#include "support/store_kit.h"

enum { RUNS = 70 };

static void run_write(struct kit *k, struct scratch *s, int number, enum store_open mode,
                      const char *status) {
  struct batch batch;
  snprintf(k->path, sizeof k->path, "%.4000s/runs/r%02d", s->path, number);
  CHECK(kit_open(k, mode));
  batch_init(&batch, sys_real());
  CHECK(batch_add(&batch, "{\"n\":1}", 7, NULL));
  snprintf(batch.header.status, sizeof batch.header.status, "%s", status);
  snprintf(batch.header.about, sizeof batch.header.about, "{\"at\":%d,\"steps\":%d}", 1000 + number,
           number);
  CHECK(k->store->ops->append(k->store, &batch, APPEND_WHOLE, &k->error) && kit_sync(k));
  batch_clear(&batch);
  kit_close(k);
}

static void story(struct scratch *s, struct kit *k) {
  scratch_empty(s);
  kit_init(k, s);
  k->options.durability = DURABILITY_PROCESS;
  for (int i = 0; i < RUNS; i++)
    run_write(k, s, i, STORE_CREATE, "completed");
}

struct listed {
  char text[RUNS * 64]; /* a line for each: name, status, about */
  int count;
};

static bool list_each(void *data, const struct listing *run) {
  struct listed *listed = data;
  size_t length = strlen(listed->text);
  snprintf(listed->text + length, sizeof listed->text - length, "%s %s %s\n",
           strrchr(run->url, '/') + 1, run->problem ? "problem" : run->header.status,
           run->header.about);
  listed->count++;
  return true;
}

static struct listed list(const struct sys *sys, struct scratch *s) {
  struct listed listed = {.count = 0};
  struct error error = {0};
  CHECK(store_list(sys, scratch_path(s, "runs"), list_each, &listed, &error));
  return listed;
}

/* How many files a list opens. */
static unsigned opened(struct scratch *s, struct listed *to) {
  struct faulty *f = faulty_new(sys_real());
  *to = list(faulty_sys(f), s);
  unsigned count = (unsigned)faulty_count(f, FAULTY_BIT(FAULTY_OPEN));
  CHECK(faulty_outstanding(f) == 0);
  faulty_free(f);
  return count;
}

static void test_spares(struct scratch *s) {
  struct kit k;
  struct listed first, then;
  story(s, &k);
  TEST("a list opens each journal once, and none the next time; the newest run is first") {
    CHECK(opened(s, &first) >= RUNS && first.count == RUNS);
    CHECK(strncmp(first.text, "r69 completed {\"at\":1069,\"steps\":69}\nr68 ", 40) == 0);
    CHECK(opened(s, &then) <= 2);
    CHECK_STR(then.text, first.text);
  }
  TEST("a run that was resumed, began, was removed or replaced is listed as it is") {
    run_write(&k, s, 3, STORE_RESUME, "failed");
    run_write(&k, s, RUNS, STORE_CREATE, "paused");
    char from[PATH_MAX], to[PATH_MAX];
    snprintf(from, sizeof from, "%.4000s/runs/r04", s->path);
    snprintf(to, sizeof to, "%.4000s/gone", s->path);
    CHECK(rename(from, to) == 0);
    snprintf(to, sizeof to, "%.4000s/runs/r05", s->path);
    snprintf(from, sizeof from, "%.4000s/runs/r06", s->path);
    CHECK(rename(to, scratch_path(s, "runs/other")) == 0 && rename(from, to) == 0);
    then = list(sys_real(), s);
    CHECK(then.count == RUNS && strstr(then.text, "r03 failed ") &&
          strstr(then.text, "r70 paused "));
    CHECK(!strstr(then.text, "r04 ") && !strstr(then.text, "r06 "));
    CHECK(strstr(then.text, "r05 completed {\"at\":1006,") &&
          strstr(then.text, "other completed {\"at\":1005,"));
  }
  TEST("a run that a process advances is no longer listed as it was closed") {
    snprintf(k.path, sizeof k.path, "%.4000s/runs/r10", s->path);
    CHECK(kit_open(&k, STORE_RESUME) && kit_put(&k, 2, 1));
    then = list(sys_real(), s);
    CHECK(strncmp(then.text, "r10 executing \n", 15) == 0);
    kit_close(&k);
  }
}

static void test_lies(struct scratch *s) {
  struct kit k;
  struct listed first, then;
  story(s, &k);
  first = list(sys_real(), s);
  size_t length;
  char *bytes = scratch_read(s, "runs/.run-index", &length);
  CHECK(bytes && length > RUNS * 40);
  if (!bytes) return;
  TEST("an index that is damaged, cut short or not one is not used, and written anew") {
    for (size_t i = 0; i < length; i += i < 40 ? 1 : 97) {
      bytes[i] ^= 4;
      scratch_write(s, "runs/.run-index", bytes, i % 2 ? length : i);
      bytes[i] ^= 4;
      then = list(sys_real(), s);
      CHECK_STR(then.text, first.text);
    }
    CHECK(opened(s, &then) <= 2);
  }
  TEST("a whole index is believed only where a journal has the stamp of its line") {
    for (int i = 0; i < RUNS; i++)
      run_write(&k, s, i, STORE_RESUME, "aborted");
    scratch_write(s, "runs/.run-index", bytes, length);
    then = list(sys_real(), s);
    CHECK(then.count == RUNS && strstr(then.text, "aborted") && !strstr(then.text, "completed"));
  }
  free(bytes);
}

static void test_failures(struct scratch *s) {
  struct kit k;
  struct listed first, then;
  story(s, &k);
  first = list(sys_real(), s);
  TEST("whatever call fails, a list is right about what it names, and nothing stays open") {
    char hidden[PATH_MAX];
    snprintf(hidden, sizeof hidden, "%.4000s/runs/.run-index", s->path);
    for (unsigned n = 1; n < 120; n++) {
      struct faulty *f = faulty_new(sys_real());
      struct error error = {0};
      then = (struct listed){.count = 0};
      if (n % 2)
        faulty_fail(f, FAULTY_FILES, n * 3, EIO, FAULTY_ONCE);
      else
        faulty_fail_alloc(f, n / 2, false, n % 4 == 0);
      store_list(faulty_sys(f), scratch_path(s, "runs"), list_each, &then, &error);
      CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0 && then.count <= RUNS);
      faulty_free(f);
      if (n % 3 == 0) unlink(hidden);
    }
    then = list(sys_real(), s);
    CHECK_STR(then.text, first.text);
  }
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_spares(&s);
  test_lies(&s);
  test_failures(&s);
  scratch_remove(&s);
  return check_finish();
}
