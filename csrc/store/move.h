/* move.h: moves a run from one kind of store to another; called by store.c only. */
#ifndef SKILLRT_STORE_MOVE_H
#define SKILLRT_STORE_MOVE_H

#include <limits.h>

#include "store/kind.h"

struct move {
  const struct kind *old, *young;
  const char *from, *to; /* URLs */
  char old_at[PATH_MAX], young_at[PATH_MAX];
  const char *known_as;       /* the new place, for the old one */
  const char *const *digests; /* of the blobs that its records name */
  size_t count;
};

/* See store_move and store_move_settle. */
bool move_run(const struct sys *, const struct move *, struct error *);
bool move_settle(const struct sys *, const struct move *, bool stays, bool *arrived,
                 struct error *);

/* Moving a run out of a directory or into one; see kind.h. While it is moved out its journal is
 * named "<run>/journal.leaving", and after that "<run>/journal.moved"; "<run>/journal.to" is a line
 * with its id and its new place. */
bool directory_leave(const struct sys *, const char *path, enum leaving, const struct departure *,
                     struct error *);
bool directory_departed(const struct sys *, const char *path, struct departure *, struct error *);
/* False, with ERROR_EXISTS, where a run is leaving the directory: no other one may take its place.
 */
bool directory_may_hold(const struct sys *, const char *path, struct error *);
bool directory_send(const struct sys *, const char *path, struct receiver *, struct error *);
bool directory_receive(const struct sys *, const char *path, const char *run_id, struct receiver **,
                       struct error *);

#endif
