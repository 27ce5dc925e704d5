/* journal.h: the writing end of a run's journal.
 *
 * One batch is one write; the caller syncs it before the next. A new segment gets its name only
 * when its first line is durable. After a failure the file is cut back to its last good offset,
 * with room for last words. The caller holds the lock. Called by directory.c. */
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
  struct journal_index *index; /* borrowed: gets the place of each record written */
};

/* Continues after `end` (segment 0: a new journal). The caller has removed bytes after it. */
bool journal_open(const struct sys *, const struct journal_options *, const struct journal_end *end,
                  struct journal **, struct error *);
/* The records of a batch. */
bool journal_append(struct journal *, const struct batch *, enum append, struct error *);
bool journal_sync(struct journal *, struct error *);
/* Whether its file still has its name and its size; ERROR_LOST where not. After that nothing is
 * written any more, not even by close. */
bool journal_held(struct journal *, struct error *);
/* From here on nothing is changed: every later call fails with this error. */
void journal_abandon(struct journal *, const struct error *);
/* Where it ends now; belongs to the journal. */
const struct journal_end *journal_where(const struct journal *);
uint64_t journal_bytes(const struct journal *);
uint64_t journal_syncs(const struct journal *);
/* Writes a "closed" line if nothing failed and something was written. NULL is fine. */
void journal_close(struct journal *);

#endif
