/* move.h: moves a run from one kind of store to another; called by store.c only. */
#ifndef SKILLRT_STORE_MOVE_H
#define SKILLRT_STORE_MOVE_H

#include <limits.h>

#include "store/kind.h"

struct move {
  const struct kind *old, *young;
  const char *from, *to; /* URLs */
  char old_at[PATH_MAX], young_at[PATH_MAX];
  const char *const *digests; /* of the blobs that its records name */
  size_t count;
};

/* See store_move. */
bool move_run(const struct sys *, const struct move *, struct error *);

/* Moving a run out of a directory or into one; see kind.h. While it is moved out its journal is
 * named
 * "<run>/journal.leaving", and after that "<run>/journal.moved". */
bool directory_leave(const struct sys *, const char *path, enum leaving, struct error *);
bool directory_send(const struct sys *, const char *path, struct receiver *, struct error *);
bool directory_receive(const struct sys *, const char *path, const char *run_id, struct receiver **,
                       struct error *);

#endif
