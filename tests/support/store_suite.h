/* store_suite.h: one suite for every store: the same random operations on each, compared with a
 * model that says what store.h promises. Another kind of store is one more subject. Header only. */
#ifndef SKILLRT_TESTS_STORE_SUITE_H
#define SKILLRT_TESTS_STORE_SUITE_H

#include <unistd.h>

#include "support/store_kit.h"

/* A run that is not there yet. */
struct subject {
  const char *name, *url; /* NULL: the directory of the kit */
  const char *all;        /* where it is listed; NULL: the folder of that directory */
  bool keeps;             /* what was appended, when it is closed; and it has an inbox and a list */
};

enum { ARRIVALS = 40, BATCHES = 24 };

static uint32_t seed;

static unsigned draw(unsigned below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

/* ---- batches ---- */

struct history {
  char payloads[BATCHES * 4][40]; /* in order */
  size_t count;
  char digests[BATCHES][65];
  char values[BATCHES][24];
  size_t blobs;
  struct header header;
};

static const char *url_of(const struct kit *k, const struct subject *subject) {
  return subject->url ? subject->url : k->path;
}

static bool open_as(struct kit *k, const struct subject *subject, enum store_open mode) {
  k->options.mode = mode;
  k->store = NULL;
  error_clear(&k->error);
  bool good = store_open(k->sys, url_of(k, subject), &k->options, &k->store, &k->report, &k->error);
  if (!good) printf("# open: %s\n", k->error.text);
  return good;
}

/* A batch of up to three payloads and a blob, now and then with what no journal takes. */
static void append_one(struct kit *k, struct history *h) {
  static const char *const statuses[] = {"", "paused", "completed"};
  struct batch batch;
  size_t count = draw(4), blobs = h->blobs;
  bool bad = false;
  batch_init(&batch, k->sys);
  for (size_t i = 0; i < count; i++) {
    char *to = h->payloads[h->count + i];
    unsigned kind = draw(40);
    bad = bad || kind < 2;
    snprintf(to, 40,
             kind == 0   ? "{\n%zu}"
             : kind == 1 ? "{\"t\":\"journal\",\"n\":%zu}"
                         : "{\"n\":%zu}",
             h->count + i);
    CHECK(batch_add(&batch, to, strlen(to), &k->error));
  }
  if (draw(3) == 0) {
    snprintf(h->values[blobs], sizeof h->values[blobs], "value %u", draw(1000));
    sha256_hex(h->values[blobs], strlen(h->values[blobs]), h->digests[blobs]);
    struct span value = {h->values[blobs], strlen(h->values[blobs])};
    CHECK(batch_blob(&batch, h->digests[blobs], value, &k->error));
    h->blobs++; /* kept even where the records are refused */
  }
  snprintf(batch.header.status, sizeof batch.header.status, "%s", statuses[draw(3)]);
  batch.header.due = draw(2) ? 1000 + (int64_t)draw(100) : 0;
  snprintf(batch.header.about, sizeof batch.header.about, "{\"n\":{\"a\":%u}}", draw(9));
  error_clear(&k->error);
  bool good = k->store->ops->append(k->store, &batch, APPEND_WHOLE, &k->error);
  CHECK(good == !bad && (good || k->error.code == ERROR_INVALID));
  if (good && count > 0) {
    h->count += count;
    h->header = batch.header;
    CHECK(kit_sync(k));
  }
  batch_clear(&batch);
}

struct reading {
  const struct history *history;
  size_t count;
  uint64_t last;
  bool wrong;
};

static bool read_each(void *data, const struct record *record, struct error *e) {
  struct reading *r = data;
  (void)e;
  const char *want = r->count < r->history->count ? r->history->payloads[r->count] : "";
  if (record->payload.length != strlen(want) || record->seq <= r->last ||
      memcmp(record->payload.data, want, record->payload.length) != 0)
    r->wrong = true;
  r->last = record->seq;
  r->count++;
  return true;
}

static void check_history(struct kit *k, const struct subject *subject, const struct history *h) {
  struct reading r = {.history = h};
  struct buffer to;
  buffer_init(&to, k->sys, 1000);
  CHECK(k->store->ops->read(k->store, 0, read_each, &r, &k->error));
  CHECK(!r.wrong && r.count == (subject->keeps ? h->count : 0));
  if (r.last) {
    CHECK(k->store->ops->record(k->store, r.last, &to, &k->error));
    CHECK(to.length == strlen(h->payloads[h->count - 1]));
  }
  CHECK(!k->store->ops->record(k->store, 1000000, &to, &k->error));
  CHECK(k->error.code == ERROR_MISSING);
  for (size_t i = 0; i < h->blobs; i++) {
    buffer_reset(&to);
    CHECK(k->store->ops->blob_get(k->store, h->digests[i], &to, &k->error));
    CHECK(to.length == strlen(h->values[i]) && memcmp(to.data, h->values[i], to.length) == 0);
  }
  buffer_clear(&to);
}

/* A run, and where it is listed. */
struct place {
  const char *url, *all;
};

struct listed {
  const char *url; /* of the run; a place may hold others */
  size_t count;
  struct listing run;
};

static bool list_each(void *data, const struct listing *run) {
  struct listed *listed = data;
  if (strcmp(run->url, listed->url) != 0) return true;
  listed->count++;
  listed->run = *run;
  return true;
}

static struct listed list(const struct place *place) {
  struct listed listed = {.url = place->url};
  struct error error = {0};
  CHECK(store_list(sys_real(), place->all, list_each, &listed, &error));
  return listed;
}

/* What is listed is what the last batch said; once the run is open and has said something, that it
 * is held. */
static void check_list(const struct place *folder, const struct history *h, bool open) {
  bool going = h->header.status[0] == '\0';
  struct listed all = list(folder);
  CHECK(all.count == 1 && !all.run.problem);
  CHECK(all.run.is_held ? open : !open || strcmp(all.run.header.status, "executing") != 0);
  if (open) return;
  CHECK_STR(all.run.header.status, going ? "executing" : h->header.status);
  CHECK(all.run.header.due == (going ? 0 : h->header.due));
  CHECK_STR(all.run.header.about, going ? "" : h->header.about);
}

/* Appends, reads, closes and opens again, drawn from `from`. */
static inline void suite_batches(struct scratch *s, const struct subject *subject, uint32_t from) {
  struct kit k;
  static struct history h;
  seed = from;
  struct error error = {0};
  scratch_empty(s);
  kit_init(&k, s);
  h = (struct history){0};
  struct place place = {url_of(&k, subject), subject->all ? subject->all : s->path};
  CHECK(open_as(&k, subject, STORE_CREATE));
  if (!k.store) return;
  for (int i = 0; i < BATCHES; i++) {
    append_one(&k, &h);
    if (draw(6) > 0) continue;
    check_history(&k, subject, &h);
    if (!subject->keeps || h.count == 0) continue;
    check_list(&place, &h, true);
    kit_close(&k);
    check_list(&place, &h, false);
    CHECK(!open_as(&k, subject, STORE_CREATE) && k.error.code == ERROR_EXISTS);
    CHECK(open_as(&k, subject, STORE_RESUME) && k.report.records == h.count);
  }
  check_history(&k, subject, &h);
  kit_close(&k);
  if (subject->keeps) return;
  CHECK(!open_as(&k, subject, STORE_RESUME) && k.error.code == ERROR_MISSING);
  CHECK(!store_list(k.sys, subject->url, list_each, NULL, &error));
  CHECK(error.code == ERROR_MISSING);
}

/* ---- the inbox ---- */

enum state { WAITS, GIVEN, REFUSED, TAKEN };

struct arrivals {
  struct {
    char name[ARRIVAL_NAME], text[24];
    enum state state;
  } all[ARRIVALS];
  size_t count;
};

static void put_one(struct inbox *inbox, struct arrivals *a) {
  char key[16];
  struct error error = {0};
  snprintf(key, sizeof key, "%03zu/..", a->count); /* their names are in the order they come in */
  snprintf(a->all[a->count].text, sizeof a->all[0].text, "{\"n\":%zu}", a->count);
  struct span text = {a->all[a->count].text, strlen(a->all[a->count].text)};
  CHECK(inbox->ops->put(inbox, key, text, draw(2), a->all[a->count].name, &error));
  a->all[a->count++].state = WAITS;
}

/* Gives each that waits and was not given, in order. */
static void take_all(struct inbox *inbox, struct arrivals *a) {
  struct arrival one;
  struct error error = {0};
  for (size_t i = 0; i < a->count; i++) {
    if (a->all[i].state != WAITS) continue;
    CHECK(inbox->ops->take(inbox, &one, &error) && one.name && !one.problem && !one.again);
    CHECK_STR(one.name, a->all[i].name);
    CHECK(one.text.length == strlen(a->all[i].text) &&
          memcmp(one.text.data, a->all[i].text, one.text.length) == 0);
    CHECK(one.came > 1600000000000);
    a->all[i].state = GIVEN;
  }
  CHECK(inbox->ops->take(inbox, &one, &error) && !one.name);
}

static void settle_one(struct inbox *inbox, struct arrivals *a) {
  struct error error = {0};
  size_t i = draw((unsigned)a->count);
  if (a->all[i].state != GIVEN) return;
  bool refuses = draw(3) == 0;
  CHECK((refuses ? inbox->ops->refuse : inbox->ops->acknowledge)(inbox, a->all[i].name, &error));
  a->all[i].state = refuses ? REFUSED : TAKEN;
}

static void check_inbox(struct inbox *inbox, const struct arrivals *a) {
  static const enum arrival_fate fates[] = {ARRIVAL_WAITS, ARRIVAL_WAITS, ARRIVAL_REFUSED,
                                            ARRIVAL_TAKEN};
  size_t waiting = 0, count;
  struct error error = {0};
  enum arrival_fate fate;
  for (size_t i = 0; i < a->count; i++) {
    CHECK(inbox->ops->fate(inbox, a->all[i].name, &fate, &error));
    CHECK(fate == fates[a->all[i].state]);
    waiting += a->all[i].state <= GIVEN;
  }
  CHECK(inbox->ops->waiting(inbox, &count, &error) && count == waiting);
}

/* Another process: what was given is given again. */
static void reopen(const char *url, struct inbox **inbox, struct arrivals *a) {
  struct error error = {0};
  inbox_close(inbox);
  CHECK(inbox_open(sys_real(), url, inbox, &error));
  for (size_t i = 0; i < a->count; i++)
    if (a->all[i].state == GIVEN) a->all[i].state = WAITS;
}

/* Puts, takes and settles arrivals. */
static inline void suite_inbox(struct scratch *s, const struct subject *subject, uint32_t from) {
  struct kit k;
  static struct arrivals a;
  seed = from;
  struct inbox *inbox = NULL;
  struct error error = {0};
  scratch_empty(s);
  kit_init(&k, s);
  a = (struct arrivals){.count = 0};
  CHECK(open_as(&k, subject, STORE_CREATE));
  if (!k.store) return;
  const char *url = url_of(&k, subject);
  if (!subject->keeps) {
    CHECK(!inbox_open(k.sys, url, &inbox, &error) && error.code == ERROR_MISSING);
    kit_close(&k);
    return;
  }
  CHECK(inbox_open(k.sys, url, &inbox, &error));
  while (a.count < ARRIVALS) {
    switch (draw(6)) {
    case 0:
      take_all(inbox, &a);
      break;
    case 1:
      if (draw(4) == 0) reopen(url, &inbox, &a);
      break;
    case 2:
      put_one(inbox, &a);
      break;
    default:
      if (a.count > 0) settle_one(inbox, &a);
    }
    check_inbox(inbox, &a);
  }
  inbox_close(&inbox);
  inbox_close(&inbox); /* twice does nothing */
  kit_close(&k);
}

#endif
