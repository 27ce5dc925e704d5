/* view.h: files that people read, written again from the journal at any time.
 *
 * Replaced at once by rename, never fsynced. state.json alone carries a digest, so that an
 * edit by hand is noticed without reading JSON: the writer hands the bytes with 64 zeros in
 *
 *   {
 *     "_skillrt": {
 *       "digest": "0000000000000000000000000000000000000000000000000000000000000000",
 *       "seq": 12
 *     },
 *
 * and the store puts the SHA-256 of exactly these bytes in their place. To check: put the
 * zeros back, hash, compare. The object is found as the first `"_skillrt": {` that begins a
 * line with two spaces, else as the first at all; `digest` and `seq` stand before its `}`. */
#ifndef SKILLRT_STORE_VIEW_H
#define SKILLRT_STORE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* Relative, no empty, "." or ".." part, no control bytes, none of the store's own files. */
bool view_name_valid(const char *name);

/* Writes the view into the run's folder. `digest` (65 bytes) is that of the last state.json
 * written, or "": the same content is not written again. */
bool view_write(const struct sys *, const char *folder, const char *name, struct span content,
                char *digest, struct error *);

/* Removes what a writer left that died before its file got its name: of views, blobs, and of the
 * files of steps. */
void view_sweep(const struct sys *, const char *folder);

struct view_state {
  bool missing; /* no state.json, or an empty one */
  bool torn;    /* its end is missing: what a power cut leaves of an unsynced file */
  bool edited;  /* the digest does not match, or is not there */
  bool foreign; /* names no "_skillrt": no run wrote it */
  uint64_t seq; /* where it is neither missing, torn nor edited */
};

/* Looks at the run's state.json. False only where it could not be read. */
bool view_check(const struct sys *, const char *folder, struct view_state *, struct error *);

#endif
