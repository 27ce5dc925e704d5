/* journal_lines.c: see journal_lines.h. Must not know where lines are stored. */
#include "store/journal_lines.h"

#include <string.h>

bool journal_line_add(struct buffer *out, struct journal_chain *chain, enum journal_mark mark,
                      struct span payload, struct error *e) {
  char *to = buffer_room(out, JOURNAL_FRAME + payload.length, e);
  struct journal_line line = {.seq = chain->seq,
                              .batch = chain->batch,
                              .mark = mark,
                              .previous = chain->crc,
                              .payload = payload};
  if (!to) return false;
  out->length += journal_line_write(to, &line);
  chain->crc = line.crc;
  return true;
}

static bool payload_check(const char *object, struct span payload, struct error *e) {
  if (payload.length > JOURNAL_PAYLOAD_MAX)
    return error_set(e, ERROR_LIMIT, "%s: a record of %zu bytes; keep large values as blobs",
                     object, payload.length);
  if (journal_own(payload))
    return error_set(e, ERROR_INVALID, "%s: a record of type \"journal\" is the store's own",
                     object);
  return !(payload.length && memchr(payload.data, '\n', payload.length)) ||
         error_set(e, ERROR_INVALID, "%s: a record holds a newline", object);
}

bool journal_batch_add(struct buffer *out, struct journal_chain *chain, const char *object,
                       const struct batch *batch, const struct header *closed, struct error *e) {
  char own[JOURNAL_OWN_MAX];
  size_t count = batch ? batch_count(batch) : 1;
  if (chain->batch == UINT32_MAX) return error_set(e, ERROR_LIMIT, "%s: too many batches", object);
  chain->batch++;
  for (size_t i = 0; i < count; i++) {
    struct span payload =
        batch ? batch_at(batch, i) : (struct span){own, journal_closed_payload(own, closed)};
    if (batch && !payload_check(object, payload, e)) return false;
    chain->seq++;
    if (!journal_line_add(out, chain, i + 1 < count ? JOURNAL_MORE : JOURNAL_LAST, payload, e))
      return false;
  }
  return true;
}
