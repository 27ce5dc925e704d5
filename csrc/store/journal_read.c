/* journal_read.c: a window over a segment file, moved in large steps.
 * Must not know what a bad line means. Called by journal_scan only. */
#include "store/journal_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "store/file.h"

enum { CHUNK = 256 << 10, WINDOW_MAX = JOURNAL_PAYLOAD_MAX + JOURNAL_FRAME + 2 * CHUNK };

bool journal_reader_open(struct journal_reader *r, const struct sys *sys, const char *path,
                         int64_t limit, struct error *e) {
  *r = (struct journal_reader){.sys = sys, .object = path, .fd = -1, .limit = limit};
  buffer_init(&r->window, sys, WINDOW_MAX);
  struct sys_stat found;
  r->fd = file_open(sys, path, O_RDONLY, e);
  if (r->fd < 0) return false;
  int failed = sys->fstat(sys, r->fd, &found);
  if (failed < 0) {
    journal_reader_close(r);
    return error_system(e, -failed, "%s", path);
  }
  if (limit < 0) r->limit = found.size;
  return true;
}

void journal_reader_close(struct journal_reader *r) {
  if (!r->sys) return;
  buffer_clear(&r->window);
  if (r->fd >= 0) r->sys->close(r->sys, r->fd);
  r->fd = -1;
}

int64_t journal_reader_offset(const struct journal_reader *r) {
  return r->base + (int64_t)r->at;
}

void journal_reader_seek(struct journal_reader *r, int64_t offset) {
  r->base = offset;
}

/* Reads `size` bytes from the current place into the window, or as many as there are. */
static bool reader_fill(struct journal_reader *r, size_t size, struct error *e) {
  while (r->window.length - r->at < size) {
    int64_t from = r->base + (int64_t)r->window.length;
    if (from >= r->limit) return true;
    if (r->at > 0) {
      buffer_drop(&r->window, r->at);
      r->base += (int64_t)r->at;
      r->at = 0;
    }
    size_t chunk = size > CHUNK ? size : CHUNK;
    if ((int64_t)chunk > r->limit - from) chunk = (size_t)(r->limit - from);
    char *to = buffer_room(&r->window, chunk, e);
    if (!to) return false;
    ssize_t count = r->sys->pread(r->sys, r->fd, to, chunk, from);
    if (count == -EINTR) continue;
    if (count < 0) return error_system(e, (int)-count, "%s: offset %" PRId64, r->object, from);
    if (count == 0) r->limit = from; /* its owner has cut it meanwhile */
    r->window.length += (size_t)count;
  }
  return true;
}

/* Tries the line at the current place; JOURNAL_PARTIAL means the file ends too early. */
static bool reader_try(struct journal_reader *r, struct journal_line *line, size_t *size,
                       enum journal_shape *shape, struct error *e) {
  size_t needed = JOURNAL_FRAME;
  for (;;) {
    if (r->window.length - r->at < needed && !reader_fill(r, needed, e)) return false;
    size_t have = r->window.length - r->at, before = needed;
    const char *from = have ? r->window.data + r->at : "";
    *shape = journal_line_read(from, have, line, &needed);
    *size = needed;
    if (*shape != JOURNAL_PARTIAL || have < before) return true;
    if (r->base + (int64_t)r->at + (int64_t)needed > r->limit) return true;
  }
}

enum journal_found journal_reader_next(struct journal_reader *r, struct journal_line *line,
                                       struct error *e) {
  enum journal_shape shape;
  size_t size;
  if (journal_reader_offset(r) >= r->limit) return JOURNAL_END;
  if (!reader_try(r, line, &size, &shape, e)) return JOURNAL_ERROR;
  if (journal_reader_offset(r) >= r->limit) return JOURNAL_END;
  if (shape != JOURNAL_WHOLE) return JOURNAL_BAD;
  r->at += size;
  return JOURNAL_LINE;
}

enum journal_found journal_reader_search(struct journal_reader *r, uint32_t batch,
                                         struct journal_line *line, struct error *e) {
  for (;;) {
    enum journal_shape shape;
    size_t size;
    if (!reader_fill(r, JOURNAL_FRAME, e)) return JOURNAL_ERROR;
    size_t have = r->window.length - r->at;
    if (have < JOURNAL_FRAME) return JOURNAL_END;
    const char *from = r->window.data + r->at;
    const char *mark = memchr(from, 'J', have);
    if (mark != from) {
      r->at += mark ? (size_t)(mark - from) : have;
      continue;
    }
    if (!reader_try(r, line, &size, &shape, e)) return JOURNAL_ERROR;
    if (shape == JOURNAL_WHOLE && line->batch > batch) return JOURNAL_LINE;
    r->at++;
  }
}

/* A line has one newline, as its last byte; a whole head says how long the line should be. */
bool journal_reader_short(const struct journal_reader *r, bool *is, struct error *e) {
  static const char begin[] = "J1 ";
  char bytes[4096];
  struct journal_line line;
  size_t whole;
  int64_t from = journal_reader_offset(r);
  *is = false;
  for (int64_t at = from; at < r->limit;) {
    size_t size = r->limit - at < (int64_t)sizeof bytes ? (size_t)(r->limit - at) : sizeof bytes;
    if (!sys_pread_all(r->sys, r->fd, bytes, size, at, r->object, e)) return false;
    if (at == from && memcmp(bytes, begin, size < 3 ? size : 3) != 0) return true;
    if (at == from && size >= JOURNAL_FRAME &&
        !(journal_head_read(bytes, &line, &whole) && (int64_t)whole > r->limit - from))
      return true;
    if (memchr(bytes, '\n', size)) return true;
    at += (int64_t)size;
  }
  *is = true;
  return true;
}
