/* sse_join.c: one pass over the bytes: what follows is no further than what is written, so that
 * both share them.
 *
 * Most events of a long stream are as the one before but for some characters: that is one
 * comparison of what stands in front of them and one of what stands behind. */
#include "base/sse_join.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TAIL_MAX = 256, FIELD_MAX = 60 };

/* Events that are being joined: the first of them is written, without its tail. */
struct join {
  bool open;
  size_t at, front; /* where it was written, and how much stands in front of the text */
  char tail[TAIL_MAX];
  size_t tail_length;
};

/* Where the text of a JSON string closes that begins at `from`; `end`: nowhere, or it holds what
 * none may. */
static size_t text_end(const char *data, size_t from, size_t end) {
  for (size_t at = from; at < end; at++) {
    if (data[at] == '"') return at;
    if ((unsigned char)data[at] < 0x20) return end;
    if (data[at] == '\\') at++;
  }
  return end;
}

/* Where the event ends that begins at `from`, behind its empty line; `end`: it does not. */
static size_t event_end(const char *data, size_t from, size_t end) {
  for (const char *at = data + from; (at = memchr(at, '\n', (size_t)(data + end - at))); at++)
    if (at + 1 < data + end && at[1] == '\n') return (size_t)(at + 2 - data);
  return end;
}

/* The data line of an event that is nothing else; NULL: it is not so simple. */
static const char *data_line(const char *event, size_t length) {
  const char *line = event, *end = event + length - 2; /* without the two line ends */
  if (length < 2 || memchr(event, '\r', length)) return NULL;
  if (length > 6 && memcmp(event, "event:", 6) == 0) {
    line = memchr(event, '\n', length);
    line++;
  }
  if (end - line < 5 || memcmp(line, "data:", 5) != 0) return NULL;
  return memchr(line, '\n', (size_t)(end - line)) ? NULL : line;
}

/* Begins to join at an event of which one field is a text; false: it has none. */
static bool begin(struct join *join, const char *event, size_t length, char *const *fields,
                  size_t count, size_t *text_stop) {
  const char *line = data_line(event, length);
  for (size_t i = 0; line && i < count; i++) {
    char name[FIELD_MAX + 8];
    size_t rest = length - (size_t)(line - event);
    int size = snprintf(name, sizeof name, "\"%.*s\":\"", FIELD_MAX, fields[i]);
    const char *found = memmem(line, rest, name, (size_t)size);
    if (!found) continue;
    size_t front = (size_t)(found + size - event), stop = text_end(event, front, length);
    if (stop == length || length - stop > TAIL_MAX) continue;
    join->open = true;
    join->front = front;
    join->tail_length = length - stop;
    memcpy(join->tail, event + stop, join->tail_length);
    *text_stop = stop;
    return true;
  }
  return false;
}

/* The length of the text by which the event at `from` continues the joined text; false: it does
 * not. */
static bool goes_on(const struct join *join, const char *data, size_t from, size_t end,
                    size_t *length) {
  if (end - from <= join->front || memcmp(data + from, data + join->at, join->front) != 0)
    return false;
  size_t begins = from + join->front, stop = text_end(data, begins, end);
  if (end - stop < join->tail_length || memcmp(data + stop, join->tail, join->tail_length) != 0)
    return false;
  *length = stop - begins;
  return true;
}

size_t sse_join(char *data, size_t length, char *const *fields, size_t count) {
  struct join join = {.open = false};
  size_t in = 0, out = 0, size;
  while (in < length) {
    if (join.open && goes_on(&join, data, in, length, &size)) {
      memmove(data + out, data + in + join.front, size);
      out += size;
      in += join.front + size + join.tail_length;
      continue;
    }
    if (join.open) {
      memcpy(data + out, join.tail, join.tail_length);
      out += join.tail_length;
      join.open = false;
    }
    size_t stop = event_end(data, in, length), keep = stop - in;
    if (stop > in + 1 && memcmp(data + stop - 2, "\n\n", 2) == 0 &&
        begin(&join, data + in, stop - in, fields, count, &keep))
      join.at = out;
    memmove(data + out, data + in, keep);
    out += keep;
    in = stop;
  }
  if (join.open) {
    memcpy(data + out, join.tail, join.tail_length);
    out += join.tail_length;
  }
  return out;
}

size_t sse_whole(const char *data, size_t length) {
  for (const char *at; (at = length > 1 ? memrchr(data, '\n', length) : NULL);
       length = (size_t)(at - data))
    if (at > data && at[-1] == '\n') return (size_t)(at + 1 - data);
  return 0;
}
