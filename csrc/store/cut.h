/* cut.h: moves the torn tail of a segment out of the journal, into a file that stays.
 *
 * The copy is complete (and durable, where asked) before the segment is made shorter. */
#ifndef SKILLRT_STORE_CUT_H
#define SKILLRT_STORE_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sys.h"

/* Cuts `segment` (a path) from `offset` to `size`; the bytes go to "<folder>/journal.cut-<time>",
 * whose name without the folder is written to `name` (128 bytes). */
bool cut_tail(const struct sys *, const char *folder, const char *segment, int64_t offset,
              int64_t size, bool durable, char *name, struct error *);

/* Moves the segments behind `last` out of `folder`, each to "<run>/journal.cut-<time>-<segment>";
 * `*bytes` grows by their sizes. */
bool cut_later(const struct sys *, const char *run, const char *folder, uint32_t last, bool durable,
               uint64_t *bytes, struct error *);

#endif
