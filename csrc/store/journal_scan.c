/* journal_scan.c: walks the segments of a journal and judges what it finds.
 * Must not change a byte. Called by directory.c (opening, reading) and the journal fuzzer. */
#include "store/journal_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "store/file.h"
#include "store/journal_index.h"
#include "store/journal_read.h"

struct scan {
  const struct sys *sys;
  const char *folder;
  const struct journal_look *look; /* NULL: reading again, up to `stop` */
  const struct journal_end *stop;  /* NULL: find the end */
  uint64_t from;                   /* what `each` is called for */
  journal_each *each;              /* NULL: only check */
  void *data;
  struct journal_end end; /* after the last complete batch so far */
  uint32_t segment;       /* the segment being read, and its size */
  int64_t size;
  bool inside; /* not started at the journal's begin, so the line before the first is not known */
  bool ended;  /* the scan ended at a bad place that is to be cut */
  bool begun;  /* a line was read: seq, batch and crc below are set */
  uint64_t seq;
  uint32_t batch, crc; /* and the mark of that line */
  enum journal_mark mark;
  uint64_t records, newest, payload;
};

bool journal_segment_path(char *to, const char *folder, uint32_t segment, struct error *e) {
  char name[] = "00000000.sj"; /* by hand: lists of runs make as many paths as there are runs */
  for (size_t i = 8; i > 0; i--, segment /= 10)
    name[i - 1] = (char)('0' + segment % 10);
  return file_path(to, folder, name, e);
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

static bool segments_list(const struct sys *sys, const char *folder, struct segments *found,
                          struct error *e) {
  int failed = sys->list(sys, folder, segments_each, found);
  return failed == 0 || failed == -ENOENT || failed == -ENOTDIR ||
         error_system(e, -failed, "%s", folder);
}

bool journal_segments(const struct sys *sys, const char *folder, uint32_t *count, struct error *e) {
  struct segments found = {0};
  struct sys_stat about;
  char path[PATH_MAX];
  int failed;
  *count = 0;
  if (!segments_list(sys, folder, &found, e)) return false;
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

bool journal_segments_highest(const struct sys *sys, const char *folder, uint32_t *number,
                              struct error *e) {
  struct segments found = {0};
  bool good = segments_list(sys, folder, &found, e);
  *number = found.highest;
  return good;
}

bool journal_segments_in_row(const struct sys *sys, const char *folder, uint32_t *count,
                             struct error *e) {
  char path[PATH_MAX];
  struct sys_stat about;
  int failed = 0;
  *count = 0;
  while (journal_segment_path(path, folder, *count + 1, e) &&
         (failed = sys->stat(sys, path, &about)) == 0)
    ++*count;
  return failed == -ENOENT || failed == -ENOTDIR ||
         (failed < 0 && error_system(e, -failed, "%s", path));
}

static bool scan_corrupt(const struct journal_reader *r, int64_t offset, uint64_t record,
                         const char *why, struct error *e) {
  return error_set(e, ERROR_CORRUPT,
                   "%s: offset %" PRId64 ", record %" PRIu64
                   ": %s; nothing was changed; put the journal back from a copy, or see what "
                   "skillrt recover can do",
                   r->object, offset, record, why);
}

/* A bad place: reports corruption, or notes where to cut. */
static bool scan_bad(struct scan *s, const struct journal_reader *r, int64_t offset,
                     uint64_t record, const char *why, struct error *e) {
  if (!s->look || s->look->rule != JOURNAL_CUT || s->end.segment == 0)
    return scan_corrupt(r, offset, record, why, e);
  s->ended = true;
  s->records = s->end.records;
  return true;
}

/* Whether the batch of the last line needs more lines. */
static bool scan_open(const struct scan *s) {
  return s->begun && s->mark == JOURNAL_MORE;
}

/* NULL where the line continues the chain, else what is wrong with it. */
static const char *scan_chain(const struct scan *s, const struct journal_line *line) {
  if (!s->begun && s->inside) return NULL;
  uint64_t seq = s->begun ? s->seq + 1 : 0;
  uint32_t batch = !s->begun ? 0 : scan_open(s) ? s->batch : s->batch + 1;
  if (line->previous != s->crc) return "valid, but not written behind the record before it";
  if (line->seq != seq) return "valid, but its number is not the next one";
  if (line->batch != batch) return "valid, but of another batch";
  return NULL;
}

static bool scan_newer(const struct journal_reader *r, struct span format, struct error *e) {
  return error_set(e, ERROR_NEWER,
                   "%s: written in journal format %.*s, and this skillrt reads format %d: "
                   "use a newer skillrt; nothing was changed",
                   r->object, (int)format.length, format.data, JOURNAL_FORMAT);
}

/* Checks a segment's first line: a record of the store, alone in its batch. */
static bool scan_header(struct scan *s, struct journal_reader *r, const struct journal_line *line,
                        struct error *e) {
  uint32_t previous = s->begun || !s->inside ? s->crc : line->previous;
  switch (journal_segment_check(line->payload, s->end.run_id, s->segment, previous)) {
  case JOURNAL_HEADER_GOOD:
    if (line->mark == JOURNAL_LAST) return true;
    break;
  case JOURNAL_HEADER_NEWER:
    return scan_newer(r, journal_segment_format(line->payload), e);
  case JOURNAL_HEADER_BAD:
    break;
  }
  return scan_bad(s, r, 0, line->seq, "not the beginning of this run's segment", e);
}

static bool scan_ending(const struct scan *s, struct span payload) {
  struct span ending = s->look ? s->look->ending : (struct span){.length = 0};
  return ending.length > 0 && payload.length >= ending.length &&
         memcmp(payload.data + payload.length - ending.length, ending.data, ending.length) == 0;
}

static void scan_advance(struct scan *s, const struct journal_line *line, int64_t from,
                         int64_t to) {
  if (s->look && s->look->index) journal_index_note(s->look->index, line->seq, s->segment, from);
  s->begun = true;
  s->seq = line->seq;
  s->batch = line->batch;
  s->crc = line->crc;
  s->mark = line->mark;
  if (!journal_own(line->payload)) {
    s->records++;
    s->payload = line->seq;
  }
  if (scan_ending(s, line->payload)) s->newest = line->seq;
  if (line->mark == JOURNAL_MORE) return;
  s->end.segment = s->segment;
  s->end.size = s->size;
  s->end.offset = to;
  s->end.seq = s->seq;
  s->end.batch = s->batch;
  s->end.crc = s->crc;
  s->end.records = s->records;
  s->end.newest = s->newest;
  s->end.payload = s->payload;
  s->end.closed = journal_closed(line->payload, &s->end.header);
}

/* Checks any later line of a segment. */
static bool scan_line(struct scan *s, struct journal_reader *r, const struct journal_line *line,
                      int64_t offset, struct error *e) {
  const char *wrong = scan_chain(s, line);
  if (wrong) return scan_bad(s, r, offset, s->seq + 1, wrong, e);
  bool own = journal_own(line->payload);
  if (own && (s->mark == JOURNAL_MORE || line->mark != JOURNAL_LAST ||
              !journal_closed(line->payload, NULL)))
    return scan_bad(s, r, offset, line->seq, "not a record that the journal itself writes here", e);
  s->end.bare = false;
  scan_advance(s, line, offset, journal_reader_offset(r));
  if (own || !s->each || line->seq < s->from) return true;
  struct record record = {.seq = line->seq, .batch = line->batch, .payload = line->payload};
  return s->each(s->data, &record, e);
}

/* A bad place in the last segment, with no later batch after it. */
static bool scan_torn(struct scan *s, struct journal_reader *r, int64_t offset, uint64_t record,
                      bool cut_short, struct error *e) {
  if (s->look->rule == JOURNAL_SHORT && !cut_short)
    return scan_corrupt(r, offset, record,
                        "damaged: it was written since the computer was started last, and no kill "
                        "leaves such a record",
                        e);
  s->records = s->end.records; /* records of the torn batch do not count */
  return true;
}

/* The valid lines end at the reader's place: decides how. */
static bool scan_tail(struct scan *s, struct journal_reader *r, bool bad, bool final,
                      struct error *e) {
  struct journal_line line;
  int64_t offset = journal_reader_offset(r);
  uint64_t record = s->begun ? s->seq + 1 : 0;
  bool cut_short = true;
  if (!bad && !scan_open(s)) return true;
  if (!final || s->stop || s->look->rule == JOURNAL_CUT)
    return scan_bad(s, r, offset, record, "no valid record, but valid records follow", e);
  if (bad && !journal_reader_short(r, &cut_short, e)) return false;
  bool inside = s->begun && s->mark != JOURNAL_LAST;
  switch (journal_reader_search(r, inside ? s->batch : s->batch + 1, &line, e)) {
  case JOURNAL_LINE:
    return scan_corrupt(r, offset, record, "no valid record, but later ones follow", e);
  case JOURNAL_END:
    return scan_torn(s, r, offset, record, cut_short, e);
  default:
    return false;
  }
}

/* A segment gets its name only when its first line is durable. */
static bool scan_first(struct scan *s, struct journal_reader *r, struct error *e) {
  struct journal_line line;
  enum journal_found found = journal_reader_next(r, &line, e);
  if (found == JOURNAL_ERROR) return false;
  if (found != JOURNAL_LINE)
    return scan_bad(s, r, 0, s->begun ? s->seq + 1 : 0, "no valid first record", e);
  const char *wrong = scan_chain(s, &line);
  /* An older program must see "newer" even where it cannot follow the chain. */
  if (!scan_header(s, r, &line, e)) return false;
  if (wrong && !s->ended) return scan_bad(s, r, 0, line.seq, wrong, e);
  if (s->ended) return true;
  s->end.bare = true;
  scan_advance(s, &line, 0, journal_reader_offset(r));
  return true;
}

static bool scan_lines(struct scan *s, struct journal_reader *r, bool final, struct error *e) {
  struct journal_line line;
  if (journal_reader_offset(r) == 0 && !scan_first(s, r, e)) return false;
  while (!s->ended) {
    int64_t offset = journal_reader_offset(r);
    enum journal_found found = journal_reader_next(r, &line, e);
    if (found == JOURNAL_ERROR) return false;
    if (found != JOURNAL_LINE) return scan_tail(s, r, found == JOURNAL_BAD, final, e);
    if (!scan_line(s, r, &line, offset, e)) return false;
  }
  return true;
}

static bool scan_segment(struct scan *s, uint32_t segment, int64_t offset, bool final,
                         struct error *e) {
  char path[PATH_MAX];
  struct journal_reader reader;
  if (!journal_segment_path(path, s->folder, segment, e)) return false;
  if (!journal_reader_open(&reader, s->sys, path, final && s->stop ? s->stop->offset : -1, e))
    return false;
  journal_reader_seek(&reader, offset);
  s->segment = segment;
  s->size = reader.limit;
  bool good = scan_lines(s, &reader, final, e);
  journal_reader_close(&reader);
  return good;
}

/* Scans from segment `first` to the last. */
static bool scan_from(struct scan *s, uint32_t first, uint32_t count, struct error *e) {
  s->inside = first > 1;
  if (s->look->index) journal_index_clear(s->look->index);
  for (uint32_t i = first; i <= count && !s->ended; i++)
    if (!scan_segment(s, i, 0, i == count, e)) return false;
  return true;
}

/* Checks only the first line of a segment that is not scanned. */
static bool scan_begin(const struct sys *sys, const char *folder, struct error *e) {
  static const struct journal_look look = {.rule = JOURNAL_TORN};
  char path[PATH_MAX];
  struct journal_reader reader;
  struct scan scan = {.sys = sys, .folder = folder, .look = &look, .segment = 1};
  if (!journal_segment_path(path, folder, 1, e) || !journal_reader_open(&reader, sys, path, -1, e))
    return false;
  bool good = scan_first(&scan, &reader, e);
  journal_reader_close(&reader);
  return good;
}

bool journal_scan(const struct sys *sys, const char *folder, const struct journal_look *look,
                  struct journal_end *end, struct error *e) {
  uint32_t count = 0, first = 1;
  bool cuts = look->rule == JOURNAL_CUT;
  if (!(cuts ? journal_segments_in_row : journal_segments)(sys, folder, &count, e)) return false;
  if (count == 0) return error_set(e, ERROR_MISSING, "%s: holds no journal", folder);
  if (look->tail) first = count;
  if (first > 1 && !scan_begin(sys, folder, e)) return false;
  for (uint32_t step = 1;; step *= 2) {
    struct scan scan = {.sys = sys, .folder = folder, .look = look};
    if (!scan_from(&scan, first, count, e)) return false;
    *end = scan.end;
    if (first == 1 || end->newest > 0 || look->ending.length == 0) return true;
    first = first > step ? first - step : 1;
  }
}

bool journal_replay(const struct sys *sys, const char *folder, const struct journal_index *index,
                    const struct journal_end *end, uint64_t from, journal_each *each, void *data,
                    struct error *e) {
  struct scan scan = {
      .sys = sys, .folder = folder, .stop = end, .from = from, .each = each, .data = data};
  uint32_t first = 1;
  int64_t offset = 0;
  if (index && from > 0) journal_index_nearest(index, from, &first, &offset);
  scan.inside = first > 1 || offset > 0;
  for (uint32_t i = first; i <= end->segment; i++, offset = 0)
    if (!scan_segment(&scan, i, offset, i == end->segment, e)) return false;
  if (scan.end.offset == end->offset && scan.end.seq == end->seq && scan.end.crc == end->crc)
    return true;
  return error_set(e, ERROR_CORRUPT, "%s: changed while it was open", folder);
}
