/* batch.c: the record payloads and blobs that one append adds to a run.
 *
 * Keeps its memory between batches, so that a long run does not allocate per step. Knows
 * nothing of what is in a payload. Filled by policies, emptied by the engine, read by stores. */
#include "store/store.h"

#include <assert.h>
#include <string.h>

#include "store/blob.h"

/* Values over 64 KiB are passed as blobs, so a larger batch is a bug. */
enum {
  DIGEST = 64,
  BATCH_BYTES = 256 << 20,
  BATCH_BLOBS = 1 << 30,
  BATCH_ENDS = 16 << 20,
  BATCH_KEPT = 1 << 20
};

void batch_init(struct batch *b, const struct sys *sys) {
  b->header = (struct header){.due = 0};
  b->sys = sys;
  buffer_init(&b->bytes, sys, BATCH_BYTES);
  buffer_init(&b->ends, sys, BATCH_ENDS);
  buffer_init(&b->blobs, sys, BATCH_BLOBS);
}

void batch_clear(struct batch *b) {
  buffer_clear(&b->bytes);
  buffer_clear(&b->ends);
  buffer_clear(&b->blobs);
}

void batch_reset(struct batch *b) {
  b->header = (struct header){.due = 0};
  if (b->bytes.capacity > BATCH_KEPT) buffer_clear(&b->bytes);
  buffer_reset(&b->bytes);
  buffer_reset(&b->ends);
  if (b->blobs.capacity > 0) buffer_clear(&b->blobs); /* they are rare, and large */
}

static void bytes_cut(struct batch *b, size_t length) {
  b->bytes.length = length;
  if (b->bytes.data) b->bytes.data[length] = 0;
}

bool batch_add(struct batch *b, const char *payload, size_t size, struct error *error) {
  size_t before = b->bytes.length;
  if (size > 0 && !buffer_append(&b->bytes, payload, size, error)) return false;
  size_t end = b->bytes.length;
  if (!buffer_append(&b->ends, &end, sizeof end, error)) {
    bytes_cut(b, before);
    return false;
  }
  return true;
}

bool batch_blob(struct batch *b, const char *digest, struct span value, struct error *error) {
  size_t before = b->blobs.length;
  if (!blob_digest_valid(digest))
    return error_set(error, ERROR_INVALID, "blob \"%.80s\": its name is no SHA-256", digest);
  if (buffer_append(&b->blobs, digest, DIGEST, error) &&
      buffer_append(&b->blobs, &value.length, sizeof value.length, error) &&
      (value.length == 0 || buffer_append(&b->blobs, value.data, value.length, error)))
    return true;
  b->blobs.length = before;
  return false;
}

bool batch_next_blob(const struct batch *b, size_t *at, char digest[65], struct span *value) {
  if (*at >= b->blobs.length) return false;
  const char *from = b->blobs.data + *at;
  memcpy(digest, from, DIGEST);
  digest[DIGEST] = '\0';
  memcpy(&value->length, from + DIGEST, sizeof value->length);
  value->data = from + DIGEST + sizeof value->length;
  *at += DIGEST + sizeof value->length + value->length;
  return true;
}

size_t batch_count(const struct batch *b) {
  return b->ends.length / sizeof(size_t);
}

struct span batch_at(const struct batch *b, size_t index) {
  assert(index < batch_count(b));
  size_t from = 0, to;
  if (index > 0) memcpy(&from, b->ends.data + (index - 1) * sizeof from, sizeof from);
  memcpy(&to, b->ends.data + index * sizeof to, sizeof to);
  return (struct span){b->bytes.data ? b->bytes.data + from : "", to - from};
}

void batch_cut(struct batch *b, size_t count) {
  if (count >= batch_count(b)) return;
  struct span first = batch_at(b, count);
  bytes_cut(b, b->bytes.data ? (size_t)(first.data - b->bytes.data) : 0);
  b->ends.length = count * sizeof(size_t);
}

int64_t header_at(const struct header *header, const char **rest) {
  static const char before[] = "{\"at\":";
  size_t length = sizeof before - 1;
  if (strncmp(header->about, before, length) != 0) return 0;
  const char *digit = header->about + length;
  int64_t at = 0;
  for (; *digit >= '0' && *digit <= '9' && at < INT64_MAX / 100; digit++)
    at = at * 10 + (*digit - '0');
  if (*digit != ',') return 0;
  *rest = digit + 1;
  return at;
}
