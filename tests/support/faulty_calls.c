/* faulty_calls.c: each call of struct sys, counted, and then done, refused or cut short.
 * Must not know what is under test. Reached through the table that faulty_sys.c gives out. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "support/faulty_inside.h"

enum verdict { PASS, FAIL, SHORT, NO_SPACE };

static struct faulty *self_of(const struct sys *sys) {
  return sys->self;
}

static bool plan_met(struct faulty_plan *plan, enum faulty_call call) {
  if (!(plan->mask & FAULTY_BIT(call))) return false;
  return ++plan->seen == plan->n || (plan->how == FAULTY_FROM && plan->seen > plan->n);
}

/* Counts the call; takes the mutex. */
static enum verdict enter(struct faulty *f, enum faulty_call call, int *number) {
  pthread_mutex_lock(&f->mutex);
  f->counts[call]++;
  bool dies = !f->killed && plan_met(&f->kill, call);
  bool fails = plan_met(&f->fail, call), full = plan_met(&f->full, call);
  *number = 0;
  if (f->killed || dies) {
    f->killed = true;
    *number = -FAULTY_KILLED;
    return dies && f->halfway && call == FAULTY_WRITE ? SHORT : FAIL;
  }
  if (fails && f->fail.how == FAULTY_SHORT) return SHORT;
  if (fails) {
    *number = -f->fail.number;
    return FAIL;
  }
  return full ? NO_SPACE : PASS;
}

static void leave(struct faulty *f) {
  pthread_mutex_unlock(&f->mutex);
}

/* A call that does nothing of its own. */
#define BELOW(name, ...) return self_of(sys)->below->name(self_of(sys)->below, __VA_ARGS__)

/* A call that only passes or fails. */
#define SIMPLE(call, action)                                                                       \
  struct faulty *f = self_of(sys);                                                                 \
  int result;                                                                                      \
  if (enter(f, call, &result) != FAIL) result = (action);                                          \
  leave(f);                                                                                        \
  return result

static void *faulty_alloc(const struct sys *sys, void *block, size_t old_size, size_t new_size) {
  struct faulty *f = self_of(sys);
  pthread_mutex_lock(&f->mutex);
  bool fails = false;
  if (new_size > 0) {
    f->counts[FAULTY_ALLOC]++;
    fails = plan_met(&f->alloc, FAULTY_ALLOC) || (f->twice && f->alloc.seen == f->alloc.n + 1);
  }
  void *given = fails ? NULL : f->below->alloc(f->below, block, old_size, new_size);
  if (given || new_size == 0) {
    f->bytes += new_size - (block ? old_size : 0);
    f->blocks += (size_t)(new_size > 0) - (size_t)(block != NULL);
  }
  leave(f);
  return given;
}

static int faulty_open(const struct sys *sys, const char *path, int flags, unsigned mode) {
  struct faulty *f = self_of(sys);
  struct sys_stat found;
  int result;
  enum verdict verdict = enter(f, FAULTY_OPEN, &result);
  if (verdict != FAIL) {
    bool makes = (flags & O_CREAT) && f->below->stat(f->below, path, &found) == -ENOENT;
    result = makes && verdict == NO_SPACE ? -ENOSPC : f->below->open(f->below, path, flags, mode);
    if (result >= 0) {
      f->files++;
      if (result < FAULTY_FILES_MAX) f->reserved[result] = 0;
      if (makes && f->power) faulty_power_named(f->power, path);
    }
  }
  leave(f);
  return result;
}

static int faulty_open_below(const struct sys *sys, int folder, const char *name, int flags) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_OPEN, &result) != FAIL)
    result = f->below->open_below(f->below, folder, name, flags);
  f->files += result >= 0;
  leave(f);
  return result;
}

static int faulty_close(const struct sys *sys, int fd) {
  struct faulty *f = self_of(sys);
  pthread_mutex_lock(&f->mutex);
  faulty_forget_socket(f, fd);
  int result = f->below->close(f->below, fd);
  f->files--;
  leave(f);
  return result;
}

static ssize_t faulty_read(const struct sys *sys, int fd, void *to, size_t size) {
  struct faulty *f = self_of(sys);
  int number;
  ssize_t result = enter(f, FAULTY_READ, &number) == FAIL ? number : 0;
  leave(f); /* may wait: not under the mutex */
  return result ? result : f->below->read(f->below, fd, to, size);
}

static ssize_t faulty_pread(const struct sys *sys, int fd, void *to, size_t size, int64_t offset) {
  struct faulty *f = self_of(sys);
  int number;
  ssize_t result = enter(f, FAULTY_READ, &number) == FAIL ? number : 0;
  if (!result) result = f->below->pread(f->below, fd, to, size, offset);
  leave(f);
  return result;
}

/* How many of `size` bytes fit at the end of a file on a full disk. */
static size_t fitting(struct faulty *f, int fd, size_t size) {
  struct sys_stat found;
  if (f->below->fstat(f->below, fd, &found) < 0 || found.kind != SYS_FILE) return size;
  int64_t room = fd < FAULTY_FILES_MAX ? f->reserved[fd] - found.size : 0; /* all writers append */
  return room <= 0 ? 0 : (size_t)room < size ? (size_t)room : size;
}

static ssize_t faulty_write(const struct sys *sys, int fd, const void *from, size_t size) {
  struct faulty *f = self_of(sys);
  int number;
  ssize_t result;
  enum verdict verdict = enter(f, FAULTY_WRITE, &number);
  size_t count = verdict == SHORT      ? (size + 1) / 2
                 : verdict == NO_SPACE ? fitting(f, fd, size)
                                       : size;
  if (verdict == FAIL)
    result = number;
  else if (count == 0 && size > 0)
    result = -ENOSPC;
  else
    result = f->below->write(f->below, fd, from, count);
  if (number < 0) result = number; /* killed halfway: nobody hears of it */
  leave(f);
  return result;
}

static int synced(struct faulty *f, enum faulty_call call, int fd) {
  int result;
  if (enter(f, call, &result) != FAIL) {
    /* The model replaces the disk, so that a test may sync as often as it likes. */
    if (f->power)
      faulty_power_synced(f->power, fd);
    else
      result =
          call == FAULTY_FSYNC ? f->below->fsync(f->below, fd) : f->below->fdatasync(f->below, fd);
  }
  leave(f);
  return result;
}

static int faulty_fsync(const struct sys *sys, int fd) {
  return synced(self_of(sys), FAULTY_FSYNC, fd);
}

static int faulty_fdatasync(const struct sys *sys, int fd) {
  return synced(self_of(sys), FAULTY_FDATASYNC, fd);
}

static int faulty_truncate(const struct sys *sys, int fd, int64_t size) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_TRUNCATE, &result) != FAIL) {
    result = f->below->truncate(f->below, fd, size);
    if (result == 0 && fd < FAULTY_FILES_MAX) f->reserved[fd] = 0;
  }
  leave(f);
  return result;
}

static int faulty_reserve(const struct sys *sys, int fd, int64_t offset, int64_t size) {
  struct faulty *f = self_of(sys);
  int result;
  enum verdict verdict = enter(f, FAULTY_RESERVE, &result);
  if (verdict == NO_SPACE) {
    result = fd < FAULTY_FILES_MAX && f->reserved[fd] >= offset + size ? 0 : -ENOSPC;
  } else if (verdict != FAIL) {
    result = f->below->reserve(f->below, fd, offset, size);
    if (result == 0 && fd < FAULTY_FILES_MAX && f->reserved[fd] < offset + size)
      f->reserved[fd] = offset + size;
  }
  leave(f);
  return result;
}

static int64_t faulty_seek(const struct sys *sys, int fd, int64_t offset, int whence) {
  struct faulty *f = self_of(sys);
  int number;
  int64_t result = enter(f, FAULTY_STAT, &number) == FAIL ? number : 0;
  if (!result) result = f->below->seek(f->below, fd, offset, whence);
  leave(f);
  return result;
}

static int faulty_lock(const struct sys *sys, int fd) {
  SIMPLE(FAULTY_LOCK, f->below->lock(f->below, fd));
}

static int faulty_locked(const struct sys *sys, int fd) {
  SIMPLE(FAULTY_LOCK, f->below->locked(f->below, fd));
}

static int faulty_rename(const struct sys *sys, const char *from, const char *to) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_RENAME, &result) != FAIL) {
    result = f->below->rename(f->below, from, to);
    if (result == 0 && f->power) faulty_power_renamed(f->power, from, to);
  }
  leave(f);
  return result;
}

static int faulty_unlink(const struct sys *sys, const char *path) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_UNLINK, &result) != FAIL) {
    result = f->below->unlink(f->below, path);
    if (result == 0 && f->power) faulty_power_gone(f->power, path);
  }
  leave(f);
  return result;
}

static int faulty_mkdir(const struct sys *sys, const char *path, unsigned mode) {
  struct faulty *f = self_of(sys);
  struct sys_stat found;
  int result;
  enum verdict verdict = enter(f, FAULTY_MKDIR, &result);
  if (verdict == NO_SPACE && f->below->stat(f->below, path, &found) == -ENOENT) {
    result = -ENOSPC;
  } else if (verdict != FAIL) {
    result = f->below->mkdir(f->below, path, mode);
    if (result == 0 && f->power) faulty_power_named(f->power, path);
  }
  leave(f);
  return result;
}

static int faulty_rmdir(const struct sys *sys, const char *path) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_MKDIR, &result) != FAIL) {
    result = f->below->rmdir(f->below, path);
    if (result == 0 && f->power) faulty_power_gone(f->power, path);
  }
  leave(f);
  return result;
}

static int faulty_stat(const struct sys *sys, const char *path, struct sys_stat *to) {
  SIMPLE(FAULTY_STAT, f->below->stat(f->below, path, to));
}

static int faulty_fstat(const struct sys *sys, int fd, struct sys_stat *to) {
  SIMPLE(FAULTY_STAT, f->below->fstat(f->below, fd, to));
}

static int faulty_list(const struct sys *sys, const char *path,
                       bool (*each)(void *, const char *, enum sys_kind), void *data) {
  struct faulty *f = self_of(sys);
  int result;
  enum verdict verdict = enter(f, FAULTY_LIST, &result);
  leave(f); /* `each` may call us */
  return verdict == FAIL ? result : f->below->list(f->below, path, each, data);
}

static int faulty_boot(const struct sys *sys, char to[SYS_BOOT]) {
  return snprintf(to, SYS_BOOT, "boot-%u", self_of(sys)->boot) < 0 ? -EIO : 0;
}

static int64_t faulty_wall(const struct sys *sys) {
  struct faulty *f = self_of(sys);
  pthread_mutex_lock(&f->mutex);
  int64_t now = f->wall ? f->wall : f->below->wall_ms(f->below);
  if (f->wall) f->wall += f->wall_step;
  leave(f);
  return now;
}

static int64_t faulty_mono(const struct sys *sys) {
  struct faulty *f = self_of(sys);
  return f->below->mono_ns(f->below);
}

static int64_t faulty_boot_ns(const struct sys *sys) {
  struct faulty *f = self_of(sys);
  return f->below->boot_ns(f->below);
}

static int faulty_random(const struct sys *sys, void *to, size_t size) {
  SIMPLE(FAULTY_RANDOM, f->below->random(f->below, to, size));
}

static int faulty_spawn(const struct sys *sys, const struct sys_spawn *what, pid_t *pid,
                        int *ended) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_SPAWN, &result) != FAIL) {
    result = f->below->spawn(f->below, what, pid, ended);
    if (result >= 0 && *ended >= 0) f->files++;
  }
  leave(f);
  return result;
}

/* A test must not leave children behind: these go on working in a dead process. */
static int faulty_kill_group(const struct sys *sys, pid_t pid, int signal) {
  BELOW(kill_group, pid, signal);
}

static int faulty_ended(const struct sys *sys, pid_t pid) {
  BELOW(ended, pid);
}

static int faulty_reap(const struct sys *sys, pid_t pid, int *status) {
  BELOW(reap, pid, status);
}

static int faulty_socket(const struct sys *sys, int domain, int type, int protocol) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_SOCKET, &result) != FAIL) {
    result = f->below->socket(f->below, domain, type, protocol);
    f->files += result >= 0;
    faulty_forget_socket(f, result);
    if (result >= 0 && result < FAULTY_FILES_MAX) f->sockets[result] = faulty_socket_at(result);
  }
  leave(f);
  return result;
}

static int faulty_memory_file(const struct sys *sys, const char *name) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_OPEN, &result) != FAIL) {
    result = f->below->memory_file(f->below, name);
    f->files += result >= 0;
    if (result >= 0 && result < FAULTY_FILES_MAX) f->reserved[result] = INT64_MAX;
  }
  leave(f);
  return result;
}

static int faulty_pipe(const struct sys *sys, int ends[2]) {
  struct faulty *f = self_of(sys);
  int result;
  if (enter(f, FAULTY_SOCKET, &result) != FAIL) result = f->below->pipe(f->below, ends);
  if (result >= 0) f->files += 2;
  leave(f);
  return result;
}

void faulty_calls_fill(struct faulty *f) {
  f->sys = (struct sys){
      .self = f,
      .alloc = faulty_alloc,
      .open = faulty_open,
      .open_below = faulty_open_below,
      .close = faulty_close,
      .read = faulty_read,
      .pread = faulty_pread,
      .write = faulty_write,
      .fsync = faulty_fsync,
      .fdatasync = faulty_fdatasync,
      .truncate = faulty_truncate,
      .reserve = faulty_reserve,
      .seek = faulty_seek,
      .lock = faulty_lock,
      .locked = faulty_locked,
      .rename = faulty_rename,
      .unlink = faulty_unlink,
      .mkdir = faulty_mkdir,
      .rmdir = faulty_rmdir,
      .stat = faulty_stat,
      .fstat = faulty_fstat,
      .list = faulty_list,
      .memory_file = faulty_memory_file,
      .pipe = faulty_pipe,
      .boot = faulty_boot,
      .is_local = f->below->is_local,
      .wall_ms = faulty_wall,
      .mono_ns = faulty_mono,
      .boot_ns = faulty_boot_ns,
      .pause = f->below->pause,
      .random = faulty_random,
      .spawn = faulty_spawn,
      .ended = faulty_ended,
      .kill_group = faulty_kill_group,
      .reap = faulty_reap,
      .socket = faulty_socket,
  };
}
