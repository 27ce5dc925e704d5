/* buffer.h: bytes that grow, up to a maximum set where they are born.
 *
 * All memory comes through struct sys. After a failed append the buffer is unchanged.
 * `data` is always NUL-terminated once anything was appended; NUL bytes inside are fine. */
#ifndef SKILLRT_BASE_BUFFER_H
#define SKILLRT_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/sys.h"

struct span { /* borrowed bytes */
  const char *data;
  size_t length;
};

struct buffer {
  const struct sys *sys;
  char *data; /* NULL while empty and unused */
  size_t length, capacity, maximum;
};

/* `maximum` in bytes; an append beyond it fails with ERROR_LIMIT. */
void buffer_init(struct buffer *, const struct sys *, size_t maximum);
void buffer_clear(struct buffer *); /* frees; usable again */
void buffer_reset(struct buffer *); /* length 0, keeps the memory */

/* Room for `size` more bytes behind `length` (plus a NUL), or NULL with `error` filled. */
char *buffer_room(struct buffer *, size_t size, struct error *);
bool buffer_append(struct buffer *, const void *from, size_t size, struct error *);
bool buffer_string(struct buffer *, const char *text, struct error *);
bool buffer_byte(struct buffer *, char byte, struct error *);
bool buffer_format(struct buffer *, struct error *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Removes the first `size` bytes. */
void buffer_drop(struct buffer *, size_t size);
struct span buffer_span(const struct buffer *);
/* Appends a whole regular file; one that does not exist is ERROR_MISSING. With `any_kind` also what
 * a pipe or a device gives until its end; a named pipe without a writer is empty. */
bool buffer_read_file(struct buffer *, const char *path, bool any_kind, struct error *);

/* The same from where an open file stands; `path` is for messages. */
bool buffer_read_descriptor(struct buffer *, int fd, const char *path, struct error *);

#endif
