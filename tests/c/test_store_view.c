/* test_store_view.c: views and their digest, blobs, and the store in memory. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/view.h"
#include "support/store_kit.h"

/* Resumes and closes; gives the error's code. */
static enum error_code resumed(struct kit *k, bool accept_edits) {
  k->options.accept_edits = accept_edits;
  if (!kit_open(k, STORE_RESUME)) return k->error.code;
  kit_close(k);
  return ERROR_NONE;
}

static void state_rewrite(struct scratch *s, const char *from, const char *to) {
  size_t length;
  char *bytes = scratch_read(s, "run/state.json", &length), *at = strstr(bytes, from);
  CHECK(at && strlen(from) == strlen(to));
  if (at) memcpy(at, to, strlen(to));
  scratch_write(s, "run/state.json", bytes, length);
  free(bytes);
}

static void test_state(struct scratch *s) {
  struct kit k;
  char state[512];
  kit_init(&k, s);
  CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 2));
  TEST("state.json gets its digest in place of the zeros, and nothing else changes") {
    CHECK(kit_view(&k, "state.json", kit_state(state, 2, "x")));
    char *bytes = scratch_read(s, "run/state.json", NULL), digest[65];
    sha256_hex(state, strlen(state), digest);
    CHECK(bytes && strstr(bytes, digest));
    memcpy(strstr(state, "0000"), digest, 64);
    CHECK_STR(bytes, state);
    free(bytes);
  }
  TEST("an unchanged state.json is not written again; a changed one is, at once by rename") {
    struct stat before, after;
    lstat(scratch_path(s, "run/state.json"), &before);
    CHECK(kit_view(&k, "state.json", kit_state(state, 2, "x")));
    lstat(scratch_path(s, "run/state.json"), &after);
    CHECK(before.st_ino == after.st_ino);
    CHECK(kit_view(&k, "state.json", kit_state(state, 2, "y")));
    lstat(scratch_path(s, "run/state.json"), &after);
    CHECK(before.st_ino != after.st_ino && (after.st_mode & 07777) == 0600);
    CHECK(scratch_count(s, "run", "state.json") == 1);
  }
  TEST("a state.json that could not be written is written the next time, though it is the same") {
    struct faulty *f = faulty_new(sys_real());
    struct kit full = k;
    char *bytes;
    kit_close(&k);
    full.sys = faulty_sys(f);
    CHECK(kit_open(&full, STORE_RESUME));
    faulty_reset(f);
    faulty_fail(f, FAULTY_BIT(FAULTY_WRITE), 1, ENOSPC, FAULTY_ONCE);
    CHECK(!kit_view(&full, "state.json", kit_state(state, 2, "z")));
    CHECK(kit_view(&full, "state.json", kit_state(state, 2, "z")));
    bytes = scratch_read(s, "run/state.json", NULL);
    CHECK(bytes && strstr(bytes, "z\""));
    free(bytes);
    CHECK(kit_view(&full, "state.json", kit_state(state, 2, "y")));
    kit_close(&full);
    faulty_free(f);
    CHECK(kit_open(&k, STORE_RESUME));
  }
  TEST("a state.json without the place for its digest is refused") {
    CHECK(!kit_view(&k, "state.json", "{}\n") && k.error.code == ERROR_INVALID);
  }
  kit_close(&k);
}

static void test_edits(struct scratch *s) {
  struct kit k;
  char state[512];
  kit_init(&k, s);
  TEST("an untouched state.json is accepted, with its seq") {
    CHECK(resumed(&k, false) == ERROR_NONE);
    CHECK(!k.report.view_missing && !k.report.view_edited && k.report.view_seq == 2);
  }
  TEST("a hand-edited state.json is refused, and taken where edits are accepted (F48)") {
    state_rewrite(s, "\"y\"", "\"z\"");
    unsigned long before = scratch_print(s, "run");
    CHECK(resumed(&k, false) == ERROR_EDITED && strstr(k.error.text, "--accept-edits"));
    CHECK(scratch_print(s, "run") == before);
    CHECK(resumed(&k, true) == ERROR_NONE && k.report.view_edited && !k.report.view_missing);
    state_rewrite(s, "\"z\"", "\"y\"");
    CHECK(resumed(&k, false) == ERROR_NONE);
  }
  TEST("a state.json whose _skillrt was taken out counts as edited") {
    size_t length;
    char *bytes = scratch_read(s, "run/state.json", &length);
    scratch_write(s, "run/state.json", "{\n  \"a\": 1\n}\n", 13);
    CHECK(resumed(&k, false) == ERROR_EDITED);
    scratch_write(s, "run/state.json", bytes, length);
    free(bytes);
  }
  TEST("a truncated, empty or deleted state.json is missing: the journal has it all (F41, F48)") {
    size_t length;
    char *bytes = scratch_read(s, "run/state.json", &length);
    for (size_t cut = 0; cut < length - 1; cut++) { /* also behind an inner bracket */
      scratch_write(s, "run/state.json", bytes, cut);
      CHECK(resumed(&k, false) == ERROR_NONE && k.report.view_missing);
    }
    scratch_write(s, "run/state.json", bytes, length - 1); /* all but its newline */
    CHECK(resumed(&k, false) == ERROR_NONE && k.report.view_seq == 2);
    unlink(scratch_path(s, "run/state.json"));
    CHECK(resumed(&k, false) == ERROR_NONE && k.report.view_missing);
    scratch_write(s, "run/state.json", bytes, length);
    free(bytes);
  }
  TEST("a state.json that knows more than the journal is refused: records were lost (F41)") {
    CHECK(kit_open(&k, STORE_RESUME));
    CHECK(kit_view(&k, "state.json", kit_state(state, 99, "y")));
    kit_close(&k);
    unsigned long before = scratch_print(s, "run");
    CHECK(resumed(&k, false) == ERROR_CORRUPT && strstr(k.error.text, "shows record 99"));
    CHECK(scratch_print(s, "run") == before);
  }
  scratch_empty(s);
}

static void test_names(struct scratch *s) {
  struct kit k;
  kit_init(&k, s);
  CHECK(kit_open(&k, STORE_CREATE));
  TEST("a view may lie in folders, which are made (R3)") {
    CHECK(kit_view(&k, "context/deep/a b.json", "{}"));
    char *bytes = scratch_read(s, "run/context/deep/a b.json", NULL);
    CHECK_STR(bytes, "{}");
    free(bytes);
  }
  TEST("a view's name stays inside the run and off the store's own files (F13)") {
    const char *bad[] = {"",        "/a",        "../a",         "a/../b", "a/..",
                         ".",       "a//b",      "a/",           "a\nb",   "journal/00000001.sj",
                         "journal", "run.lock",  "blobs/x",      "a\\b",   "./a",
                         "..",      "run.lock/", "journal.cut-x"};
    unsigned long before = scratch_print(s, ".");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK(!kit_view(&k, bad[i], "x") && k.error.code == ERROR_INVALID);
    CHECK(scratch_print(s, ".") == before);
    CHECK(view_name_valid("journal2/a") && view_name_valid("a..b") && view_name_valid("..a"));
  }
  kit_close(&k);
  scratch_empty(s);
}

static void test_blobs(struct scratch *s, bool memory) {
  struct kit k;
  struct buffer got;
  char digest[65], other[65], name[128];
  static char value[70000];
  struct span span = {value, sizeof value};
  memset(value, 'v', sizeof value);
  sha256_hex(value, sizeof value, digest);
  sha256_hex("", 0, other);
  kit_init(&k, s);
  CHECK(memory ? kit_open_memory(&k) : kit_open(&k, STORE_CREATE));
  const struct store_ops *ops = k.store->ops;
  buffer_init(&got, k.sys, 1 << 20);
  CHECK(kit_blob(&k, digest, span));
  CHECK(kit_blob(&k, digest, span)); /* once more is fine */
  CHECK(buffer_string(&got, "before", NULL) && ops->blob_get(k.store, digest, &got, &k.error));
  CHECK(got.length == 6 + sizeof value && memcmp(got.data + 6, value, sizeof value) == 0);
  CHECK(!kit_blob(&k, other, span) && k.error.code == ERROR_INVALID);
  CHECK(!kit_blob(&k, "../x", span) && k.error.code == ERROR_INVALID);
  CHECK(!ops->blob_get(k.store, other, &got, &k.error) && k.error.code == ERROR_CORRUPT);
  CHECK(kit_blob(&k, other, (struct span){"", 0}));
  CHECK(ops->blob_get(k.store, other, &got, &k.error));
  if (!memory) {
    snprintf(name, sizeof name, "run/blobs/%s", digest);
    value[7] = 'w';
    scratch_write(s, name, value, sizeof value);
    CHECK(!ops->blob_get(k.store, digest, &got, &k.error) && k.error.code == ERROR_CORRUPT);
    CHECK(got.length == 6 + sizeof value); /* nothing of it was left there */
    value[7] = 'v';
    CHECK(kit_blob(&k, digest, span)); /* repairs it */
    CHECK(ops->blob_get(k.store, digest, &got, &k.error));
  }
  buffer_clear(&got);
  kit_close(&k);
  scratch_empty(s);
}

/* Names where something stands that would hold up whoever opens it. */
static void test_pipes(struct scratch *s) {
  static const char *const names[] = {"run/state.json", "run/journal/00000001.sj", "run/run.lock"};
  TEST("a pipe in the place of a file is refused at once, by whoever looks or goes on") {
    alarm(20);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      struct kit k;
      scratch_empty(s);
      kit_init(&k, s);
      CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
      kit_close(&k);
      unlink(scratch_path(s, names[i]));
      CHECK(mkfifo(scratch_path(s, names[i]), 0600) == 0);
      bool lock = i == 2; /* a look takes none */
      CHECK(kit_open(&k, STORE_READ) == lock);
      CHECK(lock || (k.error.code == ERROR_INVALID && strstr(k.error.text, names[i] + 4) &&
                     strstr(k.error.text, "not a regular file")));
      kit_close(&k);
      CHECK(!kit_open(&k, STORE_RESUME) && k.error.code == ERROR_INVALID);
      char line[STORE_HOLDER];
      CHECK(!store_holder(k.sys, k.path, line));
    }
    alarm(0);
  }
  TEST("nor does a view or a blob wait for one") {
    struct kit k;
    char digest[65], state[512];
    struct span blob = {"large", 5};
    sha256_hex(blob.data, blob.length, digest);
    scratch_empty(s);
    kit_init(&k, s);
    alarm(20);
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
    CHECK(mkfifo(scratch_path(s, "run/state.json"), 0600) == 0);
    CHECK(kit_view(&k, "state.json", kit_state(state, 1, "x"))); /* takes its place */
    CHECK(kit_blob(&k, digest, blob));
    char name[100];
    snprintf(name, sizeof name, "run/blobs/%s", digest);
    struct buffer to;
    buffer_init(&to, k.sys, 100);
    CHECK(unlink(scratch_path(s, name)) == 0 && mkfifo(scratch_path(s, name), 0600) == 0);
    CHECK(!k.store->ops->blob_get(k.store, digest, &to, &k.error));
    buffer_clear(&to);
    kit_close(&k);
    alarm(0);
  }
}

static void test_left(struct scratch *s) {
  static const char *const gone[] = {"run/state.json.new-0123abcd", "run/out.md.new-89abcdef",
                                     "run/blobs/x.new-01234567"};
  static const char *const kept[] = {"run/notes.new", "run/notes.new-1234", "run/x.new-0123abcg",
                                     "run/context/own"};
  TEST("what a writer left that died before its file had its name is gone at the next opening") {
    struct kit k;
    scratch_empty(s);
    kit_init(&k, s);
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1) && kit_view(&k, "context/a.json", "{}"));
    kit_close(&k);
    mkdir(scratch_path(s, "run/blobs"), 0700);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
      scratch_write(s, gone[i], "x", 1);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
      scratch_write(s, kept[i], "x", 1);
    CHECK(kit_open(&k, STORE_RESUME));
    kit_close(&k);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
      CHECK(access(scratch_path(s, gone[i]), F_OK) != 0);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
      CHECK(access(scratch_path(s, kept[i]), F_OK) == 0);
  }
  TEST("a state.json that shows less than the journal has is called stale") {
    struct kit k;
    char state[512];
    kit_init(&k, s);
    CHECK(kit_open(&k, STORE_RESUME) && k.report.view_stale);
    CHECK(kit_put(&k, 1, 1));
    CHECK(kit_view(&k, "state.json",
                   kit_state(state, (unsigned long)k.store->ops->seq(k.store), "x")));
    kit_close(&k);
    CHECK(kit_open(&k, STORE_RESUME) && !k.report.view_stale);
    CHECK(kit_put(&k, 2, 1));
    kit_close(&k);
    CHECK(kit_open(&k, STORE_RESUME) && k.report.view_stale && !k.report.view_missing);
    kit_close(&k);
  }
}

/* Puts a link in the place of a folder of the run, and the folder elsewhere. */
static void link_folder(struct scratch *s, const char *name) {
  char here[64], there[64];
  snprintf(here, sizeof here, "run/%s", name);
  snprintf(there, sizeof there, "away-%s", name);
  if (rename(scratch_path(s, here), scratch_path(s, there)) != 0) CHECK(errno == ENOENT);
  mkdir(scratch_path(s, there), 0700);
  CHECK(symlink(scratch_path(s, there), scratch_path(s, here)) == 0);
}

static void test_links(struct scratch *s) {
  static const char *const names[] = {"blobs", "journal"};
  TEST("a link in the place of a run's own folder is refused, whoever opens it") {
    for (int i = 0; i < 2; i++) {
      struct kit k;
      scratch_empty(s);
      kit_init(&k, s);
      CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 2));
      kit_close(&k);
      link_folder(s, names[i]);
      CHECK(resumed(&k, false) == ERROR_INVALID);
      CHECK(strstr(k.error.text, names[i]) && strstr(k.error.text, "is a link"));
      CHECK(!kit_open(&k, STORE_READ) && k.error.code == ERROR_INVALID);
      CHECK(!kit_open(&k, STORE_CREATE) && k.error.code == ERROR_INVALID);
    }
  }
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_state(&s);
  test_edits(&s);
  test_names(&s);
  TEST("a blob is kept once and checked when fetched; missing or wrong is corrupt") {
    test_blobs(&s, false);
  }
  TEST("the memory store keeps blobs and counts records, and reads back none (R4)") {
    test_blobs(&s, true);
    struct kit k;
    kit_init(&k, &s);
    CHECK(kit_open_memory(&k));
    CHECK(kit_put(&k, 0, 3) && k.store->ops->seq(k.store) == 3 && kit_count(&k) == 0);
    CHECK(kit_view(&k, "state.json", "{}"));
    kit_close(&k);
  }
  test_pipes(&s);
  test_left(&s);
  test_links(&s);
  scratch_remove(&s);
  return check_finish();
}
