/* blob.h: values too large for a journal line, each in a file named by its SHA-256.
 *
 * Written once, never changed; durable before a record may name them (a blob put while
 * durability was `process` becomes durable only when it is put again). */
#ifndef SKILLRT_STORE_BLOB_H
#define SKILLRT_STORE_BLOB_H

#include <stdbool.h>

#include "base/buffer.h"

bool blob_digest_valid(const char *digest); /* 64 lower-case hex digits */
/* Whether `value` has this digest; ERROR_INVALID where not. */
bool blob_check(const char *digest, struct span value, struct error *);
bool blob_put(const struct sys *, const char *folder, const char *digest, struct span value,
              bool durable, struct error *);
/* Appends the value to `to`. Missing or changed: ERROR_CORRUPT. */
bool blob_get(const struct sys *, const char *folder, const char *digest, struct buffer *to,
              struct error *);

#endif
