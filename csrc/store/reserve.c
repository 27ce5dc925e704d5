/* reserve.c: allots space ahead of the journal's end.
 * Must not write to the journal itself. Called by journal.c. */
#include "store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "store/file.h"

enum { PIECE_MIN = 64 << 10, PIECE_MAX = 4 << 20 };

static bool reserve_file(struct reserve *r, const struct sys *sys, const char *folder,
                         struct error *e) {
  static const char filling[RESERVE_LAST_WORDS]; /* writes real blocks, not a hole */
  char path[PATH_MAX];
  if (!file_path(path, folder, "reserve", e)) return false;
  int fd = file_open(sys, path, O_WRONLY | O_CREAT | O_TRUNC, e);
  if (fd < 0) return false;
  bool good = sys_write_all(sys, fd, filling, sizeof filling, path, e);
  if (good)
    good = file_sync(sys, fd, false, path,
                     e); /* before the sync the blocks may not be allocated yet */
  sys->close(sys, fd);
  if (!good) sys->unlink(sys, path);
  r->by_file = good;
  return good;
}

bool reserve_ensure(struct reserve *r, const struct sys *sys, int fd, const char *folder,
                    int64_t offset, int64_t size, const char *object, struct error *e) {
  int64_t needed = offset + size + RESERVE_LAST_WORDS;
  if (r->by_file || needed <= r->end) return true;
  int64_t piece = offset < PIECE_MIN ? PIECE_MIN : offset > PIECE_MAX ? PIECE_MAX : offset;
  int64_t from = r->end > offset ? r->end : offset;
  int64_t end = (needed > from + piece ? needed : from + piece);
  int failed;
  do {
    failed = sys->reserve(sys, fd, from, end - from);
  } while (failed == -EINTR);
  if (failed == -EOPNOTSUPP || failed == -ENOSYS) return reserve_file(r, sys, folder, e);
  bool is_full = failed == -ENOSPC || failed == -EFBIG;
  if (is_full && end > needed) { /* the large piece does not fit; try the size that is needed */
    failed = sys->reserve(sys, fd, from, needed - from);
    end = needed;
  }
  if (failed < 0) return error_system(e, -failed, "%s", object);
  r->end = end;
  return true;
}

void reserve_release(struct reserve *r, const struct sys *sys, const char *folder) {
  char path[PATH_MAX];
  if (!r->by_file || !file_path(path, folder, "reserve", NULL)) return;
  sys->unlink(sys, path);
  r->by_file = false;
}
