/* count.c: counts what a program asks of the disk. Preloaded (LD_PRELOAD), it stands before the
 * C library's calls and appends one line to the file named by COUNT_TO when the program ends:
 * "syncs N bytes N", of regular files only. Counts do not jitter as microseconds do. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static long long syncs, bytes;

static int regular(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static ssize_t counted(int fd, ssize_t written) {
  if (written > 0 && regular(fd)) __atomic_add_fetch(&bytes, written, __ATOMIC_RELAXED);
  return written;
}

/* the next definition of `name`, read as a function by way of memcpy: C has no such cast */
#define NEXT(type, name)                                                                           \
  type next;                                                                                       \
  void *found = dlsym(RTLD_NEXT, name);                                                            \
  memcpy(&next, &found, sizeof next)

#define VISIBLE __attribute__((visibility("default")))

typedef int sync_call(int);
typedef ssize_t write_call(int, const void *, size_t);
typedef ssize_t pwrite_call(int, const void *, size_t, off_t);
typedef ssize_t writev_call(int, const struct iovec *, int);

VISIBLE int fdatasync(int fd) {
  NEXT(sync_call *, "fdatasync");
  if (regular(fd)) __atomic_add_fetch(&syncs, 1, __ATOMIC_RELAXED);
  return next(fd);
}

VISIBLE int fsync(int fd) {
  NEXT(sync_call *, "fsync");
  if (regular(fd)) __atomic_add_fetch(&syncs, 1, __ATOMIC_RELAXED);
  return next(fd);
}

VISIBLE ssize_t write(int fd, const void *from, size_t size) {
  NEXT(write_call *, "write");
  return counted(fd, next(fd, from, size));
}

VISIBLE ssize_t pwrite(int fd, const void *from, size_t size, off_t offset) {
  NEXT(pwrite_call *, "pwrite");
  return counted(fd, next(fd, from, size, offset));
}

VISIBLE ssize_t pwrite64(int fd, const void *from, size_t size, off_t offset) {
  NEXT(pwrite_call *, "pwrite64");
  return counted(fd, next(fd, from, size, offset));
}

VISIBLE ssize_t writev(int fd, const struct iovec *parts, int count) {
  NEXT(writev_call *, "writev");
  return counted(fd, next(fd, parts, count));
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("COUNT_TO");
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  dprintf(fd, "syncs %lld bytes %lld\n", syncs, bytes);
  close(fd);
}
