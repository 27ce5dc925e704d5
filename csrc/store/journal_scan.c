/* journal_scan.c: walks the segments of a journal and judges what it finds.
 * Must not change a byte. Called by directory.c (opening, reading) and the journal fuzzer. */
#include "store/journal_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "store/journal_index.h"
#include "store/journal_read.h"

struct scan {
  const struct sys *sys;
  const char *folder;
  const struct journal_end *stop; /* NULL: find the end */
  journal_each *each;             /* NULL: only check */
  struct journal_index *index;    /* NULL: none is wanted */
  void *data;
  struct journal_end end; /* behind the last complete batch so far */
  bool begun;             /* a line was seen: seq, batch and crc below count */
  uint64_t seq;           /* of the last line seen */
  uint32_t batch, crc;    /* and `mark`: how that line stands to its batch */
  enum journal_mark mark;
  uint64_t records;
};

bool journal_segment_path(char *to, const char *folder, uint32_t segment, struct error *e) {
  int length = snprintf(to, PATH_MAX, "%s/%08" PRIu32 ".sj", folder, segment);
  if (length < 0 || length >= PATH_MAX)
    return error_set(e, ERROR_LIMIT, "%s: path too long", folder);
  return true;
}

struct segments {
  uint32_t count, highest;
};

static bool segments_each(void *data, const char *name, enum sys_kind kind) {
  struct segments *found = data;
  (void)kind;
  uint32_t number = 0;
  if (strlen(name) != 11 || strcmp(name + 8, ".sj") != 0) return true;
  for (int i = 0; i < 8; i++) {
    if (name[i] < '0' || name[i] > '9') return true;
    number = number * 10 + (uint32_t)(name[i] - '0');
  }
  found->count++;
  if (number > found->highest) found->highest = number;
  return true;
}

bool journal_segments(const struct sys *sys, const char *folder, uint32_t *count, struct error *e) {
  struct segments found = {0};
  struct sys_stat about;
  char path[PATH_MAX];
  *count = 0;
  int failed = sys->list(sys, folder, segments_each, &found);
  if (failed == -ENOENT || failed == -ENOTDIR) return true;
  if (failed < 0) return error_system(e, -failed, "%s", folder);
  *count = found.count;
  if (found.count == found.highest) return true;
  for (uint32_t i = 1; i <= found.highest; i++) {
    if (!journal_segment_path(path, folder, i, e)) return false;
    failed = sys->stat(sys, path, &about);
    if (failed == -ENOENT)
      return error_set(e, ERROR_CORRUPT,
                       "%s: this segment is missing, but later ones are there; nothing was "
                       "changed; put it back from a copy",
                       path);
    if (failed < 0) return error_system(e, -failed, "%s", path);
  }
  return error_set(e, ERROR_CORRUPT, "%s: segment 0 does not belong here; nothing was changed",
                   folder);
}

static bool scan_corrupt(const struct journal_reader *r, int64_t offset, uint64_t record,
                         const char *why, struct error *e) {
  return error_set(e, ERROR_CORRUPT,
                   "%s: offset %" PRId64 ", record %" PRIu64
                   ": %s; nothing was changed; put the journal back from a copy",
                   r->object, offset, record, why);
}

/* Of the batch that the last line belongs to, more must come. */
static bool scan_open(const struct scan *s) {
  return s->begun && s->mark == JOURNAL_MORE;
}

/* NULL where the line belongs behind the ones seen, else what is wrong with it. */
static const char *scan_chain(const struct scan *s, const struct journal_line *line) {
  uint64_t seq = s->begun ? s->seq + 1 : 0;
  uint32_t batch = !s->begun ? 0 : scan_open(s) ? s->batch : s->batch + 1;
  bool rest = s->begun && s->mark == JOURNAL_FRONT && line->batch == s->batch;
  if (line->previous != s->crc) return "valid, but not written behind the record before it";
  if (line->seq != seq) return "valid, but its number is not the next one";
  if (line->batch != batch && !rest) return "valid, but of another batch";
  return NULL;
}

static bool scan_newer(const struct journal_reader *r, struct span format, struct error *e) {
  return error_set(e, ERROR_NEWER,
                   "%s: written in journal format %.*s, and this skillrt reads format %d: "
                   "use a newer skillrt; nothing was changed",
                   r->object, (int)format.length, format.data, JOURNAL_FORMAT);
}

/* A segment's first line: the store's own, whole, in a batch of its own. */
static bool scan_header(struct scan *s, struct journal_reader *r, const struct journal_line *line,
                        struct error *e) {
  uint32_t segment = s->end.segment;
  switch (journal_segment_check(line->payload, s->end.run_id, segment, s->crc)) {
  case JOURNAL_HEADER_GOOD:
    if (line->mark == JOURNAL_LAST) return true;
    break;
  case JOURNAL_HEADER_NEWER:
    return scan_newer(r, journal_segment_format(line->payload), e);
  case JOURNAL_HEADER_BAD:
    break;
  }
  return scan_corrupt(r, 0, line->seq, "not the beginning of this run's segment", e);
}

static void scan_advance(struct scan *s, const struct journal_line *line, int64_t offset) {
  s->begun = true;
  s->seq = line->seq;
  s->batch = line->batch;
  s->crc = line->crc;
  s->mark = line->mark;
  if (!journal_own(line->payload)) s->records++;
  if (line->mark == JOURNAL_MORE) return;
  s->end.offset = offset;
  s->end.seq = s->seq;
  s->end.batch = s->batch;
  s->end.crc = s->crc;
  s->end.records = s->records;
  s->end.closed = journal_closed(line->payload);
}

/* One line behind a segment's first. */
static bool scan_line(struct scan *s, struct journal_reader *r, const struct journal_line *line,
                      int64_t offset, struct error *e) {
  const char *wrong = scan_chain(s, line);
  if (wrong) return scan_corrupt(r, offset, s->seq + 1, wrong, e);
  bool own = journal_own(line->payload);
  if (own &&
      (s->mark != JOURNAL_LAST || line->mark != JOURNAL_LAST || !journal_closed(line->payload)))
    return scan_corrupt(r, offset, line->seq, "not a record that the journal itself writes here",
                        e);
  s->end.bare = false;
  if (s->index) journal_index_note(s->index, line->seq, s->end.segment, offset);
  scan_advance(s, line, journal_reader_offset(r));
  if (own || !s->each) return true;
  struct record record = {.seq = line->seq, .batch = line->batch, .payload = line->payload};
  return s->each(s->data, &record, e);
}

/* The lines end, well or badly, at the reader's place. */
static bool scan_tail(struct scan *s, struct journal_reader *r, bool bad, bool final,
                      struct error *e) {
  struct journal_line line;
  int64_t offset = journal_reader_offset(r);
  uint64_t record = s->begun ? s->seq + 1 : 0;
  if (!bad && !scan_open(s)) return true;
  if (!final || s->stop)
    return scan_corrupt(r, offset, record, "no valid record, but the journal goes on behind it", e);
  bool inside = s->begun && s->mark != JOURNAL_LAST;
  switch (journal_reader_search(r, inside ? s->batch : s->batch + 1, &line, e)) {
  case JOURNAL_LINE:
    return scan_corrupt(r, offset, record, "no valid record, but later ones follow", e);
  case JOURNAL_END:
    s->records = s->end.records; /* those of the torn batch do not count */
    return true;
  default:
    return false;
  }
}

static bool scan_lines(struct scan *s, struct journal_reader *r, bool final, struct error *e) {
  struct journal_line line;
  enum journal_found found = journal_reader_next(r, &line, e);
  if (found == JOURNAL_ERROR) return false;
  if (found != JOURNAL_LINE) /* a segment gets its name only when its first line is durable */
    return scan_corrupt(r, 0, s->begun ? s->seq + 1 : 0, "no valid first record", e);
  const char *wrong = scan_chain(s, &line);
  /* An older program must see "newer" even where it cannot follow the chain. */
  if (!scan_header(s, r, &line, e)) return false;
  if (wrong) return scan_corrupt(r, 0, line.seq, wrong, e);
  s->end.bare = true;
  if (s->index) journal_index_note(s->index, line.seq, s->end.segment, 0);
  scan_advance(s, &line, journal_reader_offset(r));
  for (;;) {
    int64_t offset = journal_reader_offset(r);
    found = journal_reader_next(r, &line, e);
    if (found == JOURNAL_ERROR) return false;
    if (found != JOURNAL_LINE) return scan_tail(s, r, found == JOURNAL_BAD, final, e);
    if (!scan_line(s, r, &line, offset, e)) return false;
  }
}

static bool scan_segment(struct scan *s, uint32_t segment, bool final, struct error *e) {
  char path[PATH_MAX];
  struct journal_reader reader;
  if (!journal_segment_path(path, s->folder, segment, e)) return false;
  if (!journal_reader_open(&reader, s->sys, path, final && s->stop ? s->stop->offset : -1, e))
    return false;
  s->end.segment = segment;
  s->end.size = reader.limit;
  bool good = scan_lines(s, &reader, final, e);
  journal_reader_close(&reader);
  return good;
}

bool journal_scan(const struct sys *sys, const char *folder, struct journal_index *index,
                  struct journal_end *end, struct error *e) {
  struct scan scan = {.sys = sys, .folder = folder, .index = index};
  uint32_t count;
  if (!journal_segments(sys, folder, &count, e)) return false;
  if (count == 0) return error_set(e, ERROR_MISSING, "%s: holds no journal", folder);
  for (uint32_t i = 1; i <= count; i++)
    if (!scan_segment(&scan, i, i == count, e)) return false;
  *end = scan.end;
  return true;
}

bool journal_replay(const struct sys *sys, const char *folder, const struct journal_end *end,
                    journal_each *each, void *data, struct error *e) {
  struct scan scan = {.sys = sys, .folder = folder, .stop = end, .each = each, .data = data};
  for (uint32_t i = 1; i <= end->segment; i++)
    if (!scan_segment(&scan, i, i == end->segment, e)) return false;
  if (scan.end.offset == end->offset && scan.end.seq == end->seq && scan.end.crc == end->crc)
    return true;
  return error_set(e, ERROR_CORRUPT, "%s: changed while it was open", folder);
}
