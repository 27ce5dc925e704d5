/* arena.c: see arena.h. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/arena.h"

enum { ALIGN = 16 };

static struct {
  char *bytes;
  size_t *used; /* in the arena itself: children move it on for all */
  size_t size;
} arena;

void arena_open(size_t size) {
  arena.bytes =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert(arena.bytes != MAP_FAILED);
  arena.size = size;
  arena.used = (size_t *)(void *)arena.bytes;
  *arena.used = ALIGN;
}

void arena_reset(void) {
  memset(arena.bytes + ALIGN, 0, *arena.used - ALIGN);
  *arena.used = ALIGN;
}

void *arena_calloc(size_t count, size_t size) {
  size_t whole = (count * size + 2 * ALIGN - 1) / ALIGN * ALIGN;
  assert(*arena.used + whole <= arena.size && "the world is too large for its arena");
  char *at = arena.bytes + *arena.used;
  *arena.used += whole;
  *(size_t *)(void *)at = count * size;
  return at + ALIGN;
}

void *arena_realloc(void *block, size_t size) {
  size_t old = block ? *(size_t *)(void *)((char *)block - ALIGN) : 0;
  if (block && size <= old) return block;
  size_t room = 64; /* a file that grows by a record at a time is not copied each time */
  while (room < size)
    room *= 2;
  void *to = arena_calloc(1, room);
  if (block) memcpy(to, block, old);
  return to;
}

void arena_free(void *block) {
  (void)block; /* with the point */
}
