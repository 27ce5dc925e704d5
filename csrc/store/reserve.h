/* reserve.h: disk space taken in advance, so that a run's last words fit on a full disk.
 *
 * Space is allocated after the end of the segment, in growing pieces, without changing the file's
 * size (tail -f and grep see only lines). Before a batch is written there is room for it and for
 * RESERVE_LAST_WORDS more bytes, so that a full disk is noticed here, before a byte was written.
 * Where the file system cannot allocate ahead, a file "<folder>/reserve" of that size takes the
 * space; it is removed before the last words are written. Called by journal.c. */
#ifndef SKILLRT_STORE_RESERVE_H
#define SKILLRT_STORE_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sys.h"

enum { RESERVE_LAST_WORDS = 16 << 10 };

struct reserve {
  int64_t end;  /* where the allocated space of the segment ends */
  bool by_file; /* the file system cannot allocate ahead: the reserve file holds the space */
};

/* Ensures that `size` bytes after `offset` of the segment, and the last words, fit. */
bool reserve_ensure(struct reserve *, const struct sys *, int fd, const char *folder,
                    int64_t offset, int64_t size, const char *object, struct error *);
/* Removes the reserve file, if there is one. */
void reserve_release(struct reserve *, const struct sys *, const char *folder);

#endif
