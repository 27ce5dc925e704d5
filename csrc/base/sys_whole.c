/* sys_whole.c: whole jobs made of single calls: write all, read all, replace a file.
 * Knows struct sys only, so a test's fake world sees every call. Called by store and doors. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"

bool sys_write_all(const struct sys *sys, int fd, const void *from, size_t size, const char *object,
                   struct error *e) {
  const char *at = from;
  while (size > 0) {
    ssize_t count = sys->write(sys, fd, at, size);
    if (count == -EINTR) continue;
    if (count < 0) return error_system(e, (int)-count, "%s", object);
    if (count == 0) /* would spin for ever */
      return error_system(e, EIO, "%s", object);
    at += count;
    size -= (size_t)count;
  }
  return true;
}

bool sys_pread_all(const struct sys *sys, int fd, void *to, size_t size, int64_t offset,
                   const char *object, struct error *e) {
  char *at = to;
  while (size > 0) {
    ssize_t count = sys->pread(sys, fd, at, size, offset);
    if (count == -EINTR) continue;
    if (count < 0) return error_system(e, (int)-count, "%s", object);
    if (count == 0)
      return error_set(e, ERROR_CORRUPT, "%s: ends at byte %" PRId64 ", %zu bytes too early",
                       object, offset, size);
    at += count;
    offset += count;
    size -= (size_t)count;
  }
  return true;
}

int sys_open(const struct sys *sys, const char *path, int flags, unsigned mode) {
  int fd;
  do {
    fd = sys->open(sys, path, flags, mode);
  } while (fd == -EINTR);
  return fd;
}

int sys_fsync(const struct sys *sys, int fd) {
  int failed;
  do { /* EINTR reports no lost write */
    failed = sys->fsync(sys, fd);
  } while (failed == -EINTR);
  return failed;
}

bool sys_sync_directory(const struct sys *sys, const char *path, struct error *e) {
  int fd = sys_open(sys, path, O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0) return error_system(e, -fd, "%s", path);
  int failed = sys_fsync(sys, fd);
  sys->close(sys, fd);
  return failed < 0 ? error_system(e, -failed, "%s: sync", path) : true;
}

/* Makes a file beside `path` under a name of its own: "<path>.new-<8 hex digits>". */
static int replace_create(const struct sys *sys, const char *path, unsigned mode, char *name,
                          size_t room) {
  for (int attempt = 0; attempt < 8; attempt++) {
    unsigned char random[4];
    int failed = sys->random(sys, random, sizeof random);
    if (failed < 0) return failed;
    int length = snprintf(name, room, "%s.new-%02x%02x%02x%02x", path, random[0], random[1],
                          random[2], random[3]);
    if (length < 0 || (size_t)length >= room) return -ENAMETOOLONG;
    int fd = sys_open(sys, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd != -EEXIST) return fd;
  }
  return -EEXIST;
}

/* Writes all of it and closes `fd`, whatever failed. */
static bool fill(const struct sys *sys, int fd, const void *from, size_t size, bool durable,
                 const char *path, struct error *e) {
  bool good = sys_write_all(sys, fd, from, size, path, e);
  if (good && durable) {
    int failed = sys_fsync(sys, fd);
    good = failed < 0 ? error_system(e, -failed, "%s: sync", path) : true;
  }
  int failed = sys->close(sys, fd);
  if (good && failed < 0 && failed != -EINTR) /* after EINTR Linux has closed it */
    good = error_system(e, -failed, "%s", path);
  return good;
}

bool sys_create_file(const struct sys *sys, const char *path, const void *from, size_t size,
                     struct error *e) {
  int fd = sys_open(sys, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0) return error_system(e, -fd, "%s", path);
  if (fill(sys, fd, from, size, false, path, e)) return true;
  sys->unlink(sys, path);
  return false;
}

void sys_parent(char *to, const char *path) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  while (length > 0 && path[length - 1] != '/')
    length--;
  while (length > 1 && path[length - 1] == '/')
    length--;
  if (length == 0)
    snprintf(to, PATH_MAX, ".");
  else
    snprintf(to, PATH_MAX, "%.*s", (int)length, path);
}

bool sys_write_beside(const struct sys *sys, const char *path, const void *from, size_t size,
                      unsigned mode, bool durable, char *temporary, struct error *e) {
  int fd = replace_create(sys, path, mode, temporary, PATH_MAX);
  if (fd < 0) return error_system(e, -fd, "%s", path);
  if (fill(sys, fd, from, size, durable, path, e)) return true;
  sys->unlink(sys, temporary);
  return false;
}

bool sys_replace_file(const struct sys *sys, const char *path, const void *from, size_t size,
                      bool durable, struct error *e) {
  char name[PATH_MAX];
  if (!sys_write_beside(sys, path, from, size, 0600, durable, name, e)) return false;
  int failed = sys->rename(sys, name, path);
  if (failed < 0) {
    sys->unlink(sys, name);
    return error_system(e, -failed, "%s", path);
  }
  char *parent = name;
  sys_parent(parent, path);
  return durable ? sys_sync_directory(sys, parent, e) : true;
}

void *sys_alloc(const struct sys *sys, size_t size) {
  assert(size > 0);
  void *block = sys->alloc(sys, NULL, 0, size);
  if (block) memset(block, 0, size);
  return block;
}

void sys_free(const struct sys *sys, void *block, size_t size) {
  if (block) sys->alloc(sys, block, size, 0);
}
