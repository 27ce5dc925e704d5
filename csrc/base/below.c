/* below.c: see below.h. The kernel resolves the path (open_below); a new file is renamed within the
 * opened folder, through /proc/self/fd. Knows struct sys only. */
#include "base/below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool below_error(struct error *e, int failed, const char *folder, const char *name) {
  if (failed == -ELOOP || failed == -EXDEV)
    return error_set(e, ERROR_INVALID, "%s/%s: leads through a link, or out of its folder", folder,
                     name);
  error_system(e, -failed, "%s/%s", folder, name);
  return error_missing(e, failed);
}

static int below_open_part(const struct sys *sys, int at, const char *name, int flags) {
  int fd;
  do {
    fd = sys->open_below(sys, at, name, flags);
  } while (fd == -EINTR);
  return fd;
}

/* The folder, and `name` in it; -1 with `error` filled. The caller closes. */
static int below_open(const struct sys *sys, const char *folder, const char *name, int flags,
                      struct error *e) {
  int at = sys_open(sys, folder, O_RDONLY | O_DIRECTORY, 0);
  if (at < 0) {
    error_system(e, -at, "%s", folder);
    return -1;
  }
  int fd = below_open_part(sys, at, name, flags);
  sys->close(sys, at);
  if (fd >= 0) return fd;
  below_error(e, fd, folder, name);
  return -1;
}

static bool below_file(const struct sys *sys, int fd, const char *folder, const char *name,
                       struct sys_stat *found, struct error *e) {
  int failed = sys->fstat(sys, fd, found);
  if (failed < 0) return below_error(e, failed, folder, name);
  if (found->kind == SYS_FILE) return true;
  return error_set(e, ERROR_INVALID, "%s/%s: not a regular file", folder, name);
}

bool below_stat(const struct sys *sys, const char *folder, const char *name, struct sys_stat *to,
                struct error *e) {
  int fd = below_open(sys, folder, name, O_PATH, e);
  if (fd < 0) return false;
  int failed = sys->fstat(sys, fd, to);
  sys->close(sys, fd);
  return failed == 0 || below_error(e, failed, folder, name);
}

bool below_list(const struct sys *sys, const char *folder, const char *name,
                bool (*each)(void *data, const char *name, enum sys_kind kind), void *data,
                struct error *e) {
  char path[64];
  int fd = below_open(sys, folder, name, O_RDONLY | O_DIRECTORY, e);
  if (fd < 0) return false;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int failed = sys->list(sys, path, each, data);
  sys->close(sys, fd);
  return failed == 0 || below_error(e, failed, folder, name);
}

bool below_read(const struct sys *sys, const char *folder, const char *name, struct buffer *to,
                struct error *e) {
  struct sys_stat found;
  char object[PATH_MAX];
  snprintf(object, sizeof object, "%s/%s", folder, name);
  int fd = below_open(sys, folder, name, O_RDONLY | O_NONBLOCK, e);
  if (fd < 0) return false;
  bool good =
      below_file(sys, fd, folder, name, &found, e) && buffer_read_descriptor(to, fd, object, e);
  sys->close(sys, fd);
  return good;
}

bool below_read_part(const struct sys *sys, const char *folder, const char *name, int64_t offset,
                     struct buffer *to, int64_t *size, struct error *e) {
  struct sys_stat found;
  int fd = below_open(sys, folder, name, O_RDONLY | O_NONBLOCK, e);
  if (fd < 0) return false;
  bool good = below_file(sys, fd, folder, name, &found, e);
  while (good && to->length < to->maximum) {
    size_t piece = to->maximum - to->length < 65536 ? to->maximum - to->length : 65536;
    char *room = buffer_room(to, piece, e);
    ssize_t count = room ? sys->pread(sys, fd, room, piece, offset + (int64_t)to->length) : 0;
    if (count == -EINTR) continue;
    good = room && (count >= 0 || below_error(e, (int)count, folder, name));
    if (count <= 0) break;
    to->length += (size_t)count;
  }
  sys->close(sys, fd);
  int64_t seen = offset + (int64_t)to->length; /* another process may have appended meanwhile */
  *size = good && to->length > 0 && seen > (int64_t)found.size ? seen : (int64_t)found.size;
  return good;
}

static bool below_sync(const struct sys *sys, int fd, const char *folder, const char *name,
                       struct error *e) {
  int failed = sys_fsync(sys, fd);
  return failed == 0 || below_error(e, failed, folder, name);
}

/* Makes the folder `part` in the open one, and opens it. */
static int below_make(const struct sys *sys, int at, const char *part, unsigned mode,
                      bool durable) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "/proc/self/fd/%d/%s", at, part);
  if (length < 0 || length >= PATH_MAX) return -ENAMETOOLONG;
  int failed = sys->mkdir(sys, path, mode);
  if (failed == 0 && durable) failed = sys_fsync(sys, at);
  if (failed < 0 && failed != -EEXIST) return failed;
  return below_open_part(sys, at, part, O_RDONLY | O_DIRECTORY);
}

/* The folder that the last part of `name` lies in, made as needed with the mode `make` (0: not);
 * `*last` is that part. */
static int below_parent(const struct sys *sys, const char *folder, const char *name, unsigned make,
                        bool durable, const char **last, struct error *e) {
  char part[NAME_MAX + 1];
  int at = sys_open(sys, folder, O_RDONLY | O_DIRECTORY, 0);
  if (at < 0) below_error(e, at, folder, name);
  for (*last = name; at >= 0; *last += strspn(*last, "/")) {
    size_t size = strcspn(*last, "/");
    if (durable && !below_sync(sys, at, folder, name, e)) break;
    if ((*last)[size] == '\0') return at;
    if (size >= sizeof part) {
      below_error(e, -ENAMETOOLONG, folder, name);
      break;
    }
    memcpy(part, *last, size);
    part[size] = '\0';
    *last += size;
    int next = below_open_part(sys, at, part, O_RDONLY | O_DIRECTORY);
    if (next == -ENOENT && make) next = below_make(sys, at, part, make, durable);
    sys->close(sys, at);
    at = next;
    if (at < 0) below_error(e, at, folder, name);
  }
  if (at >= 0) sys->close(sys, at);
  return -1;
}

static bool below_name(const struct sys *sys, const char *temporary, int at, const char *last,
                       const char *folder, const char *name, struct error *e) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "/proc/self/fd/%d/%s", at, last);
  int failed = length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : sys->rename(sys, temporary, path);
  return failed == 0 || below_error(e, failed, folder, name);
}

static bool below_put(const struct sys *sys, const char *folder, const char *name,
                      struct span content, unsigned mode, bool durable, struct error *e) {
  char beside[PATH_MAX], temporary[PATH_MAX];
  const char *last;
  int at = below_parent(sys, folder, name, mode & 077 ? 0777 : 0700, durable, &last, e);
  if (at < 0) return false;
  int length = snprintf(beside, sizeof beside, "%s/%s", folder, last);
  bool good = length > 0 && length < PATH_MAX;
  if (!good) below_error(e, -ENAMETOOLONG, folder, name);
  good = good &&
         sys_write_beside(sys, beside, content.data, content.length, mode, durable, temporary, e);
  if (good && !below_name(sys, temporary, at, last, folder, name, e)) {
    sys->unlink(sys, temporary);
    good = false;
  }
  if (good && durable) good = below_sync(sys, at, folder, name, e);
  sys->close(sys, at);
  return good;
}

bool below_replace(const struct sys *sys, const char *folder, const char *name, struct span content,
                   unsigned mode, bool durable, struct error *e) {
  return below_put(sys, folder, name, content, mode, durable, e);
}

bool below_write(const struct sys *sys, const char *folder, const char *name, struct span content,
                 bool durable, struct error *e) {
  struct sys_stat found;
  if (below_stat(sys, folder, name, &found, e)) {
    if (found.kind != SYS_FILE)
      return error_set(e, ERROR_INVALID, "%s/%s: not a regular file", folder, name);
    return below_put(sys, folder, name, content, found.mode & 0777, durable, e);
  }
  if (e->code != ERROR_MISSING) return false;
  *e = (struct error){0};
  return below_put(sys, folder, name, content, 0666, durable, e);
}

bool below_settle(const struct sys *sys, const char *folder, const char *name, struct error *e) {
  struct sys_stat found;
  const char *last;
  int fd = below_open(sys, folder, name, O_RDONLY | O_NONBLOCK, e);
  if (fd < 0) return false;
  bool good = below_file(sys, fd, folder, name, &found, e) && below_sync(sys, fd, folder, name, e);
  sys->close(sys, fd);
  int at = good ? below_parent(sys, folder, name, 0, true, &last, e) : -1;
  if (at >= 0) sys->close(sys, at);
  return at >= 0;
}
