/* floor.c: what a durable step costs at least: appends the same bytes with one fdatasync a step.
 *
 * Usage: floor FILE STEPS BYTES [nosync]. Prints the nanoseconds a step took. Knows nothing of
 * skillrt; bench/rows compare with it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int fail(const char *path) {
  fprintf(stderr, "%s: %s\n", path, strerror(errno));
  return 1;
}

int main(int count, char **args) {
  if (count < 4) {
    fprintf(stderr, "usage: floor FILE STEPS BYTES [nosync]\n");
    return 2;
  }
  long steps = atol(args[2]);
  size_t size = (size_t)atol(args[3]);
  int sync = count < 5;
  char *bytes = malloc(size + 1);
  int fd = open(args[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (!bytes || fd < 0) return fail(args[1]);
  memset(bytes, 'x', size);
  long long start = now();
  for (long i = 0; i < steps; i++)
    if (write(fd, bytes, size) != (ssize_t)size || (sync && fdatasync(fd) != 0))
      return fail(args[1]);
  printf("%lld\n", (now() - start) / (steps > 0 ? steps : 1));
  close(fd);
  free(bytes);
  return 0;
}
