/* spawn.c: how long a program takes from its start to its end, and how much memory it held.
 *
 * Usage: spawn RUNS PROGRAM [ARG...]. Runs it RUNS times, its output thrown away; prints the
 * median in nanoseconds, the largest resident set in KiB and the median of the nanoseconds of CPU
 * (user and system). A failing run ends it. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { MAX_RUNS = 10000 };

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
  long long x = *(const long long *)a, y = *(const long long *)b;
  return (x > y) - (x < y);
}

static long long nanoseconds(struct timeval t) {
  return (long long)t.tv_sec * 1000000000 + (long long)t.tv_usec * 1000;
}

/* Runs once; false when the program could not start or failed. */
static int run(char **args, long long *took, long long *cpu, long *memory) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid;
  long long start = now();
  int failed = posix_spawnp(&pid, args[0], &actions, NULL, args, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    fprintf(stderr, "%s: %s\n", args[0], strerror(failed));
    return 0;
  }
  int status;
  struct rusage usage;
  while (wait4(pid, &status, 0, &usage) < 0)
    if (errno != EINTR) return 0;
  *took = now() - start;
  *cpu = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
  if (usage.ru_maxrss > *memory) *memory = usage.ru_maxrss;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr, "%s: failed (status %d)\n", args[0], status);
    return 0;
  }
  return 1;
}

int main(int count, char **args) {
  int runs = count > 2 ? atoi(args[1]) : 0;
  if (runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr, "usage: spawn RUNS PROGRAM [ARG...]\n");
    return 2;
  }
  long long *took = calloc((size_t)runs * 2, sizeof *took), *cpu = took + runs;
  long memory = 0;
  for (int i = 0; took && i < runs; i++)
    if (!run(args + 2, &took[i], &cpu[i], &memory)) return 1;
  if (!took) return 1;
  qsort(took, (size_t)runs, sizeof *took, by_size);
  qsort(cpu, (size_t)runs, sizeof *cpu, by_size);
  printf("%lld %ld %lld\n", took[runs / 2], memory, cpu[runs / 2]);
  free(took);
  return 0;
}
