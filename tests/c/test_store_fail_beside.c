/* test_store_fail_beside.c: the n-th call, or the n-th allocation, fails, for all n, in what is
 * beside a run's journal: readers, inboxes, lists, labels and queues. An error, or what would have
 * been the answer; never a wrong one, and nothing is lost for the next try. */
#include <errno.h>

#include "support/store_kit.h"

enum { ARRIVED = 3, CUT = 1 };

static struct scratch s;
static struct faulty *f;
static struct error error;
static char url[PATH_MAX]; /* of the run */
static unsigned mask;      /* of the calls of which the n-th fails */
static uint64_t n;
static bool met; /* it has come */

/* From now on nothing fails. */
static void heal(void) {
  met = met || faulty_count(f, mask) >= n;
  faulty_reset(f);
}

/* ---- which runs there are ---- */

static void make_run(const char *name, const char *status) {
  struct kit k;
  struct batch batch;
  struct span value = {"value", 5};
  char digest[65];
  kit_init(&k, &s);
  snprintf(k.path, sizeof k.path, "%.4000s/%s", s.path, name);
  k.options.segment_bytes = 1; /* a segment for each batch */
  CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1) && kit_put(&k, 1, 1));
  sha256_hex(value.data, value.length, digest);
  batch_init(&batch, k.sys);
  CHECK(batch_add(&batch, "{\"n\":2}", 7, NULL) && batch_blob(&batch, digest, value, NULL));
  snprintf(batch.header.status, sizeof batch.header.status, "%s", status);
  CHECK(k.store->ops->append(k.store, &batch, APPEND_WHOLE, &k.error) && kit_sync(&k));
  batch_clear(&batch);
  kit_close(&k);
}

static struct inbox *inbox_of(const struct sys *sys) {
  struct inbox *inbox = NULL;
  error_clear(&error);
  inbox_open(sys, url, &inbox, &error);
  return inbox;
}

static bool put(struct inbox *inbox, int number, char name[ARRIVAL_NAME]) {
  char text[32];
  snprintf(text, sizeof text, "{\"n\":%d}", number);
  return inbox->ops->put(inbox, NULL, (struct span){text, strlen(text)}, true, name, &error);
}

/* ---- what is tried: with calls that fail, then with the real ones ---- */

static void try_reader(const struct sys *sys) {
  struct kit k;
  struct buffer value;
  char digest[65];
  sha256_hex("value", 5, digest);
  kit_init(&k, &s);
  k.sys = sys;
  buffer_init(&value, sys_real(), 100);
  if (!kit_open(&k, STORE_READ)) {
    CHECK(k.error.code == ERROR_SYSTEM || k.error.code == ERROR_MEMORY);
    return;
  }
  int count = kit_count(&k);
  CHECK(count == 3 || count == -2);
  if (k.store->ops->record(k.store, k.report.last, &value, &k.error) ||
      k.store->ops->record(k.store, k.report.payload, &value, &k.error))
    CHECK(value.length == 7 && memcmp(value.data, "{\"n\":2}", 7) == 0);
  buffer_reset(&value);
  if (k.store->ops->blob_get(k.store, digest, &value, &k.error))
    CHECK(value.length == 5 && memcmp(value.data, "value", 5) == 0);
  else
    CHECK(k.error.code == ERROR_SYSTEM || k.error.code == ERROR_MEMORY);
  buffer_clear(&value);
  kit_close(&k);
}

/* Opens a damaged run to cut it: how many records are left; -1: an error. */
static int cut(const struct sys *sys) {
  struct kit k;
  kit_init(&k, &s);
  k.sys = sys;
  k.options.cut = true;
  if (!kit_open(&k, STORE_RESUME)) {
    CHECK(k.error.code == ERROR_SYSTEM || k.error.code == ERROR_MEMORY);
    return -1;
  }
  int count = kit_count(&k);
  CHECK(count == CUT || count == -2);
  kit_close(&k);
  return count;
}

static void try_cut(const struct sys *sys) {
  cut(sys);
  CHECK(cut(sys_real()) == CUT && cut(sys_real()) == CUT);
  CHECK(scratch_count(&s, "run", "journal.cut-") >= 2); /* the tail, and the segment behind it */
}

static void try_put(const struct sys *sys) {
  struct inbox *inbox = inbox_of(sys);
  struct arrival one;
  char name[ARRIVAL_NAME];
  size_t count = 0;
  bool good = inbox && put(inbox, 7, name);
  inbox_close(&inbox);
  inbox = inbox_of(sys_real());
  CHECK(inbox->ops->waiting(inbox, &count, &error) && (good ? count == 1 : count <= 1));
  if (count == 1) { /* whole, or not at all */
    CHECK(inbox->ops->take(inbox, &one, &error) && !one.problem);
    CHECK(one.text.length == 7 && memcmp(one.text.data, "{\"n\":7}", 7) == 0);
  }
  inbox_close(&inbox);
}

/* Takes what an inbox gives until it has given all, or an error comes. */
static void take(struct inbox *inbox, int given[ARRIVED]) {
  struct arrival one;
  for (int most = 2 * ARRIVED; most > 0 && inbox->ops->take(inbox, &one, &error) && one.name;
       most--) {
    int number = 0;
    CHECK(!one.problem || one.again); /* else it would be put aside */
    if (!one.problem) {
      CHECK(sscanf(one.text.data, "{\"n\":%d}", &number) == 1 && number >= 0 && number < ARRIVED);
      given[number]++;
    }
  }
}

static void try_take(const struct sys *sys) {
  struct inbox *inbox = inbox_of(sys_real());
  char name[ARRIVAL_NAME];
  int given[ARRIVED] = {0};
  for (int i = 0; i < ARRIVED; i++)
    CHECK(put(inbox, i, name));
  inbox_close(&inbox);
  inbox = inbox_of(sys);
  if (!inbox) return;
  take(inbox, given);
  take(inbox, given);
  heal();
  take(inbox, given);
  take(inbox, given);
  for (int i = 0; i < ARRIVED; i++)
    CHECK(given[i] == 1);
  inbox_close(&inbox);
}

static void try_settle(const struct sys *sys, bool refuses) {
  struct inbox *inbox = inbox_of(sys_real());
  char name[ARRIVAL_NAME];
  enum arrival_fate fate, end = refuses ? ARRIVAL_REFUSED : ARRIVAL_TAKEN;
  CHECK(put(inbox, 1, name));
  inbox_close(&inbox);
  inbox = inbox_of(sys);
  if (!inbox) return;
  bool good = (refuses ? inbox->ops->refuse : inbox->ops->acknowledge)(inbox, name, &error);
  if (inbox->ops->fate(inbox, name, &fate, &error))
    CHECK(fate == end || (!good && fate == ARRIVAL_WAITS));
  inbox_close(&inbox);
  inbox = inbox_of(sys_real());
  CHECK(inbox->ops->fate(inbox, name, &fate, &error));
  CHECK(fate == end || (!good && fate == ARRIVAL_WAITS));
  inbox_close(&inbox);
}

static void try_acknowledge(const struct sys *sys) {
  try_settle(sys, false);
}

static void try_refuse(const struct sys *sys) {
  try_settle(sys, true);
}

static void try_fate(const struct sys *sys) {
  struct inbox *inbox = inbox_of(sys_real());
  char waits[ARRIVAL_NAME], refused[ARRIVAL_NAME];
  enum arrival_fate fate;
  size_t count;
  CHECK(put(inbox, 1, waits) && put(inbox, 2, refused));
  CHECK(inbox->ops->refuse(inbox, refused, &error));
  inbox_close(&inbox);
  inbox = inbox_of(sys);
  if (!inbox) return;
  if (inbox->ops->fate(inbox, waits, &fate, &error)) CHECK(fate == ARRIVAL_WAITS);
  if (inbox->ops->fate(inbox, refused, &fate, &error)) CHECK(fate == ARRIVAL_REFUSED);
  if (inbox->ops->waiting(inbox, &count, &error)) CHECK(count == 1);
  inbox_close(&inbox);
}

static bool listed(void *data, const struct listing *run) {
  int *count = data;
  bool other = strstr(run->url, "/other") != NULL;
  CHECK(run->problem || strcmp(run->header.status, other ? "completed" : "paused") == 0);
  CHECK(run->problem || !run->is_held);
  (*count)++;
  return true;
}

static void try_list(const struct sys *sys) {
  int count = 0;
  error_clear(&error);
  if (store_list(sys, s.path, listed, &count, &error)) CHECK(count == 2);
  count = 0;
  CHECK(store_list(sys_real(), s.path, listed, &count, &error) && count == 2);
}

static bool taken(void *data, const char *run) {
  int *count = data;
  CHECK(strcmp(run, url) == 0);
  (*count)++;
  return true;
}

/* How many runs a worker of this queue gets; -1: an error. */
static int claim(const struct sys *sys, const char *queue) {
  struct claims *claims = NULL;
  int count = 0;
  error_clear(&error);
  if (!claims_open(sys, s.path, queue, &claims, &error)) return -1;
  if (!claims->ops->take(claims, 9, taken, &count, &error)) count = -1;
  claims_close(&claims);
  return count;
}

static void try_label(const struct sys *sys) {
  struct label label = {.queue = "own"};
  bool good = store_label(sys, url, &label, &error);
  int in_own = claim(sys_real(), "own"), in_default = claim(sys_real(), "default");
  CHECK(in_own + in_default == 1 && (!good || in_own == 1));
}

static void try_pause(const struct sys *sys) {
  bool good = store_pause(sys, s.path, "default", true, &error);
  int count = claim(sys_real(), "default");
  CHECK(good ? count == 0 : count >= 0);
  bool over = store_pause(sys, s.path, "default", false, &error);
  count = claim(sys_real(), "default");
  CHECK(over ? count == 1 : count >= 0);
}

static void try_claim(const struct sys *sys) {
  int count = claim(sys, "default");
  CHECK(count <= 1);
  CHECK(claim(sys_real(), "default") == 1);
}

static void try_paused(const struct sys *sys) {
  CHECK(store_pause(sys_real(), s.path, "default", true, &error));
  CHECK(claim(sys, "default") <= 0);
}

static bool listed_held(void *data, const struct listing *run) {
  (void)data;
  CHECK(run->problem || run->is_held);
  return true;
}

/* Another process advances the run. */
static void try_held(const struct sys *sys) {
  struct kit k;
  char line[STORE_HOLDER];
  kit_init(&k, &s);
  CHECK(kit_open(&k, STORE_RESUME) && kit_put(&k, 3, 1));
  CHECK(store_holder(sys, url, line));
  store_list(sys, s.path, listed_held, NULL, &error);
  CHECK(claim(sys, "default") <= 0);
  kit_close(&k);
}

/* ---- for all n ---- */

static void begin(void) {
  scratch_empty(&s);
  make_run("run", "paused");
  make_run("other", "completed");
}

/* A run whose process has died: a worker may have it. */
static void begin_dead(void) {
  scratch_empty(&s);
  make_run("run", "executing");
}

/* A run with damage in the second of its segments. */
static void begin_damaged(void) {
  size_t size;
  begin();
  char *bytes = scratch_read(&s, "run/journal/00000002.sj", &size);
  char *at = memmem(bytes, size, "{\"n\":1}", 7);
  CHECK(at);
  at[5] ^= 1;
  scratch_write(&s, "run/journal/00000002.sj", bytes, size);
  free(bytes);
}

static void all(const char *name, void (*prepare)(void), void (*step)(const struct sys *)) {
  TEST(name) {
    for (int kind = 0; kind < 3; kind++) {
      mask = kind == 2 ? FAULTY_BIT(FAULTY_ALLOC) : FAULTY_FILES;
      for (n = 1, met = true; met && n < 500; n++) {
        prepare();
        met = false;
        if (kind == 2)
          faulty_fail_alloc(f, n, false, false);
        else
          faulty_fail(f, mask, n, kind ? EMFILE : EIO, kind ? FAULTY_FROM : FAULTY_ONCE);
        step(faulty_sys(f));
        CHECK(faulty_outstanding(f) == 0 && faulty_open_files(f) == 0);
        heal();
      }
      CHECK(!met);
    }
  }
}

/* Where the file system knows no locks, nobody can have taken one. */
static int has_no_locks(const struct sys *sys, int fd) {
  (void)sys, (void)fd;
  return -EOPNOTSUPP;
}

static void test_no_locks(void) {
  TEST("where the file system knows no locks, no process is said to advance a run") {
    struct sys sys = *sys_real();
    char line[STORE_HOLDER];
    begin_dead();
    sys.locked = has_no_locks;
    CHECK(!store_holder(&sys, url, line));
  }
}

int main(void) {
  scratch_make(&s);
  f = faulty_new(sys_real());
  snprintf(url, sizeof url, "%.4000s/run", s.path);
  all("a reader gives what is there, or an error", begin, try_reader);
  all("a damaged run is cut where its damage begins, or nothing is", begin_damaged, try_cut);
  all("an arrival is put whole, or not at all", begin, try_put);
  all("each arrival is given once, if later", begin, try_take);
  all("an arrival is acknowledged, or still waits", begin, try_acknowledge);
  all("an arrival is put aside, or still waits", begin, try_refuse);
  all("of its fate nothing wrong is said", begin, try_fate);
  all("a list has all runs, as they are or with a problem", begin, try_list);
  all("a label holds, or the one before it", begin_dead, try_label);
  all("a queue is paused, or it is not", begin_dead, try_pause);
  all("a run is claimed, or waits for the next worker", begin_dead, try_claim);
  all("a run that a process advances is not taken for one that waits", begin_dead, try_held);
  all("from a paused queue nothing is claimed", begin_dead, try_paused);
  test_no_locks();
  faulty_free(f);
  scratch_remove(&s);
  return check_finish();
}
