/* faulty_sys.c: makes and forgets the plans of what is to go wrong, and tells what was counted.
 * Must not know what is under test. Called by C tests. */
#include "support/faulty_sys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/faulty_inside.h"

struct faulty *faulty_new(const struct sys *below) {
  struct faulty *f = calloc(1, sizeof *f);
  assert(f);
  f->below = below;
  pthread_mutex_init(&f->mutex, NULL);
  faulty_calls_fill(f);
  return f;
}

void faulty_free(struct faulty *f) {
  if (!f) return;
  faulty_power_free(f->power);
  pthread_mutex_destroy(&f->mutex);
  free(f);
}

const struct sys *faulty_sys(struct faulty *f) {
  return &f->sys;
}

void faulty_reset(struct faulty *f) {
  memset(f->counts, 0, sizeof f->counts);
  f->fail = f->kill = f->full = f->alloc = (struct faulty_plan){0};
  f->halfway = f->killed = f->twice = false;
  f->wall = f->wall_step = 0;
}

uint64_t faulty_count(const struct faulty *f, unsigned mask) {
  uint64_t sum = 0;
  for (unsigned call = 0; call < FAULTY_CALLS; call++)
    if (mask & FAULTY_BIT(call)) sum += f->counts[call];
  return sum;
}

void faulty_fail(struct faulty *f, unsigned mask, uint64_t n, int number, enum faulty_how how) {
  assert(n > 0 && !(mask & FAULTY_BIT(FAULTY_ALLOC)));
  f->fail = (struct faulty_plan){.mask = mask, .n = n, .number = number, .how = how};
}

void faulty_fail_alloc(struct faulty *f, uint64_t n, bool twice, bool from) {
  assert(n > 0);
  f->alloc = (struct faulty_plan){
      .mask = FAULTY_BIT(FAULTY_ALLOC), .n = n, .how = from ? FAULTY_FROM : FAULTY_ONCE};
  f->twice = twice;
}

void faulty_kill(struct faulty *f, unsigned mask, uint64_t n, bool halfway) {
  assert(n > 0 && !(mask & FAULTY_BIT(FAULTY_ALLOC)));
  f->kill = (struct faulty_plan){.mask = mask, .n = n};
  f->halfway = halfway;
}

bool faulty_killed(const struct faulty *f) {
  return f->killed;
}

void faulty_disk_full(struct faulty *f, uint64_t n) {
  f->full = (struct faulty_plan){.mask = FAULTY_DISK, .n = n, .how = FAULTY_FROM};
}

void faulty_clock(struct faulty *f, int64_t wall_ms, int64_t step_ms) {
  f->wall = wall_ms;
  f->wall_step = step_ms;
}

void faulty_clock_skip(struct faulty *f, int64_t ms) {
  pthread_mutex_lock(&f->mutex);
  if (f->wall) f->wall += ms;
  pthread_mutex_unlock(&f->mutex);
}

size_t faulty_outstanding(const struct faulty *f) {
  return f->bytes;
}

size_t faulty_allocations(const struct faulty *f) {
  return f->blocks;
}

ino_t faulty_socket_at(int fd) {
  struct stat found;
  return fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode) ? found.st_ino : 0;
}

void faulty_forget_socket(struct faulty *f, int fd) {
  if (fd < 0 || fd >= FAULTY_FILES_MAX || !f->sockets[fd]) return;
  if (faulty_socket_at(fd) != f->sockets[fd]) f->files--;
  f->sockets[fd] = 0;
}

/* libcurl closes a socket itself, not through us, where it is given up while connecting: one that
 * is gone is not left open, also where its number is another's by now, as a server's in here. */
int faulty_open_files(const struct faulty *f) {
  int open = f->files;
  for (int fd = 0; fd < FAULTY_FILES_MAX; fd++)
    if (f->sockets[fd] && faulty_socket_at(fd) != f->sockets[fd]) open--;
  return open;
}

void faulty_power(struct faulty *f, const char *root) {
  faulty_power_free(f->power);
  f->power = faulty_power_new(root);
}

void faulty_power_cut(struct faulty *f, enum faulty_cut how, uint64_t seed) {
  assert(f->power);
  f->boot++;
  faulty_power_restore(f->power, how, seed);
}
