/* hosts.c: what a run costs a host (skillrt.h): prints numbers for bench/rows/hosts.lua.
 *
 *   hosts steps SCRIPT DIR N     ms and KB of a run of three steps, and its descriptors
 *   hosts waiting SCRIPT DIR N   KB that each of N runs takes that wait for an event, us until one
 *                                does, us until one has come to its end by the event; descriptors
 * of all
 *
 * KB: what is allocated while the runs are open. Links the library, as a host does. */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "skillrt.h"

static char error[1024];

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double allocated_kb(void) {
  struct mallinfo2 info = mallinfo2();
  return (double)(info.uordblks + info.hblkhd) / 1024;
}

static int descriptors(void) {
  DIR *open = opendir("/proc/self/fd");
  int count = 0;
  while (open && readdir(open))
    count++;
  closedir(open);
  return count;
}

static struct skillrt *open_run(struct skillrt_host *host, char **words, int i) {
  char work_dir[4096];
  struct skillrt_options options = {.size = sizeof options, .host = host, .script = words[2]};
  options.wait = true;
  options.work_dir = work_dir;
  snprintf(work_dir, sizeof work_dir, "%s/%d", words[3], i);
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) fprintf(stderr, "hosts: %s\n", error);
  if (!run) exit(1);
  return run;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void steps(struct skillrt_host *host, char **words, int count) {
  double *took = calloc((size_t)count, sizeof *took);
  struct skillrt **runs = calloc((size_t)count, sizeof *runs);
  skillrt_close(open_run(host, words, count)); /* the first loads what all need */
  for (int i = 0; i < count; i++) {
    double start = now_ms();
    struct skillrt *run = open_run(host, words, i);
    while (skillrt_step(run) == SKILLRT_RUNNING)
      continue;
    if (skillrt_status_code(run) != SKILLRT_COMPLETED) exit(1);
    skillrt_close(run);
    took[i] = now_ms() - start;
  }
  qsort(took, (size_t)count, sizeof *took, by_size);
  double kb = allocated_kb();
  int fds = descriptors();
  for (int i = 0; i < count; i++)
    runs[i] = open_run(host, words, count + 1 + i);
  printf("%.3f %.1f %.2f\n", took[count / 2], (allocated_kb() - kb) / count,
         (double)(descriptors() - fds) / count);
  for (int i = 0; i < count; i++)
    skillrt_close(runs[i]);
  free(runs);
  free(took);
}

static void settle(struct skillrt_host *host) {
  do
    skillrt_host_step(host);
  while (skillrt_host_timeout_ms(host) >= 0 && skillrt_host_timeout_ms(host) < 10);
}

/* Runs that wait for an event are back in their books; then each is given one, and ends by it. */
static void waiting(struct skillrt_host *host, char **words, int count) {
  struct skillrt **runs = calloc((size_t)count, sizeof *runs);
  skillrt_close(open_run(host, words, count));
  double kb = allocated_kb(), start = now_ms();
  for (int i = 0; i < count; i++) {
    runs[i] = open_run(host, words, i);
    settle(host);
    if (!skillrt_parked(runs[i])) exit(1);
  }
  double took = now_ms() - start, held = allocated_kb() - kb;
  int fds = descriptors();
  start = now_ms();
  for (int i = 0; i < count; i++)
    if (!skillrt_event(runs[i], "go", NULL, NULL, error, sizeof error)) exit(1);
  while (skillrt_host_step(host) > 0)
    continue;
  for (int i = 0; i < count; i++)
    if (skillrt_status_code(runs[i]) != SKILLRT_COMPLETED) exit(1);
  printf("%.1f %.1f %.1f %d\n", held / count, took * 1000 / count,
         (now_ms() - start) * 1000 / count, fds);
  free(runs);
}

int main(int count, char **words) {
  struct skillrt_host_options options = {.size = sizeof options, .park_ms = 1};
  if (count != 5) return 2;
  struct skillrt_host *host = skillrt_host_open(&options, error, sizeof error);
  if (!host) return 1;
  if (strcmp(words[1], "steps") == 0)
    steps(host, words, atoi(words[4]));
  else
    waiting(host, words, atoi(words[4]));
  skillrt_host_close(host);
  return 0;
}
