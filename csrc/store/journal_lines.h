/* journal_lines.h: the lines of a batch, each chained to the one before.
 *
 * Pure: knows no file. Called by journal.c and postgres.c. */
#ifndef SKILLRT_STORE_JOURNAL_LINES_H
#define SKILLRT_STORE_JOURNAL_LINES_H

#include "store/journal_format.h"

/* The last line of a journal. */
struct journal_chain {
  uint64_t seq;
  uint32_t batch, crc;
};

/* Appends the line to `out`, chained to `chain`, which then becomes this line. */
bool journal_line_add(struct buffer *out, struct journal_chain *chain, enum journal_mark mark,
                      struct span payload, struct error *);
/* Appends the lines of the next batch, or where `batch` is NULL a "closed" line with this header.
 * ERROR_INVALID, ERROR_LIMIT: a payload is not allowed in a journal; `object` begins the message.
 */
bool journal_batch_add(struct buffer *out, struct journal_chain *chain, const char *object,
                       const struct batch *batch, const struct header *closed, struct error *);

#endif
