/* retry_after.h: what a server asks for in Retry-After: seconds or a date.
 *
 * Pure: bytes and a clock reading in, milliseconds out. Knows no transport; http calls it. */
#ifndef SKILLRT_TRANSPORT_RETRY_AFTER_H
#define SKILLRT_TRANSPORT_RETRY_AFTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* A usage limit of a week comes back within the first; more is a mistake, and means the second. */
enum { RETRY_AFTER_MAX_MS = 8 * 86400 * 1000, RETRY_AFTER_MISTAKEN_MS = 3600 * 1000 };

/* How long to wait, in ms, 0 .. RETRY_AFTER_MAX_MS; -1 if `value` is neither seconds nor a date.
 * A date is measured from `date` (the reply's Date header) when that is one, so that a wrong
 * clock on either side does no harm; else from `now_ms` (UTC since the epoch). */
int64_t retry_after_ms(struct span value, struct span date, int64_t now_ms);

/* An HTTP-date in any of its three forms (RFC 9110, 5.6.7) to ms since the epoch, 1970 on.
 * `now_ms` gives a two-digit year its century: it is never more than 50 years ahead. */
bool retry_after_date(struct span text, int64_t now_ms, int64_t *ms);

#endif
