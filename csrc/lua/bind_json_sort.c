/* bind_json_sort.c: members of an object sorted by the bytes of their names, in place: a list of a
 * large object is as large as the object, and a second one would be, too. Knows entries, no Lua
 * values. Called by bind_json_encode.c. */
#include <stdlib.h>

#include "lua/bind_json_out.h"

enum { BY_INSERTION = 12 }; /* members; fewer are sorted so */

uint64_t encode_prefix(const char *key, size_t length) {
  uint64_t prefix = 0;
  if (length >= 8) {
    memcpy(&prefix, key, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    prefix = __builtin_bswap64(prefix);
#endif
    return prefix;
  }
  for (size_t i = 0; i < length; i++)
    prefix |= (uint64_t)(unsigned char)key[i] << (56 - 8 * i);
  return prefix;
}

static int sort_compare(const void *left, const void *right) {
  const struct entry *a = left, *b = right;
  if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
  size_t shared = a->length < b->length ? a->length : b->length;
  int order = memcmp(a->key, b->key, shared);
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

static inline bool sort_before(const struct entry *a, const struct entry *b) {
  return a->prefix != b->prefix ? a->prefix < b->prefix : sort_compare(a, b) < 0;
}

static void sort_by_insertion(struct entry *entries, size_t count) {
  for (size_t i = 1; i < count; i++) {
    struct entry moving = entries[i];
    size_t at = i;
    for (; at > 0 && sort_before(&moving, &entries[at - 1]); at--)
      entries[at] = entries[at - 1];
    entries[at] = moving;
  }
}

/* The one of three that lies between the others. */
static const struct entry *sort_middle(const struct entry *a, const struct entry *b,
                                       const struct entry *c) {
  if (sort_before(a, b)) return sort_before(b, c) ? b : sort_before(a, c) ? c : a;
  return sort_before(a, c) ? a : sort_before(b, c) ? c : b;
}

/* Puts what is before a member in front of what is behind it; gives how many are in front: at least
 * one, and not all. */
static size_t sort_part(struct entry *entries, size_t count) {
  const struct entry pivot = *sort_middle(&entries[0], &entries[count / 2], &entries[count - 2]);
  size_t low = 0, high = count - 1;
  for (;; low++, high--) {
    while (sort_before(&entries[low], &pivot))
      low++;
    while (sort_before(&pivot, &entries[high]))
      high--;
    if (low >= high) return high + 1;
    struct entry moving = entries[low];
    entries[low] = entries[high];
    entries[high] = moving;
  }
}

void encode_sort(struct entry *entries, size_t count) {
  unsigned parts = 0;
  for (size_t rest = count; rest > 0; rest /= 2)
    parts += 2;
  while (count > BY_INSERTION) {
    if (parts-- == 0) { /* names in an order that is hard to part */
      qsort(entries, count, sizeof *entries, sort_compare);
      return;
    }
    size_t front = sort_part(entries, count);
    if (front <= count / 2) { /* the smaller part first: so few calls are open */
      encode_sort(entries, front);
      entries += front;
      count -= front;
    } else {
      encode_sort(entries + front, count - front);
      count = front;
    }
  }
  sort_by_insertion(entries, count);
}
