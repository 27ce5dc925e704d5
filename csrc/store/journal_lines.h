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

/* Appends the line to `out`, chained behind `chain`, which becomes it. */
bool journal_line_add(struct buffer *out, struct journal_chain *chain, enum journal_mark mark,
                      struct span payload, struct error *);
/* Appends the lines of the next batch; of one that says "closed" with this header where `batch` is
 * NULL. ERROR_INVALID, ERROR_LIMIT: it holds what no journal takes; `object` begins the message. */
bool journal_batch_add(struct buffer *out, struct journal_chain *chain, const char *object,
                       const struct batch *batch, const struct header *closed, struct error *);

#endif
