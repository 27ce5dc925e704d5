/* journal_format.h: the bytes of one journal line, and of the store's own records.
 *
 *   J1 <crc32c> <seq16> <batch8> <mark> <prevcrc> <len8> {json}\n
 *
 * All numbers are lower-case hex with leading zeros. The crc covers all bytes after its own digits,
 * newline included. `seq` counts every line of a run from 0, through all its segments; `batch`
 * counts batches from 0; `mark` says whether the line ends its batch (see below); `prevcrc` is the
 * crc of the previous line (in a segment's first line: of the previous segment's last line; 0 in
 * the very first). `len` counts the payload's bytes.
 *
 * Payloads that begin with {"t":"journal" are the store's own:
 *   {"t":"journal","format":1,"run":"ID","segment":N,"prev":"CRC"}  a segment's first line;
 *     stays a J1 line in every later format, so that an older program can say "newer"; ends with
 *     ,"taking":"NUMBER16"} where several processes may write the same segment (postgres.c)
 *   {"t":"journal","closed":true}                                   the run was closed
 *   {"t":"journal","closed":true,"status":"S","due":MS,"about":{}}  the same, with its header
 * A run whose last line is a `closed` one was stopped cleanly. Pure: knows no file. */
#ifndef SKILLRT_STORE_JOURNAL_FORMAT_H
#define SKILLRT_STORE_JOURNAL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "store/store.h"

enum {
  JOURNAL_FORMAT = 1,
  JOURNAL_HEAD = 58,                   /* bytes before the payload */
  JOURNAL_FRAME = 59,                  /* head and newline */
  JOURNAL_RUN_ID = 64,                 /* longest run id */
  JOURNAL_OWN_MAX = 192 + STORE_ABOUT, /* longest payload of the store's own */
  JOURNAL_PAYLOAD_MAX = 64 << 20,      /* larger values are blobs */
};

enum journal_mark {
  JOURNAL_MORE = '0', /* valid only with the next line of its batch */
  JOURNAL_LAST = '1'  /* the batch ends */
};

struct journal_line {
  uint64_t seq;
  uint32_t batch, crc, previous;
  enum journal_mark mark;
  struct span payload;
};

enum journal_shape {
  JOURNAL_WHOLE,   /* a valid line */
  JOURNAL_PARTIAL, /* may be a line, but the bytes end before it does */
  JOURNAL_BROKEN   /* no line begins here */
};

/* Writes payload.length + JOURNAL_FRAME bytes to `to`; fills line->crc. */
size_t journal_line_write(char *to, struct journal_line *line);
/* Reads the line at `from`. JOURNAL_WHOLE: `line` is filled, its payload points into `from`.
 * JOURNAL_PARTIAL: `*needed` is the size to try again with. */
enum journal_shape journal_line_read(const char *from, size_t size, struct journal_line *line,
                                     size_t *needed);

/* Reads only the head (JOURNAL_HEAD bytes) and does not check the crc. `*size`: of the whole line.
 */
bool journal_head_read(const char *from, struct journal_line *line, size_t *size);

bool journal_run_id_valid(const char *id); /* [A-Za-z0-9._-]{1,64} */
bool journal_own(struct span payload);     /* a record of the store itself */
/* Whether the payload is a "closed" record; fills its header unless that is NULL. */
bool journal_closed(struct span payload, struct header *);
/* Writes a "closed" payload to `to` (JOURNAL_OWN_MAX bytes); returns its length. */
size_t journal_closed_payload(char *to, const struct header *);
/* Writes a segment's first payload to `to` (JOURNAL_OWN_MAX bytes); returns its length. `taking`:
 * the number of whoever took the run, where several may write the same segment; 0: none. */
size_t journal_segment_payload(char *to, const char *run_id, uint32_t segment, uint32_t previous,
                               uint64_t taking);

enum journal_header { JOURNAL_HEADER_GOOD, JOURNAL_HEADER_NEWER, JOURNAL_HEADER_BAD };
/* Checks a segment's first payload. An empty `run_id` (65 bytes) is filled from it. */
enum journal_header journal_segment_check(struct span payload, char *run_id, uint32_t segment,
                                          uint32_t previous);
/* The format number in a segment's first payload that the check found to be newer. */
struct span journal_segment_format(struct span payload);

#endif
