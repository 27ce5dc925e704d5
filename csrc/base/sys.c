/* sys.c: the real world: one thin function per call of struct sys.
 * Must not retry, remember or decide anything. Everybody reaches it through sys_real(). */
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/sys_below.h"
#include "base/sys_leash.h"
#include "base/sys_spawn.h"

#define RESULT(call) ((call) < 0 ? -errno : 0)

static void *real_alloc(const struct sys *sys, void *block, size_t old_size, size_t new_size) {
  (void)sys, (void)old_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

/* The result of a call that opens. */
static int above_standard(int fd) {
  if (fd < 0) return -errno;
  if (fd > STDERR_FILENO) return fd;
  int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int failed = errno;
  close(fd);
  return higher < 0 ? -failed : higher;
}

void sys_hold_standard(int held[3]) {
  for (int i = 0; i < 3; i++)
    held[i] = fcntl(i, F_GETFD) < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
}

void sys_release_standard(const int held[3]) {
  for (int i = 0; i < 3; i++)
    if (held[i] >= 0) close(held[i]);
}

static int real_open(const struct sys *sys, const char *path, int flags, unsigned mode) {
  (void)sys;
  return above_standard(open(path, flags | O_CLOEXEC, (mode_t)mode));
}

static int real_close(const struct sys *sys, int fd) {
  (void)sys;
  return RESULT(close(fd));
}

static ssize_t real_read(const struct sys *sys, int fd, void *to, size_t size) {
  (void)sys;
  ssize_t count = read(fd, to, size);
  return count < 0 ? -errno : count;
}

static ssize_t real_pread(const struct sys *sys, int fd, void *to, size_t size, int64_t offset) {
  (void)sys;
  ssize_t count = pread(fd, to, size, (off_t)offset);
  return count < 0 ? -errno : count;
}

static ssize_t real_write(const struct sys *sys, int fd, const void *from, size_t size) {
  (void)sys;
  ssize_t count = write(fd, from, size);
  return count < 0 ? -errno : count;
}

static int real_fsync(const struct sys *sys, int fd) {
  (void)sys;
  return RESULT(fsync(fd));
}

static int real_fdatasync(const struct sys *sys, int fd) {
  (void)sys;
  return RESULT(fdatasync(fd));
}

static int real_truncate(const struct sys *sys, int fd, int64_t size) {
  (void)sys;
  return RESULT(ftruncate(fd, (off_t)size));
}

static int real_reserve(const struct sys *sys, int fd, int64_t offset, int64_t size) {
  (void)sys;
  return RESULT(fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size));
}

static int64_t real_seek(const struct sys *sys, int fd, int64_t offset, int whence) {
  (void)sys;
  off_t at = lseek(fd, (off_t)offset, whence);
  return at < 0 ? -errno : (int64_t)at;
}

static int real_lock(const struct sys *sys, int fd) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  (void)sys;
  return RESULT(fcntl(fd, F_OFD_SETLK, &all));
}

static int real_locked(const struct sys *sys, int fd) {
  struct flock found = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  (void)sys;
  return fcntl(fd, F_OFD_GETLK, &found) < 0 ? -errno : found.l_type != F_UNLCK;
}

static int real_rename(const struct sys *sys, const char *from, const char *to) {
  (void)sys;
  return RESULT(rename(from, to));
}

static int real_unlink(const struct sys *sys, const char *path) {
  (void)sys;
  return RESULT(unlink(path));
}

static int real_mkdir(const struct sys *sys, const char *path, unsigned mode) {
  (void)sys;
  return RESULT(mkdir(path, (mode_t)mode));
}

static int real_rmdir(const struct sys *sys, const char *path) {
  (void)sys;
  return RESULT(rmdir(path));
}

static enum sys_kind real_kind(mode_t mode) {
  return S_ISREG(mode)   ? SYS_FILE
         : S_ISDIR(mode) ? SYS_DIRECTORY
         : S_ISLNK(mode) ? SYS_LINK
                         : SYS_OTHER;
}

static void real_stat_fill(struct sys_stat *to, const struct stat *from) {
  *to = (struct sys_stat){
      .kind = real_kind(from->st_mode),
      .size = from->st_size,
      .mtime_ns = (int64_t)from->st_mtim.tv_sec * 1000000000 + from->st_mtim.tv_nsec,
      .mode = from->st_mode & 07777,
      .device = from->st_dev,
      .inode = from->st_ino,
  };
}

static int real_stat(const struct sys *sys, const char *path, struct sys_stat *to) {
  (void)sys;
  struct stat found;
  if (lstat(path, &found) < 0) return -errno;
  real_stat_fill(to, &found);
  return 0;
}

static int real_fstat(const struct sys *sys, int fd, struct sys_stat *to) {
  (void)sys;
  struct stat found;
  if (fstat(fd, &found) < 0) return -errno;
  real_stat_fill(to, &found);
  return 0;
}

/* Some file systems leave d_type empty; a file that went away meanwhile is SYS_OTHER. */
static enum sys_kind real_entry_kind(DIR *folder, const struct dirent *entry) {
  switch (entry->d_type) {
  case DT_REG:
    return SYS_FILE;
  case DT_DIR:
    return SYS_DIRECTORY;
  case DT_LNK:
    return SYS_LINK;
  case DT_UNKNOWN: {
    struct stat found;
    if (fstatat(dirfd(folder), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0)
      return real_kind(found.st_mode);
    return SYS_OTHER;
  }
  default:
    return SYS_OTHER;
  }
}

static int real_list(const struct sys *sys, const char *path,
                     bool (*each)(void *data, const char *name, enum sys_kind kind), void *data) {
  (void)sys;
  DIR *folder = opendir(path); /* close-on-exec by itself */
  if (!folder) return -errno;
  const struct dirent *entry;
  int failed;
  bool more = true;
  do {
    errno = 0;
    entry = readdir(folder);
    failed = entry ? 0 : errno;
    if (entry && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      more = each(data, entry->d_name, real_entry_kind(folder, entry));
  } while (entry && more);
  closedir(folder);
  return -failed;
}

static int real_memory_file(const struct sys *sys, const char *name) {
  (void)sys;
  return above_standard(memfd_create(name, MFD_CLOEXEC));
}

static int real_pipe(const struct sys *sys, int ends[2]) {
  (void)sys;
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  int reading = ends[0], writing = ends[1];
  ends[0] = above_standard(reading);
  ends[1] = above_standard(writing);
  if (ends[0] >= 0 && ends[1] >= 0) return 0;
  int failed = ends[0] < 0 ? ends[0] : ends[1];
  for (int i = 0; i < 2; i++)
    if (ends[i] >= 0) close(ends[i]);
  return failed;
}

static int real_boot(const struct sys *sys, char to[SYS_BOOT]) {
  int fd = real_open(sys, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
  if (fd < 0) return fd;
  ssize_t count = real_read(sys, fd, to, SYS_BOOT - 1);
  real_close(sys, fd);
  if (count < 0) return (int)count;
  to[count] = '\0';
  to[strcspn(to, "\n")] = '\0';
  return 0;
}

/* What other machines write to, too, or a program stands behind. */
static int real_is_local(const struct sys *sys, int fd) {
  static const unsigned long shared[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                         0x65735546, 0x01021997, 0x5346414f, 0x00c36400,
                                         0x01161970, 0x7461636f, 0x0bd00bd0, 0x47504653};
  (void)sys;
  struct statfs about;
  if (fstatfs(fd, &about) < 0) return -errno;
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
    if (((unsigned long)about.f_type & 0xffffffff) == shared[i]) return 0;
  return 1;
}

static int64_t real_wall_ms(const struct sys *sys) {
  (void)sys;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t real_mono_ns(const struct sys *sys) {
  (void)sys;
  return clock_ns(CLOCK_MONOTONIC);
}

static int64_t real_boot_ns(const struct sys *sys) {
  (void)sys;
  return clock_ns(CLOCK_BOOTTIME);
}

static void real_pause(const struct sys *sys, int ms) {
  (void)sys;
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static int real_random(const struct sys *sys, void *to, size_t size) {
  (void)sys;
  char *at = to;
  while (size > 0) { /* getrandom gives at most 256 bytes for sure */
    ssize_t count = getrandom(at, size < 256 ? size : 256, 0);
    if (count < 0) return -errno;
    at += count;
    size -= (size_t)count;
  }
  return 0;
}

static int real_socket(const struct sys *sys, int domain, int type, int protocol) {
  (void)sys;
  return above_standard(socket(domain, type | SOCK_CLOEXEC, protocol));
}

const struct sys *sys_real(void) {
  static const struct sys real = {
      .alloc = real_alloc,
      .open = real_open,
      .open_below = sys_real_open_below,
      .close = real_close,
      .read = real_read,
      .pread = real_pread,
      .write = real_write,
      .fsync = real_fsync,
      .fdatasync = real_fdatasync,
      .truncate = real_truncate,
      .reserve = real_reserve,
      .seek = real_seek,
      .lock = real_lock,
      .locked = real_locked,
      .rename = real_rename,
      .unlink = real_unlink,
      .mkdir = real_mkdir,
      .rmdir = real_rmdir,
      .stat = real_stat,
      .fstat = real_fstat,
      .list = real_list,
      .memory_file = real_memory_file,
      .pipe = real_pipe,
      .boot = real_boot,
      .is_local = real_is_local,
      .wall_ms = real_wall_ms,
      .mono_ns = real_mono_ns,
      .boot_ns = real_boot_ns,
      .pause = real_pause,
      .random = real_random,
      .spawn = sys_real_spawn,
      .ended = sys_real_ended,
      .kill_group = sys_real_kill_group,
      .kill_process = sys_real_kill_process,
      .reap = sys_real_reap,
      .leash = sys_real_leash,
      .leashed = sys_real_leashed,
      .socket = real_socket,
  };
  return &real;
}
