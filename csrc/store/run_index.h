/* run_index.h: what is known of the runs of a folder from one list to the next: of each that was
 * closed in order its header, and a stamp of the journal that said so.
 *
 * Kept in "<folder>/.run-index", which anybody may remove: a line counts only while the stamp is
 * that of the journal, so it is never wrong, only missing. Called by listing.c only. */
#ifndef SKILLRT_STORE_RUN_INDEX_H
#define SKILLRT_STORE_RUN_INDEX_H

#include "base/buffer.h"
#include "store/store.h"

struct run_row {
  int64_t at;    /* of its header */
  uint32_t line; /* where it begins in the text; where its part after the time begins, which may be
                    in an earlier line */
  uint32_t rest;
  uint16_t name; /* in the line; it ends with a slash */
  bool is_here;  /* the folder has the run now, and its journal has the stamp of the line */
};

struct run_index {
  const struct sys *sys;
  struct buffer text;  /* a line for each row */
  struct buffer rows;  /* struct run_row */
  struct buffer slots; /* uint32_t: the number of a row from 1, by its name; 0: none */
  size_t added;        /* rows that are not in the file yet */
  uint32_t rest;       /* of the last row that was read */
};

/* Reads the folder's index file; the index is empty where that is missing, damaged or unreadable.
 */
void run_index_init(struct run_index *, const struct sys *, const char *folder);
void run_index_clear(struct run_index *);

/* The row of a name, with the stamp and segment of its line; NULL: there is none. Valid until the
 * next put. */
struct run_row *run_index_find(struct run_index *, const char *name, uint64_t *stamp,
                               uint32_t *segment);
/* Adds or replaces the row of a name, and marks it as `is_here`. */
bool run_index_put(struct run_index *, const char *name, uint64_t stamp, uint32_t segment,
                   const struct header *, struct error *);

/* Calls `each` for the rows that are here, the newest first, until it returns false. */
void run_index_each(struct run_index *,
                    bool (*each)(void *data, const char *name, const struct header *), void *data);
/* Writes the rows that are here for the next list, if many were added. A failure is none. */
void run_index_keep(const struct run_index *, const char *folder);

/* Of a segment, as it is now. */
uint64_t run_index_stamp(const struct sys_stat *, uint32_t segment);

#endif
