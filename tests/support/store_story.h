/* store_story.h: the reference story that tests harm: create, batches of different sizes over
 * several segments; a blob, views, a close and a resume in between. Header only. */
#ifndef SKILLRT_TESTS_STORE_STORY_H
#define SKILLRT_TESTS_STORE_STORY_H

#include "support/store_kit.h"

enum { STORY_BATCHES = 12 };

struct story {
  int appended, promised; /* payloads handed to append; known durable */
  bool created;           /* store_open returned */
};

/* Half of the story, from payload `next` on. */
static inline bool story_go_on(struct kit *k, struct story *t, int next) {
  char digest[65], state[512];
  struct span blob = {"a large value", 13};
  sha256_hex(blob.data, blob.length, digest);
  for (int i = 0; i < STORY_BATCHES / 2; i++) {
    int size = 1 + i % 3;
    if (i % 4 == 1 && !kit_blob(k, digest, blob)) return false;
    t->appended = next + size;
    if (!kit_put(k, next, size)) return false;
    t->promised = next = t->appended;
    kit_state(state, (unsigned long)k->store->ops->seq(k->store), "x");
    if (i % 5 == 2 && !(kit_view(k, "context/a.json", "{}\n") && kit_view(k, "state.json", state)))
      return false;
  }
  return true;
}

/* Leaves the store open where it fails, so that last words may be said. */
static inline bool story_tell(struct kit *k, struct story *t) {
  *t = (struct story){0};
  k->options.segment_bytes = 600;
  if (!kit_open(k, STORE_CREATE)) return false;
  t->created = true;
  if (!story_go_on(k, t, 0)) return false;
  kit_close(k);
  if (!kit_open(k, STORE_RESUME) || !story_go_on(k, t, t->promised)) return false;
  kit_close(k);
  return true;
}

#endif
