/* journal_read.h: the lines of one segment file, one after the other, each checked by itself.
 *
 * Reads in large chunks through struct sys and never beyond the size given at the start, so
 * that a reader beside a writer sees a fixed piece. Whether lines belong together is
 * journal_scan's matter. */
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
  int64_t limit; /* bytes of the file that count */
};

enum journal_found {
  JOURNAL_LINE, /* `line` is filled; its payload lives until the next call */
  JOURNAL_END,  /* the end, exactly behind a line */
  JOURNAL_BAD,  /* no valid line here, and bytes left */
  JOURNAL_ERROR /* the world failed; `error` is filled */
};

/* `limit` < 0: the size of the file now. */
bool journal_reader_open(struct journal_reader *, const struct sys *, const char *path,
                         int64_t limit, struct error *);
void journal_reader_close(struct journal_reader *); /* idempotent */
int64_t journal_reader_offset(const struct journal_reader *);
/* Goes on at `offset`; before anything was read. */
void journal_reader_seek(struct journal_reader *, int64_t offset);
enum journal_found journal_reader_next(struct journal_reader *, struct journal_line *,
                                       struct error *);
/* From a bad place: looks at every byte behind it for a valid line of a batch after `batch`.
 * JOURNAL_LINE (found; the reader stands on it), JOURNAL_END (there is none), JOURNAL_ERROR. */
enum journal_found journal_reader_search(struct journal_reader *, uint32_t batch,
                                         struct journal_line *, struct error *);

/* From a bad place: `*is` says whether all that is left may be the begin of one line. */
bool journal_reader_short(const struct journal_reader *, bool *is, struct error *);

#endif
