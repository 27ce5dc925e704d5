/* journal_index.c: a sparse list of places, and the walk from the nearest one to a record.
 * Does not judge how a journal ends and changes nothing. Called by directory.c, filled also by
 * journal.c and journal_scan.c. */
#include "store/journal_index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "store/file.h"
#include "store/journal_format.h"

enum { EVERY = 256, PLACES_MAX = 1 << 30, WINDOW = 16 << 10 };

struct place {
  uint64_t seq;
  int64_t offset;
  uint32_t segment;
};

/* Walks from line to line; `window` holds a part of the file. */
struct walk {
  const struct sys *sys;
  const char *folder;
  const struct journal_end *end;
  struct place at;
  char path[PATH_MAX];
  int fd;
  int64_t limit, base; /* where the part to read ends; where the window begins */
  size_t length;
  char window[WINDOW];
};

void journal_index_init(struct journal_index *index, const struct sys *sys) {
  buffer_init(&index->places, sys, PLACES_MAX);
}

void journal_index_clear(struct journal_index *index) {
  buffer_clear(&index->places);
}

static size_t places(const struct journal_index *index) {
  return index->places.length / sizeof(struct place);
}

static struct place place_at(const struct journal_index *index, size_t i) {
  struct place place;
  memcpy(&place, index->places.data + i * sizeof place, sizeof place);
  return place;
}

void journal_index_note(struct journal_index *index, uint64_t seq, uint32_t segment,
                        int64_t offset) {
  struct place place = {.seq = seq, .offset = offset, .segment = segment};
  size_t count = places(index);
  if (count > 0) {
    struct place last = place_at(index, count - 1);
    if (last.segment == segment && seq < last.seq + EVERY) return;
  }
  buffer_append(&index->places, &place, sizeof place, NULL);
}

/* The last known place that is not after `seq`; else the journal's begin. */
static struct place nearest(const struct journal_index *index, uint64_t seq) {
  size_t low = 0, high = places(index);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (place_at(index, middle).seq <= seq)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 ? place_at(index, low - 1) : (struct place){.segment = 1};
}

void journal_index_nearest(const struct journal_index *index, uint64_t seq, uint32_t *segment,
                           int64_t *offset) {
  struct place place = nearest(index, seq);
  *segment = place.segment;
  *offset = place.offset;
}

static bool walk_corrupt(const struct walk *w, const char *why, struct error *e) {
  return error_set(e, ERROR_CORRUPT, "%s: offset %" PRId64 ", record %" PRIu64 ": %s", w->path,
                   w->at.offset, w->at.seq, why);
}

static void walk_close(struct walk *w) {
  if (w->fd >= 0) w->sys->close(w->sys, w->fd);
  w->fd = -1;
}

static bool walk_open(struct walk *w, struct error *e) {
  struct sys_stat about;
  walk_close(w);
  w->length = 0;
  if (!journal_segment_path(w->path, w->folder, w->at.segment, e)) return false;
  w->fd = file_open(w->sys, w->path, O_RDONLY, e);
  if (w->fd < 0) return false;
  int failed = w->sys->fstat(w->sys, w->fd, &about);
  if (failed < 0) return error_system(e, -failed, "%s", w->path);
  w->limit = w->at.segment == w->end->segment ? w->end->offset : about.size;
  return true;
}

/* `*head`: the JOURNAL_HEAD bytes of the line at the current place. */
static bool walk_head(struct walk *w, const char **head, struct error *e) {
  int64_t from = w->at.offset - w->base;
  if (w->length == 0 || from < 0 || from + JOURNAL_HEAD > (int64_t)w->length) {
    int64_t rest = w->limit - w->at.offset;
    if (rest < JOURNAL_FRAME) return walk_corrupt(w, "the journal ends here", e);
    w->base = w->at.offset;
    w->length = rest < WINDOW ? (size_t)rest : WINDOW;
    if (!sys_pread_all(w->sys, w->fd, w->window, w->length, w->base, w->path, e)) return false;
    from = 0;
  }
  *head = w->window + from;
  return true;
}

/* From the current place to the line `seq`; `*size` is how long that is. */
static bool walk_to(struct walk *w, uint64_t seq, size_t *size, struct error *e) {
  if (!walk_open(w, e)) return false;
  for (;;) {
    struct journal_line line;
    const char *head = NULL;
    if (w->at.offset >= w->limit && w->at.segment < w->end->segment) {
      w->at.segment++;
      w->at.offset = 0;
      if (!walk_open(w, e)) return false;
    }
    if (!walk_head(w, &head, e)) return false;
    if (!journal_head_read(head, &line, size) || line.seq != w->at.seq ||
        (int64_t)*size > w->limit - w->at.offset)
      return walk_corrupt(w, "no valid record", e);
    if (line.seq == seq) return true;
    w->at.offset += (int64_t)*size;
    w->at.seq++;
  }
}

/* Appends the whole line to `to`, then removes the part that is not payload. */
static bool walk_take(struct walk *w, size_t size, struct buffer *to, struct error *e) {
  struct journal_line line;
  size_t needed;
  char *room = buffer_room(to, size, e);
  if (!room || !sys_pread_all(w->sys, w->fd, room, size, w->at.offset, w->path, e)) return false;
  if (journal_line_read(room, size, &line, &needed) != JOURNAL_WHOLE || line.seq != w->at.seq) {
    room[0] = '\0';
    return walk_corrupt(w, "no valid record", e);
  }
  bool own = journal_own(line.payload);
  size_t length = own ? 0 : line.payload.length;
  memmove(room, line.payload.data, length);
  room[length] = '\0';
  to->length += length;
  return !own || error_set(e, ERROR_MISSING, "%s: record %" PRIu64 " is the store's own", w->folder,
                           w->at.seq);
}

bool journal_index_read(const struct journal_index *index, const struct sys *sys,
                        const char *folder, const struct journal_end *end, uint64_t seq,
                        struct buffer *to, struct error *e) {
  size_t size;
  if (end->segment == 0 || seq > end->seq)
    return error_set(e, ERROR_MISSING,
                     "%s: record %" PRIu64 " is not there, %" PRIu64 " is the last", folder, seq,
                     end->seq);
  struct walk walk = {.sys = sys, .folder = folder, .end = end, .fd = -1};
  walk.at = nearest(index, seq);
  bool good = walk_to(&walk, seq, &size, e) && walk_take(&walk, size, to, e);
  walk_close(&walk);
  return good;
}
