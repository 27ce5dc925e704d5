/* sys_below.c: see sys_below.h. openat2 where the kernel has it (5.6), else a walk. */
#include "base/sys_below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A part that is a link is -ELOOP, as openat2 has it; O_DIRECTORY alone would say "not a
 * directory". */
static int open_part(int folder, const char *part, int flags) {
  struct stat about;
  if (strcmp(part, "..") == 0) return -EXDEV;
  int fd = openat(folder, part, flags | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    int failed = -errno;
    bool link = fstatat(folder, part, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode);
    return link ? -ELOOP : failed;
  }
  if (!(flags & O_PATH) || fstat(fd, &about) < 0 || !S_ISLNK(about.st_mode)) return fd;
  close(fd);
  return -ELOOP;
}

int sys_walk_below(int folder, const char *name, int flags) {
  char part[NAME_MAX + 1];
  int at = folder;
  if (name[0] == '/') return -EXDEV;
  for (;;) {
    size_t size = strcspn(name, "/");
    const char *rest = name + size + strspn(name + size, "/");
    if (size > NAME_MAX) { /* cut short it would be the name of another file */
      if (at != folder) close(at);
      return -ENAMETOOLONG;
    }
    memcpy(part, name, size);
    part[size] = '\0';
    int next = open_part(at, part, *rest ? O_PATH | O_DIRECTORY : flags);
    if (at != folder) close(at);
    if (next < 0 || !*rest) return next;
    at = next;
    name = rest;
  }
}

int sys_real_open_below(const struct sys *sys, int folder, const char *name, int flags) {
  (void)sys;
  struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
  long fd;
  do {
    fd = syscall(SYS_openat2, folder, name, &how, sizeof how);
  } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
  if (fd >= 0) return (int)fd;
  /* Not there, or forbidden as a whole by a sandbox that does not know it. */
  return errno == ENOSYS || errno == EPERM ? sys_walk_below(folder, name, flags) : -errno;
}
