/* unpack.c: see unpack.h; the form is told in csrc/pack.lua. Trusts no length it reads. */
#include "base/unpack.h"

#include <string.h>

enum { LEAST = 4, MORE = 15, STILL_MORE = 255 };

struct packed {
  const unsigned char *at, *end;
};

/* The number whose first part is `number`; false when the bytes end within it. */
static bool read_rest(struct packed *from, size_t *number) {
  if (*number < MORE) return true;
  unsigned char more;
  do {
    if (from->at == from->end) return false;
    more = *from->at++;
    *number += more;
  } while (more == STILL_MORE);
  return true;
}

/* Copies `length` bytes from `distance` back; the two may overlap, which repeats a pattern. */
static bool repeat(struct packed *from, size_t length, char *to, size_t size, size_t *done) {
  if (from->end - from->at < 2) return false;
  size_t distance = from->at[0] | (size_t)from->at[1] << 8;
  from->at += 2;
  if (!read_rest(from, &length)) return false;
  length += LEAST;
  if (distance == 0 || distance > *done || length > size - *done) return false;
  if (distance >= length) {
    memcpy(to + *done, to + *done - distance, length);
  } else {
    for (size_t i = 0; i < length; i++)
      to[*done + i] = to[*done + i - distance];
  }
  *done += length;
  return true;
}

bool unpack_bytes(const char *packed, size_t packed_size, char *to, size_t size) {
  struct packed from = {(const unsigned char *)packed, (const unsigned char *)packed + packed_size};
  size_t done = 0;
  while (from.at < from.end) {
    unsigned char head = *from.at++;
    size_t literals = head >> 4;
    if (!read_rest(&from, &literals)) return false;
    if (literals > (size_t)(from.end - from.at) || literals > size - done) return false;
    memcpy(to + done, from.at, literals);
    from.at += literals;
    done += literals;
    if (from.at < from.end && !repeat(&from, head & MORE, to, size, &done)) return false;
  }
  return done == size;
}
