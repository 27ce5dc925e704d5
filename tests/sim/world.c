/* world.c: see world.h. */
#include "sim/world.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/database.h"
#include "sim/fleet.h"
#include "sim/image.h"

struct world *world;
struct drawn *drawn;
jmp_buf world_death;
static struct sys below, above; /* the disk as it is; and with harm, time and chance */

/* ---- chance ---- */

static uint64_t mixed(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

uint64_t world_draw(uint64_t n) {
  world->chance += 0x9e3779b97f4a7c15u;
  return n ? mixed(world->chance) % n : 0;
}

bool world_one_in(uint64_t n) {
  return world_draw(n) == 0;
}

uint64_t world_draw_for(uint64_t n, const char *format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  uint64_t x = world->fixed;
  for (const char *c = text; *c; c++)
    x = mixed(x ^ (unsigned char)*c) + 0x9e3779b97f4a7c15u;
  return n ? mixed(x) % n : 0;
}

bool world_leaves_out(const char *format, ...) {
  if (drawn->out_count == 0 && !drawn->is_listed) return false;
  char name[LABEL_MAX];
  va_list list;
  va_start(list, format);
  vsnprintf(name, sizeof name, format, list);
  va_end(list);
  for (size_t i = 0; i < drawn->out_count; i++)
    if (strcmp(drawn->out[i], name) == 0) return true;
  if (!drawn->is_listed) return false;
  for (size_t i = 0; i < drawn->seen_count; i++)
    if (strcmp(drawn->seen[i], name) == 0) return false;
  if (drawn->seen_count < SEEN_MAX) memcpy(drawn->seen[drawn->seen_count++], name, LABEL_MAX);
  return false;
}

void world_set_clock(int64_t *clock_ms, int64_t to_ms) {
  enum { RECORDED_MS = 1000 }; /* lua/skillrt/run/journal.lua */
  int64_t by = to_ms - *clock_ms;
  if (by <= RECORDED_MS && by >= -RECORDED_MS) world->unnoticed_ms += by < 0 ? -by : by;
  *clock_ms = to_ms;
}

_Noreturn void world_die(int how) {
  if (fleet_process()) fleet_give_up();
  longjmp(world_death, how);
}

/* ---- what happened ---- */

void world_trace(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    world->trace = mixed(world->trace ^ (unsigned char)bytes[i]);
}

void world_note(const char *format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  world_trace(text, strlen(text));
  if (world->shows)
    fprintf(stderr, "%10.3f %u %s\n", (double)world->now_ns / 1e9, world->episode, text);
}

void world_wrong(const char *format, ...) {
  if (world->wrong[0]) return;
  va_list list;
  va_start(list, format);
  vsnprintf(world->wrong, sizeof world->wrong, format, list);
  va_end(list);
  world_note("WRONG %s", world->wrong);
}

/* ---- the witness ---- */

void world_allow(const char *label) {
  if (world->allowance_count == sizeof world->allowances / LABEL_MAX) return;
  snprintf(world->allowances[world->allowance_count++], LABEL_MAX, "%s", label);
  world_note("allowed again: %s", label);
}

static bool take_allowance(const char *label) {
  for (size_t i = 0; i < world->allowance_count; i++)
    if (strcmp(world->allowances[i], label) == 0) {
      memmove(world->allowances[i], world->allowances[i + 1],
              (--world->allowance_count - i) * LABEL_MAX);
      return true;
    }
  return false;
}

static bool acted_before(const char *label) {
  for (size_t i = 0; i < world->sent_count; i++)
    if (strcmp(world->sent[i].label, label) == 0 && world->sent[i].fate != FATE_REFUSES)
      return true;
  return false;
}

static unsigned times(const char *label) {
  unsigned count = 0;
  for (size_t i = 0; i < world->sent_count; i++)
    count += strcmp(world->sent[i].label, label) == 0;
  return count;
}

static void end(struct sent *one) {
  if (one->ended) return;
  one->ended = ++world->order;
  one->ended_ns = world->now_ns;
}

static void forget(struct sent *one) {
  one->forgotten = true;
  if (!one->idempotent) world_allow(one->label);
}

void world_forgotten(uint64_t order) {
  for (size_t i = 0; i < world->sent_count; i++)
    if (world->sent[i].began > order) forget(&world->sent[i]);
}

/* Whatever the worker that had the run before waits for, it has lost. False: see database_sends. */
static bool sends_from_fleet(const char *label) {
  bool known = database_sends(label);
  for (size_t i = 0; i < world->sent_count; i++)
    if (world->sent[i].episode != world->episode) end(&world->sent[i]);
  return known;
}

static enum fate draw_fate(const char *label) {
  unsigned before = times(label);
  uint64_t n = world_draw_for(100, "fate %s %u", label, before);
  size_t size = strlen(label);
  bool retried = size > 2 && strcmp(label + size - 2, ".r") == 0; /* see skills.lua */
  if (!world->rough && (before > 0 || n >= 12 || !retried)) return FATE_ANSWERS;
  if (world->rough && n < 60) return FATE_ANSWERS;
  if (world_leaves_out("fate:%s:%u", label, before)) return FATE_ANSWERS;
  if (!world->rough) return FATE_REFUSES;
  return n < 75   ? FATE_REFUSES
         : n < 83 ? FATE_FAILS
         : n < 91 ? FATE_LOST
         : n < 95 ? FATE_SILENT
                  : FATE_RUBBISH;
}

enum fate world_sent(const char *label, const char *key, bool idempotent) {
  if (world->unsynced == world->episode + 1)
    world_wrong("%s was sent behind a sync that failed", label);
  bool known = !world->database || sends_from_fleet(label);
  enum fate fate = draw_fate(label);
  bool again = acted_before(label) && !idempotent && fate != FATE_REFUSES,
       allowed = again && take_allowance(label);
  if (again && !allowed && known)
    world_wrong("%s was sent again (key %s): it may have acted, and nobody allowed it", label, key);
  for (size_t i = 0; i < world->sent_count; i++)
    if (key[0] && strcmp(world->sent[i].key, key) == 0 && strcmp(world->sent[i].label, label) != 0)
      world_wrong("%s was sent with the key of %s: %s", label, world->sent[i].label, key);
  world->sent = arena_realloc(world->sent, (world->sent_count + 1) * sizeof *world->sent);
  struct sent *one = &world->sent[world->sent_count++];
  *one = (struct sent){.fate = fate,
                       .idempotent = idempotent,
                       .allowed = allowed,
                       .episode = world->episode,
                       .began = ++world->order,
                       .began_ns = world->now_ns};
  snprintf(one->label, sizeof one->label, "%s", label);
  snprintf(one->key, sizeof one->key, "%s", key);
  if (!known) forget(one);
  world_note("sent %s (%s) fate %d", label, key, (int)fate);
  return fate;
}

void world_over(const char *label) {
  for (size_t i = world->sent_count; i-- > 0;)
    if (strcmp(world->sent[i].label, label) == 0) return end(&world->sent[i]);
}

void world_episode_over(unsigned episode) {
  for (size_t i = 0; i < world->sent_count; i++)
    if (world->sent[i].episode == episode) end(&world->sent[i]);
}

void world_all_over(void) {
  for (size_t i = 0; i < world->sent_count; i++)
    end(&world->sent[i]);
}

/* ---- the disk, with harm ---- */

/* 0: go on; else what the call gives. */
static int harmed(bool *half, bool wants_room) {
  struct harm *h = &world->harm;
  if (world->outside) return 0;
  uint64_t n = ++world->calls;
  if (h->kill_at == n) {
    if (h->halfway && half)
      *half = true;
    else {
      world_note("killed at call %lu", (unsigned long)n);
      world_die(DIES_KILLED);
    }
  }
  if (h->fail_at && n >= h->fail_at && n < h->fail_at + h->fail_for && (wants_room || !h->full)) {
    world_note("call %lu fails with %d", (unsigned long)n, h->number);
    return -h->number;
  }
  return 0;
}

#define HARMED                                                                                     \
  int harm = harmed(NULL, false);                                                                  \
  if (harm) return harm
#define HARMED_ROOM                                                                                \
  int harm = harmed(NULL, true);                                                                   \
  if (harm) return harm
/* Of a call that changes nothing: no want of room makes it fail. */
#define HARMED_LOOK                                                                                \
  if (harmed(NULL, false)) return -EIO
#define BELOW (&below)

static int w_open(const struct sys *sys, const char *path, int flags, unsigned mode) {
  (void)sys;
  if (flags & O_CREAT) {
    HARMED_ROOM;
  } else {
    HARMED_LOOK;
  }
  return below.open(BELOW, path, flags, mode);
}
static int w_open_below(const struct sys *sys, int folder, const char *name, int flags) {
  (void)sys;
  HARMED_LOOK;
  return below.open_below(BELOW, folder, name, flags);
}
static int w_close(const struct sys *sys, int fd) {
  (void)sys;
  int harm = harmed(NULL, false); /* the descriptor is gone all the same */
  int closed = below.close(BELOW, fd);
  return harm ? -EIO : closed;
}
static ssize_t w_read(const struct sys *sys, int fd, void *to, size_t size) {
  (void)sys;
  HARMED_LOOK;
  return below.read(BELOW, fd, to, size);
}
static ssize_t w_pread(const struct sys *sys, int fd, void *to, size_t size, int64_t offset) {
  (void)sys;
  HARMED_LOOK;
  return below.pread(BELOW, fd, to, size, offset);
}
static ssize_t w_write(const struct sys *sys, int fd, const void *from, size_t size) {
  (void)sys;
  bool half = false;
  int harm = harmed(&half, true);
  if (harm) return harm;
  if (half) {
    below.write(BELOW, fd, from, size / 2);
    world_note("killed halfway through a write");
    world_die(DIES_KILLED);
  }
  return below.write(BELOW, fd, from, size);
}
static int w_fsync(const struct sys *sys, int fd) {
  (void)sys;
  HARMED;
  world->now_ns += 50000;
  return below.fsync(BELOW, fd);
}
static int w_fdatasync(const struct sys *sys, int fd) {
  bool harm = !world->outside && ++world->syncs == world->harm.sync_at;
  if (harm && world->harm.dies) {
    world_note("killed at a sync");
    world_die(DIES_KILLED);
  }
  int failed = harm ? -EIO : w_fsync(sys, fd);
  if (failed < 0 && failed != -EINTR) world->unsynced = world->episode + 1;
  return failed;
}
static int w_truncate(const struct sys *sys, int fd, int64_t size) {
  (void)sys;
  HARMED;
  return below.truncate(BELOW, fd, size);
}
static int w_reserve(const struct sys *sys, int fd, int64_t offset, int64_t size) {
  (void)sys;
  HARMED_ROOM;
  return below.reserve(BELOW, fd, offset, size);
}
static int64_t w_seek(const struct sys *sys, int fd, int64_t offset, int whence) {
  (void)sys;
  HARMED_LOOK;
  return below.seek(BELOW, fd, offset, whence);
}
static int w_lock(const struct sys *sys, int fd) {
  (void)sys;
  HARMED_LOOK;
  return below.lock(BELOW, fd);
}
static int w_locked(const struct sys *sys, int fd) {
  (void)sys;
  HARMED_LOOK;
  return below.locked(BELOW, fd);
}
static int w_rename(const struct sys *sys, const char *from, const char *to) {
  (void)sys;
  HARMED;
  return below.rename(BELOW, from, to);
}
static int w_unlink(const struct sys *sys, const char *path) {
  (void)sys;
  HARMED;
  return below.unlink(BELOW, path);
}
static int w_mkdir(const struct sys *sys, const char *path, unsigned mode) {
  (void)sys;
  HARMED_ROOM;
  return below.mkdir(BELOW, path, mode);
}
static int w_rmdir(const struct sys *sys, const char *path) {
  (void)sys;
  HARMED;
  return below.rmdir(BELOW, path);
}
static int w_stat(const struct sys *sys, const char *path, struct sys_stat *to) {
  (void)sys;
  HARMED_LOOK;
  return below.stat(BELOW, path, to);
}
static int w_fstat(const struct sys *sys, int fd, struct sys_stat *to) {
  (void)sys;
  HARMED_LOOK;
  return below.fstat(BELOW, fd, to);
}
static int w_list(const struct sys *sys, const char *path,
                  bool (*each)(void *, const char *, enum sys_kind), void *data) {
  (void)sys;
  HARMED_LOOK;
  return below.list(BELOW, path, each, data);
}
static int w_boot(const struct sys *sys, char to[SYS_BOOT]) {
  (void)sys;
  return below.boot(BELOW, to);
}
static int64_t w_wall(const struct sys *sys) {
  (void)sys;
  return world->wall_ms + fleet_wall_ms() + world->now_ns / 1000000;
}
static int64_t w_mono(const struct sys *sys) {
  (void)sys;
  return world->now_ns += 1000;
}
static int64_t w_boot_ns(const struct sys *sys) {
  (void)sys;
  return fleet_boot_ns();
}
static void w_pause(const struct sys *sys, int ms) {
  (void)sys;
  fleet_sleep((int64_t)ms * 1000000);
}
static int w_leash(const struct sys *sys, int64_t until_ns) {
  (void)sys;
  if (until_ns > 0) database_leash(fleet_time_of(until_ns));
  return 0;
}
static int w_random(const struct sys *sys, void *to, size_t size) {
  (void)sys;
  for (size_t i = 0; i < size; i++)
    ((unsigned char *)to)[i] = (unsigned char)world_draw(256);
  return 0;
}
static int w_none(const struct sys *sys, const struct sys_spawn *what, pid_t *pid, int *ended) {
  (void)sys, (void)what, (void)pid, (void)ended;
  return -ENOSYS;
}

static void *w_alloc(const struct sys *sys, void *block, size_t old_size, size_t new_size) {
  (void)sys;
  return image_alloc(block, old_size, new_size);
}

const struct sys *world_sys(void) {
  below = *ram_disk_sys(world->disk);
  above = below;
  above.self = NULL;
  above.alloc = w_alloc;
  above.open = w_open;
  above.open_below = w_open_below;
  above.close = w_close;
  above.read = w_read;
  above.pread = w_pread;
  above.write = w_write;
  above.fsync = w_fsync;
  above.fdatasync = w_fdatasync;
  above.truncate = w_truncate;
  above.reserve = w_reserve;
  above.seek = w_seek;
  above.lock = w_lock;
  above.locked = w_locked;
  above.rename = w_rename;
  above.unlink = w_unlink;
  above.mkdir = w_mkdir;
  above.rmdir = w_rmdir;
  above.stat = w_stat;
  above.fstat = w_fstat;
  above.list = w_list;
  above.boot = w_boot;
  above.wall_ms = w_wall;
  above.mono_ns = w_mono;
  above.random = w_random;
  above.spawn = w_none;
  if (world->database) {
    above.boot_ns = w_boot_ns;
    above.pause = w_pause;
    above.leash = w_leash;
  }
  return &above;
}

void world_begin(uint64_t seed, bool rough, uint64_t chance) {
  bool shows = world && world->shows;
  arena_reset();
  world = arena_calloc(1, sizeof *world);
  world->shows = shows;
  world->chance = world->fixed = mixed(seed) ^ mixed(chance + 1);
  world->rough = rough;
  world->wall_ms = 1700000000000;
  world->disk = ram_disk_new();
}
