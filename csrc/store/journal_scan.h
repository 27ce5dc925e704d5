/* journal_scan.h: a whole journal read in order, and what its end looks like.
 *
 * Checks every line (form, crc) and that each continues the one before (run, segment, seq, batch,
 * chain). Changes nothing. The rule for a bad place in the last segment: batch b+1 is written only
 * after the sync of batch b returned, so a bad place without a valid line of a later batch after
 * it may be a torn tail; anything else is corruption. Earlier segments were synced before the next
 * was made, so there every bad place is corruption. */
#ifndef SKILLRT_STORE_JOURNAL_SCAN_H
#define SKILLRT_STORE_JOURNAL_SCAN_H

#include "store/journal_format.h"
#include "store/store.h"

/* Where the good part of a journal ends: after its last complete batch. */
struct journal_end {
  char run_id[JOURNAL_RUN_ID + 1];
  uint32_t segment; /* the last one, from 1 */
  int64_t offset;   /* in it */
  int64_t size;     /* of its file; bytes from offset to here are a torn tail */
  uint64_t seq;     /* of the last good line */
  uint64_t payload; /* seq of the last line that is not the store's own */
  uint32_t batch;   /* of it */
  uint32_t crc;     /* of it */
  uint64_t records; /* payloads that were scanned, without the store's own */
  uint64_t newest;  /* seq of the last one with the ending that was asked for; 0: there is none */
  bool closed;      /* the last line says that the run was closed */
  struct header header; /* then: with this */
  bool bare;            /* the last segment has only its first line */
};

struct journal_index;

typedef bool journal_each(void *data, const struct record *, struct error *);

/* "<folder>/00000001.sj" into `to` (PATH_MAX bytes); ERROR_LIMIT where it is too long. */
bool journal_segment_path(char *to, const char *folder, uint32_t segment, struct error *);

/* How many segments the folder holds; 0 where it has none or does not exist. A gap is
 * ERROR_CORRUPT. */
bool journal_segments(const struct sys *, const char *folder, uint32_t *count, struct error *);

/* The highest number of a segment; 0: there is none, or no folder. */
bool journal_segments_highest(const struct sys *, const char *folder, uint32_t *number,
                              struct error *);
/* How many there are before the first gap. */
bool journal_segments_in_row(const struct sys *, const char *folder, uint32_t *count,
                             struct error *);

/* How to treat a bad place without a later batch after it. */
enum journal_rule {
  JOURNAL_TORN,  /* a power cut may leave it: the journal ends before it */
  JOURNAL_SHORT, /* the same only for a last line that is cut short, as a kill leaves it: else it is
                    corruption */
  JOURNAL_CUT    /* the journal ends before the first bad place, whatever follows */
};

struct journal_look {
  enum journal_rule rule;
  bool tail;                   /* begins at the last segment, and the one `ending` is in */
  struct span ending;          /* of the payloads that `newest` is about; empty: none */
  struct journal_index *index; /* to be filled; NULL: none */
};

/* Reads the journal in `folder` up to its end and fills `end`. ERROR_CORRUPT (file, offset,
 * record), ERROR_NEWER, ERROR_MISSING (no segment), ERROR_SYSTEM. */
bool journal_scan(const struct sys *, const char *folder, const struct journal_look *,
                  struct journal_end *end, struct error *);

/* Reads from the record `from` up to `end` again and calls `each` for every payload that is not the
 * store's own; false from `each` ends it. A bad place is ERROR_CORRUPT now. The index, which may be
 * NULL, says where to begin. */
bool journal_replay(const struct sys *, const char *folder, const struct journal_index *,
                    const struct journal_end *end, uint64_t from, journal_each *each, void *data,
                    struct error *);

#endif
