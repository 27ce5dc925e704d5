/* memory.c: a store that holds only blobs, and only while it is open.
 * Must not touch files. Called where a run's context strategy is `memory`. */
#include "store/memory.h"

#include <inttypes.h>
#include <string.h>

#include "store/blob.h"
#include "store/journal_format.h"

struct memory_blob {
  struct memory_blob *next;
  char digest[65];
  size_t length;
  char data[];
};

struct memory {
  struct store store; /* first: a store is cast to this */
  const struct sys *sys;
  uint64_t seq;
  struct memory_blob *blobs;
};

static bool memory_read(struct store *store, uint64_t from,
                        bool (*each)(void *, const struct record *, struct error *), void *data,
                        struct error *e) {
  (void)store, (void)from, (void)each, (void)data, (void)e;
  return true;
}

static bool memory_record(struct store *store, uint64_t seq, struct buffer *to, struct error *e) {
  (void)store, (void)to;
  return error_set(e, ERROR_MISSING, "record %" PRIu64 ": a run in memory keeps none", seq);
}

static bool memory_sync(struct store *store, struct error *e) {
  (void)store, (void)e;
  return true;
}

static struct memory_blob *memory_find(struct memory *m, const char *digest) {
  for (struct memory_blob *blob = m->blobs; blob; blob = blob->next)
    if (strcmp(blob->digest, digest) == 0) return blob;
  return NULL;
}

static bool memory_keep(struct memory *m, const char *digest, struct span value, struct error *e) {
  if (!blob_check(digest, value, e)) return false;
  if (memory_find(m, digest)) return true;
  struct memory_blob *blob = sys_alloc(m->sys, sizeof *blob + value.length);
  if (!blob) return error_set(e, ERROR_MEMORY, "blob %s: out of memory", digest);
  memcpy(blob->digest, digest, sizeof blob->digest);
  if (value.length) memcpy(blob->data, value.data, value.length);
  blob->length = value.length;
  blob->next = m->blobs;
  m->blobs = blob;
  return true;
}

static bool memory_append(struct store *store, const struct batch *batch, enum append kind,
                          struct error *e) {
  struct memory *m = (struct memory *)store;
  size_t count = batch_count(batch);
  struct span value;
  char digest[65];
  (void)kind;
  for (size_t at = 0; batch_next_blob(batch, &at, digest, &value);)
    if (!memory_keep(m, digest, value, e)) return false;
  for (size_t i = 0; i < count; i++) {
    struct span payload = batch_at(batch, i);
    if (journal_own(payload) || (payload.length && memchr(payload.data, '\n', payload.length)))
      return error_set(e, ERROR_INVALID, "a record that no journal would take");
  }
  m->seq += count;
  return true;
}

static bool memory_blob_get(struct store *store, const char *digest, struct buffer *to,
                            struct error *e) {
  struct memory_blob *blob = memory_find((struct memory *)store, digest);
  if (!blob) return error_set(e, ERROR_CORRUPT, "blob %.64s: is not there", digest);
  return buffer_append(to, blob->data, blob->length, e);
}

static bool memory_view(struct store *store, const char *name, struct span content,
                        struct error *e) {
  (void)store, (void)name, (void)content, (void)e;
  return true;
}

static uint64_t memory_seq(const struct store *store) {
  return ((const struct memory *)store)->seq;
}

static uint64_t memory_nothing(const struct store *store) {
  (void)store;
  return 0;
}

static void memory_close(struct store *store) {
  struct memory *m = (struct memory *)store;
  while (m->blobs) {
    struct memory_blob *blob = m->blobs;
    m->blobs = blob->next;
    sys_free(m->sys, blob, sizeof *blob + blob->length);
  }
  sys_free(m->sys, m, sizeof *m);
}

static const struct store_ops memory_ops = {
    .read = memory_read,
    .record = memory_record,
    .append = memory_append,
    .sync = memory_sync,
    .blob_get = memory_blob_get,
    .view = memory_view,
    .seq = memory_seq,
    .bytes = memory_nothing,
    .syncs = memory_nothing,
    .close = memory_close,
};

bool memory_open(const struct sys *sys, const char *at, const struct store_options *o,
                 struct store **store, struct store_report *report, struct error *e) {
  (void)at;
  (void)report;
  if (o->mode != STORE_CREATE) return error_set(e, ERROR_MISSING, "memory: contains no run");
  struct memory *m = sys_alloc(sys, sizeof *m);
  if (!m) return error_set(e, ERROR_MEMORY, "memory store: out of memory");
  m->store.ops = &memory_ops;
  m->sys = sys;
  *store = &m->store;
  return true;
}
