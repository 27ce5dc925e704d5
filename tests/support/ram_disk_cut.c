/* ram_disk_cut.c: what a power cut leaves of a disk in memory, see ram_disk.h.
 *
 * Of each folder any of the changes since its last sync, of each file any of the sectors written
 * since its last sync, and any length between: what a disk without order may leave. */
#include <stdlib.h>
#include <string.h>

#include "support/ram_disk_inside.h"

enum { SECTOR = 512 };

static uint64_t draw(uint64_t *seed) { /* splitmix64 */
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Each sector as it was synced or as it was last. */
static void leave_bytes(const struct ram_node *node, struct ram_node *to, uint64_t *seed) {
  size_t before = node->synced_length, after = node->length;
  size_t least = before < after ? before : after, most = before < after ? after : before;
  to->bytes = ram_grow(NULL, most);
  to->room = most;
  memset(to->bytes, 0, most);
  for (size_t at = 0; at < most; at += SECTOR) {
    bool latest = draw(seed) % 2;
    size_t have = latest ? after : before, end = at + SECTOR < have ? at + SECTOR : have;
    if (at < end) memcpy(to->bytes + at, (latest ? node->bytes : node->synced) + at, end - at);
  }
  uint64_t choice = draw(seed) % 4;
  to->length = choice == 0 ? before : choice == 1 ? after : least + draw(seed) % (most - least + 1);
}

static void leave_synced(const struct ram_node *node, struct ram_node *to) {
  to->bytes = ram_grow(NULL, node->synced_length);
  to->room = to->length = node->synced_length;
  if (to->length) memcpy(to->bytes, node->synced, to->length);
}

/* A node of the other disk; all that is there is durable there. `seed` NULL: only what was synced.
 */
static struct ram_node *leave(struct ram_disk *d, const struct ram_node *node, uint64_t *seed) {
  struct ram_node *to = ram_node_new(d, node->folder);
  if (!node->folder) {
    if (seed)
      leave_bytes(node, to, seed);
    else
      leave_synced(node, to);
    to->synced = ram_grow(NULL, to->length);
    to->synced_length = to->length;
    if (to->length) memcpy(to->synced, to->bytes, to->length);
    return to;
  }
  struct ram_names names = {ram_grow(NULL, node->synced_names.count * sizeof *names.list),
                            node->synced_names.count};
  if (names.count) memcpy(names.list, node->synced_names.list, names.count * sizeof *names.list);
  for (size_t i = 0; seed && i < node->change_count; i++)
    if (draw(seed) % 2) ram_change_apply(&names, &node->changes[i]);
  for (size_t i = 0; i < names.count; i++) {
    struct ram_node *below = leave(d, names.list[i].node, seed);
    ram_names_put(&to->names, names.list[i].text, below);
    ram_names_put(&to->synced_names, names.list[i].text, below);
  }
  free(names.list);
  return to;
}

static struct ram_disk *cut(const struct ram_disk *from, uint64_t *seed) {
  struct ram_disk *d = ram_disk_new();
  d->boot = from->boot + 1;
  d->root = leave(d, from->root, seed);
  return d;
}

struct ram_disk *ram_disk_cut(const struct ram_disk *from, uint64_t seed) {
  return cut(from, &seed);
}

struct ram_disk *ram_disk_cut_strict(const struct ram_disk *from) {
  return cut(from, NULL);
}
