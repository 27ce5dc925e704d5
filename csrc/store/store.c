/* store.c: what all stores share. Must not know any of them. Called by whoever opened one. */
#include "store/store.h"

void store_close(struct store **store) {
  if (!*store) return;
  (*store)->ops->close(*store);
  *store = NULL;
}
