/* reserve.h: disk space taken in advance, so that a run's last words fit on a full disk.
 *
 * Space is allotted behind the end of the segment, in growing pieces, without changing the
 * file's size (tail -f and grep see only lines). Before a batch is written there is room for
 * it and for RESERVE_LAST_WORDS more bytes; a full disk therefore shows up here, before a
 * byte was written. Where the file system cannot allot, a file "<folder>/reserve" of that
 * size is kept, and removed when the last words come. Called by journal.c. */
#ifndef SKILLRT_STORE_RESERVE_H
#define SKILLRT_STORE_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sys.h"

enum { RESERVE_LAST_WORDS = 16 << 10 };

struct reserve {
  int64_t end;  /* of what is allotted in the segment */
  bool by_file; /* the file system cannot allot: the file holds the space */
};

/* Sees to it that `size` bytes behind `offset` of the segment, and the last words, fit. */
bool reserve_ensure(struct reserve *, const struct sys *, int fd, const char *folder,
                    int64_t offset, int64_t size, const char *object, struct error *);
/* Removes the reserve file, if there is one. */
void reserve_release(struct reserve *, const struct sys *, const char *folder);

#endif
