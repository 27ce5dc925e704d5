/* move_kit.h: moves a run, as `skillrt move` does, and looks where it is. Header only. */
#ifndef SKILLRT_TESTS_MOVE_KIT_H
#define SKILLRT_TESTS_MOVE_KIT_H

#include "support/store_kit.h"

enum { MOVED_PAYLOADS = 4 };

struct moved {
  char from[PATH_MAX], to[PATH_MAX], digest[65];
  struct error error;
};

/* Makes the run, with a blob and a segment for each batch. */
static inline void moved_begin(struct moved *m) {
  struct kit k = {.sys = sys_real(), .options = {.run_id = "r1", .segment_bytes = 1}};
  struct span value = {"value", 5};
  strcpy(k.path, m->from);
  CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 2) && kit_put(&k, 2, 2));
  sha256_hex(value.data, value.length, m->digest);
  CHECK(kit_blob(&k, m->digest, value) && kit_sync(&k));
  kit_close(&k);
}

/* One command: ends an earlier move that was not finished, or moves it. */
static inline bool moved_try(struct moved *m, const struct sys *sys) {
  struct departure left;
  bool arrived = false;
  const char *digests[] = {m->digest};
  error_clear(&m->error);
  if (!store_departed(sys, m->from, &left, &m->error)) return false;
  if (left.known_as[0] && !left.ended) {
    CHECK_STR(left.known_as, m->to);
    CHECK_STR(left.run_id, "r1");
    if (!store_move_settle(sys, m->from, m->to, false, &arrived, &m->error)) return false;
  }
  return arrived || store_move(sys, m->from, m->to, m->to, digests, 1, &m->error);
}

/* The run is whole there, and can be advanced. */
static inline void moved_is(struct moved *m, const char *place) {
  struct kit k = {.sys = sys_real(), .options = {.run_id = "r1"}};
  struct buffer value;
  strcpy(k.path, place);
  if (!kit_open(&k, STORE_RESUME)) printf("# %s\n", k.error.text);
  CHECK(k.store && kit_count(&k) == MOVED_PAYLOADS);
  CHECK_STR(k.report.run_id, "r1");
  buffer_init(&value, sys_real(), 100);
  CHECK(k.store && k.store->ops->blob_get(k.store, m->digest, &value, &k.error));
  CHECK(value.length == 5 && memcmp(value.data, "value", 5) == 0);
  buffer_clear(&value);
  if (k.store) kit_close(&k);
}

/* It is in one place at most, and the same command finishes the move. */
static inline void moved_finish(struct moved *m, bool was_moved) {
  struct departure left;
  bool here = store_exists(sys_real(), m->from), there = store_exists(sys_real(), m->to);
  CHECK(!(here && there) && (!was_moved || there));
  CHECK(store_departed(sys_real(), m->from, &left, &m->error));
  CHECK(here == !left.known_as[0] && (!left.ended || there));
  if (!left.ended && !moved_try(m, sys_real())) printf("# %s\n", m->error.text);
  CHECK(!store_exists(sys_real(), m->from) && store_exists(sys_real(), m->to));
  CHECK(store_departed(sys_real(), m->from, &left, &m->error) && left.ended);
  CHECK_STR(left.known_as, m->to);
  moved_is(m, m->to);
}

#endif
