/* fake_store.c: see fake_store.h. */
#include "support/fake_store.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static struct fake_store *of(const struct store *store) {
  return (struct fake_store *)(void *)store;
}

static bool fake_read(struct store *store, uint64_t from,
                      bool (*each)(void *, const struct record *, struct error *), void *data,
                      struct error *error) {
  (void)store, (void)from, (void)each, (void)data, (void)error;
  return true;
}

static void join(char *to, size_t size, const struct batch *batch) {
  size_t length = 0;
  for (size_t i = 0; i < batch_count(batch); i++) {
    struct span payload = batch_at(batch, i);
    if (length + payload.length + 2 >= size) break;
    if (i > 0) to[length++] = ',';
    memcpy(to + length, payload.data, payload.length);
    length += payload.length;
  }
  to[length] = 0;
}

static bool fake_append(struct store *store, const struct batch *batch, enum append kind,
                        struct error *error) {
  static const char *const words[] = {"append(%s)", "last_words(%s)"};
  struct fake_store *s = of(store);
  bool last_words = kind == APPEND_LAST_WORDS;
  char text[200];
  assert(!s->unsynced && "a batch was written before the sync of the one before returned");
  assert(batch_count(batch) > 0 && "an empty batch");
  assert(!s->failed || last_words);
  join(text, sizeof text, batch);
  if (++s->appends == s->fail_append || (last_words && s->fail_last_words)) {
    s->failed = true;
    fake_log_add(s->log, "append failed");
    return error_system(error, ENOSPC, "journal");
  }
  s->unsynced = true;
  s->seq += batch_count(batch);
  fake_log_add(s->log, words[kind], text);
  return true;
}

static bool fake_sync(struct store *store, struct error *error) {
  struct fake_store *s = of(store);
  assert(s->unsynced && !s->syncing);
  if (++s->syncs == s->fail_sync) {
    fake_log_add(s->log, "sync failed");
    if (s->fail_lost) return error_set(error, ERROR_LOST, "journal: another's");
    return !s->fail_mute && error_system(error, EIO, "journal");
  }
  s->unsynced = false;
  fake_log_add(s->log, "sync");
  return true;
}

static bool fake_held(struct store *store, struct error *error) {
  struct fake_store *s = of(store);
  if (++s->helds != s->fail_held) return true;
  fake_log_add(s->log, "not held");
  return error_set(error, ERROR_LOST, "journal: another's");
}

static bool fake_view(struct store *store, const char *name, struct span content,
                      struct error *error) {
  (void)store, (void)name, (void)content, (void)error;
  return true;
}

static uint64_t fake_seq(const struct store *store) {
  return of(store)->seq;
}

static uint64_t fake_syncs(const struct store *store) {
  return of(store)->syncs;
}

static void fake_close(struct store *store) {
  of(store)->closed = true;
}

static const struct store_ops ops = {.read = fake_read,
                                     .append = fake_append,
                                     .sync = fake_sync,
                                     .held = fake_held,
                                     .view = fake_view,
                                     .seq = fake_seq,
                                     .bytes = fake_seq,
                                     .syncs = fake_syncs,
                                     .close = fake_close};

void fake_store_init(struct fake_store *s, struct fake_log *log) {
  *s = (struct fake_store){.store = {.ops = &ops}, .log = log};
}
