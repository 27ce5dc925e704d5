/* journal_index.h: finds a record of the journal by its number.
 *
 * Remembers the place of about every 256th record and of each segment's first, as they are scanned
 * or written; from there it reads heads until the record, without payloads. If there is no memory
 * for a place, the walk is longer. */
#ifndef SKILLRT_STORE_JOURNAL_INDEX_H
#define SKILLRT_STORE_JOURNAL_INDEX_H

#include "store/journal_scan.h"

struct journal_index {
  struct buffer places;
};

void journal_index_init(struct journal_index *, const struct sys *);
void journal_index_clear(struct journal_index *);
/* Notes that the line `seq` is at `offset` of `segment`; to be called in order. */
void journal_index_note(struct journal_index *, uint64_t seq, uint32_t segment, int64_t offset);
/* The place to begin at to reach the record `seq`. */
void journal_index_nearest(const struct journal_index *, uint64_t seq, uint32_t *segment,
                           int64_t *offset);
/* Appends the payload of the record `seq` to `to`, checked; reads nothing after `end`.
 * ERROR_MISSING: there is none, or it is the store's own. ERROR_CORRUPT: file, offset, record. */
bool journal_index_read(const struct journal_index *, const struct sys *, const char *folder,
                        const struct journal_end *end, uint64_t seq, struct buffer *to,
                        struct error *);

#endif
