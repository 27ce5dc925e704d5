/* fuzz_sse.c: libFuzzer feeds event streams, whole and in chunks: both must tell the same
 * events, and stop at the same limits. The first byte is the size of the chunks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool log_event(void *data, const struct sse_event *event) {
  struct buffer *log = data;
  const struct span part[] = {event->event, event->data, event->id};
  for (int i = 0; i < 3; i++)
    if (!buffer_format(log, NULL, "%zu:", part[i].length) ||
        !buffer_append(log, part[i].data, part[i].length, NULL))
      abort();
  if (!buffer_format(log, NULL, "%lld;", (long long)event->retry_ms)) abort();
  if (memchr(event->id.data, '\0', event->id.length)) abort();
  return log->length < 100000;
}

/* Feeds all in chunks of `step` bytes, each a block of its own; the events go to `log`. */
static void feed(const uint8_t *data, size_t size, size_t step, struct buffer *log) {
  struct sse s;
  struct error e;
  bool good = true;
  sse_init(&s, sys_real(), 64, 128);
  for (size_t at = 0; good && at < size; at += step) {
    size_t part = size - at < step ? size - at : step;
    char *exact = malloc(part);
    if (!exact) abort();
    memcpy(exact, data + at, part);
    good = sse_feed(&s, exact, part, log_event, log, &e);
    free(exact);
  }
  if (!good && e.code != ERROR_LIMIT) abort();
  if (!buffer_format(log, NULL, "%d %d", good, good && sse_unfinished(&s))) abort();
  sse_clear(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  struct buffer whole, pieces;
  buffer_init(&whole, sys_real(), SIZE_MAX);
  buffer_init(&pieces, sys_real(), SIZE_MAX);
  size_t step = data[0] % 32 + 1;
  feed(data + 1, size - 1, size, &whole);
  feed(data + 1, size - 1, step, &pieces);
  if (whole.length != pieces.length || memcmp(whole.data, pieces.data, whole.length) != 0) abort();
  buffer_clear(&whole);
  buffer_clear(&pieces);
  return 0;
}
