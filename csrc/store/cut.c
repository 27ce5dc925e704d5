/* cut.c: copies a torn tail aside, then cuts it off.
 * Does not decide what is torn: directory.c calls it after journal_scan did. */
#include "store/cut.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "store/file.h"
#include "store/journal_scan.h"
#include "store/stamp.h"

/* Makes a new file "journal.cut-<time>", with a number appended where that name exists. */
static int cut_create(const struct sys *sys, const char *folder, char *path, char *name,
                      struct error *e) {
  char when[STAMP_SIZE], number[16] = "";
  stamp_name(when, sys->wall_ms(sys));
  for (int attempt = 2;; attempt++) {
    snprintf(name, 128, "journal.cut-%s%s", when, number);
    if (!file_path(path, folder, name, e)) return -1;
    int fd;
    do {
      fd = sys->open(sys, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    } while (fd == -EINTR);
    if (fd >= 0) return fd;
    if (fd != -EEXIST || attempt > 999) {
      error_system(e, -fd, "%s", path);
      return -1;
    }
    snprintf(number, sizeof number, "-%d", attempt);
  }
}

static bool cut_copy(const struct sys *sys, int from, int to, int64_t offset, int64_t size,
                     const char *segment, const char *path, struct error *e) {
  char chunk[16 << 10];
  while (offset < size) {
    size_t count = size - offset > (int64_t)sizeof chunk ? sizeof chunk : (size_t)(size - offset);
    if (!sys_pread_all(sys, from, chunk, count, offset, segment, e) ||
        !sys_write_all(sys, to, chunk, count, path, e))
      return false;
    offset += (int64_t)count;
  }
  return true;
}

bool cut_tail(const struct sys *sys, const char *folder, const char *segment, int64_t offset,
              int64_t size, bool durable, char *name, struct error *e) {
  char path[PATH_MAX];
  int from = file_open(sys, segment, O_RDWR, e);
  if (from < 0) return false;
  int to = cut_create(sys, folder, path, name, e);
  bool good =
      to >= 0 && cut_copy(sys, from, to, offset, size, segment, path, e) &&
      (!durable || (file_sync(sys, to, false, path, e) && sys_sync_directory(sys, folder, e)));
  if (to >= 0) sys->close(sys, to);
  if (to >= 0 && !good) sys->unlink(sys, path);
  if (good) {
    int failed;
    do {
      failed = sys->truncate(sys, from, offset);
    } while (failed == -EINTR);
    good = failed == 0 || error_system(e, -failed, "%s", segment);
  }
  if (good && durable) good = file_sync(sys, from, false, segment, e);
  sys->close(sys, from);
  return good;
}

/* The last segment first, so that the remaining ones have no gap if this is interrupted. */
bool cut_later(const struct sys *sys, const char *run, const char *folder, uint32_t last,
               bool durable, uint64_t *bytes, struct error *e) {
  char from[PATH_MAX], to[PATH_MAX], name[128], when[STAMP_SIZE];
  struct sys_stat about;
  uint32_t segment;
  stamp_name(when, sys->wall_ms(sys));
  if (!journal_segments_highest(sys, folder, &segment, e)) return false;
  for (; segment > last; segment--) {
    snprintf(name, sizeof name, "journal.cut-%s-%08" PRIu32, when, segment);
    if (!journal_segment_path(from, folder, segment, e) || !file_path(to, run, name, e))
      return false;
    int failed = sys->stat(sys, from, &about);
    if (failed == -ENOENT) continue;
    if (failed == 0) failed = sys->rename(sys, from, to);
    if (failed < 0) return error_system(e, -failed, "%s", to);
    *bytes += (uint64_t)about.size;
  }
  return !durable || (sys_sync_directory(sys, folder, e) && sys_sync_directory(sys, run, e));
}
