/* faulty_sys.h: a struct sys around another one that counts, fails, kills and cuts the power.
 *
 * For tests of the store, the engine and whole runs. One plan per kind of harm at a time; all
 * counting begins at faulty_reset (or faulty_new), calls are numbered from 1. Callable from
 * any thread. close and the giving back of memory always really happen, so that nothing of
 * the test's own leaks.
 *
 *   struct faulty *f = faulty_new(sys_real());
 *   faulty_kill(f, FAULTY_DISK, 7, false);  // dies at its 7th call that changes the disk
 *   ... run with faulty_sys(f); every call from there on gives -FAULTY_KILLED ...
 *   faulty_free(f); */
#ifndef SKILLRT_TESTS_FAULTY_SYS_H
#define SKILLRT_TESTS_FAULTY_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"

enum faulty_call {
  FAULTY_ALLOC, /* giving memory back is not counted */
  FAULTY_OPEN,
  FAULTY_READ, /* read and pread */
  FAULTY_WRITE,
  FAULTY_FSYNC,
  FAULTY_FDATASYNC,
  FAULTY_TRUNCATE,
  FAULTY_RESERVE,
  FAULTY_LOCK,
  FAULTY_RENAME,
  FAULTY_UNLINK,
  FAULTY_MKDIR, /* mkdir and rmdir */
  FAULTY_STAT,  /* stat, fstat, seek */
  FAULTY_LIST,
  FAULTY_SPAWN, /* spawn, kill_group, reap */
  FAULTY_SOCKET,
  FAULTY_RANDOM,
  FAULTY_CALLS
};

#define FAULTY_BIT(call) (1u << (call))
/* Calls that change what is on the disk, or promise to (open may create). */
#define FAULTY_DISK                                                                                \
  (FAULTY_BIT(FAULTY_OPEN) | FAULTY_BIT(FAULTY_WRITE) | FAULTY_BIT(FAULTY_FSYNC) |                 \
   FAULTY_BIT(FAULTY_FDATASYNC) | FAULTY_BIT(FAULTY_TRUNCATE) | FAULTY_BIT(FAULTY_RESERVE) |       \
   FAULTY_BIT(FAULTY_RENAME) | FAULTY_BIT(FAULTY_UNLINK) | FAULTY_BIT(FAULTY_MKDIR))
/* Every call to the file system. */
#define FAULTY_FILES                                                                               \
  (FAULTY_DISK | FAULTY_BIT(FAULTY_READ) | FAULTY_BIT(FAULTY_LOCK) | FAULTY_BIT(FAULTY_STAT) |     \
   FAULTY_BIT(FAULTY_LIST))

enum { FAULTY_KILLED = 108 /* ESHUTDOWN: the errno of all calls after a kill */ };

enum faulty_how {
  FAULTY_ONCE, /* the n-th call fails, with nothing done */
  FAULTY_FROM, /* all from the n-th on */
  FAULTY_SHORT /* the n-th, where it is a write: half of its bytes (at least 1) are written and
                  counted; other calls work */
};

struct faulty;

struct faulty *faulty_new(const struct sys *below); /* aborts where memory is out */
void faulty_free(struct faulty *);                  /* NULL is fine */
const struct sys *faulty_sys(struct faulty *);

/* Forgets all plans (and a kill), counts from 0 again; what is outstanding stays. */
void faulty_reset(struct faulty *);
/* Calls so far of the kinds in `mask`. */
uint64_t faulty_count(const struct faulty *, unsigned mask);

/* The n-th call of the kinds in `mask` gives -number. */
void faulty_fail(struct faulty *, unsigned mask, uint64_t n, int number, enum faulty_how);
/* The n-th and, with `twice`, the next allocation fails; with `from` all later ones too. */
void faulty_fail_alloc(struct faulty *, uint64_t n, bool twice, bool from);
/* As if the process died at the n-th call of the kinds in `mask`: it and all later calls have
 * no effect and give -FAULTY_KILLED (a call to wall_ms, mono_ns or alloc still works, so that
 * the code under test can unwind). With `halfway`, an n-th call that is a write still writes
 * half of its bytes. */
void faulty_kill(struct faulty *, unsigned mask, uint64_t n, bool halfway);
bool faulty_killed(const struct faulty *);
/* The disk is full from the n-th disk call on: nothing is reserved, no folder or file is
 * made, and a write gets only bytes within what was reserved or written before. */
void faulty_disk_full(struct faulty *, uint64_t n);
/* The time that wall_ms tells, and how far it goes on per call; 0, 0: the real one. */
void faulty_clock(struct faulty *, int64_t wall_ms, int64_t step_ms);
/* It is so much later, or earlier. */
void faulty_clock_skip(struct faulty *, int64_t ms);

size_t faulty_outstanding(const struct faulty *); /* bytes allocated and not given back */
size_t faulty_allocations(const struct faulty *); /* blocks of them */
int faulty_open_files(const struct faulty *);     /* descriptors opened and not closed */

/* Power cuts. From faulty_power on, what is durable below the folder `root` is remembered:
 * at first everything there; then a file's bytes when it is synced, a folder's names when it
 * is synced. faulty_power_cut (after a kill, all descriptors closed) puts `root` back to what
 * would be found after the cut: */
enum faulty_cut {
  FAULTY_STRICT, /* only what was synced */
  FAULTY_TORN,   /* and, chosen by the seed: some of the latest names of each folder in the order
                    they were made, a piece of the bytes appended since a file's last sync, in
                    some of them a sector of zeros */
  FAULTY_ANY     /* and any of the latest names of each folder, any of the sectors written since a
                    file's last sync, any length between: what a disk without order may leave */
};
void faulty_power(struct faulty *, const char *root); /* a cut begins another boot */
void faulty_power_cut(struct faulty *, enum faulty_cut, uint64_t seed);

#endif
