/* buffer.c: growing bytes with a maximum. Memory only through struct sys.
 * Knows nothing of what the bytes mean. Called by every layer. */
#include "base/buffer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void buffer_init(struct buffer *b, const struct sys *sys, size_t maximum) {
  assert(sys);
  *b = (struct buffer){.sys = sys, .maximum = maximum};
}

void buffer_clear(struct buffer *b) {
  if (b->data) sys_free(b->sys, b->data, b->capacity);
  b->data = NULL;
  b->length = b->capacity = 0;
}

void buffer_reset(struct buffer *b) {
  b->length = 0;
  if (b->data) b->data[0] = '\0';
}

char *buffer_room(struct buffer *b, size_t size, struct error *e) {
  assert(b->length <= b->maximum);
  if (size > b->maximum - b->length || size > SIZE_MAX - 1 - b->length) {
    error_set(e, ERROR_LIMIT, "buffer: more than %zu bytes", b->maximum);
    return NULL;
  }
  size_t needed = b->length + size + 1;
  if (needed > b->capacity) {
    size_t capacity = b->capacity ? b->capacity : 64;
    while (capacity < needed)
      capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    if (capacity - 1 > b->maximum) /* never below `needed`, which fits the maximum */
      capacity = b->maximum + 1;
    char *data = b->sys->alloc(b->sys, b->data, b->capacity, capacity);
    if (!data) {
      error_set(e, ERROR_MEMORY, "buffer: out of memory at %zu bytes", capacity);
      return NULL;
    }
    b->data = data;
    b->capacity = capacity;
  }
  b->data[b->length] = '\0';
  return b->data + b->length;
}

bool buffer_append(struct buffer *b, const void *from, size_t size, struct error *e) {
  char *to = buffer_room(b, size, e);
  if (!to) return false;
  if (size) memcpy(to, from, size);
  to[size] = '\0';
  b->length += size;
  return true;
}

bool buffer_string(struct buffer *b, const char *text, struct error *e) {
  return buffer_append(b, text, strlen(text), e);
}

bool buffer_byte(struct buffer *b, char byte, struct error *e) {
  return buffer_append(b, &byte, 1, e);
}

bool buffer_format(struct buffer *b, struct error *e, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int wanted = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (wanted < 0) return error_set(e, ERROR_INVALID, "buffer: cannot format \"%s\"", format);
  char *to = buffer_room(b, (size_t)wanted, e);
  if (!to) return false;
  va_start(arguments, format);
  vsnprintf(to, (size_t)wanted + 1, format, arguments);
  va_end(arguments);
  b->length += (size_t)wanted;
  return true;
}

void buffer_drop(struct buffer *b, size_t size) {
  assert(size <= b->length);
  if (size == 0) return;
  memmove(b->data, b->data + size, b->length - size + 1);
  b->length -= size;
}

struct span buffer_span(const struct buffer *b) {
  return (struct span){.data = b->data ? b->data : "", .length = b->length};
}

/* The buffer is full: does the file have another byte? */
static bool read_is_over(const struct buffer *to, int fd, const char *path, struct error *error) {
  char more;
  ssize_t count;
  do
    count = to->sys->read(to->sys, fd, &more, 1);
  while (count == -EINTR);
  if (count < 0) return error_system(error, (int)-count, "%s", path);
  if (count == 0) return true;
  return error_set(error, ERROR_LIMIT, "%s: more than %zu bytes", path, to->maximum);
}

bool buffer_read_descriptor(struct buffer *to, int fd, const char *path, struct error *error) {
  const struct sys *sys = to->sys;
  struct sys_stat info;
  int failed = sys->fstat(sys, fd, &info);
  if (failed < 0) return error_system(error, -failed, "%s", path);
  if (info.kind == SYS_DIRECTORY) return error_system(error, EISDIR, "%s", path);
  if (info.kind == SYS_OTHER) fcntl(fd, F_SETFL, O_RDONLY); /* to wait for what is written */
  for (;;) {
    size_t piece = info.size > 0 && info.size < (1 << 20) ? (size_t)info.size + 1 : 65536;
    if (piece > to->maximum - to->length) piece = to->maximum - to->length;
    if (piece == 0) return read_is_over(to, fd, path, error);
    char *room = buffer_room(to, piece, error);
    if (!room) return error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    ssize_t count = sys->read(sys, fd, room, piece);
    if (count == -EINTR) continue;
    if (count < 0) return error_system(error, (int)-count, "%s", path);
    if (count == 0) return true;
    to->length += (size_t)count;
    to->data[to->length] = 0;
  }
}

bool buffer_read_file(struct buffer *to, const char *path, bool any_kind, struct error *error) {
  const struct sys *sys = to->sys;
  struct sys_stat info;
  int fd = sys_open(sys, path, O_RDONLY | O_NONBLOCK, 0); /* to wait for no writer */
  if (fd < 0) {
    error_system(error, -fd, "%s", path);
    return error_missing(error, fd);
  }
  bool ok = !any_kind && sys->fstat(sys, fd, &info) == 0 && info.kind == SYS_OTHER
                ? error_set(error, ERROR_INVALID, "%s: not a regular file", path)
                : buffer_read_descriptor(to, fd, path, error);
  sys->close(sys, fd);
  return ok;
}
