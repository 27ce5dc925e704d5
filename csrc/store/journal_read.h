/* journal_read.h: the lines of one segment file, one after the other, each checked by itself.
 *
 * Reads in large chunks through struct sys and never beyond the size given at the start, so that a
 * concurrent writer does not matter. journal_scan checks whether lines belong together. */
#ifndef SKILLRT_STORE_JOURNAL_READ_H
#define SKILLRT_STORE_JOURNAL_READ_H

#include "store/journal_format.h"

struct journal_reader {
  const struct sys *sys;
  int fd;             /* owned */
  const char *object; /* the file's name for messages; borrowed */
  struct buffer window;
  int64_t base;  /* where the window begins in the file */
  size_t at;     /* the next line in the window */
  int64_t limit; /* where the part to read ends */
};

enum journal_found {
  JOURNAL_LINE, /* `line` is filled; its payload lives until the next call */
  JOURNAL_END,  /* the end, right after a line */
  JOURNAL_BAD,  /* bytes remain, but they are no valid line */
  JOURNAL_ERROR /* reading failed; `error` is filled */
};

/* `limit` < 0: the size of the file now. */
bool journal_reader_open(struct journal_reader *, const struct sys *, const char *path,
                         int64_t limit, struct error *);
void journal_reader_close(struct journal_reader *); /* idempotent */
int64_t journal_reader_offset(const struct journal_reader *);
/* Starts at `offset`; to be called before the first line. */
void journal_reader_seek(struct journal_reader *, int64_t offset);
enum journal_found journal_reader_next(struct journal_reader *, struct journal_line *,
                                       struct error *);
/* From a bad place: tries every byte after it as a valid line of a batch later than `batch`.
 * JOURNAL_LINE (found: the reader is at it), JOURNAL_END (there is none), JOURNAL_ERROR. */
enum journal_found journal_reader_search(struct journal_reader *, uint32_t batch,
                                         struct journal_line *, struct error *);

/* From a bad place: `*is` says whether the rest of the file may be the begin of one line. */
bool journal_reader_short(const struct journal_reader *, bool *is, struct error *);

#endif
