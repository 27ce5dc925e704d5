/* lock.c: takes, signs and releases the lock of a run.
 * Must not know what the lock protects. Called by directory.c. */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/file.h"
#include "store/stamp.h"

/* Reads up to room - 1 bytes of the first line; an empty text where there are none. */
static void lock_line(const struct sys *sys, int fd, char *to, size_t room) {
  ssize_t count = sys->pread(sys, fd, to, room - 1, 0);
  to[count > 0 ? count : 0] = '\0';
  to[strcspn(to, "\r\n")] = '\0';
  for (char *at = to; *at; at++) /* the text may be shown on a terminal */
    if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e) *at = '?';
}

static void lock_busy(const struct sys *sys, int fd, const char *path, struct error *e) {
  char line[256];
  lock_line(sys, fd, line, sizeof line);
  char *host = strchr(line, ' ');
  char *start = host ? strchr(host + 1, ' ') : NULL;
  if (!start) {
    error_set(e, ERROR_BUSY, "%s: held by another process; wait for it or stop it", path);
    return;
  }
  *host++ = *start++ = '\0';
  start[strcspn(start, " ")] = '\0';
  error_set(e, ERROR_BUSY, "%s: held by process %s on %s since %s; wait for it or stop it", path,
            line, host, start);
}

/* 0: locked. -EAGAIN: the name meanwhile stands for another file. */
static int lock_try(const struct sys *sys, int fd, const char *path) {
  struct sys_stat ours, named;
  int failed;
  do {
    failed = sys->lock(sys, fd);
  } while (failed == -EINTR);
  if (failed < 0) return failed == -EAGAIN ? -EBUSY : failed; /* EAGAIN is EWOULDBLOCK */
  failed = sys->fstat(sys, fd, &ours);
  if (failed < 0) return failed;
  failed = sys->stat(sys, path, &named);
  if (failed == -ENOENT) return -EAGAIN;
  if (failed < 0) return failed;
  return ours.device == named.device && ours.inode == named.inode ? 0 : -EAGAIN;
}

int lock_take(const struct sys *sys, const char *folder, struct error *e) {
  char path[PATH_MAX];
  if (!file_path(path, folder, "run.lock", e)) return -1;
  for (int attempt = 0; attempt < 8; attempt++) {
    int fd = file_open(sys, path, O_RDWR | O_CREAT, e);
    if (fd < 0) return -1;
    int failed = lock_try(sys, fd, path);
    if (failed == 0) return fd;
    if (failed == -EBUSY)
      lock_busy(sys, fd, path, e);
    else
      error_system(e, -failed, "%s", path);
    sys->close(sys, fd);
    if (failed != -EAGAIN) return -1; /* else the file was removed: take the new one */
  }
  return -1;
}

bool lock_kept(const struct sys *sys, const struct sys_stat *locked, const char *folder,
               struct error *e) {
  char path[PATH_MAX];
  int64_t size;
  if (!file_path(path, folder, "run.lock", e)) return false;
  if (file_same(sys, path, locked, &size)) return true;
  return error_set(e, ERROR_LOST,
                   "%s: was removed or replaced while the run went on; nothing more is written",
                   path);
}

int lock_look(const struct sys *sys, const char *folder, struct error *e) {
  char path[PATH_MAX];
  if (!file_path(path, folder, "run.lock", e)) return -1;
  return file_open(sys, path, O_RDONLY, e);
}

bool lock_held(const struct sys *sys, const char *folder, char *line, size_t room) {
  struct error why = {0};
  int fd = lock_look(sys, folder, &why);
  line[0] = '\0';
  if (fd < 0) return why.code == ERROR_SYSTEM;
  int held = sys->locked(sys, fd);
  lock_line(sys, fd, line, room);
  sys->close(sys, fd);
  bool locks = held != -EINVAL && held != -ENOSYS && held != -EOPNOTSUPP; /* the file system does */
  return held != 0 && locks;
}

void lock_boot(const struct sys *sys, int fd, char boot[SYS_BOOT]) {
  char line[256];
  lock_line(sys, fd, line, sizeof line);
  const char *at = line;
  for (int spaces = 0; at && spaces < 3; spaces++)
    if ((at = strchr(at, ' '))) at++;
  snprintf(boot, SYS_BOOT, "%.*s", SYS_BOOT - 1, at ? at : "");
}

void lock_sign(const struct sys *sys, int fd, pid_t pid, const char *boot) {
  char host[65] = "", text[200], start[STAMP_SIZE];
  int from = sys->open(sys, "/proc/sys/kernel/hostname", O_RDONLY, 0);
  if (from >= 0) {
    lock_line(sys, from, host, sizeof host);
    sys->close(sys, from);
  }
  stamp_text(start, sys->wall_ms(sys));
  int length = snprintf(text, sizeof text, "%ld %s %s%s%s\n", (long)pid, host[0] ? host : "?",
                        start, boot[0] ? " " : "", boot);
  /* Truncate after the write, not before: ext4 flushes a file that was truncated to 0 when it
   * closes. */
  if (length > 0 && sys->seek(sys, fd, 0, SEEK_SET) == 0 &&
      sys_write_all(sys, fd, text, (size_t)length, "run.lock", NULL))
    sys->truncate(sys, fd, length);
}

void lock_release(const struct sys *sys, int fd) {
  if (fd >= 0) sys->close(sys, fd);
}
