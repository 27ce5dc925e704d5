/* test_store_contract.c: what every store promises, asked of each by its URL; which URL means
 * which; and a run that somebody else took away while it went on. */
#include <sys/stat.h>
#include <unistd.h>

#include "support/store_kit.h"

static bool open_url(struct kit *k, const char *url, enum store_open mode) {
  k->options.mode = mode;
  k->store = NULL;
  error_clear(&k->error);
  return store_open(k->sys, url, &k->options, &k->store, &k->report, &k->error);
}

/* The same for all of them; `keeps`: what was appended can be read. */
static void check_contract(struct kit *k, const char *url, bool keeps) {
  char digest[65];
  struct buffer to;
  struct span blob = {"a large value", 13}, newline = {"{\"a\":\n1}", 8};
  sha256_hex(blob.data, blob.length, digest);
  buffer_init(&to, k->sys, 1000);
  CHECK(open_url(k, url, STORE_CREATE));
  CHECK(k->store->ops->seq(k->store) == 0 && kit_count(k) == 0);
  CHECK(kit_put(k, 0, 2) && k->store->ops->seq(k->store) == 2);
  CHECK(kit_count(k) == (keeps ? 2 : 0));
  CHECK(k->store->ops->record(k->store, 2, &to, &k->error) == keeps);
  CHECK(keeps || k->error.code == ERROR_MISSING);
  buffer_reset(&to);
  CHECK(!kit_blob(k, "short", blob));
  CHECK(k->error.code == ERROR_INVALID);
  CHECK(kit_blob(k, digest, blob));
  CHECK(k->store->ops->blob_get(k->store, digest, &to, &k->error) && to.length == 13);
  digest[0] = digest[0] == 'a' ? 'b' : 'a';
  CHECK(!k->store->ops->blob_get(k->store, digest, &to, &k->error));
  CHECK(k->error.code == ERROR_CORRUPT && strstr(k->error.text, digest));
  CHECK(!kit_append_one(k, newline, APPEND_WHOLE));
  CHECK(k->error.code == ERROR_INVALID && kit_put(k, 2, 1));
  CHECK(kit_view(k, "context/a.json", "{}\n"));
  kit_close(k);
  CHECK(open_url(k, url, STORE_RESUME) == keeps);
  CHECK(keeps ? kit_count(k) == 3 : k->error.code == ERROR_MISSING);
  kit_close(k);
  buffer_clear(&to);
}

static void test_urls(struct scratch *s) {
  struct kit k;
  char url[PATH_MAX + 32];
  kit_init(&k, s);
  TEST("a directory, by its path and by its URL, and memory keep one contract") {
    check_contract(&k, k.path, true);
    scratch_empty(s);
    snprintf(url, sizeof url, "file:%s", k.path);
    check_contract(&k, url, true);
    CHECK(open_url(&k, k.path, STORE_READ) && kit_count(&k) == 3);
    kit_close(&k);
    check_contract(&k, "memory:", false);
  }
  TEST("a file: URL may be written with three slashes, and with bytes in hex") {
    scratch_empty(s);
    snprintf(url, sizeof url, "file://%s%%20a", k.path);
    CHECK(open_url(&k, url, STORE_CREATE));
    kit_close(&k);
    CHECK(scratch_count(s, ".", "run a") == 1);
    snprintf(url, sizeof url, "file://%s%%5F%%5f%%4A%%4a%%49%%4G%%G4", k.path);
    CHECK(open_url(&k, url, STORE_CREATE));
    kit_close(&k);
    CHECK(scratch_count(s, ".", "run__JJI%4G%G4") == 1);
  }
  TEST("a URL of no store is refused, and nothing is made") {
    const char *urls[] = {"redis://host/db", "file://host/path", "", "file:", "file:a%00b"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
      CHECK(!open_url(&k, urls[i], STORE_CREATE) && k.error.code == ERROR_INVALID);
    CHECK(!store_holder(k.sys, urls[0], url));
  }
}

/* What was done to a run that goes on. */
enum theft {
  LOCK_GONE,
  LOCK_REPLACED,
  ALL_GONE,
  ALL_REPLACED,
  JOURNAL_GONE,
  JOURNAL_LONGER,
  THEFTS
};

static void steal(struct scratch *s, enum theft theft) {
  struct kit other;
  kit_init(&other, s);
  switch (theft) {
  case LOCK_REPLACED:
    scratch_write(s, "run/other", "x", 1);
    CHECK(rename(scratch_path(s, "run/other"), scratch_path(s, "run/run.lock")) == 0);
    break;
  case LOCK_GONE:
    CHECK(unlink(scratch_path(s, "run/run.lock")) == 0);
    break;
  case ALL_REPLACED:
    scratch_empty(s);
    CHECK(kit_open(&other, STORE_CREATE) && kit_put(&other, 0, 1));
    kit_close(&other);
    break;
  case ALL_GONE:
    scratch_empty(s);
    break;
  case JOURNAL_GONE:
    CHECK(unlink(scratch_path(s, "run/journal/00000001.sj")) == 0);
    break;
  default: {
    FILE *file = fopen(scratch_path(s, "run/journal/00000001.sj"), "a");
    CHECK(file && fputs("more\n", file) >= 0 && fclose(file) == 0);
  }
  }
}

static void test_lost(struct scratch *s) {
  TEST("a run whose lock or journal was taken away is lost: nothing more is written, not even last "
       "words, a blob, a view or its close") {
    for (int theft = 0; theft < THEFTS; theft++) {
      struct kit k;
      char digest[65], state[512];
      struct span blob = {"large", 5};
      scratch_empty(s);
      kit_init(&k, s);
      CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 2));
      steal(s, (enum theft)theft);
      unsigned long before = scratch_print(s, ".");
      CHECK(!kit_append(&k, 2, 1, APPEND_WHOLE) && k.error.code == ERROR_LOST);
      CHECK(strstr(k.error.text, "nothing more is written"));
      CHECK(!kit_append(&k, 2, 1, APPEND_LAST_WORDS) && k.error.code == ERROR_LOST);
      sha256_hex(blob.data, blob.length, digest);
      CHECK(!kit_blob(&k, digest, blob));
      CHECK(!kit_view(&k, "state.json", kit_state(state, 2, "x")) && k.error.code == ERROR_LOST);
      kit_close(&k);
      CHECK(scratch_print(s, ".") == before);
    }
  }
  TEST("that is seen by a close, and by a view, before any batch") {
    struct kit k;
    scratch_empty(s);
    kit_init(&k, s);
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 2));
    steal(s, ALL_REPLACED);
    unsigned long before = scratch_print(s, ".");
    CHECK(!kit_view(&k, "context/a.json", "{}\n") && k.error.code == ERROR_LOST);
    kit_close(&k);
    CHECK(scratch_print(s, ".") == before);
  }
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_urls(&s);
  test_lost(&s);
  scratch_remove(&s);
  return check_finish();
}
