/* listing.c: the runs of a folder, each known by the first and the last line of its journal.
 *
 * Reads no more of them: what a run came to, says the line that closes it. Called by store.c. */
#include "store/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "store/directory.h"
#include "store/file.h"
#include "store/journal_scan.h"
#include "store/lock.h"

enum { LINE_MAX_OWN = JOURNAL_FRAME + JOURNAL_OWN_MAX };

/* The line at `from`, which must be one of the store's own. */
static bool line_own(const char *from, size_t size, struct journal_line *line) {
  size_t needed;
  return journal_line_read(from, size, line, &needed) == JOURNAL_WHOLE &&
         journal_own(line->payload);
}

/* Reads what is there at `offset`; how much, or -1. */
static ssize_t bytes_at(const struct sys *sys, int fd, int64_t offset, char to[LINE_MAX_OWN]) {
  ssize_t count;
  do {
    count = sys->pread(sys, fd, to, LINE_MAX_OWN, offset);
  } while (count == -EINTR);
  return count;
}

static bool first_line(const char *bytes, size_t size, uint32_t segment, const char *path,
                       struct listing *to, struct error *e) {
  struct journal_line line;
  if (!line_own(bytes, size, &line))
    return error_set(e, ERROR_CORRUPT, "%s: offset 0, record 0: no valid first record", path);
  if (journal_segment_check(line.payload, to->run_id, segment, line.previous) ==
      JOURNAL_HEADER_NEWER)
    return error_set(e, ERROR_NEWER, "%s: was written by a newer skillrt", path);
  return true;
}

/* The header is that of the close, if the file ends with one. */
static void last_line(const char *bytes, size_t size, struct listing *to) {
  struct journal_line line;
  size_t at = size > 0 ? size - 1 : 0;
  while (at > 0 && bytes[at - 1] != '\n')
    at--;
  struct header header;
  if (line_own(bytes + at, size - at, &line) && journal_closed(line.payload, &header) &&
      line.payload.length + JOURNAL_FRAME == size - at && header.status[0])
    to->header = header;
}

static bool segment_look(const struct sys *sys, const char *journal, struct listing *to,
                         struct error *e) {
  char path[PATH_MAX], bytes[LINE_MAX_OWN];
  struct sys_stat found;
  uint32_t segment = journal_segments_highest(sys, journal);
  if (segment == 0) return error_set(e, ERROR_MISSING, "%s: contains no run", to->url);
  if (!journal_segment_path(path, journal, segment, e)) return false;
  int fd = file_open(sys, path, O_RDONLY, e);
  if (fd < 0) return false;
  int failed = sys->fstat(sys, fd, &found);
  ssize_t count = failed < 0 ? failed : bytes_at(sys, fd, 0, bytes);
  bool good = count >= 0 || error_system(e, (int)-count, "%s", path);
  good = good && first_line(bytes, (size_t)count, segment, path, to, e);
  if (good) {
    count = bytes_at(sys, fd, found.size > LINE_MAX_OWN ? found.size - LINE_MAX_OWN : 0, bytes);
    if (count > 0) last_line(bytes, (size_t)count, to);
  }
  sys->close(sys, fd);
  return good;
}

struct look {
  const struct sys *sys;
  const char *folder;
  const struct wanted *wanted;
  bool (*each)(void *data, const struct listing *);
  void *data;
};

static bool is_wanted(const struct wanted *wanted, const struct listing *run) {
  if (!wanted || (!wanted->status && !wanted->due)) return true;
  if (run->problem || (wanted->status && strcmp(wanted->status, run->header.status) != 0))
    return false;
  return !wanted->due || (run->header.due > 0 && run->header.due <= wanted->due);
}

static bool look_one(void *data, const char *name, enum sys_kind kind) {
  const struct look *look = data;
  char path[PATH_MAX], journal[PATH_MAX], line[STORE_HOLDER];
  struct error error = {0};
  struct listing run = {.url = path, .header = {.status = "executing"}};
  bool here = strcmp(look->folder, ".") == 0;
  bool is_hidden = name[0] == '.'; /* one that is being removed, for one */
  if (kind != SYS_DIRECTORY || is_hidden || !file_path(path, here ? "" : look->folder, name, NULL))
    return true;
  if (here) run.url = path + 1;
  if (!directory_exists(look->sys, run.url) || !file_path(journal, run.url, "journal", NULL))
    return true;
  if (!segment_look(look->sys, journal, &run, &error)) run.problem = error.text;
  run.is_held = lock_held(look->sys, run.url, line, sizeof line);
  return !is_wanted(look->wanted, &run) || look->each(look->data, &run);
}

bool directory_list(const struct sys *sys, const char *path, const struct wanted *wanted,
                    bool (*each)(void *data, const struct listing *), void *data, struct error *e) {
  char folder[PATH_MAX];
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  memcpy(folder, path, length);
  folder[length] = '\0';
  struct look look = {.sys = sys, .folder = folder, .wanted = wanted, .each = each, .data = data};
  int failed = sys->list(sys, folder, look_one, &look);
  if (failed == 0) return true;
  error_system(e, -failed, "%s", path);
  if (e && failed == -ENOENT) e->code = ERROR_MISSING;
  return false;
}
