/* store_kit.h: short words for tests of the store: open, append, collect. Header only.
 * Payloads are numbered: {"n":7}. */
#ifndef SKILLRT_TESTS_STORE_KIT_H
#define SKILLRT_TESTS_STORE_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "store/store.h"
#include "support/check.h"
#include "support/faulty_sys.h"
#include "support/scratch.h"

struct kit {
  const struct sys *sys;
  struct store_options options;
  struct store *store;
  struct store_report report;
  struct error error;
  char path[PATH_MAX]; /* of the run */
};

static inline void kit_init(struct kit *k, struct scratch *s) {
  *k = (struct kit){.sys = sys_real()};
  k->options.run_id = "r1";
  snprintf(k->path, sizeof k->path, "%.4000s/run", s->path);
}

static inline bool kit_open(struct kit *k, enum store_open mode) {
  k->options.mode = mode;
  k->store = NULL;
  error_clear(&k->error);
  return store_open(k->sys, k->path, &k->options, &k->store, &k->report, &k->error);
}

static inline bool kit_open_memory(struct kit *k) {
  k->options.mode = STORE_CREATE;
  return store_open(k->sys, "memory:", &k->options, &k->store, &k->report, &k->error);
}

static inline void kit_close(struct kit *k) {
  store_close(&k->store);
}

/* One batch of `count` payloads numbered from `first`. */
static inline bool kit_append(struct kit *k, int first, int count, enum append kind) {
  struct batch batch;
  char text[32];
  batch_init(&batch, sys_real());
  for (int i = 0; i < count; i++) {
    int length = snprintf(text, sizeof text, "{\"n\":%d}", first + i);
    batch_add(&batch, text, (size_t)length, NULL);
  }
  bool good = k->store->ops->append(k->store, &batch, kind, &k->error);
  batch_clear(&batch);
  return good;
}

/* One batch of a single payload. */
static inline bool kit_append_one(struct kit *k, struct span payload, enum append kind) {
  struct batch batch;
  batch_init(&batch, sys_real());
  bool good = batch_add(&batch, payload.data, payload.length, &k->error) &&
              k->store->ops->append(k->store, &batch, kind, &k->error);
  batch_clear(&batch);
  return good;
}

/* One batch of a single blob. */
static inline bool kit_blob(struct kit *k, const char *digest, struct span value) {
  struct batch batch;
  batch_init(&batch, sys_real());
  bool good = batch_blob(&batch, digest, value, &k->error) &&
              k->store->ops->append(k->store, &batch, APPEND_WHOLE, &k->error);
  batch_clear(&batch);
  return good;
}

static inline bool kit_sync(struct kit *k) {
  return k->store->ops->sync(k->store, &k->error);
}

static inline bool kit_put(struct kit *k, int first, int count) {
  return kit_append(k, first, count, APPEND_WHOLE) && kit_sync(k);
}

struct kit_list {
  int count;    /* payloads seen */
  int expected; /* the next number */
  bool wrong;   /* one was another */
  uint64_t seq;
};

static inline bool kit_each(void *data, const struct record *record, struct error *e) {
  struct kit_list *list = data;
  char want[32];
  (void)e;
  int length = snprintf(want, sizeof want, "{\"n\":%d}", list->expected++);
  list->count++;
  if (record->payload.length != (size_t)length ||
      memcmp(record->payload.data, want, (size_t)length))
    list->wrong = true;
  if (record->seq <= list->seq) list->wrong = true;
  list->seq = record->seq;
  return true;
}

/* How many payloads the store holds, which must be numbered 0, 1, 2 ...; -1 where they are
 * not, -2 where reading failed. */
static inline int kit_count(struct kit *k) {
  struct kit_list list = {0};
  if (!k->store->ops->read(k->store, 0, kit_each, &list, &k->error)) return -2;
  return list.wrong ? -1 : list.count;
}

static inline bool kit_view(struct kit *k, const char *name, const char *text) {
  struct span content = {text, strlen(text)};
  return k->store->ops->view(k->store, name, content, &k->error);
}

/* A state.json with the place for its digest. */
static inline const char *kit_state(char to[512], unsigned long seq, const char *more) {
  snprintf(to, 512,
           "{\n  \"_skillrt\": {\n    \"digest\": \"%064d\",\n    \"seq\": %lu\n  },\n"
           "  \"a\": \"%s\"\n}\n",
           0, seq, more);
  return to;
}

#endif
