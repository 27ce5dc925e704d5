/* file.c: opening, replacing, syncing whole files and making folders.
 * Must not know what is in them. Called by the other files of this folder. */
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool file_path(char *to, const char *folder, const char *name, struct error *e) {
  size_t length = strlen(folder), more = strlen(name);
  if (length + 1 + more >= PATH_MAX - 8) /* ".new" must still fit */
    return error_set(e, ERROR_LIMIT, "%.200s/...: path too long", folder);
  memcpy(to, folder, length);
  to[length] = '/';
  memcpy(to + length + 1, name, more + 1);
  return true;
}

int file_open(const struct sys *sys, const char *path, int flags, struct error *e) {
  struct sys_stat found;
  int fd;
  do { /* opening a pipe would wait for its writer */
    fd = sys->open(sys, path, flags | O_NOFOLLOW | O_NONBLOCK, 0600);
  } while (fd == -EINTR);
  if (fd >= 0) {
    int failed = sys->fstat(sys, fd, &found);
    if (failed == 0 && found.kind == SYS_FILE) return fd;
    sys->close(sys, fd);
    if (failed < 0)
      error_system(e, -failed, "%s", path);
    else
      error_set(e, ERROR_INVALID, "%s: not a regular file", path);
    return -1;
  }
  if (fd == -ENXIO) {
    error_set(e, ERROR_INVALID, "%s: not a regular file", path);
    return -1;
  }
  if (fd == -ENOENT && !(flags & O_CREAT))
    error_set(e, ERROR_MISSING, "%s: No such file", path);
  else
    error_system(e, -fd, "%s", path);
  return -1;
}

bool file_sync(const struct sys *sys, int fd, bool data_only, const char *path, struct error *e) {
  int failed;
  do { /* EINTR reports no lost write; after any other failure the pages may be gone */
    failed = data_only ? sys->fdatasync(sys, fd) : sys_fsync(sys, fd);
  } while (failed == -EINTR);
  return failed < 0 ? error_system(e, -failed, "%s: sync", path) : true;
}

bool file_sync_parent(const struct sys *sys, const char *path, struct error *e) {
  char parent[PATH_MAX];
  struct error why = {0};
  if (strlen(path) >= PATH_MAX) return error_set(e, ERROR_LIMIT, "%.200s...: path too long", path);
  sys_parent(parent, path);
  if (sys_sync_directory(sys, parent, &why)) return true;
  if (why.number == EACCES || why.number == EPERM)
    return true; /* we may not open it, so we cannot sync it */
  if (e) *e = why;
  return false;
}

bool file_make_folders(const struct sys *sys, const char *path, bool durable, struct error *e) {
  char parent[PATH_MAX];
  struct sys_stat found;
  if (strlen(path) >= PATH_MAX) return error_set(e, ERROR_LIMIT, "%.200s...: path too long", path);
  int failed = sys->mkdir(sys, path, 0700);
  if (failed == -EEXIST) {
    /* A link to a folder is accepted; anything else fails at the next open. */
    failed = sys->stat(sys, path, &found);
    if (failed == 0 && found.kind != SYS_DIRECTORY && found.kind != SYS_LINK) failed = -ENOTDIR;
    if (failed < 0) return error_system(e, -failed, "%s", path);
    return !durable || file_sync_parent(sys, path, e); /* its maker may have died before its sync */
  }
  sys_parent(parent, path);
  if (failed == -ENOENT && strcmp(parent, path) != 0 && strcmp(parent, ".") != 0) {
    if (!file_make_folders(sys, parent, durable, e)) return false;
    failed = sys->mkdir(sys, path, 0700);
    if (failed == -EEXIST) failed = 0; /* another process was faster */
  }
  if (failed < 0) return error_system(e, -failed, "%s", path);
  return durable ? sys_sync_directory(sys, parent, e) : true;
}

bool file_is_folder(const struct sys *sys, const char *folder, const char *name, struct error *e) {
  char path[PATH_MAX];
  struct sys_stat found;
  if (!file_path(path, folder, name, e)) return false;
  int failed = sys->stat(sys, path, &found);
  if (failed == -ENOENT || failed == -ENOTDIR) return true;
  if (failed < 0) return error_system(e, -failed, "%s", path);
  if (found.kind == SYS_DIRECTORY) return true;
  return error_set(e, ERROR_INVALID,
                   "%s: is %s, and must be a folder of the run's own; put it back", path,
                   found.kind == SYS_LINK ? "a link" : "no folder");
}

bool file_read(const struct sys *sys, const char *path, struct buffer *to, struct error *e) {
  int fd = file_open(sys, path, O_RDONLY, e);
  if (fd < 0) return false;
  bool good = buffer_read_descriptor(to, fd, path, e);
  sys->close(sys, fd);
  return good;
}

bool file_temporary(char *to, const char *path, struct error *e) {
  int length = snprintf(to, PATH_MAX, "%s.new", path);
  if (length < 0 || length >= PATH_MAX)
    return error_set(e, ERROR_LIMIT, "%.200s...: path too long", path);
  return true;
}

bool file_same(const struct sys *sys, const char *path, const struct sys_stat *about,
               int64_t *size) {
  struct sys_stat now;
  int failed = sys->stat(sys, path, &now);
  if (failed == -ENOENT || failed == -ENOTDIR || failed == -ELOOP) return false;
  if (failed < 0) return true;
  *size = now.size;
  return now.device == about->device && now.inode == about->inode;
}
