/* listing.c: the runs of a folder, each known by the first and the last line of its journal.
 *
 * The last line, "closed", holds the run's status, so nothing else is read. Where the index has
 * that line, only the segment's size and time are compared. Called by store.c and claim.c. */
#include "store/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "store/directory.h"
#include "store/file.h"
#include "store/journal_scan.h"
#include "store/lock.h"
#include "store/move.h"
#include "store/run_index.h"

enum { LINE_MAX_OWN = JOURNAL_FRAME + JOURNAL_OWN_MAX, SEGMENT_LEAST = 64 << 10 };

/* The line at `from`, which must be one of the store's own. */
static bool line_own(const char *from, size_t size, struct journal_line *line) {
  size_t needed;
  return journal_line_read(from, size, line, &needed) == JOURNAL_WHOLE &&
         journal_own(line->payload);
}

/* Reads at `offset`; returns the number of bytes, or -1. */
static ssize_t bytes_at(const struct sys *sys, int fd, int64_t offset, char to[LINE_MAX_OWN]) {
  ssize_t count;
  do {
    count = sys->pread(sys, fd, to, LINE_MAX_OWN, offset);
  } while (count == -EINTR);
  return count;
}

static bool first_line(const char *bytes, size_t size, uint32_t segment, const char *path,
                       struct error *e) {
  struct journal_line line;
  char run_id[JOURNAL_RUN_ID + 1] = "";
  if (!line_own(bytes, size, &line))
    return error_set(e, ERROR_CORRUPT, "%s: offset 0, record 0: no valid first record", path);
  if (journal_segment_check(line.payload, run_id, segment, line.previous) == JOURNAL_HEADER_NEWER)
    return error_set(e, ERROR_NEWER, "%s: was written by a newer skillrt", path);
  return true;
}

/* The header is that of the close, if the file ends with one. */
static bool last_line(const char *bytes, size_t size, struct listing *to) {
  struct journal_line line;
  size_t at = size > 0 ? size - 1 : 0;
  while (at > 0 && bytes[at - 1] != '\n')
    at--;
  struct header header;
  if (!line_own(bytes + at, size - at, &line) || !journal_closed(line.payload, &header) ||
      line.payload.length + JOURNAL_FRAME != size - at || !header.status[0])
    return false;
  to->header = header;
  return true;
}

/* The last segment, and its path; 0: there is none. Most runs have one, which is then opened. */
static bool segment_last(const struct sys *sys, const char *journal, uint32_t *last,
                         char path[PATH_MAX], struct error *e) {
  struct sys_stat found;
  *last = 1;
  return journal_segment_path(path, journal, 2, e) &&
         (sys->stat(sys, path, &found) == -ENOENT ||
          journal_segments_highest(sys, journal, last, e)) &&
         journal_segment_path(path, journal, *last, e);
}

struct seen {
  uint32_t segment;
  struct sys_stat file;
  bool closed;
};

static bool segment_look(const struct sys *sys, const char *journal, struct listing *to,
                         struct seen *seen, struct error *e) {
  char path[PATH_MAX], bytes[LINE_MAX_OWN];
  uint32_t highest;
  if (!segment_last(sys, journal, &seen->segment, path, e)) return false;
  int fd = seen->segment ? file_open(sys, path, O_RDONLY, e) : -1;
  if (seen->segment == 0 || (fd < 0 && e->code == ERROR_MISSING &&
                             journal_segments_highest(sys, journal, &highest, e) && highest == 0))
    return error_set(e, ERROR_MISSING, "%s: contains no run", to->url);
  if (fd < 0) return false;
  int failed = sys->fstat(sys, fd, &seen->file);
  ssize_t count = failed < 0 ? failed : bytes_at(sys, fd, 0, bytes);
  bool good = count >= 0 || error_system(e, (int)-count, "%s", path);
  good = good && first_line(bytes, (size_t)count, seen->segment, path, e);
  if (good) {
    int64_t size = seen->file.size;
    count = bytes_at(sys, fd, size > LINE_MAX_OWN ? size - LINE_MAX_OWN : 0, bytes);
    good = count >= 0 || error_system(e, (int)-count, "%s", path);
    seen->closed = good && last_line(bytes, (size_t)count, to);
  }
  sys->close(sys, fd);
  return good;
}

struct look {
  const struct sys *sys;
  const char *folder;
  struct run_index index;
  bool (*each)(void *data, const struct listing *);
  void *data;
  bool is_over; /* `each` returned false */
};

/* Whether the index has the run and its journal has not changed since. A segment of less than
 * SEGMENT_LEAST bytes has no successor, because a new one is begun only at that size. */
static bool is_known(struct look *look, const char *name, const char *journal) {
  char path[PATH_MAX];
  struct sys_stat found;
  uint64_t stamp;
  uint32_t segment;
  struct run_row *row = run_index_find(&look->index, name, &stamp, &segment);
  row = row && journal_segment_path(path, journal, segment, NULL) &&
                look->sys->stat(look->sys, path, &found) == 0 &&
                run_index_stamp(&found, segment) == stamp
            ? row
            : NULL;
  if (row && found.size >= SEGMENT_LEAST)
    if (!journal_segment_path(path, journal, segment + 1, NULL) ||
        look->sys->stat(look->sys, path, &found) != -ENOENT)
      row = NULL;
  if (row) row->is_here = true;
  return row != NULL;
}

/* A name as it is in the folder; the URL of its run. */
static const char *url_of(const struct look *look, const char *name, char path[PATH_MAX]) {
  bool here = strcmp(look->folder, ".") == 0;
  if (!file_path(path, here ? "" : look->folder, name, NULL)) return NULL;
  return here ? path + 1 : path;
}

/* Whether the run of a folder is in neither place; `e` says so, or why that is not known. */
static bool is_leaving(const struct sys *sys, const char *path, struct error *e) {
  struct departure to;
  if (!directory_departed(sys, path, &to, e)) return true;
  if (!to.known_as[0] || to.ended) return false;
  error_set(e, ERROR_MISSING, UNFINISHED, to.known_as);
  return true;
}

/* Runs whose "closed" line has a time go to the index, and are listed after the others. */
static bool look_one(void *data, const char *name, enum sys_kind kind) {
  struct look *look = data;
  char path[PATH_MAX], journal[PATH_MAX], line[STORE_HOLDER];
  struct error error = {0};
  struct seen seen = {.closed = false};
  struct listing run = {.header = {.status = "executing"}};
  bool is_hidden = name[0] == '.'; /* for example a run that is being removed */
  if (kind != SYS_DIRECTORY || is_hidden || !(run.url = url_of(look, name, path)) ||
      !file_path(journal, run.url, "journal", NULL) || is_known(look, name, journal))
    return true;
  if (!segment_look(look->sys, journal, &run, &seen, &error)) {
    struct sys_stat found;
    int failed = look->sys->stat(look->sys, journal, &found);
    bool none = failed == 0 ? found.kind != SYS_DIRECTORY : failed == -ENOENT || failed == -ENOTDIR;
    if (none && !is_leaving(look->sys, run.url, &error)) return true; /* a folder beside the runs */
    run.problem = error.text;
  }
  const char *rest;
  if (seen.closed && header_at(&run.header, &rest) > 0 && !strchr(name, '\n')) {
    uint64_t stamp = run_index_stamp(&seen.file, seen.segment);
    if (run_index_put(&look->index, name, stamp, seen.segment, &run.header, NULL)) return true;
  }
  run.is_held = !seen.closed && lock_held(look->sys, run.url, line, sizeof line);
  look->is_over = !look->each(look->data, &run);
  return !look->is_over;
}

static bool list_one(void *data, const char *name, const struct header *header) {
  const struct look *look = data;
  char path[PATH_MAX];
  struct listing run = {.url = url_of(look, name, path), .header = *header};
  return !run.url || look->each(look->data, &run);
}

bool directory_list(const struct sys *sys, const char *path,
                    bool (*each)(void *data, const struct listing *), void *data, struct error *e) {
  char folder[PATH_MAX];
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  memcpy(folder, path, length);
  folder[length] = '\0';
  struct look look = {.sys = sys, .folder = folder, .each = each, .data = data};
  run_index_init(&look.index, sys, folder);
  int failed = sys->list(sys, folder, look_one, &look);
  if (failed == 0 && !look.is_over) {
    run_index_each(&look.index, list_one, &look);
    run_index_keep(&look.index, folder);
  }
  run_index_clear(&look.index);
  if (failed == 0) return true;
  error_system(e, -failed, "%s", path);
  if (e && failed == -ENOENT) e->code = ERROR_MISSING;
  return false;
}
