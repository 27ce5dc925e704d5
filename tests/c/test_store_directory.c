/* test_store_directory.c: a run in a directory: created, resumed, read, held, rotated. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/stamp.h"
#include "support/store_kit.h"

static unsigned mode_of(struct scratch *s, const char *name) {
  struct stat about;
  return lstat(scratch_path(s, name), &about) == 0 ? about.st_mode & 07777 : 0;
}

static void test_life(struct scratch *s) {
  struct kit k;
  kit_init(&k, s);
  TEST("a new run takes batches and gives them back in order (R4, F41)") {
    CHECK(kit_open(&k, STORE_CREATE));
    CHECK_STR(k.report.run_id, "r1");
    CHECK(k.store->ops->seq(k.store) == 0);
    CHECK(kit_count(&k) == 0);
    CHECK(kit_put(&k, 0, 1) && kit_put(&k, 1, 3) && kit_put(&k, 4, 1));
    CHECK(k.store->ops->seq(k.store) == 5);
    CHECK(k.store->ops->syncs(k.store) == 3);
    CHECK(kit_count(&k) == 5);
    kit_close(&k);
  }
  TEST("a line is J1 crc seq batch last prevcrc len payload, and the first names format, run, "
       "segment") {
    size_t length = 0;
    char *bytes = scratch_read(s, "run/journal/00000001.sj", &length);
    CHECK(bytes && strncmp(bytes, "J1 ", 3) == 0);
    CHECK(bytes &&
          strstr(bytes, " 0000000000000000 00000000 1 00000000 "
                        "00000043 {\"t\":\"journal\",\"format\":1,\"run\":\"r1\",\"segment\":1,"
                        "\"prev\":\"00000000\"}\nJ1 "));
    CHECK(bytes && strstr(bytes, " 0000000000000002 00000002 0 "));
    CHECK(bytes && strstr(bytes, " 0000000000000004 00000002 1 "));
    free(bytes);
  }
  TEST("folders are 0700 and files 0600") {
    CHECK(mode_of(s, "run") == 0700 && mode_of(s, "run/journal") == 0700);
    CHECK(mode_of(s, "run/run.lock") == 0600 && mode_of(s, "run/journal/00000001.sj") == 0600);
  }
  TEST("after a clean close a run goes on in the same segment (R87)") {
    CHECK(kit_open(&k, STORE_RESUME));
    CHECK(!k.report.unclean && k.report.records == 5 && k.report.cut_bytes == 0);
    CHECK_STR(k.report.run_id, "r1");
    CHECK(k.report.view_missing);
    CHECK(kit_put(&k, 5, 1) && kit_count(&k) == 6);
    kit_close(&k);
    CHECK(scratch_count(s, "run/journal", "") == 1);
  }
  TEST("closing a resumed run that wrote nothing adds nothing") {
    unsigned long before = scratch_print(s, "run/journal");
    CHECK(kit_open(&k, STORE_RESUME));
    kit_close(&k);
    kit_close(&k);
    CHECK(scratch_print(s, "run/journal") == before);
  }
}

static void test_openings(struct scratch *s) {
  struct kit k;
  kit_init(&k, s);
  TEST("a directory that holds a run is not created again (F49)") {
    CHECK(!kit_open(&k, STORE_CREATE) && k.error.code == ERROR_EXISTS);
    CHECK(strstr(k.error.text, "/run: holds a run already"));
  }
  TEST("a reader takes no lock, changes nothing and cannot write") {
    struct kit writer;
    kit_init(&writer, s);
    CHECK(kit_open(&writer, STORE_RESUME));
    unsigned long before = scratch_print(s, "run");
    CHECK(kit_open(&k, STORE_READ) && kit_count(&k) == 6);
    CHECK(!kit_put(&k, 6, 1) && k.error.code == ERROR_INVALID);
    CHECK(!kit_view(&k, "context/a.json", "{}"));
    CHECK(kit_put(&writer, 6, 2));
    CHECK(kit_count(&k) == 6); /* what it saw at first */
    kit_close(&k);
    kit_close(&writer);
    CHECK(scratch_print(s, "run") != before);
  }
  TEST("where no run is, resume and read say so and leave nothing") {
    struct kit none;
    kit_init(&none, s);
    snprintf(none.path, sizeof none.path, "%.4000s/none", s->path);
    CHECK(!kit_open(&none, STORE_RESUME) && none.error.code == ERROR_MISSING);
    CHECK(!kit_open(&none, STORE_READ) && none.error.code == ERROR_MISSING);
    CHECK(scratch_count(s, ".", "none") == 0);
  }
  TEST("a bad run id is refused before anything is made (F13)") {
    struct kit bad;
    kit_init(&bad, s);
    snprintf(bad.path, sizeof bad.path, "%.4000s/bad", s->path);
    const char *ids[] = {NULL, "", "a/b", "a b", "\"", "x\n"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
      bad.options.run_id = ids[i];
      CHECK(!kit_open(&bad, STORE_CREATE) && bad.error.code == ERROR_INVALID);
    }
    CHECK(scratch_count(s, ".", "bad") == 0);
  }
  scratch_empty(s);
}

static void test_segments(struct scratch *s) {
  struct kit k;
  kit_init(&k, s);
  TEST("a full segment is followed by the next, and all are read") {
    k.options.segment_bytes = 400;
    CHECK(kit_open(&k, STORE_CREATE));
    for (int i = 0; i < 20; i++)
      CHECK(kit_put(&k, i, 1));
    CHECK(kit_count(&k) == 20);
    kit_close(&k);
    CHECK(scratch_count(s, "run/journal", "0000") > 4);
    CHECK(kit_open(&k, STORE_RESUME) && k.report.records == 20 && !k.report.unclean);
    CHECK(kit_put(&k, 20, 1) && kit_count(&k) == 21);
    kit_close(&k);
  }
  TEST("a batch larger than a segment is a segment of its own") {
    CHECK(kit_open(&k, STORE_RESUME));
    CHECK(kit_put(&k, 21, 12) && kit_put(&k, 33, 1) && kit_count(&k) == 34);
    kit_close(&k);
    CHECK(kit_open(&k, STORE_READ) && kit_count(&k) == 34);
    kit_close(&k);
  }
  TEST("a missing segment is corruption and names the file") {
    unlink(scratch_path(s, "run/journal/00000002.sj"));
    CHECK(!kit_open(&k, STORE_RESUME) && k.error.code == ERROR_CORRUPT);
    CHECK(strstr(k.error.text, "00000002.sj"));
  }
  scratch_empty(s);
}

static void test_cost(struct scratch *s) {
  struct kit k;
  TEST("process durability writes and never calls fdatasync") {
    struct faulty *f = faulty_new(sys_real());
    kit_init(&k, s);
    k.sys = faulty_sys(f);
    k.options.durability = DURABILITY_PROCESS;
    CHECK(kit_open(&k, STORE_CREATE));
    CHECK(kit_put(&k, 0, 1) && kit_put(&k, 1, 1));
    CHECK(k.store->ops->syncs(k.store) == 0);
    kit_close(&k);
    CHECK(faulty_count(f, FAULTY_BIT(FAULTY_FDATASYNC) | FAULTY_BIT(FAULTY_FSYNC)) == 0);
    CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0);
    faulty_free(f);
  }
  scratch_empty(s);
  TEST("in the steady state a batch is one write and one fdatasync, without allocation") {
    struct faulty *f = faulty_new(sys_real());
    kit_init(&k, s);
    k.sys = faulty_sys(f);
    CHECK(kit_open(&k, STORE_CREATE));
    CHECK(kit_put(&k, 0, 1));
    uint64_t bytes = k.store->ops->bytes(k.store);
    faulty_reset(f);
    for (int i = 0; i < 100; i++)
      CHECK(kit_put(&k, 10 + i % 10, 1));
    CHECK(faulty_count(f, FAULTY_BIT(FAULTY_WRITE)) == 100);
    CHECK(faulty_count(f, FAULTY_BIT(FAULTY_FDATASYNC)) == 100);
    CHECK(faulty_count(f, FAULTY_BIT(FAULTY_STAT)) == 200); /* of the lock and the journal */
    CHECK(faulty_count(f, ~0u) == 400);
    CHECK(k.store->ops->bytes(k.store) - bytes == 100 * (59 + 8));
    kit_close(&k);
    faulty_free(f);
  }
  scratch_empty(s);
}

/* Opens the run in a child process; says how that ended: an error code, 0 for success. */
static int open_in_child(struct kit *k, char *text, size_t size) {
  int ends[2], status = -1;
  if (pipe(ends) < 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    bool good = kit_open(k, STORE_RESUME);
    ssize_t count = write(ends[1], k->error.text, strlen(k->error.text) + 1);
    _exit(good || count < 0 ? 0 : (int)k->error.code);
  }
  close(ends[1]);
  ssize_t count = read(ends[0], text, size - 1);
  text[count > 0 ? count : 0] = '\0';
  close(ends[0]);
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_lock(struct scratch *s) {
  struct kit k, other;
  kit_init(&k, s);
  kit_init(&other, s);
  char text[512], holder[64];
  snprintf(holder, sizeof holder, "run.lock: held by process %ld on ", (long)getpid());
  CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
  TEST("a second process is told who holds the run (F49)") {
    CHECK(open_in_child(&other, text, sizeof text) == ERROR_BUSY);
    CHECK(strstr(text, holder) && strstr(text, " since 2"));
  }
  TEST("a second opening in the same process is refused too, also to create") {
    CHECK(!kit_open(&other, STORE_RESUME) && other.error.code == ERROR_BUSY);
    CHECK(!kit_open(&other, STORE_CREATE) && other.error.code == ERROR_EXISTS);
  }
  kit_close(&k);
  TEST("the lock file stays, and the lock is free when its holder ended (F49)") {
    CHECK(mode_of(s, "run/run.lock") == 0600);
    CHECK(open_in_child(&other, text, sizeof text) == 0);
    CHECK(kit_open(&k, STORE_RESUME));
    CHECK(!k.report.unclean); /* the child died, but had written nothing */
    kit_close(&k);
  }
  TEST("a lock file of nonsense does not reach the terminal unescaped") {
    CHECK(kit_open(&k, STORE_RESUME));
    scratch_write(s, "run/run.lock", "\033[2J x\ty\n", 9);
    CHECK(!kit_open(&other, STORE_RESUME) && other.error.code == ERROR_BUSY);
    CHECK(!strchr(other.error.text, '\033') && !strchr(other.error.text, '\t'));
    kit_close(&k);
  }
  scratch_empty(s);
}

static void test_stamps(void) {
  TEST("a moment is written as gmtime would write it") {
    const int64_t days[] = {0, 58, 59, 60, 365, 789, 11016, 11017, 19782, 20089, 47540, 2932896};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
      time_t seconds = (time_t)(days[i] * 86400 + 3 * 3600 + 4 * 60 + 5);
      char want[64], got[STAMP_SIZE];
      strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%SZ", gmtime(&seconds));
      stamp_text(got, (int64_t)seconds * 1000 + 999);
      CHECK_STR(got, want);
    }
    char got[STAMP_SIZE];
    stamp_name(got, INT64_C(1767323045000));
    CHECK_STR(got, "20260102T030405Z");
    stamp_text(got, INT64_MAX);
    CHECK_STR(got, "9999-12-31T23:59:59Z");
    stamp_text(got, INT64_MIN);
    CHECK_STR(got, "1970-01-01T00:00:00Z");
  }
}

static void test_paths(struct scratch *s) {
  struct kit k;
  kit_init(&k, s);
  TEST("missing parent folders are made, 0700") {
    snprintf(k.path, sizeof k.path, "%.4000s/a/b/c", s->path);
    CHECK(kit_open(&k, STORE_CREATE));
    kit_close(&k);
    CHECK(mode_of(s, "a") == 0700 && mode_of(s, "a/b/c") == 0700);
  }
  TEST("a file in the place of the run directory is an error that names it") {
    scratch_write(s, "file", "x", 1);
    snprintf(k.path, sizeof k.path, "%.4000s/file", s->path);
    CHECK(!kit_open(&k, STORE_CREATE) && k.error.code == ERROR_SYSTEM);
    CHECK(strstr(k.error.text, "/file: Not a directory"));
  }
  TEST("payloads with a newline, of the store's own type, or too large are refused; the run goes "
       "on") {
    snprintf(k.path, sizeof k.path, "%.4000s/run", s->path);
    CHECK(kit_open(&k, STORE_CREATE));
    struct span newline = {"{\n}", 3}, own = {"{\"t\":\"journal\",\"closed\":true}", 29};
    static char zeros[(64 << 20) + 1];
    struct span large = {zeros, sizeof zeros};
    CHECK(!kit_append_one(&k, newline, APPEND_WHOLE) && k.error.code == ERROR_INVALID);
    CHECK(!kit_append_one(&k, own, APPEND_WHOLE) && k.error.code == ERROR_INVALID);
    CHECK(!kit_append_one(&k, large, APPEND_WHOLE) && k.error.code == ERROR_LIMIT);
    CHECK(kit_put(&k, 0, 1) && kit_count(&k) == 1);
    kit_close(&k);
  }
  scratch_empty(s);
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_life(&s);
  test_openings(&s);
  test_segments(&s);
  test_cost(&s);
  test_lock(&s);
  test_stamps();
  test_paths(&s);
  scratch_remove(&s);
  return check_finish();
}
