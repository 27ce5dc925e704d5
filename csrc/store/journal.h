/* journal.h: the writing end of a run's journal.
 *
 * One batch is one write; the caller syncs it before the next (commit rules of DESIGN.md).
 * A new segment gets its name only when its first line is durable. What a failure leaves:
 * the file cut back to its last good offset, and room for last words. The lock is held by
 * the caller. Called by directory.c. */
#ifndef SKILLRT_STORE_JOURNAL_H
#define SKILLRT_STORE_JOURNAL_H

#include "store/journal_scan.h"

struct journal;

struct journal_options {
  const char *folder; /* exists; copied */
  const char *run_id;
  enum durability durability;
  uint64_t segment_bytes;      /* 0: 64 MiB */
  bool seal;                   /* begin the next segment, whatever the state of the last one */
  struct journal_index *index; /* borrowed: told of what is written */
};

/* Goes on behind `end` (segment 0: a new journal). Bytes behind end->offset are gone already. */
bool journal_open(const struct sys *, const struct journal_options *, const struct journal_end *end,
                  struct journal **, struct error *);
/* The records of a batch. */
bool journal_append(struct journal *, const struct batch *, enum append, struct error *);
bool journal_sync(struct journal *, struct error *);
/* Whether its file is still there under its name, as it was written; ERROR_LOST where not. From
 * then on nothing is written any more, not even by close. */
bool journal_held(struct journal *, struct error *);
/* Leaves everything as it is from here on: every later call fails with this error. */
void journal_abandon(struct journal *, const struct error *);
/* Where it ends now; belongs to the journal. */
const struct journal_end *journal_where(const struct journal *);
uint64_t journal_bytes(const struct journal *);
uint64_t journal_syncs(const struct journal *);
/* Says "closed" in the journal if all is well and something was written. NULL is fine. */
void journal_close(struct journal *);

#endif
