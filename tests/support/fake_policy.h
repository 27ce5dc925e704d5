/* fake_policy.h: a policy that runs `total` like calls, or functions, `width` at once, and logs.
 *
 * Records: new, i<number> (intent of a call), x<number> (again), r<number> (result), c<number>
 * (canceled), e:<bytes> (event), l (loaded again), end:<reason>. Targets are the number. */
#ifndef SKILLRT_TESTS_FAKE_POLICY_H
#define SKILLRT_TESTS_FAKE_POLICY_H

#include "engine/policy.h"
#include "support/fake_log.h"

enum fake_bug {
  FAKE_SOUND,
  FAKE_WAITS_FOR_NOTHING, /* names nothing when nothing is under way */
  FAKE_STARTS_TWICE,      /* names a number again that is under way */
  FAKE_NAMES_TWICE,       /* names one twice in one list */
  FAKE_STARTS_FOREVER,    /* always one more */
  FAKE_AGAIN,             /* says again whatever the reply */
  FAKE_PERFORMS_AGAIN,    /* says again of a function */
  FAKE_CANCELS_UNKNOWN,   /* cancels a number that never was */
  FAKE_CANCELS_TWICE,     /* cancels one twice in one list */
  FAKE_IGNORES_STOP,      /* goes on when told to stop */
  FAKE_WITHOUT_STATUS,    /* stops, says no status */
  FAKE_LEAVES             /* stops while something is under way */
};

enum { FAKE_NUMBERS = 256 };

struct fake_policy {
  struct policy policy;
  struct fake_log *log;
  uint64_t total, width;
  bool functions; /* they are performed; else calls of `kind` */
  enum task_kind kind;
  const char *const *argv; /* of processes, NULL-terminated */
  size_t max_body;         /* of their replies; 0: the usual */
  int attempts;            /* per call; 1 or more */
  int64_t after_ms;        /* before every attempt but a call's first */
  int64_t wait_ms;         /* said by each choice that goes on */
  bool events;             /* said by each choice that goes on */
  bool resumed;            /* load finds records, and appends none */
  bool notes;              /* a choice that goes on appends "n" */
  bool loads;              /* said by the next choice that goes on */
  bool in_memory;          /* no intent, no record per number */
  bool one_number;         /* all have the number 1, one after the other */
  enum fake_bug bug;
  bool verbose;        /* logs choose, request, accept, event, too */
  unsigned fail_at;    /* the n-th question fails, from 1; 0: none */
  unsigned fail_times; /* and that many in a row (0 as 1) */
  enum error_code fail_code;
  bool fail_save, fail_mute; /* the views fail; a failure says nothing */

  char message[256]; /* of the last reply */
  size_t extra;      /* of the last reply, its bytes */
  uint64_t started, done;
  int attempt[FAKE_NUMBERS]; /* of number % FAKE_NUMBERS */
  unsigned questions, choices, saves, durables;
  char why[64];                               /* of stop */
  uint64_t next[FAKE_NUMBERS + 1], cancel[4]; /* the decision's numbers */
  uint64_t give_up[4];                        /* set by a test: canceled by the next choice */
  size_t give_up_count;
  void (*during)(void *data, const char *question); /* called first in each, may be NULL */
  void *data;
};

void fake_policy_init(struct fake_policy *, struct fake_log *);

#endif
