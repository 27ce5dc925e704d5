/* fake_store.h: a store that logs, and fails when told to.
 *
 * Logs append(a,b), last_words(a) and sync. Asserts the contract: one call at a time, no
 * append before the sync of the batch before it returned. */
#ifndef SKILLRT_TESTS_FAKE_STORE_H
#define SKILLRT_TESTS_FAKE_STORE_H

#include "store/store.h"
#include "support/fake_log.h"

struct fake_store {
  struct store store;
  struct fake_log *log;
  uint64_t seq, appends, syncs;
  uint64_t fail_append, fail_sync; /* the n-th call fails, from 1; 0: none */
  bool fail_lost;                  /* a failed sync says that the run is another's */
  uint64_t helds, fail_held;       /* at the n-th look the run is another's */
  bool fail_last_words, fail_mute; /* a failed sync says nothing */
  bool unsynced;                   /* a batch was appended, its sync has not returned */
  bool failed;                     /* takes last words only */
  bool syncing;
  bool closed;
};

void fake_store_init(struct fake_store *, struct fake_log *);

#endif
