/* journal_index.h: where in the journal a record stands, known by its number.
 *
 * Keeps the place of about every 256th record and of each segment's first, as they are scanned or
 * written; from there on heads are walked, payloads are not read. A place that is not known (no
 * memory for it) makes the walk longer, nothing else. */
#ifndef SKILLRT_STORE_JOURNAL_INDEX_H
#define SKILLRT_STORE_JOURNAL_INDEX_H

#include "store/journal_scan.h"

struct journal_index {
  struct buffer places;
};

void journal_index_init(struct journal_index *, const struct sys *);
void journal_index_clear(struct journal_index *);
/* The line `seq` stands at `offset` of `segment`; told in order, kept where it is worth it. */
void journal_index_note(struct journal_index *, uint64_t seq, uint32_t segment, int64_t offset);
/* The place to begin at to reach the record `seq`. */
void journal_index_nearest(const struct journal_index *, uint64_t seq, uint32_t *segment,
                           int64_t *offset);
/* Appends the payload of the record `seq` to `to`, checked; nothing behind `end` is looked at.
 * ERROR_MISSING: there is none, or it is the store's own. ERROR_CORRUPT: file, offset, record. */
bool journal_index_read(const struct journal_index *, const struct sys *, const char *folder,
                        const struct journal_end *end, uint64_t seq, struct buffer *to,
                        struct error *);

#endif
